"""The audit file and its tables are read once in a run, and what was read is handed on."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

import faceaudit.__main__
import faceworld.audit
from faceaudit import frames
from faceaudit.report.gate import PASSED

MODELS = """
import numpy as np

def score(images):
    return np.asarray(images)[:, 0].mean((1, 2))

def embed(images):
    pixels = np.asarray(images)[:, :, ::4, ::4]
    return pixels.reshape(len(pixels), -1)
"""
SCORES = {"kind": "python", "function": "pictured:score", "version": "1", "input": {"size": 16}}
EMBEDDINGS = SCORES | {"function": "pictured:embed", "threshold": 0.9}
QUESTION = {"name": "once", "question": "Does darker skin make the model err more often?"}
TOLERANCE = {"design": {"tolerance": 0.1}}


@pytest.fixture
def reads(monkeypatch):
    """How often each file was read, by its name."""
    counts = Counter()
    read_table = frames.read_table
    read_text = Path.read_text

    def counting_table(path, *arguments):
        counts[path.name] += 1
        return read_table(path, *arguments)

    def counting_text(path, *arguments, **options):
        if path.suffix == ".yml":
            counts[path.name] += 1
        return read_text(path, *arguments, **options)

    monkeypatch.setattr(frames, "read_table", counting_table)
    monkeypatch.setattr(Path, "read_text", counting_text)
    return counts


@pytest.fixture
def write(home):
    """Write an audit file; give its path."""

    def written(**content):
        path = home / "once.yml"
        path.write_text(yaml.safe_dump(QUESTION | TOLERANCE | content), encoding="utf-8")
        return str(path)

    return written


def table_of_portraits(people: int, seed: int = 1) -> pd.DataFrame:
    """Portraits with scores that are wrong more often with dark skin."""
    random = np.random.default_rng(seed)
    skin = np.where(np.arange(people) % 2, "dark", "light")
    label = random.integers(0, 2, people)
    wrong = random.random(people) < np.where(skin == "dark", 0.4, 0.1)
    score = np.where(label != wrong, 0.8, 0.2)
    names = [f"{number}.png" for number in range(people)]
    columns = {"image_id": names, "skin": skin, "label": label, "score": score}
    return pd.DataFrame(columns)


def save_pictures(folder: Path, names: list[str], colours: np.ndarray) -> None:
    """Small pictures, each of one colour (n, 3) with some noise."""
    random = np.random.default_rng(1)
    for name, colour in zip(names, colours, strict=True):
        pixels = colour + random.integers(-9, 10, (16, 16, 3))
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / name)


def matched_table(home, write) -> tuple[str, dict[str, int]]:
    """An audit of a table of matched images, with a target population."""
    people = pd.DataFrame({"skin": ["light", "dark", "dark"]})
    people.to_csv(home / "people.csv", index=False)
    portraits = table_of_portraits(80)
    portraits.assign(unit=np.arange(80) // 2).to_csv(home / "faces.csv", index=False)
    path = write(
        axes={"skin": ["light", "dark"]},
        images="faces.csv",
        target={"name": "users", "table": "people.csv"},
    )
    return path, {"once.yml": 1, "faces.csv": 1, "people.csv": 1}


def matched_pictures(home, write) -> tuple[str, dict[str, int]]:
    """An audit of matched pictures in a folder, whose labels are in their table."""
    random = np.random.default_rng(1)
    red = np.repeat(random.integers(30, 225, 40), 2)
    names = [f"{number}.png" for number in range(80)]
    colours = np.stack([red - 30 * (np.arange(80) % 2), red, red], axis=1)
    save_pictures(home, names, colours)
    label = np.where(red > 127, "male", "female")
    table = table_of_portraits(80).assign(file=names, unit=np.arange(80) // 2, label=label)
    table[["file", "unit", "skin", "label"]].to_csv(home / "index.csv", index=False)
    path = write(
        axes={"skin": ["light", "dark"]},
        classes=["female", "male"],
        generator={"kind": "images", "table": "index.csv"},
        people={"kind": "table"},
        model=SCORES,
    )
    return path, {"once.yml": 1, "index.csv": 1}


def portraits_in_table(home, write) -> tuple[str, dict[str, int]]:
    """An audit of portraits whose scores are in a table, held against matched images."""
    table_of_portraits(200).to_csv(home / "found.csv", index=False)
    transects = pd.DataFrame({"unit": np.arange(80) // 2, "skin": ["light", "dark"] * 40})
    wrong = np.random.default_rng(2).random(80) < np.where(transects["skin"] == "dark", 0.4, 0.1)
    transects.assign(error=wrong.astype(int)).to_csv(home / "matched.csv", index=False)
    path = write(
        kind="portraits",
        axes={"skin": ["light", "dark"]},
        images="found.csv",
        transects="matched.csv",
    )
    return path, {"once.yml": 1, "found.csv": 1, "matched.csv": 1}


def portraits_with_model(home, write) -> tuple[str, dict[str, int]]:
    """An audit of portraits whose pictures a model is asked about."""
    table = table_of_portraits(60)
    red = np.where(table["score"] > 0.5, 200, 60)
    save_pictures(home, table["image_id"].tolist(), np.stack([red, red, red], axis=1))
    table.drop(columns="score").to_csv(home / "found.csv", index=False)
    path = write(
        kind="portraits", axes={"skin": ["light", "dark"]}, images="found.csv", model=SCORES
    )
    return path, {"once.yml": 1, "found.csv": 1}


def pairs_in_table(home, write) -> tuple[str, dict[str, int]]:
    """An audit of pairs whose similarities are in a table."""
    random = np.random.default_rng(1)
    rows = []
    for group in ("a", "b"):
        for number in range(60):
            same = number % 2
            first = f"{group}{number}"
            second = first if same else f"{group}{number + 1}"
            similarity = random.normal(0.5 + 0.3 * same, 0.1)
            rows.append((group, first, second, same, similarity))
    columns = ["group", "first", "second", "same", "similarity"]
    pd.DataFrame(rows, columns=columns).to_csv(home / "pairs.csv", index=False)
    path = write(
        kind="verification",
        pairs="pairs.csv",
        reference="a",
        model={"kind": "table", "threshold": 0.65},
    )
    return path, {"once.yml": 1, "pairs.csv": 1}


def pairs_with_model(home, write) -> tuple[str, dict[str, int]]:
    """An audit of a recogniser that is asked about pictures."""
    identity = np.repeat(np.arange(12), 3)
    colours = np.random.default_rng(1).integers(20, 235, (12, 3))[identity]
    names = [f"{number}.png" for number in range(36)]
    save_pictures(home, names, colours)
    group = np.where(identity % 2, "a", "b")
    table = pd.DataFrame({"image_id": names, "identity": identity, "group": group})
    table.to_csv(home / "people.csv", index=False)
    path = write(kind="verification", images="people.csv", reference="a", model=EMBEDDINGS)
    return path, {"once.yml": 1, "people.csv": 1}


AUDITS = [
    matched_table,
    matched_pictures,
    portraits_in_table,
    portraits_with_model,
    pairs_in_table,
    pairs_with_model,
]


@pytest.mark.parametrize("command_line", [faceaudit.__main__, faceworld.audit])
@pytest.mark.parametrize("audit", AUDITS)
def test_a_run_reads_the_audit_file_and_each_table_once(
    home, module, write, reads, capsys, command_line, audit
):
    module("pictured", MODELS)
    path, expected = audit(home, write)
    assert command_line.main(["run", path]) == PASSED, capsys.readouterr().err
    assert dict(reads) == expected
    assert json.loads(next(home.rglob("report.json")).read_text("utf-8"))["name"] == "once"
