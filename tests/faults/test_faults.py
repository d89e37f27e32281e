"""What is promised of every run: nothing finished is lost, nothing damaged or stale is used.

Each fault is provoked for real, on a tiny repository. `make faults` provokes many more
(`FAULTS=40` kills instead of the few of `make test`).
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
KILLS = int(os.environ.get("FAULTS", "3"))
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def ran(words: str) -> list[str]:
    """Stages that a run has made."""
    return [line.split(":")[0] for line in words.splitlines() if ": done in" in line]


# --- kills


@pytest.mark.slow
@pytest.mark.parametrize("number", range(KILLS))
def test_no_kill_loses_anything_or_leaves_a_process(tiny, finished, number):
    chance = random.Random(number)
    process = tiny.start()
    time.sleep(chance.uniform(1.0, 9.0))
    victims = [p for p in tiny.processes() if p.pid != process.pid]
    first = psutil.Process(process.pid)
    victim = first if number == 0 else chance.choice([first, *victims])
    runner_hit = victim.pid == process.pid
    victim.send_signal(SIGNALS[number % 3] if runner_hit else signal.SIGKILL)
    process.communicate(timeout=120)
    assert tiny.survivors() == []
    tiny.run()
    assert tiny.files() == finished.files()
    assert not list(tiny.artifacts.rglob(".*.tmp"))


@pytest.mark.parametrize("moment", ["imports", "imports of kernels", "work"])
def test_an_interrupt_at_the_keyboard_ends_quietly_and_keeps_what_is_finished(tiny, moment):
    process = tiny.start()
    assert "reading what there is" in process.stdout.readline()  # before anything is imported
    if moment == "imports of kernels":
        assert "2 steps may run" in process.stdout.readline()
        time.sleep(2)
    if moment == "work":
        tiny.kernel()
    time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # the terminal's whole group
    words, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "run the same command to go on" in words
    assert "Traceback" not in words and "Kernel died" not in words and tiny.survivors() == []


def test_a_killed_kernel_is_said_with_a_word_on_memory(quick):
    process = quick.start()
    quick.kernel().send_signal(signal.SIGKILL)
    words, _ = process.communicate(timeout=60)
    assert process.returncode == 1 and "01_first FAILED" in words and "memory is short" in words
    assert "Traceback" not in words and quick.survivors() == []


# --- two at once


def test_a_second_run_waits(quick):
    first = quick.start()
    quick.kernel()
    second = quick.start()
    words, _ = second.communicate(timeout=120)
    first.communicate(timeout=120)
    assert "waiting: another process uses" in words and "nothing to do" in words
    assert first.returncode == second.returncode == 0


# --- damage


DAMAGE = {
    "01_first/manifest.json": ["01_first"],
    "01_first/page.json": ["01_first"],
    "01_first/01_first.ipynb": ["01_first"],
    "01_first/numbers.npy": ["01_first"],
    "01_first/images.npy": ["01_first"],
    "01_first/images.npy.progress.json": [],
    "02_second/manifest.json": ["02_second"],
    "02_second/double.npy": ["02_second"],
}


HARMS = ["cut", "garbled", "gone", "one byte"]
CASES = [
    (name, harm)
    for row, name in enumerate(DAMAGE)
    for column, harm in enumerate(HARMS)
    if "FAULTS" in os.environ or (row + column) % 4 == 0  # each file, and each harm, some time
]


@pytest.mark.parametrize(("name", "harm"), CASES)
def test_only_what_is_damaged_is_made_again(finished, name, harm):
    path, before = finished.artifacts / name, finished.files()
    content = path.read_bytes()
    if harm == "gone":
        path.unlink()
    else:
        harmed = {"cut": content[: len(content) // 2], "garbled": b"\x00" * len(content)}
        path.write_bytes(harmed.get(harm, content[:-1] + bytes([content[-1] ^ 1])))
    assert ran(finished.run()) == DAMAGE[name]
    assert finished.files() == before
    assert "nothing to do" in finished.run()


# --- what is stale


def edit(path, old, new, times=None):
    path.write_text(path.read_text().replace(old, new))
    if times:
        os.utime(path, ns=times)


def test_nothing_to_do_takes_no_library_that_is_long_to_import(finished):
    words = finished.run(PYTHONPROFILEIMPORTTIME="1")
    imported = {line.rpartition("|")[2].strip() for line in words.splitlines()}
    assert "nothing to do" in words and "helpers.artifacts.lineage" in imported
    assert not imported & {"numpy", "pandas", "torch", "jupytext", "papermill", "jupyter_client"}


def test_an_edit_with_its_old_time_is_seen_and_later_stages_follow(finished):
    path = finished.folder / "src/faceaudit/utils/noise.py"
    state = path.stat()
    edit(path, "1.0", "2.0", (state.st_atime_ns, state.st_mtime_ns))
    why = finished.run("--why", "01_first")
    assert "made by other code: src/faceaudit/utils/noise.py" in why
    assert ran(finished.run()) == ["01_first", "02_second"]
    assert np.load(finished.artifacts / "02_second/double.npy").max() > 500


def test_restyling_a_figure_draws_again_and_computes_nothing_else(finished):
    path = finished.folder / "src/helpers/figures/shades.py"
    edit(path, "0.5", "0.6")
    assert ran(finished.run()) == ["02_second"]
    edit(finished.folder / "notebooks/01_first.py", "# %%\nimport time", "# %%\nimport time  # !")
    assert ran(finished.run()) == ["01_first"]


def test_code_edited_while_it_runs_is_not_blessed(quick):
    process = quick.start()
    quick.kernel()
    edit(quick.folder / "src/faceaudit/utils/noise.py", "1.0", "3.0")
    words, _ = process.communicate(timeout=60)
    assert process.returncode == 1 and "noise.py while it ran" in words
    assert ran(quick.run()) == ["01_first", "02_second"]


def test_a_file_that_cannot_be_parsed_fails_its_stage_alone(quick):
    process = quick.start()
    quick.kernel()
    with (quick.folder / "notebooks/02_second.py").open("a") as stream:
        stream.write("(\n")
    words, _ = process.communicate(timeout=60)
    assert ran(words) == ["01_first"] and "02_second FAILED" in words
    assert process.returncode == 1 and "Traceback" not in words


# --- machines


BESIDE = """# %% tags=["parameters"]
profile = "smoke"
device = "cpu"
seed = 1

