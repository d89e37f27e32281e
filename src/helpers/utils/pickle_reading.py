"""What a pickle says, without doing what it says.

A pickle is a program: its opcodes may import any function, call it and set attributes on what comes
back. Here they are read one by one by a machine that has no import, no call and no setting of
attributes. A name stays a name (`Name`), a call becomes a note of what was to be called with what
(`Note`), and the reader of a format decides which notes it understands. Notes that nobody asks for
stay without effect.
"""

from __future__ import annotations

import io
import pickletools
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LONGEST = 500_000
"""Operations of a pickle that is still read. One byte may ask for an object of 64, so their number
bounds what empty objects can take; files of generators at 1024 pixels have some 50,000."""
LONGEST_NUMBER = 2040
"""Bits of a whole number: 255 bytes. Python computes the hash of a number anew for every dictionary
that has it as a key, and does not print very long ones."""
DAMAGE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, MemoryError)
"""What reading a damaged file may raise: damage shows as a value of the wrong type, one that is not
there or one that is too large."""
DAMAGE += (RuntimeError, EOFError)  # RecursionError is a RuntimeError: nested too deeply


class PickleError(ValueError):
    """What is wrong with a pickle, and at which byte.

    Example:
        >>> PickleError("an array without bytes", 17).place
        17
    """

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.place = place


class Name(NamedTuple):
    """What a pickle wants to import.

    Example:
        >>> str(Name("os", "system"))
        'os.system'
    """

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"[:80]


class Persistent(NamedTuple):
    """What a pickle expects to find outside of itself."""

    key: Any


class Note:
    """A call that was not made, and what the object was to be given afterwards.

    Attributes:
        called: what was to be called, a `Name` if the pickle is honest.
        arguments: for it.
        place: byte of the pickle.
        state: what the object was to take over, or None.
        items: entries of what behaves like a dictionary, or None.
    """

    __slots__ = ("arguments", "called", "items", "place", "state")

    def __init__(self, called: Any, arguments: Any, place: int) -> None:
        self.called, self.arguments, self.place = called, arguments, place
        self.state: Any = None
        self.items: dict[Any, Any] | None = None

    def __repr__(self) -> str:
        # Of anything else no words are made: lists within lists may take for ever.
        called = self.called if isinstance(self.called, Name) else type(self.called).__name__
        return f"a call of {str(called)!r}, which is not run"


def read_pickle(content: io.BytesIO, outside: list[Any] | None = None) -> Any:
    """The value that the next pickle in a stream describes; nothing in it is run.

    Args:
        content: bytes in memory, so that a length that is claimed is never allocated.
        outside: takes the keys of what lies outside of the pickle, as in files of torch; without
            it such keys are refused.

    Returns:
        None, numbers, text, bytes, lists, tuples and dicts of such, sets as lists, `Name`, `Note`
        and `Persistent`. The same object may occur at several places.

    Raises:
        PickleError: this is no pickle, or one that asks for what the machine does not have.

    Example:
        >>> import os, pickle
        >>> class Attack:
        ...     def __reduce__(self):
        ...         return os.mkdir, ("never made",)
        >>> read_pickle(io.BytesIO(pickle.dumps([1, Attack()], protocol=4)))
        [1, a call of 'posix.mkdir', which is not run]
    """
    machine = _Machine(outside)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of damaged escapes in old texts
        try:
            for number, (opcode, argument, place) in enumerate(pickletools.genops(content)):
                if number >= LONGEST:
                    raise ValueError(f"a pickle of more than {LONGEST:,} operations")
                machine.place = place or 0
                machine.step(opcode.name, argument)
            if len(machine.stack) > 1:
                raise ValueError(f"{len(machine.stack)} values where one was expected")
            (value,) = machine.taken(1)
        except DAMAGE as error:
            raise PickleError(_words(error), machine.place) from None
    return value


def refusal(path: Path, expected: str, error: Exception) -> ValueError:
    """The sentence for a file whose reading raised one of `DAMAGE`.

    Args:
        path: of the file.
        expected: what the file should have been.
        error: what was raised.

    Example:
        >>> refusal("a.pkl", "arrays", PickleError("an array without bytes", 17))
        ValueError('a.pkl: byte 17: expected arrays, found an array without bytes')
    """
    place = f"byte {error.place}: " if isinstance(error, PickleError) else ""
    return ValueError(f"{path}: {place}expected {expected}, found {_words(error)}")


def _words(error: Exception) -> str:
    if type(error) in (ValueError, PickleError):
        return str(error)[:300]
    if isinstance(error, RecursionError):
        return "values that are nested too deeply"
    if isinstance(error, MemoryError):
        return "more than fits into memory"
    if isinstance(error, OSError):
        return f"what cannot be read ({error.strerror})"
    if isinstance(error, KeyError) and isinstance(error.args[0], str):
        return f"no entry {error.args[0][:80]!r}"
    return "a value that is missing or of another kind"


