"""Turn a trained generator's file into one from which nothing could ever be run.

    python -m faceaudit.generators.convert ffhq.pkl ffhq.safetensors --licence "CC BY-NC 4.0"

Official pickles and rosinality's `.pt` become safetensors, with a card (`ffhq.json`) beside them:
kind and options, the source and its SHA-256, the licence as the user states it, and by which
truncation, noise and precision images are to be made.
"""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from faceaudit.generators.checkpoints import load_checkpoint
from faceaudit.generators.weights import write_weights
from faceaudit.utils.arguments import check_range

PSI = 1.0
"""Without truncation the population is the one that the network was trained for."""


def write_converted(source: Path, target: Path, licence: str, psi: float = PSI) -> dict[str, Any]:
    """Read a trained generator and write it as safetensors; gives the card, written beside it.

    An existing target is replaced. The truncation psi, in [0, 1], belongs to the population. Raises
    ValueError for a source that is refused, and for a target, licence or psi of another kind.
    """
    source, target = Path(source), Path(target)
    if target.suffix != ".safetensors" or target.absolute() == source.absolute():
        raise ValueError(f"{target}: another file, .safetensors, was expected as target")
    if not licence.strip():
        raise ValueError("licence is empty, the licence of the weights was expected")
    check_range("psi", psi, 0, 1)
    network = load_checkpoint(source)
    card = {"kind": network.kind, "kwargs": asdict(network.config), "licence": licence, "psi": psi}
    card |= {"noise": "const", "precision": "float32"} | network.card
    write_weights(network, target, card)
    return card


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help=".pkl or .pt of a trained generator")
    parser.add_argument("target", type=Path, help=".safetensors")
    parser.add_argument("--licence", required=True, help="of the weights")
    parser.add_argument("--psi", type=float, default=PSI, help="truncation of the population")
    asked = parser.parse_args(arguments)
    try:
        card = write_converted(**vars(asked))
    except (ValueError, OSError) as error:  # as of a folder that cannot be written to
        sys.exit(str(error))
    size = card["kwargs"]["resolution"]
    print(f"{asked.target}: {card['kind']} of {size} × {size} pixels, {card['licence']}")


if __name__ == "__main__":
    main(sys.argv[1:])
