"""Found portraits: rates, differences that are no effects, and what matched images predict."""

import json

import numpy as np
import pandas as pd
import pytest
from pretended_audits import pretended_table
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

import faceaudit
from faceaudit import Portraits, Specification, build_report, make_plan
from faceaudit.effects import linear_effects
from faceaudit.families import GAPS, GAPS_BY_CELL, MISSING_GAPS
from faceaudit.file.specification import read_specification
from faceaudit.report.page import card as report_card
from faceaudit.report.page import page
from faceaudit.utils.errors import InputError
from faceworld import populations
from faceworld.audit import run_audit, write_faces
from faceworld.rendering import render_to_store

FILE = {
    "name": "found",
    "kind": "portraits",
    "question": "Does the model err more often on portraits of darker skin?",
    "images": "found.csv",
    "columns": {"identity": "person", "label": "said", "score": "p_male"},
    "axes": {"skin": ("light", "dark"), "hair": ("short", "long")},
    "covariates": ["age", "smile"],
    "classes": ("female", "male"),
    "design": {"tolerance": 0.05},
}
ASKED = {"kind": "python", "function": "reader_of_test:answer", "version": "1"}
ASKED |= {"input": {"size": 32}}
FUNCTION = """
def answer(images):
    '''How light the middle of the picture is; of a dark corner no answer.'''
    return images[:, :, 12:20, 12:20].mean((1, 2, 3)).clip(0.01, 0.99)
"""


def found_table(people: int, seed: int = 1, hair: float = 0.3, skin: float = 0.0) -> pd.DataFrame:
    """Portraits of the PPB-like world, one to three of a person, and a model's scores.

    The model errs on one in ten, more often by `hair` with short and by `skin` with dark skin.
    """
    drawn = populations.sample("ppb-like", people, seed).frame
    table = drawn.loc[drawn.index.repeat(drawn["item"] % 3 + 1)].reset_index(drop=True)
    random = np.random.default_rng(seed)
    dark, short = table["skin_colour"] >= 0.5, table["hair_length"] < 0.4
    wrong = random.random(len(table)) < 0.1 + hair * short + skin * dark
    said = np.where(table["gender"] == 1, "male", "female")
    score = np.where((said == "male") != wrong, 0.9, 0.1) - 0.05 * random.random(len(table))
    columns = {"image_id": [f"{n}.png" for n in table.index], "person": table["item"]}
    columns |= {"skin": np.where(dark, "dark", "light"), "hair": np.where(short, "short", "long")}
    columns |= {"age": table["age"], "smile": random.choice(["yes", "no"], len(table))}
    return pd.DataFrame(columns | {"said": said, "p_male": score})


def own(**changes) -> Specification:
    return Specification(**(FILE | changes))


def matched(faces: int, hair: float = 0.3, skin: float = 0.0, seed: int = 2) -> pd.DataFrame:
    """Matched images with errors at the same rates."""
    random, levels = np.random.default_rng(seed), [("light", "dark"), ("short", "long")]
    index = pd.MultiIndex.from_product([range(faces), *levels], names=["unit", "skin", "hair"])
    table = index.to_frame(index=False)
    risk = 0.1 + hair * (table["hair"] == "short") + skin * (table["skin"] == "dark")
    return table.assign(error=(random.random(len(table)) < risk).astype(int))


def analysed(table, **changes):
    specification = own(**changes)
    data, plan = Portraits.from_table(table, specification), make_plan(specification)
    return data, plan, data.analyse(plan)


@pytest.fixture(scope="module")
def portraits():
    return found_table(1500)


@pytest.fixture(scope="module")
def tables(portraits):
    return analysed(portraits)


@pytest.fixture
def files(home, portraits):
    """An audit file with its table and matched images beside it; written again with changes."""
    portraits.to_csv(home / "found.csv", index=False)
    matched(400).to_csv(home / "matched.csv", index=False)

    def written(**changes):
        path = home / "found.yml"
        path.write_text(json.dumps(FILE | changes), encoding="utf-8")
        return path

    return written


