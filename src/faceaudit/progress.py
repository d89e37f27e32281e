"""How far an audit is, with the time left, on a terminal; nothing where nobody looks."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from tqdm import tqdm

from faceaudit.black_box import Answers, LocalModel

# tqdm's own lock is for several processes, and a kernel that ends leaves it to the system.
tqdm.set_lock(threading.RLock())


def bar(total: int, told: str) -> tqdm:
    """A bar on stderr, silent unless that is a terminal.

    Args:
        total: images.
        told: what is done with them.

    Returns:
        The bar.

    Example:
        >>> bar(10, "model").total
        10
    """
    return tqdm(total=total, desc=told, unit=" images", disable=None, leave=False, delay=1)


class Counted:
    """A model whose images are counted on a bar as it is asked.

    Args:
        model: that is asked.
        total: images that it may be asked about.

    Example:
        >>> from faceaudit import black_box
        >>> model = black_box.python_model(lambda x: x.mean((1, 2, 3)) / 255, version="1")
        >>> Counted(model, 2).ask(np.zeros((2, 3, 8, 8), np.uint8)).values.tolist()
        [0.0, 0.0]
    """

    def __init__(self, model: LocalModel, total: int) -> None:
        self._model, self._bar = model, bar(total, model.name)
        self.hash = model.hash

    def ask(self, images: np.ndarray, points: np.ndarray | None = None) -> Answers:
        """Answers with reasons."""
        answers = self._model.ask(images, points)
        self._bar.update(len(images))
        return answers

    def close(self) -> None:
        """Take the bar away."""
        self._bar.close()


def counting(told: str) -> Callable[[int, int], None]:
    """A function that is told how many of how many are done, and shows it.

    Args:
        told: what is done.

    Returns:
        (done, of how many) → nothing.

    Example:
        >>> counting("endpoint")(1, 2)
    """
    shown: list[tqdm] = []

    def show(done: int, total: int) -> None:
        if not shown:
            shown.append(bar(total, told))
        shown[0].update(done - shown[0].n)
        if done == total:
            shown.pop().close()

    return show
