"""Verification: a table of pairs with similarities, or a recogniser that is asked about images.

Which pairs are compared follows from the table of images, the cap and the seed, so it is fixed
before the model is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from faceaudit import plans, words
from faceaudit.checks import DISTANCE, examine, separation
from faceaudit.file.specification import Specification
from faceaudit.frames import Rows
from faceaudit.models.answers import NO_FACE, ModelAnswers, Say, require_answers
from faceaudit.models.asking import check_model, model_of
from faceaudit.people.labels import pair_labels_by_people
from faceaudit.plans import Plan
from faceaudit.report.build import Tables, rows_of, rows_with_sentences
from faceaudit.utils import seeding
from faceaudit.utils.errors import fault
from faceaudit.verdicts import settle_together, with_p_values
from faceaudit.verification.bootstrap import disparities, vertex_bootstrap
from faceaudit.verification.curves import by_group, similarity


def refuse_distances(pairs: pd.DataFrame, source: str) -> None:
    """Raise ValueError where pictures of one person are less similar than those of two."""
    if (apart := separation(pairs["similarity"], pairs["same"] == 1)) < DISTANCE:
        raise fault("distances", source, 1 - apart)


@dataclass(frozen=True)
class Pairs:
    """Pairs of images and the recogniser's similarity of each.

    Attributes:
        frame: a row per pair: group, first, second (identities, or units of matched ones), same (0
            or 1), similarity.
        source: of the pairs.
        images: of a recogniser that was asked, a row per image: image, identity, group, unit,
            enrolled (0 or 1) and failed_call (0 or 1: why there is no embedding); None of a table
            of pairs.
        left_out: pairs with an image that has no embedding.
    """

    frame: pd.DataFrame
    source: str
    images: pd.DataFrame | None = None
    left_out: int = 0

    def report_parts(self, tables: Tables, plan: Plan) -> tuple[dict[str, Any], list[str]]:
        """The parts of a report that a verification has, and its limits."""
        rates, frame, images = rows_of("match_rates", tables["rates"]), self.frame, self.images
        people = pd.concat([frame["first"], frame["second"]]).nunique()
        counts = {"pairs": len(frame), "identities": people, "groups": len(rates)}
        counts |= {"reference": plan["reference"], "source": Path(self.source).name}
        parts = {"threshold": rates[0].threshold, "data": counts, "match_rates": rates}
        parts["disparities"] = rows_with_sentences(
            "disparities", "disparity", tables[plans.GROUPS], plan
        )
        failed_calls = 0
        if images is not None:
            failures, failed_calls = (
                int((images["enrolled"] == 0).sum()),
                images["failed_call"].sum(),
            )
            counts |= {"images": len(images), "identities": images["identity"].nunique()}
            counts |= {"failures_to_enrol": failures, "pairs_left_out": self.left_out}
            parts["enrolment"] = rows_of("enrolment", tables["enrolment"])
            differ = tables[plans.ENROLMENT] if failures else None
            parts["failures_to_enrol"] = rows_with_sentences(
                "disparities", "disparity", differ, plan
            )
        return parts, words.render_sentences(
            "limits_of_pairs", parts, counts, plan, int(failed_calls)
        )


def from_pairs(table: str | Path | pd.DataFrame, specification: Specification) -> Pairs:
    """Read a table of pairs, as the audit file describes it.

    Args:
        table: a `.csv` or `.parquet` file, or a frame.
        specification: whose `columns` and `reference` count.

    Returns:
        The pairs.

    Raises:
        ValueError: a column that is missing, an identity, a label or a similarity that is none, a
            pair of one person with two identities or of two people with one, similarities that are
            all alike, one group only, or a reference that is no group.
    """
    rows, columns = Rows.read(table), specification.columns
    text = {name: getattr(columns, name) for name in ("group", "first", "second", "same")}
    rows.require([*text.values(), columns.similarity])
    found = pd.DataFrame({name: rows.texts(column) for name, column in text.items()})
    found["similarity"] = rows.numbers(columns.similarity)
    rows.refuse(~np.isfinite(found["similarity"]), columns.similarity, "a finite similarity")
    found["same"] = rows.coded(columns.same, ("False", "True"), "1 (the same person) or 0")
    _require_consistent_identities(found, rows, specification)
    similarities = found["similarity"].to_numpy(float)
    require_answers(similarities, f"{rows.source}: column {columns.similarity!r}")
    _require_groups(found["group"], specification.reference, rows.source)
    refuse_distances(found, rows.source)
    return Pairs(found.astype({"same": int}), rows.source)


def _require_consistent_identities(
    found: pd.DataFrame, rows: Rows, specification: Specification
) -> None:
    """Raise ValueError where identities contradict what a pair is said to be."""
    columns = specification.columns
    bad = (found["first"] == found["second"]) != (found["same"] == 1)
    if not bad.any():
        return
    row = bad.idxmax()
    one_person = found["same"][row] == 1
    said = "one person" if one_person else "two people"
    shown = f"{found['first'][row]!r} and {found['second'][row]!r}"
    raise ValueError(
        f"{rows.source}: row {row}: column {columns.same!r} says a pair of {said}, but the columns "
        f"{columns.first!r} and {columns.second!r} have the identities {shown} ({bad.sum()} such "
        "rows); these columns must name the people, and not their pictures"
    )


def open_faces(specification: Specification) -> tuple[pd.DataFrame, Any, Any]:
    """Read the table of images that a verification names, and find the files.

    Returns a row per image (image, its file; identity, group and unit) in the order of the names,
    whatever that of the table is, then the pictures (an `ImageSet`), and their codes in that order.

    Identities are the units, unless `columns.unit` names a column that says which identities of
    different groups are matched, such as faces that were made of one seed.
    """
    from faceaudit.images.pictures import pictures_of  # with torch

    table, columns = specification.beside(specification.images), specification.columns
    rows = Rows.read(table)
    own = {"image": columns.image, "identity": columns.identity, "group": columns.group}
    own["unit"] = columns.unit if "unit" in columns.model_fields_set else columns.identity
    rows.require([*own.values()])
    frame = pd.DataFrame({name: rows.texts(column) for name, column in own.items()})
    for keys, of in (("identity", "group"), ("identity", "unit"), ("unit and group", "identity")):
        first = frame.groupby(keys.split(" and "), sort=False)[of].transform("first")
        rows.refuse(first != frame[of], own[of], f"one {of} for each {keys}")
    _require_groups(frame["group"], specification.reference, rows.source)
    if not frame["identity"].duplicated().any():
        raise ValueError(f"{table}: no identity has two images, so that nobody can be recognised")
    if frame["identity"].nunique() == frame["group"].nunique():
        raise ValueError(f"{table}: no group has two identities, so that nobody can be mixed up")
    order = np.argsort(frame["image"].to_numpy(str), kind="stable")
    found = pictures_of(specification, table, columns.image)
    return frame.iloc[order].reset_index(drop=True), found, found.codes[order]


def _require_groups(groups: pd.Series, reference: str, source: str) -> None:
    """Raise ValueError where there is no group to compare the reference with."""
    if reference not in (names := set(groups)) or len(names) < 2:
        raise fault("no_groups", source, sorted(names), reference)


def ask_recogniser(
    specification: Specification, folder: Path, say: Say, device: str = "cpu"
) -> tuple[Pairs, dict[str, Any]]:
    """Ask the recogniser of an audit file about its images, and pair them.

    Images and answers are kept in the folder; `say` takes a sentence after every stage. Returns the
    pairs, and what the report says of the model and the images.
    """
    from faceaudit.generators.image_cache import synthesize_to_store  # with torch

    frame, pictures, codes = open_faces(specification)
    pixels = synthesize_to_store(pictures, codes, folder / "images.npy")
    people, groups = frame["identity"].nunique(), frame["group"].nunique()
    say(f"faces: {len(frame):,} images of {people:,} identities in {groups} groups")
    model, design = model_of(specification, device=device), specification.design
    asked, more = "people" in specification.model_fields_set, {}
    drawn = draw_pairs(frame, design.impostors, design.seed, few=asked)  # people have little time
    check_model(model, pixels)
    if asked:
        drawn["same"], said = pair_labels_by_people(pixels, drawn, specification, folder)
        drawn = drawn.dropna().astype({"same": int})
        say(f"people: {said['people']} people gave {said['answers']:,} answers about pairs")
        more["people"] = [said]
    answers, told = examine(model, pixels, frame["identity"], folder, say, design.seed)
    data = from_embeddings(answers, frame, drawn, specification)
    say(f"pairs: {len(data.frame):,}, and {data.left_out:,} left out for want of an embedding")
    return data, more | told | {"generator": pictures.card}


def from_embeddings(
    answers: ModelAnswers, images: pd.DataFrame, drawn: pd.DataFrame, specification: Specification
) -> Pairs:
    """Drawn pairs of images (rows as of `open_faces`) with the cosine similarity of embeddings.

    A face without an embedding is a failure to enrol, and its pairs are left out.
    """
    source, enrolled = str(specification.beside(specification.images)), answers.reasons == ""
    vectors = np.where(enrolled[:, None], answers.values, 1.0)
    whole = enrolled[drawn[["first", "second"]].to_numpy()].all(axis=1)
    frame = drawn[whole].reset_index(drop=True)
    frame["similarity"] = similarity(vectors, frame[["first", "second"]].to_numpy())
    frame["group"] = frame["group"].astype(pd.CategoricalDtype(sorted(set(images["group"]))))
    for side in ("first", "second"):
        frame[side] = images["unit"].to_numpy()[frame[side]]
    refuse_distances(frame, source)
    failed = ~enrolled & (answers.reasons != NO_FACE)
    images = images.assign(enrolled=enrolled.astype(int), failed_call=failed.astype(int))
    return Pairs(frame, source, images, int((~whole).sum()))


def draw_pairs(images: pd.DataFrame, impostors: int, seed: int, few: bool = False) -> pd.DataFrame:
    """Which images are compared: pairs of one identity, and impostors of one group.

    All pairs of one identity are; where `few`, no more in a group than impostors.

    Like is compared with like, as in NIST's FRTE: two people of different groups are easy to tell
    apart, and would hide who is mixed up within a group. Where a group has more impostor pairs than
    wanted, so many are drawn, each with the same probability; draws depend on the names of images,
    identities and groups, not on the order of the rows.

    Returns a row per pair: group, first and second (rows of the images, numbered from 0), same (1
    for one identity, 0 for two).
    """
    numbered = images.reset_index(drop=True).sort_values(["group", "identity", "image"])
    parts = []
    for group, own in numbered.groupby("group", sort=True):
        codes, _ = pd.factorize(own["identity"])
        sizes = np.bincount(codes)
        start = (np.cumsum(sizes) - sizes)[codes]  # where the images of an identity begin
        within = np.arange(len(own)) - start
        random, total = seeding.rng(seed, f"audit/impostors/{group}"), int(start.sum())
        chosen = np.sort(random.choice(total, min(impostors, total), replace=False))
        random, every = seeding.rng(seed, f"audit/genuine/{group}"), int(within.sum())
        kept = np.sort(random.choice(every, min(impostors, every) if few else every, replace=False))
        genuine = _with_earlier(start, within, kept)
        others = _with_earlier(np.zeros_like(start), start, chosen)
        first, second = own.index.to_numpy()[np.concatenate([genuine, others])].T
        same = np.repeat([1, 0], [len(genuine), len(others)])
        columns = {"group": group, "first": first, "second": second, "same": same}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _with_earlier(start: np.ndarray, count: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Some of the pairs (m, 2) of every image with the `count` ones from `start` on, by number."""
    ends = np.cumsum(count)
    later = np.searchsorted(ends, chosen, side="right")
    return np.stack([chosen - (ends - count)[later] + start[later], later], axis=1)


