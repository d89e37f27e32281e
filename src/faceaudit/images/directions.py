"""Somebody's own generator in an audit: its file, directions from answers, and matched faces.

The steps are those of chapters 03 to 05: sampled codes and what is said of their images give a
hyperplane for every attribute, and the dual basis a direction that leaves the other attributes
where they are. With a `calibration`, planes are fitted to logits of answers, and people look at
neutral faces and at rounds of transects, until faces and levels are where they are meant to be
(`faceaudit.latents.calibration`); a gate says whether they are. The command
`make reproduce GENERATOR=ffhq.pkl MODEL=gender.onnx` writes the audit file by the pattern of
`audits/study.yml`, and goes through it from then on.
"""

import math
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn.linear_model import Ridge

from faceaudit.file.specification import Specification
from faceaudit.generators.image_cache import Generator
from faceaudit.images.rated import RatedImages, sampled_codes
from faceaudit.latents import calibration, directions, transects
from faceaudit.latents.directions import Hyperplanes
from faceaudit.latents.orthogonalization import VIF_CAP, dual_basis, variance_inflation
from faceaudit.people.labels import Labels
from faceaudit.plans import LEAK, RATERS_OF_NEUTRAL, SPARE, SPREAD
from faceaudit.utils import seeding
from faceaudit.utils.arguments import require_shape
from faceaudit.utils.errors import fault
from faceaudit.utils.parallel import on_one_thread
from faceaudit.words import render_sentences

AGE = "age"
BINARY = {"facial_hair": 0.4, "makeup": 0.4, "smiling": 0.5}
"""Attributes that are fitted as two classes, cut there, as in chapter 03; others by ridge
regression, and in a calibration all by logits."""
BASES = "audit/bases"
"""Key of the draw of the codes of the faces."""
CANDIDATES = 10
"""Codes drawn for every face, where children are left out."""
GAINS = (0.7, 0.7, 0.4, 0.3)
"""Of the rounds of a calibration; later ones have the last."""
RIDGE = 100.0
"""Penalty of the plane of a measure, in units of its variance."""
FRESH = "audit/gate"
"""Key of the draw of the faces whose measures the gate takes.

On the faces of the rounds a reader would err as it did there."""
TIMES = 3
"""So many of these faces for each of the audit's."""


# --- directions


def indexed(units: int, levels: Mapping[str, Any]) -> pd.DataFrame:
    """image_id, unit and `<axis>_level` of base faces at all combinations of levels."""
    index = transects.index(units, levels).rename(columns={"transect": "unit"})
    index = index[["image_id", "unit", *(f"{name}_level" for name in levels)]]
    return index.astype({"unit": str})


