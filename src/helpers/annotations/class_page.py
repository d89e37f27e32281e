"""The page for a class: pictures and questions in one HTML file that works without a server.

A teacher writes the page and gives the file to everybody. Answers stay in each person's browser;
*Save* downloads them in Label Studio's full JSON format, which `read_label_studio` reads. What the
page looks like and does stands in `class_page.html`, `.css` and `.js` beside this module.
"""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b, sha256
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from PIL import Image

from helpers.annotations.schema import ATTRIBUTES, UNWRITABLE, heading

MOST_LEVELS = 9
"""Levels of a question: each has a key from 1 to 9."""

LARGEST = 50
"""Size of a page in MB; phones have to hold it."""

Images = Mapping[str, np.ndarray] | Iterable[tuple[str, np.ndarray]]


def write_page(
    images: Images,
    questions: Mapping[str, Sequence[str]] | None,
    path: str | Path,
    *,
    title: str = "What do you see?",
) -> None:
    """Write a page that asks people what they see in images: one file, no server, no network.

    Each person types a pseudonym, sees the images in an order of their own, answers with the
    keyboard, the mouse or a finger, and saves a file to hand in. The file is a full JSON export of
    Label Studio: `completed_by` is the pseudonym, `lead_time` the seconds for which the image was
    on the screen (without pauses), an image that somebody *cannot say* anything about is cancelled.

    Images are kept as they are, pixel by pixel: forty of the book's faces at 256 pixels make a page
    of about 2 MB. The page's source shows the ids, so an id should not tell the answer.

    Args:
        images: id → image, uint8 of shape (height, width, 3), or pairs of both. Shown 256 pixels
            wide, and 200 on a phone held upright.
        questions: attribute → names of its levels from low to high; None: `ATTRIBUTES`, the only
            ones that `read_label_studio` knows.
        path: HTML file to write.
        title: the page's heading.

    Raises:
        ValueError: an image, an id, a question or a level that cannot be shown or read back, or a
            page that is too large; names it and what was expected.

    Example:
        >>> import numpy as np, tempfile
        >>> from pathlib import Path
        >>> from helpers import annotations
        >>> grey = np.full((64, 64, 3), 128, np.uint8)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = Path(folder, "page.html")
        ...     annotations.write_page({"a": grey}, {"age": ("Young", "Old")}, page)
        ...     "default-src 'none'" in page.read_text(encoding="utf-8")
        True
    """
    path = Path(path)
    study = _study(images, ATTRIBUTES if questions is None else questions)
    page = _page(_text(title, "the title"), study)
    if len(page) > LARGEST * 10**6:
        size, count = len(page) / 10**6, len(study["images"])
        raise ValueError(
            f"{path}: a page of {count} images would take {size:.0f} MB, at most {LARGEST} were "
            "expected: show fewer or smaller images"
        )
    # The policy knows style and script by their bytes, so line ends must stay as they are.
    path.write_text(page, encoding="utf-8", newline="\n")


def _study(images: Images, questions: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What the script reads: lists only, for an id may have the name of a part of an object."""
    study: dict[str, Any] = {"questions": _questions(questions), "images": _images(images)}
    study["id"] = blake2b(json.dumps(study).encode(), digest_size=8).hexdigest()
    return study


def _page(title: str, study: dict[str, Any]) -> str:
    here = Path(__file__)
    style, script = (here.with_suffix(kind).read_text(encoding="utf-8") for kind in (".css", ".js"))
    policy = (
        f"default-src 'none'; img-src data:; style-src {_known(style)}; "
        f"script-src {_known(script)}; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'"
    )
    skeleton = Template(here.with_suffix(".html").read_text(encoding="utf-8"))
    return skeleton.substitute(
        title=html.escape(title),
        policy=policy,
        style=style,
        script=script,
        # Only "<" could end the block of data, or begin a comment in it.
        study=json.dumps(study).replace("<", r"\u003c"),
    )


def _known(code: str) -> str:
    """The code's source expression in a Content Security Policy."""
    return f"'sha256-{base64.b64encode(sha256(code.encode()).digest()).decode()}'"


def _questions(questions: Mapping[str, Sequence[str]]) -> list[tuple[str, str, list[str]]]:
    """Name, heading and levels of every question."""
    if not isinstance(questions, Mapping) or not questions:
        raise ValueError(f"questions: a mapping attribute → levels was expected, not {questions!r}")
    return [
        (_text(name, "a question"), heading(name), _levels(name, levels))
        for name, levels in questions.items()
    ]


def _levels(name: str, levels: Sequence[str]) -> list[str]:
    place = f"question {name!r}"
    if isinstance(levels, str) or not isinstance(levels, Sequence):
        raise ValueError(f"{place}: a list of levels was expected, not {levels!r}")
    if not 2 <= len(levels) <= MOST_LEVELS:
        raise ValueError(f"{place}: 2 to {MOST_LEVELS} levels were expected, not {len(levels)}")
    found = [_text(level, f"{place}: a level") for level in levels]
    # The reader does not tell capital letters from small ones.
    if len({level.casefold() for level in found}) < len(found):
        raise ValueError(f"{place}: levels with different names were expected, not {found}")
    return found


def _images(images: Images) -> list[tuple[str, str]]:
    """Id and data address of every image."""
    pairs = list(images.items() if isinstance(images, Mapping) else images)
    if not pairs:
        raise ValueError("no images: at least one was expected")
    found: dict[str, str] = {}
    for image_id, image in pairs:
        if _text(image_id, "an image's id") in found:
            raise ValueError(f"image {image_id!r}: two images have this id, one was expected")
        found[image_id] = _address(image_id, np.asarray(image))
    return list(found.items())


def _address(image_id: str, image: np.ndarray) -> str:
    """The image as the data address of a WebP file without loss."""
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        raise ValueError(
            f"image {image_id!r}: uint8 of shape (height, width, 3) was expected, not "
            f"{image.dtype} of shape {image.shape}"
        )
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "webp", lossless=True)
    return "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode()


def _text(value: object, what: str) -> str:
    """The text itself, which a reader will give back as it is."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{what}: a text was expected, not {value!r}")
    if value != value.strip() or UNWRITABLE.search(value):
        raise ValueError(
            f"{what}: a text without blanks at its ends, control characters and halves of "
            f"characters was expected, not {value!r}"
        )
    return value
