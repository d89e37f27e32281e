"""Verification: a table of pairs with similarities, or a recogniser that is asked about images.

Which pairs are compared follows from the table of images, the cap and the seed, so it is fixed
before the model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from faceaudit import families
from faceaudit.checks import DISTANCE_SEPARATION, examine, separation
from faceaudit.effects.verdicts import settled
from faceaudit.families import Plan
from faceaudit.file.specification import Specification
from faceaudit.frames import InputTables, Rows, listed_on_one_line
from faceaudit.models.answers import (
    NO_FACE,
    ModelAnswers,
    Notify,
    require_answers,
    silent,
)
from faceaudit.models.asking import check_model, model_of
from faceaudit.people.labels import pair_labels_by_people
from faceaudit.report.build import Tables, rows_of, rows_with_sentences
from faceaudit.report.coverage import WORST_CASES, Covered, coverage_rows, worst_case_rows
from faceaudit.report.facts import INSTEAD_OF
from faceaudit.report.limits import limits_of_pairs
from faceaudit.report.schema import Report
from faceaudit.utils import seeding
from faceaudit.utils.errors import InputError, missing_in_table
from faceaudit.utils.formatting import hundredths
from faceaudit.verdicts import settle_together, with_p_values
from faceaudit.verification.bootstrap import disparities_at_threshold, vertex_bootstrap
from faceaudit.verification.curves import by_group, euclidean_distance, similarity

if TYPE_CHECKING:  # an audit of a table does without
    from faceaudit.images.pictures import ImageSet

PairColumns = tuple[pd.Series, pd.Series, pd.Series, np.ndarray]
"""Similarity, whether it is one person, group, and both identities of every pair."""
COLUMNS = ["group", "first", "second", "same", "similarity"]
"""Of the frame of `Pairs`."""
RESAMPLES = 1000
"""Of the vertex bootstrap."""
ENROLMENT_THRESHOLD = 0.5
"""Between the similarity of an image to itself with an embedding, 1, and without, 0."""
COUNT_AND_RATE = (("positives", "fnmr"), ("negatives", "fmr"))
"""Columns of the number of pairs and of their error rate, in the order of `families.MEASURES`."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of images and the recogniser's similarity of each.

    Attributes:
        frame: a row per pair: group, first, second (identities, or units of matched ones), same (0
            or 1), similarity (of distances, the negative; NaN where the pair could not be compared,
            which only happens in a table).
        source: of the pairs.
        images: of a recogniser that was asked, a row per image: image, identity, group, unit,
            enrolled (0 or 1) and failed_call (0 or 1: why there is no embedding); None of a table
            of pairs.
        pairs_left_out: number of pairs with an image that has no embedding; of a table, of pairs
            without a similarity.
        unlabelled: where people say which pairs are of one person, the share of every group's pairs
            about which too few said anything.
    """

    frame: pd.DataFrame
    source: str
    images: pd.DataFrame | None = None
    pairs_left_out: int = 0
    unlabelled: pd.Series | None = None

    def kept_rows(self) -> pd.DataFrame:
        """The rows as they are kept beside a report of a data frame: see `from_kept_rows`."""
        return self.frame

    @classmethod
    def from_kept_rows(cls, rows: pd.DataFrame, report: Report, source: str) -> Pairs:
        """The pairs of a report, from the rows that are kept beside it.

        Args:
            rows: of `kept_rows`, as texts, with an empty one for what is unknown.
            report: of these pairs.
            source: of the rows.

        Raises:
            InputError: a column is missing.
        """
        missing = [name for name in COLUMNS if name not in rows]
        if missing:
            raise missing_in_table(source, missing, ", ".join(rows))
        frame = rows[COLUMNS].copy()
        frame["same"] = frame["same"].astype(int)
        frame["similarity"] = frame["similarity"].replace("", "nan").astype(float)
        left_out = int(frame["similarity"].isna().sum())
        return cls(frame, str(report.data["source"]), pairs_left_out=left_out)

    @classmethod
    def from_table(
        cls, table: str | Path | pd.DataFrame | Rows, specification: Specification
    ) -> Pairs:
        """Read a table of pairs, as the audit file describes it.

        A pair with an empty similarity could not be compared, since a face of it was not enrolled.
        It takes no part in error rates. How often pairs are missing is compared between groups.

        Args:
            table: a `.csv` or `.parquet` file, a frame, or rows that were read before.
            specification: whose `columns` and `reference` count.

        Returns:
            The pairs.

        Raises:
            InputError: a column that is missing, an identity, a label or a similarity that is none,
                a pair of one person with two identities or of two people with one, similarities
                that are all empty or all alike, one group only, or a reference that is no group.
        """
        rows = Rows.read(table)
        columns = specification.columns
        compared = columns.distance or columns.similarity
        rows.require([columns.group, columns.first, columns.second, columns.same, compared])
        pairs = pd.DataFrame(
            {
                "group": rows.texts(columns.group),
                "first": rows.texts(columns.first),
                "second": rows.texts(columns.second),
                "same": rows.texts(columns.same),
            }
        )
        pairs["similarity"] = rows.numbers(compared)
        not_finite = ~np.isfinite(pairs["similarity"]) & rows.frame[compared].notna()
        kind = "distance" if columns.distance else "similarity"
        expected = f"a finite {kind} (an empty cell where a face was not enrolled)"
        rows.refuse(not_finite, compared, expected)
        if columns.distance:
            pairs["similarity"] *= -1
        pairs["same"] = rows.coded(columns.same, ("False", "True"), "1 (the same person) or 0")
        _require_consistent_identities(pairs, rows, specification)
        place = f"{rows.source}: column {compared!r}"
        require_answers(pairs["similarity"].to_numpy(float), place)
        _require_groups(pairs["group"], specification.reference, rows.source)
        if columns.distance:
            hint = "is this a similarity? Give its column as columns.similarity"
        else:
            hint = "is this a distance? Give its column as columns.distance"
        refuse_distances(pairs.dropna(subset="similarity"), rows.source, hint)
        # A group none of whose pairs could be compared is still a group.
        groups = pd.CategoricalDtype(sorted(pairs["group"].unique()))
        missing = int(pairs["similarity"].isna().sum())
        pairs = pairs.astype({"same": int, "group": groups})
        return cls(pairs, rows.source, pairs_left_out=missing)

    @classmethod
    def from_model(
        cls,
        specification: Specification,
        tables: InputTables,
        folder: Path,
        say: Notify,
        device: str = "cpu",
    ) -> tuple[Pairs, dict[str, Any]]:
        """Ask the recogniser of an audit file about its images, and pair them.

        Args:
            specification: of the audit.
            tables: of the audit file.
            folder: for images and answers, which are used again.
            say: takes a sentence after every stage.
            device: "cpu" or "cuda", where networks of files compute.

        Returns:
            The pairs; and what the report has of the model, the people and the images, by arguments
            of `build_report`.
        """
        faces = open_faces(specification, tables)
        frame = faces.frame
        images = faces.pictures.to_store(faces.rows, folder / "images.npy")
        people = frame["identity"].nunique()
        groups = frame["group"].nunique()
        say(f"faces: {len(frame):,} images of {people:,} identities in {groups} groups")
        model = model_of(specification, device=device)
        design = specification.design
        people_label = "people" in specification.model_fields_set
        # People have little time.
        drawn = draw_pairs(frame, design.impostors, design.seed, few=people_label)
        check_model(model, images, folder)
        about = {}
        unlabelled = None
        if people_label:
            same, about_people = pair_labels_by_people(images, drawn, specification, folder)
            unlabelled = pd.Series(np.isnan(same)).groupby(drawn["group"]).mean()
            drawn = drawn.assign(same=same).dropna().astype({"same": int})
            say(
                f"people: {about_people['people']} people gave {about_people['answers']:,} answers "
                "about pairs"
            )
            about["people"] = [about_people]
        answers, about_model = examine(
            model,
            images,
            frame["identity"],
            folder,
            say,
            design.seed,
            specification.compares_distances,
        )
        pairs = cls.from_embeddings(answers, frame, drawn, specification)
        pairs = replace(pairs, unlabelled=unlabelled)
        say(
            f"pairs: {len(pairs.frame):,}, and {pairs.pairs_left_out:,} left out for want of an "
            "embedding"
        )
        return pairs, {**about, **about_model, "generator": faces.pictures.card}

    @classmethod
    def from_embeddings(
        cls,
        answers: ModelAnswers,
        images: pd.DataFrame,
        drawn: pd.DataFrame,
        specification: Specification,
    ) -> Pairs:
        """Drawn pairs of images with the similarity of their embeddings.

        It is the cosine, or the negative of the Euclidean distance.

        A face without an embedding is a failure to enrol, and its pairs are left out.

        Args:
            answers: of the recogniser, one for each image.
            images: a row per image, as of `open_faces`.
            drawn: of `draw_pairs`.
            specification: of the audit.
        """
        source = str(specification.beside(specification.table_of_images))
        enrolled = answers.reasons == ""
        embeddings = np.where(enrolled[:, None], answers.values, 1.0)
        both_enrolled = enrolled[drawn[["first", "second"]].to_numpy()].all(axis=1)
        frame = drawn[both_enrolled].reset_index(drop=True)
        rows = frame[["first", "second"]].to_numpy()
        if specification.compares_distances:
            frame["similarity"] = -euclidean_distance(embeddings, rows)
        else:
            frame["similarity"] = similarity(embeddings, rows)
        groups = pd.CategoricalDtype(sorted(set(images["group"])))
        frame["group"] = frame["group"].astype(groups)
        units = images["unit"].to_numpy()
        for side in ("first", "second"):
            frame[side] = units[frame[side]]
        refuse_distances(frame, source, "are these embeddings of another output?")
        failed_call = ~enrolled & (answers.reasons != NO_FACE)
        images = images.assign(enrolled=enrolled.astype(int), failed_call=failed_call.astype(int))
        return cls(frame, source, images, int((~both_enrolled).sum()))

    @property
    def compared(self) -> pd.DataFrame:
        """The pairs of `frame` that have a similarity."""
        return self.frame.dropna(subset="similarity")

    def analyse(self, plan: Plan, say: Notify = silent) -> dict[str, pd.DataFrame]:
        """Error rates of a recogniser by group at one threshold, and their differences.

        FRTE-style: one threshold for all groups, given, or set so that the reference group's FMR is
        at most the one asked for; ratios are to the reference. Intervals of rates are those of the
        vertex bootstrap, and those of differences of the dyadic-robust score (chapter 15). Both
        take identities as the units. Where the threshold is set by this sample, the intervals take
        it as given.

        Args:
            plan: of `faceaudit.make_plan`.
            say: takes a sentence after every stage, which can take seconds.

        Returns:
            "rates": a row per group: group, threshold, fnmr, fnmr_low, fnmr_high, fmr, fmr_low,
            fmr_high, positives, negatives, fnmr_ratio, fmr_ratio and reason; "error rates by
            group": a row per measure and other group, of `faceaudit.verification.disparities`, with
            p_beyond (of a difference no larger than the tolerance) and Holm's adjustment over all
            of them. "failures to enrol by group" has the same columns, and is judged together with
            the error rates where there is any. Where a recogniser was asked, it is about images,
            and "enrolment" has a row per group: group, images, identities, failures, rate, low,
            high. Of a table it is about pairs without a similarity: those of one person and those
            of two are apart, so that hard pairs of the rarer kind do not drown among the others.
            "missing pairs" has a row per group and measure where there are any: group, measure,
            pairs, missing, rate, low, high.

        Raises:
            InputError: the FMR asked for is below what the negatives of the reference can show.
        """
        frame = self.compared
        vertices = frame[["first", "second"]].to_numpy()
        pairs = (frame["similarity"], frame["same"], frame["group"], vertices)
        threshold = _threshold(pairs, plan, self.source)
        rates, differences = _rates_and_differences(pairs, threshold, plan, families.MEASURES)
        say(f"compared: {families.GROUPS}")
        # A group without a pair has rates at no threshold.
        rates = rates.assign(threshold=_sign(plan) * threshold)
        reference = rates.set_index("group").loc[plan["reference"]]
        for rate in ("fnmr", "fmr"):
            ratio = rates[rate] / reference[rate] if reference[rate] > 0 else np.nan
            rates[f"{rate}_ratio"] = ratio
        tables = {"rates": rates.reset_index(drop=True), families.GROUPS: differences}
        if self.images is not None:
            enrolment, differences = _enrolment(self.images, plan)
            tables["enrolment"] = enrolment
            tables[families.ENROLMENT] = differences
            any_failure = enrolment["failures"].any()
            say(f"compared: {families.ENROLMENT}")
        else:
            any_failure = self.pairs_left_out > 0
            # Without a missing pair, the planned comparisons are void.
            tables[families.ENROLMENT] = pd.DataFrame({"measure": families.MISSING_PAIRS})
            if any_failure:
                missing_pairs, differences = _missing_pairs(self.frame, plan)
                tables["missing pairs"] = missing_pairs
                tables[families.ENROLMENT] = differences
                say("compared: missing pairs by group")
        if self.images is None and any_failure:
            worst = _with_missing_as_errors(self.frame, threshold, plan)
            tables[WORST_CASES] = settled(worst, plan["level"])
            say(f"compared: {WORST_CASES}")
        return settle_together(tables, plan["level"], any_failure)

    def report_parts(self, tables: Tables, plan: Plan) -> tuple[dict[str, Any], list[str]]:
        """The parts of a report that a verification has, and its limits."""
        frame = self.compared
        images = self.images
        rates = rows_of("match_rates", tables["rates"])
        counts = {
            "pairs": len(frame),
            "identities": pd.concat([frame["first"], frame["second"]]).nunique(),
            "groups": len(rates),
            "reference": plan["reference"],
            "source": Path(self.source).name,
        }
        parts = {"threshold": rates[0].threshold, "data": counts, "match_rates": rates}
        parts["disparities"] = rows_with_sentences("disparities", tables[families.GROUPS], plan)
        failed_calls = 0
        failures = self.pairs_left_out
        if images is not None:
            failures = int((images["enrolled"] == 0).sum())
            failed_calls = images["failed_call"].sum()
            counts["images"] = len(images)
            counts["identities"] = images["identity"].nunique()
            counts["failures_to_enrol"] = failures
            parts["enrolment"] = rows_of("enrolment", tables["enrolment"])
        counts["pairs_left_out"] = self.pairs_left_out
        parts["missing_pairs"] = rows_of("missing_pairs", tables.get("missing pairs"))
        differences = tables[families.ENROLMENT] if failures else None
        parts["failures_to_enrol"] = rows_with_sentences("failures_to_enrol", differences, plan)
        parts["coverage"] = coverage_rows(self._covered(), plan["policy"])
        parts["worst_cases"] = worst_case_rows(tables.get(WORST_CASES))
        return parts, limits_of_pairs(parts, counts, plan, int(failed_calls))

    def _covered(self) -> Covered:
        """People in every group; images without an embedding, or pairs without a similarity.

        Groups are compared in failures to enrol. Pairs without a label are few over all groups,
        since an audit stops where people left out more; they may be many in one of them. Of a table
        the pairs of one person and those of two count apart.
        """
        frame = self.compared
        people = pd.concat(
            [
                frame[["group", side]].set_axis(["group", "identity"], axis=1)
                for side in ("first", "second")
            ]
        )
        identities = people.groupby("group", observed=False)["identity"].nunique()
        if self.images is not None:
            lacking = "images"
            unanswered = 1 - self.images.groupby("group")["enrolled"].mean()
        else:
            lacking = "pairs of one kind"
            pairs = self.frame.assign(missing=self.frame["similarity"].isna())
            by_kind = pairs.pivot_table("missing", "group", "same", observed=False)
            unanswered = by_kind.max(axis=1)
        if self.unlabelled is not None:
            unanswered = unanswered.combine(self.unlabelled, max)
        return Covered(
            unit="people",
            place="group",
            smallest=str(identities.idxmin()),
            fewest=int(identities.min()),
            lacking=lacking,
            emptiest=str(unanswered.idxmax()),
            unanswered=float(unanswered.max()),
        )


# --- what is refused


def refuse_distances(pairs: pd.DataFrame, source: str, hint: str) -> None:
    """Raise InputError where pictures of one person are less similar than those of two.

    Args:
        pairs: columns similarity and same.
        source: of the pairs, for the message.
        hint: what is likely wrong, for the message.
    """
    separated = separation(pairs["similarity"], pairs["same"] == 1)
    if separated < DISTANCE_SEPARATION:
        raise InputError(
            f"{source}: pairs of one person are less similar than pairs of two in "
            f"{hundredths(1 - separated)} of 100 comparisons; {hint}, or check which pairs are "
            "said to be of one person",
            field="similarity",
            found=1 - separated,
            expected="larger similarities of one person",
        )


def _require_consistent_identities(
    pairs: pd.DataFrame, rows: Rows, specification: Specification
) -> None:
    """Raise InputError where the identities of a pair contradict its column `same`."""
    columns = specification.columns
    contradicted = (pairs["first"] == pairs["second"]) != (pairs["same"] == 1)
    if not contradicted.any():
        return
    row = contradicted.idxmax()
    people = "one person" if pairs["same"][row] == 1 else "two people"
    identities = f"{pairs['first'][row]!r} and {pairs['second'][row]!r}"
    raise InputError(
        f"{rows.source}: row {row}: column {columns.same!r} says a pair of {people}, but the "
        f"columns {columns.first!r} and {columns.second!r} have the identities {identities} "
        f"({contradicted.sum()} such rows); these columns must name the people, and not their "
        "pictures",
        field=f"row {row}",
        found=identities,
        expected=f"identities of {people}",
    )


def _require_groups(groups: pd.Series, reference: str | None, source: str) -> None:
    """Raise InputError where there is no group to compare the reference with."""
    names = sorted(groups.unique())
    if reference not in names or len(names) < 2:
        raise InputError(
            f"{source}: the groups are {listed_on_one_line(names)}; the reference {reference!r} "
            "and another one were expected",
            field="reference",
            found=names,
            expected=f"{reference!r} and another group",
        )


# --- images of a recogniser, and pairs of them


@dataclass(frozen=True)
class Faces:
    """The images that a verification names.

    Attributes:
        frame: a row per image: image (its file), identity, group and unit, in the order of the
            files' names, whatever that of the table is.
        pictures: of the table.
        rows: of the pictures in their table (n,), in the order of the frame.
    """

    frame: pd.DataFrame
    pictures: ImageSet
    rows: np.ndarray


def open_faces(specification: Specification, tables: InputTables) -> Faces:
    """Read the table of images that a verification names, and find the files.

    Identities are the units, unless `columns.unit` names a column that says which identities of
    different groups are matched, such as faces that were made of one seed.

    Raises:
        InputError: a column is missing, a cell is empty, an identity has two groups or two units, a
            unit has two identities in a group, or no error can be counted, since no identity has
            two images or no group two identities.
    """
    from faceaudit.images.pictures import pictures_of  # an audit of a table does without

    table = specification.beside(specification.table_of_images)
    rows = tables.rows(specification.table_of_images)
    columns = specification.columns
    unit_is_given = "unit" in columns.model_fields_set
    column_of = {
        "image": columns.image,
        "identity": columns.identity,
        "group": columns.group,
        "unit": columns.unit if unit_is_given else columns.identity,
    }
    rows.require(column_of.values())
    frame = pd.DataFrame({name: rows.texts(column) for name, column in column_of.items()})
    for keys, name in (
        (["identity"], "group"),
        (["identity"], "unit"),
        (["unit", "group"], "identity"),
    ):
        first = frame.groupby(keys, sort=False)[name].transform("first")
        expected = f"one {name} for each {' and '.join(keys)}"
        rows.refuse(first != frame[name], column_of[name], expected)
    _require_groups(frame["group"], specification.reference, rows.source)
    if not frame["identity"].duplicated().any():
        raise InputError(
            f"{table}: no identity has two images, so that nobody can be recognised",
            field=columns.identity,
            expected="two images of an identity",
        )
    if frame["identity"].nunique() == frame["group"].nunique():
        raise InputError(
            f"{table}: no group has two identities, so that nobody can be mixed up",
            field=columns.group,
            expected="two identities in a group",
        )
    order = np.argsort(frame["image"].to_numpy(str), kind="stable")
    pictures = pictures_of(specification, table, columns.image, rows)
    return Faces(frame.iloc[order].reset_index(drop=True), pictures, order)


def draw_pairs(images: pd.DataFrame, impostors: int, seed: int, few: bool = False) -> pd.DataFrame:
    """Which images are compared: pairs of one identity, and impostors of one group.

    All pairs of one identity are; where `few`, no more in a group than impostors.

    Like is compared with like, as in NIST's FRTE: two people of different groups are easy to tell
    apart, and would hide who is mixed up within a group. Where a group has more impostor pairs than
    are asked for, so many are drawn, each with the same probability; draws depend on the names of
    images, identities and groups, not on the order of the rows.

    Args:
        images: a row per image, as of `open_faces`.
        impostors: pairs of two identities in a group, at most.
        seed: of the draws.
        few: whether pairs of one identity are limited as well.

    Returns:
        A row per pair: group, first and second (rows of the images, numbered from 0), same (1 for
        one identity, 0 for two).
    """
    numbered = images.reset_index(drop=True).sort_values(["group", "identity", "image"])
    tables = []
    for group, members in numbered.groupby("group", sort=True):
        codes, _ = pd.factorize(members["identity"])
        sizes = np.bincount(codes)
        # Of each image: where those of its identity begin, and how many of these are before it.
        start = (np.cumsum(sizes) - sizes)[codes]
        before = np.arange(len(members)) - start

        random = seeding.rng(seed, f"audit/impostors/{group}")
        number = int(start.sum())
        drawn = random.choice(number, min(impostors, number), replace=False)
        of_two = _with_earlier(np.zeros_like(start), start, np.sort(drawn))

        random = seeding.rng(seed, f"audit/genuine/{group}")
        number = int(before.sum())
        drawn = random.choice(number, min(impostors, number) if few else number, replace=False)
        of_one = _with_earlier(start, before, np.sort(drawn))

        rows = members.index.to_numpy()[np.concatenate([of_one, of_two])]
        tables.append(
            pd.DataFrame(
                {
                    "group": group,
                    "first": rows[:, 0],
                    "second": rows[:, 1],
                    "same": np.repeat([1, 0], [len(of_one), len(of_two)]),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def _with_earlier(start: np.ndarray, count: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Pairs of an image with an earlier one, by their numbers.

    Args:
        start: (n,) of each image, the first one that it is paired with.
        count: (n,) how many images from `start` on it is paired with; pairs are numbered image by
            image.
        numbers: (m,) of the pairs that are asked for.

    Returns:
        (m, 2) the earlier and the later image of each pair.
    """
    ends = np.cumsum(count)
    later = np.searchsorted(ends, numbers, side="right")
    earlier = numbers - (ends - count)[later] + start[later]
    return np.stack([earlier, later], axis=1)


