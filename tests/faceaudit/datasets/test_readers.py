"""Files of the shapes in which the sources come, written here: read back, and damaged."""

import json
import re
import unicodedata
from functools import partial

import pandas as pd
import pytest
from PIL import Image
from simulated import CELEBA_NAMES

from faceaudit import datasets, verification
from helpers.artifacts import lineage

# --- the sources' files, as small as they can be

ATTRIBUTES = "\n".join(f"00000{k}.jpg " + "  1 -1" * 20 for k in (1, 2, 3))
CELEBA = {
    "list_attr_celeba.txt": f"3\n{' '.join(CELEBA_NAMES)} \n{ATTRIBUTES}\n",
    "list_eval_partition.txt": "000001.jpg 0\n000002.jpg 1\n000003.jpg 2\n",
    "identity_CelebA.txt": "000001.jpg 2880\n000002.jpg 2880\n000003.jpg 17\n",
}

FAIRFACE = "file,age,gender,race,service_test\nval/1.jpg,3-9,Male,East Asian,False\n"
FAIRFACE += "val/2.jpg,more than 70,Female,Latino_Hispanic,True\nval/3.jpg,20-29,Male,Black,True\n"

PPB = "image,gender,fitzpatrick,country\na/1.png,Female,VI,Rwanda\na/2.png,Male,I,Iceland\n"
PPB += "a/3.png,Female,III,Finland\n"

FHIBE = "image_id,filepath,subject_id,age,pronoun,ancestry,nationality,natural_skin_color,"
FHIBE += "apparent_skin_color,lighting,keypoints\n"
for k in (1, 2, 3):
    FHIBE += f"i{k},raw/{k}.png,s{k % 2},3{k}.0,\"['0. She/her/hers', '2. They/them/theirs']\","
    FHIBE += '"[""7. Côte d\'Ivoire""]",[\'12. Kenyan\'],"2. [164, 131, 103]",'
    FHIBE += '"3. [175, 148, 120]",1. Daylight,"{\'0. Nose\': [1.5, 2]}"\n'

TONES = {"monk_skin_tone": {"scale": "scale 7", "confidence": "high"}}
TONES |= {"fitzpatrick_skin_tone": {"type": "type iv", "confidence": "medium"}}
VIDEOS = [("0001", "a", "female"), ("0001", "b", "female"), ("0002", "c", None), ("0003", "d", "x")]
CONVERSATIONS = json.dumps(
    [
        {"subject_id": person, "video_name": video, "age": "31", "gender": gender, **TONES}
        | {"secondary_languages": ["hindi", "tamil"], "geo_location": {"country": "india"}}
        for person, video, gender in VIDEOS
    ]
)

BFW = "ID,fold,p1,p2,label,id1,id2,att1,att2,vgg16,resnet50,senet50,a1,a2,g1,g2,e1,e2,sphereface\n"
BFW += "0,1,af/n9/1.jpg,af/n9/2.jpg,1,0,0,af,af,0.82,0.7,0.68,AF,AF,F,F,A,A,0.393\n"
BFW += "1,2,af/n9/1.jpg,wm/n7/1.jpg,0,0,5,af,wm,0.12,0.1,0.08,AF,WM,F,M,A,W,-0.009\n"
BFW += "2,5,wm/n7/1.jpg,wm/n7/2.jpg,1,5,5,wm,wm,0.72,0.6,0.58,WM,WM,M,M,W,W,0.5\n"

SAME = "".join(f"m.{k}\t1\t2\n" for k in range(300))
RFW = (SAME + "".join(f"m.{k}\t1\tm.{k + 1}\t12\n" for k in range(300))) * 10

SCORES = "image,worker,score,worker,score\nseed_1_race_asian_gender_male_age_0.png,w1,4,w2,3\n"
SCORES += "seed_2_race_black_gender_female_age_0.png,w1,0,w2,1.0,w3,1\n"
SCORES += "seed_12_race_white_gender_male_age_0.png,w3,2\n"

FACE = "seed_1/asian_male_age_0.png"  # of the first row, as a file
FRONT = "pose/seed_3/white_male_y_0.png"
AT = "pose/seed_3"
SMILE = "smiling/seed_4/asian_female_smiling_1.5.png"
PAIRS = f"left,right,r1,r2,r3\n{AT}/white_male_y_-22.5_rest.png,{FRONT},0,1,1\n"
PAIRS += f"{FRONT},{SMILE},4,4,3\n{FRONT},{AT}/asian_male_y_0.png,2,3,4\n"


