"""Runs steps side by side, each in a process of its own."""

from __future__ import annotations

import argparse
import importlib
import os
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from graphlib import TopologicalSorter
from pathlib import Path

import plan

import book
from helpers import artifacts
from helpers.artifacts import MANIFEST, lineage, manifests
from helpers.utils.parallel import SIDE_BY_SIDE


def run(asked: argparse.Namespace, waits: dict[str, list[str]]) -> int:
    """Run what is stale, those steps first that have the longest way to the end.

    After a failure no step begins any more; what runs beside is waited for.

    Returns:
        How many steps failed.
    """
    cores, seconds = os.cpu_count() or 1, plan.known_seconds(asked.profile)
    jobs = asked.jobs or 2 + (cores > 5) + (cores > 11)
    order, queue, running, failed = TopologicalSorter(waits), [], {}, 0
    order.prepare()
    with ThreadPoolExecutor(jobs) as pool:
        while order.is_active():
            while ready := order.get_ready():
                for name in ready:
                    queue.append(name) if is_stale(name, asked) else order.done(name)
            queue.sort(key=lambda name: plan.rest(name, waits, seconds))
            while queue and len(running) < jobs and not failed:
                name = queue.pop()
                os.environ[SIDE_BY_SIDE] = str(min(jobs, len(running) + len(queue) + 1))
                running[pool.submit(perform, name, asked)] = name, time.monotonic()
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                name, started = running.pop(future)
                took = f"{time.monotonic() - started:.0f} s"
                if error := future.exception():
                    failed += 1
                    print(f"{name} FAILED after {took}: {error}\n  its log: {log_of(name, asked)}")
                else:
                    print(f"{name}: done in {took}", flush=True)
                    order.done(name)
    return failed


def is_stale(name: str, asked: argparse.Namespace) -> bool:
    """Whether a step must be run; a file that cannot be judged fails it when it is run."""
    try:
        return plan.why(name, asked.profile, asked.train, asked.study) is not None
    except (OSError, SyntaxError, ValueError, artifacts.ArtifactError):
        return True


def log_of(name: str, asked: argparse.Namespace) -> Path:
    return artifacts.root() / asked.profile / "logs" / f"{name}.log"


def perform(name: str, asked: argparse.Namespace) -> None:
    """Be a step, in a thread; its work is done by a process of its own.

    Raises:
        RuntimeError: it failed, with its last words.
    """
    import execute  # half a second that a run with no step to run saves

    log = log_of(name, asked)
    log.parent.mkdir(exist_ok=True)
    log.write_text("")
    if name == plan.BOOK:
        be(log, book.run, asked.profile)
    elif name == plan.RENDERER:
        be(log, call, "facerender.rendering", "compile_renderer")
        with suppress(OSError):  # where it cannot be kept, every process compiles for itself
            plan.compiled().touch()
    elif name in lineage.STUDIES:
        code = lineage.sources(name, drawing=False)
        options = ["--profile", asked.profile]
        be(log, call, f"helpers.{lineage.STUDIES[name]}", "main", options)
        if manifests.read(name, asked.profile)["source"] != code:
            (artifacts.root() / asked.profile / name / MANIFEST).unlink()
            raise RuntimeError("its code was edited while it started; run the same command again")
    else:
        study = asked.study if name == plan.OWN_STUDY else None
        execute.run(name, asked.profile, asked.device, log, study)
    if name in lineage.stages():
        manifests.read(name, asked.profile)  # raises if it never said that it ended


def be(log: Path, work, *arguments: object) -> None:
    import kernels

    process = kernels.start(log, work, *arguments)
    process.join()
    if code := process.exitcode:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        killed = f"killed by signal {-code}; systems do that (9) when memory is short: try JOBS=1"
        raise RuntimeError(killed if code < 0 else lines[-1] if lines else f"ended with {code}")


def call(module: str, function: str, *arguments: object) -> None:
    getattr(importlib.import_module(module), function)(*arguments)
