"""An audit through the HTTP door, killed twice: nothing answered is lost or asked about again.

`make faults` sends 20,000 images; `make test` fewer.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing

import numpy as np
import pytest
from face_endpoint import FaceEndpoint, p_male

from faceaudit.models.answers import image_key

IMAGES = 20_000 if "FAULTS" in os.environ else 600
CLIENT = f"""
import sys
import numpy as np
from faceaudit.models import http as model_http
from faceaudit.models.answers import Reading, ask_and_keep
from faceaudit.file.parts import Http

model_http.FIRST_WAIT = 1e-3
images = np.random.default_rng(5).integers(0, 256, ({IMAGES}, 3, 8, 8)).astype(np.uint8)
given = {{"kind": "http", "url": sys.argv[1], "read": "faces.0.gender.p_male", "version": "1"}}
given |= {{"size": 8, "max_calls": 2 * len(images), "per_second": 1e6}}
model = model_http.RemoteModel(Http(**given), Reading())
values, reasons = ask_and_keep(model, images, sys.argv[2])
np.savez(sys.argv[2] + "/found.npz", values=values, reasons=reasons)
"""


def start(endpoint, folder):
    command = [sys.executable, "-c", CLIENT, endpoint.url, str(folder)]
    return subprocess.Popen(
        command,
        env={**os.environ, "NO_PROXY": "127.0.0.1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def kept(folder):
    """Keys of the images whose answers are on the disk."""
    asked = "SELECT image FROM calls WHERE reason IN ('', 'no face found')"
    with closing(sqlite3.connect(folder / "answers.sqlite")) as base:
        return {key for (key,) in base.execute(asked)}


@pytest.mark.skipif(sys.platform != "linux", reason="the lock and the signals are Linux's")
def test_killed_twice_no_answer_is_lost_or_asked_for_again(tmp_path):
    images = np.random.default_rng(5).integers(0, 256, (IMAGES, 3, 8, 8)).astype(np.uint8)
    at_kills = []
    with FaceEndpoint(share=0.05) as endpoint:
        for kills, share in enumerate((0.3, 0.7), 1):
            client = start(endpoint, tmp_path)
            while len(endpoint.answered) < share * IMAGES:
                assert client.poll() is None, client.communicate()[0]
                time.sleep(0.001)
            client.send_signal(signal.SIGKILL)
            client.wait()
            client.stdout.close()
            time.sleep(0.2)  # what the endpoint still computes
            with endpoint.lock:
                before, answered = kept(tmp_path), len(endpoint.answered)
            # What was under way at a kill is all that was answered and is not on the disk.
            assert answered - kills <= len(before) <= answered
            at_kills.append((before, answered))
        client = start(endpoint, tmp_path)
        words, _ = client.communicate()
        assert client.returncode == 0, words
    times = Counter(endpoint.answered)
    assert len(times) == IMAGES  # nothing lost
    again = [key for key, n in times.items() if n > 1]
    assert len(again) <= 2  # under way when it was killed
    for before, answered in at_kills:
        assert not before & {*endpoint.answered[answered:]}  # what was kept is not asked for again
    found = np.load(tmp_path / "found.npz")
    truth = np.array([np.nan if (p := p_male(one)) is None else p for one in images])
    np.testing.assert_array_equal(found["values"], truth)
    silent = np.isnan(truth)
    assert ((found["reasons"] == "no face found") == silent).all() and silent.any()
    assert (found["reasons"][~silent] == "").all()
    assert kept(tmp_path) == {image_key(one) for one in images}
    assert 0.04 * IMAGES < endpoint.faults.total() < 0.07 * IMAGES
