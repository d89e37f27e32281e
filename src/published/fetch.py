"""Fetching the generator, the landmarks and the models, by name and hash, without dependencies.

The packages ask for much that the study does without (one of them for all of Jupyter), so that they
are unpacked below `build/` and not installed.
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from faceaudit.models import node
from faceaudit.utils.errors import InputError
from published.places import BUILD, LOCK, NODE, UNPACKED


def fetch() -> None:
    """Fetch and unpack what is not there yet.

    Raises:
        InputError: pip or npm cannot fetch it, for example without a network.
    """
    stamp = UNPACKED / "complete"
    wanted = LOCK.read_text(encoding="utf-8")
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        archives = BUILD / "archives"
        _download(archives)
        for archive in sorted(archives.iterdir()):
            if archive.suffix == ".whl":
                with zipfile.ZipFile(archive) as wheel:
                    wheel.extractall(UNPACKED)
            else:
                with tarfile.open(archive) as source:
                    source.extractall(UNPACKED, filter="data")
        stamp.write_text(wanted, encoding="utf-8")
    locked = node.LOCK.read_text(encoding="utf-8")
    stamp = NODE / "complete"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != locked:
        node.install(NODE)
        stamp.write_text(locked, encoding="utf-8")


def _download(folder: Path) -> None:
    options = ["--no-deps", "--require-hashes", "--requirement", str(LOCK), "--dest", str(folder)]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-build-isolation", *options]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["pip said nothing"]
        raise InputError(
            f"{LOCK}: pip could not fetch these packages ({said[-1]}); a network was expected, or "
            "a mirror in PIP_INDEX_URL",
            field=str(LOCK),
            found=said[-1],
            expected="a network",
        )
