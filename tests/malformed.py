"""Annotation files of every format, and damage of every kind done to them, from seeds.

A damaged file may be refused, or its good rows be kept: then every row must be one of the file as
it was. Damage is such that this can be asked: it turns no answer, image or person into another one
that the format would take as well, because nobody could notice that.
"""

import csv
import io
import json
import pickle
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from helpers import annotations
from helpers.annotations.schema import hash_annotator

IMAGES = ("amber_01", "birch_22", "coral_35", "delta_47", "ember_58")
PEOPLE = ("4711", "8153", "2696")
LEVELS = {
    "gender": ("Female", "Probably female", "In between", "Probably male", "Male"),
    "age": ("Child", "Teen", "Young adult", "Adult", "Middle age", "Senior"),
    "fakeness": ("Real for sure", "Likely real", "Not sure", "Likely fake", "Fake for sure"),
}
CANCELLED = ("ember_58", "2696")
"""The visit that was cancelled, where a format has such a thing."""

Row = tuple[str, str, int, str]


class Format(NamedTuple):
    """A format of files: a whole one, how it is read, what it says, and what may happen to it."""

    name: str
    make: Callable[[], dict[str, bytes]]
    read: Callable[[Path], annotations.Ingest]
    damage: dict[str, Callable[[random.Random, bytes], bytes]]


def level(image: str, person: str, attribute: str) -> int:
    """The answer, of all the different levels."""
    place = IMAGES.index(image) + 2 * PEOPLE.index(person) + len(attribute)
    return place % len(LEVELS[attribute])


def visits() -> Iterator[tuple[int, str, str, dict[str, str]]]:
    for number, (image, person) in enumerate((i, p) for i in IMAGES for p in PEOPLE):
        labels = {name: LEVELS[name][level(image, person, name)] for name in LEVELS}
        yield number, image, person, labels


def truth(attributes: tuple[str, ...] = tuple(LEVELS)) -> set[Row]:
    """All rows that a reader may give; the pickle names neither images nor people."""
    return {
        (image, name, level(image, person, name), hash_annotator(person, "helpers"))
        for _, image, person, _ in visits()
        for name in attributes
    }


TRUE_ROWS = {
    "full": {
        row
        for row in truth()
        if (row[0], row[3]) != (CANCELLED[0], hash_annotator(CANCELLED[1], "helpers"))
    },
    "causalface": {
        (f"seed_{number}_race_asian_gender_male_age_0", *row[1:])
        for number, image in enumerate(IMAGES)
        for row in truth(("gender",))
        if row[0] == image
    },
    "pickle": {
        (
            str(number),
            name,
            level(image, person, name),
            hash_annotator(f"{name}/{column}", "helpers"),
        )
        for number, image in enumerate(IMAGES)
        for column, person in enumerate(PEOPLE)
        for name in LEVELS
    },
}

# Whole files.


def full() -> list[dict]:
    tasks: dict[str, dict] = {}
    for number, image, person, labels in visits():
        results = [
            {"id": name, "from_name": name, "type": "choices", "value": {"choices": [label]}}
            for name, label in labels.items()
        ]
        address = f"/data/upload/1/0a1b2c3d-{image}.png"
        data = {"image": address, "image_id": image}
        start = {"id": IMAGES.index(image) + 1, "data": data, "annotations": [], "project": 1}
        tasks.setdefault(image, start)["annotations"].append(
            {
                "id": number + 900,
                "completed_by": int(person),
                "was_cancelled": (image, person) == CANCELLED,
                "created_at": f"2025-10-09T07:{number:02}:20.500000Z",
                "lead_time": 3.5,
                "result": results,
            }
        )
    return list(tasks.values())


def flat() -> list[dict]:
    return [
        {"image": f"/data/upload/1/0a1b2c3d-{image}.png", "image_id": image, "id": number}
        | labels
        | {"annotator": int(person), "annotation_id": number, "lead_time": 3.5}
        | {"created_at": f"2025-10-09T07:{number:02}:20Z"}
        for number, image, person, labels in visits()
    ]


def table(rows: list[dict], names: list[str], **style) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", **style)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def flat_table(delimiter: str) -> bytes:
    style = {"delimiter": delimiter, "quoting": csv.QUOTE_NONNUMERIC}
    return table(flat(), sorted(flat()[0]), **style)


