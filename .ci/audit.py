"""Fail on a known vulnerability of a locked package; where the data is out of reach, skip.

    PYTHONPATH=tools python .ci/audit.py

Asks pip-audit about constraints.txt and npm about the web assets (advisories that it calls high or
critical; what is bundled inside of an asset it cannot see).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

import vendor

ROOT = Path(__file__).resolve().parent.parent
PIP_AUDIT = "pip-audit==2.10.1"
ACCEPTED: dict[str, str] = {}
"""Advisories that do not stop the build, and why each does not concern the book."""


def ask(run: Callable, arguments: list, folder: Path) -> dict:
    """What a command prints as JSON; nothing if it prints anything else or never ends.

    `run` starts it: `subprocess.run`, or `vendor.run_npm` for npm's arguments.
    """
    environment = vendor.IMPATIENT | os.environ
    options = {"cwd": folder, "env": environment, "timeout": 300}
    try:
        return json.loads(run(arguments, capture_output=True, text=True, **options).stdout)
    except (OSError, subprocess.TimeoutExpired, json.JSONDecodeError):
        return {}


def ask_pip_audit(folder: Path) -> dict:
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--retries", "1", PIP_AUDIT]
    subprocess.run(install, capture_output=True)
    options = ["--format", "json", "--progress-spinner", "off", "--disable-pip", "--no-deps"]
    locked = ["--requirement", ROOT / "constraints.txt"]
    return ask(subprocess.run, [python, "-m", "pip_audit", *options, *locked], folder)


def ask_npm(folder: Path) -> dict:
    pins = dict(package.rsplit("@", 1) for package in vendor.PACKAGES)
    package = {"name": "assets", "version": "1.0.0", "dependencies": pins}
    (folder / "package.json").write_text(json.dumps(package), encoding="utf-8")
    ask(vendor.run_npm, ["install", "--package-lock-only", "--ignore-scripts"], folder)
    return ask(vendor.run_npm, ["audit", "--json"], folder)


def in_python(report: dict) -> list[str] | None:
    """Advisories in pip-audit's report; None if it knows nothing of any package."""
    audited = [one for one in report.get("dependencies", []) if "vulns" in one]
    found = [f"{one['name']} {v['id']}" for one in audited for v in one["vulns"]]
    return sorted(set(found)) if audited else None


def in_assets(report: dict) -> list[str] | None:
    """Advisories in npm's report; None if the registry gave none."""
    if "vulnerabilities" not in report:
        return None
    causes = [cause for one in report["vulnerabilities"].values() for cause in one["via"]]
    grave = [c for c in causes if isinstance(c, dict) and c["severity"] in ("high", "critical")]
    return sorted({f"{cause['name']} {cause['url'].rsplit('/', 1)[-1]}" for cause in grave})


def judge(name: str, found: list[str] | None) -> bool:
    """Print what was found; True if it must stop the build."""
    grave = [one for one in found or [] if one.split()[-1] not in ACCEPTED]
    print(f"{name}: {'skipped' if found is None else ', '.join(grave) or 'nothing known'}")
    return bool(grave)


def main() -> None:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        python = judge("pip-audit", in_python(ask_pip_audit(Path(first))))
        assets = judge("npm audit", in_assets(ask_npm(Path(second))))
    sys.exit(python or assets)


if __name__ == "__main__":
    main()
