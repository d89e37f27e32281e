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
import torch
from scipy.special import expit, logit
from sklearn.linear_model import Ridge

from faceaudit.file.specification import Specification
from faceaudit.generators.image_cache import Generator
from faceaudit.images.generator_kinds import generator_settings
from faceaudit.images.rated_images import RatedImages
from faceaudit.latents import calibration, directions, transects
from faceaudit.latents.directions import Hyperplanes
from faceaudit.latents.orthogonalization import VIF_CAP, dual_basis, variance_inflation
from faceaudit.people.labels import Labels
from faceaudit.plans import LEAK, RATERS_OF_NEUTRAL, SPARE, SPREAD
from faceaudit.utils import seeding
from faceaudit.utils.arguments import require_shape
from faceaudit.utils.errors import InputError
from faceaudit.utils.parallel import on_one_thread
from faceaudit.words import render_sentences

AGE = "age"
BINARY_CUTS = {"facial_hair": 0.4, "makeup": 0.4, "smiling": 0.5}
"""Attributes that are fitted as two classes, cut there, as in chapter 03; others by ridge
regression, and in a calibration all by logits."""
SAMPLES_DRAW = "audit/samples"
"""Key of the draw of the codes of which directions are found."""
BASE_FACES_DRAW = "audit/bases"
"""Key of the draw of the codes of the faces."""
CANDIDATES_PER_FACE = 10
"""Codes drawn for every face, where children are left out."""
ROUND_GAINS = (0.7, 0.7, 0.4, 0.3)
"""Gains of the rounds of a calibration; later rounds have the last."""
RIDGE_PENALTY = 100.0
"""Penalty of the plane of a measure, in units of its variance."""
GATE_DRAW = "audit/gate"
"""Key of the draw of the faces whose measures the gate takes.

On the faces of the rounds a reader would err as it did there."""
GATE_FACES_PER_FACE = 3
"""Faces of the gate for each face of the audit."""
_LEAST_SPREAD = 1e-9
"""Median distances between neutral faces are divided by, and may be zero."""


# --- directions


def sample_codes(generator: Generator, n: int, seed: int, stage: str) -> np.ndarray:
    """Draw codes of n faces, float32 (n, D), keyed by the audit's seed and a stage."""
    codes = generator.sample(n, int(seeding.rng(seed, stage).integers(2**31)))
    codes = torch.as_tensor(codes).detach().cpu().numpy().astype(np.float32)
    require_shape(codes, f"the generator's sample({n}, seed)", (n, generator.latent_dim))
    return codes


def transect_index(units: int, levels: Mapping[str, Any]) -> pd.DataFrame:
    """image_id, unit and `<axis>_level` of base faces at all combinations of levels."""
    index = transects.index(units, levels).rename(columns={"transect": "unit"})
    level_columns = [f"{name}_level" for name in levels]
    return index[["image_id", "unit", *level_columns]].astype({"unit": str})


