"""Reading a crowd's answers: Label Studio's full JSON, on one line, and MTurk's batch CSV.

Run `python benchmarks/annotations.py`, after `pip install polars`. Competitors run in
this process, on the same files and one thread, and only bring the answers into a long table: they
know no duplicates, no cancelled assignments and no levels, check nothing and report nothing. The
full size is read once, each format in a process of its own. It takes six minutes and 2 GB of disk.
"""

import csv
import importlib
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from time import process_time

os.environ["POLARS_MAX_THREADS"] = "1"

import pandas as pd
import pyarrow as pa
from record import Run, grow

from faceaudit import annotations
from faceaudit.annotations import ATTRIBUTES

SIZES = (52_000, 520_000)
FULL = 5_200_000
"""Answers: ten times those of the transects paper."""
RATERS = 5
PEOPLE = 500
VISIT = len(ATTRIBUTES) * RATERS
NEEDED = ["WorkerId", "AssignmentStatus", "SubmitTime", "WorkTimeInSeconds", "Input.image_id"]
ANSWERS = [f"Answer.{name}" for name in ATTRIBUTES]
TIME = "%a %b %d %H:%M:%S UTC %Y"
READERS = {"label_studio": annotations.read_label_studio, "mturk": annotations.read_mturk}


def visits(answers: int) -> Iterator[tuple[int, int, int, datetime, dict[str, str]]]:
    """(assignment, image, person, time, labels), at random."""
    rng, start = random.Random(1), datetime(2025, 10, 9)
    for number in range(answers // len(ATTRIBUTES)):
        labels = {name: rng.choice(levels) for name, levels in ATTRIBUTES.items()}
        time = start + timedelta(seconds=number)
        yield number, number // RATERS, rng.randrange(PEOPLE), time, labels


def annotation(number: int, person: int, time: datetime, labels: dict[str, str]) -> dict:
    """An annotation with all that a server writes about it."""
    about = {"to_name": "img", "type": "choices", "origin": "manual"}
    stamp = time.isoformat() + ".500000Z"
    return {
        "id": number,
        "completed_by": person,
        "result": [
            {"id": f"{number}-{name}", "value": {"choices": [label]}, "from_name": name} | about
            for name, label in labels.items()
        ],
        **{"was_cancelled": False, "ground_truth": False, "created_at": stamp, "updated_at": stamp},
        **{"draft_created_at": None, "lead_time": 8.421, "prediction": {}, "result_count": 8},
        **{"unique_id": f"{number:032x}", "import_id": None, "last_action": None, "project": 1},
        **{"bulk_created": False, "task": number // RATERS, "updated_by": 1},
        **{"parent_prediction": None, "parent_annotation": None, "last_created_by": None},
    }


def write_label_studio(answers: int, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        given: list[dict] = []
        for number, image, person, time, labels in visits(answers):
            given.append(annotation(number, person, time, labels))
            if len(given) == RATERS:
                name = f"{image:06}"
                data = {"image": f"/data/local-files/?d=faces/{name}.png", "image_id": name}
                task = {"id": image + 1, "annotations": given, "drafts": [], "predictions": []}
                file.write(("," if image else "[") + json.dumps(task | {"data": data, "meta": {}}))
                given = []
        file.write("]")


def write_mturk(answers: int, path: Path) -> None:
    """A batch as downloaded: all cells in quotation marks, none under Approve and Reject."""
    columns = ["HITId", "HITTypeId", "Title", "Description", "AssignmentId", *NEEDED[:-1]]
    columns += ["AcceptTime", "ApprovalTime", "LifetimeApprovalRate", NEEDED[-1], *ANSWERS]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow([*columns, "Approve", "Reject"])
        for number, image, person, time, labels in visits(answers):
            about = [f"3HIT{image:026}", "3TYPE", "Describe a face", "Eight questions"]
            who = [f"3AS{number:027}", f"A{person:012}", "Approved", time.strftime(TIME), 12]
            more = [time.strftime(TIME), time.strftime(TIME), "100% (3/3)", f"{image:06}"]
            writer.writerow([*about, *who, *more, *labels.values()])


def pandas_label_studio(path: Path) -> None:
    tasks = json.loads(path.read_bytes())
    tasks = [{"image_id": task["data"]["image_id"]} | task for task in tasks]
    of_visit = [["annotations", name] for name in ("completed_by", "created_at", "lead_time")]
    table = pd.json_normalize(tasks, ["annotations", "result"], ["image_id", *of_visit])
    table["level"] = table["value.choices"].str[0]


def pandas_mturk(path: Path) -> None:
    names = pd.read_csv(path, nrows=0).columns[:-2]
    wanted = {"names": names, "usecols": [*NEEDED, *ANSWERS], "dtype": "str"}
    table = pd.read_csv(path, header=None, skiprows=1, **wanted)
    table["SubmitTime"] = pd.to_datetime(table["SubmitTime"], format=TIME)
    table.melt(NEEDED, ANSWERS)


def polars_label_studio(pl, path: Path) -> None:
    names = ("completed_by", "created_at", "lead_time", "result")
    shown = pl.col("data").struct.field("image_id")
    visits = pl.read_json(path).select(shown, "annotations").explode("annotations")
    of_visit = pl.col("annotations").struct.field(*names)
    results = visits.select("image_id", of_visit).explode("result")
    choices = pl.col("result").struct.field("value").struct.field("choices")
    name = pl.col("result").struct.field("from_name")
    results.with_columns(name, choices.list.first().alias("level")).drop("result")


def polars_mturk(pl, path: Path) -> None:
    table = pl.read_csv(
        path, columns=[*NEEDED, *ANSWERS], infer_schema=False, truncate_ragged_lines=True
    )
    times = pl.col("SubmitTime").str.to_datetime(TIME)
    table.with_columns(times).unpivot(ANSWERS, index=NEEDED)


def competitors(form: str, path: Path) -> dict[str, Callable[[], object]]:
    plain = {"label_studio": (pandas_label_studio, polars_label_studio)}
    with_pandas, with_polars = plain.get(form, (pandas_mturk, polars_mturk))
    runs = {f"read_{form}, with its report": partial(READERS[form], path)}
    runs["pandas, the table alone"] = partial(with_pandas, path)
    try:
        polars = importlib.import_module("polars")
    except ImportError:
        return runs
    return runs | {"polars, the table alone": partial(with_polars, polars, path)}


def full(form: str, path: Path) -> dict[str, str]:
    """The full size, read in a process of its own."""
    WRITERS[form](FULL, path)
    size = path.stat().st_size
    child = [sys.executable, __file__, form, str(path)]
    seconds, peak, kept = json.loads(subprocess.check_output(child))
    path.unlink()
    return {
        f"answers of the full size, kept of {FULL:,}": f"{kept:,}",
        "full size, a file of": f"{size / 1e9:.2f} GB",
        "full size, CPU seconds": f"{seconds:.1f}",
        "full size, peak memory with what is mapped of the file": f"{peak / 2**20:.2f} GiB",
    }


def alone(form: str, path: str) -> None:
    """In the process of its own: seconds, peak in KiB (Linux alone says it), answers kept."""
    start = process_time()
    kept = len(READERS[form](path).frame)
    seconds = process_time() - start
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0])
    print(json.dumps([seconds, peak, kept]))


WRITERS = {"label_studio": write_label_studio, "mturk": write_mturk}


def main() -> None:
    pa.set_cpu_count(1)
    packages = ["pandas", "pyarrow", "msgspec"]
    packages += ["polars"] if importlib.util.find_spec("polars") else []
    with tempfile.TemporaryDirectory() as folder:
        for form, write in WRITERS.items():
            sizes = {}
            for answers in SIZES:
                path = Path(folder, f"{form}-{answers}")
                write(answers, path)
                runs = competitors(form, path)
                sizes[answers] = {name: Run(do) for name, do in runs.items()}
            facts = {"images": f"{SIZES[0] // VISIT:,} to {SIZES[-1] // VISIT:,}", "threads": 1}
            facts["MB"] = "of Python and numpy; polars and Arrow hold theirs elsewhere"
            facts |= full(form, Path(folder, "full"))
            grow(f"annotations_{form}", "answers", sizes, facts, packages)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        alone(*sys.argv[1:])
    else:
        main()
