"""Models on the network: no image is asked about twice, and a failed call is no answer.

What may be tried again (a timeout, HTTP 429, 500, 503 …) is tried again, as urllib3's `Retry` waits
and as the endpoint asks. What no waiting mends (a wrong address, a refused key, a redirect) ends
the run. Keys are read from the environment when a call is made, and stand in no card, no file and
no message. Images are asked about in a random order: an endpoint that changes during an audit would
otherwise change along with the grid.
"""

from __future__ import annotations

import io
import math
import os
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import requests
from PIL import Image
from urllib3.exceptions import InvalidHeader
from urllib3.util import Retry

from faceaudit.answers import NO_FACE, ROUNDING, AnswerCache, BlackBox, Gives, Reading
from helpers.utils import seeding

FROM_ENVIRONMENT = "env:"
RETRIES, FIRST_WAIT, LONGEST_WAIT = 5, 0.5, 300.0
"""Repetitions of a call that failed; seconds between them, at first and at most."""
MOST_FAILURES, ENOUGH_TO_JUDGE = 0.3, 40
"""The run ends when more than this share of so many calls fails."""
_BUSY, _TRY_AGAIN = 429, (408, 425, 429, 500, 502, 503, 504)
_NO_KEY, _NO_PLACE = (401, 403, 407), (404, 405, 410)


class CallFailed(Exception):
    """A call without an answer; the reason is a few words of ours, without keys."""

    def __init__(self, reason: str, response: requests.Response | None = None) -> None:
        super().__init__(reason)
        self.reason, self.response = reason, response
        self.again = response is None or response.ok or response.status_code in _TRY_AGAIN


class NothingThere(CallFailed):
    """An answer that lacks what is read, as an apology does; its fields' names are not kept."""

    def __init__(self, words: str) -> None:
        super().__init__("nothing stands where model.read looks")
        self.words = words


class WrongEndpoint(ValueError):
    """Something about an endpoint that no waiting mends; it ends the run."""


