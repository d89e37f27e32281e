"""The pins are there before the libraries that read them, wherever numbers of the book are made."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import digest
import pytest
from jupyter_client.manager import start_new_kernel

import helpers

PINNED = pytest.mark.skipif(not helpers.pins(), reason="a processor without pins")
OFF = helpers.PINS["NPY_DISABLE_CPU_FEATURES"].split()
# What numpy and torch made of the pins, not the variables alone: these may come too late.
ASK = """
import os
import numpy
import torch
from numpy._core._multiarray_umath import __cpu_features__ as used
shown = dict(torch=torch.backends.cpu.get_cpu_capability(), numpy=[k for k in used if used[k]])
shown["pins"] = {name: os.environ.get(name) for name in %r}
""" % [*helpers.PINS]
# numpy reads its pin when it is imported. A processor without AVX-512 shows no other trace of it.
ORDER = "import sys; names = [*sys.modules]; assert names.index('helpers') < names.index('numpy')"
ASK_JSON = f"{ASK}\nimport json; print(json.dumps(shown))"
NOTEBOOK = f"""# %% tags=["parameters"]\nprofile = "laptop"\n\n# %%\n{ASK_JSON}\n"""
# As the runner starts: `run` is imported, then kernels start, forked from what imported libraries.
RUNNER = """
import sys
from pathlib import Path
sys.path[:0] = ["tools"]
import run, execute
source, out = map(Path, sys.argv[1:])
execute.execute(source, out, "smoke", "cpu", out.with_suffix(".log"))
"""


@pytest.fixture
def outside(monkeypatch):
    """An environment that says otherwise than the pins, or nothing."""
    for name in helpers.PINS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MKL_CBWR", "AVX512")
    return dict(os.environ)


def check(shown):
    assert shown["pins"] == helpers.PINS
    assert shown["torch"] == "AVX2" and not set(OFF) & set(shown["numpy"])


@PINNED
def test_a_worker_of_the_tests_has_them():
    here = {}
    exec(ASK, here)
    check(here["shown"])


@PINNED
@pytest.mark.parametrize(
    "start",
    [
        "import helpers, numpy",
        "from faceworld.networks import predict",
        "from faceworld import audit",
        "from course import editions",
    ],
)
def test_a_program_has_them_by_importing_the_package(outside, start):
    command = [sys.executable, "-c", f"{start}\n{ORDER}\n{ASK_JSON}"]
    done = subprocess.run(command, env=outside, check=True, capture_output=True, text=True)
    check(json.loads(done.stdout))


@PINNED
def test_a_kernel_of_the_runner_has_them(outside, repository, tmp_path):
    source, out = tmp_path / "n.py", tmp_path / "n.ipynb"
    source.write_text(NOTEBOOK)
    command = [sys.executable, "-c", RUNNER, str(source), str(out)]
    subprocess.run(command, env=outside, cwd=repository, check=True)
    cell = json.loads(out.read_text())["cells"][-1]
    check(json.loads("".join(cell["outputs"][0]["text"])))


@PINNED
def test_a_kernel_of_a_reader_has_them(outside, repository, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "prefix", str(tmp_path))
        runpy.run_path(str(repository / "tools" / "kernelspec.py"), run_name="__main__")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share" / "jupyter"))
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        told = []
        client.execute_interactive(
            ASK_JSON,
            timeout=120,
            output_hook=lambda message: told.append(message["content"].get("text", "")),
        )
        check(json.loads("".join(told)))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("flags", ["fpu sse4_2 avx", None])
def test_no_processor_gets_what_it_lacks(tmp_path, monkeypatch, flags):
    processor = Path(tmp_path, "cpuinfo")  # macOS has none; arm64's has other flags
    if flags:
        processor.write_text(f"flags : {flags} \n")
    monkeypatch.setattr(helpers, "_PROCESSOR", processor)
    assert helpers.pins() == {}


@PINNED
@pytest.mark.parametrize("name", [name for name in digest.LAYERS if name.startswith("trained")])
def test_a_few_steps_train_the_weights_of_record(name):
    """If a change is meant: `python tests/digest.py --write`."""
    recorded = json.loads(digest.RECORD.read_text())
    assert digest.of(name) == recorded[name]
