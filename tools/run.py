"""Run what is stale of the book, side by side, and build its pages.

Content alone says what is stale (`helpers.artifacts.why_stage_is_stale`), never times. Every step
runs in a process of its own, and no process outlives this one. A profile is run by one process at a
time.
"""

import os
import signal
import sys

if __name__ == "__main__":  # the imports below take seconds
    print("reading what there is and what it was made from …", file=sys.stderr, flush=True)
    # All that is started watches this process, and ends with it.
    stop = "interrupted; finished work is kept, run the same command to go on\n"
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not under nohup
        signal.signal(signal.SIGINT, lambda *_: sys.stderr.write(stop) and os._exit(130))

import argparse
import importlib
import shutil
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import partial
from graphlib import TopologicalSorter
from pathlib import Path

import plan

import book
from faceaudit.utils.files import alone
from helpers.artifacts import lineage, manifests
from helpers.claims import CONTRADICTED, HOLDS, UNDECIDED
from helpers.parallel import SIDE_BY_SIDE

# Sums depend on how many threads share them, and so would results on the number of cores; what
# else hangs on the machine, the pins of `helpers` settle.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
tell = partial(print, flush=True)


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    option = parser.add_argument
    option("profile")
    option("--device", default="cpu", help="where tensors live: cpu or cuda")
    option("--jobs", type=int, choices=range(1, 65), metavar="JOBS", help="steps side by side")
    option("--train", type=int, choices=(0, 1), help="1: all networks here; 0: those that ship")
    option("--generator", type=Path, help="of your own, whose study chapter 18 then shows")
    option("--model", type=Path, help="of its study, an ONNX file")
    option("--crowd", type=Path, help="of its study, a folder for people's exports")
    option("--stage", help="run one stage and what it needs, without the pages")
    option("--why", metavar="STAGE", help="say why a stage is stale")
    option("--claims", action="store_true", help="list what the book says was found")
    return parser


def main(arguments: list[str]) -> int:
    asked = options().parse_args(arguments)
    # Chapters run in other folders, and pass this on.
    os.environ["HELPERS_ARTIFACTS"] = str(manifests.root().absolute())
    os.environ.update(dict.fromkeys(THREADS, "1"))
    if asked.train is not None:
        os.environ["TRAIN"] = str(asked.train)
    lineage.load_profile(asked.profile)
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
    folder = manifests.root() / asked.profile
    with alone(folder / ".lock", tell):
        manifests.sweep(folder)
        return reproduce(asked, plan.needed(waits, asked.stage or plan.BOOK))


def claims(profile: str, ran: list[str] | None = None) -> int:
    """List what the book says was found, or what a run of these pages does not bear out.

    Returns:
        1 if the run contradicts a claim. One that is undecided at this size is no fault of the run.
    """
    said = list(book.claims(profile, ran))
    words = {HOLDS: "holds    ", UNDECIDED: "undecided", CONTRADICTED: "FALSE    "}
    for page, claim in said:
        if ran is None or not claim.holds:
            distance = ""
            if claim.standard_errors is not None:
                distance = f" [{claim.standard_errors:+.1f} standard errors]"
            print(f"  {words[claim.state]}  {page}: {claim.sentence}{distance}")
    counts = Counter(claim.state for _, claim in said)
    print(
        f"{profile}: {len(said)} claims, {counts[HOLDS]} hold, {counts[UNDECIDED]} undecided at "
        f"this size, {counts[CONTRADICTED]} contradicted by this run"
    )
    return int(counts[CONTRADICTED] > 0)


def study(asked: argparse.Namespace) -> str | None:
    """Go through the study of GENERATOR; gives its file, or None where people come first."""
    from faceaudit import PeopleNeeded
    from faceworld.audit import run_audit
    from helpers.study import AUDITS, require_study, study_file, write_study  # with torch

    folder = Path(os.path.relpath(AUDITS))
    file = study_file(asked.generator, folder)
    given = asked.generator, asked.model, asked.crowd, asked.profile
    if not file.exists():
        write_study(*given, folder)
        tell(f"{file} is written: read it, change what does not fit, run the same command again")
        return None
    require_study(file, asked.generator)
    tell(f"{file} counts, whatever MODEL, CROWD and PROFILE are")
    try:
        tell(run_audit(file, tell, device=asked.device).answer)
    except PeopleNeeded as stop:
        tell(stop)
        return None
    return os.path.relpath(file, lineage.ROOT)


def run_steps(asked: argparse.Namespace, waits: dict[str, list[str]]) -> int:
    """Run what is stale, those steps first that have the longest way to the end.

    After a failure no step begins any more; what runs beside is waited for.

    Returns:
        How many steps failed.
    """
    cores, seconds = os.cpu_count() or 1, plan.known_seconds(asked.profile)
    jobs = asked.jobs or 3 + (cores > 5) + (cores > 11)
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
    except (OSError, SyntaxError, ValueError, manifests.ArtifactError):
        return True


def log_of(name: str, asked: argparse.Namespace) -> Path:
    return manifests.root() / asked.profile / "logs" / f"{name}.log"


def perform(name: str, asked: argparse.Namespace) -> None:
    """Be a step, in a thread; its work is done by a process of its own.

    Raises:
        RuntimeError: it failed, with its last words.
    """
    import execute  # half a second that a run with no step to run saves
    from kernels import be, call

    log = log_of(name, asked)
    log.parent.mkdir(exist_ok=True)
    log.write_text("")
    if name == plan.BOOK:
        be(log, book.run, asked.profile)
    elif name == plan.COURSE:
        be(log, call, "course.editions", "build", book.pages_of(asked.profile).with_name("course"))
    elif name in lineage.STUDIES:
        code = lineage.sources(name, drawing=False)
        be(log, call, f"helpers.{lineage.STUDIES[name]}", "main", ["--profile", asked.profile])
        if manifests.read_manifest(name, asked.profile)["source"] != code:
            (manifests.root() / asked.profile / name / manifests.MANIFEST).unlink()
            raise RuntimeError("its code was edited while it started; run the same command again")
    else:
        own = asked.study if name == plan.OWN_STUDY else None
        execute.run(name, asked.profile, asked.device, log, own)
    if name in lineage.stages():
        manifests.read_manifest(name, asked.profile)  # raises if it never said that it ended


def reproduce(asked: argparse.Namespace, waits: dict[str, list[str]]) -> int:
    """Run what is stale; 1 if a step failed."""
    if asked.device != "cpu":  # importing torch takes seconds that other runs save
        importlib.import_module("faceaudit.utils.arguments").resolve_device(asked.device)
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
        failed = run_steps(asked, waits)
        print(f"the run took {(time.monotonic() - started) / 60:.1f} min")
        claims(asked.profile, [page for page in lineage.notebooks() if page in waits])
    if plan.BOOK in waits and not failed:
        html = book.pages_of(asked.profile)
        print(f"The book: {html}/index.html   (make serve PROFILE={asked.profile})")
    return int(failed > 0)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (ValueError, OSError, SyntaxError, manifests.ArtifactError) as error:
        of_file = isinstance(error, OSError) and error.filename  # whose number says little
        sys.exit(f"{error.filename}: {error.strerror}" if of_file else str(error))