class RemoteModel(BlackBox):
    """A model behind an address that takes a PNG by POST and answers JSON.

    The address is also sent the header `Idempotency-Key`, so that an endpoint that knows it bills a
    call once that was repeated because its answer got lost.

    Args:
        url: https, or http on this machine or without headers.
        read: where the answer stands in the JSON, for example "faces.0.gender.p_male"; an empty
            list or a null on the way means that no face was found.
        version: of the model, in your words; another version, or `read`, is asked anew.
        max_calls: the budget, over all runs, failed calls included.
        per_second: calls a second, at most.
        headers: name → value; "env:NAME" takes the value from the environment at every call.
        timeout: seconds without a sign from the endpoint after which a call has failed.
        gives: "probability", or "embedding" of a recogniser.
        seed: of the order.

    Raises:
        ValueError: an address that would show or send a secret.

    Example:
        >>> RemoteModel("https://x.org/g?key=secret", "p_male", version="1", max_calls=9).name
        'https://x.org/g'
    """

    def __init__(
        self,
        url: str,
        read: str,
        *,
        version: str,
        max_calls: int,
        per_second: float = 5.0,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        gives: Gives = "probability",
        seed: int = 0,
    ) -> None:
        parts = urlsplit(url)
        address = parts._replace(query="", fragment="").geturl()  # a query may hold a key
        if "@" in parts.netloc:
            raise ValueError(
                "model.url holds a user name or password, which messages would show; "
                "put it into model.headers as env:NAME"
            )
        here = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if headers and parts.scheme == "http" and not here:
            raise ValueError(
                f"model.url {address}: the headers would travel unencrypted; use https"
            )
        said = {"kind": "remote", "url": address, "version": version, "read": read}
        super().__init__(address, said, Reading(gives))
        self._url, self._path, self._headers = url, read, dict(headers or {})
        self._max_calls, self._timeout, self._seed = max_calls, timeout, seed
        self._pause, self._next_turn = 1 / per_second, 0.0
        self._called = self._failed = 0
        self._session = requests.Session()
        # Without an `auth`, a session sends what ~/.netrc holds for the host. This one adds
        # nothing, and the environment's proxies go on working, which `trust_env` would turn off.
        self._session.auth = lambda request: request

    def fill(
        self,
        cache: AnswerCache,
        images: np.ndarray,
        points: np.ndarray | None,
        wanted: dict[str, int],
        done: Callable[[int], Any],
    ) -> None:
        """Put answers into a cache, each before the next image is asked about; see `BlackBox`."""
        self._called = self._failed = 0
        keys = list(wanted)
        for place in seeding.rng(self._seed, "order of calls").permutation(len(keys)):
            key = keys[place]
            stream = io.BytesIO()
            pixels = np.ascontiguousarray(images[wanted[key]].transpose(1, 2, 0))
            Image.fromarray(pixels).save(stream, "PNG")
            self._ask_about(stream.getvalue(), key, cache)
            done(1)

    def _ask_about(self, png: bytes, key: str, cache: AnswerCache) -> None:
        """Ask about one image until there is an answer or no patience, and keep each outcome."""
        retry = Retry(RETRIES, backoff_factor=FIRST_WAIT, backoff_jitter=FIRST_WAIT)
        while True:
            self._wait_for_turn(cache)
            try:
                answer = self._answer(png, key)
            except CallFailed as failure:
                cache.add([key], [None], [failure.reason])
                self._stop_if_sick(failure, cache)
                if not failure.again or not retry.total:
                    if isinstance(failure, NothingThere) and not cache.answered:
                        # It never had what is read: then the reading is wrong.
                        raise ValueError(
                            f"{self.name}: {failure.words}; check model.read"
                        ) from None
                    return
                retry = retry.increment(error=failure)
                time.sleep(_seconds(retry, failure.response))
            except WrongEndpoint:
                raise
            except ValueError:  # what is no answer ends the run, and was a call
                cache.add([key], [None], ["an answer that is none"])
                raise
            else:
                cache.add([key], [answer], [NO_FACE if answer is None else ""])
                return

    def _wait_for_turn(self, cache: AnswerCache) -> None:
        if cache.calls >= self._max_calls:
            raise ValueError(
                f"{self.name}: the budget of {self._max_calls:,} calls is used up, and images are "
                f"left without an answer; what was answered is kept in {cache.path}: raise "
                "model.max_calls and run the same again"
            )
        now = time.monotonic()
        time.sleep(max(self._next_turn - now, 0))
        self._next_turn = max(self._next_turn, now) + self._pause
        self._called += 1

    def _stop_if_sick(self, failure: CallFailed, cache: AnswerCache) -> None:
        response = failure.response
        self._failed += response is None or response.status_code != _BUSY  # which is no fault
        if self._called >= ENOUGH_TO_JUDGE and self._failed > MOST_FAILURES * self._called:
            raise ValueError(
                f"{self.name}: {self._failed} of {self._called} calls failed, the last one by "
                f"{failure.reason!r}; what was answered is kept in {cache.path}: run the same "
                "again when the endpoint is well"
            )

    def _answer(self, png: bytes, key: str) -> float | list[float] | None:
        """One call, and what is read in its answer; None if no face was found."""
        headers = {"Content-Type": "image/png", "Idempotency-Key": key, **self._secrets()}
        try:
            response = self._session.post(
                self._url,
                data=png,
                headers=headers,
                timeout=self._timeout,
                allow_redirects=False,  # it would take the headers, and the faces, elsewhere
            )
            self._refuse(response)
            return self._read(response.json())
        except requests.Timeout:
            raise CallFailed(f"no answer in {self._timeout:g} s") from None
        except requests.JSONDecodeError:
            raise CallFailed("the answer is no JSON") from None
        except requests.RequestException as error:
            # Its own words hold the whole URL.
            raise CallFailed(f"no connection ({type(error).__name__})") from None

    def _secrets(self) -> dict[str, str]:
        found = {}
        for header, value in self._headers.items():
            name = value.removeprefix(FROM_ENVIRONMENT)
            if name != value and name not in os.environ:
                raise WrongEndpoint(
                    f"model.headers.{header}: the environment has no variable {name}; set it"
                )
            found[header] = value if name == value else os.environ[name]
        return found

    def _refuse(self, response: requests.Response) -> None:
        """Raise what a status stands for that is none of success."""
        status = response.status_code
        if 300 <= status < 400:
            goal = urlsplit(response.headers.get("Location", "")).hostname or "elsewhere"
            raise WrongEndpoint(
                f"{self.name} sends to {goal} (HTTP {status}); images follow no redirect, so give "
                "that address itself as model.url, if it is the right one"
            )
        if status in _NO_KEY:
            raise WrongEndpoint(
                f"{self.name} refuses the key (HTTP {status}); check model.headers and the "
                "variables of the environment that it names"
            )
        if status in _NO_PLACE:
            raise WrongEndpoint(f"{self.name} takes no images (HTTP {status}); check model.url")
        if not response.ok:
            raise CallFailed(f"HTTP {status}", response)

    def _read(self, answer: Any) -> float | list[float] | None:
        """What stands where `read` looks; messages repeat no texts of it, which may be keys."""
        found = answer
        for part in self._path.split("."):
            if found is None or found == []:
                return None
            if isinstance(found, list) and part.isdecimal() and int(part) < len(found):
                found = found[int(part)]
            elif isinstance(found, dict) and part in found:
                found = found[part]
            else:
                kind = f"the fields {', '.join(found)}" if isinstance(found, dict) else "it"
                kind = f"a list of {len(found)}" if isinstance(found, list) else kind
                raise NothingThere(
                    f"the answer has nothing at {self._path!r}: no {part!r} in {kind}"
                )
        if found is None:
            return None
        vector = self.reading.gives == "embedding"
        numbers = found if isinstance(found, list) else [found]
        finite = all(type(one) in (int, float) and math.isfinite(one) for one in numbers)
        if isinstance(found, list) != vector or not finite or len(numbers) < 1 + vector:
            wanted = "a list of finite numbers" if vector else "one finite number"
            told = found if isinstance(found, float) else f"of type {type(found).__name__}"
            raise ValueError(f"{self.name}: the answer is {told}, {wanted} was expected")
        if not vector and not -ROUNDING <= found <= 1 + ROUNDING:
            raise ValueError(
                f"{self.name}: the answer is {found:g}, a probability in [0, 1] was expected; a "
                "function of yours, of kind python, may ask and convert"
            )
        return found if vector else min(max(float(found), 0.0), 1.0)


def _seconds(retry: Retry, response: requests.Response | None) -> float:
    """How long to wait: what the endpoint asks for, or the back-off."""
    try:
        asked = None if response is None else retry.get_retry_after(response)
    except InvalidHeader:
        asked = None
    return min(retry.get_backoff_time() if asked is None else asked, LONGEST_WAIT)
