"""Images, networks and answers of the verification study: rendered, trained, written and read.

Chapter 16 says what is done and why, and decides; here are the files and the batches (Liang et al.
2023, sections 3 and 4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

import facerender
from helpers import identities, models
from helpers.annotations import crowd_pairs
from helpers.annotations import pairs as pair_tasks
from helpers.world.batches import render_to_store


@dataclass(frozen=True)
class People:
    """Invented people in several images each.

    Attributes:
        images: uint8 (n, 3, size, size), heads on white.
        person: (n,) number of the identity.
        group: (n,) one of `identities.GROUPS`.
    """

    images: np.ndarray
    person: np.ndarray
    group: np.ndarray


def render_people(
    wanted: Mapping[str, int], images_each: int, size: int, path: Path, *, seed: int, device: str
) -> People:
    """Draw identities, so many of each group, and render them.

    Args:
        wanted: group → number of identities.
        images_each: images of each.
        size: height and width in pixels.
        path: the `.npy` file that keeps the images.
        seed: of the draws.
        device: that renders, "cpu" or "cuda".

    Raises:
        ValueError: as `identities.identity_set` and `helpers.world.batches.render_to_store`.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from helpers.verification import study
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "people.npy")
        ...     one = {"european male": 1}
        ...     study.render_people(one, 2, 16, path, seed=1, device="cpu").images.shape
        (2, 3, 16, 16)
    """
    parameters, person, frame = identities.identity_set(wanted, images_each, seed=seed)
    return People(render(parameters, size, path, device), person, frame["group"].to_numpy())


def render(parameters: Tensor, size: int, path: Path, device: str) -> np.ndarray:
    """Heads on white, uint8 (n, 3, size, size), a memory map of the file at `path`.

    Args:
        parameters: of the renderer, (n, P).
        size: height and width in pixels.
        path: the `.npy` file that keeps the images.
        device: that renders, "cpu" or "cuda".

    Raises:
        ValueError: as `helpers.world.batches.render_to_store`.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import facerender
        >>> from helpers.verification import study
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     study.render(facerender.defaults(2), 16, Path(folder, "heads.npy"), "cpu").shape
        (2, 3, 16, 16)
    """
    return render_to_store(parameters, size, path, device=device, render=identities.render_heads)


def train(
    pool: People,
    fresh: People,
    n: int,
    epochs: int,
    path: Callable[[str], Path],
    *,
    seed: int,
    device: str,
) -> dict[str, models.Recogniser]:
    """Train the four recognisers, each on n identities of the pool in its own composition.

    Args:
        pool: supplies `identities.pool_composition(n)`.
        fresh: other people, on whom the equal error rate is measured.
        n: identities of each training set.
        epochs: passages through it.
        path: of a file by its name, `Stage.path`; each recogniser leaves weights and settings.
        seed: of the sets and of the trainings.
        device: that trains, "cpu" or "cuda".

    Returns:
        Name → recogniser, in the order of `identities.RECOGNISERS`.

    Raises:
        ValueError: as `identities.draw_sets`.

    Example:
        >>> from helpers.verification import study
        >>> images = np.zeros((2, 3, 16, 16), np.uint8)
        >>> few = study.People(images, np.arange(2), np.array(["european male"] * 2))
        >>> study.train(few, few, 24, 1, Path, seed=1, device="cpu")
        Traceback (most recent call last):
        ValueError: the pool has 0 identities of 'african female', not 4
    """
    frame = pd.DataFrame({"identity": pool.person, "group": pool.group})
    sets = identities.draw_sets(frame, n, seed=seed)
    jobs = []
    for name, design in identities.RECOGNISERS.items():
        rows = sets[name]
        path(f"{name}.json")  # the training writes it beside the weights
        jobs.append(
            {
                "images": pool.images[rows],
                "labels": pool.person[rows],
                "path": path(f"{name}.safetensors"),
                "loss": design.loss,
                "epochs": epochs,
                "seed": seed,
                "held_out": (fresh.images, fresh.person),
                "device": device,
            }
        )
    return dict(zip(identities.RECOGNISERS, models.train_recognisers(jobs), strict=True))


def rate_pairs(
    parameters: Tensor, pairs: pd.DataFrame, path: Path, n_raters: int, *, seed: int, stage: str
) -> pair_tasks.PairRatings:
    """Let a simulated crowd compare the faces of pairs, through a Label Studio export.

    Args:
        parameters: of all images, (n, P).
        pairs: as of `identities.pairs`, named by `pair_tasks.pair_ids`.
        path: of the export.
        n_raters: answers to each pair.
        seed: of the crowd.
        stage: that keys its answers.

    Returns:
        Ratings and what was dropped, as `helpers.annotations.read_pair_export`.

    Example:
        >>> import tempfile
        >>> import facerender
        >>> from helpers.verification import study
        >>> pair = pd.DataFrame({"first": [0], "second": [1], "kind": "positive"}, index=["a"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path, crowd = Path(folder, "pairs.json"), {"seed": 1, "stage": "example"}
        ...     study.rate_pairs(facerender.defaults(2), pair, path, 9, **crowd).ratings.shape
        (1, 9)
    """
    ends = [parameters[torch.tensor(pairs[side].tolist())] for side in ("first", "second")]
    apart = pd.Series(crowd_pairs.identity_distance(*ends), pairs.index)
    turned = np.abs(np.subtract(*(end[:, facerender.INDEX["yaw"]].cpu().numpy() for end in ends)))
    answers = crowd_pairs.annotate_pairs(
        apart, pd.Series(turned, pairs.index), n_raters, seed=seed, stage=stage
    )
    pair_tasks.write_pair_export(answers, path, pairs)
    return pair_tasks.read_pair_export(path, pairs, n_raters)
