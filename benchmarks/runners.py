"""What tools that run pipelines do with two kinds of edit and with a kill, and how long they take.

Run `python benchmarks/runners.py`; each tool is installed into an environment of its own. A project
of twenty tasks copies a line after six seconds in a child process, as a chapter's kernel would be.
The book's own runner is held to the same in `tests/faults`; its row is `make smoke` once more.
"""

import os
import resource
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from record import write_rows

IDLE = "CPU seconds with nothing to do, least of three"
OLD_TIME = "an edit that keeps the file's time"
DURING = "an edit while the task runs"
TERM, KILL = "processes left by TERM", "processes left by KILL"
SEEN = {True: "seen", False: "missed"}

TASKS, CHILD = 20, "import time; time.sleep(float(open('nap').read()))"
WORK = f"""
import subprocess, sys
def work(i):
    text = open(f"in{{i}}.txt").read()
    subprocess.run([sys.executable, "-c", {CHILD!r}], check=True)
    open(f"out{{i}}.txt", "w").write(text)
"""
PYTASK = f"""
from pathlib import Path
from typing import Annotated
from pytask import Product, task
from work import work
HERE = Path(__file__).parent
for i in range({TASKS}):
    @task(id=str(i))
    def task_one(i: int = i, source: Path = HERE / f"in{{i}}.txt",
                 out: Annotated[Path, Product] = HERE / f"out{{i}}.txt"):
        work(i)
"""
DOIT = f"""
from work import work
def task_one():
    for i in range({TASKS}):
        yield {{"name": str(i), "actions": [(work, [i])],
               "file_dep": [f"in{{i}}.txt"], "targets": [f"out{{i}}.txt"]}}
"""
SNAKEMAKE = f"""
from work import work
rule all:
    input: expand("out{{i}}.txt", i=range({TASKS}))
rule one:
    input: "in{{i}}.txt"
    output: "out{{i}}.txt"
    run: work(int(wildcards.i))
"""
TOOLS = {
    "pytask": (
        ["pytask==0.6.0", "pytask-parallel==0.5.5"],
        {"task_project.py": PYTASK},
        ["build", "-n", "2", "--parallel-backend", "loky", "-s"],
    ),
    "doit": (["doit==0.37.0"], {"dodo.py": DOIT}, ["-n", "2", "-v", "0"]),
    "snakemake": (["snakemake==9.27.1"], {"Snakefile": SNAKEMAKE}, ["-j", "2", "-q"]),
}


def cpu_seconds(run: Callable[[], object]) -> float:
    """CPU seconds of the processes that a function starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Project:
    """Twenty tasks, a tool, and what the tool does with them."""

    def __init__(self, folder: Path, name: str) -> None:
        packages, files, options = TOOLS[name]
        self.folder = folder
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
        self.command = [python.with_name(name), *options]
        for file, text in {"work.py": WORK, "nap": "0", **files}.items():
            (folder / file).write_text(text)
        for i in range(TASKS):
            (folder / f"in{i}.txt").write_text("a")

    def start(self) -> subprocess.Popen:
        environment = os.environ | {"PYTHONPATH": str(self.folder)}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(
            self.command, cwd=self.folder, env=environment, start_new_session=True, **quiet
        )

    def run(self) -> float:
        """CPU seconds of one run."""
        return cpu_seconds(lambda: self.start().wait())

    def result(self, i: int) -> str:
        return (self.folder / f"out{i}.txt").read_text()

    def sees_edit_with_old_time(self) -> bool:
        source = self.folder / "in1.txt"
        state = source.stat()
        source.write_text("c")
        os.utime(source, ns=(state.st_atime_ns, state.st_mtime_ns))
        self.run()
        return self.result(1) == "c"

    def sees_edit_while_it_runs(self) -> bool:
        source = self.folder / "in0.txt"
        source.write_text("b")
        (self.folder / "nap").write_text("6")
        running = self.start()
        self.kernels(wanted=1)
        source.write_text("d")
        running.wait()
        (self.folder / "nap").write_text("0")
        self.run()
        return self.result(0) == "d"

    def survivors_of(self, number: int) -> int:
        """Kernels that go on two seconds after the tool was sent a signal."""
        for i in (2, 3):
            (self.folder / f"in{i}.txt").write_text(f"{number}{i}")
        (self.folder / "nap").write_text("30")
        running = self.start()
        self.kernels(wanted=1)
        running.send_signal(number)
        time.sleep(2)
        left = self.kernels()
        for process in left:
            process.kill()
        running.kill()
        running.wait()
        (self.folder / "nap").write_text("0")
        self.run()
        return len(left)

    def kernels(self, wanted: int = 0) -> list[psutil.Process]:
        until = time.monotonic() + 60
        while True:
            found = []
            for process in psutil.process_iter(["cmdline", "cwd"]):
                own = process.info["cwd"] == str(self.folder)
                if own and (process.info["cmdline"] or [])[1:3] == ["-c", CHILD]:
                    found.append(process)
            if len(found) >= wanted or time.monotonic() > until:
                return found
            time.sleep(0.1)


def asked(name: str, packages: list[str]) -> dict[str, str | float]:
    """A row of the table: what one tool did."""
    with TemporaryDirectory() as folder:
        project = Project(Path(folder).resolve(), name)
        project.run()
        return {
            "what": " with ".join(packages),
            IDLE: min(project.run() for _ in range(3)),
            OLD_TIME: SEEN[project.sees_edit_with_old_time()],
            DURING: SEEN[project.sees_edit_while_it_runs()],
            TERM: project.survivors_of(signal.SIGTERM),
            KILL: project.survivors_of(signal.SIGKILL),
        }


def ours() -> dict[str, str | float]:
    """The book's row: what it does with edits and kills, the tests of faults say."""
    command, root = [sys.executable, "tools/run.py", "smoke"], Path(__file__).parents[1]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, cwd=root, check=True, **quiet)  # it may have something to do
    used = [cpu_seconds(lambda: subprocess.run(command, cwd=root, **quiet)) for _ in range(3)]
    below = dict.fromkeys((OLD_TIME, DURING, TERM, KILL), "see below")
    return {"what": "the book's runner, smoke profile", IDLE: min(used), **below}


def main() -> None:
    rows = [ours(), *(asked(name, packages) for name, (packages, _, _) in TOOLS.items())]
    write_rows("runners", {"tasks of each tool": TASKS}, rows, ["papermill", "psutil"])


if __name__ == "__main__":
    main()
