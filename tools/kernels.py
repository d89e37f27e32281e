"""Programs in processes of their own, forked from one that has imported the libraries.

On Linux every kernel, study and build of the pages starts at once, elsewhere each starts anew,
which takes five seconds. All watch the runner, and end at once when it ends, however it does: what
they were about is lost, what they finished is not, because every file appears whole.
"""

import gc
import importlib
import multiprocessing
import os
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace

from jupyter_client import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner
from traitlets import default

CONTEXT = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
# Of this repository, whose files may be edited during a run, no more than what keeps Ctrl-C mute.
# torch's optimisers import torch._dynamo when the first is made; here all processes share it.
LIBRARIES = """tools.quiet matplotlib.pyplot seaborn ipywidgets ipykernel.kernelapp pandas torch
torch._dynamo numba statsmodels.formula.api sklearn.linear_model sklearn.model_selection
sklearn.svm"""
CONTEXT.set_forkserver_preload(LIBRARIES.split())
# matplotlib reads it when it is imported, and a kernel chooses it only after that.
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"


def start(log: Path, work: Callable, *arguments: object) -> BaseProcess:
    """Start a function in a process of its own, whose words go to the end of the log."""
    process = CONTEXT.Process(target=_be, args=(log, work, *arguments))
    # Python's server of processes starts with the first one, and shows an interrupt at the keyboard
    # that comes while it imports what ignores it. It inherits what this thread blocks; the tracker,
    # which starts before, would unblock it.
    resource_tracker.ensure_running()
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
    return process


def be(log: Path, work: Callable, *arguments: object) -> None:
    """Have a function done in a process of its own; its last words are raised if it fails."""
    process = start(log, work, *arguments)
    process.join()
    if code := process.exitcode:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        killed = f"killed by signal {-code}; systems do that (9) when memory is short: try JOBS=1"
        raise RuntimeError(killed if code < 0 else lines[-1] if lines else f"ended with {code}")


def call(module: str, function: str, *arguments: object) -> None:
    getattr(importlib.import_module(module), function)(*arguments)


def _be(log: Path, work: Callable, *arguments: object) -> None:
    # Looking through what was imported before the fork would copy a hundred megabytes.
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)  # Python's own way takes a tenth of compiling
    os.setsid()  # an interrupt at the keyboard is for the runner
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_runner, daemon=True).start()
    with log.open("a") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    code = 0
    try:
        work(*arguments)
    except BaseException as error:
        if not isinstance(error, SystemExit) or error.code:
            traceback.print_exc()
            code = 1
    sys.stdout.flush()
    os._exit(code)  # the usual way out waits for joblib's idle workers


def _end_with_runner() -> None:
    wait([multiprocessing.parent_process().sentinel])
    os.killpg(0, signal.SIGKILL)


def be_kernel(command: list[str], folder: str, environment: dict[str, str]) -> None:
    os.chdir(folder)
    os.environ.update(environment)
    sys.argv, sys.path[0] = command[command.index("-m") + 1 :], ""
    sys.argv.append(f"--IPKernelApp.parent_handle={os.getppid()}")  # it was not started by hand
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


class Provisioner(LocalProvisioner):
    """Starts the kernel in a process of this module."""

    words: Path

    async def launch_kernel(self, cmd: list[str], **options) -> dict:
        process = start(self.words, be_kernel, cmd, str(options["cwd"]), options["env"])
        self.pid = self.pgid = process.pid
        # With what is called of a `subprocess.Popen`.
        calls = {"poll": lambda: process.exitcode, "wait": process.join, "kill": process.kill}
        calls |= dict.fromkeys(("stdin", "stdout", "stderr"))
        send = partial(os.kill, process.pid)
        self.process = SimpleNamespace(pid=process.pid, send_signal=send, **calls)
        return self.connection_info


def manager(log: Path, folder: Path) -> type[AsyncKernelManager]:
    """The class of managers of one kernel.

    Args:
        log: file to which the kernel writes what is not a cell's output.
        folder: that is this kernel's own, for its sockets. Ports would be drawn before the kernel
            binds them, so that two kernels that start at once can be given the same one. Its path
            is short, because systems take about a hundred characters.
    """

    class Manager(AsyncKernelManager):
        @default("transport")
        def _transport_default(self) -> str:
            return "ipc"

        @default("ip")
        def _ip_default(self) -> str:
            return str(folder / "kernel")

        async def _async_pre_start_kernel(self, **options):
            self.provisioner = Provisioner(parent=self, kernel_spec=self.kernel_spec)
            self.provisioner.words = log
            return await super()._async_pre_start_kernel(**options)

    return Manager
