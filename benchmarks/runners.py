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
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from record import write_rows

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
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.start().wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

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


def main() -> None:
    times, facts = {}, {"tasks": TASKS}
    for name, (packages, _, _) in TOOLS.items():
        with TemporaryDirectory() as folder:
            project = Project(Path(folder).resolve(), name)
            project.run()
            times[f"{' with '.join(packages)}, nothing to do"] = min(
                project.run() for _ in range(3)
            )
            seen = {
                "an edit that keeps the file's time": project.sees_edit_with_old_time(),
                "an edit while the task runs": project.sees_edit_while_it_runs(),
            }
            killed = {"TERM": signal.SIGTERM, "KILL": signal.SIGKILL}
            left = {word: project.survivors_of(number) for word, number in killed.items()}
        facts |= {f"{name}, {what}": "seen" if saw else "not seen" for what, saw in seen.items()}
        facts |= {f"{name}, kernels left by {word}": count for word, count in left.items()}
    ours = [sys.executable, "tools/run.py", "smoke"]
    root, quiet = Path(__file__).parents[1], {"stdout": subprocess.DEVNULL}
    used = []
    for _ in range(4):  # the first may have something to do
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(ours, cwd=root, check=True, **quiet)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    times = {"the book's runner, smoke, nothing to do": min(used[1:]), **times}
    first = next(iter(times.values()))
    rows = [{"what": what, "seconds": time, "ratio": time / first} for what, time in times.items()]
    write_rows("runners", facts, rows, ["papermill", "psutil"])


if __name__ == "__main__":
    main()
