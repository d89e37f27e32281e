"""Start Python programs from a process that has already imported the book's libraries.

    python tools/warm.py --serve make --jobs=2 book     run make with such a process at hand
    python -IS tools/warm.py SCRIPT [ARGUMENT ...]      run a script, warm if a server is there
    python -IS tools/warm.py -m MODULE [ARGUMENT ...]   run a module, likewise

Every chapter needs torch, pandas, matplotlib and statsmodels: five seconds of imports, twenty
times in one run of the book. The server imports them once, at the first request, and forks itself
for each program; it lives as long as the command it was started with. Without a server (on
another system than Linux, or outside of make) the program starts as usual.

The process that asked stands in for the program: it passes interrupts on, ends with the program's
exit status, and when it dies, so does the program. With `-IS` it starts in hundredths of a second,
so only the standard library is used here.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from multiprocessing.connection import Client, Connection, Listener, wait
from multiprocessing.reduction import recv_handle, send_handle

ADDRESS = "WARM_START"
"""Environment variable with the address of the server."""

LIBRARIES = (
    "matplotlib.pyplot",
    "pandas",
    "torch",
    "seaborn",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "sklearn.svm",
    "statsmodels.api",
    "statsmodels.formula.api",
    "ipywidgets",
    "ipykernel.kernelapp",
    "papermill",
    "jupytext",
)

Request = tuple[list[str], str, dict[str, str]]
"""A program with its arguments, the folder it runs in, and its environment."""


def ask(program: list[str]) -> int:
    """Run the program: by the server if there is one, else in place of this process."""
    try:
        server = Client(os.environ[ADDRESS], family="AF_UNIX")
    except (KeyError, OSError):
        os.execv(sys.executable, [sys.executable, *program])
    server.send((program, os.getcwd(), dict(os.environ)))
    keeper = server.recv()
    for stream in (0, 1, 2):
        send_handle(server, stream, keeper)
    pid = server.recv()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    try:
        status = server.recv()
    except EOFError:
        raise SystemExit(f"the process that ran {program[0]} was lost") from None
    return status if status >= 0 else 128 - status  # as a shell says that a signal ended it


def serve(command: list[str]) -> tuple[Request, list[int]]:
    """Run the command with a server at hand.

    Returns in the forked processes, in each with the program that it is to be and its streams.

    Raises:
        SystemExit: in the server, with the command's status, when the command has ended.
    """
    import subprocess
    import threading

    if sys.platform != "linux":  # elsewhere a fork of a process with libraries is not safe
        sys.exit(subprocess.call(command, close_fds=False))
    listener = Listener(family="AF_UNIX")
    address = listener.address
    made = subprocess.Popen(command, env=os.environ | {ADDRESS: address}, close_fds=False)

    def end() -> None:
        made.wait()
        Client(address).send(None)

    threading.Thread(target=end, daemon=True).start()
    while True:
        # An interrupt at the keyboard reaches the command, too; the server ends when that does.
        with contextlib.suppress(KeyboardInterrupt), listener.accept() as connection:
            request = connection.recv()
            if request is None:
                listener.close()
                sys.exit(made.wait())
            prepare()
            if not os.fork():
                listener.close()
                return request, keep(connection)


def prepare() -> None:
    """Import the libraries as a kernel would: both names are read when they are imported."""
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    os.environ["JPY_PARENT_PID"] = str(os.getpid())
    for library in LIBRARIES:
        __import__(library)
    gc.freeze()  # what is shared now stays shared


def keep(connection: Connection) -> list[int]:
    """Fork the program, tell how it ended, and end it if nobody waits for it any more.

    Returns in the program's process, with the descriptors of its three streams.
    """
    os.setsid()  # an interrupt at the keyboard reaches the program through the asker alone
    connection.send(os.getpid())
    streams = [recv_handle(connection) for _ in range(3)]
    program = os.fork()
    if not program:
        return streams
    for stream in streams:
        os.close(stream)
    connection.send(program)
    if connection in wait([os.pidfd_open(program), connection]):
        os.kill(program, signal.SIGKILL)
    _, status = os.waitpid(program, 0)
    with contextlib.suppress(OSError):
        connection.send(os.waitstatus_to_exitcode(status))
    os._exit(0)


def become(request: Request, streams: list[int]) -> None:
    """Be the program: its streams, folder, environment, arguments and path."""
    import runpy

    program, folder, environment = request
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if program[0] == "-m":
        sys.argv, sys.path[0] = program[1:], folder
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = program, os.path.dirname(os.path.abspath(program[0]))
        runpy.run_path(program[0], run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        become(*serve(sys.argv[2:]))
    else:
        sys.exit(ask(sys.argv[1:]))
