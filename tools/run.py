"""Run what is stale of the book, side by side, and build its pages.

Content alone says what is stale (`helpers.artifacts.why_stale`), never times. Every step runs in a
process of its own, which on Linux is forked from one that has imported the libraries, and no
process outlives this one. A profile is run by one process at a time.
"""

from __future__ import annotations

import os
import signal
import sys

if __name__ == "__main__":  # the imports below take seconds
    print("reading what there is and what it was made from …", file=sys.stderr, flush=True)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not under nohup
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))

import argparse
import importlib
import logging
import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import util
from multiprocessing.connection import Listener
from pathlib import Path

import plan
import runner

import book
from helpers import artifacts
from helpers.artifacts import MANIFEST, lineage, manifests, pages, profiles
from helpers.utils.processes import alone, die_with_parent

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Sums depend on how many threads share them, and so would results on the number of cores; what
# else hangs on the machine, `helpers.utils.pins` settles.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profile")
    parser.add_argument("--device", default="cpu", help="where tensors live: cpu or cuda")
    parser.add_argument("--jobs", type=count, help="steps side by side; by default a few")
    trains = "1: train all networks here; 0: those that ship; by default those in use"
    parser.add_argument("--train", type=int, choices=(0, 1), help=trains)
    own = "weights of a generator of your own, whose study chapter 21 then shows"
    parser.add_argument("--generator", type=Path, help=own)
    parser.add_argument("--model", type=Path, help="of its study, an ONNX file")
    parser.add_argument("--crowd", type=Path, help="of its study, a folder for people's exports")
    parser.add_argument("--stage", help="run one stage and what it needs, without the pages")
    parser.add_argument("--why", metavar="STAGE", help="say why a stage is stale")
    parser.add_argument("--graph", action="store_true", help="print what reads what")
    parser.add_argument("--verify", action="store_true", help="read every byte of the artifacts")
    parser.add_argument("--claims", action="store_true", help="list what the book says was found")
    parser.add_argument("--clean", action="store_true", help="remove the artifacts and the pages")
    asked = parser.parse_args(arguments)
    # Chapters run in other folders, and pass this on.
    os.environ["HELPERS_ARTIFACTS"] = str(artifacts.root().absolute())
    os.environ.update(dict.fromkeys(THREADS, "1"))
    if asked.train is not None:
        os.environ["TRAIN"] = str(asked.train)
    profiles.load(asked.profile)
    waits = plan.graph()
    if unknown := {asked.stage, asked.why} - {None, *waits}:
        raise ValueError(f"no step {', '.join(unknown)}; there are {', '.join(waits)}")
    if asked.generator is None and (asked.model or asked.crowd):
        raise ValueError("MODEL and CROWD belong to the study of a generator: GENERATOR is missing")
    if asked.generator and plan.OWN_STUDY not in plan.needed(waits, asked.stage or plan.BOOK):
        raise ValueError(f"{asked.stage} does not show GENERATOR, {plan.OWN_STUDY} does")
    if asked.graph:
        edges = (f'  "{early}" -> "{late}"' for late, reads in waits.items() for early in reads)
        print("digraph {", *edges, "}", sep="\n")
        return 0
    if asked.why:
        reason = plan.why(asked.why, asked.profile, asked.train, asked.generator)
        print(f"{asked.why} ({asked.profile}): {reason or 'nothing to do, it is up to date'}")
        return 0
    if asked.claims:
        return claims(asked.profile)
    folder = artifacts.root() / asked.profile
    if asked.verify and not any(folder.glob("*/*.json")):
        print(f"{asked.profile}: nothing has run")
        return 0
    writable(folder)
    with alone(folder / ".lock", partial(print, flush=True)):
        if asked.clean:
            shutil.rmtree(folder)
            shutil.rmtree(book.pages_of(asked.profile).parent, ignore_errors=True)
            return 0
        artifacts.sweep(folder)
        with scratch(folder / ".scratch"):
            return verify(asked.profile) if asked.verify else reproduce(asked, waits)


def count(text: str) -> int:
    """A number of steps, at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, got {text!r}")
    return int(text)


def writable(folder: Path) -> None:
    """Make the folder; ValueError with a sentence if it cannot be made or written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        words = f"the folder of artifacts {folder} cannot be written ({error.strerror})"
        raise ValueError(f"{words}; HELPERS_ARTIFACTS may name another") from None


