"""A folder of images and a table as a generator: whatever made the images, an audit can use them.

Diffusion models, commercial editors and published sets (CausalFace) end in files, not in codes. A
table says which unit each file shows (a transect, a base face, a prompt and seed) and at which
level of every attribute. Its rows are the codes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from PIL import Image, ImageOps
from torch import Tensor

from helpers.utils import seeding
from helpers.utils.checks import (
    as_score_table,
    check_whole,
    require_columns,
    require_distinct,
    require_members,
    require_present,
    require_rows,
    resolve_device,
)

FILE = "file"
_READERS = {".csv": pd.read_csv, ".parquet": pd.read_parquet}


class ImageSet:
    """Images that exist, by the rows of a table; a code is a row's number, float32 (n, 1).

    Files are read when they are asked for, turned as their camera says, and made RGB.

    Args:
        table: `.csv` or `.parquet` with a column `file` (a path within the table's folder), the
            column of the units, one column per attribute and, if people scored the images, their
            mean scores in [0, 1]; more columns are ignored.
        levels: attribute → its levels as they stand in the table, from the lowest to the highest.
        unit: the column that says which images belong together.
        scores: columns of scores.
        size: height and width to which all images are scaled; by default they stay as they are.
        device: "cpu" or "cuda".
        file: the column of the files.
        whole: every unit must have an image at each combination of levels. False for a set from
            which images were dropped; estimators then report how many pairs lack one.

    Attributes:
        latent_dim: 1.
        index: one row an image, as `helpers.transects.index` makes it: `image_id` (the file),
            `transect` (the unit) and per attribute `<attribute>_level`, from 0 on.
        scores: annotators' scores, one row an image, indexed by `image_id`.
        size: height and width if both are equal, else None.

    Raises:
        ValueError: one sentence that names the table, and the row, the file or the unit: a column
            or a file that is missing, a path that leaves the folder, a file or a place in a unit
            that occurs twice, a level that was not named, a unit that lacks a combination, a score
            outside of [0, 1], images of several sizes, or not square where a size is asked for.
    """

    latent_dim = 1

    def __init__(
        self,
        table: str | Path,
        levels: Mapping[str, Sequence[object]],
        *,
        unit: str = "transect",
        scores: Sequence[str] = (),
        size: int | None = None,
        device: str = "cpu",
        file: str = FILE,
        whole: bool = True,
    ) -> None:
        if size is not None:
            check_whole("size", size, 1)
        self.device = resolve_device(device)
        self._table = Path(table)
        if self._table.suffix not in _READERS:
            raise ValueError(f"{table}: expected a table that ends in {' or '.join(_READERS)}")
        try:
            frame = _READERS[self._table.suffix](self._table)
        except (OSError, ValueError) as error:  # those of pandas and pyarrow are ValueErrors
            raise ValueError(f"{table}: no readable table ({error})") from error
        try:
            require_columns(frame, [file, unit, *levels, *scores])
            require_rows(frame)
            require_present(frame[file], "a path")
            require_present(frame[unit], "a unit")
            names = frame[file].astype(str)
            self._files = _files(names, self._table.parent)
            self.index = _index(frame, names, levels, unit, whole)
            values = as_score_table(frame[list(scores)]) if scores else np.empty((len(frame), 0))
            self._native = _common_size(self._files)
            height, width = self._native
            if size is not None and height != width:
                found = f"images are {width}×{height} pixels"
                raise ValueError(f"{found}: crop them to squares before scaling")
        except ValueError as error:
            raise ValueError(f"{table}: {error}") from None
        self.scores = pd.DataFrame(values, self.index["image_id"], list(scores))
        self._scaled = size is not None
        self.size = size or (height if height == width else None)

    @property
    def codes(self) -> Tensor:
        """The codes of all rows in the table's order, float32 (rows, 1)."""
        return self._codes(np.arange(len(self._files)))

    @cached_property
    def card(self) -> dict[str, object]:
        """What fixes the images: their number, the size they are scaled to, their files' hash."""
        digest = hashlib.sha256()
        for name, path in self._files.items():
            digest.update(f"{name}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
        scaled = self.size if self._scaled else None
        return {"images": len(self._files), "scaled": scaled, "sha256": digest.hexdigest()}

    def sample(self, n: int, seed: int) -> Tensor:
        """Codes of n rows drawn without replacement, float32 (n, 1).

        Raises:
            ValueError: more than there are.
        """
        if n > len(self._files):
            raise ValueError(f"{self._table} has {len(self._files)} images, {n} were asked for")
        drawn = seeding.rng(seed, "image set").permutation(len(self._files))[:n]
        return self._codes(drawn)

    def synthesize(self, w: ArrayLike, **scene: float) -> Tensor:
        """The images of rows, float32 (n, 3, height, width) in [0, 1].

        Raises:
            ValueError: a scene parameter, as files have none; codes that are no rows; a file that
                can no longer be read.
        """
        if scene:
            raise ValueError(f"a set of images has no scene parameters: {sorted(scene)}")
        rows = torch.as_tensor(w).detach().cpu().numpy()
        if rows.ndim != 2 or rows.shape[1] != 1 or not len(rows):
            raise ValueError(f"codes must be (n, 1), not {rows.shape}")
        known = np.isin(rows, np.arange(len(self._files)))
        if not known.all():
            raise ValueError(f"{self._table} has no row {rows[~known][0]:g}")
        names = list(self._files)
        pixels = np.stack([self._pixels(names[int(row)]) for row in rows[:, 0]])
        images = torch.from_numpy(pixels).permute(0, 3, 1, 2).to(self.device)
        return images.float() / 255

    def _codes(self, rows: np.ndarray) -> Tensor:
        return torch.from_numpy(rows.astype(np.float32)[:, None]).to(self.device)

    def _pixels(self, name: str) -> np.ndarray:
        """One image, uint8 (height, width, 3)."""
        place = f"{self._table}: {name}"
        with _opened(self._files[name], place) as image:
            upright = ImageOps.exif_transpose(image)
            if upright.size != self._native[::-1]:
                raise ValueError(f"{place} has changed since the set was opened")
            if upright.has_transparency_data and upright.convert("RGBA").getextrema()[3][0] < 255:
                raise ValueError(f"{place} is transparent in places; put it on a background first")
            upright = upright.convert("RGB")
            if self._scaled and upright.size != (self.size, self.size):
                upright = upright.resize((self.size, self.size), Image.Resampling.LANCZOS)
            return np.asarray(upright)


@contextmanager
def _opened(path: Path, place: str) -> Iterator[Image.Image]:
    """An image file as Pillow reads it."""
    try:
        with Image.open(path) as image:
            if image.mode.startswith(("I", "F")):
                raise ValueError(f"{place} has {image.mode} pixels, expected 8 bits each")
            yield image
    except (OSError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise ValueError(f"{place} is no readable image ({error})") from error


def _files(names: pd.Series, folder: Path) -> dict[str, Path]:
    """Name in the table → path; names are those of files below the folder."""
    paths = names.map(PurePosixPath)
    for row, path in paths.items():
        # A link in the folder is its owner's, a path out of it the table's.
        if path.is_absolute() or ".." in path.parts or PureWindowsPath(path).anchor:
            raise ValueError(f"row {row}: {names[row]!r} lies outside of the folder of the table")
    for row in names.index[paths.duplicated()]:
        raise ValueError(f"row {row}: the file {names[row]!r} stands in an earlier row as well")
    found = {name: folder / path for name, path in zip(names, paths, strict=True)}
    if missing := [name for name, path in found.items() if not path.is_file()]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ValueError(f"no file {missing[0]!r}{more} in {folder}")
    return found


def _index(
    frame: pd.DataFrame,
    names: pd.Series,
    levels: Mapping[str, Sequence[object]],
    unit: str,
    whole: bool,
) -> pd.DataFrame:
    """Places of the images in their units."""
    index = pd.DataFrame({"image_id": names, "transect": frame[unit]})
    for name, known in levels.items():
        if len(set(known)) < max(len(known), 2):
            raise ValueError(f"{name}: expected at least 2 levels, all distinct, got {list(known)}")
        require_present(frame[name], "a level")
        require_members(frame[name].unique(), known, f"level of {name}")
        index[f"{name}_level"] = frame[name].map({level: k for k, level in enumerate(known)})
    places = [f"{name}_level" for name in levels]
    require_distinct(index, ["transect", *places], "place of a unit")
    expected = int(np.prod([len(known) for known in levels.values()]))
    counts = index["transect"].value_counts(sort=False)
    if whole and (lacking := counts[counts < expected]).size:
        raise ValueError(
            f"unit {lacking.index[0]} has {lacking.iloc[0]} of {expected} combinations of levels, "
            f"and so have {lacking.size - 1} others less than all (whole=False takes them)"
        )
    return index.reset_index(drop=True)


def _common_size(files: Mapping[str, Path]) -> tuple[int, int]:
    """Height and width that all images have; only the headers of the files are read."""
    sizes: dict[tuple[int, int], str] = {}
    for name, path in files.items():
        with _opened(path, name) as image:
            width, height = image.size
            sideways = image.getexif().get(0x0112, 1) > 4  # the tag of the orientation
        sizes.setdefault((height, width) if not sideways else (width, height), name)
        if len(sizes) > 1:
            (of_first, first), (other, _) = sizes.items()
            found = (
                f"{name} is {other[1]}×{other[0]} pixels and {first} {of_first[1]}×{of_first[0]}"
            )
            raise ValueError(f"{found}: images of a set are of one size")
    return next(iter(sizes))
