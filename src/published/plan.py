"""The plan of the study, which was written before the first recorded answer.

python -m published.plan      write audits/published/plan.json, where there is none
"""

import json
from datetime import UTC, datetime
from typing import Any

from faceaudit.utils.files import hash_of_content, write_text
from published import faces, study
from published.measures import MEASURES
from published.places import RECORD
from published.products import NETWORKS

PLAN = RECORD / "plan.json"
TRANSECTS = {"measured": 440, "planes": 200, "repeated": 220}
"""Faces of each part before exclusions; the repeated one is the measured axis on other faces."""
SEEDS = {"measured": 11, "planes": 12, "repeated": 13}
TOLERANCES = {"P(male)": 0.05, "age": 3.0, "happy": 0.05, "angry": 0.05, "real": 0.05, "live": 0.05}
"""Outcome → the largest effect that does not matter: shares, and years."""
TOLERANCE_OF_SILENCE = 0.05


def plan() -> dict[str, Any]:
    """What the study decides before its answers are seen."""
    return {
        "question": "Does the colour of skin alone change what published models say of a face?",
        "primary": {
            "study": study.MEASURED,
            "axis": "skin",
            "contrast": ["low", "high"],
            "outcome": "P(male)",
        },
        "outcomes": [
            {"model": model, "outcome": answer, "tolerance": TOLERANCES[answer]}
            for network in NETWORKS
            for answer, model in network.told.items()
        ],
        "family": "all models, outcomes and axes of a part of the study are judged together",
        "level": 0.05,
        "units": "base faces",
        "estimator": "mean over base faces of the difference between two levels; of the planes, "
        "over the levels of the other two axes; a face counts where the model answers at both",
        "silence": "the share of images without an answer (no face, abstained, failed) is an "
        f"outcome of its own, tolerance {TOLERANCE_OF_SILENCE}",
        "shown": "changes, intervals, flips and silence; no error rate before people have labelled",
        "parts": {name: {"transects": TRANSECTS[name], "seed": SEEDS[name]} for name in TRANSECTS},
        "levels": {
            "skin": {
                level: f"L* of tone {tone} of the Monk Skin Tone scale"
                for level, tone in faces.LEVELS.items()
            },
            "planes": {axis: list(ends) for axis, ends in study.AXES_OF_PLANES.items()},
        },
        "generator": {"truncation": faces.TRUNCATION, "pixels": faces.PIXELS},
        "measures": list(MEASURES),
        "rounds": faces.ROUNDS,
        "exclusions": {
            "adult": f"a base face takes part where {', '.join(study.AGES_ASKED)} all say "
            f"{study.ADULT:g} years or more",
            "reached": f"a face takes part where L* is within {faces.NEAR:g} of its target at "
            "every level after the closing rounds",
        },
        "controls": {
            study.PLACEBO: "the face at the low level, its light dimmed until its skin reflects as "
            "much as at the high level",
            study.RANDOM: "a step of equal length from the low level, along an axis at random that "
            "moves no measure",
        },
        "sentences": "no sentence about skin stands without both controls beside it",
        "exploration": "the trial of 49 transects, and faces of other seeds",
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
    }


if __name__ == "__main__":
    if PLAN.exists():
        raise SystemExit(f"{PLAN} is there already; a plan is written once")
    content = plan()
    content["sha256"] = hash_of_content(content)
    write_text(PLAN, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
