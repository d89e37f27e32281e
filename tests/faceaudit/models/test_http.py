"""A real HTTP server on the loopback: answers, faults, budget, order, and what is kept."""

import collections
import contextlib
import gc
import gzip
import json
import socket
import threading
import time

import face_endpoint
import numpy as np
import pytest
from face_endpoint import (
    FaceEndpoint,
    p_male,
    say_json,
    send,
    send_for_ever,
    send_raw,
    with_length,
)
from requests.utils import get_netrc_auth

from faceaudit.file.parts import Http
from faceaudit.models import http
from faceaudit.models.answers import NO_FACE, Reading, ask_and_keep
from faceaudit.models.http import RemoteModel
from faceaudit.utils.errors import InputError

FIELD = "faces.0.gender.p_male"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(http, "FIRST_WAIT", 1e-4)


def model(url, read=FIELD, **options):
    seed = options.pop("seed", 0)
    fields = {
        "version": "1",
        "max_calls": 10_000,
        "size": 8,
        "per_second": 1e6,
        "timeout": 5,
        **options,
    }
    return RemoteModel(Http(kind="http", url=url, read=read, **fields), Reading(), seed)


def ask_endpoint(folder, images, url, read=FIELD, **options):
    return ask_and_keep(model(url, read, **options), images, folder)


def truth(images):
    return np.array([np.nan if (p := p_male(image)) is None else p for image in images])


def faces(n, seed=1):
    images = np.random.default_rng(seed).integers(0, 256, (n, 3, 8, 8)).astype(np.uint8)
    images[0, 2, 0, 0] = 0  # no face in the first
    return images


def test_every_image_is_asked_about_once_in_spite_of_faults(tmp_path):
    images = faces(150)
    both = np.concatenate([images, images[:50]])
    with FaceEndpoint(share=0.2) as endpoint:
        np.testing.assert_array_equal(
            ask_endpoint(tmp_path, both, endpoint.url).values, truth(both)
        )
        assert len(endpoint.answered) == len(set(endpoint.answered)) == 150
        assert endpoint.calls == 150 + endpoint.faults.total()
        assert set(endpoint.faults) - {None} == set(face_endpoint.FAULTS)
        calls = endpoint.calls
        again = ask_endpoint(tmp_path, both, endpoint.url)
        np.testing.assert_array_equal(again.values, truth(both))
        assert endpoint.calls == calls
        ask_endpoint(tmp_path, images[:5], endpoint.url, version="2")
        assert len(endpoint.answered) == 155
    silent = np.isnan(truth(both))
    assert again.reasons.tolist() == ["no face found" if is_silent else "" for is_silent in silent]


def test_an_endpoint_that_fails_half_of_the_time_ends_the_run_and_the_rest_is_kept(tmp_path):
    images = faces(200)
    with FaceEndpoint(share=0.6) as endpoint:
        with pytest.raises(ValueError, match=r"of \d+ calls failed, .* is kept in .* run the same"):
            ask_endpoint(tmp_path, images, endpoint.url)
        assert 0 < len(endpoint.answered) < 200 and endpoint.calls < 100
        endpoint.share = 0
        np.testing.assert_array_equal(
            ask_endpoint(tmp_path, images, endpoint.url).values, truth(images)
        )
        assert len(endpoint.answered) == 200


def test_the_budget_counts_failed_calls_and_earlier_runs(tmp_path):
    images = faces(30)
    with FaceEndpoint(share=0.1, seed=3) as endpoint:
        for most in (20, 25):
            with pytest.raises(ValueError, match=f"budget of {most} calls .*raise model.max_calls"):
                ask_endpoint(tmp_path, images, endpoint.url, max_calls=most)
            assert endpoint.calls == most
        np.testing.assert_array_equal(
            ask_endpoint(tmp_path, images, endpoint.url).values, truth(images)
        )
        assert len(set(endpoint.answered)) == len(endpoint.answered) == 30