PairColumns = tuple[pd.Series, pd.Series, pd.Series, np.ndarray]
"""Similarity, whether it is one person, group, and both identities of every pair."""
RESAMPLES = 1000
ENROLMENT_THRESHOLD = 0.5
"""Between the similarity of an image to itself with an embedding, 1, and without, 0."""


# --- pairs of pictures


def analyse_pairs(data: Pairs, plan: Plan) -> dict[str, pd.DataFrame]:
    """Error rates of a recogniser by group at one threshold, and how they differ from a reference.

    FRTE-style: one threshold for all groups, given, or set so that the reference group's FMR is at
    most the one asked for; ratios are to the reference. Intervals of rates are those of the vertex
    bootstrap, and those of differences of the dyadic-robust score (chapter 15). Both take
    identities as the units. Where the threshold is set by this sample, the intervals take it as
    given.

    Args:
        data: the pairs.
        plan: of `faceaudit.make_plan`.

    Returns:
        "rates": a row per group: group, threshold, fnmr, fnmr_low, fnmr_high, fmr, fmr_low,
        fmr_high, positives, negatives, fnmr_ratio, fmr_ratio and reason; "error rates by group": a
        row per measure and other group, of `faceaudit.verification.disparities`, with p_beyond (of
        a difference no larger than the tolerance) and Holm's adjustment over all of them. Where a
        recogniser was asked, also "enrolment": a row per group: group, images, identities,
        failures, rate, low, high; and "failures to enrol by group", which is judged together with
        the error rates where there is any.

    Raises:
        ValueError: the FMR asked for is below what the negatives of the reference can show.
    """
    frame, vertices = data.frame, data.frame[["first", "second"]].to_numpy()
    pairs = frame["similarity"], frame["same"], frame["group"], vertices
    threshold = _threshold(pairs, plan, data.source)
    table, compared = _rates_and_differences(pairs, threshold, plan, plans.MEASURES)
    # A group without a pair has rates at no threshold.
    table = table.assign(threshold=threshold)
    base = table.set_index("group").loc[plan["reference"]]
    for rate in ("fnmr", "fmr"):
        table[f"{rate}_ratio"] = table[rate] / base[rate] if base[rate] > 0 else np.nan
    found = {"rates": table.reset_index(drop=True), plans.GROUPS: compared}
    if data.images is not None:
        found |= _enrolment(data.images, plan)
    missing = "enrolment" in found and found["enrolment"]["failures"].any()
    return settle_together(found, plan["level"], missing)


