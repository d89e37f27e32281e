"""What `help` shows of the public functions: it reads by itself, or names what can be opened."""

import inspect
import pydoc
import re

import pytest

import faceaudit

PUBLIC = [name for name in faceaudit.__all__ if inspect.getdoc(getattr(faceaudit, name))]


def pointers(text):
    """Full names in a docstring, also of what is named as `thing` of `faceaudit.module`."""
    for thing, module in re.findall(r"`(\w+)`\s+of\s+`(faceaudit[\w.]*)`", text):
        yield f"{module}.{thing}"
    yield from re.findall(r"`(faceaudit(?:\.\w+)+)`", text)


@pytest.mark.parametrize("name", PUBLIC)
def test_what_a_docstring_names_can_be_opened(name):
    thing = getattr(faceaudit, name)
    documented = [thing]
    if inspect.isclass(thing):
        documented += [member for key, member in vars(thing).items() if not key.startswith("_")]
    for one in documented:
        for pointer in pointers(inspect.getdoc(one) or ""):
            assert pydoc.locate(pointer) is not None, pointer


@pytest.mark.parametrize("name", ["table", "pairs", "plan"])
def test_help_on_a_table_reads_by_itself(name):
    text = inspect.getdoc(getattr(faceaudit, name))
    arguments = list(inspect.signature(getattr(faceaudit, name)).parameters)
    assert all(f"{argument}: " in text for argument in arguments)
    assert "see `" not in text
    assert not any(pointer.count(".") > 1 for pointer in pointers(text))