def mturk() -> bytes:
    """As downloaded: the rows end before Approve and Reject."""
    rows = [
        {"HITId": f"3H{image}", "HITTypeId": "3T", "AssignmentId": f"3A{number}"}
        | {"WorkerId": f"A{person}", "AssignmentStatus": "Approved"}
        | {"SubmitTime": f"Thu Oct 09 07:{number:02}:20 UTC 2025", "WorkTimeInSeconds": "12"}
        | {"Input.image_id": image}
        | {f"Answer.{name}": label for name, label in labels.items()}
        for number, image, person, labels in visits()
    ]
    head, rest = table(rows, list(rows[0]), quoting=csv.QUOTE_ALL).split(b"\r\n", 1)
    return head + b',"Approve","Reject"\r\n' + rest


def causalface() -> bytes:
    lines = ["image," + ",".join("worker,score" for _ in PEOPLE)]
    for number, image in enumerate(IMAGES):
        pairs = ",".join(f"{person},{level(image, person, 'gender')}" for person in PEOPLE)
        lines.append(f"seed_{number}_race_asian_gender_male_age_0.png,{pairs}")
    return "\n".join(lines).encode() + b"\n"


def job() -> dict[str, bytes]:
    items, files = [], {}
    for number, image in enumerate(IMAGES):
        about = {"type": "groundtruth/custom", "job-name": "labeling-job/face"}
        items.append({"source-ref": f"s3://bucket/{image}.jpg", "face": 0, "face-metadata": about})
        answers = [
            {
                "workerId": person,
                "submissionTime": "2020-12-28T18:59:58.321Z",
                "answerContent": {name: {"label": label} for name, label in labels.items()},
            }
            for _, shown, person, labels in visits()
            if shown == image
        ]
        name = f"annotations/worker-response/iteration-1/{number}/a.json"
        files[name] = json.dumps({"answers": answers}).encode()
    manifest = "".join(json.dumps(item) + "\n" for item in items)
    return {"manifests/output/output.manifest": manifest.encode()} | files


def arrays() -> bytes:
    levels = {
        name: np.array([[level(image, person, name) for person in PEOPLE] for image in IMAGES])
        for name in LEVELS
    }
    return pickle.dumps(levels, 4)


# Damage to any text.

STRUCTURE = b'{}[]:,"\t'


def cut_off(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(1, len(content))]


def appended(rng: random.Random, content: bytes) -> bytes:
    return content + content


def text_behind(rng: random.Random, content: bytes) -> bytes:
    return content + rng.choice([b"x", b"]", b"}", b"<html>", b"\0", b"# end\n"])


def removed(rng: random.Random, content: bytes) -> bytes:
    place = rng.choice([at for at, byte in enumerate(content) if byte in STRUCTURE])
    return content[:place] + content[place + 1 :]


def doubled(rng: random.Random, content: bytes) -> bytes:
    place = rng.choice([at for at, byte in enumerate(content) if byte in STRUCTURE])
    return content[:place] + content[place : place + 1] + content[place:]


def encoded(rng: random.Random, content: bytes) -> bytes:
    text = content.decode()
    how = rng.choice(["utf-16", "utf-8-sig", "utf-32", "utf-16-le", "mark twice", "cp1252"])
    if how == "mark twice":
        return b"\xef\xbb\xbf" * 2 + content
    if how == "cp1252":
        return text.replace("1", "\xfc", 1).encode(how)
    return text.encode(how)


TEXT = {
    "cut off": cut_off,
    "second file appended": appended,
    "text behind the end": text_behind,
    "a bracket, comma or quote removed": removed,
    "a bracket, comma or quote doubled": doubled,
    "other encoding": encoded,
}

# Damage to JSON.


ODD = [
    *("null", "true", "false", "[]", "{}", "[null]", "[[]]", '{"a":1}', '""', '" "', '"nan"'),
    *("-1", "NaN", "Infinity", "1e400", "0.5", '"-1"', '"[]"', '"0.5"', '"\\u0000"', '"a\\ud800"'),
    *('"../../etc/passwd"', '"=1+1"', '"<script>alert(1)</script>"'),
]


def odd_values(rng: random.Random) -> str:
    """JSON of values that no tool writes there."""
    return rng.choice(ODD)


def places(value: object, path: tuple = ()) -> Iterator[tuple]:
    """Where in a JSON value other values stand."""
    inside = value.items() if isinstance(value, dict) else ()
    for key, one in enumerate(value) if isinstance(value, list) else inside:
        yield (*path, key)
        yield from places(one, (*path, key))


MARK = "\N{BULLET}"
PERSON = ("completed_by", "annotator", "workerId")
HARMLESS = ('"=1+1"', '"../../etc/passwd"', '"<script>alert(1)</script>"')


