"""The page for a class: pictures and questions in one HTML file that works without a server.

A teacher writes the page and gives the file to everybody. Answers stay in each person's browser;
*Save* downloads them in Label Studio's full JSON format, which `read_label_studio` reads. What the
page looks like and does stands in `rating_page.html`, `.css` and `.js` beside this module.
"""

import base64
import io
import json
import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b, sha256
from pathlib import Path
from string import Template

import numpy as np
from PIL import Image

from faceaudit.annotations.schema import heading
from faceaudit.utils.files import atomic

MOST_LEVELS = 9
"""Levels of a question: each has a key from 1 to 9."""
UNREADABLE_TEXT = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]|^\s|\s$|^$")
"""What a file does not give back: control characters, halves of characters, blanks at the ends."""

IMAGES_PER_PAGE = 100
"""Images of one page: what a person answers about in an hour, and a phone can hold."""


def write_page(
    images: Mapping[str, np.ndarray], questions: Mapping[str, Sequence[str]], path: str | Path
) -> None:
    """Write a page that asks people what they see in images: one file, no server, no network.

    Each person types a pseudonym, sees the images in an order of their own, answers with the
    keyboard, the mouse or a finger, and saves a file to hand in. The file is a full JSON export of
    Label Studio: `completed_by` is the pseudonym, `lead_time` the seconds for which the image was
    on the screen (without pauses), an image that somebody *cannot say* anything about is cancelled.

    Images are kept as they are, pixel by pixel: forty of the book's faces at 256 pixels make a page
    of about 2 MB. The page's source shows the ids, so an id should not tell the answer.

    Args:
        images: id → image, uint8 of shape (height, width, 3). Shown 256 pixels high, and 200 on a
            phone held upright.
        questions: attribute → names of its levels from low to high; `read_label_studio` knows those
            of `ATTRIBUTES`.
        path: HTML file to write.

    Raises:
        ValueError: an image, an id, a question or a level that cannot be shown or read back; names
            it and what was expected.

    Example:
        >>> import numpy as np, tempfile
        >>> from pathlib import Path
        >>> from faceaudit import annotations
        >>> grey = np.full((64, 64, 3), 128, np.uint8)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = Path(folder, "page.html")
        ...     annotations.write_page({"a": grey}, {"age": ("Young", "Old")}, page)
        ...     "default-src 'none'" in page.read_text(encoding="utf-8")
        True
    """
    if not images or not questions:
        raise ValueError(f"no {'questions' if images else 'images'}: at least one was expected")
    asked = [
        (_check_text(q, "a question"), heading(q), _check_levels(q, questions[q]))
        for q in questions
    ]
    ids = [_check_text(image_id, "an image's id") for image_id in images]
    # The script reads lists only, for an id may have the name of a part of an object.
    study = {"questions": asked, "images": [(one, _data_address(one, images[one])) for one in ids]}
    study["id"] = blake2b(json.dumps(study).encode(), digest_size=8).hexdigest()
    here = Path(__file__)
    style, script = (here.with_suffix(kind).read_text(encoding="utf-8") for kind in (".css", ".js"))
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash_source(style)}; "
        f"script-src {_hash_source(script)}; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'"
    )
    page = Template(here.with_suffix(".html").read_text(encoding="utf-8")).substitute(
        policy=policy,
        style=style,
        script=script,
        # Only "<" could end the block of data, or begin a comment in it.
        study=json.dumps(study).replace("<", r"\u003c"),
    )
    # The policy knows style and script by their bytes, so line ends must stay as they are.
    Path(path).write_text(page, encoding="utf-8", newline="\n")


def write_pages(
    images: Mapping[str, np.ndarray], questions: Mapping[str, Sequence[str]], folder: Path
) -> int:
    """Write `page-1.html` and so on, `ON_A_PAGE` images each; how many there are now."""
    for path in folder.glob("page-*.html"):  # of tasks that may have been more
        path.unlink()
    shown, number = [*images.items()], 0
    for number, start in enumerate(range(0, len(shown), IMAGES_PER_PAGE), 1):
        with atomic(folder / f"page-{number}.html") as temporary:
            write_page(dict(shown[start : start + IMAGES_PER_PAGE]), questions, temporary)
    return number


def _hash_source(code: str) -> str:
    """The code's source expression in a Content Security Policy."""
    return f"'sha256-{base64.b64encode(sha256(code.encode()).digest()).decode()}'"


def _check_levels(name: str, levels: Sequence[str]) -> list[str]:
    found = [_check_text(level, f"question {name!r}: a level") for level in levels]
    # The reader does not tell capital letters from small ones.
    different = len({level.casefold() for level in found}) == len(found)
    if isinstance(levels, str) or not different or not 2 <= len(found) <= MOST_LEVELS:
        raise ValueError(
            f"question {name!r}: a list of 2 to {MOST_LEVELS} levels with different names was "
            f"expected, not {levels!r}"
        )
    return found


def _data_address(image_id: str, image: np.ndarray) -> str:
    """The image as the data address of a WebP file without loss."""
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        raise ValueError(
            f"image {image_id!r}: uint8 of shape (height, width, 3) was expected, not "
            f"{image.dtype} of shape {image.shape}"
        )
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "webp", lossless=True)
    return "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode()


def _check_text(value: object, what: str) -> str:
    """The text itself, which a reader will give back as it is."""
    if not isinstance(value, str) or UNREADABLE_TEXT.search(value):
        raise ValueError(
            f"{what}: a text without blanks at its ends, control characters and halves of "
            f"characters was expected, not {value!r}"
        )
    return value
