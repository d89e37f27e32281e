"""Run what is stale of the book, side by side, and build its pages.

    python tools/run.py laptop --device cpu --jobs 2     everything, and the pages
    python tools/run.py laptop --stage 09_logistic_ate   one stage and what it needs
    python tools/run.py laptop --why 09_logistic_ate     say why it is stale
    python tools/run.py laptop --graph                   what reads what, as text for Graphviz
    python tools/run.py laptop --verify                  read every byte, forget what is damaged
    python tools/run.py laptop --clean                   remove the artifacts and the pages

Content alone says what is stale (`helpers.artifacts.why_stale`), never times. Every step runs in a
process of its own, which on Linux is forked from one that has imported the libraries, and no
process outlives this one. A profile is run by one process at a time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from multiprocessing import util
from pathlib import Path

from tqdm import tqdm

import book
from helpers import artifacts
from helpers.artifacts import MANIFEST, lineage, manifests, pages, profiles
from helpers.utils.processes import alone, die_with_parent, memory

BOOK = "book"
TRAINED = "learned_generator"
"""The study whose weights are shipped; `--train 1` trains them."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Sums depend on how many threads share them: with one, results are those of any machine.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass
class Step:
    """A running step, its place in the display, and where its words go."""

    name: str
    log: Path
    bar: tqdm
    started: float = field(default_factory=time.monotonic)

    def tell(self, share: float, words: str) -> None:
        with self.log.open("a") as stream:
            print(f"{time.monotonic() - self.started:7.1f} s {share:4.0%} {words}", file=stream)
        self.bar.n = share
        self.bar.set_postfix_str(words[:40], refresh=False)


def graph() -> dict[str, list[str]]:
    """Step → steps it waits for: pages, studies, and the book after all pages."""
    steps = [*pages_of_book(), *lineage.STUDIES]
    waits = {s: lineage.inputs(lineage.source_of(s)) for s in steps} | {BOOK: pages_of_book()}
    for step, earlier in waits.items():
        if missing := set(earlier) - set(waits):
            raise ValueError(f"{step} reads {', '.join(missing)}, which no notebook makes")
    TopologicalSorter(waits).prepare()  # raises where stages read each other
    return waits


def pages_of_book() -> list[str]:
    return sorted(path.stem for path in lineage.NOTEBOOKS.glob("[!.]*.py"))


def needed(waits: dict[str, list[str]], step: str) -> dict[str, list[str]]:
    """The part of the graph that a step needs."""
    found = {step: waits[step]}
    for earlier in waits[step]:
        found |= needed(waits, earlier)
    return found


def why(step: str, profile: str, train: int | None) -> str | None:
    """Say why a step must be run; None if it need not be.

    Args:
        step: a page, a study or the book.
        profile: whose artifacts.
        train: 1 for weights trained here, 0 for those that are shipped, None for either.
    """
    if step == BOOK:
        return book.why_stale(profile)
    if step not in lineage.STUDIES:
        return pages.why_stale(step, profile)
    reason = artifacts.why_stale(step, profile)
    if (
        step == TRAINED
        and not reason
        and train not in (None, artifacts.load(step, "results.json", profile)["trained"])
    ):
        return f"TRAIN={train} asks for other weights than those in use"
    return reason


