"""Sealed models of a league: nobody has seen them, and their true effects are known exactly.

A model errs on an image with probability expit(a + face effect + f(true visible scores)). The face
effect is normal and the same for all images of a face. f has one of six forms, and to it eight
numbers of the model's own are added, one for each combination of the axes' levels. The forms are
public and the numbers are not, so a team that fits a form instead of looking at pairs misses them.
Everything that is drawn follows from HMAC-SHA256 of the league's secret key over team, model, face
and purpose, so teams share no face, no model and no sign of an effect, and no seed of the book
leads to any of them.

The six forms are one each for a team's models, in an order that follows from the key:

- null: no effect of any axis;
- skin: the same effect of skin colour for everybody;
- cancelling by gender: an effect of skin colour whose sign differs between women and men;
- one cell: an effect of skin colour for one combination of gender and hair;
- hair only: an effect of hair length on women, which portraits blame on skin;
- stowaway: an effect of makeup, which portraits blame on gender. Faces keep their own makeup here,
  and transects do not change it.

Images are made by `faceworld.interventions.do`, so they reach their doses exactly, and nobody draws
them: a model looks at the visible scores. A delivered error is a disagreement with the raters'
majority, as in the book's chapters; the truth, as there, is about the gender that was set.
"""

import hmac
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pandas as pd
import torch
from scipy.special import expit, ndtr, ndtri
from statsmodels.stats.proportion import confint_proportions_2indep

import facerender
from course.scoring import AXES, KEYS, MODELS, TOLERANCE, rows
from faceaudit import effects
from faceaudit.effects import error_rates
from faceaudit.effects.pruning import PAPER_RULES, prune
from faceaudit.effects.verdicts import Z
from faceaudit.latents.directions import Hyperplanes
from faceaudit.latents.transects import base_latents, index
from faceworld import crowd, populations
from faceworld.interventions import counterfactuals
from faceworld.known_truth import KnownTruthGenerator
from faceworld.raters import loose_hair
from faceworld.scorecard import truth

KINDS = ("null", "skin", "cancelling by gender", "one cell", "hair only", "stowaway")
DOSES = {"skin_colour": (0.2, 0.85), "hair_length": (0.2, 0.7), "gender": (0.08, 0.9)}
"""Visible scores at the low and at the high level."""
ADULT = 0.45
"""Least score of age of a face."""
LITTLE_BEARD = 0.1
"""The score at which beards are held: raters take the label from them."""
OWN = 0.4
"""Standard deviation of the eight numbers. Without it, a form fitted to the free pilot is often
nearer to the truth than the pairs of an order."""
SPREAD = 2.0
"""Standard deviation of the face effect, which all eight images of a face share."""
BASE = (-3.5, -2.5)
"""Range of a, in log odds."""
SIZE = (2.5, 3.5)
"""Range of the size of f, in log odds."""
NUISANCE = (1.0, 2.0)
"""Range of the slopes of age and smiling in f."""
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)


@dataclass(frozen=True)
class Model:
    """One sealed model; sizes are in log odds and have signs."""

    kind: str
    base: float
    size: float
    age: float
    smiling: float
    woman: bool
    short: bool
    by_cell: tuple[float, ...]

    def log_odds(self, visible: pd.DataFrame) -> np.ndarray:
        """Log odds of an error without the face effect, (n,), by scores that are truly visible."""
        skin = (visible["skin_colour"] - np.mean(DOSES["skin_colour"])) / 0.65
        hair = (visible["hair_length"] - np.mean(DOSES["hair_length"])) / 0.5
        woman = visible["gender"] < error_rates.STRATA["gender"][0][0]
        short = visible["hair_length"] < error_rates.STRATA["hair_length"][0][0]
        inside = (woman == self.woman) & (short == self.short)
        pattern = {
            "null": 0 * skin,
            "skin": skin,
            "cancelling by gender": skin * np.where(woman, 1, -1),
            "one cell": skin * inside,
            "hair only": hair * woman,
            "stowaway": 2 * (visible["makeup"] - 0.25),
        }[self.kind]
        nuisance = self.age * (visible["age"] - 0.6) + self.smiling * (visible["smiling"] - 0.6)
        low = [visible[axis] < error_rates.STRATA[axis][0][0] for axis in AXES]
        cell = np.ravel_multi_index(np.array(low, int), (2, 2, 2))
        extra = np.take(self.by_cell, cell)
        return (self.base + self.size * pattern + nuisance + extra).to_numpy()


@cache
def _world() -> KnownTruthGenerator:
    return KnownTruthGenerator()


