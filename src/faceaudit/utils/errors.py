"""Errors about what a user gave."""

from __future__ import annotations


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
