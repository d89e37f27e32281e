"""Give the kernels that readers open the pins of `helpers.utils.pins`.

A notebook imports numpy before it imports the package, so they stand in the environment's own
`share/jupyter/kernels/python3`. `make env` does it; in a conda environment run this file once.
"""

import sys
from pathlib import Path

from ipykernel.kernelspec import install

from helpers.utils.pins import pins


def write(environment: Path) -> None:
    """Write the description of the kernel that Jupyter starts by default in an environment."""
    install(prefix=str(environment), env=pins())


if __name__ == "__main__":
    write(Path(sys.prefix))
