"""Give the kernels that readers open the pins of `helpers`.

A notebook imports numpy before it imports the package, so they stand in the environment's own
`share/jupyter/kernels/python3`. `make env` does it; in a conda environment run this file once.
"""

import sys

from ipykernel.kernelspec import install

from helpers import pins

if __name__ == "__main__":
    install(prefix=sys.prefix, env=pins())
