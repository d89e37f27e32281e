"""The real Label Studio, started for the tests and ended with them, and people who use it.

`make crowd-test` installs it into build/label-studio; without CROWD=1 nothing of it is started.
"""

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import APIRequestContext, APIResponse, Playwright, sync_playwright

PROGRAM = Path(__file__).parents[2] / "build" / "label-studio" / "bin" / "label-studio"
PATIENCE = 600
"""Seconds until the server answers: it first makes its database, a minute on two free cores."""

# The shell ends the server when its own input ends, which also happens when pytest is killed.
KEEPER = 'exec 3<&0; "$@" & server=$!; (cat <&3; kill -9 $server) >/dev/null 2>&1 & wait $server'


@contextmanager
def kept(command: list[str], **options: Any) -> Iterator[subprocess.Popen]:
    """A process that ends with this one, however this one ends."""
    process = subprocess.Popen(
        ["sh", "-c", KEEPER, "keeper", *command], stdin=subprocess.PIPE, **options
    )
    try:
        yield process
    finally:
        process.stdin.close()
        process.wait()


@dataclass(frozen=True)
class Person:
    """Somebody who asks the server; a browser is logged in as this person by the cookies."""

    requests: APIRequestContext
    number: int = 0
    cookies: Any = None

    def ask(self, method: str, path: str, **content: Any) -> APIResponse:
        """What the server says; a refusal is an error that quotes it."""
        answer = self.requests.fetch(path, method=method, timeout=120_000, **content)
        if not answer.ok:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.text()[:500]}")
        return answer

    def get(self, path: str) -> Any:
        return self.ask("GET", path).json()

    def post(self, path: str, data: Any = None) -> Any:
        return self.ask("POST", path, data=data).json()

    def patch(self, path: str, data: Any) -> Any:
        return self.ask("PATCH", path, data=data).json()


@dataclass(frozen=True)
class Server:
    """A running Label Studio.

    Attributes:
        address: of the server, without a slash at the end.
        files: folder whose subfolders it may show images from.
        owner: who may do everything.
        playwright: of which there can be only one.
    """

    address: str
    files: Path
    owner: Person
    playwright: Playwright

    def sign_up(self, name: str) -> Person:
        """A new account, made by the link that invites people, as a browser would."""
        visitor = Person(self.playwright.request.new_context(base_url=self.address))
        invitation = self.owner.get("/api/invite")["invite_url"]
        visitor.ask("GET", invitation)
        cookies = visitor.requests.storage_state()["cookies"]
        form = {
            "email": f"{name}@example.org",
            "password": secrets.token_hex(8),
            "allow_newsletters": "false",
            "csrfmiddlewaretoken": next(c["value"] for c in cookies if c["name"] == "csrftoken"),
        }
        visitor.ask("POST", invitation, form=form, headers={"Referer": self.address + invitation})
        number = visitor.get("/api/current-user/whoami")["id"]
        token = visitor.get("/api/current-user/token")["token"]
        requests = with_token(self.playwright, self.address, token)
        return Person(requests, number, visitor.requests.storage_state())


def with_token(playwright: Playwright, address: str, token: str) -> APIRequestContext:
    """Requests as a program makes them: those of a browser each want a CSRF token of their own."""
    headers = {"Authorization": f"Token {token}"}
    return playwright.request.new_context(base_url=address, extra_http_headers=headers)


def free_port() -> int:
    """A port of this machine that nobody listens to."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def started(folder: Path, port: int, token: str) -> tuple[list[str], dict[str, str]]:
    """The command that starts a server, and its environment."""
    files = folder / "files"
    environment = {
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder / "data"),
        "LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED": "true",
        "LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT": str(files),
        "DJANGO_DB": "sqlite",
        # It asks nobody outside of this machine.
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
    }
    where = ["--host", f"http://127.0.0.1:{port}", "--internal-host", "127.0.0.1"]
    owner = ["--username", "owner@example.org", "--password", secrets.token_hex(8)]
    access = ["--user-token", token, "--enable-legacy-api-token"]
    command = [str(PROGRAM), "start", "--no-browser", *where, "--port", str(port), *owner, *access]
    return command, os.environ | environment


def wait_until_healthy(person: Person, process: subprocess.Popen, log: Path) -> None:
    """Wait for the server; if it ends or takes too long, an error that quotes its log."""
    patience = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < patience:
        try:
            person.get("/health")
            return
        except Exception:  # playwright's own error says no more than that nobody listens
            time.sleep(1)
    said = log.read_text(encoding="utf-8", errors="replace")
    raise RuntimeError(f"Label Studio did not start in {PATIENCE} s; it said: {said[-2_000:]}")


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[Server]:
    if os.environ.get("CROWD") != "1":
        pytest.skip("CROWD=1 is not set: `make crowd-test` starts the real Label Studio")
    assert PROGRAM.exists(), "Label Studio is not installed: `make crowd-test` installs it"
    folder = tmp_path_factory.mktemp("label-studio")
    (folder / "files").mkdir()
    port, token = free_port(), secrets.token_hex(20)
    command, environment = started(folder, port, token)
    log = folder / "server.log"
    with sync_playwright() as playwright, log.open("wb") as said:
        address = f"http://127.0.0.1:{port}"
        with kept(command, env=environment, cwd=folder, stdout=said, stderr=said) as process:
            owner = Person(with_token(playwright, address, token))
            wait_until_healthy(owner, process, log)
            yield Server(address, folder / "files", owner, playwright)
