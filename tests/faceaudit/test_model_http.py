"""A real HTTP server on the loopback: answers, faults, budget, order, and what is kept."""

import json
import threading
from email.utils import formatdate

import face_endpoint
import numpy as np
import pytest
from face_endpoint import FaceEndpoint, p_male, say_json, send
from requests.utils import get_netrc_auth

from faceaudit import model_http
from faceaudit.answers import ask_and_keep
from faceaudit.model_http import RemoteModel

FIELD = "faces.0.gender.p_male"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(model_http, "FIRST_WAIT", 1e-4)


def model(url, read=FIELD, **options):
    options = {"version": "1", "max_calls": 10_000, "per_second": 1e6, "timeout": 5} | options
    return RemoteModel(url, read, **options)


def asked(folder, images, url, read=FIELD, **options):
    return ask_and_keep(model(url, read, **options), images, folder)


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
        np.testing.assert_array_equal(asked(tmp_path, both, endpoint.url).values, truth(both))
        assert len(endpoint.answered) == len(set(endpoint.answered)) == 150
        assert endpoint.calls == 150 + endpoint.faults.total()
        assert set(endpoint.faults) - {None} == set(face_endpoint.FAULTS)
        calls = endpoint.calls
        again = asked(tmp_path, both, endpoint.url)
        np.testing.assert_array_equal(again.values, truth(both))
        assert endpoint.calls == calls
        asked(tmp_path, images[:5], endpoint.url, version="2")
        assert len(endpoint.answered) == 155
    silent = np.isnan(truth(both))
    assert again.reasons.tolist() == ["no face found" if one else "" for one in silent]


def test_the_order_is_random_keyed_and_does_not_follow_the_images(tmp_path):
    images, orders = faces(40), []
    for k, seed in enumerate((1, 1, 2)):
        with FaceEndpoint() as endpoint:
            asked(tmp_path / str(k), images, endpoint.url, seed=seed)
            orders.append(endpoint.answered)
    assert orders[0] == orders[1] != orders[2]
    assert orders[0] != [face_endpoint.image_key(one) for one in images]


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
        found = asked(tmp_path, images, endpoint.url, "p")
        assert (np.isnan(found.values) == refused).all() and endpoint.calls == 6  # 422: no repeat
        assert set(found.reasons[refused]) == {"HTTP 422"}
        sick[0] = False
        assert (asked(tmp_path, images, endpoint.url, "p").values == 0.5).all()
        assert endpoint.calls == 6 + refused.sum()


def test_an_endpoint_that_fails_half_of_the_time_ends_the_run_and_the_rest_is_kept(tmp_path):
    images = faces(200)
    with FaceEndpoint(share=0.6) as endpoint:
        with pytest.raises(ValueError, match=r"of \d+ calls failed, .* is kept in .* run the same"):
            asked(tmp_path, images, endpoint.url)
        assert 0 < len(endpoint.answered) < 200 and endpoint.calls < 100
        endpoint.share = 0
        np.testing.assert_array_equal(asked(tmp_path, images, endpoint.url).values, truth(images))
        assert len(endpoint.answered) == 200


def test_the_budget_counts_failed_calls_and_earlier_runs(tmp_path):
    images = faces(30)
    with FaceEndpoint(share=0.1, seed=3) as endpoint:
        for most in (20, 25):
            with pytest.raises(ValueError, match=f"budget of {most} calls .*raise model.max_calls"):
                asked(tmp_path, images, endpoint.url, max_calls=most)
            assert endpoint.calls == most
        np.testing.assert_array_equal(asked(tmp_path, images, endpoint.url).values, truth(images))
        assert len(set(endpoint.answered)) == len(endpoint.answered) == 30