def conversations(at, **more):
    return datasets.read_casual_conversations(
        at / "CasualConversationsV2.json", at / "images", **more
    )


portraits = {"image": "image", "gender": "gender", "skin": "fitzpatrick"}
portraits |= {"source": "PPB", "terms": "on request"}
sides = {"first": "left", "second": "right", "ratings": ["r1", "r2", "r3"]}
FRAMES = ["0001/a/1.jpg", "0001/b.PNG", "0002/1.jpg", "0003/1.jpeg"]
SEEN = [FRONT, SMILE, f"{AT}/white_male_y_-22.5_rest.png", f"{AT}/asian_male_y_0.png"]
READERS = {
    "celeba": (CELEBA, datasets.read_celeba, "", [f"00000{k}.jpg" for k in (1, 2, 3)]),
    "fairface": ({"labels.csv": FAIRFACE}, datasets.read_fairface, "labels.csv", ["val/1.jpg"]),
    "portraits": (
        {"p.csv": PPB},
        partial(datasets.read_portraits, **portraits),
        "p.csv",
        ["a/1.png"],
    ),
    "fhibe": ({"f.csv": FHIBE}, datasets.read_fhibe, "f.csv", ["raw/1.png", "raw/3.png"]),
    "bfw": ({"bfw.csv": BFW}, datasets.read_bfw, "bfw.csv", ["af/n9/1.jpg", "af/n9/2.jpg"]),
    "rfw": ({"African_pairs.txt": RFW}, datasets.read_rfw, "African_pairs.txt", []),
    "causalface": (
        {"gender.csv": SCORES},
        lambda path, **more: datasets.read_causalface({"gender": path}, **more),
        "gender.csv",
        ["seed_1/asian_male_age_0.png"],
    ),
    "pairs": (
        {"pairs.csv": PAIRS},
        partial(datasets.read_causalface_pairs, **sides),
        "pairs.csv",
        SEEN,
    ),
    "conversations": ({"CasualConversationsV2.json": CONVERSATIONS}, conversations, "", FRAMES),
}


@pytest.fixture
def read(tmp_path):
    """Write a source's files, some of them changed, and read them."""

    def call(name, changes=(), **more):
        files, reader, path, images = READERS[name]
        for image in images:
            (tmp_path / "images" / image).parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (2, 2)).save(tmp_path / "images" / image)
        for file, text in (files | dict(changes)).items():
            if text is not None:
                (tmp_path / file).write_bytes(text if isinstance(text, bytes) else text.encode())
        return reader(tmp_path / path, **more)

    return call


# --- what is read


@pytest.mark.parametrize(("yes", "no"), [("TRUE", "FALSE"), ("T", "F"), ("true", "false")])
def test_truth_values_as_spreadsheets_and_r_write_them(read, yes, no):
    text = FAIRFACE.replace("True", yes).replace("False", no)
    frame, _, dropped = read("fairface", {"labels.csv": text})
    assert frame["service_test"].tolist() == [False, True, True]
    assert frame["service_test"].dtype == bool and dropped.empty
    text = re.sub(r"(jpg),([01]),", lambda m: f"{m[1]},{(no, yes)[int(m[2])]},", BFW)
    assert read("bfw", {"bfw.csv": text}).frame["same"].tolist() == [1, 0, 1]


def test_columns_and_rows_that_a_spreadsheet_adds(read):
    lines = [line + ",," for line in FAIRFACE.splitlines()]
    saved = "\r\n".join([*lines, ",,,,,,", ",,,,,,", ""])
    frame, _, dropped = read("fairface", {"labels.csv": "\ufeff" + saved})
    assert len(frame) == 3 and dropped.empty
    with_note = "\n".join([*lines[:2], lines[2] + "a note", lines[3]])
    with pytest.raises(ValueError, match="labels.csv: row 3: .* found 'a note' in column 7, which"):
        read("fairface", {"labels.csv": with_note})
    # Programs write the numbers of rows into columns without a name, before all others.
    numbered = "\n".join(f"{k},{k}," + one for k, one in enumerate(FAIRFACE.splitlines()))
    assert len(read("fairface", {"labels.csv": numbered.replace("0,0,", ",,", 1)}).frame) == 3


