"""One call of a model on the network: an image out, an answer in, or why there is none.

What may be tried again (a timeout, HTTP 429, 500, 503 …) is a `CallFailed`; what nobody can mend by
waiting (a wrong address, a refused key, a redirect) is a ValueError and ends the run. Keys are read
from the environment when a call is made, and stand in no card, no file and no message. Chapter 20.
"""

from __future__ import annotations

import ipaddress
import json
import math
import os
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import requests

from helpers.utils.checks import check_positive

FROM_ENVIRONMENT = "env:"
_BUSY, _TRY_AGAIN = 429, (408, 425, 500, 502, 503, 504)
MOST_BYTES = 4 * 2**20
"""Of an answer, unpacked; a vector of a thousand numbers takes 20 thousand."""
_PIECE = 4096
_NO_KEY, _NO_PLACE = (401, 403, 407), (404, 405, 410)


class CallFailed(Exception):
    """A call without an answer, for a reason that concerns this call.

    Raise it in an `ask` of your own.

    Args:
        reason: a few words for the table of calls, without keys.
        again: whether the same call may succeed later.
        wait: seconds that the endpoint asks for; None: as the back-off has it.
        busy: whether the endpoint only asked for patience, which is no fault.

    Example:
        >>> from faceaudit import black_box
        >>> black_box.CallFailed("HTTP 503").again
        True
    """

    def __init__(
        self, reason: str, *, again: bool = True, wait: float | None = None, busy: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason, self.again, self.wait, self.busy = reason, again, wait, busy


class WrongEndpoint(ValueError):
    """Something about an endpoint that no waiting mends; it ends the run."""


class Endpoint:
    """An address that takes a PNG by POST and answers JSON.

    It is also sent the header `Idempotency-Key`, so that an endpoint that knows it bills a call
    once that was repeated because its answer got lost.

    Args:
        url: https, or http on this machine or without headers.
        headers: name → value; "env:NAME" takes the value from the environment at every call.
        timeout: seconds that a call may take, from the connection to the answer's last byte.

    Attributes:
        address: the URL without what may be secret in it.

    Raises:
        ValueError: no such address, or headers that would travel unencrypted.

    Example:
        >>> from faceaudit import black_box
        >>> black_box.Endpoint("https://example.org/gender?key=secret").address
        'https://example.org/gender'
    """

    def __init__(
        self, url: str, headers: Mapping[str, str] | None = None, timeout: float = 30.0
    ) -> None:
        parts = urlsplit(url)
        self.address = urlunsplit(parts._replace(query="", fragment=""))
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"model.url is {self.address!r}, https://host/path was expected")
        if "@" in parts.netloc:
            raise ValueError(
                "model.url holds a user name or password, which messages would show; "
                "put it into model.headers as env:NAME"
            )
        if headers and parts.scheme == "http" and not _on_this_machine(parts.hostname):
            raise ValueError(
                f"model.url {self.address}: the headers would travel unencrypted; use https"
            )
        self._url, self._headers = url, dict(headers or {})
        self._timeout = check_positive("model.timeout", timeout)
        self._session = requests.Session()
        # Without an `auth`, a session sends what ~/.netrc holds for the host. This one adds
        # nothing, and the environment's proxies go on working, which `trust_env` would turn off.
        self._session.auth = lambda request: request

    def __call__(self, png: bytes, key: str) -> Any:
        """The JSON that the endpoint answers.

        Raises:
            CallFailed: this call had no answer.
            ValueError: no call will have one.
        """
        headers = {"Content-Type": "image/png", "Idempotency-Key": key, **self._secrets()}
        # A timeout of requests begins anew with every byte. So the call has a thread of its own,
        # which is left behind when the time is over.
        call: Future[bytes] = Future()
        threading.Thread(target=self._keep, args=(call, png, headers), daemon=True).start()
        try:
            body = call.result(self._timeout)
        except (TimeoutError, requests.Timeout):
            raise CallFailed(f"no answer in {self._timeout:g} s") from None
        except requests.RequestException as error:
            # Its own words hold the whole URL.
            raise CallFailed(f"no connection ({type(error).__name__})") from None
        try:
            return json.loads(body)
        except ValueError:
            raise CallFailed("the answer is no JSON") from None

    def _keep(self, call: Future[bytes], png: bytes, headers: dict[str, str]) -> None:
        """Make a call, and keep in its future what came of it."""
        try:
            call.set_result(self._body(png, headers))
        except BaseException as error:
            call.set_exception(error)

    def _body(self, png: bytes, headers: dict[str, str]) -> bytes:
        """What is answered, no longer than it may be."""
        end, body = time.monotonic() + self._timeout, bytearray()
        with self._session.post(
            self._url,
            data=png,
            headers=headers,
            timeout=self._timeout,
            allow_redirects=False,  # it would take the headers, and the faces, to another place
            stream=True,
        ) as response:
            self._refuse(response)
            for piece in response.iter_content(_PIECE):
                body += piece
                if len(body) > MOST_BYTES:
                    raise CallFailed(f"an answer of more than {MOST_BYTES:,} bytes", again=False)
                if time.monotonic() > end:
                    raise requests.Timeout
        return bytes(body)

    def _secrets(self) -> dict[str, str]:
        found = {}
        for header, value in self._headers.items():
            name = value.removeprefix(FROM_ENVIRONMENT)
            if value.startswith(FROM_ENVIRONMENT) and name not in os.environ:
                raise WrongEndpoint(
                    f"model.headers.{header}: the environment has no variable {name}; set it"
                )
            found[header] = os.environ[name] if value.startswith(FROM_ENVIRONMENT) else value
        return found

    def _refuse(self, response: requests.Response) -> None:
        """Raise what a status stands for that is none of success."""
        status = response.status_code
        if 200 <= status < 300:
            return
        if 300 <= status < 400:
            goal = urlsplit(response.headers.get("Location", "")).hostname or "elsewhere"
            raise WrongEndpoint(
                f"{self.address} sends to {goal} (HTTP {status}); images follow no redirect, so "
                "give that address itself as model.url, if it is the right one"
            )
        if status in _NO_KEY:
            raise WrongEndpoint(
                f"{self.address} refuses the key (HTTP {status}); check model.headers and the "
                "variables of the environment that it names"
            )
        if status in _NO_PLACE:
            raise WrongEndpoint(f"{self.address} takes no images (HTTP {status}); check model.url")
        wait = waiting_time(response.headers.get("Retry-After"))
        again = status == _BUSY or status in _TRY_AGAIN
        raise CallFailed(f"HTTP {status}", again=again, wait=wait, busy=status == _BUSY)


def waiting_time(header: str | None) -> float | None:
    """Seconds that a `Retry-After` asks for, as a number or as a date (RFC 9110, 10.2.3).

    None if it asks for none, or for what is no time.
    """
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):  # no date, or one without a time zone
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _on_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
