"""Every number that the book and its example audits arrive at, beside the numbers of record.

    python tests/golden.py smoke             compare what `make smoke` left, stage by stage
    python tests/golden.py laptop            what `make reproduce` left
    python tests/golden.py audits            the reports of the example audits, in build/audits
    python tests/golden.py laptop --write    renew the record, after a change that is meant

A record is a text with a line for each value, so that a diff shows which numbers moved and how far.
On the machine that wrote it numbers are compared bit for bit. Other processors may round otherwise
where an ONNX file is asked, and other libraries anywhere: there a number may move by a tolerance.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from helpers.artifacts import lineage, manifests

RECORDS = Path(__file__).with_suffix("")
PROFILES = ("smoke", "laptop")
AUDITS = "audits"
EXAMPLE_AUDITS = ("example", "example-smoke", "pairs", "portraits", "table", "verification")

NOT_OF_THE_ANALYSIS = ("answer", "limits", "made", "plan", "provenance", "question")
"""Parts of a report that are prose, or that say when and with which versions it was made."""

ABSOLUTE_TOLERANCE = 0.001
RELATIVE_TOLERANCE = 0.001
"""By how much a number may move on another machine."""
SHARE_THAT_MAY_FLIP = 0.02
"""Share of a record's numbers that may move further there: an image that one machine scores just
above the threshold and another just below moves every rate that it enters."""

Value = float | int | bool | str | None
Values = dict[str, Value]


@dataclass(frozen=True)
class Change:
    """A value that is not as recorded; `None` stands for a missing line as well as for null."""

    key: str
    recorded: Value
    computed: Value

    def __str__(self) -> str:
        return f"  {self.key}: {written(self.recorded)} -> {written(self.computed)}"


def flat(content: Any, key: str = "") -> Iterator[tuple[str, Value]]:
    """The scalars of nested JSON, each with the way to it: `share.celeba-like.low`."""
    if isinstance(content, Mapping):
        for name, part in content.items():
            yield from flat(part, f"{key}.{name}" if key else str(name))
    elif isinstance(content, Sequence) and not isinstance(content, str):
        for number, part in enumerate(content):
            yield from flat(part, f"{key}.{number}")
    else:
        yield key, content


def written(value: Value) -> str:
    """A value as it stands in a record."""
    return json.dumps(value, ensure_ascii=False)


def read_record(path: Path) -> Values:
    """The values of a record, by key."""
    values: Values = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition("\t")
        values[key] = json.loads(value)
    return values


def write_record(path: Path, values: Values) -> None:
    """Write a line for each value."""
    lines = [f"{key}\t{written(value)}\n" for key, value in values.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines), encoding="utf-8")


def changes(recorded: Values, computed: Values, exact: bool) -> list[Change]:
    """What is not as recorded: bit for bit, or by more than a tolerance."""
    keys = [*recorded, *(key for key in computed if key not in recorded)]
    pairs = [Change(key, recorded.get(key), computed.get(key)) for key in keys]
    same_keys = recorded.keys() == computed.keys()
    differing = [pair for pair in pairs if not alike(pair, exact)]
    may_flip = 0 if exact else SHARE_THAT_MAY_FLIP * len(keys)
    return differing if not same_keys or len(differing) > may_flip else []


def alike(pair: Change, exact: bool) -> bool:
    """Whether two values count as equal; NaN equals NaN."""
    values = (pair.recorded, pair.computed)
    numbers = all(isinstance(value, float | int) for value in values)
    if not numbers or exact:
        return written(pair.recorded) == written(pair.computed)
    recorded, computed = values
    if math.isnan(recorded) or math.isnan(computed):
        return math.isnan(recorded) and math.isnan(computed)
    return math.isclose(recorded, computed, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)


def computed_values(what: str) -> dict[str, Values]:
    """What this checkout's last runs arrived at: stage or audit → values."""
    if what == AUDITS:
        return {path.parent.name: report_values(path) for path in example_reports()}
    pattern = f"{what}/*/{manifests.RESULTS}"
    paths = sorted(manifests.root().glob(pattern))
    return {path.parent.name: dict(flat(json.loads(path.read_text()))) for path in paths}


def example_reports() -> list[Path]:
    """The reports of the example audits, as far as they were run."""
    folder = lineage.ROOT / "build" / "audits"
    paths = [folder / name / "report.json" for name in EXAMPLE_AUDITS]
    return [path for path in paths if path.is_file()]


def report_values(path: Path) -> Values:
    """The values of a report that belong to its analysis."""
    report = json.loads(path.read_text(encoding="utf-8"))
    return dict(flat({k: part for k, part in report.items() if k not in NOT_OF_THE_ANALYSIS}))


def machine() -> Values:
    """What decides how numbers are rounded: the processor, and versions of what computes."""
    libraries = ("numpy", "scipy", "torch", "onnxruntime", "pandas", "scikit-learn", "statsmodels")
    described: Values = {"processor": processor(), "python": platform.python_version()}
    return described | {library: version(library) for library in libraries}


def processor() -> str:
    """The processor's name; on Linux with family and model, as one name stands for several."""
    information = Path("/proc/cpuinfo")
    if not information.is_file():
        return platform.processor() or platform.machine()
    fields = dict(re.findall(r"^(.+?)\s*: (.*)$", information.read_text(), flags=re.MULTILINE))
    wanted = ("model name", "cpu family", "model")
    return ", ".join(f"{name} {fields[name]}" for name in wanted if name in fields)


def wrote_the_record(what: str) -> bool:
    """Whether the record of a profile, or of the audits, is of a machine like this one."""
    return read_record(RECORDS / what / "machine.txt") == machine()


def compare(what: str) -> dict[str, list[Change]]:
    """Stages or audits whose values are not as recorded, with what differs.

    Raises:
        FileNotFoundError: none of them was run.
    """
    computed = computed_values(what)
    if not computed:
        raise FileNotFoundError(f"there are no results of {what} to compare; run them first")
    exact = wrote_the_record(what)
    differing = {}
    for name, values in computed.items():
        path = RECORDS / what / f"{name}.txt"
        found = changes(read_record(path) if path.is_file() else {}, values, exact)
        if found:
            differing[name] = found
    return differing


def write(what: str) -> None:
    """Make what was computed the record."""
    for name, values in computed_values(what).items():
        write_record(RECORDS / what / f"{name}.txt", values)
    write_record(RECORDS / what / "machine.txt", machine())


def main(arguments: list[str]) -> int:
    """Compare, or write; 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=[*PROFILES, AUDITS])
    parser.add_argument("--write", action="store_true", help="renew the record")
    chosen = parser.parse_args(arguments)
    if chosen.write:
        write(chosen.what)
        return 0
    try:
        differing = compare(chosen.what)
    except FileNotFoundError as error:
        sys.exit(str(error))
    for name, found in differing.items():
        print(f"{name}: {len(found)} values are not as recorded", *found, sep="\n")
    how = "bit for bit" if wrote_the_record(chosen.what) else "within the tolerances"
    print(f"{chosen.what}: {len(differing)} records differ, compared {how}")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
