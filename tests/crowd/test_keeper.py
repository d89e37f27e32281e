"""Nothing that a test starts outlives it."""

import signal
import subprocess
import sys
import time

import psutil
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")

STARTER = """
import importlib.util, time
spec = importlib.util.spec_from_file_location("started", {path!r})
started = importlib.util.module_from_spec(spec)
spec.loader.exec_module(started)
with started.kept(["sleep", {seconds!r}]):
    print("started", flush=True)
    {then}
"""


def sleepers(seconds: str) -> list[psutil.Process]:
    found = psutil.process_iter(["cmdline"])
    return [one for one in found if one.info["cmdline"] == ["sleep", seconds]]


@pytest.mark.parametrize("then", ["pass", "raise ValueError", "time.sleep(60)"])
def test_the_server_ends_with_its_tests_however_they_end(request, then):
    seconds = f"1000.{time.time_ns()}"  # a command line that no other process has
    program = STARTER.format(
        path=str(request.path.with_name("conftest.py")), seconds=seconds, then=then
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as starter:
        assert starter.stdout.readline() == b"started\n"
        if then.startswith("time"):
            time.sleep(0.5)
            assert len(sleepers(seconds)) == 1  # and does not end before its starter
            starter.send_signal(signal.SIGKILL)
        starter.wait()
    patience = time.monotonic() + 10
    while sleepers(seconds) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not sleepers(seconds)