# --- tables of the analysis


def _enrolment(images: pd.DataFrame, plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Failures to enrol by group, and their differences from the reference.

    They are computed as false non-matches of every image with itself, so that the intervals know
    which images are of one identity, and are those of the error rates.
    """
    same = np.ones(len(images))
    vertices = images[["unit", "unit"]].to_numpy()
    pairs = (images["enrolled"].astype(float), same, images["group"], vertices)
    rates, differences = _rates_and_differences(
        pairs, ENROLMENT_THRESHOLD, plan, families.MEASURES[:1]
    )
    groups = images.groupby("group")
    table = pd.DataFrame({"images": groups.size(), "identities": groups["identity"].nunique()})
    table["failures"] = groups["enrolled"].agg(lambda enrolled: int((enrolled == 0).sum()))
    table[["rate", "low", "high"]] = rates.set_index("group")[["fnmr", "fnmr_low", "fnmr_high"]]
    return table.reset_index(), differences.assign(measure=families.FTE)


def _missing_pairs(frame: pd.DataFrame, plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rates of pairs without a similarity by group, and their differences from the reference.

    They are computed as the errors of a recogniser that is wrong where there is no similarity, and
    right where there is one, so that the intervals know which pairs share an identity.

    Args:
        frame: a row per pair, as of `Pairs`.
        plan: of the audit.

    Returns:
        A row per group and measure of `families.MISSING_PAIRS`, and a row per measure and other
        group.
    """
    missing = frame["similarity"].isna()
    called_one_person = (missing != (frame["same"] == 1)).astype(float)
    vertices = frame[["first", "second"]].to_numpy()
    pairs = (called_one_person, frame["same"], frame["group"], vertices)
    rates, differences = _rates_and_differences(pairs, ENROLMENT_THRESHOLD, plan, families.MEASURES)
    tables = []
    for measure, (count, rate) in zip(families.MISSING_PAIRS, COUNT_AND_RATE, strict=True):
        columns = ["group", count, rate, f"{rate}_low", f"{rate}_high"]
        table = rates[columns].set_axis(["group", "pairs", "rate", "low", "high"], axis=1)
        number = (table["rate"] * table["pairs"]).fillna(0).round().astype(int)
        tables.append(table.assign(measure=measure, missing=number))
    new_names = dict(zip(families.MEASURES, families.MISSING_PAIRS, strict=True))
    differences["measure"] = differences["measure"].map(new_names)
    return pd.concat(tables, ignore_index=True), differences


def _with_missing_as_errors(frame: pd.DataFrame, threshold: float, plan: Plan) -> pd.DataFrame:
    """Differences of error rates in which each pair without a similarity is an error.

    Args:
        frame: a row per pair, as of `Pairs`.
        threshold: the least similarity of a match.
        plan: of the audit.
    """
    wrong_side = threshold + np.where(frame["same"] == 1, -1.0, 1.0)
    similarities = frame["similarity"].fillna(pd.Series(wrong_side, frame.index))
    vertices = frame[["first", "second"]].to_numpy()
    pairs = (similarities, frame["same"], frame["group"], vertices)
    differences = _differences(pairs, threshold, plan, families.MEASURES)
    contrasts = differences["group"].astype(str) + INSTEAD_OF + plan["reference"]
    return differences.assign(subject=differences["group"], contrast=contrasts)


def _sign(plan: Plan) -> int:
    """−1 where pairs are judged by distances, whose negatives are similarities, else 1."""
    return -1 if plan.get("distances") else 1


def _threshold(pairs: PairColumns, plan: Plan, source: str) -> float:
    """The least similarity of a match: that of the plan, or that of the planned FMR."""
    if plan["threshold"] is not None:
        return _sign(plan) * float(plan["threshold"])
    name = plan["reference"]
    similarities, same, groups, _ = pairs
    reference = next(group for group in by_group(similarities, same, groups) if group.label == name)
    threshold, reason = reference.threshold_at(plan["fmr"])
    if reason:
        raise InputError(
            f"{source}: model.fmr is {plan['fmr']}, in the reference {name!r} that is {reason}; "
            "ask for a larger one or bring more pairs",
            field="model.fmr",
            found=plan["fmr"],
            expected="a larger one",
        )
    return threshold


def _rates_and_differences(
    pairs: PairColumns, threshold: float, plan: Plan, measures: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rates of groups; and their differences from the reference, with p-values of `measures`."""
    rates = vertex_bootstrap(
        *pairs, thresholds=[threshold], n_boot=RESAMPLES, seed=plan["seed"]
    ).curves
    return rates, _differences(pairs, threshold, plan, measures)


def _differences(
    pairs: PairColumns, threshold: float, plan: Plan, measures: Sequence[str]
) -> pd.DataFrame:
    """Differences of the rates of groups from the reference, with p-values of `measures`."""
    differences = disparities_at_threshold(
        *pairs,
        threshold=threshold,
        tolerance=plan["tolerance"],
        reference=plan["reference"],
    )
    differences = differences[differences["measure"].isin(measures)].reset_index(drop=True)
    return with_p_values(differences, plan)


# --- the steps as functions

from_pairs = Pairs.from_table
analyse_pairs = Pairs.analyse