@dataclass(frozen=True)
class FittedDirections:
    """Hyperplanes in a generator's codes, and the levels of an audit along them.

    Attributes:
        planes: of every attribute that was asked about, of every measure, then of the placebos.
        levels: axis or placebo → decision values of its low and its high level.
        held: attribute → the decision value that all faces get.
        limits: of the report.
        skill: attribute → how well its plane tells images that it was not fitted to: R², or, of two
            classes, 2 · balanced accuracy − 1 (informedness); by chance about 0, at best 1.
        sample_sd: standard deviation over sampled faces, of everything asked or measured; empty
            where directions are those of a file.
    """

    planes: Hyperplanes
    levels: dict[str, tuple[float, float]]
    held: dict[str, float]
    limits: list[str]
    skill: dict[str, float] = field(default_factory=dict)
    sample_sd: pd.Series = field(default_factory=lambda: pd.Series(dtype=float))

    def transects(self, base: np.ndarray, steps: np.ndarray) -> tuple[pd.DataFrame, np.ndarray]:
        """Transects of base faces.

        Args:
            base: codes of the faces (units, D).
            steps: from a face to each combination of levels (cells, D).

        Returns:
            Index (image_id, unit, levels) and codes (units · cells, D), a row per image.
        """
        return transect_index(len(base), self.levels), _transect_codes(base, steps)

    @on_one_thread
    def steps(self, changes: pd.DataFrame) -> np.ndarray:
        """Steps in codes that change decision values of some attributes, and of no others.

        Args:
            changes: of decision values (n, attributes), columns by name.

        Returns:
            (n, D) what is added to codes.
        """
        dual = dual_basis(self.planes.normals, vif_cap=np.inf)
        rows = [self.planes.names.index(name) for name in changes]
        return changes.to_numpy() @ dual[rows]

    def standardize(self, values: pd.DataFrame) -> pd.DataFrame:
        """Scores or measures (n, names), in standard deviations of sampled faces."""
        return values / self.sample_sd[list(values)]

    @property
    def cells(self) -> pd.DataFrame:
        """Decision values of the cells, a row each, a column per axis or placebo."""
        combinations = list(product(*self.levels.values()))
        return pd.DataFrame(combinations, columns=list(self.levels))


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
        The directions, whose skill is that of held-out images.

    Raises:
        InputError: all answers about an attribute are alike, or no plane can be fitted.
    """
    attributes = list(scores)
    if measures is not None:
        scores = scores.join(measures.set_axis(scores.index))
    is_complete = scores.notna().all(axis=1).to_numpy()
    codes = codes[is_complete].astype(np.float64)
    scores = scores[is_complete]
    for name in scores:
        if scores[name].nunique() < 2:
            raise InputError(
                f"{specification.place}all answers about {name} are alike, so no direction can be "
                "found; ask about more images (generator.samples), or leave it out",
                field=name,
                expected="answers that differ",
            )
    sample_sd = scores.std()
    cuts = {}
    try:
        if specification.calibration:
            standardized = (scores / sample_sd).drop(columns=attributes)
            planes = _logit_planes(codes, scores[attributes], standardized)
        else:
            cuts = {name: cut for name, cut in BINARY_CUTS.items() if name in scores}
            continuous = [name for name in scores if name not in cuts]
            planes = directions.fit_hyperplanes(codes, scores, continuous, cuts)
        fitted = _with_levels_and_placebos(
            codes, planes, specification, "directions", planes.scores, len(codes)
        )
    except ValueError as error:
        raise InputError(f"{specification.place}{error}", field="generator") from None
    skill = {
        name: 2 * score - 1 if name in cuts else score for name, score in planes.scores.items()
    }
    return replace(fitted, skill=skill, sample_sd=sample_sd)


def read_directions(codes: np.ndarray, specification: Specification) -> FittedDirections:
    """Hyperplanes of the file that `generator.hyperplanes` names, whose skill is not known.

    An `.npz` has all of them, as `Hyperplanes.save` writes it. An `.npy` has the normal of the one
    axis that there is, as boundaries of InterFaceGAN are published.

    Args:
        codes: of sampled faces (n, D), of whose decision values levels are quantiles.
        specification: of the audit.
    """
    hyperplanes = generator_settings(specification).hyperplanes
    assert hyperplanes is not None  # without a file, directions are found from answers
    path = specification.beside(hyperplanes)
    length = codes.shape[1]
    try:
        planes, source = _load_planes(path, codes, list(specification.axes))
        return _with_levels_and_placebos(codes, planes, specification, source, path.name)
    except (OSError, ValueError, KeyError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        reason = " ".join(reason.split())
        expected = (
            f"an .npz with names (k), normals (k, {length}) and intercepts (k), as "
            "Hyperplanes.save writes it"
        )
        raise InputError(
            f"{path}: {reason}; {expected}, was expected",
            field="generator.hyperplanes",
            found=reason,
            expected=expected,
        ) from None


def _load_planes(path: Path, codes: np.ndarray, axes: list[str]) -> tuple[Hyperplanes, str]:
    """Read hyperplanes of an `.npz`, or of an `.npy` with one normal.

    Args:
        path: of the file.
        codes: of sampled faces (n, D).
        axes: that the file must have.

    Returns:
        The planes, and the macro of the sentence that tells where they come from.

    Raises:
        OSError, ValueError, KeyError: the file cannot be read, or lacks a part.
    """
    arrays = _load_arrays(path)
    if isinstance(arrays, np.ndarray):
        _require_real(arrays, "the array")
        return _plane_of_normal(arrays, codes, axes), "boundary_given"
    for name in ("normals", "intercepts"):
        _require_real(arrays[name], name)
    no_scores = np.full(len(arrays["names"]), np.nan)
    planes = Hyperplanes.from_arrays({"scores": no_scores} | arrays)
    require_shape(planes.normals, "normals", (len(planes.names), codes.shape[1]))
    planes.select(axes)  # which raises where the file lacks an axis
    return planes, "directions_given"


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


def _load_arrays(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    """The array of an `.npy`, or those of an `.npz` by name.

    Raises:
        InputError: the file is cut off, damaged, or of another kind.
    """
    try:
        with path.open("rb") as file:  # np.load leaves a damaged file open
            loaded = np.load(file)
            return loaded if isinstance(loaded, np.ndarray) else dict(loaded)
    except _UNREADABLE as error:
        raise InputError(
            f"the file cannot be read ({type(error).__name__})", field="generator.hyperplanes"
        ) from None


def _require_real(array: np.ndarray, name: str) -> None:
    """Raise InputError where an array of a file of hyperplanes does not hold real numbers."""
    kind = np.asarray(array).dtype
    if not (np.issubdtype(kind, np.floating) or np.issubdtype(kind, np.integer)):
        raise InputError(
            f"{name} of the type {kind}, real numbers were expected",
            field=name,
            found=str(kind),
            expected="real numbers",
        )


@on_one_thread
def _plane_of_normal(normal: np.ndarray, codes: np.ndarray, axes: list[str]) -> Hyperplanes:
    """The hyperplane of one axis, from a normal (1, D), (D,) or (D, 1) without intercept.

    Boundaries are published without the place where they lie. Zero becomes the median of sampled
    faces, half of which then are on either side.
    """
    length = codes.shape[1]
    shapes = ((1, length), (length,), (length, 1))
    if normal.shape not in shapes:
        raise InputError(
            f"one array of the shape {normal.shape}",
            field="generator.hyperplanes",
            found=normal.shape,
            expected=" or ".join(map(str, shapes)),
        )
    if len(axes) != 1:
        raise InputError(
            f"one boundary without a name for {len(axes)} axes ({', '.join(axes)})",
            field="axes",
            found=axes,
            expected="one axis",
        )
    normals = normal.reshape(1, length).astype(np.float64)
    intercepts = -np.median(codes.astype(np.float64) @ normals.T, axis=0)
    return Hyperplanes((axes[0],), normals, intercepts)


def _with_levels_and_placebos(
    codes: np.ndarray,
    planes: Hyperplanes,
    specification: Specification,
    macro: str,
    *macro_arguments: Any,
) -> FittedDirections:
    """Add planes of placebos, levels of the axes and values of what is held.

    Args:
        codes: of sampled faces (n, D), of whose decision values levels are quantiles.
        planes: of what was asked and measured, or of a file.
        specification: of the audit.
        macro: of the templates, with the limits that these planes bring.
        macro_arguments: its first ones.
    """
    source = generator_settings(specification)
    axes = [*specification.axes, *specification.placebos]
    inflation = variance_inflation(planes.normals)
    nearly_dependent = [
        name for name, value in zip(planes.names, inflation, strict=True) if value > VIF_CAP
    ]
    held_names = [name for name in source.held if name in planes.names and name not in axes]
    limits = render_sentences(
        macro, *macro_arguments, AGE in planes.names, nearly_dependent, held_names
    )
    if specification.placebos:
        planes = planes.join(_placebo_planes(codes, planes, specification))
    values = pd.DataFrame(planes.decision_values(codes), columns=list(planes.names))
    quantiles = list(source.quantiles)
    levels = {name: tuple(values[name].quantile(quantiles)) for name in axes}
    held = {name: float(values[name].quantile(source.held[name])) for name in held_names}
    return FittedDirections(planes, levels | source.levels, held, limits)


def _logit_planes(codes: np.ndarray, scores: pd.DataFrame, measures: pd.DataFrame) -> Hyperplanes:
    """Planes whose decision values are logits of scores, or measures in standard deviations.

    Penalties are for codes of variance one, on average over their numbers.
    """
    scale = codes.std(axis=0).mean()
    scaled = codes / scale
    planes = directions.fit_fractional(scaled, scores)
    if len(measures.columns):
        ridge = Ridge(RIDGE_PENALTY).fit(scaled, measures)
        # Of a single measure, the coefficients are a vector and the intercept is a number.
        normals = np.atleast_2d(ridge.coef_)
        intercepts = np.ravel(ridge.intercept_)
        planes = planes.join(Hyperplanes(tuple(measures), normals, intercepts))
    return Hyperplanes(planes.names, planes.normals / scale, planes.intercepts, planes.scores)


def _placebo_planes(
    codes: np.ndarray, planes: Hyperplanes, specification: Specification
) -> Hyperplanes:
    """Planes at random, whose normals are at right angles to the others' and to each other."""
    names = tuple(specification.placebos)
    drawn = []
    for name in names:
        random = seeding.rng(specification.design.seed, f"audit/placebo/{name}")
        drawn.append(random.standard_normal(codes.shape[1]))
    basis = np.linalg.qr(np.concatenate([planes.normals, np.stack(drawn)]).T)[0].T
    normals = basis[len(planes.names) :]
    return Hyperplanes(names, normals, -(codes @ normals.T).mean(axis=0))


