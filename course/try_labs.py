"""Try the course on this computer, before students do: `python3 try_labs.py`, with a network.

It makes the environment `course-env` in this folder from the students' list, and runs every lab
with its solution and the students' code. It fails where something is too large, slow or wrong.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
STUDENT = HERE / "student"
ENVIRONMENT = HERE / "course-env"
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
MOST_MEGABYTES, MOST_SECONDS = 950, 60


def install() -> list[str]:
    """Make the environment as students do; gives what is wrong with it."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--requirement"]
    subprocess.run([*pip, STUDENT / "requirements.txt"], check=True)
    files = [path for path in ENVIRONMENT.rglob("*") if path.is_file() and not path.is_symlink()]
    size = sum(path.stat().st_size for path in files) / 1e6
    print(f"environment: {size:.0f} MB", flush=True)
    # Jupyter, when it is started from here, opens labs and solutions alike.
    packages = next(ENVIRONMENT.rglob("site-packages"))
    (packages / "course.pth").write_text(f"{STUDENT}\n", encoding="utf-8")
    faults = {
        f"the environment has more than {MOST_MEGABYTES} MB": size > MOST_MEGABYTES,
        "torch was installed": (packages / "torch").exists(),
    }
    return [fault for fault, found in faults.items() if found]


def run(lab: Path) -> list[str]:
    """Run a solution from its first cell to its last; gives what is wrong."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [PYTHON, "-m", "nbconvert", "--log-level=ERROR", "--to=notebook", "--execute"]
        command += [f"--output-dir={folder}", lab]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return [f"{lab.name} stopped:\n{done.stderr}"]
        cells = json.loads((Path(folder) / lab.name).read_text(encoding="utf-8"))["cells"]
    seconds = time.monotonic() - began
    said = "".join("".join(one.get("text", "")) for c in cells for one in c.get("outputs", []))
    print(f"{lab.name}: {seconds:.0f} s, {said.count(': right.')} checks are right", flush=True)
    faults = {
        f"{lab.name} took more than {MOST_SECONDS} s": seconds > MOST_SECONDS,
        f"{lab.name}: a check refused the solution": ": not yet." in said or ": right." not in said,
    }
    return [fault for fault, found in faults.items() if found]


if __name__ == "__main__":
    wrong = install()
    for solution in sorted((HERE / "solution").glob("*.ipynb")):
        wrong += run(solution)
    sys.exit("\n".join(wrong) or None)
