"""A real HTTP server on the loopback: answers, faults, budget, order, and what is kept."""

import contextlib
import gzip
import io
import json
import threading
import time
import tracemalloc

import face_endpoint
import numpy as np
import pytest
from face_endpoint import FaceEndpoint, p_male, say_json, send
from PIL import Image
from requests.utils import get_netrc_auth

from faceaudit.black_box import CallFailed, CallLimits, Endpoint, remote_model
from faceaudit.black_box.call_limits import TokenBucket
from faceaudit.black_box.endpoints import waiting_time

FIELD = "faces.0.gender.p_male"
QUICK = {"per_second": 1e6, "first_wait": 1e-3}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def model(ask, folder, read=FIELD, version="1", max_calls=10_000, headers=None, **options):
    limits = CallLimits(max_calls, **{**QUICK, **options.pop("limits", {})})
    return remote_model(
        ask, read, folder, version=version, limits=limits, headers=headers, timeout=5, **options
    )


def truth(images):
    return np.array([np.nan if (p := p_male(one)) is None else p for one in images])


def faces(n, seed=1):
    images = np.random.default_rng(seed).integers(0, 256, (n, 3, 8, 8)).astype(np.uint8)
    images[0, 2, 0, 0] = 0  # no face in the first
    return images


def test_every_image_is_asked_about_once_in_spite_of_faults(tmp_path):
    images = faces(150)
    both = np.concatenate([images, images[:50]])
    with FaceEndpoint(share=0.2) as endpoint:
        asked = model(endpoint.url, tmp_path)
        np.testing.assert_array_equal(asked(both), truth(both))
        assert sorted(endpoint.answered) == sorted(set(endpoint.answered))
        assert len(endpoint.answered) == 150 and endpoint.calls == 150 + endpoint.faults.total()
        assert set(endpoint.faults) - {None} == set(face_endpoint.FAULTS)
        calls = endpoint.calls
        again = model(endpoint.url, tmp_path)
        np.testing.assert_array_equal(again(both), truth(both))
        assert endpoint.calls == calls
    silent = np.isnan(truth(both))
    assert again.reasons.tolist() == ["no face found" if one else "" for one in silent]
    log = again.log()
    assert log["calls"].sum() == calls and (log["version"] == "1").all()
    assert str(log["time"].dt.tz) == "UTC" and (log["reason"] == "").all()


def test_the_order_is_random_keyed_and_does_not_follow_the_images(tmp_path):
    images, orders = faces(40), []
    for k, seed in enumerate((1, 1, 2)):
        with FaceEndpoint() as endpoint:
            model(endpoint.url, tmp_path / str(k), seed=seed)(images)
            orders.append(endpoint.answered)
    assert orders[0] == orders[1] != orders[2]
    place = {key: row for row, key in enumerate(sorted(orders[0]))}
    assert [place[key] for key in orders[0]] != sorted(place.values())


def test_a_failed_call_is_a_row_with_a_reason_and_is_asked_again_later(tmp_path):
    images, sick = faces(6), [True]

    def say(handler, image):
        if sick[0] and image[0].mean() > 120:
            send(handler, b"", 422)
        else:
            send(handler, json.dumps({"p": 0.5}).encode())

    refused = images[:, 0].mean((1, 2)) > 120
    assert refused.any() and not refused.all()
    with FaceEndpoint(say=say) as endpoint:
        asked = model(endpoint.url, tmp_path, "p")
        found = asked(images)
        assert (np.isnan(found) == refused).all() and endpoint.calls == 6  # 422 is not repeated
        assert set(asked.reasons[refused]) == {"HTTP 422"}
        sick[0] = False
        assert (asked(images) == 0.5).all() and endpoint.calls == 6 + refused.sum()