# --- reading


def test_scores_decisions_errors_and_raters_are_read_alike(portraits):
    score = Portraits.from_table(portraits, own()).frame
    wrong = (portraits["p_male"] > 0.5) != (portraits["said"] == "male")
    assert score["error"].tolist() == wrong.tolist() and score["no_answer"].sum() == 0
    table = portraits.assign(
        decided=np.where(portraits["p_male"] > 0.5, "male", "female"), error=wrong, other=1
    )
    table["third"] = table["said"]
    for columns in ({"decision": "decided"}, {"error": "error"}):
        read = Portraits.from_table(
            table, own(columns={"identity": "person", "label": "said"} | columns)
        )
        assert read.frame["error"].tolist() == wrong.tolist()
    raters = {"identity": "person", "answers": ["said", "other", "third"], "score": "p_male"}
    assert (
        Portraits.from_table(table, own(columns=raters)).frame["error"].tolist() == wrong.tolist()
    )


def test_rows_of_no_use_are_left_out_and_counted_by_their_first_fault(portraits):
    table = portraits.astype({"person": object}).copy()
    table.loc[0, ["skin", "said"]] = ["medium", None]
    table.loc[[1, 2], "skin"] = "medium"
    table.loc[3, "said"] = "unsure"
    table.loc[4, "person"] = None
    table.loc[5, "age"] = None
    table.loc[6, "p_male"] = None
    data = Portraits.from_table(table, own())
    counted = {tuple(row[:2]): row[2] for row in data.left_out.to_numpy().tolist()}
    expected = {("skin", "medium"): 3, ("said", "unsure"): 1, ("person", ""): 1, ("age", ""): 1}
    assert counted == expected
    assert data.frame["image_id"].tolist() == [f"{n}.png" for n in range(6, len(table))]
    assert np.isnan(data.frame["error"][0]) and data.frame["no_answer"].sum() == 1


def test_covariates_of_many_numbers_become_fifths_and_others_stay(portraits):
    frame = Portraits.from_table(portraits, own()).frame
    assert sorted(frame["age"].unique()) == [*"01234"] and frame["smile"].isin(["yes", "no"]).all()
    means = portraits["age"].groupby(frame["age"].to_numpy()).agg(["min", "max", "size"])
    assert (means["max"].iloc[:-1].to_numpy() <= means["min"].iloc[1:].to_numpy()).all()
    assert means["size"].min() > 0.19 * len(frame)


def coded_table(codes: int) -> pd.DataFrame:
    """Portraits with errors that depend on a code, whose odd values go with dark skin."""
    random = np.random.default_rng(5)
    code = random.integers(0, codes, 4000)
    dark = random.random(len(code)) < np.where(code % 2, 0.8, 0.2)
    wrong = random.random(len(code)) < np.where(code % 2, 0.4, 0.1)
    columns = {"image_id": [f"{n}.png" for n in range(len(code))], "person": np.arange(len(code))}
    columns |= {"skin": np.where(dark, "dark", "light"), "code": code}
    return pd.DataFrame(columns | {"said": "male", "p_male": np.where(wrong, 0.1, 0.9)})


@pytest.mark.parametrize(("codes", "in_fifths"), [(7, ()), (20, ()), (21, ("code",))])
def test_codes_in_whole_numbers_are_categories_and_fifths_are_told(codes, in_fifths):
    table = coded_table(codes)
    file = own(axes={"skin": ("light", "dark")}, covariates=["code"])
    data = Portraits.from_table(table, file)
    assert data.in_fifths == in_fifths
    assert data.frame["code"].nunique() == (5 if in_fifths else codes)
    plan = make_plan(file)
    tables = data.analyse(plan)
    told = [one for one in build_report(data, tables, plan, plan).limits if "fifths" in one]
    assert [one.split(" is a column")[0] for one in told] == ["The covariate code"] * len(in_fifths)
    if not in_fifths:
        words = Portraits.from_table(table.assign(code="code " + table["code"].astype(str)), file)
        expected = words.analyse(plan)["adjusted"]["estimate"]
        np.testing.assert_allclose(tables["adjusted"]["estimate"], expected, atol=1e-9)


