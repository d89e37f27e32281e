"""Models on the network: no image is asked about twice, and a failed call is no answer.

Calls that time out, or fail by HTTP 429, 500, 503 and the like, are tried again after the waits of
urllib3's `Retry`, or after the wait that the endpoint asks for. All tries about one image together
have a time limit, and an answer has a limit of its size. The run ends with one sentence when an
endpoint gives no answers, and when another try cannot help: at a wrong address, a refused key or a
redirect.

Keys are read from the environment when a call is made, and stand in no card, no file and no
message. Images are asked about in a random order: an endpoint that changes during an audit would
otherwise change along with the grid.
"""

import http.client
import io
import json
import os
import re
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import requests
import urllib3
from PIL import Image
from urllib3.util import Retry

from faceaudit.file.parts import FROM_ENVIRONMENT, Http
from faceaudit.models.answers import (
    NO_FACE,
    PROBABILITY_ROUNDING,
    AnswerCache,
    BlackBox,
    PendingRows,
    Progress,
    Reading,
    image_key,
)
from faceaudit.utils import seeding
from faceaudit.utils.errors import InputError

MAX_TRIES = 6
"""Calls about one image at most."""
FIRST_WAIT = 0.5
"""Seconds from which the waits between them grow."""
MAX_ANSWER_BYTES = 1_000_000
"""Length of an answer at most, after it was unpacked."""
MIN_CALLS_TO_STOP = 40
"""Calls after which a run may end because of failures."""
MAX_FAILURE_SHARE = 0.3
"""The run ends when a larger share of all calls fails."""
_CHUNK_BYTES = 65_536
"""Bytes of an answer that are read at a time."""
_TOO_MANY_CALLS = 429
_RETRY_STATUSES = (408, 425, _TOO_MANY_CALLS)
"""Of the statuses that blame the request, which are 400 to 499: those that another try may mend."""
_KEY_REFUSED = (401, 403, 407)
_NO_IMAGES_TAKEN = (404, 405, 410)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"(?!\s)[\t\x20-\x7e\x80-\xff]*")
"""What HTTP takes as a header: letters of Latin-1, no line breaks, no space at the start."""
_HOST = re.compile(r"[\w.:-]+")
_CALL_ERRORS = (
    requests.RequestException,
    urllib3.exceptions.HTTPError,
    http.client.HTTPException,
    OSError,
    ValueError,
)
"""What the libraries raise about a call; some of urllib3's errors come through as they are."""


