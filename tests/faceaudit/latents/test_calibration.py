"""Against a world that is linear in logits, in which every step can be worked out."""

import numpy as np
import pandas as pd
import statsmodels.api as sm
import torch
from scipy.special import expit, logit

import facerender
from faceaudit.latents import calibration, directions
from faceworld import crowd, raters


def test_rounds_bring_cells_to_their_goals_and_hold_the_rest():
    rng = np.random.default_rng(0)
    faces = rng.normal(0, 0.3, (2000, 1, 2))
    codes = np.array([[-1.0, 0.4], [1.5, -0.4]])  # the second attribute leaks along the first
    for _ in range(8):
        seen = pd.DataFrame(expit(faces + codes).reshape(-1, 2), columns=["axis", "other"])
        codes = codes + calibration.step_to_targets(seen, 2, {"axis": [0.2, 0.9]}).to_numpy()
    axis, other = expit(faces + codes).mean(axis=0).T
    np.testing.assert_allclose([*axis, other[0]], [0.2, 0.9, other[1]], atol=1e-3)


def test_measures_move_by_what_they_lack_and_steps_have_a_limit():
    seen = pd.DataFrame({"jaw": [0.1, -0.1, 0.1, -0.1], "nose": [5.0, -5.0, 5.0, -5.0]})
    step = calibration.step_to_targets(seen, 2, {}, gain=0.5, measures=["jaw", "nose"])
    np.testing.assert_allclose(step["jaw"], [-0.05, 0.05])
    np.testing.assert_allclose(step["nose"].abs(), 0.6)


def test_neutral_faces_move_by_what_is_not_noise():
    rng = np.random.default_rng(1)
    true = rng.normal(0, 0.06, 50_000)
    error = 0.08**2
    scores = pd.DataFrame({"gender": 0.5 + true + rng.normal(0, 0.08, len(true))})
    step = calibration.center_neutral(scores, pd.DataFrame({"gender": [error]}))["gender"]
    slope = np.polyfit(scores["gender"], step, 1)[0]
    reliability = 0.06**2 / (0.06**2 + error)
    np.testing.assert_allclose(slope, -calibration.STEP_SHARE * reliability / 0.25, rtol=0.03)
    none = calibration.center_neutral(scores, pd.DataFrame({"gender": [1.0]}))["gender"]
    assert (none == 0).all()  # all that is seen is noise


def test_a_transect_whose_hair_shows_no_length_is_not_ordinary():
    scores = pd.DataFrame({"hair_length": np.tile([0.2, 0.8], 20), "gender": 0.5})
    scores.loc[7, "hair_length"] = 0.1
    assert calibration.is_inlier(scores, 2).tolist() == [k != 3 for k in range(20)]
    assert calibration.is_inlier(scores[scores.index % 2 == 1]).sum() == 19


def test_a_logit_of_one_is_a_step_of_one():
    step = calibration.step_to_targets(
        pd.DataFrame({"age": [0.5, 0.52]}), 2, {"age": 0.51}, gain=1.0
    )
    np.testing.assert_allclose(step["age"].iloc[0], logit(0.51) - logit(0.5), rtol=0.02)


def test_a_fractional_logit_agrees_with_statsmodels_and_holds_on_new_faces():
    rng = np.random.default_rng(5)
    w, fresh = rng.standard_normal((2, 1200, 250))
    slope = rng.normal(0, 0.08, 250)

    def rated(codes):  # the mean of five yes and no
        return rng.binomial(5, expit(codes @ slope + 0.4)) / 5

    y = rated(w)
    plane = directions.fit_fractional(w, pd.DataFrame({"age": y}))
    model = sm.GLM(y, sm.add_constant(w), family=sm.families.Binomial())
    penalty = np.r_[0, np.full(250, directions.LOGIT_PENALTY / len(w))]
    reference = model.fit_regularized(alpha=penalty, L1_wt=0, maxiter=2000)
    normal = reference.params[1:]
    scale = plane.normals[0] @ normal / (normal @ normal)
    np.testing.assert_allclose(plane.normals[0], scale * normal, atol=2e-4)
    assert 0.5 < scale < 1
    index = sm.add_constant(plane.decision_values(fresh))
    calibrated = sm.GLM(rated(fresh), index, family=sm.families.Binomial()).fit()
    assert abs(calibrated.params[1] - 1) < 0.15
    assert 0.2 < plane.scores["age"] < 0.6


LEVELS = {"skin": [0, 0, 1, 1], "hair": [0, 1, 0, 1]}


def test_leaks_are_mean_changes_with_a_limit_that_holds():
    rng = np.random.default_rng(6)
    exceeded = 0
    for _ in range(400):
        seen = rng.normal(0, 1, (50, 4))
        seen[:, 2:] += 0.3  # along skin
        table = calibration.leaks(pd.DataFrame({"jaw": seen.ravel()}), LEVELS)
        change = (seen[:, 2:].mean(axis=1) - seen[:, :2].mean(axis=1)).mean()
        np.testing.assert_allclose(table.loc[("jaw", "skin"), "change"], change)
        exceeded += table.loc[("jaw", "skin"), "upper"] < 0.3
    assert 0.02 < exceeded / 400 < 0.09  # a one-sided limit of 95%


def test_the_spread_of_doses_is_free_of_the_raters_noise_at_its_level():
    rng = np.random.default_rng(7)
    offsets = rng.normal(0, 0.02, (4000, 1)) * np.array([1.0, 1, 0, 0])
    noise = rng.normal(0, sizes := np.array([0.04, 0.04, 0.08, 0.08]), (4000, 4))
    scores = pd.DataFrame({"skin": (offsets + noise).ravel(), "hair": noise.ravel()})
    error = pd.DataFrame(dict.fromkeys(LEVELS, np.tile(sizes**2, 4000)))
    spread = calibration.dose_spread(scores, error, LEVELS)
    np.testing.assert_allclose(spread.loc[("skin", 0), "sd"], 0.02, rtol=0.1)
    assert spread.loc[("skin", 0), "upper"] > 0.02 > spread.loc[("skin", 1), "upper"]


def test_observers_are_unbiased_and_a_crop_hides_the_hair():
    faces = facerender.defaults(600)
    faces[:, facerender.INDEX["hair_length"]] = torch.linspace(0, 1, 600)
    full, crops = (
        raters.rate_faces(faces, 9, seed=1, stage="test", seen_as=how)["gender"]
        for how in (crowd.perceived, raters.perceived_on_crops)
    )
    slopes = [np.polyfit(np.linspace(0, 1, 600), scores, 1)[0] for scores in (full, crops)]
    assert slopes[0] < -0.1 and abs(slopes[1]) < 0.05
    assert raters.loose_hair(faces).all()
    population = facerender.defaults(500)
    population[:, facerender.INDEX["jaw_width"]] += torch.linspace(-1, 1, 500)
    measures = raters.measure_faces(population, population, seed=1, stage="test")["jaw_width"]
    assert abs(measures.mean()) < 0.2 and 1.2 < measures.std() < 1.7  # of one, with an error of one
