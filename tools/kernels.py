"""Programs in processes of their own, forked from one that has imported the libraries.

On Linux, every kernel, study and build of the pages starts at once, elsewhere each starts anew. All
end with the runner, however that ends: they watch it. On Linux the system also kills them when the
process that they were forked from is gone.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import runpy
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import util
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TextIO

from jupyter_client import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner
from traitlets import default

from helpers.utils.processes import die_with_parent

CONTEXT = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
# What chapters need, which takes five seconds to import; of this repository, whose files may be
# edited during a run, nothing but what keeps these seconds quiet (found from the root, as by make).
QUIET = "tools.quiet"
DRAWING = ["matplotlib.pyplot", "seaborn", "ipywidgets", "ipykernel.kernelapp", "pandas", "torch"]
# torch's optimisers import torch._dynamo when the first is made; here all processes share it.
COMPUTING = ["numba", "torch._dynamo"]
FITTING = ["linear_model", "model_selection", "svm"]
CONTEXT.set_forkserver_preload(
    [
        QUIET,
        *DRAWING,
        *COMPUTING,
        *(f"sklearn.{name}" for name in FITTING),
        "statsmodels.api",
        "statsmodels.formula.api",
    ]
)
# matplotlib reads it when it is imported, and a kernel chooses it only after that.
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
MENDED = re.compile(r"(made|trained) again$")
"""How warnings end that damage was found, and what was done about it."""
RUNNING: set[BaseProcess] = set()
_STARTING, _ENDING = threading.Lock(), threading.Event()


def start(log: Path, work: Callable, *arguments: object) -> BaseProcess:
    """Start a function in a process of its own, whose words go to the end of the log.

    Raises:
        RuntimeError: the run is being ended.
    """
    process = CONTEXT.Process(target=_be, args=(log, work, *arguments))
    with _STARTING:
        if _ENDING.is_set():
            raise RuntimeError("interrupted")
        process.start()
        RUNNING.add(process)
    return process


def end_all(patience: float = 5.0) -> None:
    """Leave no process: ask those that run to end, then have the system end them."""
    _ENDING.set()
    with _STARTING:  # what is being started is among those to be ended
        running = [process for process in RUNNING if process.exitcode is None]
    for number, seconds in ((signal.SIGINT, patience), (signal.SIGKILL, 10.0)):
        for process in running:
            _signal(process.pid, number)
        until = time.monotonic() + seconds
        for process in running:
            process.join(max(0.0, until - time.monotonic()))


def _signal(pid: int, number: int) -> None:
    """Signal a process and those that it started."""
    with suppress(ProcessLookupError, PermissionError):
        try:
            os.killpg(pid, number)
        except ProcessLookupError:  # on a busy machine it may not lead a group yet
            os.kill(pid, number)


def _be(log: Path, work: Callable, *arguments: object) -> None:
    # What was imported before the fork is not looked through for garbage: each look writes to all
    # of it, so that this process would have a copy of its own, of more than a hundred megabytes.
    gc.freeze()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, if the runner's was
    os.setsid()  # an interrupt at the keyboard is for the runner, which passes it on
    die_with_parent(os.getppid())
    threading.Thread(target=_die_with_runner, daemon=True).start()
    with log.open("a") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    code = 0
    try:
        work(*arguments)
    except KeyboardInterrupt:
        code = 130
    except BaseException as error:
        if not isinstance(error, SystemExit) or error.code:
            traceback.print_exc()
            code = 1
    finally:
        sys.stdout.flush()
        # Not the usual way out, which waits for joblib's idle workers; they end with this process.
        os._exit(code)


def _die_with_runner() -> None:
    """End this process and its children when the runner is gone, however that ended."""
    wait([multiprocessing.parent_process().sentinel])
    os.killpg(0, signal.SIGKILL)


def be_kernel(command: list[str], folder: str, environment: dict[str, str]) -> None:
    os.chdir(folder)
    os.environ.update(environment)
    sys.argv, sys.path[0] = command[command.index("-m") + 1 :], ""
    sys.argv.append(f"--IPKernelApp.parent_handle={os.getppid()}")  # it is no one's by hand
    log_what_is_mended(os.fdopen(os.dup(2), "w", buffering=1))
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def log_what_is_mended(log: TextIO) -> None:
    """Tell of damage that is mended in the log: the page shall be as without the damage."""
    show = warnings.showwarning

    def tell(message: Warning | str, *place: object, **more: object) -> None:
        if MENDED.search(str(message)):
            print(message, file=log)
        else:
            show(message, *place, **more)

    warnings.showwarning = tell


class Kernel:
    """A process with the methods of `subprocess.Popen` that a provisioner calls."""

    stdin = stdout = stderr = None

    def __init__(self, process: BaseProcess) -> None:
        self.process, self.pid = process, process.pid
        self.send_signal, self.kill = (lambda number: os.kill(self.pid, number)), process.kill

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self) -> int | None:
        self.process.join()
        return self.process.exitcode


class Provisioner(LocalProvisioner):
    """Starts the kernel in a process of this module."""

    words: Path

    async def launch_kernel(self, cmd: list[str], **options) -> dict:
        process = start(self.words, be_kernel, cmd, str(options["cwd"]), options["env"])
        self.process, self.pid, self.pgid = Kernel(process), process.pid, process.pid
        return self.connection_info


def manager(log: Path) -> type[AsyncKernelManager]:
    """The class of managers whose kernels write what is not a cell's output to `log`.

    They talk by sockets in a folder of the run, which nobody else on the machine can reach.
    """

    class Manager(AsyncKernelManager):
        @default("transport")
        def _of_files(self) -> str:
            return "ipc"

        @default("ip")
        def _in_a_folder_of_its_own(self) -> str:
            return f"{tempfile.mkdtemp(dir=util.get_temp_dir())}/k"

        async def _async_pre_start_kernel(self, **options):
            self.provisioner = Provisioner(parent=self, kernel_spec=self.kernel_spec)
            self.provisioner.words = log
            return await super()._async_pre_start_kernel(**options)

    return Manager