def test_few_whole_numbers_are_one_category_each_however_they_are_written(portraits):
    years = 20 + portraits.index % 9
    for cells in (years, years.astype(float), years.astype(str), years.astype(str) + ".0"):
        frame = Portraits.from_table(portraits.assign(age=cells), own()).frame
        assert frame["age"].tolist() == years.astype(str).tolist()
    halves = Portraits.from_table(portraits.assign(age=years + 0.5), own())
    assert halves.frame["age"].nunique() <= 5 and halves.in_fifths == ("age",)


def test_other_codes_than_the_two_levels_are_left_out_and_counted(portraits):
    """Five categories are coded 0 to 4, and the file asks about 2 and 3."""
    code = np.arange(len(portraits)) % 5
    two = {"axes": {"skin": ("2", "3")}, "covariates": []}
    for cells in (code, code.astype(float), code.astype(str), pd.Series(code).replace(4, np.nan)):
        data = Portraits.from_table(portraits.assign(skin=cells), own(**two))
        assert (
            data.frame["image_id"].tolist() == portraits["image_id"][np.isin(code, [2, 3])].tolist()
        )
        assert data.left_out["count"].sum() == (~np.isin(code, [2, 3])).sum()
        assert len(data.left_out) == 3


@pytest.mark.parametrize("text", ["nan", "NA", "#N/A"])
def test_missing_values_are_left_out_and_counted_in_every_column(portraits, text, tmp_path):
    table = portraits.astype(object)
    for row, column in enumerate(["skin", "said", "person", "age", "smile"]):
        table.loc[row, column] = text
    table.to_csv(tmp_path / "found.csv", index=False)
    for given in (table, tmp_path / "found.csv"):
        data = Portraits.from_table(given, own())
        assert data.frame["image_id"].tolist() == portraits["image_id"][5:].tolist()
        assert {*data.left_out["value"]} == {text} and data.left_out["count"].tolist() == [1] * 5


def test_a_column_that_is_mostly_numbers_never_becomes_categories(portraits):
    """One cell that is no number is left out and counted; the others are cut into fifths."""
    whole = Portraits.from_table(portraits.drop(index=3), own()).frame["age"]
    for cell in ("unknown", "inf", "70+", None):
        table = portraits.astype({"age": object})
        table.loc[3, "age"] = cell
        data = Portraits.from_table(table.astype({"age": "str"}), own())
        assert data.left_out.to_numpy().tolist() == [["age", cell or "", 1]]
        assert data.frame["age"].tolist() == whole.tolist()
    words = portraits.assign(age=np.where(portraits.index % 3 == 0, "30", "40-49"))
    assert {*Portraits.from_table(words, own()).frame["age"]} == {"30", "40-49"}
    few = portraits.assign(age=np.where(portraits.index % 3 == 0, "1", "2.0"))
    assert {*Portraits.from_table(few, own()).frame["age"]} == {"1", "2"}


def test_numbers_with_a_comma_are_refused_by_row(portraits):
    for rows in (slice(None), slice(4, 6)):
        table = portraits.assign(age=portraits["age"].round(3).astype(str))
        table.loc[rows, "age"] = table.loc[rows, "age"].str.replace(".", ",")
        row = 2 if rows.start is None else 6
        expected = f"column 'age', row {row} is '0,.*', a number as 1234.5, without a comma, marks"
        with pytest.raises(ValueError, match=expected):
            Portraits.from_table(table, own())


