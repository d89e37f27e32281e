"""A real HTTP server on the loopback: answers, faults, budget, order, and what is kept."""

import json

import face_endpoint
import numpy as np
import pytest
from face_endpoint import FaceEndpoint, p_male, say_json, send
from requests.utils import get_netrc_auth

from faceaudit import model_http
from faceaudit.answers import Reading, ask_and_keep
from faceaudit.model_http import RemoteModel
from faceaudit.parts import Http

FIELD = "faces.0.gender.p_male"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(model_http, "FIRST_WAIT", 1e-4)


def model(url, read=FIELD, **options):
    seed, given = options.pop("seed", 0), {"version": "1", "max_calls": 10_000, "size": 8}
    given |= {"per_second": 1e6, "timeout": 5, **options}
    return RemoteModel(Http(kind="http", url=url, read=read, **given), Reading(), seed)


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
        assert set(found.reasons) == {"nothing stands at '0' of model.read"}
    with pytest.raises(ValueError, match="calls failed") as error:  # the server is gone
        ask_and_keep(gone, faces(60, seed=2), tmp_path / "a")
    assert "no connection" in str(error.value)
    kept = (tmp_path / "a" / "answers.sqlite").read_bytes()
    assert b"-secret" not in kept + json.dumps(one.card()).encode() + str(error.value).encode()
    monkeypatch.delenv("FACE_KEY")
    with pytest.raises(ValueError, match="X-Api-Key: the environment has no variable FACE_KEY"):
        ask_and_keep(one, faces(4, seed=5), tmp_path / "a")


ENDED = [
    (say_json({"p": 87.3}), "p", 1, "answers from 87.3 to 87.3, probabilities in"),
    (say_json({"p": "secret"}), "p", 1, "the answers are no numbers"),
    (say_json({"p": "secret"}), "p.r", 40, "40 of 40 calls failed.*nothing stands at 'r' of model"),
    (say_json({}, 401), "p", 1, "refuses the key .HTTP 401.; check model.headers"),
    (say_json({}, 404), "p", 1, "takes no images .HTTP 404.; check model.url"),
    (say_json({}, 302, {"Location": "https://x.example/x?key=1"}), "p", 1, "sends to x.example"),
]


@pytest.mark.parametrize(("say", "read", "calls", "told"), ENDED)
def test_what_no_waiting_mends_ends_the_run(tmp_path, say, read, calls, told):
    with FaceEndpoint(say=say) as endpoint:
        with pytest.raises(ValueError, match=told) as raised:
            asked(tmp_path, faces(9), endpoint.url, read)
        assert endpoint.calls == calls and "secret" not in str(raised.value)