@dataclass(frozen=True)
class Seal:
    """What a team's models, faces and raters follow from.

    Args:
        key: the league's secret.
        team: its name.
    """

    key: bytes
    team: str

    def number(self, *purpose: object) -> int:
        """A number of 256 bits for this purpose alone."""
        message = "/".join(map(str, (self.team, *purpose))).encode()
        return int.from_bytes(hmac.digest(self.key, message, "sha256"), "big")

    def uniform(self, *purpose: object) -> float:
        """A draw from (0, 1) for this purpose alone."""
        return (self.number(*purpose) % 2**52 + 0.5) / 2**52

    def _between(self, ends: tuple[float, float], *purpose: object) -> float:
        return ends[0] + (ends[1] - ends[0]) * self.uniform(*purpose)

    def _signed(self, ends: tuple[float, float], *purpose: object) -> float:
        return self._between(ends, *purpose) * (1 if self.uniform(*purpose, "sign") < 0.5 else -1)

    @cached_property
    def models(self) -> dict[str, Model]:
        """The team's models by name."""
        kinds = sorted(KINDS, key=lambda kind: self.number("order", kind))
        return {
            name: Model(
                kind,
                base=self._between(BASE, name, "base"),
                size=self._signed(SIZE, name, "size"),
                age=self._signed(NUISANCE, name, "age"),
                smiling=self._signed(NUISANCE, name, "smiling"),
                woman=self.uniform(name, "woman") < 0.5,
                short=self.uniform(name, "short") < 0.5,
                by_cell=tuple(OWN * ndtri(self.uniform(name, "own", k)) for k in range(8)),
            )
            for name, kind in zip(MODELS, kinds, strict=True)
        }

    def adults(self, purpose: str, n: int) -> torch.Tensor:
        """Base faces (n, P) by the book's recipe; beards are held, all else is as drawn."""
        world = _world()
        names = (*AXES, "facial_hair", "age")
        planes = Hyperplanes(names, *world.exact_hyperplanes(names))
        codes = base_latents(
            world,
            planes,
            AXES,
            n * 9 // 8 + 16,  # a few have tied or covered hair
            youngest=float(world.decision_value("age", ADULT)),
            held={"facial_hair": float(world.decision_value("facial_hair", LITTLE_BEARD))},
            seed=self.number("faces", purpose),
            stage="league",
        )
        faces = world.parameters(torch.from_numpy(codes))
        return faces[loose_hair(faces)][:n]

    def transects(self, purpose: str, n: int, raters: int, first: int = 0) -> pd.DataFrame:
        """Transects as a team gets them.

        Args:
            purpose: another one has other faces.
            n: number of transects, eight images each.
            raters: of every image.
            first: number of the first transect.

        Returns:
            A row per image: image_id, transect, `<axis>_level`, the raters' mean scores, label
            (their majority on gender), and error_<model>: whether the answer differs from it.
        """
        table = index(n, DOSES).drop(columns=[f"{axis}_decision" for axis in AXES])
        table["transect"] += first
        cells = table["image_id"].str.partition("_")[2]
        table["image_id"] = table["transect"].map("{:05d}_".format) + cells
        faces = counterfactuals(self.adults(purpose, n), DOSES).reshape(8 * n, -1)
        return self._asked(table, faces, table["gender_level"], table["transect"], purpose, raters)

    def portraits(self, n: int, raters: int) -> pd.DataFrame:
        """Found portraits, in which skin and hair go together: as `transects`, without a design."""
        faces = populations.sample("ppb-like", n, self.number("portraits")).parameters
        table = pd.DataFrame({"image_id": [f"portrait_{k:05d}" for k in range(n)]})
        looks = crowd.perceived(facerender.visible_scores(faces))["gender"]
        return self._asked(
            table, faces, error_rates.majority(looks), table["image_id"], "portraits", raters
        )

    def _asked(
        self,
        table: pd.DataFrame,
        faces: torch.Tensor,
        right: pd.Series,
        face: pd.Series,
        purpose: str,
        raters: int,
    ) -> pd.DataFrame:
        """Add what raters say and how the models err; `right` is what a model should answer."""
        visible = facerender.visible_scores(faces).set_axis(table["image_id"])
        seed = self.number("raters", purpose)
        answers = crowd.annotate(crowd.perceived(visible), raters, seed=seed, stage="league")
        scores = crowd.mean_scores(answers).reindex(visible.index)
        table = table.join(scores.round(4), on="image_id")
        table["label"] = error_rates.majority(scores["gender"]).to_numpy()
        mislabelled = (table["label"] != right).to_numpy()
        for name, model in self.models.items():
            effects_of_faces = {
                number: ndtri(self.uniform(name, "face", purpose, number))
                for number in face.unique()
            }
            effect = face.map(effects_of_faces).to_numpy()
            chance = expit(model.log_odds(visible) + SPREAD * effect)
            draw = [self.uniform(name, "image", purpose, image) for image in table["image_id"]]
            table[f"error_{name}"] = ((np.array(draw) < chance) != mislabelled).astype(int)
        return table

    def truth(self, n: int) -> pd.DataFrame:
        """True effects on the error rate, the face effect integrated, over n fresh adults.

        Returns:
            In the order of `course.scoring.rows`, with effect and se, the standard error from the
            draw of faces.
        """
        faces = counterfactuals(self.adults("truth", n), DOSES).reshape(8 * n, -1)
        visible = facerender.visible_scores(faces)
        tables = []
        for name, model in self.models.items():
            chance = expit(model.log_odds(visible)[:, None] + SPREAD * NODES)
            risk = chance @ (WEIGHTS / WEIGHTS.sum())
            tables.append(truth.true_effects(truth.as_grid(risk), AXES).assign(model=name))
        return _in_order(pd.concat(tables))[[*KEYS, "effect", "se"]]

    def references(self, portraits: pd.DataFrame, raters: int) -> dict[str, pd.DataFrame]:
        """Verdicts of scripted teams: by pairs, by cells, by counting, and by no work at all.

        Args:
            portraits: of this team's pilot.
            raters: of an image of the scripted teams' own transects.

        Returns:
            Entry → verdict.
        """
        table = self.transects("references", max(MATCHED), raters)
        entries = {f"matched {n}": matched(table[table["transect"] < n]) for n in MATCHED}
        entries["cells, images as independent"] = counted(table)
        clear, _ = prune(portraits, {"gender": PAPER_RULES["gender"]})
        entries["counting portraits"] = counted(with_levels(clear))
        entries["main effects"] = matched(table, by_cell=False)
        silent = rows().assign(estimate=0.0, low=0.0, high=0.0, p_beyond=0.0)
        entries["zero"] = silent
        entries["[−1, 1]"] = silent.assign(low=-1.0, high=1.0, p_beyond=0.5)
        return entries


