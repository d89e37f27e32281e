"""Contact sheets of the faces, for the book's page on how they are made.

Run `python benchmarks/contact_sheets.py`; it writes `book/faces-*.jpg`. The sheets called before
were drawn by `PYTHONPATH=src-of-5a0d678 python benchmarks/contact_sheets.py before`, with the
renderer of that commit.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

import facerender
from faceworld import populations

BOOK = Path(__file__).parents[1] / "book"
STEPS = 5
LABEL = 130
"""Pixels for a row's name."""
COMPARED = ("gender", "facial_hair", "smiling", "age", "makeup")
"""Sweeps that are shown before and after."""
SHOWN_WITH = {
    "facial_hair": {"gender": 0.85},
    "makeup": {"gender": 0.1, "hair_length": 0.7},
    "earrings": {"gender": 0.2, "hair_length": 0.15},
    "hair_style": {"hair_length": 0.6},
    "hair_curl": {"hair_length": 0.6},
    "hair_fringe": {"hair_length": 0.6},
    "hair_parting": {"hair_length": 0.6},
    "hair_volume": {"hair_length": 0.6},
}
"""Parameters of the face on which a sweep is seen, where the default face would hide it."""


def sweep(name: str, steps: int = STEPS) -> Tensor:
    """Faces that differ in one parameter, from the lower end of its range to the upper."""
    swept = facerender.defaults(steps)
    parameter = facerender.PARAMETERS[facerender.INDEX[name]]
    # Hues come back to where they started after a whole turn.
    high = 0.8 if parameter.unit == "turn" else parameter.high
    for other, value in SHOWN_WITH.get(name, {}).items():
        swept[:, facerender.INDEX[other]] = value
    swept[:, facerender.INDEX[name]] = torch.linspace(parameter.low, high, steps)
    return swept


def of_ancestry(name: str, n: int) -> Tensor:
    """Faces of the balanced population, all at one reference point of ancestry."""
    drawn = populations.sample("fairface-like", n, seed=5).parameters
    place = torch.tensor(facerender.ANCESTRY_REFERENCES[name])
    drawn[:, [facerender.INDEX["ancestry_x"], facerender.INDEX["ancestry_y"]]] = place
    return drawn


def write(name: str, rows: dict[str, Tensor], size: int) -> None:
    """Write a sheet with a row of faces, and its name, for each of `rows`."""
    columns = max(len(row) for row in rows.values())
    sheet = Image.new("RGB", (LABEL + size * columns, size * len(rows)), "white")
    text, font = ImageDraw.Draw(sheet), ImageFont.load_default(14)
    for place, (label, row) in enumerate(rows.items()):
        images = facerender.render(row, size, supersampling=2).image.permute(0, 2, 3, 1)
        strip = np.concatenate(list((255 * images).round().byte().numpy()), 1)
        sheet.paste(Image.fromarray(strip), (LABEL, size * place))
        text.text((4, size * (place + 0.5)), label.replace("_", " "), "black", font, "lm")
    sheet.save(BOOK / f"faces-{name}.jpg", quality=88, optimize=True)


def hundred(ancestry: str) -> dict[str, Tensor]:
    """A hundred faces of an ancestry, ten in a row; the first row has its name."""
    rows = of_ancestry(ancestry, 100).split(10)
    return {f"{ancestry}, {10 * place + 1} on": row for place, row in enumerate(rows)}


def main() -> None:
    when = "before" if sys.argv[1:] == ["before"] else "after"
    few = {name: of_ancestry(name, 7) for name in facerender.ANCESTRY_REFERENCES}
    write(f"portraits-{when}", few, 128)
    write(f"sweeps-{when}", {name: sweep(name) for name in COMPARED}, 128)
    write(f"sweeps-small-{when}", {name: sweep(name) for name in COMPARED}, 64)
    if when == "before":
        return
    write("large", {name: portraits[:4] for name, portraits in few.items()}, 256)
    for ancestry in facerender.ANCESTRY_REFERENCES:
        write(ancestry.replace(" ", "-"), hundred(ancestry), 72)
    styles = len(facerender.HAIR_STYLES)
    write(
        "hair",
        {"hair_style": sweep("hair_style", styles), "hair_length": sweep("hair_length", styles)},
        104,
    )
    for group in ("attribute", "scene", "identity"):
        names = [one.name for one in facerender.PARAMETERS if one.group == group]
        plural = "identities" if group == "identity" else f"{group}s"
        write(plural, {name: sweep(name) for name in names if name != "hair_style"}, 96)


if __name__ == "__main__":
    main()
