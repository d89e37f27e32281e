"""The verification study put together: recognisers, labelled planes, rated and audited pairs.

Chapter 11 says what is done and why; here it is done (Liang et al. 2023, sections 3 and 4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from scipy.special import stdtrit
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from helpers import faces, identities, models, verification
from helpers.annotations import crowd_pairs
from helpers.annotations import pairs as pair_tasks
from helpers.directions import Hyperplanes
from helpers.faces import interventions
from helpers.faces.batches import render_to_store

GROUPS = identities.GROUPS


@dataclass(frozen=True)
class People:
    """Invented people in several images each.

    Attributes:
        images: uint8 (n, 3, size, size), heads on white.
        person: (n,) number of the identity.
        group: (n,) one of `identities.GROUPS`.
    """

    images: np.ndarray
    person: np.ndarray
    group: np.ndarray


def render_people(
    wanted: Mapping[str, int], images_each: int, size: int, path: Path, *, seed: int, device: str
) -> People:
    """Draw identities, so many of each group, and render them."""
    parameters, person, frame = identities.identity_set(wanted, images_each, seed=seed)
    return People(render(parameters, size, path, device), person, frame["group"].to_numpy())


def render(parameters: Tensor, size: int, path: Path, device: str) -> np.ndarray:
    """Heads on white, uint8 (n, 3, size, size), kept at `path`."""
    return render_to_store(parameters, size, path, device=device, render=identities.render_heads)


def train(
    pool: People,
    fresh: People,
    n: int,
    epochs: int,
    path: Callable[[str], Path],
    *,
    seed: int,
    device: str,
) -> dict[str, models.Recogniser]:
    """Train the four recognisers, each on n identities of the pool in its own composition.

    Args:
        pool: supplies `identities.pool_composition(n)`.
        fresh: other people, on whom the equal error rate is measured.
        path: of a file by its name, `Stage.path`; each recogniser leaves weights and settings.
    """
    frame = pd.DataFrame({"identity": pool.person, "group": pool.group})
    sets = identities.draw_sets(frame, n, seed=seed)
    jobs = []
    for name, design in identities.RECOGNISERS.items():
        rows = sets[name]
        jobs.append(
            {
                "images": pool.images[rows],
                "labels": pool.person[rows],
                "path": path(f"{name}.safetensors"),
                "loss": design.loss,
                "epochs": epochs,
                "seed": seed,
                "held_out": (fresh.images, fresh.person),
                "device": device,
            }
        )
        path(f"{name}.json")  # the training writes it beside the weights
    trained = models.train_recognisers(jobs)
    return dict(zip(identities.RECOGNISERS, trained, strict=True))


def threshold_at(embedder: models.Recogniser, people: People, fmr: float) -> float:
    """The similarity that a share `fmr` of the pairs of different people reaches."""
    vectors = embedder(people.images)
    first, second = np.triu_indices(len(vectors), 1)
    other = people.person[first] != people.person[second]
    alike = np.einsum("nd,nd->n", vectors[first[other]], vectors[second[other]])
    return float(np.quantile(alike, 1 - fmr))


def labelled_planes(
    embedder: models.Recogniser,
    people: People,
    codes: Tensor,
    parameters: Tensor,
    labelled: np.ndarray,
    n_raters: int,
    *,
    seed: int,
    stage: str,
) -> dict[str, Hyperplanes]:
    """Group planes from a classifier's labels and from a crowd's.

    Args:
        embedder: its vectors of `people` teach a logistic classifier the groups.
        codes: latents (n, D).
        parameters: of the faces of the codes, (n, P).
        labelled: images of the first of these, (m, 3, size, size), which the classifier labels.
        n_raters: of the crowd.

    Returns:
        Planes of "classifier" and "crowd", from the same m faces, and "crowd, all samples".
    """
    ancestry, male = identities.split(people.group)
    known, seen = embedder(people.images), embedder(labelled)
    # The people are mostly of one group; a classifier that counts them all alike names no other.
    classifier = LogisticRegression(max_iter=1000, class_weight="balanced")
    said = classifier.fit(known, male).predict_proba(seen)[:, 1]
    named = classifier.fit(known, ancestry).predict(seen)
    named = np.array([identities.ANCESTRIES.index(name) for name in named])
    keys = {"seed": seed, "stage": stage}
    items = range(len(parameters))
    gender = identities.crowd_scores(parameters, ["gender"], items, n_raters, **keys)["gender"]
    group = identities.perceived_ancestry(parameters, items, n_raters, **keys)
    few = slice(len(labelled))
    return {
        "classifier": identities.group_planes(codes[few], said, named),
        "crowd": identities.group_planes(codes[few], gender[few], group[few]),
        "crowd, all samples": identities.group_planes(codes, gender, group),
    }


def landmarks(parameters: Tensor, size: int, chunk: int = 128) -> np.ndarray:
    """Landmarks of the faces, (n, points, 2)."""
    parts = [faces.render(part, size).landmarks for part in parameters.split(chunk)]
    return torch.cat(parts).numpy()


def rate_pairs(
    parameters: Tensor, pairs: pd.DataFrame, path: Path, n_raters: int, *, seed: int, stage: str
) -> pair_tasks.PairRatings:
    """Let a simulated crowd compare the faces of pairs, through a Label Studio export.

    Args:
        parameters: of all images, (n, P).
        pairs: as of `identities.pairs`, named by `pair_tasks.pair_ids`.
        path: of the export.
    """
    ends = [parameters[torch.tensor(pairs[side].tolist())] for side in ("first", "second")]
    apart = pd.Series(crowd_pairs.identity_distance(*ends), pairs.index)
    turned = np.abs(np.subtract(*(end[:, faces.INDEX["yaw"]].numpy() for end in ends)))
    answers = crowd_pairs.annotate_pairs(
        apart, pd.Series(turned, pairs.index), n_raters, seed=seed, stage=stage
    )
    pair_tasks.write_pair_export(answers, path, pairs)
    return pair_tasks.read_pair_export(path, pairs, n_raters)


def rater_accuracy(pairs: pd.DataFrame, ratings: ArrayLike) -> pd.DataFrame:
    """Share of single ratings on the true side of "not sure", by kind of pair and group.

    Args:
        pairs: columns kind, group and seed_first, (n, ...).
        ratings: (n, raters).

    Returns:
        Index kind and group; columns mean, low, high (95 % Student interval over seeds), seeds.
    """
    ratings = np.asarray(ratings)
    same = (pairs["kind"] == "positive").to_numpy()[:, None]
    right = np.where(same, ratings < 2, ratings > 2).mean(axis=1)
    keys = ["kind", "group", "seed_first"]
    by_seed = pairs.assign(right=right).groupby(keys)["right"].mean()
    table = by_seed.groupby(["kind", "group"]).agg(["mean", "sem", "size"])
    half = stdtrit(table["size"] - 1, 0.975) * table["sem"]
    bounds = {"low": table["mean"] - half, "high": table["mean"] + half}
    table = table.assign(**bounds, seeds=table["size"])
    return table[["mean", "low", "high", "seeds"]].reindex(GROUPS, level="group")


@dataclass(frozen=True)
class Audit:
    """The pairs of the study, with what people and recognisers say of them.

    Attributes:
        pairs: as of `identities.pairs`, one row a pair.
        similarity: recogniser → (n,), of these pairs.
        thresholds: recogniser → similarity from which it calls a pair a match.
        n_boot, seed: of the bootstrap of seeds.
    """

    pairs: pd.DataFrame
    similarity: Mapping[str, np.ndarray]
    thresholds: Mapping[str, float]
    n_boot: int
    seed: int

    def of(self, name: str, is_match: pd.Series, attribute: str = "all") -> dict[str, object]:
        """Arguments for `helpers.verification`: pairs of one attribute, prototypes among them."""
        wanted = self.pairs["attribute"].isin([attribute, "prototype"]) | (attribute == "all")
        table = self.pairs[wanted]
        return {
            "similarity": self.similarity[name][wanted],
            "is_match": is_match[table.index].to_numpy(),
            "group": pd.Categorical(table["group"], GROUPS),
        }

    def vertices(self, attribute: str = "all") -> np.ndarray:
        """Seeds of the pairs that `of` gives, (m, 2)."""
        wanted = self.pairs["attribute"].isin([attribute, "prototype"]) | (attribute == "all")
        return self.pairs.loc[wanted, ["seed_first", "seed_second"]].to_numpy()

    def bands(
        self, is_match: pd.Series, attributes: Sequence[str] = ("all",)
    ) -> list[pd.DataFrame]:
        """Curves with bands, FNMR at FMR, and errors at the recognisers' thresholds.

        Each of all recognisers and attributes, which are named in columns.
        """
        tables = []
        for attribute in attributes:
            keys = {"vertices": self.vertices(attribute), "n_boot": self.n_boot, "seed": self.seed}
            for name, threshold in self.thresholds.items():
                given = self.of(name, is_match, attribute)
                found = verification.vertex_bootstrap(**given, **keys)
                fixed = verification.fixed_threshold(**given, threshold=threshold)
                parts = found.curves, found.at_fmr, fixed
                tables.append([part.assign(recogniser=name, attribute=attribute) for part in parts])
        return [pd.concat(each, ignore_index=True) for each in zip(*tables, strict=True)]

    def sweep(self, name: str, is_match: pd.Series, n: int = 7) -> pd.DataFrame:
        """Rates of one recogniser at its threshold and at n lower and n higher ones, with bands.

        The lowest accepts half of the negatives, the highest rejects nine in ten positives. Columns
        as `verification.Bands.curves`.
        """
        given, fixed = self.of(name, is_match), self.thresholds[name]
        low = min(np.median(given["similarity"][~given["is_match"]]), fixed)
        high = max(np.quantile(given["similarity"][given["is_match"]], 0.9), fixed)
        thresholds = [np.linspace(low, fixed, n + 1), np.linspace(fixed, high, n + 1)[1:]]
        return verification.vertex_bootstrap(
            **given,
            vertices=self.vertices(),
            n_boot=self.n_boot,
            seed=self.seed,
            thresholds=np.concatenate(thresholds),
        ).curves

    def gaps(
        self, is_match: pd.Series, *, fmr: float, tolerance: float, reference: str
    ) -> pd.DataFrame:
        """`verification.disparities` of all recognisers."""
        tables = [
            verification.disparities(
                **self.of(name, is_match),
                vertices=self.vertices(),
                threshold=threshold,
                tolerance=tolerance,
                fmr=fmr,
                reference=reference,
                n_boot=self.n_boot,
                seed=self.seed,
            ).assign(recogniser=name)
            for name, threshold in self.thresholds.items()
        ]
        return pd.concat(tables, ignore_index=True)

    def composition_effects(self, is_match: pd.Series) -> pd.DataFrame:
        """`verification.composition_effects` of the skewed recognisers' FNMR and FMR.

        A group is familiar to a recogniser whose training set shows it more often than the average.

        Returns:
            Index recogniser, measure ("FNMR", "FMR") and row ("recogniser", "control",
            "difference").
        """
        match = is_match[self.pairs.index].to_numpy(bool)
        ends = self.pairs[["seed_first", "seed_second"]].to_numpy()
        group = pd.Categorical(self.pairs["group"], GROUPS)
        accepted = {
            name: self.similarity[name] >= threshold for name, threshold in self.thresholds.items()
        }
        tables = {}
        for name in [name for name in self.thresholds if name != identities.CONTROL]:
            shares = identities.RECOGNISERS[name].shares
            familiar = [label for label in GROUPS if shares[label] > 1 / len(GROUPS)]
            for measure, rows in (("FNMR", match), ("FMR", ~match)):
                errors = [accepted[one][rows] != match[rows] for one in (name, identities.CONTROL)]
                tables[name, measure] = verification.composition_effects(
                    *errors, group[rows], ends[rows], familiar
                )
        return pd.concat(tables, names=["recogniser", "measure", "row"])

    def rates(self, name: str, is_match: pd.Series) -> pd.Series:
        """`error_rates` of one recogniser at its threshold, all groups together."""
        given = self.of(name, is_match)
        return error_rates(
            given["similarity"],
            given["is_match"],
            self.vertices(),
            self.thresholds[name],
            n_boot=self.n_boot,
            seed=self.seed,
        )


def error_rates(
    similarity: ArrayLike,
    is_match: ArrayLike,
    vertices: ArrayLike,
    threshold: float,
    *,
    n_boot: int,
    seed: int,
) -> pd.Series:
    """FNMR and FMR of all pairs at one threshold with 95 % intervals by `vertex_bootstrap`.

    Entries fnmr, fnmr_low, fnmr_high, fmr, fmr_low, fmr_high.
    """
    group = np.full(len(np.asarray(similarity)), "all")
    bands = verification.vertex_bootstrap(
        similarity, is_match, group, vertices, n_boot=n_boot, seed=seed, thresholds=[threshold]
    )
    ends = [f"{rate}{end}" for rate in ("fnmr", "fmr") for end in ("", "_low", "_high")]
    return bands.curves.iloc[0][ends].astype(float)


def groups_under_do(base: Tensor, yaws: Sequence[float]) -> Tensor:
    """Faces with the group set by intervention, and turned: (groups · yaws · n, P).

    Perceived gender and the place in the ancestry plane are set; nothing else changes.
    """
    ancestry, male = identities.split(GROUPS)
    rows = [
        interventions.do(
            base, gender=0.9 if man else 0.1, ancestry_x=x, ancestry_y=y, yaw=float(yaw)
        )
        for man, (x, y) in zip(male, identities.ancestry_point(ancestry), strict=True)
        for yaw in yaws
    ]
    return torch.cat(rows)


def fnmr_under_do(
    embedder: models.Recogniser, pictures: np.ndarray, n: int, threshold: float
) -> pd.DataFrame:
    """FNMR of each of n faces (rows) by group (columns), from images of `groups_under_do`.

    The first yaw is compared with the others.
    """
    vectors = embedder(pictures)
    vectors = vectors.reshape(len(GROUPS), -1, n, vectors.shape[-1])
    alike = np.einsum("gnd,gynd->gyn", vectors[:, 0], vectors[:, 1:])
    return pd.DataFrame((alike < threshold).mean(axis=1).T, columns=list(GROUPS))


def paired_difference(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Mean of first - second over rows (seeds), per column, with 95 % Student intervals.

    Rows with a missing value in either do not count. Returns columns first, second, estimate, low,
    high and seeds; there is no interval (NaN) where nothing varies between rows.
    """
    difference = first - second
    n = difference.notna().sum()
    error = difference.sem()
    half = stdtrit(n - 1, 0.975) * error.where(error > 0)
    both = difference.notna()
    estimate = difference.mean()
    table = {"first": first[both].mean(), "second": second[both].mean(), "estimate": estimate}
    return pd.DataFrame(table | {"low": estimate - half, "high": estimate + half, "seeds": n})
