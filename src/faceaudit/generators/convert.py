"""Convert a trained generator's file to safetensors, from which no code can be run.

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
from faceaudit.utils.errors import InputError

NO_TRUNCATION = 1.0
"""The psi with which the population is the one that the network was trained for."""


def write_converted(
    source: Path, target: Path, licence: str, psi: float = NO_TRUNCATION
) -> dict[str, Any]:
    """Read a trained generator and write it as safetensors, with a card beside it.

    Args:
        source: the file, as `faceaudit.generators.load_checkpoint` reads it.
        target: the `.safetensors`; an existing one is replaced.
        licence: of the weights.
        psi: truncation of the population, in [0, 1].

    Returns:
        The card.

    Raises:
        InputError: a source that is refused, a target that is no other .safetensors file, an empty
            licence.
        ValueError: a psi outside its range.
    """
    source = Path(source)
    target = Path(target)
    if target.suffix != ".safetensors" or target.absolute() == source.absolute():
        raise InputError(
            f"{target}: another file, .safetensors, was expected as target",
            field="target",
            found=str(target),
            expected="another file, .safetensors",
        )
    if not licence.strip():
        raise InputError(
            "licence is empty, the licence of the weights was expected",
            field="licence",
            found=licence,
            expected="the licence of the weights",
        )
    check_range("psi", psi, 0, 1)
    network = load_checkpoint(source)
    card = {
        "kind": network.kind,
        "kwargs": asdict(network.config),
        "licence": licence,
        "psi": psi,
        "noise": "const",
        "precision": "float32",
    }
    card |= network.card
    write_weights(network, target, card)
    return card


def main(arguments: list[str]) -> None:
    """Run the conversion that the command line describes."""
    parser = argparse.ArgumentParser(
        description="Convert a trained generator's file to safetensors, from which no code can be "
        "run."
    )
    parser.add_argument("source", type=Path, help=".pkl or .pt of a trained generator")
    parser.add_argument("target", type=Path, help=".safetensors")
    parser.add_argument("--licence", required=True, help="of the weights")
    parser.add_argument(
        "--psi", type=float, default=NO_TRUNCATION, help="truncation of the population"
    )
    options = parser.parse_args(arguments)
    try:
        card = write_converted(options.source, options.target, options.licence, options.psi)
    except (ValueError, OSError) as error:  # as of a folder that cannot be written to
        sys.exit(str(error))
    size = card["kwargs"]["resolution"]
    print(f"{options.target}: {card['kind']} of {size} × {size} pixels, {card['licence']}")


if __name__ == "__main__":
    main(sys.argv[1:])
