"""Train the papers' gender classifier on photographs of yours: `make train`.

It takes the sizes of a profile (image_size, architecture, epochs, seed), the paper's by default,
and leaves the weights, their card and an ONNX file for audits among the artifacts. A table
beside them has the errors in validation.
"""

import argparse
import sys
from pathlib import Path

from faceaudit.examples import write_onnx
from faceaudit.utils.arguments import resolve_device
from faceaudit.utils.files import alone
from faceworld.networks import photographs
from helpers.artifacts import lineage, manifests


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=photographs.SETS, help="which data set it is")
    parser.add_argument("data", type=Path, help="the folder of the data set")
    parser.add_argument("--profile", default="paper", help="whose sizes are taken")
    parser.add_argument("--device", default="cpu", help="where tensors live: cpu or cuda")
    asked = parser.parse_args(arguments)
    sizes = lineage.load_profile(asked.profile)
    resolve_device(asked.device)
    folder = manifests.root() / "train" / asked.profile
    path = folder / f"gender-{asked.set}.safetensors"
    how = {name: getattr(sizes, name) for name in ("architecture", "epochs", "seed")}
    how |= {"size": sizes.image_size, "device": asked.device}
    with alone(folder / ".lock", print):
        table, card = photographs.SETS[asked.set](asked.data)
        table, lost = photographs.readable(table, asked.data)
        card["left_out"] = lost["reason"].value_counts().to_dict()
        print(f"{len(table):,} images", *photographs.summary(lost), sep="\n", flush=True)
        model, _ = photographs.train(table, asked.data, path, card, **how)
        onnx = write_onnx(model.network, path.with_suffix(".onnx"), sizes.image_size)
    inside = f"input: {{size: {sizes.image_size}}}, output: {{activation: sigmoid}}"
    print(f"Errors in validation, with Wilson's intervals: {path.with_suffix('.csv')}")
    print(f"model: {{kind: onnx, path: {onnx.absolute()}, {inside}}}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (ValueError, OSError, manifests.ArtifactError) as error:
        sys.exit(str(error))
