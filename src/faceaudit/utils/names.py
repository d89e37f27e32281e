"""Names and cells as different programs write them, in one form that can be compared.

macOS may decompose an accent in the name of a file ("e" and an accent, Unicode's form NFD), and
spreadsheets compose it (one letter, NFC). Both look alike. Names are therefore compared after NFC.
"""

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

MISSING_TEXTS = frozenset(
    {
        "",
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "<NA>",
        "N/A",
        "NA",
        "NULL",
        "NaN",
        "n/a",
        "nan",
        "null",
    }
)
"""Texts of a cell that stand for a missing value: those of pyarrow, and how pandas prints its own.

The text "None" is not among them: people write it for "no beard" or "no glasses".
"""
TRUTH_VALUES = {"false": "0", "true": "1"}
"""How programs write 0 and 1 as truth values, in small letters."""
_WHOLE_NUMBER = r"^([+-]?\d+)\.0*$"


def composed(text: str) -> str:
    """A text with its accents composed (Unicode's form NFC).

    Example:
        >>> composed("Jose\\u0301") == "Jos\\u00e9"
        True
    """
    return unicodedata.normalize("NFC", text)


def tidy_cells(column: pd.Series) -> pd.Series:
    """A column of a table whose texts can be compared; numbers and dates stay as they are.

    Args:
        column: cells as a reader or a frame has them.

    Returns:
        Texts without blanks around them, with composed accents, and None for a missing value.

    Example:
        >>> tidy_cells(pd.Series([" dark", "nan", "#N/A"])).tolist()
        ['dark', None, None]
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        cells = pd.Series([*column.cat.categories, None], dtype=object)
        cells = tidy_cells(cells).to_numpy(object)
        return pd.Series(cells[column.cat.codes], column.index, dtype=object, name=column.name)
    if isinstance(column.dtype, pd.StringDtype):
        # Most texts of a table stand in it many times.
        codes, texts = pd.factorize(column)
        tidy = np.array([*map(_tidy_cell, texts), np.nan], dtype=object)
        return pd.Series(tidy[codes], column.index, dtype=object, name=column.name)
    if not pd.api.types.is_object_dtype(column):
        return column
    cells = [_tidy_cell(cell) for cell in column]
    return pd.Series(cells, column.index, dtype=object, name=column.name)


def _tidy_cell(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    text = composed(cell.strip())
    return None if text in MISSING_TEXTS else text


def comparable(values: pd.Series) -> pd.Series:
    """Values as texts in which 2, 2.0 and "2" are the same; NaN where a value is missing.

    Example:
        >>> comparable(pd.Series([2.0, None])).tolist(), comparable(pd.Series(["2"])).tolist()
        (['2', nan], ['2'])
    """
    texts = values.astype("str").str.replace(_WHOLE_NUMBER, r"\1", regex=True)
    return texts.where(values.notna())


def paths_on_disk(folder: Path, names: Iterable[str]) -> dict[str, Path]:
    """Paths of files below a folder, as the disk spells them.

    Args:
        folder: from which the names count.
        names: of files, with their folders.

    Returns:
        Every name → the path of a file or folder whose name is the same after NFC; the plain path
        where there is none.
    """
    listings: dict[Path, dict[str, str]] = {}
    return {name: _on_disk(folder / name, listings) for name in names}


def _on_disk(path: Path, listings: dict[Path, dict[str, str]]) -> Path:
    """A path as the disk spells it; `listings` keeps composed name → name of folders seen."""
    if path.name.isascii() and path.parent.as_posix().isascii():
        return path
    if path.exists() or path.parent == path:
        return path
    parent = _on_disk(path.parent, listings)
    if parent not in listings:
        names = os.listdir(parent) if parent.is_dir() else []
        listings[parent] = {composed(name): name for name in sorted(names)}
    return parent / listings[parent].get(composed(path.name), path.name)
