"""Train the papers' gender classifier on photographs of yours: `make train`.

It takes the sizes of a profile (image_size, architecture, epochs, seed), the paper's by default,
and leaves the weights, their card and an ONNX file for audits among the artifacts.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

from faceaudit.examples import write_onnx
from helpers.artifacts import lineage, manifests
from helpers.models import photographs
from helpers.utils.checks import resolve_device
from helpers.utils.parallel import alone

tell = partial(print, flush=True)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    option = parser.add_argument
    option("set", choices=photographs.SETS, help="which data set it is")
    option("data", type=Path, help="the folder of the data set")
    option("--profile", default="paper", help="whose sizes are taken")
    option("--device", default="cpu", help="where tensors live: cpu or cuda")
    asked = parser.parse_args(arguments)
    sizes = lineage.load_profile(asked.profile)
    resolve_device(asked.device)
    folder = manifests.root() / "train" / asked.profile
    path = folder / f"gender-{asked.set}.safetensors"
    with alone(folder / ".lock", tell):
        table, card = photographs.SETS[asked.set](asked.data)
        table, lost = photographs.readable(table, asked.data)
        space = len(table) * 3 * sizes.image_size**2 / 1e9
        tell(f"{len(table):,} images; as decoded they take {space:.1f} GB in {folder}")
        tell(*photographs.summary(lost), sep="\n", end="\n" * bool(len(lost)))
        card["left_out"] = lost["reason"].value_counts().to_dict()
        model, errors = photographs.train(
            table,
            asked.data,
            path,
            card,
            architecture=sizes.architecture,
            size=sizes.image_size,
            epochs=sizes.epochs,
            seed=sizes.seed,
            device=asked.device,
        )
        onnx = write_onnx(model.network, path.with_suffix(".onnx"), sizes.image_size)
    rates = errors[errors["attribute"].isna()].drop(columns=["attribute", "level"])
    tell("Errors in validation, with 95 % intervals (Wilson):")
    tell(rates.to_string(index=False))
    tell(f"By attribute: {path.with_suffix('.csv')}\nFor an audit file:")
    inside = f"input: {{size: {sizes.image_size}}}, output: {{activation: sigmoid}}"
    tell(f"model: {{kind: onnx, path: {onnx.absolute()}, {inside}}}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (ValueError, OSError, manifests.ArtifactError) as error:
        of_file = isinstance(error, OSError) and error.filename  # whose number says little
        sys.exit(f"{error.filename}: {error.strerror}" if of_file else str(error))
