"""What importing the core of the package brings along."""

import pkgutil
import subprocess
import sys
from importlib import metadata

from refused_imports import REFUSING

import faceaudit.designs
import faceaudit.effects
import faceaudit.report
import faceaudit.utils
import faceaudit.verification

FORBIDDEN = (
    "torch",
    "onnxruntime",
    "IPython",
    "requests",
    "sklearn",
    "pyarrow",
    "statsmodels",
    "helpers",
    "faceworld",
)
PACKAGES = (
    faceaudit.utils,
    faceaudit.effects,
    faceaudit.verification,
    faceaudit.designs,
    faceaudit.report,
)
MODULES = [
    "faceaudit.annotations.schema",
    "faceaudit.frames",
    "faceaudit.plans",
    "faceaudit.verdicts",
    "faceaudit.checks",
    "faceaudit.model_audits",
    *(
        f"{package.__name__}.{module.name}"
        for package in PACKAGES
        for module in pkgutil.iter_modules(package.__path__)
    ),
]
PROGRAM = f"""{REFUSING}
import importlib

for module in sys.argv[2:]:
    importlib.import_module(module)
"""


def test_tables_pairs_and_reports_need_no_networks_no_world_and_no_notebook():
    command = [sys.executable, "-c", PROGRAM, ",".join(FORBIDDEN), *MODULES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


SLOW = ("scipy.stats", "matplotlib", "PIL", "narwhals", "yaml", "filelock")
"""What takes long to import, and the audit of a table with one axis does without."""
FIRST_TABLE = """
import sys

import faceaudit
import pandas as pd

rows = [(face, skin, 0, face % 4 == 0 and skin == "dark")
        for face in range(100) for skin in ("light", "dark")]
audit = faceaudit.table(
    pd.DataFrame(rows, columns=["face", "skin", "truth", "says"]),
    unit="face", axes={"skin": ["light", "dark"]}, label="truth", pred="says", tolerance=0.05,
)
assert audit.verdict == "exceeds", audit
assert audit.averages["gamma"].item() > 1
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""


def test_a_first_table_waits_for_no_library_that_it_does_without():
    command = [sys.executable, "-c", FIRST_TABLE, *SLOW]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


VERSION = """
import sys

import faceaudit

assert "importlib.metadata" not in sys.modules
print(faceaudit.__version__)
"""


def test_the_version_is_that_of_the_distribution_and_looked_up_when_it_is_asked_for():
    done = subprocess.run(
        [sys.executable, "-c", VERSION], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [metadata.version("faceaudit")]
    assert not hasattr(faceaudit, "__versoin__")
