"""A set of images and a table as a generator: whatever made the images, an audit can use them.

Diffusion models, commercial editors and published sets (CausalFace) end in files, not in codes. A
table says which unit each file shows (a transect, a base face, a prompt and seed) and at which
level of every attribute. Its rows are the codes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from PIL import Image

from faceaudit.file.specification import Specification
from faceaudit.frames import Rows
from faceaudit.generators.image_cache import make_to_store
from faceaudit.models.answers import image_key
from faceaudit.utils import arguments, pictures, seeding
from faceaudit.utils.errors import InputError
from faceaudit.utils.names import comparable, composed, paths_on_disk

if TYPE_CHECKING:  # an audit of pictures does without
    import torch
    from torch import Tensor

FILE_COLUMN = "file"
"""Column of the files, if no other is named."""


class ImageSet:
    """Images that exist, by the rows of a table; a code is a row's number, float32 (n, 1).

    Files are read when they are asked for, turned as their camera says, and made RGB. What a
    generator does (`codes`, `sample`, `synthesize`) needs torch; `to_store` does without.

    Args:
        table: `.csv` (cells parted by commas or tabs) or `.parquet` with a column `file` (a path
            within the table's folder), the column of the units and one column per attribute; more
            columns are ignored. Names of files are compared after Unicode's NFC.
        levels: attribute → its levels as they stand in the table, from the lowest to the highest.
            The cells 2, 2.0 and "2" are the same level.
        unit: the column that says which images belong together.
        size: height and width to which all images are scaled, those that are not square after they
            are cut to the square in their middle; by default images stay as they are.
        device: "cpu" or "cuda".
        file: the column of the files.
        whole: every unit must have an image at each combination of levels. False for a set from
            which images were dropped; estimators then report how many pairs lack one.
        rows: of the table, where they were read before.
        arrays: name in the column of the files → pixels, uint8 (height, width, 3), in place of
            files.

    Attributes:
        latent_dim: 1.
        index: one row an image, as `faceaudit.latents.transects.index` makes it: `image_id` (the
            file), `transect` (the unit) and per attribute `<attribute>_level`, from 0 on.
        size: height and width if both are equal, else None.

    Raises:
        InputError: one sentence that names the table, and the row (the header is row 1), the file
            or the unit: a table that cannot be read, a column or a file that is missing, a path
            that leaves the folder, a file or a place in a unit that occurs twice, a level that was
            not named, or a unit that lacks a combination.
    """

    latent_dim = 1

    def __init__(
        self,
        table: str | Path,
        levels: Mapping[str, Sequence[object]],
        *,
        unit: str = "transect",
        size: int | None = None,
        device: str = "cpu",
        file: str = FILE_COLUMN,
        whole: bool = True,
        rows: Rows | None = None,
        arrays: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self._device = device
        rows = rows or Rows.read(table)
        self._table = rows.source
        frame = rows.frame
        columns = list(dict.fromkeys([file, unit, *levels]))
        try:
            arguments.require_columns(frame, columns)
            for column in columns:
                arguments.require_present(frame[column], "a value")
            names = frame[file].astype(str).str.strip().map(composed)
            self._pictures: Mapping[str, Path | np.ndarray]
            if arrays is None:
                self._pictures = _find_files(names, Path(table).parent)
            else:
                self._pictures = _find_arrays(names, arrays)
            self.index = _index_of_images(frame, names, levels, unit, whole)
        except InputError as error:
            raise InputError(
                f"{self._table}: {error}",
                field=error.field,
                found=error.found,
                expected=error.expected,
            ) from None
        except (OSError, ValueError) as error:
            raise InputError(f"{self._table}: {error}", field=self._table) from None
        # Width and height of every file, which the first one sets, and the side after scaling.
        width, height = self._read(names.iloc[0]).size
        self._file_size = (width, height)
        self._scaled_size = size
        self.size = size or (height if height == width else None)

    @property
    def device(self) -> torch.device:
        """Where codes and images are."""
        return arguments.resolve_device(self._device)

    @property
    def codes(self) -> Tensor:
        """The codes of all rows in the table's order, float32 (rows, 1)."""
        import torch

        return torch.arange(len(self._pictures), dtype=torch.float32, device=self.device)[:, None]

    @cached_property
    def card(self) -> dict[str, object]:
        """What fixes the images: their number, the size they are scaled to, their hash.

        Of images that are cut to squares it also says from how many pixels, as `cut_from`.
        """
        digest = hashlib.sha256()
        for name, picture in self._pictures.items():
            digest.update(f"{name}\n".encode() + _hash_of_picture(picture))
        card = {
            "images": len(self._pictures),
            "scaled": self._scaled_size,
            "sha256": digest.hexdigest(),
        }
        width, height = self._file_size
        if self._scaled_size is not None and width != height:
            card["cut_from"] = f"{width}×{height} pixels to the square in the middle"
        return card

    def sample(self, n: int, seed: int) -> Tensor:
        """Codes of n rows drawn without replacement, float32 (n, 1); ValueError for too many."""
        if n > len(self._pictures):
            raise ValueError(f"{self._table} has {len(self._pictures)} images, {n} were asked for")
        rows = seeding.rng(seed, "image set").permutation(len(self._pictures))[:n]
        return self.codes[rows]

    def synthesize(self, w: ArrayLike, **scene: float) -> Tensor:
        """The images of rows, float32 (n, 3, height, width) in [0, 1].

        Raises:
            ValueError: a scene parameter, as files have none; codes that are no rows; a file that
                cannot be read, or is of another size than the first one.
        """
        import torch

        if scene:
            raise ValueError(f"a set of images has no scene parameters: {sorted(scene)}")
        rows = torch.as_tensor(w).detach().cpu().numpy()
        known = np.arange(len(self._pictures))
        if rows.ndim != 2 or rows.shape[1] != 1 or not np.isin(rows, known).all():
            raise ValueError(f"codes must be numbers of rows of {self._table}, (n, 1)")
        pixels = self._pixels(rows[:, 0].astype(int))
        return torch.from_numpy(pixels).to(self.device).float() / 255

    def to_store(self, rows: np.ndarray, path: Path) -> np.ndarray:
        """Read the images of rows into a set on disk; what an earlier run read is not read again.

        Args:
            rows: numbers of rows of the table (n,), from 0.
            path: of the set, an `.npy` file.

        Returns:
            uint8 (n, 3, height, width), a read-only memory map.

        Raises:
            InputError: a file that cannot be read, or is of another size than the first one.
            OSError: the disk is full.
        """
        width, height = self._file_size
        sides = (height, width)
        if self._scaled_size is not None:
            sides = (self._scaled_size, self._scaled_size)
        modules = [type(self).__module__]
        return make_to_store(self._pixels, rows, path, (3, *sides), modules=modules, card=self.card)

    def _pixels(self, rows: np.ndarray) -> np.ndarray:
        """The images of rows (n,), uint8 (n, 3, height, width)."""
        names = list(self._pictures)
        pixels = np.stack([np.asarray(self._open(names[row])) for row in rows])
        return pixels.transpose(0, 3, 1, 2)

    def _read(self, name: str) -> Image.Image:
        """Read one picture, upright; InputError where its file is none."""
        picture = self._pictures[name]
        if isinstance(picture, np.ndarray):
            return Image.fromarray(picture)
        source = f"{self._table}: {name}"
        try:
            return pictures.read_picture(picture)
        except FileNotFoundError as error:  # it was there when the table was read
            raise InputError(
                f"{source} is no readable image ({error})", field=name, expected="a readable image"
            ) from error
        except pictures.UnreadablePicture as error:
            raise InputError(
                f"{source} {error}", field=name, found=error.reason, expected="a readable image"
            ) from error

    def _open(self, name: str) -> Image.Image:
        """Read one file, upright and scaled; InputError where it is no picture of this set."""
        picture = self._read(name)
        if picture.size != self._file_size:
            size = f"{picture.size[0]}×{picture.size[1]}"
            first_size = f"{self._file_size[0]}×{self._file_size[1]}"
            raise InputError(
                f"{self._table}: {name} is {size} pixels and the first image {first_size}: images "
                "of a set are of one size",
                field=name,
                found=size,
                expected=first_size,
            )
        if self._scaled_size is None:
            return picture
        square = pictures.cut(picture)
        return square.resize((self._scaled_size, self._scaled_size), Image.Resampling.LANCZOS)


def _find_files(names: pd.Series, folder: Path) -> dict[str, Path]:
    """Find the files of a table below its folder.

    Args:
        names: of the files as they stand in the table, by row of the table.
        folder: of the table.

    Returns:
        Name in the table → path.

    Raises:
        InputError: a name leads out of the folder or occurs twice, or a file is missing.
    """
    files = paths_on_disk(folder, names)
    for row, path in names.map(PurePath).items():
        # A link in the folder is its owner's, a path out of it the table's.
        if path.is_absolute() or ".." in path.parts:
            raise InputError(
                f"row {row}: {names[row]!r} lies outside of the folder of the table",
                field=f"row {row}",
                found=names[row],
                expected="a file within the folder of the table",
            )
    for row in names.index[names.map(PurePath).duplicated()]:
        raise InputError(
            f"row {row}: the file {names[row]!r} stands in an earlier row as well",
            field=f"row {row}",
            found=names[row],
            expected="every file once",
        )
    missing = [name for name, path in files.items() if not path.is_file()]
    if missing:
        raise InputError(
            f"no file {missing[0]!r} in {folder} ({len(missing)} are missing)",
            field=missing[0],
            expected=f"a file in {folder}",
        )
    return files


def _find_arrays(names: pd.Series, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Find the arrays of a table's names.

    Args:
        names: as they stand in the table.
        arrays: name → pixels.

    Returns:
        Name in the table → its array.

    Raises:
        InputError: a name has no array, or an array is no picture.
    """
    by_name = {composed(str(name)): array for name, array in arrays.items()}
    missing = [name for name in names if name not in by_name]
    if missing:
        raise InputError(
            f"no picture {missing[0]!r} among those that are given ({len(missing)} are missing)",
            field=missing[0],
            expected="a picture of every row",
        )
    found = {name: np.asarray(by_name[name]) for name in names}
    for name, array in found.items():
        if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3:
            raise InputError(
                f"picture {name!r} is {array.dtype} of the shape {array.shape}, uint8 of the shape "
                "(height, width, 3) was expected",
                field=name,
                found=f"{array.dtype} of the shape {array.shape}",
                expected="uint8 of the shape (height, width, 3)",
            )
    return found


def _hash_of_picture(picture: Path | np.ndarray) -> bytes:
    """SHA-256 of a file's bytes, or of an array's pixels and shape."""
    if isinstance(picture, np.ndarray):
        return bytes.fromhex(image_key(picture))
    return hashlib.sha256(picture.read_bytes()).digest()


def _index_of_images(
    frame: pd.DataFrame,
    names: pd.Series,
    levels: Mapping[str, Sequence[object]],
    unit: str,
    whole: bool,
) -> pd.DataFrame:
    """Names, units and levels of the images of a table.

    Args:
        frame: the table.
        names: of the files, in its order.
        levels: attribute → its levels, from the lowest to the highest.
        unit: the column that says which images belong together.
        whole: whether a unit must have an image at each combination of levels.

    Returns:
        A row per image: image_id, transect, and `<attribute>_level` from 0 on.

    Raises:
        InputError: a unit lacks a combination of levels.
        ValueError: an unknown level, or two images at one combination of a unit.
    """
    index = pd.DataFrame({"image_id": names, "transect": frame[unit]})
    for attribute, attribute_levels in levels.items():
        cells = comparable(frame[attribute])
        texts = comparable(pd.Series(list(attribute_levels), dtype=object)).tolist()
        arguments.require_members(cells.unique(), texts, f"level of {attribute}")
        index[f"{attribute}_level"] = cells.map({text: level for level, text in enumerate(texts)})
    arguments.require_distinct(index, index.columns[1:], "place of a unit")
    n_combinations = math.prod(len(attribute_levels) for attribute_levels in levels.values())
    counts = index["transect"].value_counts(sort=False)
    incomplete = counts[counts < n_combinations]
    if whole and incomplete.size:
        name = incomplete.index[0]
        count = incomplete.iloc[0]
        raise InputError(
            f"unit {name} has {count} of {n_combinations} combinations of levels, and "
            f"{incomplete.size - 1} others lack some too (whole=False takes them)",
            field=f"unit {name}",
            found=f"{count} images",
            expected=f"{n_combinations} images",
        )
    return index.reset_index(drop=True)


def pictures_of(
    specification: Specification,
    table: Path,
    file: str,
    rows: Rows,
    arrays: Mapping[str, np.ndarray] | None = None,
) -> ImageSet:
    """Open the pictures of a table of an audit.

    Args:
        specification: of the audit; a model on the network sets the size of the pictures.
        table: that names the files.
        file: its column of the files; the other columns are not read here.
        rows: of the table, which were read before.
        arrays: as of `ImageSet`.
    """
    # What is sent over the network has the size that the file says; other models scale themselves.
    size = getattr(specification.model, "size", None)
    return ImageSet(table, {}, unit=file, file=file, size=size, rows=rows, arrays=arrays)
