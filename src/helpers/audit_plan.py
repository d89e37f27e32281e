"""The plan of the audit, made and hashed before any model is trained or asked.

    python -m helpers.audit_plan --profile laptop

The stage `artifacts/<profile>/audit_plan/` holds `plan.json`: the tolerance and the level, the
shares of the rule for a counted gap, the design, and all families of comparisons that are tested
(from `audit_plan.yml`). It follows from the profile alone, not from any result or model. Chapter 02
reads it before it trains the models, and records its hash. The chapters that give verdicts take
their numbers from it and say whether they made the planned comparisons.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from types import SimpleNamespace

import yaml

from faceaudit.utils.errors import InputError
from faceaudit.utils.files import hash_of_content
from helpers.artifacts import Stage, lineage


@dataclass(frozen=True)
class Family:
    """Comparisons whose p-values are adjusted together, planned by name.

    Each control is adjusted for itself: it tests the method and not a model in use, so it should
    not widen the family of the audited models.

    Attributes:
        name: of the family.
        together: groups of models over which p-values are adjusted, the audited models first.
        comparisons: made for every model.
    """

    name: str
    together: list[list[str]]
    comparisons: list[tuple[str, ...]]

    @property
    def size(self) -> int:
        """Number of comparisons that are adjusted together, of the audited models."""
        return len(self.together[0]) * len(self.comparisons)

    @property
    def group_of(self) -> dict[str, str]:
        """Model → names of those that it is adjusted with, itself among them."""
        return {model: ", ".join(group) for group in self.together for model in group}

    def departures(self, comparisons: Iterable[tuple[str, ...]]) -> list[str]:
        """A sentence for each comparison in which an analysis departs from the plan.

        Args:
            comparisons: (model, *names) of those that the analysis makes.
        """
        actual = Counter(map(tuple, comparisons))
        planned = Counter((model, *names) for model in self.group_of for names in self.comparisons)
        left_out = [f"{self.name}: left out {', '.join(names)}" for names in planned - actual]
        unplanned = [
            f"{self.name}: not planned or made twice {', '.join(names)}"
            for names in actual - planned
        ]
        return left_out + unplanned

    def check(self, comparisons: Iterable[tuple[str, ...]]) -> None:
        """Raise ValueError with the `departures`, if comparisons are not the planned ones."""
        if departures := self.departures(comparisons):
            raise ValueError(f"not as planned: {'; '.join(departures)}")


def read_plan(content: Mapping) -> SimpleNamespace:
    """The plan of a `plan.json`: its entries as attributes, families as `Family`.

    Args:
        content: of the file, parsed.

    Raises:
        InputError: the hash is not that of the content.
    """
    expected = hash_of_content(content)
    if content["sha256"] != expected:
        raise InputError(
            "the plan was changed after it was made: its hash is another",
            field="sha256",
            found=content["sha256"],
            expected=expected,
        )
    families = {
        name: Family(name, entry["together"], list(map(tuple, entry["comparisons"])))
        for name, entry in content["families"].items()
    }
    return SimpleNamespace(**{**content, "families": families})


def make_plan(profile: SimpleNamespace) -> dict:
    """The content of `plan.json` for the sizes of a profile."""
    content = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
    for family in content["families"].values():
        # A row lists the names of each place, and stands for all combinations of them.
        rows = family["comparisons"]
        family["comparisons"] = list(chain.from_iterable(product(*row) for row in rows))
    content["design"] = {
        "transects": profile.n_transects,
        "images of a transect": 8,
        "raters of an image": profile.n_raters,
        "base faces of the truth": profile.n_truth,
        "codes that take steps": profile.n_codes,
        "seeds of identities": profile.n_seeds,
    }
    return content | {"sha256": hash_of_content(content)}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", required=True)
    name = parser.parse_args(arguments).profile
    profile = lineage.load_profile(name)
    stage = Stage("audit_plan", profile=name, device="cpu", seed=profile.seed)
    content = make_plan(profile)
    stage.save("plan.json", content)
    stage.finish({"sha256": read_plan(content).sha256})


if __name__ == "__main__":
    main(sys.argv[1:])