def test_an_endpoint_that_fails_half_of_the_time_ends_the_run_and_the_rest_is_kept(tmp_path):
    images = faces(200)
    with FaceEndpoint(share=0.6) as endpoint:
        with pytest.raises(ValueError, match=r"of \d+ calls failed, .* is kept in .* run the same"):
            model(endpoint.url, tmp_path)(images)
        kept = len(endpoint.answered)
        assert 0 < kept < 200 and endpoint.calls < 100
        endpoint.share = 0
        np.testing.assert_array_equal(model(endpoint.url, tmp_path)(images), truth(images))
        assert len(endpoint.answered) == 200 and kept > 5


def test_the_budget_counts_failed_calls_and_earlier_runs(tmp_path):
    images = faces(30)
    with FaceEndpoint(share=0.1, seed=3) as endpoint:
        with pytest.raises(
            ValueError, match="budget of 20 calls is used up.*raise model.max_calls"
        ):
            model(endpoint.url, tmp_path, max_calls=20)(images)
        assert endpoint.calls == 20
        with pytest.raises(ValueError, match="budget of 25 calls"):
            model(endpoint.url, tmp_path, max_calls=25)(images)
        assert endpoint.calls == 25
        np.testing.assert_array_equal(model(endpoint.url, tmp_path)(images), truth(images))
        assert len(set(endpoint.answered)) == len(endpoint.answered) == 30


def test_another_version_is_asked_anew(tmp_path):
    images = faces(5)
    with FaceEndpoint() as endpoint:
        first, second = (model(endpoint.url, tmp_path, version=v) for v in "12")
        first(images), second(images)
        assert endpoint.calls == 10 and first.hash != second.hash


def test_another_field_is_asked_about_anew(tmp_path):
    images = faces(5)
    with FaceEndpoint(say=say_json({"p": 0.25, "vector": [1, 0.5]})) as endpoint:
        for _ in range(2):  # the second time it is kept
            first = model(endpoint.url, tmp_path, "p")
            assert (first(images) == 0.25).all()
            vectors = model(endpoint.url, tmp_path, "vector", gives="embedding")
            assert vectors(images).tolist() == [[1.0, 0.5]] * 5
            halved = model(endpoint.url, tmp_path, lambda answer: answer["p"] / 2)
            assert (halved(images) == 0.125).all() and endpoint.calls == 15
        assert len({one.hash for one in (first, vectors, halved)}) == 3


def test_what_an_endpoint_repeats_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("FACE_KEY", "very-secret")
    images, good = faces(12), [True]

    def say(handler, image):
        key = handler.headers["X-Api-Key"]
        answer = {"faces": [{"gender": {"p_male": p_male(image)}}], "you_sent": key}
        if not good[0] and image[0].mean() > 120:  # an apology whose fields are the headers
            answer = {key: {key: key}, "faces": [{"gender": key}]}
        send(handler, json.dumps(answer).encode())

    with FaceEndpoint(say=say) as endpoint:
        headers = {"X-Api-Key": "env:FACE_KEY"}
        asked = model(endpoint.url, tmp_path, headers=headers)
        np.testing.assert_array_equal(asked(images), truth(images))
        good[0] = False
        more = faces(12, seed=2)
        refused = more[:, 0].mean((1, 2)) > 120
        limits = {"retries": 0}
        asked = model(endpoint.url, tmp_path, headers=headers, limits=limits)
        assert (np.isnan(asked(more)) == np.isnan(truth(more)) | refused).all()
        assert set(asked.reasons[refused]) == {"nothing stands where model.read looks"}
        with pytest.raises(ValueError, match="the answer is of type str") as error:
            model(endpoint.url, tmp_path, "faces.0.gender", headers=headers)(more[refused])
    kept = "".join(file.read_text() for file in tmp_path.iterdir())
    assert "secret" not in kept + str(error.value) + asked.log().to_csv()
    lines = [json.loads(line[9:]) for line in asked.path.read_text().splitlines()[1:]]
    found = [line["answer"] for line in lines[:12]]
    assert sum(one is None for one in found) == np.isnan(truth(images)).sum() >= 1
    assert sorted(filter(None, found)) == sorted(p for p in truth(images) if p == p)


