"""Examples in docstrings run like tests: no figure stays open, artifacts go to a fresh folder."""

from collections.abc import Iterator
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot as plt

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def nothing_left_behind(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    monkeypatch.setenv("HELPERS_ARTIFACTS", str(tmp_path))
    with plt.rc_context():
        yield
    plt.close("all")
