"""Whether published models decide about photographic faces as they are recorded, on another day.

Run `python benchmarks/published_again.py`, and name a file of people's planes, as for
`python -m published --planes`, if you have one. The first faces of the record are drawn anew by
their recorded steps, at three levels of skin, dimmed and moved at random; and, along people's
planes, at all combinations of skin, hair and gender. All networks are asked anew. A decision counts
where the score is not within `published.record.NEAR_DECISION` of the threshold, and an age where it
differs by more than `published.record.NEAR_AGE`.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
from record import write_rows

from published import record, study
from published.faces import Faces
from published.fetch import fetch
from published.places import BUILD
from published.plan import SEEDS
from published.planes import read_planes

FACES = 10


def made_again(name: str, planes_file: Path | None) -> pd.DataFrame:
    """Answers about the first faces of a part of the record, in its columns."""
    faces = Faces(BUILD / "again")
    chosen = record.recorded_faces(name, FACES)
    if name == study.PLANES:
        length = faces.generator.latent_dim
        planes = read_planes(planes_file, list(study.AXES_OF_PLANES), length)
        part = study.part_by_planes(faces, planes, chosen, SEEDS[name])
    else:
        part = study.measured_part(faces, record.steps_of(name, chosen), SEEDS[name], name)
    return pd.concat(study.record_of(part.images, faces), ignore_index=True)


def lines_of(name: str, rows: pd.DataFrame, recorded: pd.DataFrame) -> list[dict]:
    """A line for each network and answer of a part."""
    lines = []
    for (model, outcome), answers in rows.groupby(["model", "outcome"], sort=False):
        compared = record.compare(answers, recorded)
        largest = compared.largest[outcome]
        lines.append(
            {
                "what": f"{name}, {model}: {outcome}",
                "answers": compared.compared,
                "not in the record": compared.unknown,
                "other decisions or states": len(compared.differing),
                # One network tells a side and no score.
                "largest difference": None if pd.isna(largest) else largest,
            }
        )
    return lines


def main() -> None:
    fetch()
    planes_file = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    parts = [study.MEASURED, study.PLANES] if planes_file else [study.MEASURED]
    recorded = record.read()
    table = []
    facts = {"faces of each part": str(FACES), "made again": datetime.now(UTC).date().isoformat()}
    for name in parts:
        rows = made_again(name, planes_file)
        table += lines_of(name, rows, recorded)
        facts[f"recorded, {name}"] = record.manifest()["parts"][name]["made"][:10]
        facts[f"pictures, {name}"] = str(rows["image"].nunique())
    write_rows("published_again", facts, table, ["openvino"])


if __name__ == "__main__":
    main()
