"""The process that kernels are forked from."""

import os
import signal
import subprocess
import sys
import time

import pytest

from helpers.artifacts.lineage import ROOT

STARTING = """
import sys
sys.path.insert(0, "tools")
import kernels
from multiprocessing import forkserver
forkserver.ensure_running()
print(forkserver._forkserver._forkserver_pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is forked")
def test_an_interrupt_while_the_libraries_are_imported_is_quiet():
    process = subprocess.Popen(
        [sys.executable, "-c", STARTING],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    server = int(process.stdout.readline())
    time.sleep(1.0)  # of the seconds that the imports take
    os.kill(server, signal.SIGINT)
    _, said = process.communicate("")  # which ends when the server has closed its streams, too
    assert "Traceback" not in said
