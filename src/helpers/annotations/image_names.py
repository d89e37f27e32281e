"""Which image an assignment is about: its id, or the name of the file that was shown.

Tools change names on the way: a server puts eight digits before the name of an upload, addresses
encode blanks as %20, a folder on the server stands behind ?d=. A name is therefore looked up among
the known images, where these are given. An id and a file that do not agree are told. Chapter 6
reads files with it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

from helpers.annotations.raw import NO_VALUE

MISSING, UNUSABLE = "missing image", "unusable image id"
UNKNOWN, AMBIGUOUS = "unknown image", "ambiguous image name"
CONTRADICTORY = "image id and file are two images"

_UPLOAD = re.compile(r"[0-9a-f]{8}-(.+)")
# What no file may be called on one system or another, and what HTML or a formula begins with.
_NO_NAME = re.compile(r'.*[\x00-\x1f\x7f-\x9f\ud800-\udfff<>:"/\\|?*].*|[=+@].*|\.+', re.DOTALL)
_LONGEST = 255
"""Characters of a file's name."""
_KEYS = (str, int, type(None))
"""What can be looked up; True and 1.0 would be found where 1 is."""


class Found(NamedTuple):
    """What `ImageNames` makes of an assignment.

    Attributes:
        image_id: None where there is none.
        problem: the reason why there is none, or None.
        other_name: what else the image is called, where its id and its file do not agree, or None.
    """

    image_id: str | None
    problem: str | None = None
    other_name: str | None = None


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
        self._found: dict[Hashable, Found] = {}
        self._path: dict[str, str] = {}  # image -> path of the first file that it was seen with

    def of(self, named: Any, address: Any) -> Found:
        """Which image it is, or the reason why there is none.

        Args:
            named: the id that the assignment gives.
            address: of the image file: an URL or a path.
        """
        key = (named, address)
        if type(named) not in _KEYS or type(address) not in _KEYS:
            return self._of(named, address)
        if key not in self._found:
            self._found[key] = self._of(named, address)
        return self._found[key]

    def _of(self, named: Any, address: Any) -> Found:
        address = address if isinstance(address, str) else ""
        if named is None or (isinstance(named, str) and not named.strip()):
            return self._of_file(address)
        number = type(named) is int and 0 <= named < 10**_LONGEST
        if not (number or isinstance(named, str)):
            return Found(None, UNUSABLE)
        name = str(named).strip()
        if self._known is None:
            return self._with_file(name, address) if usable(name) else Found(None, UNUSABLE)
        own = next((one for one in (name, unquote(name)) if one in self._known), None)
        if own is None:
            # What is called so is none of the images, so only the file can say which it is.
            return self._of_file(address, UNKNOWN)._replace(other_name=name[:_LONGEST])
        shown = self._known_files(address)
        if shown and own not in shown:
            return Found(None, CONTRADICTORY)
        return self._with_file(own, address)

    def _of_file(self, address: str, nameless: str = MISSING) -> Found:
        """The image that is called like its file."""
        names = list(_names(address))
        if not names:
            return Found(None, nameless)
        if self._known is None:
            return self._alone(names[0], address) if usable(names[0]) else Found(None, UNUSABLE)
        shown = self._known_files(address)
        if not shown:
            return Found(None, UNKNOWN)
        if len(shown) > 1 and shown[0] not in names:
            return Found(None, AMBIGUOUS)
        return self._alone(shown[0], address)

    def _known_files(self, address: str) -> list[str]:
        """Known images that are called like the file, or as it was called before an upload."""
        found = [name for name in _names(address) if name in self._known]
        uploads = (self._stored.get(name, []) for name in _upload_names(address))
        return found or next(filter(None, uploads), [])

    def _alone(self, name: str, address: str) -> Found:
        """Two files of one name are two images, and the name says not which."""
        path = _path(address)
        return Found(name) if self._path.setdefault(name, path) == path else Found(None, AMBIGUOUS)

    def _with_file(self, name: str, address: str) -> Found:
        """An image that an id names, with what its file is called if that is something else."""
        names = _names(address)
        first = next(names, None)
        if first is None:
            return Found(name)
        path = _path(address)
        if first != name:  # most files are called like their images
            spellings = (name, unquote(name), _stored(name))
            alike = {one.casefold() for one in (first, *names, *_upload_names(address))}
            if alike.isdisjoint(one.casefold() for one in spellings):
                return Found(name, None, first[:_LONGEST])
        same = self._path.setdefault(name, path) == path
        return Found(name, None, None if same else path[:_LONGEST])


def names_for_files(known: Iterable[str] | None, n_files: int) -> list[ImageNames]:
    """`ImageNames` for each of several files that are read as one.

    Where the images are known, a name means the same image in all files: every server has it at an
    address of its own. Where they are not, files at two addresses are two images.
    """
    if known is None:
        return [ImageNames()] * n_files
    known = set(known)
    return [ImageNames(known) for _ in range(n_files)]


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
    if not address:  # as in many a table, whose images are many
        return
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
