"""Models on the network: no image is asked about twice, and a failed call is no answer.

What may be tried again (a timeout, HTTP 429, 500, 503 …) is tried again, as urllib3's `Retry` waits
and as the endpoint asks. What no waiting mends (a wrong address, a refused key, a redirect) ends
the run. Keys are read from the environment when a call is made, and stand in no card, no file and
no message. Images are asked about in a random order: an endpoint that changes during an audit would
otherwise change along with the grid.
"""

import io
import os
import time
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import requests
from PIL import Image
from urllib3.util import Retry

from faceaudit.answers import NO_FACE, AnswerCache, BlackBox, Done, Reading, Wanted
from faceaudit.parts import Http
from faceaudit.wording import fault
from helpers.utils import seeding

FROM_ENVIRONMENT = "env:"
RETRIES, FIRST_WAIT, LONGEST_WAIT = 5, 0.5, 300.0
"""Repetitions of a call that failed; seconds between them, at first and at most."""
MOST_FAILURES, ENOUGH_TO_JUDGE = 0.3, 40
"""The run ends when more than this share of so many calls fails."""
_BUSY, _TRY_AGAIN = 429, (None, 408, 425, 429, 500, 502, 503, 504)
_HOPELESS = {
    **dict.fromkeys((401, 403, 407), "refuses the key (HTTP {}); check model.headers"),
    **dict.fromkeys((404, 405, 410), "takes no images (HTTP {}); check model.url"),
}


class CallFailed(Exception):
    """A call without an answer; the reason is a few words of ours, without keys."""

    def __init__(self, reason: str, status: int | None = None, after: float | None = None) -> None:
        super().__init__(reason)
        self.status, self.after = status, after


class RemoteModel(BlackBox):
    """A model behind an address that takes a PNG by POST and answers JSON.

    The address is also sent the header `Idempotency-Key`, so that an endpoint that knows it bills a
    call once that was repeated because its answer got lost. An empty list or a null on the way to
    what is read means that no face was found.
    """

    def __init__(self, http: Http, reading: Reading, seed: int = 0) -> None:
        parts = urlsplit(http.url)
        address = parts._replace(query="", fragment="").geturl()  # a query may hold a key
        if "@" in parts.netloc:
            raise fault("key_in_url")
        here = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if http.headers and parts.scheme == "http" and not here:
            raise ValueError(f"model.url {address}: headers would travel unencrypted; use https")
        said = {"kind": "remote", "url": address, "version": http.version, "read": http.read}
        super().__init__(address, said, reading)
        self._http, self._seed, self._next_turn = http, seed, 0.0
        self._called = self._failed = 0
        self._session = requests.Session()
        # Without an `auth`, a session sends what ~/.netrc holds for the host. This one adds
        # nothing, and the environment's proxies go on working, which `trust_env` would turn off.
        self._session.auth = lambda request: request

    def fill(self, cache: AnswerCache, images: np.ndarray, wanted: Wanted, done: Done) -> None:
        """Put answers into a cache, each before the next image is asked about."""
        keys = list(wanted)
        for place in seeding.rng(self._seed, "order of calls").permutation(len(keys)):
            key, stream = keys[place], io.BytesIO()
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
                return cache.add([key], [answer], [NO_FACE if answer is None else ""])
            except CallFailed as failure:
                cache.add([key], [None], [str(failure)])
                self._stop_if_sick(failure, cache)
                if failure.status not in _TRY_AGAIN or not retry.total:
                    return
                retry = retry.increment(error=failure)
                wait = retry.get_backoff_time() if failure.after is None else failure.after
                time.sleep(min(wait, LONGEST_WAIT))

    def _wait_for_turn(self, cache: AnswerCache) -> None:
        if cache.calls >= self._http.max_calls:
            raise fault("budget_used", self.name, self._http.max_calls, cache.path)
        now = time.monotonic()
        time.sleep(max(self._next_turn - now, 0))
        self._next_turn = max(self._next_turn, now) + 1 / self._http.per_second
        self._called += 1

    def _stop_if_sick(self, failure: CallFailed, cache: AnswerCache) -> None:
        self._failed += failure.status != _BUSY  # which is no fault
        if self._called >= ENOUGH_TO_JUDGE and self._failed > MOST_FAILURES * self._called:
            raise fault("calls_failed", self.name, self._failed, self._called, failure, cache.path)

    def _answer(self, png: bytes, key: str) -> float | list[float] | None:
        """One call, and what is read in its answer; None if no face was found."""
        headers = {"Content-Type": "image/png", "Idempotency-Key": key, **self._secrets()}
        # A redirect would take the headers, and the faces, elsewhere.
        options = {"timeout": self._http.timeout, "allow_redirects": False}
        try:
            response = self._session.post(self._http.url, data=png, headers=headers, **options)
            self._refuse(response)
            return self._read(response.json())
        except requests.Timeout:
            raise CallFailed(f"no answer in {self._http.timeout:g} s") from None
        except requests.JSONDecodeError:
            raise CallFailed("the answer is no JSON") from None
        except requests.RequestException as error:
            # Its own words hold the whole URL.
            raise CallFailed(f"no connection ({type(error).__name__})") from None

    def _secrets(self) -> dict[str, str]:
        found = dict(self._http.headers)
        for header, value in found.items():
            if value.startswith(FROM_ENVIRONMENT):
                found[header] = os.environ.get(name := value.removeprefix(FROM_ENVIRONMENT))
                if found[header] is None:
                    raise fault("no_variable", header, name)
        return found

    def _refuse(self, response: requests.Response) -> None:
        """Raise what a status stands for that is none of success."""
        status = response.status_code
        if 300 <= status < 400:
            goal = urlsplit(response.headers.get("Location", "")).hostname or "elsewhere"
            raise fault("redirected", self.name, goal, status)
        if status in _HOPELESS:
            raise ValueError(f"{self.name} {_HOPELESS[status].format(status)}")
        if not response.ok:
            raise CallFailed(f"HTTP {status}", status, Retry().get_retry_after(response))

    def _read(self, found: Any) -> float | list[float] | None:
        """What stands where `read` looks; messages repeat nothing of the answer but numbers."""
        for part in self._http.read.split("."):
            if found is None or found == []:
                return None
            try:
                found = found[int(part) if isinstance(found, list) else part]
            except (LookupError, TypeError, ValueError):
                raise CallFailed(f"nothing stands at {part!r} of model.read") from None
        return None if found is None else self.reading([found], 1, self.name)[0].tolist()