def test_celeba_has_its_attributes_partition_and_identities(read):
    frame, card, dropped = read("celeba", version="2015")
    assert frame.columns.tolist() == ["image", "identity", "partition", *CELEBA_NAMES]
    assert frame.iloc[:, :4].to_numpy().tolist() == [
        ["000001.jpg", "2880", 0, 1],
        ["000002.jpg", "2880", 1, 1],
        ["000003.jpg", "17", 2, 1],
    ]
    assert (frame["Young"] == -1).all() and dropped.empty
    assert card == {"source": "CelebA", "version": "2015", "terms": "research"} | {
        "kept": 3,
        "dropped": {},
    }


def test_celeba_does_without_the_other_two_files(read):
    changes = dict.fromkeys(["list_eval_partition.txt", "identity_CelebA.txt"])
    assert read("celeba", changes).frame.columns[:2].tolist() == ["image", CELEBA_NAMES[0]]


def test_fairface_keeps_its_labels(read):
    frame, card, _ = read("fairface")
    assert frame.iloc[1].tolist() == [
        "val/2.jpg",
        "more than 70",
        "Female",
        "Latino_Hispanic",
        True,
    ]
    assert card["terms"] == "CC BY 4.0" and card["kept"] == 3


def test_portraits_keep_the_names_of_their_columns(read):
    frame, card, _ = read("portraits")
    assert frame.columns.tolist() == ["image", "gender", "fitzpatrick"]
    assert frame["fitzpatrick"].tolist() == ["VI", "I", "III"]
    assert (card["source"], card["terms"]) == ("PPB", "on request")


def test_fhibe_has_labels_without_code_numbers(read):
    first, second = read("fhibe"), read("fhibe", {"f.csv": FHIBE.replace("'0. She", "'5. She")})
    pd.testing.assert_frame_equal(first.frame, second.frame)
    assert first.card["version"] != second.card["version"]
    row = first.frame.iloc[0].to_dict()
    assert (row["identity"], row["age"], row["pronoun"]) == (
        "s1",
        31,
        "She/her/hers; They/them/theirs",
    )
    assert (row["ancestry"], row["nationality"]) == ("Côte d'Ivoire", "Kenyan")
    assert (row["natural_skin_color"], row["lighting"]) == ("[164, 131, 103]", "Daylight")
    assert row["keypoints"] == "{'0. Nose': [1.5, 2]}"


def test_conversations_are_read_by_their_frames(read):
    frame, card, dropped = read("conversations")
    assert frame["image"].tolist() == FRAMES and card["kept"] == 4 and dropped.empty
    assert frame["identity"].tolist() == ["0001", "0001", "0002", "0003"]
    assert set(frame["monk_skin_tone.scale"]) == {"scale 7"}
    assert set(frame["secondary_languages"]) == {"hindi; tamil"}
    assert frame["gender"].isna().tolist() == [False, False, True, False]
    assert frame["video_name"].isna().tolist() == [True, True, False, False]  # of two, or of one


def test_bfw_is_a_table_of_pairs(read):
    frame, card, _ = read("bfw")
    start = ["first_image", "second_image", "first_identity", "second_identity", "same"]
    start += ["fold", "att1"]
    assert frame.columns[:7].tolist() == start and "ID" not in frame
    assert frame["same"].tolist() == [1, 0, 1] and frame["sphereface"].tolist() == [
        0.393,
        -0.009,
        0.5,
    ]
    assert frame.iloc[1][["first_identity", "second_identity", "a2"]].tolist() == ["0", "5", "WM"]
    assert card["source"] == "BFW"


def test_a_pair_that_one_of_bfws_recognisers_did_not_compare_is_kept(read):
    frame, _, dropped = read("bfw", {"bfw.csv": BFW.replace(",0.12,0.1,", ",,0.1,")})
    assert len(frame) == 3 and dropped.empty
    assert frame["vgg16"].isna().tolist() == [False, True, False]
    _, _, dropped = read("bfw", {"bfw.csv": BFW.replace(",0.12,0.1,", ",none found,0.1,")})
    assert dropped["reason"].tolist() == ["no number"]


@pytest.mark.parametrize("name", ["bfw", "rfw", "pairs"])
def test_no_picture_stands_where_an_audit_looks_for_a_person(read, name):
    """An audit of pairs reads identities from the columns first and second, if none are named."""
    frame = read(name).frame
    assert not {"first", "second"} & {*frame}
    same = frame["first_identity"] == frame["second_identity"]
    assert same.tolist() == (frame["same"] == 1).tolist()