@pytest.mark.parametrize("writing", ["{}°", "{}%", "{} px", "1,234.{}", "1 645{}", "1'234.{}"])
def test_numbers_in_another_writing_never_become_categories(portraits, writing):
    cells = [writing.format(row) for row in range(len(portraits))]
    with pytest.raises(ValueError, match="column 'age', row 2 is .*, a number as 1234.5"):
        Portraits.from_table(portraits.assign(age=cells), own())


def test_a_minus_sign_is_read_as_a_hyphen_is(portraits):
    hyphen = [f"{row - 50}" for row in range(len(portraits))]
    minus = [text.replace("-", "\N{MINUS SIGN}") for text in hyphen]
    expected, found = (
        Portraits.from_table(portraits.assign(age=cells), own()).frame["age"]
        for cells in (hyphen, minus)
    )
    assert found.tolist() == expected.tolist()


def test_ranges_and_dates_with_hyphens_are_names(portraits):
    cells = np.where(portraits.index % 2, "20-29", "2024-05-01")
    assert Portraits.from_table(portraits.assign(age=cells), own()).frame["age"].tolist() == [
        *cells
    ]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"skin": "dark"}, "column 'skin' has no 'light' in a row of use"),
        (
            {"hair": "bob"},
            "0 people are left, two or more were expected; hair is 'bob' in 3000 rows",
        ),
        (
            {"age": [[1] if row == 3 else 40 for row in range(3000)]},
            "column 'age', row 5 is .1., a single value was expected",
        ),
        ({"image_id": "one.png"}, "row 3 is 'one.png', as row 2 is; name an image once"),
        ({"p_male": 3.5}, "a score from 0 to 1 .are these logits"),
    ],
)
def test_a_fault_of_the_table_is_one_sentence(portraits, change, sentence):
    with pytest.raises(ValueError, match=sentence) as told:
        Portraits.from_table(portraits.assign(**change), own())
    assert "\n" not in str(told.value) and str(told.value).startswith("the table: ")


def test_one_person_is_a_person(portraits):
    one = portraits.assign(person="somebody")
    with pytest.raises(InputError, match="portraits of 1 person are left, two or more were exp"):
        Portraits.from_table(one, own())


@pytest.mark.parametrize(
    ("columns", "covariate", "role"),
    [
        ({"decision": "says"}, "says", "the answers of the model"),
        ({"score": "p_male"}, "p_male", "the scores of the model"),
        ({"score": "p_male"}, "said", "the right answers"),
        ({"score": "p_male", "answers": ["said", "says"]}, "says", "the right answers"),
        ({"error": "wrong"}, "wrong", "the errors of the model"),
        ({"number": "years"}, "years", "the outcome"),
        ({"error": "wrong", "reason": "why"}, "why", "the reasons why the model gave no answer"),
    ],
)
def test_answers_and_labels_are_no_covariates(portraits, columns, covariate, role):
    of_answers = {"says": portraits["said"], "wrong": 0, "years": 1.5, "why": None}
    labels = {} if {"answers", "error", "number"} & columns.keys() else {"label": "said"}
    audit = own(
        columns={"identity": "person", **labels, **columns},
        covariates=["age", covariate],
        **({"outcomes": ["number"]} if "number" in columns else {}),
    )
    message = f"covariates: the column '{covariate}' has {role}; a column that is known before"
    with pytest.raises(InputError, match=message) as told:
        Portraits.from_table(portraits.assign(**of_answers), audit)
    assert told.value.field == "covariates"


def test_a_column_called_reason_that_has_none_may_be_a_covariate(portraits):
    table = portraits.assign(reason=portraits["smile"])
    assert "reason" in Portraits.from_table(table, own(covariates=["reason"])).frame