class Runner:
    """Runs steps side by side, those with the longest way to the end first."""

    def __init__(self, asked: argparse.Namespace, waits: dict[str, list[str]]) -> None:
        self.asked, self.waits = asked, waits
        self.logs = artifacts.root() / asked.profile / "logs"
        self.logs.mkdir(exist_ok=True)
        cores = os.cpu_count() or 1
        self.jobs = asked.jobs or 2 + (cores > 5) + (cores > 11)
        self.seconds = known_seconds(asked.profile)
        self.done, self.failed, self.peak = 0, 0, 0

    def run(self) -> None:
        """Run what is stale, until the end, or until what runs beside a failing step has ended."""
        import kernels  # half a second that a run with nothing to do saves

        order, queue, running = TopologicalSorter(self.waits), [], {}
        order.prepare()
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                while order.is_active():
                    while ready := order.get_ready():
                        for name in ready:
                            queue.append(name) if self.is_stale(name) else order.done(name)
                    queue.sort(key=lambda name: rest(name, self.waits, self.seconds))
                    while queue and len(running) < self.jobs and not self.failed:
                        step = self.begin(queue.pop())
                        running[pool.submit(self.perform, step)] = step
                    if not running:
                        return
                    for future in self.wait(running):
                        if self.report(running.pop(future), future):
                            order.done(future.result())
            finally:
                kernels.end_all()

    def why(self, name: str) -> str | None:
        return why(name, self.asked.profile, self.asked.train)

    def is_stale(self, name: str) -> bool:
        """Whether a step must be run; a file that cannot be judged fails it when it is run."""
        try:
            return self.why(name) is not None
        except (OSError, SyntaxError, ValueError, artifacts.ArtifactError):
            return True

    def begin(self, name: str) -> Step:
        log = self.logs / f"{name}.log"
        log.write_text("")
        form = "{desc:>26} {percentage:3.0f}% {bar:12} {elapsed}<{remaining} {postfix}"
        return Step(name, log, tqdm(total=1, desc=name, bar_format=form, leave=False, disable=None))

    def perform(self, step: Step) -> str:
        """Be the step, in a thread; its work is done by a process of its own. Returns its name."""
        import execute

        if step.name in (BOOK, *lineage.STUDIES):
            self.perform_alone(step)
        else:
            execute.run(step.name, self.asked.profile, self.asked.device, step.log, step.tell)
        if step.name in lineage.stages():
            manifests.read(step.name, self.asked.profile)  # raises if it never said that it ended
        return step.name

    def perform_alone(self, step: Step) -> None:
        """Be a step that is no notebook."""
        import kernels

        profile, train = self.asked.profile, self.asked.train and step.name == TRAINED
        if step.name == BOOK:
            process = kernels.start(step.log, book.run, profile)
        else:
            options = ["--train", "--device", self.asked.device] if train else []
            study, options = lineage.STUDIES[step.name], ["--profile", profile, *options]
            code = lineage.sources(step.name, drawing=False)
            process = kernels.start(step.log, run_study, study, options)
        process.join()
        if process.exitcode:
            raise RuntimeError(last_words(step.log, process.exitcode))
        if step.name in lineage.STUDIES and manifests.read(step.name, profile)["source"] != code:
            (artifacts.root() / profile / step.name / MANIFEST).unlink()
            raise RuntimeError("its code was edited while it started; run the same command again")

    def wait(self, running: dict[Future, Step]) -> set[Future]:
        """Wait a moment, with an eye on memory; returns what has ended."""
        ended, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
        held = memory(os.getpid())
        self.peak = max(self.peak, held)
        for step in running.values():
            step.bar.set_description(f"{held / 2**30:4.1f} GiB {step.name}", refresh=True)
        return ended

    def report(self, step: Step, future: Future) -> bool:
        """Say how a step ended; True if it is done."""
        step.bar.close()
        took = clock(time.monotonic() - step.started)
        if error := future.exception():
            self.failed += 1
            with step.log.open("a") as log:
                print(error, file=log)
            tqdm.write(f"{step.name} FAILED after {took}: {error}\n  its log: {step.log}")
            return False
        self.done += 1
        tqdm.write(f"{step.name}: done in {took}")
        return True


def run_study(module: str, arguments: list[str]) -> None:
    importlib.import_module(f"helpers.{module}").main(arguments)


def last_words(log: Path, code: int) -> str:
    """Why a process failed: the last line that it wrote, or the signal that ended it."""
    if code < 0:
        return f"killed by signal {-code}; systems do that (9) when memory is short: try JOBS=1"
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else f"it ended with {code}"


def rest(name: str, waits: dict[str, list[str]], seconds: dict[str, float]) -> float:
    """Seconds from the start of a step to the end of the run, if nothing else were run."""
    later = (rest(other, waits, seconds) for other, reads in waits.items() if name in reads)
    return seconds.get(name, 1.0) + max(later, default=0.0)


def known_seconds(profile: str) -> dict[str, float]:
    """Seconds of every step: those measured for everybody, or this machine's own."""
    measured = json.loads((profiles.FOLDER / "seconds.json").read_text("utf-8")).get(profile, {})
    own = {page: pages.read(page, profile).get("seconds") for page in pages_of_book()}
    return measured | {page: seconds for page, seconds in own.items() if seconds}


