"""For all tests and examples: the pins come first, and no figure of an example stays open."""

from collections.abc import Iterator
from pathlib import Path

import helpers  # noqa: F401  it sets the pins, and numpy is imported after

# isort: split
import matplotlib
import pytest
from matplotlib import pyplot as plt

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def nothing_left_behind(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Examples in docstrings write artifacts to a fresh folder."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    monkeypatch.setenv("HELPERS_ARTIFACTS", str(tmp_path))
    with plt.rc_context():
        yield
    plt.close("all")