@contextmanager
def scratch(folder: Path) -> Iterator[None]:
    """Keep all temporary files in one folder, and remove it, also that of a killed run."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    before, opened = tempfile.gettempdir(), os.open(folder, os.O_RDONLY)
    # Names of sockets are short; on Linux every folder has such a name while this process lives.
    # multiprocessing itself would fail to remove at the end what is gone by then.
    names, short = multiprocessing.current_process()._config, f"/proc/{os.getpid()}/fd/{opened}"
    names["tempdir"] = short if os.path.isdir(short) else str(folder)
    try:
        Listener(family="AF_UNIX").close()
    except OSError:  # the name is too long after all, or the file system has no sockets
        names["tempdir"] = None
        util.get_temp_dir()
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        os.environ["TMPDIR"] = tempfile.tempdir = before
        names["tempdir"] = None
        os.close(opened)
        shutil.rmtree(folder, ignore_errors=True)


def verify(profile: str) -> int:
    """Read every byte; forget what is damaged, so that it alone is made again. 1 if any is."""
    damaged, executed = artifacts.damaged(profile), pages.damaged(profile)
    found = [path for paths in (*damaged.values(), *executed.values()) for path in paths]
    for path in found:
        print(f"{path} is {'damaged' if path.exists() else 'gone'}")
        # A set of images knows which of its chunks are whole.
        if not path.with_name(f"{path.name}.progress.json").is_file():
            path.unlink(missing_ok=True)
    for stage in damaged:
        (artifacts.root() / profile / stage / MANIFEST).unlink(missing_ok=True)
    again = f"; {manifests.rerun(profile)} to make them again" if found else ""
    print(f"{profile}: {book.counted(len(found), 'file')} damaged or gone{again}")
    return int(bool(found))


def claims(profile: str, ran: list[str] | None = None) -> int:
    """List what the book says was found, or what a run of these pages contradicts; 1 if it does."""
    said = list(book.claims(profile, ran))
    if not said:
        if ran is None:
            print(f"{profile}: no page that says what was found has run")
        return 0
    for page, claim in said:
        if ran is None or not claim.holds:
            print(f"  {'holds' if claim.holds else 'FALSE'}  {page}: {claim.sentence}")
    false = sum(not claim.holds for _, claim in said)
    print(f"{profile}: {book.counted(len(said), 'claim')}, {false} contradicted by this run")
    return int(false > 0)


def study(asked: argparse.Namespace) -> str | None:
    """Go through the study of GENERATOR; gives its file, or None where people come first."""
    from faceaudit import PeopleNeeded, own_study  # with torch
    from faceaudit.run import run_audit

    folder = Path(os.path.relpath(own_study.AUDITS))
    file, tell = own_study.study_file(asked.generator, folder), partial(print, flush=True)
    given = asked.generator, asked.model, asked.crowd, asked.profile
    if not file.exists():
        own_study.write_study(*given, folder)
        tell(f"{file} is written: read it, change what does not fit, run the same command again")
        return None
    for sentence in own_study.left_out(file, *given):
        tell(sentence)
    try:
        tell(run_audit(file, tell, device=asked.device).answer)
    except PeopleNeeded as stop:
        tell(stop)
        return None
    return os.path.relpath(file, lineage.ROOT)


def forget_bytecode() -> None:
    """Python tells bytecode of a file by size and time; here content alone counts."""
    for folder in (lineage.ROOT / "src").rglob("__pycache__"):
        shutil.rmtree(folder, ignore_errors=True)


def reproduce(asked: argparse.Namespace, waits: dict[str, list[str]]) -> int:
    """Run what is stale; 1 if a step failed."""
    waits = plan.needed(waits, asked.stage or plan.BOOK)
    if asked.device != "cpu":  # importing torch takes seconds that a run with nothing to do lacks
        importlib.import_module("helpers.utils.devices").resolve_device(asked.device)
    asked.study = study(asked) if asked.generator else None
    if asked.generator and not asked.study:
        return 0
    started, work = time.monotonic(), runner.Runner(asked, waits)
    steps = plan.stale(waits, asked.profile, asked.train, asked.study)
    print(plan.sentence(steps, asked.profile), flush=True)
    if steps:
        forget_bytecode()
        work.run()
        took, peak = plan.clock(time.monotonic() - started), work.peak / 2**30
        print(f"ran {book.counted(work.done, 'step')} in {took}, at most {peak:.1f} GiB of memory")
        claims(asked.profile, [page for page in plan.pages_of_book() if page in waits])
    if plan.BOOK in waits and not work.failed:
        page = book.pages_of(asked.profile) / "index.html"
        print(f"The book: {page}   (make serve PROFILE={asked.profile})")
    return int(work.failed > 0)


def interrupt(number: int, frame: object) -> None:
    for other in SIGNALS:  # an impatient second one must not leave processes
        signal.signal(other, signal.SIG_IGN)
    logging.disable()  # nbclient would call the kernels dead that are ended now
    raise KeyboardInterrupt


if __name__ == "__main__":
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, interrupt)
    if "MAKELEVEL" in os.environ:  # a shell may go and leave its runs alone; make may not
        die_with_parent(os.getppid(), signal.SIGTERM)
    try:
        sys.exit(main(sys.argv[1:]))
    except (ValueError, OSError, SyntaxError, artifacts.ArtifactError) as error:
        of_file = isinstance(error, OSError) and error.filename  # whose number says nothing
        sys.exit(f"{error.filename}: {error.strerror}" if of_file else str(error))
    except KeyboardInterrupt:
        print("interrupted; finished work is kept, run the same command to go on", file=sys.stderr)
        sys.exit(130)