def stale(waits: dict[str, list[str]], profile: str, train: int | None) -> list[str]:
    """Steps that are stale, or may become so because one that they read is."""
    steps: list[str] = []
    for name in TopologicalSorter(waits).static_order():
        if set(waits[name]) & set(steps) or why(name, profile, train):
            steps.append(name)
    return steps


def plan(steps: list[str], profile: str) -> str:
    """One sentence on the steps to come."""
    if not steps:
        return f"{profile}: nothing to do, everything is up to date"
    seconds, count = known_seconds(profile), f"{len(steps)} steps may run ({', '.join(steps)}), "
    if unknown := [step for step in steps if step not in seconds]:
        return f"{profile}: {count}time unknown: {', '.join(unknown)} not run before at this size"
    return f"{profile}: {count}at most about {clock(sum(seconds[s] for s in steps))} one by one"


def clock(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


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
    print(f"{profile}: {len(found)} files damaged or gone{again}")
    return int(bool(found))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profile")
    parser.add_argument("--device", default="cpu", help="where tensors live: cpu or cuda")
    parser.add_argument("--jobs", type=count, help="steps side by side; by default a few")
    trains = "1: train the learned generator here; 0: the shipped weights; by default those in use"
    parser.add_argument("--train", type=int, choices=(0, 1), help=trains)
    parser.add_argument("--stage", help="run one stage and what it needs, without the pages")
    parser.add_argument("--why", metavar="STAGE", help="say why a stage is stale")
    parser.add_argument("--graph", action="store_true", help="print what reads what")
    parser.add_argument("--verify", action="store_true", help="read every byte of the artifacts")
    parser.add_argument("--clean", action="store_true", help="remove the artifacts and the pages")
    asked = parser.parse_args(arguments)
    # Chapters run in other folders, and pass this on.
    os.environ["HELPERS_ARTIFACTS"] = str(artifacts.root().absolute())
    os.environ.update(dict.fromkeys(THREADS, "1"))
    profiles.load(asked.profile)
    waits = graph()
    if unknown := {asked.stage, asked.why} - {None, *waits}:
        raise ValueError(f"no step {', '.join(unknown)}; there are {', '.join(waits)}")
    if asked.graph:
        edges = (f'  "{early}" -> "{late}"' for late, reads in waits.items() for early in reads)
        print("digraph {", *edges, "}", sep="\n")
        return 0
    if asked.why:
        reason = why(asked.why, asked.profile, asked.train)
        print(f"{asked.why} ({asked.profile}): {reason or 'nothing to do, it is up to date'}")
        return 0
    folder = artifacts.root() / asked.profile
    with alone(folder / ".lock"):
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


@contextmanager
def scratch(folder: Path) -> Iterator[None]:
    """Keep all temporary files in one folder, and remove it, also that of a killed run."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    # Names of sockets are short, so those of the process that others are forked from stay outside.
    util.get_temp_dir()
    before = tempfile.gettempdir()
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        os.environ["TMPDIR"] = tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)


def reproduce(asked: argparse.Namespace, waits: dict[str, list[str]]) -> int:
    """Run what is stale; 1 if a step failed."""
    started, waits = time.monotonic(), needed(waits, asked.stage or BOOK)
    if asked.device != "cpu":  # importing torch takes seconds that a run with nothing to do lacks
        importlib.import_module("helpers.utils.devices").resolve_device(asked.device)
    steps, runner = stale(waits, asked.profile, asked.train), Runner(asked, waits)
    print(plan(steps, asked.profile), flush=True)
    if steps:
        runner.run()
        took, peak = clock(time.monotonic() - started), runner.peak / 2**30
        print(f"ran {runner.done} steps in {took}, at most {peak:.1f} GiB of memory")
    if BOOK in waits and not runner.failed:
        page = book.pages_of(asked.profile) / "index.html"
        print(f"The book: {page}   (make serve PROFILE={asked.profile})")
    return int(runner.failed > 0)


def interrupt(number: int, frame: object) -> None:
    for other in SIGNALS:  # an impatient second one must not leave processes
        signal.signal(other, signal.SIG_IGN)
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
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted; finished work is kept, run the same command to go on")
