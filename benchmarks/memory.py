"""Memory of chapters 05 to 09, from four hundred transects to a hundred thousand.

Run `make smoke`, then `python benchmarks/memory.py`. The chapters themselves are executed as
`make reproduce` executes them, with the laptop's parameters and ever more transects; only the
pixels are noise, because drawing 1.6 million faces takes hours and what they show takes no memory,
and resamples are the smoke run's, because no more than a few are held at a time. Chapters 03 and
04 are those of the smoke run. The plan of the audit names the number of transects, so it is made
for each, and chapter 02, which reads it, and chapter 01, which reads that, are run anew with the
smoke run's sizes. A kernel that holds more than `LIMIT` is ended. It takes three quarters of an
hour and 15 GB of disk, on Linux only: the peak is read from /proc.
"""

import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import nbformat
import papermill
from record import RESULTS, write_rows

from helpers import artifacts, audit_plan, figures
from helpers.artifacts import Stage, lineage

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from execute import parameterised  # noqa: E402
from run import THREADS  # noqa: E402

BEFORE = ("03_direction_fitting", "04_orthogonalization")
OF_THE_PLAN = ("02_face_world", "01_observational_audit")
CHAPTERS = (
    "05_transect_generation",
    "06_annotation_ingestion",
    "07_pruning",
    "08_stratified_errors",
    "09_logistic_ate",
)
SIZES = (400, 4_000, 20_000, 100_000)
LIMIT = 4 * 2**30
"""Bytes of data that a kernel may hold."""

FIRST = """
import os, pathlib, sys
from functools import partial
sys.path.insert(0, {benchmarks!r})
import faceworld.rendering
from noise import noise
real = faceworld.rendering.render_to_store
faceworld.rendering.render_to_store = partial(real, render=noise)
pathlib.Path({pid!r}).write_text(str(os.getpid()))
"""
"""The cell that a chapter begins with here."""


def watch(pid: Path, done: threading.Event, found: dict[str, float]) -> None:
    """Follow the kernel whose number stands in a file: its most memory, its CPU seconds.

    It is ended when it holds more than `LIMIT`. Memory is its own; pages of files, as of maps of
    images, do not count, since the system takes them back when memory is short.
    """
    while not done.wait(0.02):
        try:
            process = Path("/proc", pid.read_text())
            status = (process / "status").read_text()
            times = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
        except (OSError, ValueError):
            continue
        lines = dict(line.split(":", 1) for line in status.splitlines())
        if "RssAnon" in lines:
            found["MB"] = max(found.get("MB", 0), int(lines["RssAnon"].split()[0]) / 1024)
            found["seconds"] = sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
            if found["MB"] > LIMIT / 2**20:
                os.kill(int(process.name), signal.SIGKILL)


def run(chapter: str, values: dict[str, object], scratch: Path) -> dict[str, float]:
    """Execute a chapter with these parameters; its peak in MB and its CPU seconds."""
    content = parameterised(ROOT / "notebooks" / f"{chapter}.py", values)
    pid, found, done = scratch / "pid", {}, threading.Event()
    pid.unlink(missing_ok=True)
    first = FIRST.format(benchmarks=str(Path(__file__).parent), pid=str(pid))
    content.cells.insert(0, nbformat.v4.new_code_cell(first))
    nbformat.write(content, scratch / "in.ipynb")
    watcher = threading.Thread(target=watch, args=(pid, done, found))
    watcher.start()
    try:
        papermill.execute_notebook(
            scratch / "in.ipynb",
            scratch / "out.ipynb",
            kernel_name="python3",
            cwd=ROOT / "notebooks",
            progress_bar=False,
            request_save_on_cell_execute=False,
        )
    finally:
        done.set()
        watcher.join()
    return found


def make_plan(profile: SimpleNamespace) -> None:
    """Leave the plan of an audit of this size where chapters 02 and 08 read it."""
    stage = Stage("audit_plan", profile="smoke", device="cpu", seed=profile.seed)
    content = audit_plan.make_plan(profile)
    stage.save("plan.json", content)
    stage.finish({"sha256": audit_plan.read_plan(content).sha256})


def run_all(n_transects: int) -> dict[str, dict[str, float]]:
    """Execute the chapters one after the other, in a folder of their own."""
    smoke, run_as = lineage.load_profile("smoke"), {"profile": "smoke", "device": "cpu"}
    size = lineage.load_profile("laptop")
    for name in ("image_size", "figure_size", "n_boot"):
        setattr(size, name, getattr(smoke, name))
    size.n_transects = n_transects
    made = artifacts.root() / "smoke"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "smoke")
        folder.mkdir()
        for chapter in BEFORE:
            (folder / chapter).symlink_to(made / chapter)
        os.environ["HELPERS_ARTIFACTS"] = scratch
        try:
            make_plan(size)
            for chapter in OF_THE_PLAN:
                run(chapter, vars(smoke) | run_as, Path(scratch))
            found = {}
            for chapter in CHAPTERS:
                peak = found[chapter] = run(chapter, vars(size) | run_as, Path(scratch))
                words = f"{peak['MB']:,.0f} MB, {peak['seconds']:,.0f} s"
                print(f"{n_transects:7,d} {chapter}: {words}", flush=True)
        finally:
            os.environ["HELPERS_ARTIFACTS"] = str(made.parent)
    return found


def draw(found: dict[int, dict[str, dict[str, float]]]) -> None:
    """The curve of every chapter, for the book."""
    figures.style()
    _, ax = plt.subplots(figsize=(figures.WIDTH, 4.2))
    for chapter, look in zip(CHAPTERS, figures.SPARE, strict=False):
        peaks = [found[n][chapter]["MB"] / 1024 for n in sorted(found)]
        ax.plot(sorted(found), peaks, marker=look.marker, color=look.colour, label=chapter[:2])
    ax.axhline(LIMIT / 2**30, color=figures.BLACK, linestyle="--", linewidth=1)
    ax.set(xscale="log", ylim=(0, None), xlabel="transects of eight images", ylabel="peak, GB")
    ax.set_title("A hundred thousand transects take less than four gigabytes")
    ax.set_xticks(list(found), [f"{n:,}" for n in found])
    ax.minorticks_off()
    ax.legend(title="chapter", loc="center left")
    plt.savefig(RESULTS / "memory.svg", bbox_inches="tight", metadata={"Date": None})


def main(sizes: tuple[int, ...] = SIZES) -> None:
    os.environ.update(dict.fromkeys(THREADS, "1"))
    found = {n: run_all(n) for n in reversed(sizes)}  # who wants too much is to fail at once
    rows = [
        {"what": chapter}
        | {f"MB at {n:,}": found[n][chapter]["MB"] for n in sizes}
        | {f"CPU s at {sizes[-1]:,}": found[sizes[-1]][chapter]["seconds"]}
        for chapter in CHAPTERS
    ]
    facts = {
        "images of a transect": 8,
        "pixels, noise": "{0} x {0}".format(lineage.load_profile("smoke").image_size),
        "raters of an image": lineage.load_profile("laptop").n_raters,
        "resamples": lineage.load_profile("smoke").n_boot,
        "limit of a kernel": f"{LIMIT / 2**30:.0f} GiB",
    }
    write_rows("memory", facts, rows, ["numpy", "pandas", "torch"])
    draw(found)


if __name__ == "__main__":
    main()
