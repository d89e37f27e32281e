import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from helpers import effects, scorecard
from helpers.directions import Hyperplanes
from helpers.scorecard.repeated_audits import draw, matched_audits, with_truth

AXES = ["skin_colour", "hair_length", "gender"]


@pytest.fixture
def pool() -> np.ndarray:
    """Errors of 300 faces: skin harms one gender as much as it helps the other."""
    rng = np.random.default_rng(3)
    rates = np.array([[[0.1, 0.3], [0.1, 0.3]], [[0.3, 0.1], [0.3, 0.1]]])
    own = rng.normal(0, 0.05, (300, 1, 1, 1))
    return (rng.random((300, 2, 2, 2)) < rates + own).astype(float)


def scored(table: pd.DataFrame, pool: np.ndarray, model="a", estimator="b") -> pd.DataFrame:
    table = with_truth(table, pool, AXES).assign(model=model, estimator=estimator)
    return scorecard.flag(scorecard.name_cells(table))


def test_the_logit_of_an_audit_equals_the_papers_on_its_images(pool):
    audits = draw(pool, 40, 2, seed=5)
    table = scorecard.logit_audits(audits, AXES, n_boot=3)
    frame = scorecard.as_frame(audits[1], AXES)
    levels = frame[[f"{name}_level" for name in AXES]].to_numpy()
    X = np.stack([1 - levels, levels], axis=2).reshape(len(levels), -1)
    beta = effects.paper_logit(X, frame["error"])
    # Dark against light skin of short-haired women: skin is the first pair of columns.
    women = np.array([[1, 0, 1, 0, 1, 0], [0, 1, 1, 0, 1, 0]])
    light, dark = 1 / (1 + np.exp(-(beta[0] + women @ beta[1:])))
    cell = table.query("audit == 1 and attribute == 'skin_colour'").iloc[0]
    assert (cell["hair_length"], cell["gender"]) == (0, 0)
    assert cell["estimate"] == pytest.approx(dark - light, abs=1e-9)


def test_bootstraps_of_images_and_transects_agree_on_independent_images():
    audits = scorecard.null_audits(200, (2, 2, 2), 20, rate=0.2, icc=1e-6, seed=1)
    widths = {}
    for unit in ("images", "transects"):
        table = scorecard.logit_audits(audits, AXES, resample=unit, n_boot=200)
        widths[unit] = (table["high"] - table["low"]).mean()
    assert widths["images"] == pytest.approx(widths["transects"], rel=0.05)


def test_main_effects_cancel_where_interactions_do_not(pool):
    audits = draw(pool, 200, 20, seed=2)
    tables = [
        scored(scorecard.logit_audits(audits, AXES, with_=with_, n_boot=50), pool, "a", name)
        for with_, name in ((None, "main effects"), ("gender", "interactions"))
    ]
    table = pd.concat([*tables, scored(matched_audits(audits, AXES), pool, "a", "matched")])
    scores = scorecard.score(table).loc["a"]
    assert scores.loc["main effects", "bias"] > 0.15
    assert scores.loc["interactions", "bias"] < 0.03
    assert scores.loc["matched", "bias_low"] < 0.01
    missed = scorecard.alarms(table, "skin_colour", large=0.1).loc["a", "missed"]
    assert missed["main effects"] > 0.9
    assert missed["matched"] < 0.05


def test_errors_without_effects_raise_few_alarms():
    audits = scorecard.null_audits(100, (2, 2, 2), 200, rate=0.1, icc=0.2, seed=4)
    assert audits.mean() == pytest.approx(0.1, abs=0.01)
    table = matched_audits(audits, AXES).assign(truth=0.0, model="null", estimator="matched")
    table = scorecard.flag(scorecard.name_cells(table))
    alarms = scorecard.alarms(table, "skin_colour").loc["null", "matched"]
    assert alarms["false_alarm"] <= 0.06
    assert np.isnan(alarms["missed"])


def test_scores_of_known_errors():
    generator = np.random.default_rng(0)
    errors = generator.normal([0.03, -0.01], 0.02, (4000, 2))
    table = pd.DataFrame(
        {
            "model": "a",
            "estimator": "b",
            "audit": np.repeat(np.arange(4000), 2),
            "cell": np.tile(["one", "two"], 4000),
            "truth": 0.1,
            "estimate": 0.1 + errors.ravel(),
        }
    )
    table["low"], table["high"] = table["estimate"] - 0.0392, table["estimate"] + 0.0392
    score = scorecard.score(table).loc["a", "b"]
    bias = np.sqrt((0.03**2 + 0.01**2) / 2)
    assert score["bias_low"] < bias < score["bias_high"]
    assert score["bias"] == pytest.approx(bias, abs=0.001)
    assert score["rmse"] == pytest.approx(np.hypot(bias, 0.02), abs=0.001)
    inside = (np.abs(errors) <= 0.0392).mean()
    assert score["coverage"] == pytest.approx(inside)
    assert score["coverage_low"] < inside < score["coverage_high"]


