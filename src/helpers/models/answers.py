"""What a network answers about many images, chunk by chunk, kept as it comes.

A reader that labels a hundred thousand samples, or a model under audit, is asked here. Chunks that
are answered are not asked again.
"""

import inspect
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpers.artifacts import kept
from helpers.artifacts.kept import content_key
from helpers.models.training import check_images
from helpers.utils.parallel import shared_out, threads


def answers_about(
    images: np.ndarray,
    ask: Callable[[np.ndarray], Any],
    folder: str | Path,
    *,
    version: str,
    chunk: int = 256,
) -> pd.DataFrame:
    """Ask about images in chunks, on all cores or on a cluster, and keep every chunk's answers.

    Who answers and where is as in `helpers.generators.batches.synthesize_to_store`. A chunk's file
    is named after its place and a hash of its images, of `version` and of the code, appears whole
    or not at all, and is read again when the same is asked. What was asked under another name is
    removed at the end.

    Args:
        images: uint8 (n, 3, height, width), an array or a memory map.
        ask: uint8 images → a frame (n, columns) or an array (n,) or (n, k) of numbers, one row an
            image that depends on that image only; NaN where there is no answer.
        folder: where the chunks' files go; one folder a stage of work.
        version: what fixes the answers besides the images, for example the SHA-256 of the weights.
        chunk: images asked about at a time.

    Returns:
        One row an image: the frame's columns, or `answer`, or `answer_0`, `answer_1`, …

    Raises:
        ValueError: images of another kind, a number of answers that does not fit; and as of
            `synthesize_to_store`.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> from helpers.models.answers import answers_about
        >>> grey = np.full((3, 3, 8, 8), 51, np.uint8)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     mean = lambda images: images.mean((1, 2, 3)) / 255
        ...     answers_about(grey, mean, folder, version="1", chunk=2)["answer"].round(2).tolist()
        [0.2, 0.2, 0.2]
    """
    check_images(images)
    folder, sources = Path(folder), [Path(__file__), *_source_of(ask)]
    settings = {"version": version, "code": [kept.made_by(source) for source in sources]}
    parts = [images[start : start + chunk] for start in range(0, len(images), chunk)]
    keys = (content_key(part, **settings) for part in parts)
    paths = [folder / f"{chunk * k:08d}_{key}.answers" for k, key in enumerate(keys)]
    missing = [k for k, path in enumerate(paths) if kept.read(path) is None]
    share = shared_out(threads(), partial(kept.require_same_code, sources))
    of = lambda place: np.ascontiguousarray(parts[missing[place]])  # noqa: E731
    for place, content in share(partial(_answers, ask=ask), of, len(missing)):
        kept.write(paths[missing[place]], content)
    for path in {*folder.glob("*.answers")} - {*paths}:
        path.unlink()
    tables = [pd.read_parquet(io.BytesIO(kept.read(path))) for path in paths]
    return pd.concat(tables, ignore_index=True)


def _answers(images: np.ndarray, *, ask: Callable[[np.ndarray], Any]) -> bytes:
    """The answers about a chunk, as the content of a Parquet file."""
    given = ask(images)
    if not isinstance(given, pd.DataFrame):
        given = pd.DataFrame(given)
        several = given.columns if len(given.columns) > 1 else []
        given.columns = [f"answer_{k}" for k in several] or ["answer"]
    if len(given) != len(images):
        raise ValueError(f"expected an answer about each of {len(images)} images, got {len(given)}")
    return given.reset_index(drop=True).to_parquet()


def _source_of(ask: Callable[[np.ndarray], Any]) -> list[Path]:
    """The file that defines who answers, where there is one."""
    while isinstance(ask, partial):
        ask = ask.func
    module = inspect.getmodule(ask if inspect.isroutine(ask) else type(ask))
    return [Path(file)] if (file := getattr(module, "__file__", None)) else []