MATCHED = (400, 200, 100)
"""Transects of the scripted teams that analyse pairs."""
OTHERS = {axis: [other for other in AXES if other != axis] for axis in AXES}
FEW = 30
"""Images of a group below which the scripted teams that count say nothing about it."""


def matched(table: pd.DataFrame, by_cell: bool = True) -> pd.DataFrame:
    """A verdict by matched pairs.

    Args:
        table: transects as a team gets them.
        by_cell: or one effect of an attribute for all its cells.
    """
    tables = []
    for name in MODELS:
        for attribute in AXES:
            by = {f"{other}_level": other for other in OTHERS[attribute] if by_cell}
            columns = f"error_{name}", f"{attribute}_level", list(by), "transect"
            pairs = effects.matched_effects(table, *columns, TOLERANCE).reset_index()
            pairs = pairs.rename(columns=by)[[*by.values(), "estimate", "low", "high"]]
            tables.append(pairs.assign(model=name, attribute=attribute))
    return _with_chance(_in_order(pd.concat(tables), KEYS if by_cell else KEYS[:2]))


def counted(table: pd.DataFrame) -> pd.DataFrame:
    """A verdict by differences of error rates, images taken as independent (Newcombe).

    Args:
        table: images with `<axis>_level` and error_<model>. Fewer than `FEW` in a group say
            nothing.
    """
    claims = []
    for row in rows().to_dict("records"):
        alike = [table[f"{axis}_level"] == row[axis] for axis in OTHERS[row["attribute"]]]
        sides = table[np.logical_and(*alike)].groupby(f"{row['attribute']}_level")
        sides = sides[f"error_{row['model']}"].agg(["sum", "size"])
        if len(sides) < 2 or sides["size"].min() < FEW:
            claims.append({"estimate": 0.0, "low": -1.0, "high": 1.0})
            continue
        (errors, images), (errors_high, images_high) = sides.to_numpy()
        low, high = confint_proportions_2indep(
            errors_high, images_high, errors, images, method="newcomb"
        )
        estimate = errors_high / images_high - errors / images
        claims.append({"estimate": estimate, "low": low, "high": high})
    return _with_chance(pd.concat([rows(), pd.DataFrame(claims)], axis=1))


def with_levels(portraits: pd.DataFrame) -> pd.DataFrame:
    """Portraits with levels of the axes, cut from what raters said as the book cuts them."""
    cut = {f"{axis}_level": portraits[axis] >= error_rates.STRATA[axis][0][0] for axis in AXES}
    return portraits.assign(**{name: level.astype(int) for name, level in cut.items()})


def _in_order(table: pd.DataFrame, keys: list[str] = KEYS) -> pd.DataFrame:
    typed = table.astype({name: "Int64" for name in AXES if name in table})
    return rows().merge(typed, on=keys, how="left", validate="m:1")


def _with_chance(table: pd.DataFrame) -> pd.DataFrame:
    """Add the chance of an effect beyond the tolerance, from a normal as wide as the interval."""
    se = ((table["high"] - table["low"]) / (2 * Z)).clip(lower=1e-9)
    above, below = ((k * table["estimate"] - TOLERANCE) / se for k in (1, -1))
    return table.assign(p_beyond=ndtr(above) + ndtr(below))