def test_what_cannot_be_estimated_is_left_out_and_counted():
    table = pd.DataFrame(
        {
            "model": "a",
            "estimator": "b",
            "audit": [0, 1, 2, 3],
            "cell": "one",
            "truth": 0.0,
            "estimate": [0.1, -0.1, np.nan, 0.1],
            "low": [-0.1, -0.3, np.nan, 0.05],
            "high": [0.3, 0.1, np.nan, 0.2],
        }
    )
    score = scorecard.score(table).loc["a", "b"]
    assert score["estimable"] == 0.75
    assert score["coverage"] == pytest.approx(2 / 3)
    none = scorecard.score(table.assign(estimate=np.nan)).loc["a", "b"]
    assert none["estimable"] == 0
    assert np.isnan(none["bias"])


def test_an_audit_of_portraits_depends_on_its_own_number_only():
    pool = pd.DataFrame({"error_a": np.random.default_rng(0).integers(2, size=50)})

    def rate(sample):
        return {"estimate": sample["error"].mean(), "low": 0, "high": 1, "p": 1}

    few, many = (
        scorecard.observational_audits(
            pool, ["a", "null"], {"rate": rate}, 3000, repetitions, seed=3, null_rate=0.1
        )
        for repetitions in (2, 5)
    )
    pd.testing.assert_frame_equal(few, many[:4])
    rates = many.groupby("model")["estimate"].mean()
    assert rates["a"] == pytest.approx(pool["error_a"].mean(), abs=0.02)
    assert rates["null"] == pytest.approx(0.1, abs=0.01)


def test_the_papers_logit_as_a_difference_of_rates():
    generator = np.random.default_rng(1)
    frame = pd.DataFrame(
        {name: generator.random(4000) for name in (*effects.PAPER_LEVELS, "age")}
    ).assign(age=lambda table: 0.5 + table["age"] / 2)
    dark = frame["skin_colour"] >= 0.5
    error = (generator.random(4000) < np.where(dark, 0.3, 0.1)).astype(int)
    X = effects.paper_columns(frame)
    values, pattern = np.unique(X, axis=0, return_inverse=True)
    patterns = pd.DataFrame(values, columns=X.columns)
    women = (frame["gender"] < 0.5).to_numpy()
    contrast = ("skin_colour", "Light skin", "Dark skin")
    found = scorecard.paper_difference(patterns, pattern, error, women, contrast, 100, seed=1)
    assert found["low"] < 0.2 < found["high"]
    assert found["estimate"] == pytest.approx(error[dark].mean() - error[~dark].mean(), abs=0.01)

    beta = np.nan_to_num(effects.paper_logit(X, error))  # a level that nobody has
    rates = []
    for level in contrast[1:]:
        set_to = X[women].copy()
        for other in contrast[1:]:
            set_to["skin_colour", other] = float(level == other)
        rates.append(expit(beta[0] + set_to.to_numpy() @ beta[1:]).mean())
    assert found["estimate"] == pytest.approx(rates[1] - rates[0], abs=1e-9)


def test_draws_a_panel_per_score():
    index = pd.MultiIndex.from_product([["null", "plantskin"], ["x", "y"]])
    values = {f"{name}{end}": 0.1 for name in ("bias", "rmse") for end in ("", "_low", "_high")}
    scores = pd.DataFrame(values, index=index.set_names(["model", "estimator"]))
    figure = scorecard.draw_scores(scores, {"bias": "bias", "rmse": "RMSE"}, {"bias": 0})
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["x", "y"]
    assert len(figure.axes) == 2


def test_departures_are_those_of_the_versions_not_of_the_faces(pool):
    worse = pool.copy()
    worse[:, 1, 0, 0] = 1 - worse[:, 1, 0, 0]
    table = scorecard.departures(np.stack([pool, worse]), pool, AXES)
    same, other = (table[table["version"] == k].set_index("attribute")["value"] for k in (0, 1))
    assert (same == 0).all()
    # One cell of eight changed: it takes part in one of the four effects of each attribute.
    shift = abs(worse[:, 1, 0, 0].mean() - pool[:, 1, 0, 0].mean())
    np.testing.assert_allclose(other, shift / 2, atol=0.005)


