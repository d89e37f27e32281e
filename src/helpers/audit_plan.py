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
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import yaml

from faceaudit.plans import digest
from helpers.artifacts import Stage, lineage


@dataclass(frozen=True)
class Family:
    """Comparisons whose p-values are adjusted together, planned by name.

    Each control is adjusted for itself. It tests the method, and is no finding about a model that
    somebody uses: the audited models should not pay for it. `together` are groups of models over
    which p-values are adjusted, the audited models first; `comparisons` are made for every model.
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

    def departures(self, made: Iterable[tuple[str, ...]]) -> list[str]:
        """In which comparisons (model, *names) an analysis departs from the plan, in words."""
        made = Counter(tuple(one) for one in made)
        planned = Counter((model, *one) for model in self.group_of for one in self.comparisons)
        found = {"left out": planned - made, "not planned or made twice": made - planned}
        return [f"{self.name}: {what} {', '.join(one)}" for what in found for one in found[what]]

    def check(self, made: Iterable[tuple[str, ...]]) -> None:
        """Raise ValueError with the `departures`, if comparisons are not the planned ones."""
        if departures := self.departures(made):
            raise ValueError(f"not as planned: {'; '.join(departures)}")


def read(content: Mapping) -> SimpleNamespace:
    """The plan, from what `plan.json` holds: its entries as attributes, families as `Family`.

    Raises ValueError if the hash is not that of the content.
    """
    if content["sha256"] != digest(content):
        raise ValueError("the plan was changed after it was made: its hash is another")
    families = {
        name: Family(name, entry["together"], [*map(tuple, entry["comparisons"])])
        for name, entry in content["families"].items()
    }
    return SimpleNamespace(**{**content, "families": families})


def planned(profile: SimpleNamespace) -> dict:
    """What `plan.json` holds, of the size of a profile."""
    content = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
    for family in content["families"].values():
        family["comparisons"] = [one for row in family["comparisons"] for one in product(*row)]
    content["design"] = {
        "transects": profile.n_transects,
        "images of a transect": 8,
        "raters of an image": profile.n_raters,
        "base faces of the truth": profile.n_truth,
        "codes that take steps": profile.n_codes,
        "seeds of identities": profile.n_seeds,
    }
    return content | {"sha256": digest(content)}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", required=True)
    name = parser.parse_args(arguments).profile
    profile = lineage.load_profile(name)
    stage = Stage("audit_plan", profile=name, device="cpu", seed=profile.seed)
    content = planned(profile)
    stage.save("plan.json", content)
    stage.finish({"sha256": read(content).sha256})


if __name__ == "__main__":
    main(sys.argv[1:])
