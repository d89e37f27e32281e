"""How often, and how patiently, a model on the network is asked (chapter 20)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from helpers.utils.checks import check_positive, check_range, check_whole


@dataclass(frozen=True)
class CallLimits:
    """How often, and how patiently, an endpoint is asked.

    Args:
        max_calls: the budget, over all runs, failed calls included.
        per_second: calls a second, at most.
        retries: how often a call is repeated that failed.
        first_wait: seconds before the first repetition; each further one waits twice as long,
            unless the endpoint says how long.
        most_failures: the run ends when more than this share of its calls fails.

    Raises:
        ValueError: a number that is none of these, by name.

    Example:
        >>> from faceaudit import black_box
        >>> black_box.CallLimits(max_calls=20_000).per_second
        5.0
    """

    max_calls: int
    per_second: float = 5.0
    retries: int = 5
    first_wait: float = 0.5
    most_failures: float = 0.3

    def __post_init__(self) -> None:
        check_whole("model.max_calls", self.max_calls, least=1)
        check_positive("model.per_second", self.per_second)
        check_whole("model.retries", self.retries, least=0)
        check_positive("model.first_wait", self.first_wait)
        check_range("model.most_failures", self.most_failures, 0, 1)

    def pause(self, attempt: int, key: str) -> float:
        """Seconds before a call is repeated; images that failed together do not come together."""
        return self.first_wait * 2 ** (attempt - 1) * (0.5 + int(key[:8], 16) / 2**33)


class TokenBucket:
    """Lets so many calls a second pass, evenly; who comes too early waits.

    Args:
        per_second: calls a second.
        clock, sleep: of time, other ones in tests.

    Example:
        >>> from faceaudit.black_box.call_limits import TokenBucket
        >>> waited, now = [], iter([0.0, 0.1])
        >>> bucket = TokenBucket(2, clock=lambda: next(now), sleep=waited.append)
        >>> bucket.take(); bucket.take(); waited
        [0.4]
    """

    def __init__(
        self,
        per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._pause = 1 / check_positive("model.per_second", per_second)
        self._clock, self._sleep = clock, sleep
        self._next = float("-inf")

    def take(self) -> None:
        """Wait until the next call may be made."""
        now = self._clock()
        if now < self._next:
            self._sleep(self._next - now)
        self._next = max(self._next, now) + self._pause
