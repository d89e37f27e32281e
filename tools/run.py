"""Run what is stale of the book, side by side, and build its pages.

Content alone says what is stale (`helpers.artifacts.why_stale`), never times. Every step runs in a
process of its own, and no process outlives this one. A profile is run by one process at a time.
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
import shutil
import time
from functools import partial
from pathlib import Path

import plan
import runner

import book
from helpers import artifacts
from helpers.artifacts import lineage, profiles
from helpers.utils.parallel import alone

# Sums depend on how many threads share them, and so would results on the number of cores; what
# else hangs on the machine, the pins of `helpers` settle.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
tell = partial(print, flush=True)


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profile")
    parser.add_argument("--device", default="cpu", help="where tensors live: cpu or cuda")
    jobs = {"type": int, "choices": range(1, 65), "metavar": "JOBS"}
    parser.add_argument("--jobs", **jobs, help="steps side by side; by default a few")
    trains = "1: train all networks here; 0: those that ship; by default those in use"
    parser.add_argument("--train", type=int, choices=(0, 1), help=trains)
    own = "weights of a generator of your own, whose study chapter 21 then shows"
    parser.add_argument("--generator", type=Path, help=own)
    parser.add_argument("--model", type=Path, help="of its study, an ONNX file")
    parser.add_argument("--crowd", type=Path, help="of its study, a folder for people's exports")
    parser.add_argument("--stage", help="run one stage and what it needs, without the pages")
    parser.add_argument("--why", metavar="STAGE", help="say why a stage is stale")
    parser.add_argument("--claims", action="store_true", help="list what the book says was found")
    return parser


def main(arguments: list[str]) -> int:
    asked = options().parse_args(arguments)
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
    if asked.why:
        reason = plan.why(asked.why, asked.profile, asked.train, asked.generator)
        print(f"{asked.why} ({asked.profile}): {reason or 'nothing to do, it is up to date'}")
        return 0
    if asked.claims:
        return claims(asked.profile)
    folder = artifacts.root() / asked.profile
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder / ".lock", tell):
        artifacts.sweep(folder)
        return reproduce(asked, plan.needed(waits, asked.stage or plan.BOOK))


def claims(profile: str, ran: list[str] | None = None) -> int:
    """List what the book says was found, or what a run of these pages contradicts; 1 if it does."""
    said = list(book.claims(profile, ran))
    for page, claim in said:
        if ran is None or not claim.holds:
            print(f"  {'holds' if claim.holds else 'FALSE'}  {page}: {claim.sentence}")
    false = sum(not claim.holds for _, claim in said)
    print(f"{profile}: {book.counted(len(said), 'claim')}, {false} contradicted by this run")
    return int(false > 0)


def study(asked: argparse.Namespace) -> str | None:
    """Go through the study of GENERATOR; gives its file, or None where people come first."""
    from faceaudit import PeopleNeeded, own_generator  # with torch
    from faceaudit.run import run_audit

    folder = Path(os.path.relpath(own_generator.AUDITS))
    file = own_generator.study_file(asked.generator, folder)
    given = asked.generator, asked.model, asked.crowd, asked.profile
    if not file.exists():
        own_generator.write_study(*given, folder)
        tell(f"{file} is written: read it, change what does not fit, run the same command again")
        return None
    own_generator.require_study(file, asked.generator)
    tell(f"{file} counts, whatever MODEL, CROWD and PROFILE are")
    try:
        tell(run_audit(file, tell, device=asked.device).answer)
    except PeopleNeeded as stop:
        tell(stop)
        return None
    return os.path.relpath(file, lineage.ROOT)


def reproduce(asked: argparse.Namespace, waits: dict[str, list[str]]) -> int:
    """Run what is stale; 1 if a step failed."""
    if asked.device != "cpu":  # importing torch takes seconds that other runs save
        importlib.import_module("helpers.utils.devices").resolve_device(asked.device)
    asked.study = study(asked) if asked.generator else None
    if asked.generator and not asked.study:
        return 0
    started, failed = time.monotonic(), 0
    steps = plan.stale(waits, asked.profile, asked.train, asked.study)
    tell(plan.sentence(steps, asked.profile))
    if steps:
        # Python tells bytecode of a file by size and time; here content alone counts.
        for folder in lineage.SOURCE.rglob("__pycache__"):
            shutil.rmtree(folder, ignore_errors=True)
        failed = runner.run(asked, waits)
        print(f"the run took {plan.clock(time.monotonic() - started)}")
        claims(asked.profile, [page for page in plan.pages_of_book() if page in waits])
    if plan.BOOK in waits and not failed:
        page = book.pages_of(asked.profile) / "index.html"
        print(f"The book: {page}   (make serve PROFILE={asked.profile})")
    return int(failed > 0)


def interrupt(*_: object) -> None:
    print("interrupted; finished work is kept, run the same command to go on", file=sys.stderr)
    os._exit(130)  # all that was started watches this process, and ends with it


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, interrupt)
    try:
        sys.exit(main(sys.argv[1:]))
    except (ValueError, OSError, SyntaxError, artifacts.ArtifactError) as error:
        of_file = isinstance(error, OSError) and error.filename  # whose number says little
        sys.exit(f"{error.filename}: {error.strerror}" if of_file else str(error))