def test_vectors_are_read_where_they_stand(tmp_path):
    vector = np.random.default_rng(0).normal(size=64).tolist()
    with FaceEndpoint(say=say_json({"v": [{"of": vector}]})) as endpoint:
        found = asked(tmp_path, faces(2), endpoint.url, "v.0.of", gives="embedding")
    assert found.values.tolist() == [vector] * 2


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
        one, gone = (model(f"{endpoint.url}?token=third-secret", headers=headers) for _ in "12")
        found = ask_and_keep(one, faces(12), tmp_path / "a")
        np.testing.assert_array_equal(found.values, truth(faces(12)))
        sent = endpoint.headers[0]
        assert (sent["X-Api-Key"], sent["X-Plain"]) == ("very-secret", "also-secret")
        assert "Authorization" not in sent
        assert len({one["Idempotency-Key"] for one in endpoint.headers}) == 12
        good[0] = False
        found = ask_and_keep(one, faces(3, seed=2), tmp_path / "a")
        assert set(found.reasons) == {"nothing stands where model.read looks"}
    with pytest.raises(ValueError, match="calls failed") as error:  # the server is gone
        ask_and_keep(gone, faces(60, seed=2), tmp_path / "a")
    assert "no connection" in str(error.value)
    kept = (tmp_path / "a" / "answers.sqlite").read_bytes()
    assert b"-secret" not in kept + json.dumps(one.card()).encode() + str(error.value).encode()
    monkeypatch.delenv("FACE_KEY")
    with pytest.raises(ValueError, match="X-Api-Key: the environment has no variable FACE_KEY"):
        ask_and_keep(one, faces(4, seed=5), tmp_path / "a")


def test_the_environments_proxy_is_used(tmp_path, monkeypatch):
    with FaceEndpoint() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        found = asked(tmp_path, faces(2), "http://faces.invalid/gender")
        np.testing.assert_array_equal(found.values, truth(faces(2)))


PROBABILITY = "a probability in .* function of yours"
ENDED = [
    (say_json({"p": 87.3}), "p", 1, f"the answer is 87.3, {PROBABILITY}"),
    (say_json({"p": "male"}), "p", 1, "the answer is of type str, one finite number was expected"),
    (say_json({"p": True}), "p", 1, "the answer is of type bool, one finite number"),
    (say_json({"p": float("nan")}), "p", 1, "the answer is nan, one finite number"),
    (say_json({"p": [0.1, 0.9]}), "p", 1, "the answer is of type list, one finite number"),
    (say_json({"q": 0.5}), "p", 6, "nothing at 'p': no 'p' in the fields q; check model.read"),
    (say_json({"p": "very-secret"}), "p.r", 6, "no 'r' in it; check"),
    (say_json([0.5]), "p", 6, "no 'p' in a list of 1"),
    (say_json({}, 401), "p", 1, "refuses the key .HTTP 401.; check model.headers"),
    (say_json({}, 404), "p", 1, "takes no images .HTTP 404.; check model.url"),
    (say_json({}, 302, {"Location": "https://x.example/x?key=1"}), "p", 1, "sends to x.example"),
]


@pytest.mark.parametrize(("say", "read", "calls", "told"), ENDED)
def test_what_no_waiting_mends_ends_the_run(tmp_path, say, read, calls, told):
    with FaceEndpoint(say=say) as endpoint:
        with pytest.raises(ValueError, match=told) as raised:
            asked(tmp_path, faces(5), endpoint.url, read)
        assert endpoint.calls == calls and "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "headers", "told"),
    [
        ("https://me:word@example.org/x", None, "user name or password"),
        ("http://example.org/x", {"X-Key": "env:KEY"}, "unencrypted; use https"),
    ],
)
def test_addresses_that_are_refused(url, headers, told):
    with pytest.raises(ValueError, match=told) as error:
        model(url, headers=headers)
    assert "word@" not in str(error.value)


def test_a_slow_endpoint_is_a_failed_call(tmp_path, monkeypatch):
    monkeypatch.setattr(model_http, "RETRIES", 1)
    never = threading.Event()
    with FaceEndpoint(say=lambda *_: never.wait(3)) as endpoint:
        found = asked(tmp_path, faces(2), endpoint.url, timeout=0.1)
        assert set(found.reasons) == {"no answer in 0.1 s"} and endpoint.calls == 4
        never.set()


def test_calls_are_spread_and_waits_are_the_endpoints(tmp_path, monkeypatch):
    now, waits = [0.0], []

    class Clock:
        monotonic = staticmethod(lambda: now[0])

        @staticmethod
        def sleep(seconds):
            waits.append(seconds)
            now[0] += seconds

    monkeypatch.setattr(model_http, "time", Clock)
    with FaceEndpoint() as endpoint:
        asked(tmp_path, faces(21), endpoint.url, per_second=10)
    assert now[0] == pytest.approx(2.0)
    for header, least, most in (
        ("7", 7, 7), ("soon", 0, 0), (formatdate(4e9, usegmt=True), 300, 300)
    ):  # fmt: skip
        waits.clear()
        with FaceEndpoint(say=say_json({}, 503, {"Retry-After": header})) as endpoint:
            asked(tmp_path, faces(1), endpoint.url)
        assert endpoint.calls == 6 and least <= max(waits) <= most + 0.01