def test_power_of_a_cell_rises_with_its_transects_as_the_formula_says(pool):
    cells = scorecard.nearest_cells({"a": pool}, AXES, of=AXES[:1], sizes=[0.2])
    ((name, cell),) = cells.items()
    assert "points" in name
    table = scorecard.power_of_cell(cell, [20, 100, 400], 300, seed=0)
    assert table["found"].is_monotonic_increasing
    np.testing.assert_allclose(table["found"], table["formula"], atol=0.08)


def test_a_planted_leak_shifts_the_estimate_by_what_the_hidden_attribute_does():
    generator = np.random.default_rng(0)
    risk = np.full((2, 2, 2, 2), 0.1)
    risk[1, :, 0, 1] = 0.4  # dark-skinned women with the hidden attribute
    errors = (generator.random((4000, 2, 2, 2, 2)) < risk).astype(float)
    table = scorecard.leaking(errors, AXES, "skin_colour", [0.0, 0.5, 1.0])
    np.testing.assert_allclose(table["estimate"], [0, 0.15, 0.3], atol=0.03)
    np.testing.assert_allclose(table["hidden"], 0.3, atol=0.03)
    tipped = scorecard.tipping(table.assign(model="a"), 0.5).iloc[0]
    assert tipped["tipping point"] == pytest.approx(200 * table["estimate"][1])
    assert tipped["explained away"] in ("yes", "no")
    harmless = scorecard.tipping(table.assign(model="a", hidden=-0.3), 0.5).iloc[0]
    assert harmless["explained away"] == "no"


def test_the_worst_model_of_every_score():
    index = pd.MultiIndex.from_tuples([("a", "x"), ("b", "x")], names=["model", "estimator"])
    values = {"bias": [0.1, 0.2], "rmse": [0.3, 0.2], "coverage": [0.9, 0.95]}
    values |= {"false_alarm": [np.nan, 0.05], "missed": [0.1, np.nan]}
    row = scorecard.worst(pd.DataFrame(values, index)).loc["x"]
    assert row.tolist() == [0.2, 0.3, 0.9, 0.05, 0.1]


def test_mixtures_of_directions_reach_the_targets_of_a_single_axis():
    rng = np.random.default_rng(2)
    planes = Hyperplanes(("gender", "age"), rng.normal(size=(2, 6)), np.array([0.1, -0.2]))
    base = rng.normal(size=(5, 6))
    for share in (0, 0.5, 1):
        w = scorecard.between_directions(base, planes, ["gender"], [[-1.0, 2.0]], share)
        values = planes.decision_values(w).reshape(5, 2, 2)
        np.testing.assert_allclose(values[:, :, 0], np.tile([-1, 2], (5, 1)), atol=1e-12)
        drift = np.ptp(values[:, :, 1], axis=1)
        assert (drift < 1e-12).all() == (share == 0)


def test_more_raters_and_less_noise_make_better_labels():
    index = [f"image {k}" for k in range(300)]
    perceived = pd.DataFrame({"gender": np.random.default_rng(0).random(300)}, index=index)
    right = (perceived["gender"] >= 0.5).to_numpy()
    wrong = [
        (scorecard.labels_by(perceived, raters, noise, seed=1, stage="test") != right).mean()
        for raters, noise in ((1, 2.0), (1, 1.0), (15, 1.0))
    ]
    assert wrong[0] > wrong[1] > wrong[2]


def test_large_effects_that_are_seldom_found_are_named():
    table = pd.DataFrame(
        {
            "cell": ["seen"] * 4 + ["missed"] * 4 + ["small"] * 4,
            "truth": [0.2] * 4 + [-0.1] * 4 + [0.01] * 4,
            "estimate": [0.2] * 4 + [-0.1, -0.1, 0.1, -0.1] + [0.0] * 4,
            "flagged": [True] * 4 + [True, False, True, False] + [False] * 4,
        }
    )
    words = scorecard.say_seldom_found(table, 0.05)
    # Of the four audits one flags the effect with its sign; another with the wrong one.
    assert "*missed* (truth -10.0 points, found in 25% of audits)" in words
    assert words.startswith("Of 2 effects") and "*seen*" not in words and "*small*" not in words
    assert "each is found" in scorecard.say_seldom_found(table[table["cell"] == "seen"], 0.05)
