"""The plan of the audit, made and hashed before any model is trained or asked.

    python -m helpers.effects.audit_plan --profile laptop

The stage `artifacts/<profile>/audit_plan/` holds `plan.json`: the tolerance and the level, the
shares of the rule for a counted gap, the design, and all families of comparisons that are tested
(from `audit_plan.yml`). It follows from the profile alone, not from any result or model. Chapter 02
reads it before it trains the models, and records its hash. The chapters that give verdicts take
their numbers from it and say whether they made the planned comparisons.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from helpers.artifacts import Stage, lineage


@dataclass(frozen=True)
class Family:
    """Comparisons whose p-values are adjusted together, planned by name.

    Each control is adjusted for itself. It tests the method, and is no finding about a model that
    somebody uses: the audited models should not pay for it.

    Attributes:
        name: of the family.
        together: groups of models; p-values are adjusted over the models of a group. The audited
            models come first.
        comparisons: what is compared for every model, as names.

    Example:
        >>> family = Family("skin", (("a", "b"), ("control",)), (("women",), ("men",)))
        >>> family.size, family.group_of["b"]
        (4, 'a, b')
    """

    name: str
    together: tuple[tuple[str, ...], ...]
    comparisons: tuple[tuple[str, ...], ...]

    @property
    def size(self) -> int:
        """Number of comparisons that are adjusted together, of the audited models."""
        return len(self.together[0]) * len(self.comparisons)

    @property
    def group_of(self) -> dict[str, str]:
        """Model → names of those that it is adjusted with, itself among them."""
        return {model: ", ".join(group) for group in self.together for model in group}

    def departures(self, made: Iterable[tuple[str, ...]]) -> list[str]:
        """Say in which comparisons an analysis departs from the plan.

        Args:
            made: the comparisons that were made, (model, *names), in any order; one without an
                estimate counts as made.

        Returns:
            One sentence for each comparison too few, too many or made twice.

        Example:
            >>> family = Family("skin", (("a",),), (("women",), ("men",)))
            >>> family.departures([("a", "women"), ("a", "children")])
            ['skin: left out a, men', 'skin: not planned a, children']
        """
        counts = Counter(tuple(one) for one in made)
        planned = [(model, *one) for model in self.group_of for one in self.comparisons]
        found = {
            "left out": [one for one in planned if one not in counts],
            "not planned": [one for one in counts if one not in set(planned)],
            "made twice": [one for one, count in counts.items() if count > 1],
        }
        return [
            f"{self.name}: {what} {', '.join(one)}" for what, some in found.items() for one in some
        ]

    def check(self, made: Iterable[tuple[str, ...]]) -> None:
        """Raise ValueError with the `departures`, if comparisons are not the planned ones."""
        if departures := self.departures(made):
            raise ValueError(f"not as planned: {'; '.join(departures)}")


@dataclass(frozen=True)
class Plan:
    """What was decided before any model was asked.

    Attributes:
        tolerance: change of an error rate up to which an effect does not matter, a fraction.
        level: of every test, after the adjustment over its family.
        power: chance to find an effect, for which sizes are planned.
        little, most: shares of a counted gap, see the rule of chapter 10.
        design: name → number of transects, images of a transect, raters and so on.
        families: name → `Family`.
        sha256: of all this.

    Example:
        >>> plan = read(planned(lineage.load_profile("smoke")))
        >>> plan.tolerance, plan.design["transects"], plan.families["effects by cell"].size
        (0.05, 40, 24)
    """

    tolerance: float
    level: float
    power: float
    little: float
    most: float
    design: Mapping[str, int]
    families: Mapping[str, Family]
    sha256: str


def read(content: Mapping[str, Any]) -> Plan:
    """The plan, from what `plan.json` holds.

    Args:
        content: of `plan.json`.

    Returns:
        The plan.

    Raises:
        ValueError: the hash is not that of the content.

    Example:
        >>> content = planned(lineage.load_profile("smoke"))
        >>> read(content | {"tolerance": 0.1})
        Traceback (most recent call last):
        ValueError: the plan was changed after it was made: its hash is not that of its content
    """
    if content["sha256"] != digest(content):
        raise ValueError(
            "the plan was changed after it was made: its hash is not that of its content"
        )
    families = {
        name: Family(name, *(tuple(map(tuple, entry[key])) for key in ("together", "comparisons")))
        for name, entry in content["families"].items()
    }
    return Plan(**{**content, "families": families})


def digest(content: Mapping[str, Any]) -> str:
    """SHA-256 of a plan's content but for the hash itself, whatever the order of its keys."""
    rest = {name: value for name, value in content.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def planned(profile: SimpleNamespace) -> dict[str, Any]:
    """What `plan.json` holds, of the size of a profile."""
    content = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
    for family in content["families"].values():
        family["comparisons"] = [
            combination
            for row in family["comparisons"]
            for combination in product(*([one] if isinstance(one, str) else one for one in row))
        ]
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