def replaced(text: Callable[[random.Random], str], rng: random.Random, content: bytes) -> bytes:
    """Some value of one line becomes another one."""
    lines = content.decode().split("\n")
    at = rng.choice([number for number, line in enumerate(lines) if line])
    whole = json.loads(lines[at])
    path = rng.choice(list(places(whole)))
    inside = whole
    for key in path[:-1]:
        inside = inside[key]
    put = text(rng)
    while path[-1] in PERSON and put in HARMLESS:  # a person may be called so
        put = text(rng)
    inside[path[-1]] = MARK
    lines[at] = json.dumps(whole, ensure_ascii=False).replace(f'"{MARK}"', put)
    return "\n".join(lines).encode()


def nested(rng: random.Random) -> str:
    depth = rng.choice([100, 2_000, 5_000])
    return rng.choice(["[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "[" * depth])


def giant(rng: random.Random) -> str:
    return rng.choice(["", "-"]) + "9" * rng.choice([400, 4_300, 5_000])


def name_twice(rng: random.Random, content: bytes) -> bytes:
    """A value stands there again under its name, in front of it."""
    text = content.decode()
    at = rng.choice([place for place in range(len(text)) if text.startswith('": ', place)])
    begin = text.rindex('"', 0, at)
    return (text[:begin] + text[begin : at + 3] + "7, " + text[begin:]).encode()


def answers_swapped(rng: random.Random, content: bytes) -> bytes:
    """Two answers of one person change places."""
    text = content.decode()
    _, _, _, labels = rng.choice(list(visits()))
    first, second = rng.sample(sorted(labels.values()), 2)
    begin = text.index(f'"{first}"')
    end = text.find(f'"{second}"')
    if end < begin:
        begin, end, first, second = end, begin, second, first
    middle = text[begin + len(first) + 2 : end]
    return (text[:begin] + f'"{second}"{middle}"{first}"' + text[end + len(second) + 2 :]).encode()


JSON = TEXT | {
    "value of another kind": partial(replaced, odd_values),
    "nested thousands deep": partial(replaced, nested),
    "giant integer": partial(replaced, giant),
    "a name twice": name_twice,
}

# Damage to tables.


def cells(content: bytes) -> tuple[list[list[str]], str]:
    text = content.decode()
    delimiter = "\t" if "\t" in text else ","
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)), delimiter


def joined(rows: list[list[str]], delimiter: str) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    return text.getvalue().encode()


def wrong_columns(rng: random.Random, content: bytes) -> bytes:
    rows, delimiter = cells(content)
    column = rng.randrange(len(rows[1]))
    what = rng.randrange(5)
    if what == 0:
        rows[0][column] += "2"
    elif what == 1:
        rows = [row[:column] + row[column + 1 :] for row in rows]
    elif what == 2:
        rows[0][column] = rows[0][column - 1]
    elif what == 3:
        rows = rows[1:]
    else:
        rows[rng.randrange(1, len(rows))].pop(column)
    return joined(rows, delimiter)


def odd_cell(rng: random.Random, content: bytes) -> bytes:
    """A cell becomes another one; of a person, one that nobody is called."""
    rows, delimiter = cells(content)
    row = rng.choice(rows[1:])
    column = rng.randrange(len(row))
    odd = [
        "",
        " ",
        "nan",
        "None",
        "[]",
        "{}",
        "true",
        "\0",
        "[" * 5_000,
        "9" * 5_000,
        "A" * 200_000,
    ]
    name = rows[0][column].casefold()
    more = [
        "-1",
        "0.5",
        "=1+1",
        "<script>alert(1)</script>",
        "../../etc/passwd",
        '{"choices": [1]}',
    ]
    person = name.startswith(("worker", "annotator"))
    row[column] = rng.choice(odd if person else odd + more)
    return joined(rows, delimiter)


def separators_swapped(rng: random.Random, content: bytes) -> bytes:
    rows, delimiter = cells(content)
    other = [";", "|", " ", "\t" if delimiter == "," else ","]
    return joined(rows, rng.choice(other))


def cells_swapped(rng: random.Random, content: bytes) -> bytes:
    """The last cells of a row, which hold answers, change places."""
    rows, delimiter = cells(content)
    row = rng.choice(rows[1:])
    first, second = sorted(rng.sample([at for at, cell in enumerate(row) if cell in LABELS], 2))
    row[first], row[second] = row[second], row[first]
    return joined(rows, delimiter)


LABELS = {label for labels in LEVELS.values() for label in labels}


def blank_lines(rng: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    lines.insert(rng.randrange(len(lines)), rng.choice([b"", b" ", b"\r", b"\0"]))
    return b"\n".join(lines)


TABLE = TEXT | {
    "wrong columns": wrong_columns,
    "cell of another kind": odd_cell,
    "other separators": separators_swapped,
    "blank line": blank_lines,
}
SWAPPED = {"answers change places": answers_swapped}
CELLS_SWAPPED = {"answers change places": cells_swapped}

# Damage to pickles: what they ask to be run.


class Call:
    """Pickled, it asks for a call."""

    def __init__(self, *call: object) -> None:
        self.call = call

    def __reduce__(self) -> tuple:
        return self.call[0], tuple(self.call[1:])


def a_call(rng: random.Random, content: bytes) -> bytes:
    calls = [(print, "run"), (exec, "1"), (np.zeros, 3), (np.load, "x"), (sys.exit, 0), (open, "x")]
    call = Call(*rng.choice(calls))
    return pickle.dumps(rng.choice([call, {"gender": call}, [call]]), rng.choice([2, 3, 4, 5]))


def other_content(rng: random.Random, content: bytes) -> bytes:
    odd = [[], {}, 1, None, {"gender": [1]}, {1: np.ones((2, 2))}, {"gender": np.array(["a"])}]
    odd += [{"gender": np.array([[None]])}, {"gender": np.arange(3)}, {"beauty": np.ones((2, 2))}]
    odd += [{"gender": np.full((5, 3), np.nan)}, {"gender": np.full((5, 3), -1)}, {"age": 1j}]
    return pickle.dumps(rng.choice(odd), rng.choice([2, 3, 4, 5]))


def no_pickle(rng: random.Random, content: bytes) -> bytes:
    return rng.choice([b"{}", b"\x80\x09.", b"PNG\n\xff", b"\0" * 50, rng.randbytes(100)])


PICKLE = {
    "cut off": cut_off,
    "second file appended": appended,
    "asks for a call": a_call,
    "other content": other_content,
    "another file": no_pickle,
}

# What may be called so, and must be found.
read_export = partial(annotations.read_label_studio, questions=list(LEVELS), known_images=IMAGES)

FORMATS = (
    Format("JSON", lambda: {"": json.dumps(full()).encode()}, read_export, JSON | SWAPPED),
    Format("JSON_MIN", lambda: {"": json.dumps(flat()).encode()}, read_export, JSON | SWAPPED),
    Format("CSV", lambda: {"": flat_table(",")}, read_export, TABLE | CELLS_SWAPPED),
    Format("TSV", lambda: {"": flat_table("\t")}, read_export, TABLE | CELLS_SWAPPED),
    Format(
        "MTurk",
        lambda: {"": mturk()},
        partial(annotations.read_mturk, known_images=IMAGES),
        TABLE | CELLS_SWAPPED,
    ),
    Format(
        "Ground Truth",
        job,
        partial(annotations.read_ground_truth, known_images=IMAGES),
        {name: do for name, do in JSON.items() if name != "second file appended"},
    ),
    Format(
        "CausalFace",
        lambda: {"": causalface()},
        partial(annotations.read_causalface, attribute="gender"),
        TABLE,
    ),
    Format("pickle", lambda: {"": arrays()}, annotations.read_published, PICKLE),
)


def true_rows(form: Format) -> set[Row]:
    """The rows of the format's whole file."""
    if form.name == "JSON":
        return TRUE_ROWS["full"]
    if form.name == "MTurk":
        names = {
            hash_annotator(who, "helpers"): hash_annotator(f"A{who}", "helpers") for who in PEOPLE
        }
        return {(*row[:3], names[row[3]]) for row in truth()}
    return TRUE_ROWS.get(form.name.casefold(), truth())


def rows_of(found: annotations.Ingest) -> list[Row]:
    columns = ["image_id", "attribute", "level", "annotator_id"]
    return list(found.frame[columns].astype("object").itertuples(index=False, name=None))


def outcome(form: Format, kind: str, seed: int, folder: Path) -> str:
    """Damage a file, read it: "refused", "in part", "whole", or what went wrong."""
    rng = random.Random(f"{form.name} {kind} {seed}")
    files = form.make()
    damaged = rng.choice(sorted(files))
    files[damaged] = form.damage[kind](rng, files[damaged])
    path = folder / f"{form.name}-{kind.replace(' ', '-')}-{seed}"
    for name, content in files.items():
        file = path / name if name else path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    try:
        found = rows_of(form.read(path))
    except ValueError as error:
        message = str(error)
        plain = type(error) is ValueError and str(path) in message and "\n" not in message
        return "refused" if plain and len(message) < 600 + len(str(path)) else f"unclear: {error!r}"
    except Exception as error:
        return f"traceback: {error!r}"
    true = true_rows(form)
    if not set(found) <= true or len(set(found)) < len(found):
        return f"wrong: {sorted(set(found) - true)[:3]}"
    return "whole" if len(found) == len(true) else "in part"