def test_an_image_is_found_however_the_disk_spells_its_accents(read, tmp_path):
    for on_disk, in_table in (("NFD", "NFC"), ("NFC", "NFD")):
        folder = tmp_path / on_disk
        folder.mkdir()
        name = unicodedata.normalize(on_disk, "Zoë.png")
        Image.new("RGB", (2, 2)).save(folder / name)
        table = PPB.replace("a/1.png", unicodedata.normalize(in_table, "Zoë.png"))
        assert read("portraits", {"p.csv": table}, images=folder).frame["image"].tolist() == [name]


def test_rfw_has_ten_folds_of_both_kinds(read):
    frame, _, dropped = read("rfw")
    assert frame.groupby(["fold", "same"]).size().tolist() == [300] * 20 and dropped.empty
    assert frame.loc[300, "first_image":"second_identity"].tolist() == [
        "African/m.0/m.0_0001.jpg",
        "African/m.1/m.1_0012.jpg",
        "m.0",
        "m.1",
    ]
    assert frame.loc[0, "second_image"] == "African/m.0/m.0_0002.jpg" and set(frame["race"]) == {
        "African"
    }


def test_causalface_has_mean_scores_by_image(read, tmp_path):
    frame, card, _ = read("causalface")
    assert frame["identity"].tolist() == ["12 white male", "1 asian male", "2 black female"]
    assert frame["image"][1] == "seed_1/asian_male_age_0.png"
    assert frame["gender_score"].tolist() == pytest.approx([0.5, 3.5 / 4, 2 / 3 / 4])
    (tmp_path / "age.csv").write_text(SCORES.partition("seed_2")[0])
    tables = {"gender": tmp_path / "gender.csv", "age": tmp_path / "age.csv"}
    both = datasets.read_causalface(tables)
    assert both.frame["age_score"].notna().tolist() == [False, True, False]
    assert both.card["version"] != card["version"]


def test_pairs_of_causalface_go_on_to_the_consensus(read):
    frame = read("pairs").frame
    assert frame["same"].tolist() == [1, 0, 0]
    assert frame["first_identity"].tolist() == ["3 white male"] * 3
    assert frame["second_identity"].tolist() == ["3 white male", "4 asian female", "3 asian male"]
    assert verification.hcic(frame[["r1", "r2", "r3"]], 1, 1).tolist() == [0.25, 1, 0.75]


