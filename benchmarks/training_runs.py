"""How far networks of one composition lie apart from training to training.

Run `python benchmarks/training_runs.py` after `make reproduce`. Every composition of
`faceworld.people` is trained `RUNS` times with the ArcFace loss, at the size of
the laptop profile. A run draws other people for its sets, other first weights and another order of
the pictures; all networks judge the pairs of chapter 14, each at a threshold that is set as there.
What they accept is left beside `faceaudit.verification.composition`, from which chapter 15 and note
N6 compute intervals.

What is trained is kept in `build/training_runs` and not trained again.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from faceaudit import verification
from faceworld import networks, people
from faceworld.people import PAIR_COLUMNS, TRAININGS_RECORD
from helpers import artifacts
from helpers.artifacts import lineage

LOSS, RUNS = "arcface", 7
IMAGES_EACH, FMR, T = 8, 0.01, 0.3
"""Of chapter 14: pictures of a person, the rate that sets a threshold, the limit of consensus."""
CHAPTER, PROFILE = "14_verification_measures", "laptop"
SETTINGS = lineage.load_profile(PROFILE)
RENDERED = {"images_each": IMAGES_EACH, "size": SETTINGS.image_size, "device": "cpu"}
FOLDER = Path(__file__).parents[1] / "build" / "training_runs"


def train(run: int) -> dict[str, networks.Recogniser]:
    """Networks of all compositions; another run sees other people."""
    jobs = {}
    for composition, shares in people.COMPOSITIONS.items():
        wanted, path = (
            people.group_counts(shares, SETTINGS.n_identities),
            f"{composition}.npy",
        )
        drawn = people.render_people(wanted, path=FOLDER / path, seed=run, **RENDERED)
        name = f"{composition}, {run}"
        jobs[name] = {
            "images": drawn.images,
            "labels": drawn.person,
            "path": FOLDER / f"{name}.safetensors",
            "loss": LOSS,
            "epochs": SETTINGS.recognition_epochs,
            "seed": run,
        }
    return dict(zip(jobs, networks.train_recognisers([*jobs.values()]), strict=True))


def accepted(run: int, pictures: np.ndarray, pairs: pd.DataFrame) -> pd.DataFrame:
    """Whether the networks of a run accept each pair, a column each."""
    kept = FOLDER / f"{run}.parquet"
    if kept.is_file():
        return pd.read_parquet(kept)
    fresh = people.render_people(
        dict.fromkeys(people.GROUPS, 4 + SETTINGS.n_identities // 30),
        path=FOLDER / "fresh.npy",
        seed=SETTINGS.seed + 1,
        **RENDERED,
    )
    ends = np.column_stack(np.triu_indices(len(fresh.images), 1))
    strangers = ends[fresh.person[ends[:, 0]] != fresh.person[ends[:, 1]]]
    columns = {}
    for name, network in train(run).items():
        threshold = np.quantile(verification.similarity(network(fresh.images), strangers), 1 - FMR)
        similar = verification.similarity(network(pictures), pairs[["first", "second"]].to_numpy())
        columns[name] = similar >= threshold
    table = pd.DataFrame(columns)
    table.to_parquet(kept)
    return table


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    pairs = artifacts.load(CHAPTER, "pairs.parquet", PROFILE)
    ratings = artifacts.load(CHAPTER, "ratings.npy", PROFILE)
    pictures = artifacts.load(CHAPTER, "faces.npy", PROFILE)
    found = [accepted(run, pictures, pairs) for run in range(1, RUNS + 1)]
    judged = pairs.assign(match=verification.is_match(ratings, T))[PAIR_COLUMNS]
    pd.concat([judged, *found], axis=1).to_parquet(TRAININGS_RECORD, index=False)


if __name__ == "__main__":
    main()
