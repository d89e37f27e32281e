"""A process that is killed takes along those that it started."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.utils.processes import alone

WORK = """
import os, sys, time
from pathlib import Path
from joblib import delayed
from helpers.utils.parallel import processes

def task(seconds):
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(seconds)

processes(2)(delayed(task)(float(sys.argv[2])) for _ in range(4))
Path(sys.argv[1], "done").touch()
time.sleep(60)
"""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone ends them")
@pytest.mark.parametrize(("seconds", "ready"), [(60, "[0-9]*"), (0.2, "done")])
def test_workers_die_with_a_process_that_is_killed(tmp_path, seconds, ready):
    script = tmp_path / "work.py"
    script.write_text(WORK)
    pids = tmp_path / "pids"
    pids.mkdir()
    parent = subprocess.Popen([sys.executable, script, pids, str(seconds)])
    wait_for(lambda: any(pids.glob(ready)))
    workers = [int(path.name) for path in pids.glob("[0-9]*")]
    assert workers and all(map(alive, workers))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    wait_for(lambda: not any(map(alive, workers)), seconds=10)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone ends them")
def test_who_comes_too_late_dies_at_once():
    command = "from helpers.utils.processes import die_with_parent; die_with_parent(1 << 30)"
    assert subprocess.run([sys.executable, "-c", command]).returncode == -signal.SIGKILL


HOLDER = """
import sys, time
from pathlib import Path
from helpers.utils.processes import alone

with alone(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(1)
"""


@pytest.mark.parametrize("told", [True, False])
def test_who_waits_is_told_by_whom_only_if_it_asks(tmp_path, capfd, told):
    heard = []
    command = [sys.executable, "-c", HOLDER, tmp_path / "lock"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with alone(tmp_path / "lock", heard.append if told else None):
            assert holder.wait() == 0
    expected = f"waiting: {tmp_path} is in use by process {holder.pid} on "
    assert [sentence.startswith(expected) for sentence in heard] == [True] * told
    assert capfd.readouterr() == ("", "")  # in a chapter it would be part of the page