def test_missing_columns_and_errors_that_are_none_are_named(portraits):
    with pytest.raises(ValueError, match="no column 'age'; it has image_id, person"):
        Portraits.from_table(portraits.drop(columns="age"), own())
    wrong = portraits.assign(wrong=2)
    with pytest.raises(ValueError, match="'wrong', row 2 is 2, 1 .an error., 0, or an empty cell"):
        Portraits.from_table(wrong, own(columns={"error": "wrong"}))
    silent = Portraits.from_table(portraits.assign(wrong=None), own(columns={"error": "wrong"}))
    with pytest.raises(ValueError, match="no portrait has both a label and an answer"):
        silent.analyse(make_plan(own()))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"images": None}, "images is missing, the table of portraits"),
        ({"covariates": ["skin"]}, "covariates: the column 'skin' is an axis too; keep it in one"),
        ({"covariates": ["score"]}, "covariates: the column 'score' has a name that the audit"),
        ({"covariates": ["hair", "hair"]}, "covariates is .*, a list with every name once was"),
        ({"columns": {"score": "a", "error": "b"}}, "columns.error is given besides columns.score"),
        ({"model": ASKED}, "columns.score is given besides a model"),
        ({"axes": {}}, "axes has 0 attributes"),
    ],
)
def test_a_fault_of_the_file_names_its_field(change, sentence):
    with pytest.raises(InputError, match=sentence):
        own(**change)


# --- rates and differences


def test_rates_have_wilson_s_interval_and_a_wider_one_by_people(tables, portraits):
    data, _, found = tables
    frame, rates = data.frame, found["rates"].set_index("group")
    part = frame[(frame["skin"] == "dark") & (frame["hair"] == "short")]
    row, errors = rates.loc["dark, short"], part["error"].sum()
    expected = [len(part), errors, part["identity"].nunique()]
    assert row[["images", "errors", "identities"]].tolist() == expected
    expected = proportion_confint(errors, len(part), method="wilson")
    np.testing.assert_allclose(row[["low", "high"]].astype(float), expected)
    # Copies of portraits tell nothing new: by people the interval stays, Wilson's shrinks.
    copies = pd.concat([portraits.assign(image_id=f"{k}-" + portraits["image_id"]) for k in "ab"])
    twice = analysed(copies)[2]["rates"].set_index("group").loc["dark, short"]
    by_people, wilson = (
        (twice[f"{of}high"] - twice[f"{of}low"]) / (row[f"{of}high"] - row[f"{of}low"])
        for of in ("cluster_", "")
    )
    assert abs(by_people - 1) < 0.03 and abs(wilson - 0.5**0.5) < 0.02
    single = analysed(portraits, columns={"label": "said", "score": "p_male"})[2]["rates"]
    assert "cluster_low" not in single


def test_differences_are_high_minus_low_in_the_order_of_the_file(tables):
    data, _, found = tables
    rate = found["rates"].set_index("group")["rate"]
    by_cell = found[GAPS_BY_CELL].set_index(["axis", "cell"])
    assert np.isclose(
        by_cell.loc[("skin", "short"), "estimate"], rate["dark, short"] - rate["light, short"]
    )
    means = data.frame.groupby("hair", observed=True)["error"].mean()
    whole = found[GAPS].set_index("axis").loc["hair"]
    assert np.isclose(whole["estimate"], means["long"] - means["short"])
    assert (whole["reference_rate"], whole["rate"]) == (means["short"], means["long"])
    assert whole["high"] < -0.2 and whole["verdict"] == "exceeds"


def test_one_portrait_of_each_person_has_newcombe_s_interval(portraits):
    """Of small cells too; people with several portraits are units of wider intervals."""
    single = portraits.drop_duplicates("person").iloc[:150]
    found = analysed(single)[2]
    for row in pd.concat([found[GAPS], found[GAPS_BY_CELL]]).itertuples():
        names = {axis: FILE["axes"][axis][level] for axis, level in row.held.items()}
        part = single[(single[[*names]] == pd.Series(names)).all(axis=1)]
        wrong = (part["p_male"] > 0.5) != (part["said"] == "male")
        low, high = (wrong[part[row.axis] == level] for level in FILE["axes"][row.axis])
        counts = high.sum(), len(high), low.sum(), len(low)
        expected = confint_proportions_2indep(*map(int, counts), method="newcomb")
        np.testing.assert_allclose([row.low, row.high], expected)