def _enrolment(images: pd.DataFrame, plan: Plan) -> dict[str, pd.DataFrame]:
    """Failures to enrol by group, as false non-matches of every image with itself.

    So the intervals know which images are of one identity, and are those of the error rates.
    """
    same, vertices = np.ones(len(images)), images[["unit", "unit"]].to_numpy()
    pairs = images["enrolled"].astype(float), same, images["group"], vertices
    bands, compared = _rates_and_differences(pairs, ENROLMENT_THRESHOLD, plan, plans.MEASURES[:1])
    groups = images.groupby("group")
    table = pd.DataFrame({"images": groups.size(), "identities": groups["identity"].nunique()})
    table["failures"] = groups["enrolled"].agg(lambda enrolled: int((enrolled == 0).sum()))
    table[["rate", "low", "high"]] = bands.set_index("group")[["fnmr", "fnmr_low", "fnmr_high"]]
    return {"enrolment": table.reset_index(), plans.ENROLMENT: compared.assign(measure=plans.FTE)}


def _threshold(pairs: PairColumns, plan: Plan, source: str) -> float:
    if plan["threshold"] is not None:
        return float(plan["threshold"])
    name = plan["reference"]
    reference = next(one for one in by_group(*pairs[:3]) if one.label == name)
    threshold, reason = reference.threshold_at(plan["fmr"])
    if reason:
        raise fault("no_threshold", source, plan["fmr"], name, reason)
    return threshold


def _rates_and_differences(
    pairs: PairColumns, threshold: float, plan: Plan, measures: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rates of groups, their differences from the reference, and what verdicts follow from."""
    settings = {"n_boot": RESAMPLES, "seed": plan["seed"]}
    rates = vertex_bootstrap(*pairs, thresholds=[threshold], **settings).curves
    settings |= {"tolerance": plan["tolerance"], "reference": plan["reference"]}
    table = disparities(*pairs, threshold=threshold, **settings)
    table = table[table["measure"].isin(measures)].reset_index(drop=True)
    return rates, with_p_values(table, plan)
