"""Two versions of a model on the same images."""

import numpy as np
import pytest

import faceaudit
from faceaudit.__main__ import main
from faceaudit.pretended import pretend, pretended_table
from faceaudit.versions import compare


@pytest.fixture(scope="module")
def versions():
    (old, plan), (new, _) = pretend(250, 0.3, seed=1), pretend(250, 0.0, seed=1)
    return old, new, plan


def test_retraining_helped_where_it_helped(versions):
    found = compare(*versions).errors.set_index("cell")
    assert found["verdict"].to_dict() == {
        "all images": "better",
        "light, female": "no clear change",
        "light, male": "no clear change",
        "dark, female": "better",
        "dark, male": "no clear change",
    }
    row = found.loc["dark, female"]
    assert row["low"] < -0.3 < row["high"] and row["estimate"] == row["after"] - row["before"]
    assert found.loc["all images", "n"] == 1000


def test_effects_change_by_a_difference_of_differences(versions):
    found = compare(*versions).effects.set_index(["axis", "cell"])
    row = found.loc[("skin", "female")]
    assert row["high"] < 0 and row["estimate"] == pytest.approx(row["after"] - row["before"])
    other = found.loc[("skin", "male")]
    assert other["low"] <= 0 <= other["high"]


def test_the_same_version_twice_is_no_change(versions):
    old, _, plan = versions
    found = compare(old, old, plan)
    assert (found.errors["verdict"] == "no clear change").all()
    assert (found.effects["estimate"] == 0).all() and (found.effects["low"] < 0).all()


def test_other_images_units_or_labels_are_refused(versions):
    old, new, plan = versions
    fewer = faceaudit.Audited(new.frame[4:], True, "new.csv")
    with pytest.raises(ValueError, match=r"new.csv: other images than in .* \(4, such as '0-"):
        compare(old, fewer, plan)
    relabelled = new.frame.assign(label=1 - new.frame["label"])
    with pytest.raises(ValueError, match="column 'label' of image '0-dark-female' is not that of"):
        compare(old, faceaudit.Audited(relabelled, True, "new.csv"), plan)


def test_worse_and_better_hold_their_level_without_a_change():
    """Versions that differ by chance alone: seldom is any cell called better or worse."""
    random, calls = np.random.default_rng(5), 0
    (old, plan), runs = pretend(60, 0.0, seed=3), 60
    for _ in range(runs):
        errors = [(random.random(len(old.frame)) < 0.15).astype(float) for _ in range(2)]
        both = [faceaudit.Audited(old.frame.assign(error=one), True, "t") for one in errors]
        calls += (compare(*both, plan).errors["verdict"] != "no clear change").any()
    assert calls / runs < 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_on_the_command_line(audit_file, capsys):
    pretended_table(units=80, effect=0.0, seed=1).to_csv(audit_file.parent / "new.csv", index=False)
    after = audit_file.with_name("new.yml")
    text = audit_file.read_text(encoding="utf-8")
    after.write_text(text.replace("faces.csv", "new.csv"), encoding="utf-8")
    assert main(["compare", str(audit_file), str(after)]) == 0
    out = capsys.readouterr().out
    assert "dark, female: " in out and ", better" in out