@on_one_thread
def base_codes(
    generator: Generator,
    fitted: FittedDirections,
    units: int,
    specification: Specification,
    stage: str = BASE_FACES_DRAW,
) -> np.ndarray:
    """Draw codes of the faces of the transects, neutral in every axis.

    What is held has one value in all of them (transects 4.1.4). Where people were asked about age
    and it is no axis, every face keeps its own, and only those count whose age is at least
    `generator.adult` by the plane that was fitted to the answers.

    Args:
        generator: of the codes.
        fitted: planes, axes and values that are held.
        units: faces that are needed.
        specification: of the audit.
        stage: key of the draw; another stage draws other faces.

    Returns:
        float64 (units, D).

    Raises:
        InputError: too few of the drawn faces are adults.
    """
    seed = specification.design.seed
    axes = list(fitted.levels)
    names = [*axes, *fitted.held]
    values = np.tile([*np.zeros(len(axes)), *fitted.held.values()], (units, 1))
    if AGE in fitted.planes.names and AGE not in names:
        codes = sample_codes(generator, units * CANDIDATES_PER_FACE, seed, stage)
        codes = _adult_codes(codes, fitted.planes, units, specification)
        names.append(AGE)
        ages = fitted.planes.select(names).decision_values(codes)[:, -1]
        values = np.column_stack([values, ages])
    else:
        codes = sample_codes(generator, units, seed, stage)
    fixed = fitted.planes.select(names)
    return transects.project(codes, fixed.normals, fixed.intercepts, values)