def test_an_adjustment_takes_out_what_goes_with_skin(tables, portraits):
    """Hair moves the errors, skin does not, and in this world dark skin goes with short hair."""
    data, _, found = tables
    assert found[GAPS].set_index("axis").loc["skin", "low"] > 0.03
    adjusted = found["adjusted"].set_index(["model", "axis"])
    for model in ("linear", "logistic"):
        assert adjusted.loc[(model, "skin"), "low"] < 0 < adjusted.loc[(model, "skin"), "high"]
        assert adjusted.loc[(model, "hair"), "high"] < -0.2
    alone = linear_effects(data.frame, "error", ["skin", "hair"], ["age", "smile"], "identity")
    assert np.isclose(adjusted.loc[("linear", "skin"), "estimate"], alone.loc["skin", "estimate"])
    single = {"covariates": [], "axes": {"skin": ("light", "dark")}}
    assert not {"adjusted", GAPS_BY_CELL} & {*analysed(portraits, **single)[2]}
    assert carried(portraits, matched(40), **single)["missing"].tolist() == [0]


def test_a_model_that_is_silent_on_dark_portraits_does_not_pass():
    table = found_table(600, hair=0)
    silent = (table["skin"] == "dark") & (table.index % 2 == 0)
    data, plan, found = analysed(table.assign(p_male=table["p_male"].mask(silent)))
    row = found[MISSING_GAPS].set_index("axis").loc["skin"]
    assert np.isclose(row["estimate"], silent[table["skin"] == "dark"].mean())
    report = build_report(data, found, plan, plan)
    code, lines = faceaudit.gate(report)
    assert code == 1 and "0.0 of 100 portraits listed as “light” and" in lines[0]
    assert lines[0].removeprefix("exceeds: ") in report_card(report)


# --- what matched images predict


def carried(table, transects, **changes):
    specification = own(**changes)
    data, plan = Portraits.from_table(table, specification), make_plan(specification)
    return (
        faceaudit.Portraits(data.frame, data.source, data.left_out, transects)
        .analyse(plan)["carried"]
        .set_index("axis")
    )


def test_effects_are_carried_to_the_portraits_mix(portraits):
    transects = matched(300, hair=0.3, skin=0.1)
    row, frame = (
        carried(portraits, transects).loc["skin"],
        Portraits.from_table(portraits, own()).frame,
    )
    rate = transects.groupby(["hair", "skin"])["error"].mean()
    mix = frame["hair"].value_counts(normalize=True)
    effect = sum(mix[h] * (rate[h, "dark"] - rate[h, "light"]) for h in ("short", "long"))
    assert np.isclose(row["estimate"], effect) and row["low"] < effect < row["high"]
    there = frame.groupby("skin", observed=True)["hair"].value_counts(normalize=True)
    gap = sum(
        k * there[s, h] * rate[h, s]
        for s, k in (("dark", 1), ("light", -1))
        for h in ("short", "long")
    )
    assert np.isclose(row["mix"], gap) and row["mix"] > row["estimate"]
    counted = frame.groupby("skin", observed=True)["error"].mean()
    assert np.isclose(row["share"], effect / (counted["dark"] - counted["light"]))
    lacking = transects[(transects["hair"] == "short") | (transects["skin"] == "light")]
    assert np.isclose(carried(portraits, lacking).loc["skin", "missing"], mix["long"])


def test_the_word_follows_from_the_share(portraits):
    """Here the gap of skin is hair's; then it is skin's own."""
    many = found_table(6000)
    found = carried(many, matched(4000))
    assert found.loc["skin", "word"] == "little" and found.loc["hair", "word"] == "most"
    both = found_table(6000, hair=0, skin=0.3), matched(4000, hair=0, skin=0.3)
    assert carried(*both).loc["skin", "word"] == "most"
    assert carried(portraits, matched(60)).loc["skin", "word"] == "undecided"