def test_passwords_of_the_home_folder_are_not_sent(tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password netrc-secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert get_netrc_auth("http://127.0.0.1/") == ("me", "netrc-secret"), "requests would"
    with FaceEndpoint() as endpoint:
        model(endpoint.url, tmp_path / "answers")(faces(2))
        assert endpoint.calls == 2 and not any("Authorization" in one for one in endpoint.headers)


def test_the_environments_proxy_is_used(tmp_path, monkeypatch):
    with FaceEndpoint() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        images = faces(2)
        asked = model("http://faces.invalid/gender", tmp_path)
        np.testing.assert_array_equal(asked(images), truth(images))
        assert proxy.calls == 2


@pytest.mark.parametrize(
    ("answer", "read", "calls", "message"),
    [
        ({"p": 87.3}, "p", 1, "the answer is 87.3, a probability in .* function that converts"),
        ({"p": -0.2}, "p", 1, "the answer is -0.2, a probability"),
        ({"p": "male"}, "p", 1, "the answer is of type str, one finite number was expected"),
        ({"p": True}, "p", 1, "the answer is of type bool, one finite number"),
        ({"p": float("nan")}, "p", 1, "the answer is nan, one finite number"),
        ({"p": 10**400}, "p", 1, "the answer is of type int, one finite number"),
        ({"p": [0.1, 0.9]}, "p", 1, "the answer is of type list, one finite number"),
        ({"q": 0.5}, "p", 3, "nothing at 'p': no 'p' in the fields q; check model.read"),
        ({"p": {"q": 1}}, "p.r", 3, "no 'r' in the fields q"),
        ({"p": "very-secret"}, "p.r", 3, "no 'r' in a str; check"),
        ([0.5], "p", 3, "no 'p' in a list of 1"),
    ],
)
def test_an_answer_that_is_none_ends_the_run(tmp_path, answer, read, calls, message):
    with FaceEndpoint(say=say_json(answer)) as endpoint:
        with pytest.raises(ValueError, match=message):
            model(endpoint.url, tmp_path, read, limits={"retries": 2})(faces(5))
        assert endpoint.calls == calls
        with pytest.raises(ValueError, match="the budget"):  # these calls count
            model(endpoint.url, tmp_path, read, max_calls=calls)(faces(5))


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (302, {"Location": "https://elsewhere.example/x?key=1"}, "sends to elsewhere.example"),
        (401, {}, "refuses the key .HTTP 401.; check model.headers"),
        (404, {}, "takes no images .HTTP 404.; check model.url"),
    ],
)
def test_what_no_waiting_mends_ends_the_run(tmp_path, status, headers, message):
    with FaceEndpoint(say=say_json({}, status, headers)) as endpoint:
        with pytest.raises(ValueError, match=message):
            model(endpoint.url, tmp_path)(faces(5))
        assert endpoint.calls == 1


def test_keys_are_sent_and_stand_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("FACE_KEY", "very-secret")
    headers = {"X-Api-Key": "env:FACE_KEY", "X-Plain": "also-secret"}
    with FaceEndpoint() as endpoint:
        asked = model(f"{endpoint.url}?token=third-secret", tmp_path, headers=headers)
        asked(faces(3))
        assert endpoint.headers[0]["X-Api-Key"] == "very-secret"
        assert endpoint.headers[0]["X-Plain"] == "also-secret"
        assert len({one["Idempotency-Key"] for one in endpoint.headers}) == 3
    said = json.dumps(asked.card()) + asked.path.read_text() + asked.log().to_csv()
    with pytest.raises(ValueError, match="calls failed") as error:  # the server is gone
        model(asked._endpoint._url, tmp_path, limits={"first_wait": 1e-6})(faces(60, seed=2))
    assert "secret" not in said + str(error.value) and "no connection" in str(error.value)
    monkeypatch.delenv("FACE_KEY")
    with pytest.raises(ValueError, match="X-Api-Key: the environment has no variable FACE_KEY"):
        asked(faces(4))