class CallFailed(Exception):
    """A call without an answer; the reason is a few words of ours, without keys.

    Attributes:
        status: of HTTP; None where a call broke off, or the answer could not be read.
        after: seconds that the endpoint asks to wait for; None where it asks for none.
        in_json: whether the endpoint answered in JSON, though not what is read.
        refusal: a sentence where the answer is of another kind than what is read. It ends the run
            where the endpoint never gave an answer: then `model.read` is likely wrong.
    """

    def __init__(
        self,
        reason: str,
        status: int | None = None,
        after: float | None = None,
        in_json: bool = False,
        refusal: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.after = after
        self.in_json = in_json
        self.refusal = refusal

    @property
    def may_pass(self) -> bool:
        """Whether another try may give an answer."""
        return self.status is None or self.status in _RETRY_STATUSES or not 400 <= self.status < 500


class EndpointSilent(ValueError):
    """An endpoint that gives no answers; the sentence says what was tried."""


@dataclass(frozen=True)
class Reply:
    """The reply to a call.

    Attributes:
        status: of HTTP.
        headers: of the reply.
        content: the body, unpacked; empty where the status is no success.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes


class _Session(requests.Session):
    """A session without redirects, of which requests would read the whole body."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Say that there is no redirect, whatever the reply has."""


class RemoteModel(BlackBox):
    """A model behind an address that takes a PNG by POST and answers JSON.

    Each call has the header `Idempotency-Key`, the same for all tries about an image. An endpoint
    that knows this header bills an image once, also where its first answer got lost. An empty list
    or a null on the way to the place that is read means that no face was found.

    Raises:
        InputError: the address holds a password, or headers would travel unencrypted.
    """

    def __init__(self, http: Http, reading: Reading, seed: int = 0) -> None:
        parts = urlsplit(http.url)
        address = parts._replace(query="", fragment="").geturl()  # a query may hold a key
        if "@" in parts.netloc:
            raise InputError(
                "model.url holds a user name or password, which messages would show; put it into "
                "model.headers as env:NAME",
                field="model.url",
                expected="an address without a user name or password",
            )
        is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if http.headers and parts.scheme == "http" and not is_local:
            raise InputError(
                f"model.url {address}: headers would travel unencrypted; use https",
                field="model.url",
                found=address,
                expected="an address that begins with https",
            )
        description = {
            "kind": "remote",
            "url": address,
            "version": http.version,
            "read": http.read,
        }
        super().__init__(address, description, reading)
        self._http = http
        self._seed = seed
        self._session = self._new_session()
        # Version that the endpoint says it has; None until the first reply of a run.
        self._version: str | None = None
        self._next_call_at = 0.0  # of `time.monotonic`
        # Of the calls about images that no earlier run failed at.
        self._called = 0
        self._failed = 0
        self._has_answered = False
        # Since the last answer.
        self._tries_in_silence = 0
        self._seconds_in_silence = 0.0

    @staticmethod
    def _new_session() -> requests.Session:
        session = _Session()
        # Without an `auth`, a session sends what ~/.netrc holds for the host. This one adds
        # nothing, and the environment's proxies go on working, which `trust_env` would turn off.
        session.auth = lambda request: request
        return session

    def identify(self, images: np.ndarray) -> None:
        """Ask about one image once a run, and learn the version from the reply.

        It joins the description of the model, so that no answer of another version is used.

        Args:
            images: whole images (n, 3, height, width).

        Raises:
            EndpointSilent: the endpoint gives no answer.
            InputError: the reply has no version at the place that the audit file names.
        """
        if self._version is not None or not self._place_of_version:
            return
        png = _encode_png(images[0])
        key = image_key(images[0])
        retry = Retry(MAX_TRIES - 1, backoff_factor=FIRST_WAIT, backoff_jitter=FIRST_WAIT)
        # A reply without an answer has a version all the same.
        while self._version is None:
            try:
                self._call(png, key, self._http.timeout)
            except CallFailed as failure:
                if self._version is None and not (failure.may_pass and retry.total):
                    raise EndpointSilent(
                        f"{self.name}: no answer when it was asked for its version "
                        f"({failure}); run the same again when the endpoint is well"
                    ) from None
                retry = retry.increment(error=failure)
                time.sleep(retry.get_backoff_time() if failure.after is None else failure.after)
        self.description = self.description | {"version_of_endpoint": self._version}

    @property
    def _place_of_version(self) -> str:
        """The key of the audit file that says where replies have the version; "" if none does."""
        if self._http.version_header is not None:
            return "model.version_header"
        return "" if self._http.version_read is None else "model.version_read"

    def _check_version(self, reply: Reply, content: Any) -> None:
        """Take the version of a run's first reply, and refuse another one afterwards.

        Args:
            reply: a success.
            content: of its JSON.

        Raises:
            InputError: there is no version, or another one than before.
        """
        place = self._place_of_version
        if not place:
            return
        if self._http.version_header is not None:
            where = f"the header {self._http.version_header}"
            found = reply.headers.get(self._http.version_header)
        else:
            where = str(self._http.version_read)
            found = _value_at(content, where)
        if not isinstance(found, str | int | float) or found == "":
            raise InputError(
                f"{self.name}: the reply has no version at {where}, which {place} names",
                field=place,
                found=where,
                expected="a version",
            )
        version = str(found)
        if self._version not in (None, version):
            raise InputError(
                f"{self.name}: the version was {self._version!r} when the run began, and is "
                f"{version!r} now; run the same again to ask the new version about every image",
                field=place,
                found=version,
                expected=self._version,
            )
        self._version = version

    def fill_cache(
        self, cache: AnswerCache, images: np.ndarray, pending: PendingRows, progress: Progress
    ) -> None:
        """Put answers into a cache, each before the next image is asked about.

        Images about which all calls of an earlier run failed come last. Where the model answered
        about others, earlier or in this run, such an image may be what the endpoint cannot take:
        these images end no run, and keep their failed calls when they fail again.
        """
        keys = list(pending)
        order = seeding.rng(self._seed, "order of calls").permutation(len(keys))
        shuffled = [keys[place] for place in order]
        failed_before = [key for key in shuffled if cache.has_failed(key)]
        not_failed = [key for key in shuffled if not cache.has_failed(key)]
        for key in not_failed:
            self._ask_about(_encode_png(images[pending[key]]), key, cache)
            progress(1)
        for place, key in enumerate(failed_before):
            png = _encode_png(images[pending[key]])
            # Asked before every image: the first answer of all may come in this loop.
            has_answers = cache.has_answers()
            try:
                self._ask_about(png, key, cache, again=has_answers)
            except EndpointSilent:
                if not has_answers:
                    raise
                progress(len(failed_before) - place)
                return
            progress(1)

    def _ask_about(self, png: bytes, key: str, cache: AnswerCache, again: bool = False) -> None:
        """Ask about one image until there is an answer or its time is up, and keep each outcome.

        Args:
            png: file of the image.
            key: of the image, see `image_key`.
            cache: which takes every call.
            again: whether an earlier run failed at this image, while others were answered. Then
                another failure does not count against the endpoint.

        Raises:
            EndpointSilent: the endpoint gives no answers, or asks for too long a wait.
            InputError: another try cannot help, or the calls of `max_calls` are used up.
        """
        retry = Retry(MAX_TRIES - 1, backoff_factor=FIRST_WAIT, backoff_jitter=FIRST_WAIT)
        seconds_left = self._http.total_time
        while True:
            self._wait_for_turn(cache)
            if not again:
                self._called += 1
            start = time.monotonic()
            failure = self._try_once(png, key, cache, min(self._http.timeout, seconds_left))
            if failure is None:
                return
            if failure.refusal and not cache.has_answers():
                raise InputError(failure.refusal, field="model.read", found=self._http.read)
            seconds_left -= time.monotonic() - start
            self._tries_in_silence += 1
            if not again:
                self._stop_if_calls_fail(failure, cache)
            if not failure.may_pass:
                return
            if failure.after is not None and failure.after >= seconds_left:
                raise self._too_long_a_wait(failure, seconds_left, cache)
            if not retry.total:
                break
            retry = retry.increment(error=failure)
            wait = retry.get_backoff_time() if failure.after is None else failure.after
            if wait >= seconds_left:
                break
            time.sleep(wait)
            seconds_left -= wait
        if not failure.in_json:
            self._seconds_in_silence += self._http.total_time - seconds_left
            self._stop_if_silent(failure, cache, again)

    def _try_once(
        self, png: bytes, key: str, cache: AnswerCache, seconds: float
    ) -> CallFailed | None:
        """Make one call and keep its outcome; the failure, or None where there is an answer."""
        try:
            answer = self._call(png, key, seconds)
        except CallFailed as failure:
            cache.add([key], [None], [str(failure)])
            return failure
        cache.add([key], [answer], [NO_FACE if answer is None else ""])
        self._has_answered = True
        self._tries_in_silence = 0
        self._seconds_in_silence = 0.0
        return None

    def _wait_for_turn(self, cache: AnswerCache) -> None:
        """Wait as `per_second` asks; InputError when all calls of `max_calls` were made."""
        if cache.calls >= self._http.max_calls:
            raise InputError(
                f"{self.name}: the budget of {self._http.max_calls:,} calls is used up, and images "
                f"are left without an answer; what was answered is kept in {cache.path}: raise "
                "model.max_calls and run the same again",
                field="model.max_calls",
                found=self._http.max_calls,
                expected=f"more than {cache.calls} calls",
            )
        now = time.monotonic()
        time.sleep(max(self._next_call_at - now, 0))
        self._next_call_at = max(self._next_call_at, now) + 1 / self._http.per_second

    def _stop_if_calls_fail(self, failure: CallFailed, cache: AnswerCache) -> None:
        """Count a failed call, and raise InputError where too many of all calls failed."""
        if failure.status != _TOO_MANY_CALLS:  # which is no fault of the endpoint
            self._failed += 1
        if self._called < MIN_CALLS_TO_STOP or self._failed <= MAX_FAILURE_SHARE * self._called:
            return
        raise InputError(
            f"{self.name}: {self._failed} of {self._called} calls failed, the last one by "
            f"“{failure}”; what was answered is kept in {cache.path}: run the same again when the "
            "endpoint is well",
            field="model.url",
            found=f"{self._failed} of {self._called} calls failed",
            expected=f"at most {MAX_FAILURE_SHARE:.0%} of all calls",
        )

    def _stop_if_silent(self, failure: CallFailed, cache: AnswerCache, again: bool) -> None:
        """End the run when the first image got no answer, or no image for the time of one."""
        is_first = not (self._has_answered or again)
        if is_first or self._seconds_in_silence >= self._http.total_time:
            raise EndpointSilent(
                f"{self.name}: no answer in {self._count_tries()} and "
                f"{self._seconds_in_silence:.1f} s, the last one failed by “{failure}”; what was "
                f"answered is kept in {cache.path}: run the same again when the endpoint is well"
            )

    def _too_long_a_wait(
        self, failure: CallFailed, seconds_left: float, cache: AnswerCache
    ) -> EndpointSilent:
        return EndpointSilent(
            f"{self.name}: HTTP {failure.status} after {self._count_tries()}, and its Retry-After "
            f"asks for a wait longer than the {max(seconds_left, 0):.1f} s that are left of "
            f"model.total_time; what was answered is kept in {cache.path}: run the same again "
            "later, or set model.total_time higher or model.per_second lower"
        )

    def _count_tries(self) -> str:
        """The tries since the last answer in words."""
        return "1 try" if self._tries_in_silence == 1 else f"{self._tries_in_silence} tries"

    def _call(self, png: bytes, key: str, seconds: float) -> float | list[float] | None:
        """Make one call, and read its answer; None if no face was found."""
        headers = {"Content-Type": "image/png", "Idempotency-Key": key, **self._secret_headers()}
        outcome = self._outcome_in_time(png, headers, seconds)
        if isinstance(outcome, Exception):
            raise outcome
        self._require_success(outcome)
        content = _parse_json(outcome)
        self._check_version(outcome, content)
        return self._read(content)

    def _outcome_in_time(
        self, png: bytes, headers: dict[str, str], seconds: float
    ) -> Reply | CallFailed | InputError:
        """Call, and return the reply if all of it comes within so many seconds, or what failed.

        The time limits of sockets start anew with each byte that comes, and looking up a host has
        none. So another thread makes the call. When it is late, it is left to itself with its
        session, and ends when the endpoint does.
        """
        session = self._session
        future: Future[Reply | CallFailed | InputError] = Future()

        def call() -> None:
            try:
                future.set_result(self._outcome_of_call(session, png, headers, seconds))
            except Exception as error:
                future.set_exception(error)
            if session is not self._session:
                session.close()

        threading.Thread(target=call, name=f"call of {self.name}", daemon=True).start()
        try:
            return future.result(timeout=seconds)
        except TimeoutError:
            self._session = self._new_session()
            return _no_answer_in(seconds)

    def _outcome_of_call(
        self, session: requests.Session, png: bytes, headers: dict[str, str], seconds: float
    ) -> Reply | CallFailed | InputError:
        """The reply, or what failed in words of ours.

        A failure is returned, not raised: an error that is kept would keep the libraries' frames,
        and the connection in them.
        """
        try:
            return _post_image(session, self._http.url, png, headers, seconds)
        except CallFailed as failure:
            return CallFailed(str(failure))
        except (requests.Timeout, TimeoutError):
            return _no_answer_in(seconds)
        except requests.exceptions.InvalidURL:
            # Its own words, as those of the others, hold the whole URL.
            return InputError(
                f"model.url {self.name} is no address that can be called",
                field="model.url",
                found=self.name,
                expected="an address that can be called",
            )
        except requests.exceptions.ContentDecodingError:
            return CallFailed("the answer cannot be unpacked")
        except requests.exceptions.ChunkedEncodingError:
            return CallFailed("the answer broke off")
        except _CALL_ERRORS as error:
            return CallFailed(f"no connection ({type(error).__name__})")

    def _secret_headers(self) -> dict[str, str]:
        """The file's headers with the values of the environment; no message shows a value.

        Raises:
            InputError: a variable is not set, or HTTP takes no such header.
        """
        headers = {}
        for header, value in self._http.headers.items():
            source = "its value"
            if value.startswith(FROM_ENVIRONMENT):
                variable = value.removeprefix(FROM_ENVIRONMENT)
                source = f"the value of the environment's variable {variable}"
                value = os.environ.get(variable)
                if value is None:
                    raise InputError(
                        f"model.headers.{header}: the environment has no variable {variable}; "
                        "set it",
                        field=f"model.headers.{header}",
                        found=f"{FROM_ENVIRONMENT}{variable}",
                        expected="a variable of the environment that is set",
                    )
            if not _HEADER_NAME.fullmatch(header):
                raise InputError(
                    f"model.headers: {header!r} is no name of a header",
                    field="model.headers",
                    found=header,
                    expected="a name of a header",
                )
            if not _HEADER_VALUE.fullmatch(value):
                raise InputError(
                    f"model.headers.{header}: {source} is none of a header, for example because of "
                    "a line break at its end; one line of Latin letters without a space at its "
                    "start was expected",
                    field=f"model.headers.{header}",
                    expected="one line of Latin letters without a space at its start",
                )
            headers[header] = value
        return headers

    def _require_success(self, reply: Reply) -> None:
        """Raise for every status that is not a success.

        Raises:
            CallFailed: another call may succeed, or concerns another image.
            InputError: a redirect, a refused key or an address without a model, which end the run.
        """
        status = reply.status
        if 300 <= status < 400:
            host = _printable_host(reply.headers.get("Location", ""))
            raise InputError(
                f"{self.name} sends to {host} (HTTP {status}); images follow no redirect, so give "
                "that address itself as model.url, if it is the right one",
                field="model.url",
                found=self.name,
                expected="an address without a redirect",
            )
        if status in _KEY_REFUSED:
            raise InputError(
                f"{self.name} refuses the key (HTTP {status}); check model.headers",
                field="model.headers",
                expected="a key that the endpoint accepts",
            )
        if status in _NO_IMAGES_TAKEN:
            raise InputError(
                f"{self.name} takes no images (HTTP {status}); check model.url",
                field="model.url",
                found=self.name,
                expected="an address that takes images",
            )
        if not 200 <= status < 300:
            after = _seconds_to_wait(reply.headers.get("Retry-After"))
            raise CallFailed(f"HTTP {status}", status, after)

    def _read(self, content: Any) -> float | list[float] | None:
        """The answer at the place that `model.read` names in JSON; None if no face was found.

        Messages repeat nothing of the answer but numbers.
        """
        for part in self._http.read.split("."):
            if content is None or content == []:
                return None
            try:
                content = content[int(part) if isinstance(content, list) else part]
            except (LookupError, TypeError, ValueError):
                reason = f"nothing stands at {part!r} of model.read"
                raise CallFailed(reason, in_json=True) from None
        return None if content is None else self._read_numbers(content)

    def _read_numbers(self, content: Any) -> float | list[float]:
        """The probability, or the vector of a face, that stands at `model.read`.

        Raises:
            CallFailed: no such number stands there.
        """
        place = self._http.read
        try:
            numbers = np.asarray(content, np.float64).ravel()
        except (TypeError, ValueError):
            raise self._unfit("no number stands at model.read, a number was expected") from None
        if not np.isfinite(numbers).all():
            raise CallFailed("the answer is no finite number", in_json=True)
        if self.reading.gives == "probability" and numbers.size > 1:
            raise self._unfit(
                f"{numbers.size} numbers stand at model.read; the place of one of them was "
                f"expected, such as `read: {place}.1`"
            )
        if self.reading.gives == "probability" and numbers.size == 1:
            (score,) = numbers
            if not -PROBABILITY_ROUNDING <= score <= 1 + PROBABILITY_ROUNDING:
                expected = "a probability from 0 to 1 was expected"
                reason = f"the answer is outside the range, {expected}"
                raise self._unfit(reason, f"the answer is {score:.4g}, {expected}")
        try:
            return self.reading([content], 1, self.name)[0].tolist()
        except ValueError as error:
            reason = str(error).removeprefix(f"{self.name}: ")
            raise self._unfit(reason) from None

    def _unfit(self, reason: str, sentence: str | None = None) -> CallFailed:
        """A failed call whose answer is of another kind than the one that is read.

        Args:
            reason: kept with the image; reasons are counted, so equal faults have equal ones.
            sentence: for the message that ends a run, by default the reason.
        """
        refusal = f"{self.name}: {sentence or reason}"
        return CallFailed(reason, in_json=True, refusal=refusal)


def _no_answer_in(seconds: float) -> CallFailed:
    return CallFailed(f"no answer in {seconds:.3g} s")


def _value_at(content: Any, place: str) -> Any:
    """What stands at a place in JSON, such as "model.version"; None where nothing does."""
    for part in place.split("."):
        try:
            content = content[int(part) if isinstance(content, list) else part]
        except (LookupError, TypeError, ValueError):
            return None
    return content


def _encode_png(image: np.ndarray) -> bytes:
    """The file of an image, uint8 (3, height, width)."""
    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0))).save(stream, "PNG")
    return stream.getvalue()