def test_an_error_names_the_field_and_what_was_expected(tmp_path):
    with FaceEndpoint() as endpoint, pytest.raises(InputError) as raised:
        ask_endpoint(tmp_path, faces(3), endpoint.url, max_calls=1)
    error = raised.value
    assert (error.field, error.found, error.expected) == (
        "model.max_calls",
        1,
        "more than 1 calls",
    )


def test_secrets_are_sent_and_stand_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("FACE_KEY", "very-secret")
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password netrc-secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert get_netrc_auth("http://127.0.0.1/") == ("me", "netrc-secret"), "requests would"
    good = [True]

    def say(handler, image):
        key = handler.headers["X-Api-Key"]
        answer = {"faces": [{"gender": {"p_male": p_male(image)}}], "you_sent": key}
        # An apology whose fields are the headers.
        send(handler, json.dumps(answer if good[0] else {key: key, "faces": key}).encode())

    with FaceEndpoint(say=say) as endpoint:
        headers = {"X-Api-Key": "env:FACE_KEY", "X-Plain": "also-secret"}
        remote, gone = (model(f"{endpoint.url}?token=third-secret", headers=headers) for _ in "12")
        answers = ask_and_keep(remote, faces(12), tmp_path / "a")
        np.testing.assert_array_equal(answers.values, truth(faces(12)))
        sent = endpoint.headers[0]
        assert (sent["X-Api-Key"], sent["X-Plain"]) == ("very-secret", "also-secret")
        assert "Authorization" not in sent
        assert len({sent_headers["Idempotency-Key"] for sent_headers in endpoint.headers}) == 12
        good[0] = False
        answers = ask_and_keep(remote, faces(3, seed=2), tmp_path / "a")
        assert set(answers.reasons) == {"nothing stands at '0' of model.read"}
    with pytest.raises(ValueError, match="no answer in 6 tries") as error:  # the server is gone
        ask_and_keep(gone, faces(60, seed=2), tmp_path / "a")
    assert "no connection" in str(error.value)
    database = (tmp_path / "a" / "answers.sqlite").read_bytes()
    assert (
        b"-secret" not in database + json.dumps(remote.card()).encode() + str(error.value).encode()
    )
    monkeypatch.delenv("FACE_KEY")
    with pytest.raises(ValueError, match="X-Api-Key: the environment has no variable FACE_KEY"):
        ask_and_keep(remote, faces(4, seed=5), tmp_path / "a")


ENDED = [
    (say_json({"p": 87.3}), "p", 1, "the answer is 87.3, a probability from 0 to 1 was expected"),
    (say_json({"p": [0.2, 0.8]}), "p", 1, r"2 numbers stand at model.read; .* `read: p\.1`"),
    (say_json({"p": "secret"}), "p", 1, "no number stands at model.read"),
    (say_json({"p": "secret"}), "p.r", 40, "40 of 40 calls failed.*nothing stands at 'r' of model"),
    (say_json({}, 401), "p", 1, "refuses the key .HTTP 401.; check model.headers"),
    (say_json({}, 404), "p", 1, "takes no images .HTTP 404.; check model.url"),
    (say_json({}, 302, {"Location": "https://x.example/x?key=1"}), "p", 1, "sends to x.example"),
]


@pytest.mark.parametrize(("say", "read", "calls", "message"), ENDED)
def test_what_no_waiting_mends_ends_the_run(tmp_path, say, read, calls, message):
    with FaceEndpoint(say=say) as endpoint:
        with pytest.raises(ValueError, match=message) as raised:
            ask_endpoint(tmp_path, faces(9), endpoint.url, read)
        assert endpoint.calls == calls and "secret" not in str(raised.value)


# --- endpoints that give no answers

