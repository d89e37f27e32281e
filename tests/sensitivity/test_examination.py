"""The gate of the learned generator: what passes it, and whether the shipped weights do."""

import json

from helpers.generators import wgan
from helpers.sensitivity import examination


def examined(**changed):
    smiling = {"estimate": 0.7, "low": 0.66, "high": 0.74, "n": 800}
    found = {"estimate": 0.97, "low": 0.96, "high": 0.98, "n": 1000}
    return {
        "smiling": smiling | changed.get("smiling", {}),
        "parts": {"samples": found | changed.get("parts", {})},
    }


def test_every_measure_can_fail_the_gate():
    assert examination.passes(examined())
    assert not examination.passes(examined(smiling={"estimate": 0.65}))
    assert not examination.passes(examined(smiling={"low": 0.6}))
    assert not examination.passes(examined(parts={"estimate": 0.949}))


def test_the_shipped_card_has_a_whole_examination():
    gate = json.loads(wgan.SHIPPED.with_suffix(".json").read_text(encoding="utf-8"))["gate"]
    assert gate["smiling"]["n"] >= 500
    assert {"other renders", "renders, blurred", "samples"} == gate["quality"].keys()
    # The reader of parts that judges the samples can tell.
    assert gate["parts"]["renders"]["estimate"] > 0.9
    for part in ("left eye", "right eye", "mouth"):
        assert gate["parts"][f"no {part}"]["estimate"] < 0.1