# --- from the file to the report


def test_a_file_becomes_a_report_that_speaks_of_association(files, home):
    report = run_audit(files(transects="matched.csv"))
    read = faceaudit.read_report(home / "build" / "audits" / "found" / "report.json")
    assert read == report and report.plan.kept and report.verdict == "exceeds"
    assert {row.axis for row in report.carried} == {"skin", "hair"}
    html, card = page(report), report_card(report)
    for text in (html, card, report.answer):
        assert "A difference between portraits that were found is an association: age" in text
    assert "In matched images skin by itself changes the error rate by" in html
    assert "not an effect" in report.limits[0] and "dark against light, all faces" in card
    assert faceaudit.gate(report)[0] == 1
    assert not {"effects", "averages"} & {
        name for name in read.model_fields_set if getattr(read, name)
    }


def test_an_audit_with_matched_faces_leaves_what_portraits_are_held_against(home, audit_file):
    assert run_audit(audit_file).averages
    images = home / "build" / "audits" / "small" / "images.csv"
    frame, given = pd.read_csv(images), pretended_table(units=80, effect=0.4, seed=1)
    assert frame["skin"].tolist() == given["skin"].tolist() and frame["error"].isin([0, 1]).all()
    table = found_table(400).rename(columns={"said": "gender"})
    table.to_csv(home / "found.csv", index=False)
    axes = {"skin": ("light", "dark"), "gender": ("female", "male"), "hair": ("short", "long")}
    change = {
        "transects": str(images),
        "axes": axes,
        "columns": {"label": "gender", "score": "p_male"},
    }
    path = home / "found.yml"
    path.write_text(json.dumps(FILE | change), encoding="utf-8")
    report = run_audit(path)
    assert [row.axis for row in report.carried] == ["skin", "gender"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"skin": "black"}, "matched.csv: column 'skin', row 2 is 'black', 'light' or 'dark'"),
        ({"error": 0.5}, "matched.csv: column 'error', row 2 is '0.5', 1 .an error., 0"),
        ({"unit": None}, "matched.csv: column 'unit', row 2 is empty"),
    ],
)
def test_faults_of_the_matched_images_are_told_before_the_plan(files, home, change, sentence):
    matched(20).astype(object).assign(**change).to_csv(home / "matched.csv", index=False)
    with pytest.raises(ValueError, match=sentence):
        run_audit(files(transects="matched.csv"))
    assert not (home / "artifacts" / "audits" / "found" / "plan.json").exists()


def test_a_model_is_asked_about_the_pictures_that_are_kept(home, module):
    module("reader_of_test", FUNCTION)
    drawn = populations.sample("ppb-like", 60, seed=4)
    images = render_to_store(drawn.parameters, 32, home / "faces.npy")
    frame = pd.DataFrame({"skin": np.where(drawn.frame["skin_colour"] > 0.5, "dark", "light")})
    frame["said"] = np.where(drawn.frame["gender"] == 1, "male", "female")
    frame.loc[7, "skin"] = "unknown"
    write_faces(images, frame, home / "found.csv")
    change = {"model": ASKED, "covariates": [], "axes": {"skin": ("light", "dark")}}
    change["columns"] = {"image": "file", "label": "said"}
    path = home / "found.yml"
    path.write_text(json.dumps(FILE | change), encoding="utf-8")
    said = []
    report = run_audit(path, said.append)
    assert "portraits: 59, and 1 rows left out" in said and report.left_out[0].value == "unknown"
    score = np.delete(images, 7, 0)[:, :, 12:20, 12:20].mean((1, 2, 3)) / 255
    wrong = (score > 0.5) != (frame["said"].drop(7) == "male")
    assert np.isclose(report.data["error_rate"], wrong.mean())
    assert sum(row.errors for row in report.rates) == wrong.sum()
    assert read_specification(path).route == "set of portraits" and report.provenance["model"]
