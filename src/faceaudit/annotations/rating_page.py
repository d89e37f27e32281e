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
from faceaudit.utils.errors import InputError
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
        InputError: an image, an id, a question or a level that cannot be shown or read back; names
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
    for name, mapping in (("images", images), ("questions", questions)):
        if not mapping:
            raise InputError(
                f"no {name}: at least one was expected", field=name, expected="at least one"
            )
    question_rows = []
    for question, levels in questions.items():
        _check_text(question, "a question")
        _check_levels(question, levels)
        question_rows.append((question, heading(question), list(levels)))
    for image_id in images:
        _check_text(image_id, "an image's id")
    # The script reads lists only, for an id may have the name of a part of an object.
    image_rows = [(image_id, _data_address(image_id, image)) for image_id, image in images.items()]
    study = {"questions": question_rows, "images": image_rows}
    study["id"] = blake2b(json.dumps(study).encode(), digest_size=8).hexdigest()
    module = Path(__file__)
    style = module.with_suffix(".css").read_text(encoding="utf-8")
    script = module.with_suffix(".js").read_text(encoding="utf-8")
    html = module.with_suffix(".html").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash_source(style)}; "
        f"script-src {_hash_source(script)}; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'"
    )
    page = Template(html).substitute(
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
    """Write `page-1.html` and so on, `IMAGES_PER_PAGE` images each.

    Args:
        images: as of `write_page`.
        questions: as of `write_page`.
        folder: to write to; pages of an earlier call are deleted, for there may have been more.

    Returns:
        The number of pages.
    """
    for path in folder.glob("page-*.html"):
        path.unlink()
    image_ids = list(images)
    starts = range(0, len(image_ids), IMAGES_PER_PAGE)
    for number, start in enumerate(starts, start=1):
        chosen = image_ids[start : start + IMAGES_PER_PAGE]
        with atomic(folder / f"page-{number}.html") as temporary:
            write_page({image_id: images[image_id] for image_id in chosen}, questions, temporary)
    return len(starts)


def _hash_source(code: str) -> str:
    """The code's source expression in a Content Security Policy."""
    return f"'sha256-{base64.b64encode(sha256(code.encode()).digest()).decode()}'"


def _check_levels(question: str, levels: Sequence[str]) -> None:
    """Raise InputError unless levels are a list of different names that a reader gives back."""
    for level in levels:
        _check_text(level, f"question {question!r}: a level")
    # The reader does not tell capital letters from small ones.
    different = len({level.casefold() for level in levels}) == len(levels)
    if isinstance(levels, str) or not different or not 2 <= len(levels) <= MOST_LEVELS:
        expected = f"a list of 2 to {MOST_LEVELS} levels with different names"
        raise InputError(
            f"question {question!r}: {expected} was expected, not {levels!r}",
            field=f"question {question!r}",
            found=levels,
            expected=expected,
        )


def _data_address(image_id: str, image: np.ndarray) -> str:
    """The image as the data address of a WebP file without loss."""
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        expected = "uint8 of shape (height, width, 3)"
        array = f"{image.dtype} of shape {image.shape}"
        raise InputError(
            f"image {image_id!r}: {expected} was expected, not {array}",
            field=f"image {image_id!r}",
            found=array,
            expected=expected,
        )
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "webp", lossless=True)
    return "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode()


def _check_text(text: object, name: str) -> None:
    """Raise InputError unless a value is a text that a reader will give back as it is."""
    if not isinstance(text, str) or UNREADABLE_TEXT.search(text):
        expected = "a text without blanks at its ends, control characters and halves of characters"
        raise InputError(
            f"{name}: {expected} was expected, not {text!r}",
            field=name,
            found=text,
            expected=expected,
        )