TOTAL = 1.0
"""Seconds for one image, in these tests."""
START = b"HTTP/1.1 200 OK\r\n"
BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n"
BOMB = gzip.compress(bytes(20_000_000))
ONE_TRY = rf"no answer in 1 try and 1\.\d s.*no answer in {TOTAL:g} s"
NO_NUMBER = "calls failed.*the answer is no finite number"
SIX_TRIES = "no answer in 6 tries and "
# Each of these tries takes long, and a busy machine has no time for the sixth.
UP_TO_SIX_TRIES = "no answer in [2-6] tries and "
SILENT = {
    "headers drip": (send_for_ever(START + b"X-Slow: ", b"a", 0.02), ONE_TRY),
    "headers drip line by line": (send_for_ever(START, b"X-Slow: a\r\n", 0.05), ONE_TRY),
    "body drips": (send_for_ever(with_length(b"", length=9999), b" ", 0.02), ONE_TRY),
    "chunks drip": (
        send_for_ever(START + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", 0.02),
        ONE_TRY,
    ),
    "trailers drip": (
        send_for_ever(START + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n", 0.02),
        ONE_TRY,
    ),
    "says nothing": (lambda handler, _: handler.server.ended.wait(), ONE_TRY),
    "goes on to say continue": (
        send_for_ever(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.001),
        ONE_TRY,
    ),
    "headers without end": (send_for_ever(START, b"X: y\r\n"), SIX_TRIES),
    "a header without end": (send_for_ever(START + b"X: ", b"y" * 10_000), SIX_TRIES),
    "a body without end": (
        send_for_ever(START + b"\r\n", b" " * 100_000),
        UP_TO_SIX_TRIES + ".*more than 1,000,000 bytes",
    ),
    "chunks without end": (
        send_for_ever(
            START + b"Transfer-Encoding: chunked\r\n\r\n", b"186a0\r\n" + b" " * 100_000 + b"\r\n"
        ),
        UP_TO_SIX_TRIES + ".*more than 1,000,000 bytes",
    ),
    "bomb": (
        send_raw(with_length(BOMB, "Content-Encoding: gzip")),
        UP_TO_SIX_TRIES + ".*more than 1,000,000 bytes",
    ),
    "no gzip": (
        send_raw(with_length(b"{}", "Content-Encoding: gzip")),
        SIX_TRIES + ".*cannot be unpacked",
    ),
    "half of a gzip": (
        send_raw(with_length(gzip.compress(b'{"p": 0.5}')[:15], "Content-Encoding: gzip")),
        SIX_TRIES + ".*the answer",
    ),
    "closes at once": (send_raw(b""), SIX_TRIES + ".*no connection"),
    "no HTTP": (send_raw(b"SSH-2.0-OpenSSH_9.2\r\n"), SIX_TRIES + ".*no connection"),
    "too great a length": (send_raw(with_length(b"{}", length=99)), SIX_TRIES + ".*broke off"),
    "too small a length": (send_raw(with_length(b'{"p": 0.5}', length=4)), SIX_TRIES + ".*no JSON"),
    "two lengths": (
        send_raw(with_length(b"{}", "Content-Length: 7")),
        SIX_TRIES + ".*no connection",
    ),
    "no content": (say_json({}, 204), SIX_TRIES + ".*an empty answer .HTTP 204."),
    "an empty body": (send_raw(with_length(b"")), SIX_TRIES + ".*an empty answer .HTTP 200."),
    "another protocol": (
        send_raw(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"),
        SIX_TRIES + ".*HTTP 101",
    ),
    "no JSON": (send_raw(with_length(b"<html>sorry</html>")), SIX_TRIES + ".*no JSON"),
    "nested": (send_raw(with_length(b"[" * 500_000)), SIX_TRIES + ".*nested too deep"),
    "busy": (send_raw(BUSY + b"\r\n"), SIX_TRIES + ".*HTTP 503"),
    "busy, a wait of nan": (send_raw(BUSY + b"Retry-After: nan\r\n\r\n"), SIX_TRIES),
    "busy, a negative wait": (send_raw(BUSY + b"Retry-After: -5\r\n\r\n"), SIX_TRIES),
    "busy, a wait of many digits": (
        send_raw(BUSY + b"Retry-After: " + b"9" * 5000 + b"\r\n\r\n"),
        SIX_TRIES,
    ),
    "busy until the past": (
        send_raw(BUSY + b"Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n\r\n"),
        SIX_TRIES,
    ),
    "busy until the year 9999": (
        send_raw(BUSY + b"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n\r\n"),
        r"HTTP 503 after 1 try, .* longer than the [01]\.\d s",
    ),
    "busy for a year": (
        send_raw(BUSY + b"Retry-After: 31536000\r\n\r\n"),
        "HTTP 503 after 1 try, .* model.total_time",
    ),
    "too many calls for a year": (
        say_json({}, 429, {"Retry-After": "31536000"}),
        "HTTP 429 after 1 try, .* model.per_second lower",
    ),
    "not a number": (send_raw(with_length(b'{"p": NaN}')), NO_NUMBER),
    "infinity": (send_raw(with_length(b'{"p": -Infinity}')), NO_NUMBER),
    "too large a number": (send_raw(with_length(b'{"p": 1e999}')), NO_NUMBER),
    "a number of many digits": (
        send_raw(with_length(b'{"p": ' + b"1" * 5000 + b"}")),
        NO_NUMBER,
    ),
    "a nested answer": (
        send_raw(with_length(b'{"p": ' + b"[" * 200 + b"]" * 200 + b"}")),
        "calls failed.*no number stands at model.read",
    ),
    "a redirect without end": (
        send_for_ever(b"HTTP/1.1 302 Found\r\nLocation: /loop\r\n\r\n", b" " * 100_000),
        "sends to elsewhere",
    ),
    "a redirect to no address": (
        send_raw(b"HTTP/1.1 302 Found\r\nLocation: http://[\x1b[31m\r\n\r\n"),
        "sends to elsewhere",
    ),
}


def say_p(handler, image):
    """An endpoint's `say` that is well."""
    send(handler, json.dumps({"p": p_male(image)}).encode())


@pytest.fixture
def no_call_goes_on():
    """Check that the threads of calls have ended, once their endpoint has."""
    yield
    until = time.monotonic() + 5
    while calls := [
        thread for thread in threading.enumerate() if thread.name.startswith("call of")
    ]:
        assert time.monotonic() < until, calls
        time.sleep(0.01)


@pytest.mark.parametrize("mode", SILENT)
@pytest.mark.usefixtures("no_call_goes_on")
def test_an_endpoint_without_answers_ends_the_run_in_one_sentence_and_in_time(tmp_path, mode):
    say, message = SILENT[mode]
    images = faces(20)
    with FaceEndpoint(say=say_p) as endpoint:
        ask_endpoint(tmp_path, images[:5], endpoint.url, "p")
        endpoint.say = say
        start = time.monotonic()
        with pytest.raises(ValueError, match=message) as raised:
            ask_endpoint(tmp_path, images, endpoint.url, "p", total_time=TOTAL)
        assert time.monotonic() - start < TOTAL + 1
        assert endpoint.url in str(raised.value) and "\n" not in str(raised.value)
        endpoint.say = say_p
        calls = endpoint.calls
        again = ask_endpoint(tmp_path, images, endpoint.url, "p")
        assert endpoint.calls - calls == 15, "what was answered before is kept"
    np.testing.assert_array_equal(again.values, truth(images))


def open_connections(port):
    """Sockets of this process that lead to a port, also those that only a reader holds open."""
    # By its type: `isinstance` asks some objects of torch for attributes, which warn.
    sockets = [one for one in gc.get_objects() if issubclass(type(one), socket.socket)]
    peers = []
    for one in sockets:
        with contextlib.suppress(OSError):  # closed, or not connected
            peers.append(socket.socket.getpeername(one))
    # The peer of a socket of this machine alone is a name, and has no port.
    return [peer for peer in peers if isinstance(peer, tuple) and peer[1] == port]


def test_an_answer_that_cannot_be_read_leaves_no_connection_open(tmp_path):
    say, message = SILENT["two lengths"]
    gc.disable()
    try:
        with FaceEndpoint(say=say) as endpoint:
            with pytest.raises(ValueError, match=message):
                ask_endpoint(tmp_path, faces(3), endpoint.url, "p")
            assert open_connections(endpoint.server.server_port) == []
    finally:
        gc.enable()


WELL = {
    "half of a pair of surrogates": b'{"n": "\\ud800", "p": 0.5}',
    "no UTF-8": b'{"n": "caf\xe9", "p": 0.5}',
    "UTF-16": '{"p": 0.5}'.encode("utf-16"),
    "an integer of many digits beside": b'{"n": ' + b"1" * 5000 + b', "p": 0.5}',
}


@pytest.mark.parametrize("content", WELL.values(), ids=WELL)
def test_numbers_are_read_whatever_stands_beside_them(tmp_path, content):
    with FaceEndpoint(say=send_raw(with_length(content))) as endpoint:
        assert ask_endpoint(tmp_path, faces(1), endpoint.url, "p").values.tolist() == [0.5]


@pytest.mark.usefixtures("no_call_goes_on")
def test_an_address_that_takes_no_calls_ends_the_run_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(http, "FIRST_WAIT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as waiting:  # which accepts no connection
        url = f"http://127.0.0.1:{waiting.getsockname()[1]}/"
        start = time.monotonic()
        with pytest.raises(ValueError, match=f"{url}: {ONE_TRY}"):
            ask_endpoint(tmp_path, faces(5), url, total_time=TOTAL)
        assert time.monotonic() - start < TOTAL + 1
    start = time.monotonic()
    with pytest.raises(ValueError, match=rf"{url}: no answer in 3 tries and [01]\.\d s"):
        ask_endpoint(tmp_path, faces(5), url, total_time=2 * TOTAL)  # nobody listens any more
    assert time.monotonic() - start < 2 * TOTAL + 1


@pytest.mark.usefixtures("no_call_goes_on")
def test_a_host_that_is_looked_up_for_ever_ends_the_run_in_time(tmp_path, monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: ended.wait() and [])
    start = time.monotonic()
    with pytest.raises(ValueError, match=f"http://face.example/: {ONE_TRY}"):
        ask_endpoint(tmp_path, faces(5), "http://face.example/", total_time=TOTAL)
    assert time.monotonic() - start < TOTAL + 1
    ended.set()


def test_an_endpoint_that_falls_silent_ends_the_run_after_the_time_of_one_image(tmp_path):
    images = faces(60)
    drip, _ = SILENT["headers drip"]

    def say(handler, image):
        (say_p if endpoint.calls <= 30 else drip)(handler, image)

    with FaceEndpoint(say=say) as endpoint:
        start = time.monotonic()
        with pytest.raises(ValueError, match="no answer in 2 tries and"):
            ask_endpoint(tmp_path, images, endpoint.url, "p", total_time=TOTAL, timeout=0.6 * TOTAL)
        assert time.monotonic() - start < TOTAL + 1
        assert endpoint.calls == 32, "a call has a time limit of its own"
        endpoint.say = say_p
        again = ask_endpoint(tmp_path, images, endpoint.url, "p")
    assert endpoint.calls == 62
    np.testing.assert_array_equal(again.values, truth(images))


@pytest.mark.parametrize("missing", [0, 20])
def test_images_that_an_endpoint_cannot_take_end_no_later_run(tmp_path, missing):
    images = faces(300)
    hard = {image[0].tobytes() for image in images[40::37]}
    lost = {image[0].tobytes() for image in images[1 : 1 + missing]}

    def say(handler, image):
        if image[0].tobytes() in hard | lost:
            send(handler, b"sorry", 500 if image[0].tobytes() in hard else 413)
        else:
            say_p(handler, image)

    with FaceEndpoint(say=say) as endpoint:
        first = ask_endpoint(tmp_path, images, endpoint.url, "p")
        again = ask_endpoint(tmp_path, images, endpoint.url, "p")
        np.testing.assert_array_equal(first.values, again.values)
        counts = collections.Counter(again.reasons)
        assert counts["HTTP 500"] == len(hard) == 8 and counts["HTTP 413"] == missing
        lost.clear()
        answers = ask_endpoint(tmp_path, images, endpoint.url, "p")
    expected = truth(images)
    expected[40::37] = np.nan
    np.testing.assert_array_equal(answers.values, expected)


def test_images_that_failed_end_no_run_in_which_the_first_answer_came(tmp_path):
    """In the earlier run all images failed; in the next one, only the first that is asked about."""
    images = faces(12)[1:]
    calls_of_first_run = len(images)

    def say(handler, image):
        if endpoint.calls <= calls_of_first_run:
            send(handler, b"sorry", 413)
        elif endpoint.calls == calls_of_first_run + 1:
            say_p(handler, image)
        else:
            send(handler, b"sorry", 500)

    with FaceEndpoint(say=say) as endpoint:
        first = ask_endpoint(tmp_path, images, endpoint.url, "p")
        assert set(first.reasons) == {"HTTP 413"}
        answers = ask_endpoint(tmp_path, images, endpoint.url, "p")
    assert collections.Counter(answers.reasons) == {"": 1, "HTTP 500": 10}
    assert endpoint.calls == calls_of_first_run + 1 + 10 * http.MAX_TRIES


@pytest.mark.parametrize("bad", [b"NaN", b"75", b'"n/a"', b"[0.1, 0.9]"])
def test_answers_that_are_none_in_mid_run_fail_for_their_image_alone(tmp_path, bad):
    images = faces(300)
    hard = {image[0].tobytes() for image in images[40::37]}

    def say(handler, image):
        if image[0].tobytes() in hard:
            send(handler, b'{"p": ' + bad + b"}")
        else:
            say_p(handler, image)

    with FaceEndpoint(say=say) as endpoint:
        answers = ask_endpoint(tmp_path, images, endpoint.url, "p")
    expected = truth(images)
    expected[40::37] = np.nan
    np.testing.assert_array_equal(answers.values, expected)
    (reason,) = {*answers.reasons[40::37]}
    assert "75" not in reason and ("number" in reason or "from 0 to 1" in reason)


def test_an_endpoint_whose_first_answer_is_unfit_can_be_asked_again(tmp_path):
    """The image is asked about last in the second run, though seeds draw the same order."""
    images = faces(30)[1:]
    first = []

    def say(handler, image):
        first.append(image[0].tobytes())
        say_json({"p": 75})(handler, image) if first[0] == first[-1] else say_p(handler, image)

    with FaceEndpoint(say=say) as endpoint:
        with pytest.raises(ValueError, match="the answer is 75, a probability"):
            ask_endpoint(tmp_path, images, endpoint.url, "p")
        answers = ask_endpoint(tmp_path, images, endpoint.url, "p")
    failed = [reason for reason in answers.reasons if reason not in ("", NO_FACE)]
    assert len(failed) == 1 and "from 0 to 1" in failed[0]


KEYS = ["very-secret\n", "very-secret\r\nX-Other: 1", " very-secret", "very-secret\u20ac"]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_is_no_header_is_refused_before_a_call_and_not_shown(tmp_path, monkeypatch, key):
    monkeypatch.setenv("FACE_KEY", key)
    with FaceEndpoint() as endpoint:
        message = (
            "model.headers.X-Api-Key: the value of the environment's variable FACE_KEY is none"
        )
        with pytest.raises(ValueError, match=message) as raised:
            ask_endpoint(tmp_path, faces(3), endpoint.url, headers={"X-Api-Key": "env:FACE_KEY"})
        with pytest.raises(ValueError, match="model.headers: 'X Key' is no name of a header"):
            ask_endpoint(tmp_path, faces(3), endpoint.url, headers={"X Key": "1"})
        assert endpoint.calls == 0
    assert "secret" not in str(raised.value) and raised.value.__cause__ is None


@pytest.mark.parametrize("url", ["http://", "http://[x", "http://x:99999/", "ftp://x/", "https:x"])
def test_a_url_without_a_host_is_refused(url):
    with pytest.raises(ValueError, match="an address such as https://api.example.com/face"):
        model(url)


def test_a_host_that_cannot_be_is_refused(tmp_path):
    with pytest.raises(ValueError, match="model.url http://.example/ is no address"):
        ask_endpoint(tmp_path, faces(3), "http://.example/")
