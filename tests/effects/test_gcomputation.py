"""G-computation against the package marginaleffects, and what its cells hold."""

import numpy as np
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from simulated import transect_frame

from helpers.effects import risk_differences
from helpers.effects.risks import adjusted_risks, corrected_influence, read_cells


@pytest.fixture(scope="module")
def frame():
    """Beards differ between images, seniority between transects; both columns are categorical."""
    rng = np.random.default_rng(0)
    frame = transect_frame(300, lambda skin, hair, gender: 0.1 + 0.1 * skin + 0.06 * hair, 1, 0.4)
    beard, senior = rng.integers(3, size=len(frame)), np.repeat(rng.integers(2, size=300), 8)
    more = rng.random(len(frame)) < 0.1 * beard
    frame["error"] = frame["error"].where(~more, 1)
    words = {"beard": np.array(["none", "some", "full"])[beard]}
    words["senior"] = np.array(["no", "yes"])[senior]
    return frame.assign(**words).astype({"beard": "category", "senior": "category"})


@pytest.mark.reference
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("treatment", ["skin_level", "hair_level"])
@pytest.mark.parametrize("adjust", [["beard"], ["beard", "senior"]])
def test_differences_and_errors_are_those_of_marginaleffects(frame, treatment, adjust):
    """Its delta method takes the covariates as given, which hardly matters here."""
    marginaleffects = pytest.importorskip("marginaleffects")
    formula = f"error ~ {treatment} + {' + '.join(adjust)}"
    clustered = {"cov_type": "cluster", "cov_kwds": {"groups": frame["transect"]}}
    model = smf.glm(formula, frame, family=sm.families.Binomial()).fit(tol=1e-12, **clustered)
    found = marginaleffects.avg_comparisons(model, variables={treatment: [0, 1]})

    (cell,), _ = read_cells(frame, "error", treatment, None, "transect", adjust)
    risks = adjusted_risks(cell)
    influence, _ = corrected_influence(cell, risks)
    se = np.sqrt((np.diff(influence, axis=1) ** 2).sum())
    np.testing.assert_allclose(np.diff(risks.risk), found["estimate"], atol=1e-8)
    np.testing.assert_allclose(se, found["std_error"], rtol=0.02)
    row = risk_differences(frame, "error", treatment, None, "transect", adjust).iloc[0]
    assert row["estimate"] == pytest.approx(np.diff(risks.risk)[0])


def test_the_error_of_a_difference_is_that_of_the_delta_method(frame):
    """By hand, from statsmodels' predictions and sandwich, for those who lack marginaleffects."""
    clustered = {"cov_type": "cluster", "cov_kwds": {"groups": frame["transect"]}}
    model = smf.glm("error ~ skin_level + beard", frame, family=sm.families.Binomial())
    fitted = model.fit(tol=1e-12, **clustered)
    gradient = []
    for level in (0, 1):
        X = model.exog.copy()
        X[:, model.exog_names.index("skin_level")] = level
        risk = 1 / (1 + np.exp(-X @ fitted.params))
        gradient.append((risk * (1 - risk)) @ X / len(X))
    slope = gradient[1] - gradient[0]
    se = np.sqrt(slope @ fitted.cov_params() @ slope)

    (cell,), _ = read_cells(frame, "error", "skin_level", None, "transect", ["beard"])
    influence, _ = corrected_influence(cell, adjusted_risks(cell))
    assert np.sqrt((np.diff(influence, axis=1) ** 2).sum()) == pytest.approx(se, rel=0.02)
