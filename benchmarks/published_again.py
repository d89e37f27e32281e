"""Whether published models decide about photographic faces as they are recorded, on another day.

The first faces of the record are made anew, at three levels of skin, dimmed and moved at random.
All networks are asked anew, as `make published LIVE=10` does it. A decision counts where the score
is not within `published.record.NEAR_DECISION` of the threshold; ages have none.
"""

from datetime import UTC, datetime

import pandas as pd
from record import write_rows

from published import record, study
from published.faces import Faces
from published.fetch import fetch
from published.places import BUILD
from published.plan import SEEDS

FACES = 10
PART = study.MEASURED


def made_again() -> pd.DataFrame:
    """Answers about the first faces of the record, in its columns."""
    fetch()
    faces = Faces(BUILD / "again")
    chosen = record.recorded_faces(PART, FACES)
    part = study.measured_part(faces, record.steps_of(PART, chosen), SEEDS[PART], PART)
    return pd.concat(study.record_of(part.images, faces), ignore_index=True)


def main() -> None:
    rows = made_again()
    recorded = record.read()
    table = []
    for (model, outcome), answers in rows.groupby(["model", "outcome"], sort=False):
        compared = record.compare(answers, recorded)
        largest = compared.largest[outcome]
        table.append(
            {
                "what": f"{model}: {outcome}",
                "answers": compared.compared,
                "not in the record": compared.unknown,
                "other decisions or states": len(compared.differing),
                # One network tells a side and no score.
                "largest difference": None if pd.isna(largest) else largest,
            }
        )
    facts = {
        "recorded": record.manifest()["parts"][PART]["made"][:10],
        "made again": datetime.now(UTC).date().isoformat(),
        "faces": FACES,
        "pictures": rows["image"].nunique(),
    }
    write_rows("published_again", facts, table, ["openvino"])


if __name__ == "__main__":
    main()
