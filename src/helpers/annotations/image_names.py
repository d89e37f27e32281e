"""Which image an assignment is about: its id, or the name of the file that was shown.

Tools change names on the way: a server puts eight digits before the name of an upload, addresses
encode blanks as %20, a folder on the server stands behind ?d=. A name is therefore looked up among
the known images, where these are given. Chapter 6 reads files with it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from helpers.annotations.raw import NO_VALUE

MISSING, UNUSABLE = "missing image", "unusable image id"
UNKNOWN, AMBIGUOUS = "unknown image", "ambiguous image name"

_UPLOAD = re.compile(r"[0-9a-f]{8}-(.+)")
# What no file may be called on one system or another, and what HTML or a formula begins with.
_NO_NAME = re.compile(r'.*[\x00-\x1f\x7f-\x9f\ud800-\udfff<>:"/\\|?*].*|[=+@].*|\.+', re.DOTALL)
_LONGEST = 255
"""Characters of a file's name."""


class ImageNames:
    """The images of one file's assignments.

    Args:
        known: ids that images may have; None if any name will do.
    """

    def __init__(self, known: Iterable[str] | None = None) -> None:
        self._known = None if known is None else {str(name) for name in known}
        self._stored: dict[str, list[str]] = {}  # name of an upload on a server -> known images
        for name in self._known or ():
            self._stored.setdefault(_stored(name), []).append(name)
        self._found: dict[Hashable, tuple[str | None, str | None]] = {}
        self._folder: dict[str, str] = {}

    def of(self, named: Any, address: Any) -> tuple[str | None, str | None]:
        """The image's id and None, or None and the reason why there is none.

        Args:
            named: the id that the assignment gives.
            address: of the image file: an URL or a path.
        """
        key = (named, address)
        if not all(type(part) in (str, int, type(None)) for part in key):
            return self._of(named, address)
        if key not in self._found:
            self._found[key] = self._of(named, address)
        return self._found[key]

    def _of(self, named: Any, address: Any) -> tuple[str | None, str | None]:
        address = address if isinstance(address, str) else ""
        if named is None or (isinstance(named, str) and not named.strip()):
            return self._of_address(address)
        if isinstance(named, bool) or not isinstance(named, str | int):
            return None, UNUSABLE
        name = str(named).strip()
        if self._known is not None:
            own = (name, unquote(name))
            return self._among_known([*own, *_names(address)], address)
        return (name, None) if usable(name) else (None, UNUSABLE)

    def _of_address(self, address: str) -> tuple[str | None, str | None]:
        names = list(_names(address))
        if not names:
            return None, MISSING
        if self._known is not None:
            return self._among_known(names, address)
        name = names[0]
        return self._alone(name, address) if usable(name) else (None, UNUSABLE)

    def _among_known(self, names: list[str], address: str) -> tuple[str | None, str | None]:
        found = next((name for name in names if name in self._known), None)
        if found is not None:
            return found, None
        for upload in _upload_names(address):
            if images := self._stored.get(upload):
                return (images[0], None) if len(images) == 1 else (None, AMBIGUOUS)
        return None, UNKNOWN

    def _alone(self, name: str, address: str) -> tuple[str | None, str | None]:
        """Files of one name in two folders are two images, and the name says not which."""
        folder = str(PurePosixPath(_path(address)).parent)
        if self._folder.setdefault(name, folder) != folder:
            return None, AMBIGUOUS
        return name, None


def usable(name: str) -> bool:
    """Whether a text may name an image: every system would take it as the name of a file."""
    within = len(name) <= _LONGEST and name.casefold() not in NO_VALUE
    return within and _NO_NAME.fullmatch(name) is None


def _path(address: str) -> str:
    """The path in an address, also that of a folder on a server, with plain characters."""
    before, asked, folder = address.partition("?d=")
    path = folder.split("&")[0] if asked else re.split(r"[?#]", before)[0]
    return unquote(path).replace("\\", "/")


def _names(address: str) -> Iterator[str]:
    """What the image at an address may be called, the name without ending first."""
    address = address.strip()
    path = PurePosixPath(_path(address))
    # In view?id=17 nothing is the name of a file, and behind data: stands the image itself.
    query = "?" in address and "?d=" not in address
    if not path.name or address.startswith("data:") or (query and not path.suffix):
        return
    yield path.stem
    yield from (path.name, str(path), str(path.with_suffix("")))


def _upload_names(address: str) -> Iterator[str]:
    """What a file was called, as far as a server still knows, before it was uploaded there."""
    uploaded = _UPLOAD.fullmatch(PurePosixPath(_path(address.strip())).name)
    if uploaded:
        yield from (PurePosixPath(uploaded[1]).stem, uploaded[1])


def _stored(name: str) -> str:
    """The name under which a server keeps an upload: as Django's `get_valid_filename` makes it."""
    return re.sub(r"[^-\w.]", "", name.strip().replace(" ", "_"))
