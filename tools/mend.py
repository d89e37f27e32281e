"""Forget stages whose artifacts were lost or damaged, so that make runs them again.

    python tools/mend.py laptop

Make judges a stage by one file alone, its executed notebook or (a study) its manifest. Where other
files of the stage are gone, both are removed here; images and models that are whole are used again.
"""

import sys

from helpers.artifacts import MANIFEST, incomplete, root


def mend(profile: str) -> None:
    for stage, reason in incomplete(profile).items():
        folder = root() / profile / stage
        witnesses = [
            path for name in (f"{stage}.ipynb", MANIFEST) if (path := folder / name).exists()
        ]
        if witnesses:
            print(f"{stage} will run again: {reason} in {folder}")
        for path in witnesses:
            path.unlink()


if __name__ == "__main__":
    mend(sys.argv[1])
