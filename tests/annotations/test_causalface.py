import pytest

from helpers.annotations import causalface_names, read_causalface
from helpers.annotations.schema import hash_annotator

NAME = "seed_12_race_asian_gender_female_age_0.png"
ROW = f"{NAME},w1,3,w2,4\n"


def write(tmp_path, *rows: str, header: str = "image,worker,score,worker,score\n"):
    path = tmp_path / "gender.csv"
    path.write_text(header + "".join(rows), encoding="utf-8")
    return path


def counts(report):
    found = report[report["count"] > 0]
    return dict(zip(found["reason"], found["count"], strict=True))


def test_every_worker_and_score_becomes_an_answer(tmp_path):
    other = "seed_7_race_black_gender_male_age_0.png,w2,0,w9,1\n"
    frame, report = read_causalface(write(tmp_path, ROW, other), "gender")
    assert (
        frame["image_id"].tolist() == [NAME[:-4]] * 2 + ["seed_7_race_black_gender_male_age_0"] * 2
    )
    assert frame["level"].tolist() == [3, 4, 0, 1]
    assert set(frame["attribute"]) == {"gender"}
    workers = [hash_annotator(worker, "helpers") for worker in ("w1", "w2", "w2", "w9")]
    assert frame["annotator_id"].tolist() == workers
    assert counts(report) == {"unreadable time": 4}


def test_the_number_of_workers_is_not_assumed(tmp_path):
    rows = [ROW, f"{NAME},{','.join(f'v{i},2' for i in range(9))}\n", f"{NAME},x,1,,\n"]
    frame, _ = read_causalface(write(tmp_path, *rows), "gender")
    assert len(frame) == 2 + 9 + 1


def test_the_scale_is_that_of_the_attribute(tmp_path):
    path = write(tmp_path, f"{NAME},w1,5,w2,4.0,w3,2.5,w1,3,,2,w@example.org,1\n")
    frame, report = read_causalface(path, "gender")
    assert frame["level"].tolist() == [4, 3, 1]
    found = counts(report)
    del found["unreadable time"]
    assert found == {
        "level outside the scale": 1,
        "unknown level": 1,
        "missing annotator": 1,
        "e-mail as annotator id": 1,
    }
    skin, report = read_causalface(path, "skin_colour")
    assert skin["level"].tolist() == [5, 4, 1]
    assert counts(report)["duplicate"] == 1
    assert report.set_index("reason").loc["duplicate", ["line", "field"]].tolist() == [2, "score 4"]


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (f"{NAME},w1,3,w2\n", "3 cells after the image's name"),
        (f"{NAME}\n", "0 cells after"),
        ("face.png,w1,3\n", "the image name 'face.png'"),
    ],
)
def test_another_format_is_an_error_naming_file_line_and_expectation(tmp_path, row, found):
    with pytest.raises(ValueError, match=rf"gender.csv: line 3: expected a CausalFace .*{found}"):
        read_causalface(write(tmp_path, ROW, row), "gender")


def test_an_unknown_attribute_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="unknown attribute 'race', expected one of"):
        read_causalface(write(tmp_path, ROW), "race")


def test_names_are_parsed_and_their_values_not_assumed():
    names = [
        "seed_12_race_asian_gender_female_age_0",
        "final_picked_pose/seed_3/white_male_y_-22.5_rest.png",
        "final_picked_lighting/seed_3/black_male_l_7.png",
        "final_picked_smiling/seed_1004/asian_male_smiling_1.25.png",
    ]
    frame = causalface_names(names)
    assert frame.index.tolist() == names
    assert frame.to_numpy().tolist() == [
        [12, "east asian female", "age", 0.0],
        [3, "european male", "pose", -22.5],
        [3, "african male", "light", 7.0],
        [1004, "east asian male", "expression", 1.25],
    ]


@pytest.mark.parametrize("name", ["seed_3/green_male_y_1.png", "white_male_y_1.png", "x"])
def test_a_name_of_another_form_is_an_error(name):
    with pytest.raises(ValueError, match=f"image name '{name}': expected seed_<n>"):
        causalface_names([name])