def _post_image(
    session: requests.Session, url: str, png: bytes, headers: dict[str, str], seconds: float
) -> Reply:
    """Send an image; `CallFailed` where the answer is longer than `MAX_ANSWER_BYTES`."""
    with session.post(
        url,
        data=png,
        headers=headers,
        timeout=seconds,
        allow_redirects=False,  # which would take the headers, and the faces, elsewhere
        stream=True,
    ) as response:
        content = bytearray()
        if 200 <= response.status_code < 300:
            for part in response.iter_content(_CHUNK_BYTES):
                content += part
                if len(content) > MAX_ANSWER_BYTES:
                    raise CallFailed(f"an answer of more than {MAX_ANSWER_BYTES:,} bytes")
        return Reply(response.status_code, response.headers, bytes(content))


def _parse_json(reply: Reply) -> Any:
    """The JSON of a reply; whole numbers become floats, whose number of digits has no limit."""
    if not reply.content.strip():
        raise CallFailed(f"an empty answer (HTTP {reply.status})")
    try:
        try:
            return json.loads(reply.content, parse_int=float)
        except UnicodeDecodeError:  # numbers, which alone are read, are the same in Latin-1
            return json.loads(reply.content.decode("latin-1"), parse_int=float)
    except RecursionError:
        raise CallFailed("the answer is nested too deep") from None
    except ValueError:
        raise CallFailed("the answer is no JSON") from None


def _seconds_to_wait(retry_after: str | None) -> float | None:
    """Seconds that a header Retry-After asks for; None where it cannot be read."""
    if retry_after is None:
        return None
    try:
        return Retry().parse_retry_after(retry_after)
    except (urllib3.exceptions.HTTPError, ValueError, OverflowError, TypeError, LookupError):
        return None


def _printable_host(address: str) -> str:
    """The host of an address that an endpoint sent, "elsewhere" where there is none to show."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        host = ""
    return host if _HOST.fullmatch(host) else "elsewhere"