@pytest.mark.parametrize(
    ("url", "headers", "message"),
    [
        ("ftp://example.org/x", None, "https://host/path was expected"),
        ("example.org/x", None, "https://host/path was expected"),
        ("https://me:word@example.org/x", None, "user name or password"),
        ("http://example.org/x", {"X-Key": "env:KEY"}, "unencrypted; use https"),
    ],
)
def test_addresses_that_are_refused(url, headers, message):
    with pytest.raises(ValueError, match=message) as error:
        Endpoint(url, headers)
    assert "word@" not in str(error.value)


def test_a_slow_endpoint_is_a_failed_call(tmp_path):
    never = threading.Event()
    with FaceEndpoint(say=lambda *_: never.wait(3)) as endpoint:
        asked = remote_model(
            endpoint.url, FIELD, tmp_path, version="1", timeout=0.1,
            limits=CallLimits(10, retries=1, **QUICK),
        )  # fmt: skip
        assert np.isnan(asked(faces(2))).all()
        assert set(asked.reasons) == {"no answer in 0.1 s"} and endpoint.calls == 4
        never.set()


def drip(handler, content, every=0.05):
    for place in range(len(content)):
        try:
            handler.wfile.write(content[place : place + 1])
            handler.wfile.flush()
        except OSError:  # the client hung up
            return
        time.sleep(every)


def dripping_body(handler, _):
    handler.send_response(200)
    handler.send_header("Content-Length", "200")
    handler.end_headers()
    drip(handler, b'{"p": 0.5}'.ljust(200))


def dripping_chunks(handler, _):
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    drip(handler, b"1\r\n \r\n" * 30)


def dripping_headers(handler, _):
    drip(handler, b"HTTP/1.1 200 OK\r\nX-Padding: ".ljust(200, b"x"))


@pytest.mark.parametrize("say", [dripping_body, dripping_chunks, dripping_headers])
def test_an_endpoint_that_drips_is_cut_off(tmp_path, say):
    with FaceEndpoint(say=say) as endpoint:
        limits = CallLimits(10, retries=0, **QUICK)
        asked = remote_model(endpoint.url, "p", tmp_path, version="1", timeout=0.3, limits=limits)
        begun = time.monotonic()
        assert np.isnan(asked(faces(2))).all()
        assert time.monotonic() - begun < 2, "0.3 s each"
        assert set(asked.reasons) == {"no answer in 0.3 s"} and endpoint.calls == 2


@pytest.mark.parametrize("packed", [True, False])
def test_an_answer_without_end_is_cut_off(tmp_path, packed):
    content = b" " * (64 * 2**20)

    def say(handler, _):
        headers = {"Content-Encoding": "gzip"} if packed else {}
        with contextlib.suppress(OSError):  # the client hangs up
            send(handler, gzip.compress(content, 1) if packed else content, headers=headers)

    with FaceEndpoint(say=say) as endpoint:
        asked = model(endpoint.url, tmp_path)
        tracemalloc.start()
        asked(faces(1))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert asked.reasons.tolist() == ["an answer of more than 4,194,304 bytes"]
        assert endpoint.calls == 1, "the same again would be as long"
    # The server's own copy and its packing are within this process too.
    assert most < 20 * 2**20


def test_an_answer_may_be_packed(tmp_path):
    vector = np.random.default_rng(0).normal(size=4096).tolist()
    packed = gzip.compress(json.dumps({"v": vector}).encode())

    def say(handler, _):
        send(handler, packed, headers={"Content-Encoding": "gzip"})

    with FaceEndpoint(say=say) as endpoint:
        asked = model(endpoint.url, tmp_path, "v", gives="embedding")
        assert asked(faces(1))[0].tolist() == vector


