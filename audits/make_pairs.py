"""The table of the example `pairs.yml`: a recogniser's answers about people of the face world.

    python audits/make_pairs.py

makes it again, by the people and the recogniser of `audits/verification.yml`: every pair of
pictures of one invented person, and some of the pairs of two in a group, with their similarities.
"""

import tempfile
from pathlib import Path

from faceaudit import Pairs, read_specification
from faceaudit.example_files import EXAMPLES
from faceaudit.frames import InputTables
from faceworld.audit import make_examples

IMPOSTORS = 1000
HERE = Path(__file__).parent


def make_table() -> None:
    """Write the table into the package."""
    specification = read_specification(HERE / "verification.yml")
    make_examples(specification)
    design = specification.design.model_copy(update={"impostors": IMPOSTORS})
    specification = specification.model_copy(update={"design": design})
    with tempfile.TemporaryDirectory() as folder:
        tables = InputTables(specification)
        pairs, _ = Pairs.from_model(specification, tables, Path(folder), print)
    table = pairs.frame.round({"similarity": 4})
    table.to_csv(EXAMPLES / "invented-pairs.csv", index=False)


if __name__ == "__main__":
    make_table()
