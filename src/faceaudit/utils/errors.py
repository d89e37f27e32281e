"""Errors about what a user gave, and how a missing column is reported wherever one is needed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence


class InputError(ValueError):
    """A file, a table, a model or an argument that cannot be used; its text says why.

    Raise it where the fault is seen, with a text that names the file, the row or the column and
    what was expected.

    Attributes:
        field: what is at fault, such as a column, a key of the audit file or an argument.
        found: what stands there; None where the text alone says it.
        expected: what should stand there; None where the text alone says it.

    Example:
        >>> error = InputError("a.csv: row 3 is 'x', 0 or 1 was expected", field="row 3", found="x")
        >>> error.field, error.found, error.expected
        ('row 3', 'x', None)
    """

    def __init__(
        self, message: str, *, field: str, found: object = None, expected: str | None = None
    ) -> None:
        super().__init__(message)
        self.field = field
        self.found = found
        self.expected = expected

    def __reduce__(self) -> tuple:
        """Keep the attributes where an error crosses from one process to another."""
        return _input_error, (str(self), self.field, self.found, self.expected)


def _input_error(message: str, field: str, found: object, expected: str | None) -> InputError:
    return InputError(message, field=field, found=found, expected=expected)


def require_extra(extra: str, module: str) -> None:
    """Refuse what needs an extra of this package that is not installed.

    Args:
        extra: its name.
        module: of Python, which comes with it.

    Raises:
        InputError: the module is not there.
    """
    if importlib.util.find_spec(module) is None:
        raise InputError(
            f"this needs {module}, which is not installed; install faceaudit[{extra}]",
            field=f"faceaudit[{extra}]",
            expected=f"the extra faceaudit[{extra}]",
        )


# --- a missing column
#
# The texts differ as their readers do. Who calls a function from Python reads the names as Python
# writes them. An auditor reads the names of a table, and learns where other names are set. A file
# of a format, such as an export of a tool, is refused by `faceaudit.utils.tables.wrong_format`,
# which names the format.


def missing_in_frame(missing: Sequence[str], columns: Iterable[str]) -> InputError:
    """The error for a frame that lacks columns.

    Args:
        missing: names of the columns that it lacks, at least one.
        columns: names of those that it has.
    """
    return InputError(
        f"the frame has no column {list(missing)}; it has {list(columns)}",
        field=str(missing[0]),
        expected=f"a column {missing[0]!r}",
    )


def missing_in_table(
    source: str, missing: Sequence[str], columns: str, advice: str = ""
) -> InputError:
    """The error for an auditor's table that lacks columns which the audit file names.

    Args:
        source: of the table.
        missing: names of the columns that it lacks, at least one.
        columns: names of those that it has, on one line.
        advice: what to do, if more than the names of columns can be told.
    """
    more = f"; {advice}" if advice else ""
    return InputError(
        f"{source}: no column {', '.join(map(repr, missing))}; it has {columns}{more}",
        field=str(missing[0]),
        found=columns,
        expected=f"a column {missing[0]!r}",
    )


def missing_in_header(name: str) -> str:
    """What is found in the header of a file that lacks a column of its format, in words."""
    return f"no column {name}"