def test_a_function_that_asks_gets_the_png_and_may_fail(tmp_path):
    images, seen = faces(8), []

    def ask(png):
        seen.append(png)
        if len(seen) % 3 == 0:
            raise KeyError("a secret")
        if len(seen) % 5 == 0:
            raise CallFailed("throttled", wait=0, busy=True)
        return p_male(np.asarray(Image.open(io.BytesIO(png))).transpose(2, 0, 1))

    asked = model(ask, tmp_path, lambda answer: answer)
    np.testing.assert_array_equal(asked(images), truth(images))
    assert "secret" not in asked.path.read_text() and len(seen) > 8
    assert "test_remote:" in asked.card()["ask"]
    ones = model(lambda png: {"p": np.float32(1)}, tmp_path, "p")
    assert (ones(images) == 1).all()
    with pytest.raises(ValueError, match="no 'p' in a float32; check model.read"):
        model(lambda png: np.float32(1), tmp_path / "other", "p")(images)


def test_a_damaged_line_is_asked_about_again_and_a_torn_one_is_cut(tmp_path):
    images = faces(12)
    with FaceEndpoint() as endpoint:
        asked = model(endpoint.url, tmp_path)
        asked(images)
        content = bytearray(asked.path.read_bytes())
        lines = bytes(content).splitlines(keepends=True)
        lines[4] = lines[4].replace(b'"calls":1', b'"calls":7')
        asked.path.write_bytes(b"".join(lines[:-1]) + lines[-1][:-9])
        with pytest.warns(UserWarning, match="1 lines are damaged; their images"):
            np.testing.assert_array_equal(asked(images), truth(images))
        assert endpoint.calls == 14
        asked.path.write_bytes(asked.path.read_bytes().replace(b'"version":"1"', b'"version":"3"'))
        with pytest.raises(ValueError, match="these answers are of something unreadable"):
            asked(images)


def test_two_processes_do_not_ask_at_once(tmp_path):
    with FaceEndpoint() as endpoint:
        asked = model(endpoint.url, tmp_path)
        with asked._journal(), pytest.raises(ValueError, match="another process asks the same"):
            model(endpoint.url, tmp_path)(faces(3))


def test_calls_are_spread_evenly():
    now, waits = [0.0], []

    def sleep(seconds):
        waits.append(seconds)
        now[0] += seconds

    bucket = TokenBucket(10, clock=lambda: now[0], sleep=sleep)
    for _ in range(21):
        bucket.take()
    assert now[0] == pytest.approx(2.0)
    now[0] = 50.0
    bucket.take()
    assert len(waits) == 20  # nobody waits who comes late, and no calls are saved up
    bucket.take()
    assert waits[-1] == pytest.approx(0.1)


def test_back_off_doubles_and_differs_between_images():
    limits = CallLimits(10)
    early, late = (limits.pause(attempt, "8" * 64) for attempt in (1, 4))
    assert late == pytest.approx(8 * early) and 0.25 <= early <= 0.5 * 1.5
    assert limits.pause(1, "0" * 64) != limits.pause(1, "f" * 64)


def test_what_an_endpoint_asks_for_is_waited():
    assert waiting_time("2.5") == 2.5 and waiting_time(None) is None
    assert waiting_time("Mon, 01 Jan 2001 00:00:00 GMT") == 0
    assert waiting_time("Fri, 01 Jan 2100 00:00:00 GMT") > 1e6
    assert waiting_time("soon") is None and waiting_time("-3") == 0
    for no_time in ("nan", "inf", "-inf", "1e999", "Fri, 01 Jan 2100 00:00:00 -0000"):
        assert waiting_time(no_time) is None


def test_a_wait_that_is_no_time_ends_no_run(tmp_path):
    with FaceEndpoint(say=say_json({}, 503, {"Retry-After": "nan"})) as endpoint:
        asked = model(endpoint.url, tmp_path, limits={"retries": 1})
        assert np.isnan(asked(faces(2))).all() and endpoint.calls == 4


@pytest.mark.parametrize(
    ("field", "value"),
    [("max_calls", 0), ("per_second", 0), ("retries", -1), ("first_wait", 0),
     ("most_failures", 2)],
)  # fmt: skip
def test_limits_are_named(field, value):
    with pytest.raises(ValueError, match=f"model.{field} is"):
        CallLimits(**{"max_calls": 5, field: value})