_VALUES = {
    *("BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES"),
    *("BINBYTES8", "BYTEARRAY8", "STRING", "BINSTRING", "SHORT_BINSTRING"),
}
"""Opcodes that put their argument on the stack."""
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_SET": list}
"""Sets become lists: nobody asks for one, and an empty set has 200 bytes."""
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_TO_MARK = {"TUPLE": tuple, "LIST": list, "FROZENSET": list}
_PUT, _GET = {"BINPUT", "LONG_BINPUT", "PUT"}, {"BINGET", "LONG_BINGET", "GET"}
_CALLS = {"REDUCE": 2, "NEWOBJ": 2, "NEWOBJ_EX": 3}
_SKIPPED = {"PROTO", "FRAME", "STOP"}
_MARK = object()


class _Machine:
    """A stack and a memory, as a pickle expects them; there is no more to it."""

    def __init__(self, outside: list[Any] | None) -> None:
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}
        self.outside = outside
        self.place = 0

    def step(self, name: str, argument: Any) -> None:
        """One opcode."""
        stack = self.stack
        if name in _VALUES:
            if isinstance(argument, int) and argument.bit_length() > LONGEST_NUMBER:
                raise ValueError(f"a whole number of more than {LONGEST_NUMBER:,} bits")
            stack.append(argument)
        elif name in _PUT:
            self.memory[argument] = _object(stack[-1])
        elif name in _GET:
            stack.append(self.memory[argument])
        elif name == "MEMOIZE":
            self.memory[len(self.memory)] = _object(stack[-1])
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name == "MARK":
            stack.append(_MARK)
        elif name in _TUPLES:
            stack.append(tuple(self.taken(_TUPLES[name])))
        elif name in _TO_MARK:
            stack.append(_TO_MARK[name](self.above_mark()))
        elif name == "GLOBAL":
            stack.append(_name(*argument.split(" ", 1)))
        elif name == "STACK_GLOBAL":
            stack.append(_name(*self.taken(2)))
        elif name in _CALLS:
            called, *arguments = self.taken(_CALLS[name])
            stack.append(Note(called, arguments[0] if len(arguments) == 1 else None, self.place))
        else:
            self.change(name)

    def change(self, name: str) -> None:
        """An opcode that changes what is on the stack."""
        stack = self.stack
        if name == "SETITEM":
            _set_items(stack[-3], self.taken(2))
        elif name == "SETITEMS":
            items = self.above_mark()
            _set_items(stack[-1], items)
        elif name == "APPEND":
            _extend(stack[-2], self.taken(1))
        elif name in ("APPENDS", "ADDITEMS"):
            elements = self.above_mark()
            _extend(stack[-1], elements)
        elif name == "DICT":
            items = self.above_mark()
            stack.append({})
            _set_items(stack[-1], items)
        elif name == "BUILD":
            (state,) = self.taken(1)
            if not isinstance(stack[-1], Note) or stack[-1].state is not None:
                raise ValueError("a state of something that takes none")
            stack[-1].state = state
        elif name == "POP":
            stack.pop()
        elif name == "POP_MARK":
            self.above_mark()
        elif name == "DUP":
            stack.append(_object(stack[-1]))
        elif name == "BINPERSID" and self.outside is not None:
            stack.append(Persistent(*self.taken(1)))
            self.outside.append(stack[-1].key)
        elif name not in _SKIPPED:
            raise ValueError(f"the operation {name}")

    def taken(self, count: int) -> list[Any]:
        """The uppermost values, taken from the stack."""
        if len(self.stack) < count:
            raise ValueError("an operation on nothing")
        values = self.stack[-count:]
        del self.stack[-count:]
        return [_object(value) for value in values]

    def above_mark(self) -> list[Any]:
        """What lies above the last mark, taken from the stack with it."""
        above: list[Any] = []
        while (value := self.stack.pop()) is not _MARK:
            above.append(value)
        return above[::-1]


def _object(value: Any) -> Any:
    if value is _MARK:
        raise ValueError("a mark in place of a value")
    return value


def _name(module: Any, name: Any) -> Name:
    if not (isinstance(module, str) and isinstance(name, str)):
        raise ValueError("a name that is no text")
    return Name(module, name)


def _keys(values: Sequence[Any]) -> Iterator[Any]:
    """The keys, if they are plain: to hash nested tuples may take for ever."""
    for value in values:
        if not (value is None or isinstance(value, str | int | float)):
            raise ValueError("a key that is neither text nor a number")
        yield value


def _set_items(into: Any, items: list[Any]) -> None:
    if isinstance(into, Note):
        into.items = {} if into.items is None else into.items
        into = into.items
    if not isinstance(into, dict) or len(items) % 2:
        raise ValueError("items of something else than a dictionary")
    for key, value in zip(_keys(items[::2]), items[1::2], strict=True):
        if key in into:
            raise ValueError(f"two items called {str(key)[:40]!r}")
        into[key] = value


def _extend(into: Any, elements: list[Any]) -> None:
    # A list or set of another class cannot be what somebody asks for: its elements are dropped.
    if isinstance(into, list):
        into.extend(elements)
    elif not isinstance(into, Note):
        raise ValueError("elements of something else than a list")
