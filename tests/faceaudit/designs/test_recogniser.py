"""A recogniser that is asked: embeddings of faces on disk, pairs, failures to enrol, a report."""

import numpy as np
import pandas as pd
import pytest
import yaml
from onnx_made import means
from PIL import Image
from scipy.spatial.distance import cdist

import faceaudit
from faceaudit.annotations.pair_ratings import PAIR_SCALES, side_by_side
from faceaudit.annotations.schema import hidden_names
from faceaudit.designs.pairs import draw_pairs, open_faces
from faceaudit.file.specification import read_specification
from faceaudit.frames import InputTables
from faceaudit.report.page import page
from faceworld.audit import plan_audit, run_audit
from faceworld.pair_crowd import annotate_pairs, write_pair_export

SIZE, PEOPLE, PICTURES = 8, 24, 4
ONNX = {"kind": "onnx", "path": "recogniser.onnx", "input": {"size": SIZE}, "threshold": 0.8}
PYTHON = {"kind": "python", "function": "recogniser_of_test:embed", "version": "1"}
PYTHON |= {"input": {"size": SIZE}, "threshold": 0.9}
FILE = {
    "name": "faces",
    "kind": "verification",
    "question": "Whom does the recogniser mix up?",
    "images": "faces.csv",
    "columns": {"image": "file"},
    "reference": "a",
    "model": ONNX,
    "design": {"tolerance": 0.05, "impostors": 1500},
}
FUNCTIONS = '''
import numpy as np

def embed(images):
    """The colour of the middle; of a picture whose corner is black no face is found."""
    vectors = images[:, :, 4, 4].astype(float)
    vectors[images[:, :, 0, 0].sum(1) == 0] = np.nan
    return vectors

def length(images):
    """A vector of one direction, as long as the picture is bright; what is above 130 is lost."""
    return images.mean((1, 2, 3)).clip(0, 130)[:, None] * np.ones(2)
'''


def colours(crowded: bool, seed=3) -> dict[tuple[str, int], np.ndarray]:
    """A colour for every person; where group b is crowded, its people look alike."""
    random = np.random.default_rng(seed)
    people = {}
    for group in "ab":
        centre = np.array([0.1, 0.2, 1.0]) if crowded and group == "b" else np.zeros(3)
        for one in range(PEOPLE):
            direction = np.abs(random.normal(size=3)) * (0.25 if centre.any() else 1) + centre
            people[group, one] = direction / direction.max()
    return people


def draw(folder, crowded=False, silent=0.0, noise=0.05, seed=3) -> pd.DataFrame:
    """Pictures of two groups, each of one colour around its person's; some have a black corner."""
    random, rows = np.random.default_rng(seed + 1), []
    (folder / "pictures").mkdir(exist_ok=True)
    for (group, one), colour in colours(crowded, seed).items():
        for picture in range(PICTURES):
            file = f"pictures/{group}{one}-{picture}.png"
            own = (255 * (colour + noise * random.normal(size=3)).clip(0.02, 1)).astype(np.uint8)
            pixels = np.broadcast_to(own, (SIZE, SIZE, 3)).copy()
            if group == "b" and random.random() < silent:
                pixels[0, 0] = 0
            Image.fromarray(pixels).save(folder / file)
            rows.append({"file": file, "identity": f"{group}{one}", "group": group})
    table = pd.DataFrame(rows)
    table.to_csv(folder / "faces.csv", index=False)
    return table


@pytest.fixture
def write(home, module):
    """Write an audit file with changes, a recogniser and functions beside it."""
    module("recogniser_of_test", FUNCTIONS)
    # A real file: the mean colour of a picture, turned by a matrix, as its embedding.
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    shape = ("n", 3, SIZE, SIZE)
    means(home / "recogniser.onnx", turn, outputs=("means", "answer"), shape=shape)

    def written(**change):
        path = home / "faces.yml"
        path.write_text(yaml.safe_dump(FILE | change), encoding="utf-8")
        return path

    return written


