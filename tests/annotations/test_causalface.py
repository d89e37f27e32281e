"""Rows as in the release: an image, then pairs of worker and score."""

import pytest

from helpers.annotations import read_causalface

HEADER = "image," + ",".join(["worker,score"] * 3)
NAME = "seed_{}_race_asian_gender_male_age_0.png"


def write(tmp_path, *lines: str):
    path = tmp_path / "gender.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_rows_become_answers(tmp_path):
    rows = (f"{NAME.format(1)},a,0,b,4,c,2", f"{NAME.format(2)},a,1,b,5,,", "face.png,a,1,b,1,c,1")
    frame, report = read_causalface(write(tmp_path, HEADER, *rows), "gender")
    assert frame["level"].tolist() == [0, 4, 2, 1]
    assert list(frame["image_id"].cat.categories) == [NAME.format(n)[:-4] for n in (1, 2)]
    found = report[report["count"] > 0].set_index("reason")["count"].to_dict()
    assert found == {"unusable image id": 3, "level outside the scale": 1, "unreadable time": 4}
    where = report.set_index("reason").loc["level outside the scale", ["place", "field"]]
    assert where.tolist() == ["row 3, pair 2", "score 2"]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ([f"{NAME.format(1)},a,0,b,4,c,2"], "row 1: .*an image where the header stands"),
        (["image,worker", f"{NAME.format(1)},a"], "row 1: .*2 columns"),
        ([HEADER, f"{NAME.format(1)},a,0"], "row 2: .*3 cells under 7 column names"),
        ([HEADER], "nothing usable in 0 assignments"),
    ],
)
def test_another_table_is_an_error(tmp_path, lines, found):
    with pytest.raises(ValueError, match=f"gender.csv: {found}"):
        read_causalface(write(tmp_path, *lines), "gender")


def test_an_unknown_attribute_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="unknown attribute 'beauty'"):
        read_causalface(write(tmp_path, HEADER), "beauty")