@pytest.mark.parametrize("name", READERS)
def test_a_table_survives_its_way_through_a_file(read, tmp_path, name):
    frame, card, _ = read(name)
    frame.to_parquet(tmp_path / "kept.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "kept.parquet"), frame)
    assert json.loads(json.dumps(card)) == card


def test_images_that_are_not_there_are_dropped(read, tmp_path):
    folder = tmp_path / "images"
    assert len(read("celeba", images=folder).frame) == 3
    frame, _, dropped = read("bfw", images=folder)
    assert frame["first_image"].tolist() == ["af/n9/1.jpg"]
    assert dropped["reason"].tolist() == ["no such image"] * 2
    assert len(read("pairs", images=folder).frame) == 3
    assert read("causalface", images=folder).frame["image"].tolist() == [FACE]
    with pytest.raises(ValueError, match="nowhere: no such folder of images"):
        read("fhibe", images=tmp_path / "nowhere")
    with pytest.raises(ValueError, match="can be used: 6000 × no such image in 'first_image'"):
        read("rfw", images=folder)


def test_the_package_has_no_way_to_a_network():
    folder = lineage.SOURCE / "faceaudit" / "datasets"
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    assert text and not any(name in text for name in ("urllib", "requests", "http", "socket"))


# --- what is damaged

ATTRIBUTES_TXT = "list_attr_celeba.txt"
PARTITION_TXT = "list_eval_partition.txt"
IDENTITY_TXT = "identity_CelebA.txt"
FAIRFACE_CSV = "labels.csv"
PORTRAITS_CSV = "p.csv"
FHIBE_CSV = "f.csv"
CONVERSATIONS_JSON = "CasualConversationsV2.json"
BFW_CSV = "bfw.csv"
RFW_TXT = "African_pairs.txt"
CAUSALFACE_CSV = "gender.csv"
PAIRS_CSV = "pairs.csv"
HTML = "<html>\n<title>Sign in</title>\n"
DAMAGED = [
    ("celeba", ATTRIBUTES_TXT, ("", None), "No such file"),
    (
        "celeba",
        ATTRIBUTES_TXT,
        ("", f"image_id,{','.join(CELEBA_NAMES)}\n1.jpg,1\n"),
        "line 1: .* found 'image_id,5_o",
    ),
    (
        "celeba",
        ATTRIBUTES_TXT,
        (ATTRIBUTES[-136:], ""),
        "line 1: expected 2, as many as images below, found 3",
    ),
    (
        "celeba",
        ATTRIBUTES_TXT,
        ("000002.jpg   1", "000002.jpg"),
        "not 41 words: line: line 4: '000002.jpg",
    ),
    (
        "celeba",
        ATTRIBUTES_TXT,
        ("000002.jpg   1", "000002.jpg 0"),
        "unknown label: 5_o_Clock_Shadow: line 4",
    ),
    (
        "celeba",
        ATTRIBUTES_TXT,
        ("000002", "000001"),
        "image of an earlier row: image: line 4: '000001.jpg'",
    ),
    (
        "celeba",
        PARTITION_TXT,
        ("000002.jpg 1", "000002.jpg 7"),
        "unknown label: partition: line 2: '7'",
    ),
    (
        "celeba",
        IDENTITY_TXT,
        ("000002.jpg 2880\n", ""),
        "attr_celeba.txt: no line in identity_CelebA.txt: im",
    ),
    (
        "celeba",
        IDENTITY_TXT,
        ("000002.jpg 2880", "000002.jpg"),
        "identity_CelebA.txt: not 2 words: line: line 2",
    ),
    (
        "celeba",
        IDENTITY_TXT,
        ("17\n", "17\n000002.jpg 17\n"),
        "another value on an earlier line: image: line 4",
    ),
    (
        "fairface",
        FAIRFACE_CSV,
        ("", ""),
        "row 1: expected FairFace's labels .*, found an empty file",
    ),
    ("fairface", FAIRFACE_CSV, ("", HTML), "row 1: .* columns file, age, .*, found no column file"),
    ("fairface", FAIRFACE_CSV, ("", FAIRFACE.replace(",", ";")), "row 1: .*, found no column file"),
    (
        "fairface",
        FAIRFACE_CSV,
        ("20-29,Male", "20-29"),
        "row 4: .*, found Expected 5 columns, got 4",
    ),
    ("fairface", FAIRFACE_CSV, ("", FAIRFACE[:34]), "row 1: .*, found no row below it"),
    ("fairface", FAIRFACE_CSV, ("20-29", "10-Mar"), "unknown label: age: row 4: '10-Mar'"),
    ("portraits", PORTRAITS_CSV, ("fitzpatrick", "skin"), "row 1: .*, found no column fitzpatrick"),
    (
        "portraits",
        PORTRAITS_CSV,
        ("Female,III", "#N/A,III"),
        "missing value: gender: row 4: '#N/A'",
    ),
    ("portraits", PORTRAITS_CSV, ("Female,III", ",III"), "missing value: gender: row 4: ''"),
    ("fhibe", FHIBE_CSV, ("s1,33.0", ",33.0"), "missing value: identity: row 4: ''"),
    ("fhibe", FHIBE_CSV, ("s1,33.0", "s1,30-39"), "no number: age: row 4: '30-39'"),
    ("fhibe", FHIBE_CSV, ("s1,33.0", "s1,-4"), "number outside the scale: age: row 4: '-4'"),
    (
        "fhibe",
        FHIBE_CSV,
        ("", re.sub(r",3(\d)\.0", r",\1x", FHIBE)),
        "no row .*: 3 × no number in 'age'",
    ),
    (
        "fhibe",
        FHIBE_CSV,
        ("33.0,\"['0. She", "33.0,\"['0. She'"),
        r"list that is cut: pronoun: row 4: .*She",
    ),
    ("bfw", BFW_CSV, ("", b"\x80\x04\x95\x8c\x15pandas.core.frame"), "row 1: .*, found no CSV"),
    ("bfw", BFW_CSV, ("1,5,5,wm", "1,5,6,wm"), "label and identities disagree: same: row 4: '1'"),
    ("bfw", BFW_CSV, ("M,M,W,W", "M,M,W,"), "unknown label: e2: row 4: ''"),
    (
        "bfw",
        BFW_CSV,
        ("wm/n7/2", "wm/n7/1"),
        "image paired with itself: second_image: row 4: 'wm/n7/1.jpg'",
    ),
    ("rfw", RFW_TXT, ("", RFW[:-20]), "the whole file: .*, found 5,999 lines"),
    ("rfw", RFW_TXT, ("", RFW.encode("utf-16")), "the whole file: expected text in UTF-8"),
    (
        "rfw",
        RFW_TXT,
        ("m.7\t1\t2\n", "m.7 1 2\n"),
        "neither three nor four cells: line: line 8: 'm.7 1",
    ),
    (
        "rfw",
        RFW_TXT,
        ("m.7\t1\t2\n", "m.7\t1\tm.9\t2\n"),
        "pair of the other kind .*: line: line 8",
    ),
    ("causalface", CAUSALFACE_CSV, ("", ""), "row 1: expected a CausalFace table .*, found ''"),
    ("causalface", CAUSALFACE_CSV, (SCORES[:32], ""), "row 1: .*, found 'seed_1_race_asian"),
    (
        "causalface",
        CAUSALFACE_CSV,
        ("age_0.png,w3,2", "age_0.png,w3"),
        "row 4: .*found 1 cells behind",
    ),
    ("causalface", CAUSALFACE_CSV, ("w3,2\n", 'w3,"2\n'), "the whole file: .*, found no CSV"),
    ("causalface", CAUSALFACE_CSV, ("w3,2", "w3,9"), "level outside the scale: gender: row 4"),
    ("causalface", CAUSALFACE_CSV, ("w3,2", ",2"), "missing annotator: row: row 4"),
    (
        "causalface",
        CAUSALFACE_CSV,
        ("seed_12_race_white", "white"),
        "no name of CausalFace: image: image 3",
    ),
    ("pairs", PAIRS_CSV, ("2,3,4", "2,,4"), "no number: r2: row 4: ''"),
    ("pairs", PAIRS_CSV, ("2,3,4", "2,99,4"), "number outside the scale: r2: row 4: '99'"),
    (
        "pairs",
        PAIRS_CSV,
        ("pose/seed_3/asian", "pose/asian"),
        "no name of CausalFace: second_image: row 4",
    ),
    ("conversations", CONVERSATIONS_JSON, ("", CONVERSATIONS[:-9]), "the whole file: .*truncated"),
    (
        "conversations",
        CONVERSATIONS_JSON,
        ("", "[]"),
        "the whole file: .*, found no record with subject_id",
    ),
    (
        "conversations",
        CONVERSATIONS_JSON,
        ('"scale"', '"x"'),
        "missing value: monk_skin_tone.scale: record 4: nan",
    ),
    (
        "conversations",
        CONVERSATIONS_JSON,
        ("0003", "../x"),
        "no plain name of a folder: identity: .*: '../x'",
    ),
    (
        "conversations",
        CONVERSATIONS_JSON,
        ("0003", "3"),
        "person without frames: identity: record 4: '3'",
    ),
]


@pytest.mark.parametrize(("name", "file", "change", "sentence"), DAMAGED)
def test_damage_is_reported_in_one_sentence(read, name, file, change, sentence):
    text = damaged(name, READERS[name][0][file], *change)
    try:
        frame, card, dropped = read(name, {file: text})
    except (ValueError, FileNotFoundError) as error:
        sentences = [str(error)]
        assert file in sentences[0]
    else:
        columns = dropped[["file", "reason", "field", "place", "found"]].astype("str")
        sentences = columns.agg(": ".join, axis=1).tolist()
        rows = {"rfw": 6000, "conversations": 4}.get(name, 3)
        assert card["kept"] == len(frame) == rows - 1
        assert sum(card["dropped"].values()) == 1
        assert json.loads(json.dumps(card)) == card
    assert any(re.search(sentence, line) for line in sentences), sentences
    assert "\n" not in sentences[0]


def damaged(name, text, old, new):
    """A file with a part of it replaced: the last occurrence, or the first in a list of pairs."""
    if not old:
        return new
    assert old in text
    return text.replace(old, new, 1) if name == "rfw" else new.join(text.rsplit(old, 1))


@pytest.mark.parametrize("name", READERS)
def test_a_folder_in_place_of_a_file_is_refused(read, tmp_path, name):
    file = next(iter(READERS[name][0]))
    (tmp_path / file).mkdir()
    with pytest.raises(ValueError, match=rf"{file}: the whole file: expected .*, found a folder"):
        read(name, {file: None})