def pairs_by_hand(table, folder, threshold, low=0):
    """FNMR and the FMR of all pairs of two people, by two loops over a group's pictures."""
    pixels = {f: np.asarray(Image.open(folder / f))[4, 4] / 255.0 for f in table["file"]}
    pixels = {file: low + (1 - low) * colour for file, colour in pixels.items()}
    rates = {}
    for group, own in table.groupby("group"):
        found = {True: [], False: []}
        rows = own.to_dict("records")
        for k, one in enumerate(rows):
            for other in rows[:k]:
                u, v = pixels[one["file"]], pixels[other["file"]]
                cosine = u @ v / np.sqrt((u @ u) * (v @ v))
                found[one["identity"] == other["identity"]].append(cosine >= threshold)
        rates[group] = 1 - np.mean(found[True]), np.mean(found[False]), len(found[True])
    return rates


@pytest.mark.parametrize("low", [0, -1], ids=["small", "as the study's networks"])
def test_rates_of_a_real_file_are_those_of_all_pairs(write, home, low):
    table, given = draw(home), {"output": {"name": "answer"}, "threshold": 0.99}
    if low:
        given = {"input": {"size": 112, "range": [-1, 1]}, "threshold": 0.99}
    path = write(model=ONNX | given, design={"tolerance": 0.05, "impostors": 10**6})
    if low:
        turn = np.linalg.qr(np.random.default_rng(1).normal(size=(512, 3)))[0].T
        means(home / "recogniser.onnx", turn, shape=(1, 3, 112, 112))
    report = run_audit(path)
    expected = pairs_by_hand(table, home, 0.99, low)
    for row in report.match_rates:
        fnmr, fmr, positives = expected[row.group]
        assert row.fnmr == pytest.approx(fnmr) and row.fmr == pytest.approx(fmr)
        assert (row.positives, row.negatives) == (positives, PEOPLE * (PEOPLE - 1) // 2 * 16)
    assert report.data["images"] == len(table) and report.data["identities"] == 2 * PEOPLE
    assert report.data["failures_to_enrol"] == 0 and not report.failures_to_enrol
    assert [row.images for row in report.enrolment] == [PEOPLE * PICTURES] * 2
    assert report.provenance["model"]["output"]["gives"] == "embedding" and report.plan.kept
    assert "Failures to enrol" in page(report)


def test_a_planted_difference_is_found(write, home):
    table = draw(home, crowded=True)
    report = run_audit(write())
    rates = pairs_by_hand(table, home, 0.8)
    truth = rates["b"][1] - rates["a"][1]
    found = {row.measure: row for row in report.disparities}
    assert found["FMR at threshold"].verdict == "exceeds" and truth > 0.2
    assert found["FMR at threshold"].low < truth < found["FMR at threshold"].high
    assert faceaudit.gate(report)[0] == 1


@pytest.mark.parametrize("seed", range(2))
def test_no_difference_is_found_where_none_was_planted(write, home, seed):
    draw(home, seed=seed)
    report = run_audit(write(model=ONNX | {"threshold": 0.99}))
    assert "exceeds" not in {row.verdict for row in report.disparities}
    assert all(row.rate > 0 and row.low < 0 < row.high for row in report.disparities)
    assert faceaudit.gate(report, "exceeds")[0] == 0
    code, lines = faceaudit.gate(report)
    assert code == 2 and "group has 24 people" in lines[0], "of 30 people in each group"


def test_failures_to_enrol_are_an_outcome_of_their_own(write, home):
    table = draw(home, silent=0.4)
    report = run_audit(write(model=PYTHON))
    corners = [np.asarray(Image.open(home / f))[0, 0].sum() == 0 for f in table["file"]]
    silent = table.assign(silent=corners)
    failures = {row.group: row for row in report.enrolment}
    assert failures["a"].failures == 0 and failures["a"].low == 0 < failures["a"].high
    assert failures["b"].failures == sum(corners) > 20
    assert failures["b"].low < failures["b"].rate < failures["b"].high
    kept = silent[~silent["silent"]].groupby("identity").size()
    expected = {g: int((n * (n - 1) // 2).sum()) for g, n in kept.groupby(kept.index.str[0])}
    assert {row.group: row.positives for row in report.match_rates} == expected
    all_pairs = 2 * (PEOPLE * 6 + 1500)
    assert report.data["pairs"] + report.data["pairs_left_out"] == all_pairs
    (row,) = report.failures_to_enrol
    assert row.verdict == "exceeds" and "rate of failures to enrol is" in row.sentence
    assert {one.measure for one in report.disparities} == {"FNMR at threshold", "FMR at threshold"}


def test_impostors_are_drawn_evenly():
    images = pd.DataFrame({"identity": np.repeat([*"uvwxyz"], [1, 2, 3, 4, 5, 6])})
    images = images.assign(group="a", image=[f"{k:02}" for k in range(len(images))])
    counts = np.zeros((len(images), len(images)), int)
    for seed in range(600):
        drawn = draw_pairs(images, 20, seed)
        first, second = drawn[drawn["same"] == 0][["first", "second"]].to_numpy().T
        assert len(first) == 20
        np.add.at(counts, (first, second), 1)
        np.add.at(counts, (second, first), 1)
    identity = images["identity"].to_numpy()
    strangers = identity[:, None] != identity
    assert not counts[~strangers].any()
    expected = 600 * 20 / (strangers.sum() // 2)
    assert abs(counts[strangers] - expected).max() < 5 * np.sqrt(expected)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda t: t.drop(columns="identity"), "no column 'identity'; it has file, group"),
        (lambda t: t.assign(file=t["file"].replace("pictures/a0-0.png", "gone.png")), "no file 'g"),
        (lambda t: t.assign(file="pictures/a0-0.png"), "row 3: the file .* stands in an earlier"),
        (lambda t: t.assign(identity=t["identity"].replace("a0", None)), "row 2 is empty, a value"),
        (lambda t: t.assign(group=["b", *t["group"][1:]]), "row 3 is 'a', one group for each ide"),
        (lambda t: t[t["group"] == "a"], "groups are a; the reference .a. and another"),
        (lambda t: t.drop_duplicates("identity"), "no identity has two images, so that nobody"),
        (lambda t: t[t["identity"].isin(["a0", "b0"])], "no group has two identities, so that"),
    ],
)
def test_a_fault_of_the_table_is_one_sentence(write, home, change, told):
    change(draw(home)).to_csv(home / "faces.csv", index=False)
    with pytest.raises(ValueError, match=told) as raised:
        plan_audit(write())
    assert "faces.csv" in str(raised.value) and "\n" not in str(raised.value)


def as_batch(answers, pairs, folder):
    """MTurk's file of what people said of pairs."""
    said = answers[answers["status"] == "accepted"]
    batch = {"HITTypeId": "T", "WorkerId": said["worker_id"], "AssignmentStatus": "Approved"}
    batch |= {"SubmitTime": "Thu Oct 09 07:30:20 UTC 2025", "WorkTimeInSeconds": 9}
    batch |= {"Input.image_id": said["pair_id"]}
    batch["Answer.identity"] = said["identity"].map(dict(enumerate(PAIR_SCALES["identity"])))
    pd.DataFrame(batch).to_csv(folder / "batch.csv", index=False)


@pytest.mark.parametrize(
    "tool, tasks, leave",
    [
        (
            {"kind": "page"},
            "page-1.html",
            lambda answers, pairs, at: write_pair_export(answers, at / "said.json", pairs),
        ),
        ({"kind": "mturk", "address": "https://x.org/"}, "layout.html", as_batch),
    ],
)
def test_people_say_which_pairs_are_of_one_person(write, home, tool, tasks, leave):
    draw(home)
    kept = home / "artifacts/audits/faces"
    path = write(people=tool | {"raters": 9}, design={"tolerance": 0.05, "impostors": 40})
    with pytest.raises(faceaudit.PeopleNeeded, match="160 of 160 pairs .* about the two faces"):
        run_audit(path)
    form = (kept / "people/tasks" / tasks).read_text(encoding="utf-8")
    assert "One person?" in form and "Possibly different" in form
    specification = read_specification(path)
    frame = open_faces(specification, InputTables(specification)).frame
    pairs = draw_pairs(frame, 40, 1, few=True)
    shown = side_by_side(np.load(kept / "images.npy"), pairs)
    pairs.index = hidden_names(shown)
    # To people all pairs of one person in group b look like two, and no other pair does.
    one = (pairs["same"] == 1) & (pairs["group"] == "a")
    apart = pd.Series(np.where(one, 0.0, 3.0), pairs.index)
    apart[0:4] = 3.0  # of group a: less than half of its pairs, so that polarity is plain
    answers = annotate_pairs(apart, 0 * apart, 9, seed=1, stage="test")
    leave(answers, pairs, kept / "people/answers")
    report = run_audit(path)
    good = answers[answers["status"] == "accepted"].groupby("pair_id")["identity"]
    trimmed = good.apply(lambda levels: np.sort(levels)[2:-2].mean() / 4)
    matches = (trimmed[pairs.index] <= 0.3).groupby(pairs["group"].to_numpy()).sum()
    assert {row.group: row.positives for row in report.match_rates} == matches.to_dict()
    assert abs(matches["a"] - (one.sum() - 4)) < 4 > matches["b"]
    assert "people decide which pairs show one person" in page(report)
    (said,) = report.people
    assert said.answers == 160 * 9 and said.stage == "pairs of images"
    # In group b people leave out 15 of 80 pairs, which are less than a tenth of all pairs.
    left = pairs.index[pairs["group"] == "b"][:15]
    leave(answers[~answers["pair_id"].isin(left)], pairs, kept / "people/answers")
    (row,) = [row for row in run_audit(path).coverage if row.demand == "unanswered"]
    assert row.found == 15 / 80


def test_a_euclidean_threshold_is_that_of_the_vectors_as_they_are(write, home):
    table = draw(home)
    model = ONNX | {"output": {"name": "answer"}, "distance": "euclidean", "threshold": 0.2}
    report = run_audit(write(model=model, design={"tolerance": 0.05, "impostors": 10**6}))
    vectors = {f: np.asarray(Image.open(home / f))[4, 4] / 255.0 for f in table["file"]}
    for row in report.match_rates:
        own = table[table["group"] == row.group]
        apart = cdist(*2 * [np.stack([vectors[file] for file in own["file"]])])
        same = own["identity"].to_numpy()[:, None] == own["identity"].to_numpy()
        pairs = np.tril(np.ones_like(same), -1).astype(bool)
        assert row.fnmr == pytest.approx((apart > 0.2)[pairs & same].mean())
        assert row.fmr == pytest.approx((apart <= 0.2)[pairs & ~same].mean())
        assert row.threshold == report.threshold == 0.2
    assert 0 < report.match_rates[0].fnmr < 1 and 0 < report.match_rates[0].fmr < 1
    assert "a distance of 0.2" in page(report) and report.plan.content["distances"]
    with pytest.raises(ValueError, match="threshold is -1, a distance above 0 was expected"):
        read_specification(write(model=model | {"threshold": -1}))
    # The distance is no part of the model: its vectors are not asked for again.
    other = run_audit(write(model=ONNX | {"output": {"name": "answer"}}))
    assert other.provenance["model"]["hash"] == report.provenance["model"]["hash"]


def test_other_preparations_are_judged_by_the_rule_of_the_audit(write, home):
    """Cosines do not tell vectors of one direction apart, whatever range the pixels have."""
    draw(home, noise=0.01)
    model = PYTHON | {"function": "recogniser_of_test:length", "distance": "euclidean"}
    model["threshold"] = 0.05
    # Pixels as they are would not be tried in another way: the channels are turned round.
    whole = {"size": SIZE, "channels": "bgr", "range": [0, 255]}
    wrong = run_audit(write(model=model | {"input": whole}))
    assert [doubt.name for doubt in wrong.doubts] == ["preparation"]
    right = run_audit(write(model=model | {"input": whole | {"range": [0, 1]}}))
    assert not right.doubts