@dataclass(frozen=True)
class FittedDirections:
    """What was found in a generator's codes.

    Attributes:
        planes: of every attribute that was asked about, of every measure, then of the placebos.
        levels: axis or placebo → decision values of its low and its high level.
        held: attribute → the decision value that all faces get.
        limits: of the report.
        skill: attribute → how well its plane tells images that it was not fitted to: R², or, of two
            classes, 2 · balanced accuracy − 1 (informedness); by chance about 0, at best 1.
        unit: standard deviation of sampled faces, of everything asked or measured.
    """

    planes: Hyperplanes
    levels: dict[str, tuple[float, float]]
    held: dict[str, float]
    limits: list[str]
    skill: dict[str, float] = field(default_factory=dict)
    unit: pd.Series | None = None

    def transects(self, base: np.ndarray, steps: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
        """Index (image_id, unit, levels) and codes (images, D) of every face at all levels."""
        return indexed(len(base), self.levels), _cells(base, steps)

    @on_one_thread
    def along(self, change: pd.DataFrame) -> np.ndarray:
        """Steps (n, D) that change decision values by so much (n, names), and no others."""
        dual = dual_basis(self.planes.normals, vif_cap=np.inf)
        return change.to_numpy() @ dual[[self.planes.names.index(name) for name in change]]

    def in_units(self, values: pd.DataFrame) -> pd.DataFrame:
        """Scores or measures (n, names), in standard deviations of sampled faces."""
        return values / self.unit[[*values]]

    @property
    def cells(self) -> pd.DataFrame:
        """Decision values of the cells, a row each, a column per axis or placebo."""
        return pd.DataFrame([*product(*self.levels.values())], columns=[*self.levels])


@on_one_thread  # codes that differ in their last bits make images of other names, without answers
def find_directions(
    codes: np.ndarray,
    scores: pd.DataFrame,
    specification: Specification,
    measures: pd.DataFrame | None = None,
) -> FittedDirections:
    """Hyperplanes and levels from answers about sampled images.

    A placebo is a direction at random, at right angles to the normals of all attributes: it changes
    the picture, and nothing that anybody was asked about.

    Args:
        codes: of the sampled images (n, D).
        scores: a row per image, a column per attribute, in [0, 1]; rows with NaN are left out.
        specification: of the audit, whose generator has the quantiles.
        measures: of the same images, which are held too.

    Returns:
        What was found.
    """
    asked = [*scores]
    scores = scores if measures is None else scores.join(measures.set_axis(scores.index))
    known = scores.notna().all(axis=1).to_numpy()
    codes, scores = codes[known].astype(np.float64), scores[known]
    for name in scores:
        if scores[name].nunique() < 2:
            raise fault("alike", specification.path, name)
    unit, binary = scores.std(), {}
    try:
        if specification.calibration:
            planes = _logit_planes(codes, scores[asked], (scores / unit).drop(columns=asked))
        else:
            binary = {name: cut for name, cut in BINARY.items() if name in scores}
            continuous = [name for name in scores if name not in binary]
            planes = directions.fit_hyperplanes(codes, scores, continuous, binary)
        found = _with_levels(codes, planes, specification, "directions", planes.scores, len(codes))
    except ValueError as error:
        raise ValueError(f"{specification.path}: {error}") from None
    skill = {name: 2 * one - 1 if name in binary else one for name, one in planes.scores.items()}
    return replace(found, skill=skill, unit=unit)


def given_directions(codes: np.ndarray, specification: Specification) -> FittedDirections:
    """Hyperplanes of the file that `generator.hyperplanes` names, whose skill is not known.

    An `.npz` has all of them, as `Hyperplanes.save` writes it. An `.npy` has the normal of the one
    axis that there is, as boundaries of InterFaceGAN are published.

    Args:
        codes: of sampled faces (n, D), of whose decision values levels are quantiles.
        specification: of the audit.
    """
    path, length = specification.beside(specification.generator.hyperplanes), codes.shape[1]
    try:
        arrays = _arrays_of(path)
        if isinstance(arrays, np.ndarray):
            _require_real(arrays, "the array")
            planes = _boundary(arrays, codes, [*specification.axes])
            return _with_levels(codes, planes, specification, "boundary_given", path.name)
        for name in ("normals", "intercepts"):
            _require_real(arrays[name], name)
        planes = Hyperplanes.from_arrays({"scores": np.full(len(arrays["names"]), np.nan)} | arrays)
        require_shape(planes.normals, "normals", (len(planes.names), length))
        planes.select([*specification.axes])
        return _with_levels(codes, planes, specification, "directions_given", path.name)
    except (OSError, ValueError, KeyError) as error:
        found = f"no {error}" if isinstance(error, KeyError) else error
        raise fault("no_planes", path, found, length) from None


_UNREADABLE = (
    EOFError,
    MemoryError,
    NotImplementedError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What NumPy raises about a damaged file, besides OSError, ValueError and KeyError."""


def _arrays_of(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    """The array of an `.npy`, or those of an `.npz` by name.

    Raises:
        ValueError: the file is cut off, damaged, or of another kind.
    """
    try:
        with path.open("rb") as file:  # np.load leaves a damaged file open
            loaded = np.load(file)
            return loaded if isinstance(loaded, np.ndarray) else dict(loaded)
    except _UNREADABLE as error:
        raise ValueError(f"the file cannot be read ({type(error).__name__})") from None


def _require_real(array: np.ndarray, name: str) -> None:
    """Raise what is wrong with an array that holds other things than real numbers."""
    kind = np.asarray(array).dtype
    if not (np.issubdtype(kind, np.floating) or np.issubdtype(kind, np.integer)):
        raise ValueError(f"{name} of the type {kind}, real numbers were expected")


@on_one_thread
def _boundary(normal: np.ndarray, codes: np.ndarray, axes: list[str]) -> Hyperplanes:
    """The hyperplane of one axis, from a normal (1, D), (D,) or (D, 1) without intercept.

    Boundaries are published without the place where they lie. Zero becomes the median of sampled
    faces, half of which then are on either side.
    """
    length = codes.shape[1]
    if normal.shape not in ((1, length), (length,), (length, 1)):
        raise ValueError(f"one array of the shape {normal.shape}")
    if len(axes) != 1:
        raise ValueError(f"one boundary without a name for {len(axes)} axes ({', '.join(axes)})")
    normals = normal.reshape(1, length).astype(np.float64)
    intercepts = -np.median(codes.astype(np.float64) @ normals.T, axis=0)
    return Hyperplanes((axes[0],), normals, intercepts)


def _with_levels(
    codes: np.ndarray, known: Hyperplanes, specification: Specification, *said: Any
) -> FittedDirections:
    """Planes and placebos, levels of the axes and of what is held; `said` names what is told."""
    source, axes = specification.generator, [*specification.axes, *specification.placebos]
    inflation = zip(known.names, variance_inflation(known.normals), strict=True)
    close = [name for name, value in inflation if value > VIF_CAP]
    own = specification.placebos
    planes = known.join(_placebos(codes, known, specification)) if own else known
    values = pd.DataFrame(planes.decision_values(codes), columns=list(planes.names))
    levels = {name: tuple(values[name].quantile([*source.quantiles])) for name in axes}
    free = [name for name in source.held if name in known.names and name not in axes]
    held = {name: float(values[name].quantile(source.held[name])) for name in free}
    limits = render_sentences(*said, AGE in known.names, close, free)
    return FittedDirections(planes, levels | source.levels, held, limits)


def _logit_planes(codes: np.ndarray, scores: pd.DataFrame, measures: pd.DataFrame) -> Hyperplanes:
    """Planes whose decision values are logits of scores, or measures in standard deviations.

    Penalties are for codes of variance one, on average over their numbers.
    """
    scale = codes.std(axis=0).mean()
    planes = directions.fit_fractional(codes / scale, scores)
    if len(measures.columns):
        ridge = Ridge(RIDGE).fit(codes / scale, measures)
        tilt, shift = np.atleast_2d(ridge.coef_), np.ravel(ridge.intercept_)  # one has no rows
        planes = planes.join(Hyperplanes((*measures,), tilt, shift))
    return Hyperplanes(planes.names, planes.normals / scale, planes.intercepts, planes.scores)


def _placebos(codes: np.ndarray, planes: Hyperplanes, specification: Specification) -> Hyperplanes:
    """Planes at random, whose normals are at right angles to the others' and to each other."""
    names, seed = tuple(specification.placebos), specification.design.seed
    random = [seeding.rng(seed, f"audit/placebo/{name}") for name in names]
    drawn = np.stack([one.standard_normal(codes.shape[1]) for one in random])
    basis = np.linalg.qr(np.concatenate([planes.normals, drawn]).T)[0].T
    normals = basis[len(planes.names) :]
    return Hyperplanes(names, normals, -(codes @ normals.T).mean(axis=0))


@on_one_thread
def base_codes(
    generator: Generator,
    found: FittedDirections,
    units: int,
    specification: Specification,
    stage: str = BASES,
) -> np.ndarray:
    """Codes of the faces of the transects, float64 (units, D); another stage draws other faces.

    They are neutral in every axis, and what is held has one value in all of them (transects 4.1.4).
    Where people were asked about age and it is no axis, every face keeps its own, and only those
    count whose age is at least `generator.adult` by the plane that was fitted to the answers.
    """
    axes, seed, source = [*found.levels], specification.design.seed, specification.generator
    keeps_age = AGE in found.planes.names and AGE not in [*axes, *found.held]
    codes = sampled_codes(generator, units * CANDIDATES**keeps_age, seed, stage)
    fixed = found.planes.select([*axes, *found.held, *[AGE] * keeps_age])
    values = np.tile([*[0.0] * len(axes), *found.held.values(), *[0.0] * keeps_age], (units, 1))
    if keeps_age:
        ages = found.planes.select([AGE]).decision_values(codes)[:, 0]
        # The middle of the scale has the value zero.
        adult = source.adult
        youngest = logit(adult) if specification.calibration else adult - 0.5
        adults = np.flatnonzero(ages >= youngest)
        if len(adults) < units:
            raise fault("few_adults", specification.path, len(adults), len(codes), units, adult)
        codes = codes[adults[:units]]
        values[:, -1] = fixed.decision_values(codes)[:, -1]
    return transects.project(codes, fixed.normals, fixed.intercepts, values)


# --- calibration


def faces_and_steps(
    found: FittedDirections, views: RatedImages, units: int
) -> tuple[np.ndarray, np.ndarray]:
    """Codes of neutral faces (units, D), and steps (cells, D) from them to all levels.

    In a calibration, neutral faces are rated on the axes and brought to the middle, twice. Then
    some transects are rated and measured in each round, and the steps of each cell changed by what
    its mean lacks.

    Raises:
        PeopleNeeded: people have to answer first.
    """
    own, axes = views.specification, [*views.specification.axes]
    given, cells, asked = own.calibration, found.cells, own.rated_attributes_of_samples
    if given is None:
        return base_codes(views.generator, found, units, own), found.along(cells)
    base = base_codes(views.generator, found, math.ceil(SPARE * units), own)
    for part in ("neutral-1", "neutral-2"):
        _, seen = views.look(views.made(base, part), part, axes, RATERS_OF_NEUTRAL)
        # Those that look most alike: hair that is tied or covered cannot be given a length.
        away = (seen.scores - seen.scores.median()).abs()
        away = (away / away.median().clip(lower=1e-9)).max(axis=1, skipna=False)
        rows = np.sort(np.argsort(away.to_numpy(), kind="stable")[:units])
        scores, noise = _filled(seen.scores.iloc[rows]), seen.error[axes]
        base = base[rows] + found.along(calibration.center_neutral(scores, noise))
    steps = found.along(cells)
    goals = expit(cells[axes]).to_dict("series") | {n: expit(v) for n, v in found.held.items()}
    for turn in range(given.rounds):
        part, n = f"round-{turn + 1}", min(given.transects, units)
        some = _cells(base[np.arange(turn * n, (turn + 1) * n) % units], steps)
        images = views.made(some, part)
        measures = found.in_units(views.measured(images))
        seen = views.look(images, part, asked)[1].scores.join(measures)
        seen = seen[np.repeat(calibration.is_inlier(seen[axes], len(cells)), len(cells))]
        gain = GAINS[min(turn, len(GAINS) - 1)]
        more = calibration.step_to_targets(seen, len(cells), goals, gain, [*measures])
        steps = steps + found.along(more)
    return base, steps


def calibration_gate(
    found: FittedDirections, views: RatedImages, steps: np.ndarray, seen: Labels
) -> dict[str, Any]:
    """Whether faces and levels are where they are meant to be, as the report has it.

    Leaks of what was asked and doses are told by people's answers about the transects of the audit,
    leaks of measures by fresh faces, which cost no answer.

    Args:
        found: planes and levels.
        views: of the audit.
        steps: of `faces_and_steps`.
        seen: of the audit's transects.

    Returns:
        leaks, doses: rows, see `faceaudit.latents.calibration.leaks` and `dose_spread`; most_leak
        and most_spread, which their upper limits may be; measures, how many were held; passed.
    """
    own, cells = views.specification, found.cells
    scores = _filled(seen.scores, len(cells))
    levels = {name: (cells[name] == found.levels[name][1]).astype(int) for name in own.axes}
    values = [found.in_units(scores)]
    if views.readers:
        n = TIMES * len(scores) // len(cells)
        fresh = _cells(base_codes(views.generator, found, n, own, FRESH), steps)
        measures = found.in_units(views.measured(views.made(fresh, "gate")))
        values.append(_filled(measures, len(cells)))
    leaks = pd.concat([calibration.leaks(one, levels) for one in values])
    leaks = leaks.drop([(name, name) for name in own.axes])  # an axis is to move itself
    doses = calibration.dose_spread(scores, seen.error, levels)
    passed = (leaks["upper"] <= LEAK).all() and (doses["upper"] <= SPREAD).all()
    ordered = {"leaks": leaks.sort_values("upper", ascending=False), "doses": doses}
    rows = {name: one.reset_index().to_dict("records") for name, one in ordered.items()}
    told = {"passed": bool(passed), "measures": len(found.unit) - len(scores.columns)}
    return told | {"most_leak": LEAK, "most_spread": SPREAD} | rows


def _cells(base: np.ndarray, steps: np.ndarray) -> np.ndarray:
    return (base[:, None] + steps).reshape(-1, base.shape[1])


def _filled(values: pd.DataFrame, cells: int = 1) -> pd.DataFrame:
    """Values of images with the mean of their cell where they lack."""
    cell = np.arange(len(values)) % cells
    return values.fillna(values.groupby(cell).transform("mean"))
