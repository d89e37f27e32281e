"""What importing the core of the package brings along."""

import pkgutil
import subprocess
import sys

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