def _adult_codes(
    codes: np.ndarray, planes: Hyperplanes, units: int, specification: Specification
) -> np.ndarray:
    """The first so many of the codes (n, D) whose faces are adults by the plane of age."""
    ages = planes.select([AGE]).decision_values(codes)[:, 0]
    adult = generator_settings(specification).adult
    # The middle of the scale has the value zero.
    youngest = logit(adult) if specification.calibration else adult - 0.5
    rows = np.flatnonzero(ages >= youngest)
    if len(rows) < units:
        raise InputError(
            f"{specification.place}only {len(rows)} of {len(codes)} faces of the generator are at "
            f"least as old as generator.adult ({adult:g}), {units} are needed; lower it, or take "
            "fewer transects",
            field="generator.adult",
            found=adult,
            expected=f"an age that {units} of {len(codes)} faces have",
        )
    return codes[rows[:units]]


# --- calibration


def faces_and_steps(
    fitted: FittedDirections, views: RatedImages, units: int
) -> tuple[np.ndarray, np.ndarray]:
    """Codes of neutral faces (units, D), and steps (cells, D) from them to all levels.

    In a calibration, neutral faces are rated on the axes and brought to the middle, twice. Then
    some transects are rated and measured in each round, and the steps of each cell are changed by
    the difference of its mean from its target.

    Raises:
        PeopleNeeded: people have to answer first.
    """
    specification = views.specification
    steps = fitted.steps(fitted.cells)
    settings = specification.calibration
    if settings is None:
        return base_codes(views.generator, fitted, units, specification), steps
    n_candidates = math.ceil(SPARE * units)
    base = base_codes(views.generator, fitted, n_candidates, specification)
    for part in ("neutral-1", "neutral-2"):
        base = _most_neutral_faces(base, fitted, views, units, part)
    n_faces = min(settings.transects, len(base))
    for number in range(settings.rounds):
        steps = steps + _correction_of_round(base, steps, fitted, views, number, n_faces)
    return base, steps


def _most_neutral_faces(
    base: np.ndarray, fitted: FittedDirections, views: RatedImages, units: int, part: str
) -> np.ndarray:
    """Rate faces, keep those that look most alike, and bring these to the middle of the axes.

    Args:
        base: codes of faces (n, D), at least as many as `units`.
        fitted: planes of the axes.
        views: of the audit, which asks people.
        units: faces that are kept: hair that is tied or covered cannot be given a length.
        part: of the audit.

    Returns:
        Codes (units, D).
    """
    axes = list(views.specification.axes)
    _, labels = views.rate(views.synthesize(base, part), part, axes, RATERS_OF_NEUTRAL)
    distances = (labels.scores - labels.scores.median()).abs()
    relative = distances / distances.median().clip(lower=_LEAST_SPREAD)
    farthest = relative.max(axis=1, skipna=False)
    rows = np.sort(np.argsort(farthest.to_numpy(), kind="stable")[:units])
    scores = _fill_with_cell_means(labels.scores.iloc[rows])
    changes = calibration.center_neutral(scores, labels.squared_errors[axes])
    return base[rows] + fitted.steps(changes)


