"""Adjusted differences of found portraits by other packages: the record that tests compare with.

Run it in an environment of its own, which has faceaudit and what it holds itself against:

    pip install . doubleml pysensemakr
    python benchmarks/adjusted_references.py

It draws portraits of people (`results/adjusted_portraits.csv`) and asks both packages about them
(`results/adjusted_references.csv`). DoubleML gets the folds of faceaudit, scikit-learn's logit with
its default penalty, and the same bound of propensities; its standard errors are those of people.
PySensemakr gets a linear regression of statsmodels. Neither package is a dependency of the library
or of its tests.
"""

from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
import sensemakr
from doubleml import DoubleMLData, DoubleMLIRM
from doubleml.utils import PSProcessorConfig
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, Ridge
from statsmodels.regression.linear_model import OLS

from faceaudit.effects.covariates import Covariates, read_levels
from faceaudit.effects.doubly_robust import SPLITS, deal_folds, propensity_bound
from faceaudit.effects.risks import Cell

RESULTS = Path(__file__).parent / "results"
SEED, PEOPLE, MOST = 20200715, 400, 3
"""Of the draw and the folds; people, and the most portraits of one."""
COVARIATES = ["hair", "age", "light"]
OUTCOMES = {"error": False, "years": True}
"""Outcome → whether it is a number without bounds."""
LOGIT = {"tol": 1e-12, "max_iter": 10_000}


def portraits() -> pd.DataFrame:
    """One to three portraits of each person: covariates, skin, an error, and years off."""
    random = np.random.default_rng(SEED)
    people = pd.DataFrame(
        {
            "person": np.arange(PEOPLE),
            "hair": random.choice(["long", "short"], PEOPLE),
            "age": random.choice(["adult", "old", "young"], PEOPLE),
            "own": random.standard_normal(PEOPLE),
        }
    )
    short = people["hair"] == "short"
    old = people["age"] == "old"
    dark = random.random(PEOPLE) < expit(-0.7 + short + 0.5 * old)
    people["skin"] = np.where(dark, "dark", "light")
    each = random.integers(1, MOST + 1, PEOPLE)
    frame = people.loc[people.index.repeat(each)].reset_index(drop=True)
    frame["light"] = random.standard_normal(len(frame)).round(3)
    is_short = frame["hair"] == "short"
    is_dark = frame["skin"] == "dark"
    log_odds = -1.8 + 0.8 * is_short + 0.6 * is_dark - 0.4 * frame["light"] + frame["own"]
    frame["error"] = (random.random(len(frame)) < expit(log_odds)).astype(int)
    years = 2 * is_short + 1.5 * is_dark + frame["own"] + random.standard_normal(len(frame))
    return frame.assign(years=years.round(3)).drop(columns="own")


def designs(frame: pd.DataFrame, outcome: str, is_number: bool) -> tuple[Cell, Covariates]:
    """The portraits as faceaudit reads them."""
    return read_levels(frame, outcome, "skin", COVARIATES, "person", is_number)


def by_doubleml(frame: pd.DataFrame, outcome: str, is_number: bool) -> dict[str, float]:
    """Estimate and standard error of AIPW, as means over the splits."""
    cell, known = designs(frame, outcome, is_number)
    columns = [f"x{place}" for place in range(known.design.shape[1])]
    table = pd.DataFrame(known.design, columns=columns)
    # The first level in alphabetical order is the low one.
    table["high"] = cell.arm
    table["outcome"] = cell.error
    table["person"] = cell.cluster
    samples = []
    samples_of_people = []
    for split in range(SPLITS["logistic"]):
        fold = deal_folds(cell, SEED, split)
        of_image = fold[cell.cluster]
        numbers = range(fold.max() + 1)
        samples.append(
            [(np.flatnonzero(of_image != one), np.flatnonzero(of_image == one)) for one in numbers]
        )
        samples_of_people.append(
            [([np.flatnonzero(fold != one)], [np.flatnonzero(fold == one)]) for one in numbers]
        )
    bound = propensity_bound(len(cell.present))
    model = DoubleMLIRM(
        DoubleMLData(table, "outcome", "high", cluster_cols="person", x_cols=columns),
        Ridge(alpha=1.0) if is_number else LogisticRegression(**LOGIT),
        LogisticRegression(**LOGIT),
        n_rep=len(samples),
        draw_sample_splitting=False,
        ps_processor_config=PSProcessorConfig(clipping_threshold=bound),
    )
    model.set_sample_splitting(samples, all_smpls_cluster=samples_of_people)
    model.fit()
    return {"estimate": float(model.all_coef.mean()), "se": float(model.all_se.mean())}


def by_sensemakr(frame: pd.DataFrame, outcome: str, is_number: bool) -> dict[str, float]:
    """Robustness value and benchmarks of a linear regression."""
    cell, known = designs(frame, outcome, is_number)
    groups: dict[str, list[str]] = {}
    columns = {"const": np.ones(len(cell.arm)), "high": cell.arm.astype(float)}
    for name in COVARIATES:
        alone = known.among([name]).design
        groups[name] = [f"{name}{place}" for place in range(alone.shape[1])]
        columns |= dict(zip(groups[name], alone.T, strict=True))
    fit = OLS(pd.Series(cell.error), pd.DataFrame(columns)).fit()
    # What the package fits itself has the constant twice.
    fit_of_level = OLS(columns["high"], pd.DataFrame(columns).drop(columns="high")).fit()
    stats = sensemakr.sensitivity_stats(model=fit, treatment="high")
    found = {
        "slope": float(stats["estimate"]),
        "partial R2": float(stats["r2yd_x"]),
        "robustness value": float(stats["rv_q"]),
    }
    for name, group in groups.items():
        bound = sensemakr.ovb_partial_r2_bound(
            r2dxj_x=sensemakr.group_partial_r2(model=fit_of_level, covariates=group),
            r2yxj_dx=sensemakr.group_partial_r2(model=fit, covariates=group),
        ).iloc[0]
        shares = {"r2dz_x": bound["r2dz_x"], "r2yz_dx": bound["r2yz_dx"]}
        slope = sensemakr.adjusted_estimate(model=fit, treatment="high", **shares)
        found[f"with level, {name}"] = float(bound["r2dz_x"])
        found[f"with outcome, {name}"] = float(bound["r2yz_dx"])
        found[f"adjusted slope, {name}"] = float(slope)
    return found


def main() -> None:
    frame = portraits()
    frame.to_csv(RESULTS / "adjusted_portraits.csv", index=False, lineterminator="\n")
    # As the tests read it.
    frame = pd.read_csv(RESULTS / "adjusted_portraits.csv")
    rows = []
    for package, ask in {"doubleml": by_doubleml, "pysensemakr": by_sensemakr}.items():
        version = metadata.version(package)
        for outcome, is_number in OUTCOMES.items():
            for quantity, value in ask(frame, outcome, is_number).items():
                row = {"outcome": outcome, "quantity": quantity, "value": value}
                rows.append({"package": package, "version": version, **row})
    record = pd.DataFrame(rows)
    record.to_csv(RESULTS / "adjusted_references.csv", index=False, lineterminator="\n")
    print(record.to_string())


if __name__ == "__main__":
    main()
