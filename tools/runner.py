"""Runs steps side by side, each in a process of its own, and tells how far they are."""

from __future__ import annotations

import argparse
import importlib
import os
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path

import plan
from tqdm import tqdm

import book
from helpers import artifacts
from helpers.artifacts import MANIFEST, lineage, manifests
from helpers.utils.processes import SIDE_BY_SIDE, memory

LOOK = 5.0
"""Seconds between looks at memory: the system walks all pages of all processes for each."""


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


class Runner:
    """Runs steps side by side, those with the longest way to the end first."""

    def __init__(self, asked: argparse.Namespace, waits: dict[str, list[str]]) -> None:
        self.asked, self.waits = asked, waits
        self.logs = artifacts.root() / asked.profile / "logs"
        self.logs.mkdir(exist_ok=True)
        cores = os.cpu_count() or 1
        self.jobs = asked.jobs or 2 + (cores > 5) + (cores > 11)
        self.seconds = plan.known_seconds(asked.profile)
        self.done, self.failed, self.held, self.peak, self.looked = 0, 0, 0, 0, 0.0

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
                    queue.sort(key=lambda name: plan.rest(name, self.waits, self.seconds))
                    while queue and len(running) < self.jobs and not self.failed:
                        step = self.begin(queue.pop(), len(running) + len(queue) + 1)
                        running[pool.submit(self.perform, step)] = step
                    if not running:
                        return
                    for future in self.wait(running):
                        if self.report(running.pop(future), future):
                            order.done(future.result())
            finally:
                kernels.end_all()

    def is_stale(self, name: str) -> bool:
        """Whether a step must be run; a file that cannot be judged fails it when it is run."""
        try:
            reason = plan.why(name, self.asked.profile, self.asked.train, self.asked.study)
            return reason is not None
        except (OSError, SyntaxError, ValueError, artifacts.ArtifactError):
            return True

    def begin(self, name: str, could_run: int) -> Step:
        """A step that starts now; so many are running or could."""
        os.environ[SIDE_BY_SIDE] = str(min(self.jobs, could_run))
        log = self.logs / f"{name}.log"
        log.write_text("")
        form = "{desc:>26} {percentage:3.0f}% {bar:12} {elapsed}<{remaining} {postfix}"
        return Step(name, log, tqdm(total=1, desc=name, bar_format=form, leave=False, disable=None))

    def perform(self, step: Step) -> str:
        """Be the step, in a thread; its work is done by a process of its own. Returns its name."""
        import execute

        if step.name in (plan.BOOK, plan.RENDERER, *lineage.STUDIES):
            self.perform_alone(step)
        else:
            study = self.asked.study if step.name == plan.OWN_STUDY else None
            execute.run(
                step.name, self.asked.profile, self.asked.device, step.log, step.tell, study
            )
        if step.name in lineage.stages():
            manifests.read(step.name, self.asked.profile)  # raises if it never said that it ended
        return step.name

    def perform_alone(self, step: Step) -> None:
        """Be a step that is no notebook."""
        import kernels

        profile, train = self.asked.profile, self.asked.train and step.name == plan.TRAINED
        if step.name == plan.BOOK:
            process = kernels.start(step.log, book.run, profile)
        elif step.name == plan.RENDERER:
            step.tell(0.0, "compiling, once for this machine and this version")
            process = kernels.start(step.log, call, "facerender.rendering", "compile_renderer")
        else:
            options = ["--train", "--device", self.asked.device] if train else []
            study = f"helpers.{lineage.STUDIES[step.name]}"
            code = lineage.sources(step.name, drawing=False)
            process = kernels.start(step.log, call, study, "main", ["--profile", profile, *options])
        process.join()
        if process.exitcode:
            raise RuntimeError(last_words(step.log, process.exitcode))
        if step.name == plan.RENDERER:
            with suppress(OSError):  # where nothing can be kept, every process compiles for itself
                plan.compiled().touch()
        if step.name in lineage.STUDIES and manifests.read(step.name, profile)["source"] != code:
            (artifacts.root() / profile / step.name / MANIFEST).unlink()
            raise RuntimeError("its code was edited while it started; run the same command again")

    def wait(self, running: dict[Future, Step]) -> set[Future]:
        """Wait a moment, with an eye on memory; returns what has ended."""
        ended, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
        if time.monotonic() > self.looked + LOOK:
            self.held, self.looked = memory(os.getpid()), time.monotonic()
            self.peak = max(self.peak, self.held)
        for step in running.values():
            step.bar.set_description(f"{self.held / 2**30:4.1f} GiB {step.name}", refresh=True)
        return ended

    def report(self, step: Step, future: Future) -> bool:
        """Say how a step ended; True if it is done."""
        step.bar.close()
        took = plan.clock(time.monotonic() - step.started)
        if error := future.exception():
            self.failed += 1
            with step.log.open("a") as log:
                print(error, file=log)
            tqdm.write(f"{step.name} FAILED after {took}: {error}\n  its log: {step.log}")
            return False
        self.done += 1
        tqdm.write(f"{step.name}: done in {took}")
        return True


def call(module: str, function: str, *arguments: object) -> None:
    getattr(importlib.import_module(module), function)(*arguments)


def last_words(log: Path, code: int) -> str:
    """Why a process failed: the last line that it wrote, or the signal that ended it."""
    if code < 0:
        return f"killed by signal {-code}; systems do that (9) when memory is short: try JOBS=1"
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else f"it ended with {code}"