def _correction_of_round(
    base: np.ndarray,
    steps: np.ndarray,
    fitted: FittedDirections,
    views: RatedImages,
    number: int,
    n_faces: int,
) -> np.ndarray:
    """Rate and measure some transects, and find by how much the steps of the cells are to change.

    Args:
        base: codes of neutral faces (units, D), of which every round takes the next ones.
        steps: to each cell (cells, D), as they are so far.
        fitted: planes, levels and values that are held.
        views: of the audit, which asks people.
        number: of the round, from 0.
        n_faces: of the base, whose transects are rated and measured.

    Returns:
        (cells, D) what is added to the steps.
    """
    specification = views.specification
    axes = list(specification.axes)
    cells = fitted.cells
    rows = np.arange(number * n_faces, (number + 1) * n_faces) % len(base)
    part = f"round-{number + 1}"
    images = views.synthesize(_transect_codes(base[rows], steps), part)
    measures = fitted.standardize(views.measure(images))
    _, labels = views.rate(images, part, specification.rated_attributes_of_samples)
    values = labels.scores.join(measures)
    is_inlier = calibration.is_inlier(values[axes], len(cells))
    values = values[np.repeat(is_inlier, len(cells))]
    targets = expit(cells[axes]).to_dict("series")
    for name, value in fitted.held.items():
        targets[name] = expit(value)
    gain = ROUND_GAINS[min(number, len(ROUND_GAINS) - 1)]
    changes = calibration.step_to_targets(values, len(cells), targets, gain, list(measures))
    return fitted.steps(changes)


def calibration_gate(
    fitted: FittedDirections, views: RatedImages, steps: np.ndarray, labels: Labels
) -> dict[str, Any]:
    """Whether faces and levels are where they are meant to be, as the report has it.

    Leaks of what was asked and doses are computed from people's answers about the transects of the
    audit, leaks of measures from fresh faces, which cost no answer.

    Args:
        fitted: planes and levels.
        views: of the audit.
        steps: of `faces_and_steps`.
        labels: of the audit's transects.

    Returns:
        leaks, doses: rows, see `faceaudit.latents.calibration.leaks` and `dose_spread`; most_leak
        and most_spread, which their upper limits may be; measures, how many were held; passed.
    """
    axes = list(views.specification.axes)
    cells = fitted.cells
    scores = _fill_with_cell_means(labels.scores, len(cells))
    levels = {name: (cells[name] == fitted.levels[name][1]).astype(int) for name in axes}
    leaks = [calibration.leaks(fitted.standardize(scores), levels)]
    if views.readers:
        n_faces = GATE_FACES_PER_FACE * len(scores) // len(cells)
        measures = _measures_of_fresh_faces(fitted, views, steps, n_faces)
        leaks.append(calibration.leaks(measures, levels))
    leaks = pd.concat(leaks)
    leaks = leaks.drop([(name, name) for name in axes])  # an axis is to move itself
    doses = calibration.dose_spread(scores, labels.squared_errors, levels)
    passed = (leaks["upper"] <= LEAK).all() and (doses["upper"] <= SPREAD).all()
    leaks = leaks.sort_values("upper", ascending=False)
    return {
        "passed": bool(passed),
        "measures": len(fitted.sample_sd) - len(scores.columns),
        "most_leak": LEAK,
        "most_spread": SPREAD,
        "leaks": leaks.reset_index().to_dict("records"),
        "doses": doses.reset_index().to_dict("records"),
    }


def _measures_of_fresh_faces(
    fitted: FittedDirections, views: RatedImages, steps: np.ndarray, n_faces: int
) -> pd.DataFrame:
    """Measures of transects (n_faces · cells, measures) of faces that no round has used."""
    base = base_codes(views.generator, fitted, n_faces, views.specification, GATE_DRAW)
    images = views.synthesize(_transect_codes(base, steps), "gate")
    measures = fitted.standardize(views.measure(images))
    return _fill_with_cell_means(measures, len(fitted.cells))


def _transect_codes(base: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Codes (units · cells, D) of base faces (units, D) after every step (cells, D)."""
    return (base[:, None] + steps).reshape(-1, base.shape[1])


def _fill_with_cell_means(values: pd.DataFrame, cells: int = 1) -> pd.DataFrame:
    """Replace missing values of images by the mean of their cell.

    Args:
        values: a row per image, all of a transect in a row.
        cells: images of a transect.
    """
    cell = np.arange(len(values)) % cells
    return values.fillna(values.groupby(cell).transform("mean"))