# %%
import torch

from helpers.artifacts import Stage

stage = Stage("01_beside", profile=profile, device=device, seed=seed)
values = torch.randn(3_000_017, generator=torch.Generator().manual_seed(seed))

# %%
stage.save("numbers.npy", values.sum(dim=0, keepdim=True).numpy())
stage.finish({"sum": float(values.sum())})
"""


def test_jobs_and_threads_change_no_byte(tiny):
    # Its sums are other ones for two threads than for one.
    (tiny.folder / "notebooks/01_beside.py").write_text(BESIDE)
    reads = 'stage.load("01_beside", "numbers.npy")\n'
    edit(tiny.folder / "notebooks/02_second.py", "\n# %%\nstage.save", f"{reads}\n# %%\nstage.save")
    left = []
    for jobs, asked in (("1", "1"), ("2", "7")):
        threads = dict.fromkeys(THREADS, asked)
        shutil.rmtree(tiny.artifacts, ignore_errors=True)
        assert len(ran(tiny.run("--stage", "02_second", "--jobs", jobs, **threads))) == 3
        left.append(tiny.files())
    assert "01_beside/results.json" in left[0] and left[0] == left[1]


def test_a_full_disk_is_said_and_the_run_goes_on_when_there_is_room(quick):
    quick.artifacts.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=24k", "tmpfs", quick.artifacts]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no small disk can be had here")
    try:
        words = quick.run(status=1)
        assert "No space left" in words or "disk full" in words
        assert "Traceback" not in words
        subprocess.run(["mount", "-o", "remount,size=8m", quick.artifacts], check=True)
        assert len(ran(quick.run())) == 2
    finally:
        subprocess.run(["umount", quick.artifacts], check=True)
