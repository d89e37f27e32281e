"""Train, load and evaluate the audited classifiers of faces into two classes.

A model predicts P(class 1); of a gender classifier that is P(the face is perceived as male).
Transects, section 5.1: binary cross-entropy, and "to avoid a baseline bias of predicting one gender
over another, we enforced the likelihood of sampling male and female faces during training to be
equal". Other classes, such as smiling or not, are treated alike.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy import stats
from torch import Tensor, nn
from torch.nn import functional

from faceaudit.utils import seeding
from faceaudit.utils.arguments import as_binary, require_members
from faceworld.networks.architectures import ARCHITECTURES
from faceworld.networks.training import (
    Data,
    Loss,
    Recipe,
    Settings,
    Trained,
    fit_all,
    one_cycle,
    two_steps,
)
from helpers.artifacts import Stage


@dataclass(frozen=True)
class ClassifierTraining(Settings):
    """Settings that fix a trained classifier."""

    architecture: str

    def network(self) -> nn.Module:
        return ARCHITECTURES[self.architecture]()


class AuditedModel(Trained):
    """A trained classifier with its origin, as `train_classifier` and `read` return it.

    Attributes:
        network: images, float32 (n, 3, height, width) in [0, 1] → logits (n, 1).
        training: architecture, epochs, seed and the training data (by content).
        curve: one row per epoch: epoch, loss, accuracy (training, as augmented) and, where
            held-out images were given, held_out_loss and held_out_accuracy.
        shipped: whether it came with the book.

    Example:
        >>> from faceworld import networks
        >>> networks.AuditedModel.kind
        'model'
    """

    kind = "model"
    settings = ClassifierTraining

    def report(self, task: Recipe, images: np.ndarray, labels: np.ndarray) -> dict:
        p = np.clip(predict(self, images), 1e-7, 1 - 1e-7)
        loss = -np.log(np.where(labels == 1, p, 1 - p)).mean()
        right = ((p > 0.5) == (labels == 1)).mean()
        return {"held_out_loss": float(loss), "held_out_accuracy": float(right)}


def train_classifier(
    images: np.ndarray,
    labels: np.ndarray,
    path: Path,
    *,
    seed: int,
    epochs: int,
    architecture: str = "small",
    held_out: Data | None = None,
    device: str = "cpu",
) -> AuditedModel:
    """Train one classifier, finish a training that was interrupted, or read a finished one.

    Every epoch draws from its own key (seed, epoch) and leaves a checkpoint beside `path`, so an
    interruption loses at most one epoch and changes nothing in the result (bit for bit on one CPU
    thread). A network of other data or settings at `path` is replaced. Transects, section 5.1.

    Args:
        images: uint8 (n, 3, size, size), an array or a memory map.
        labels: (n,) 0 or 1, the class; of a gender classifier 0 for women, 1 for men.
        path: where the weights go (`.safetensors`; settings and curve go to `.json` beside it).
        seed: of the first weights and of every epoch's draws.
        epochs: passes over as many images as there are, both classes alike.
        architecture: "small" or "resnet50".
        held_out: images and labels on which the curve is reported as well.
        device: "cpu" or "cuda".

    Returns:
        The model, on its device.

    Raises:
        ValueError: images or labels of another kind or shape, a class without a single image, or
            an unknown architecture.

    Example:
        >>> import numpy as np, tempfile
        >>> from faceworld import networks
        >>> images = np.random.default_rng(0).integers(0, 256, (8, 3, 16, 16)).astype(np.uint8)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = f"{folder}/toy.safetensors"
        ...     model = networks.train_classifier(
        ...         images, np.arange(8) % 2, path, seed=1, epochs=1
        ...     )
        >>> list(model.curve)
        ['epoch', 'loss', 'accuracy']
    """
    labels = as_binary(labels, "labels")
    if labels.all() or not labels.any():
        raise ValueError(f"labels are all {labels[0]}, both 0 and 1 were expected")
    require_members([architecture], RECIPES, "architecture")
    return AuditedModel.make(
        (images, labels),
        path,
        RECIPES[architecture],
        {"architecture": architecture},
        seed=seed,
        epochs=epochs,
        held_out=held_out,
        device=device,
    )


def train_classifiers(jobs: Sequence[dict]) -> list[AuditedModel]:
    """Train several classifiers: side by side on a processor, in turn on a GPU.

    Args:
        jobs: keyword arguments of `train_classifier`, one dict a model.

    Returns:
        The models, in the order of the jobs.

    Example:
        >>> from faceworld import networks
        >>> networks.train_classifiers([])
        []
    """
    return fit_all(train_classifier, jobs)


def predict(model: AuditedModel, images: np.ndarray) -> np.ndarray:
    """P(class 1) of every image; of a gender classifier, P(perceived as male).

    Args:
        model: of `train_classifier` or `AuditedModel.read`.
        images: uint8 (n, 3, size, size), an array or a memory map.

    Returns:
        float64 (n,) in [0, 1].

    Raises:
        ValueError: images are not uint8 (n, 3, height, width).

    Example:
        >>> import numpy as np
        >>> from faceworld import networks
        >>> from faceworld.networks.architectures import SmallNet
        >>> untrained = networks.AuditedModel(SmallNet(), training=None, curve=None)
        >>> networks.predict(untrained, np.zeros((2, 3, 16, 16), np.uint8)).shape
        (2,)
    """
    return model.outputs(images)[:, 0].double().sigmoid().numpy()


def features(model: AuditedModel, images: np.ndarray) -> np.ndarray:
    """Features of images: the inputs of a classifier's last layer.

    Args:
        model: of `train_classifier` or `AuditedModel.read`.
        images: uint8 (n, 3, size, size), an array or a memory map.

    Returns:
        float64 (n, features).

    Example:
        >>> import numpy as np
        >>> from faceworld import networks
        >>> from faceworld.networks.architectures import SmallNet
        >>> untrained = networks.AuditedModel(SmallNet(), training=None, curve=None)
        >>> networks.features(untrained, np.zeros((2, 3, 32, 32), np.uint8)).shape
        (2, 96)
    """
    batches: list[Tensor] = []

    def remember(_: nn.Module, inputs: tuple[Tensor]) -> None:
        batches.append(inputs[0])

    with model.network.head.register_forward_pre_hook(remember):
        model.outputs(images)
    return torch.cat(batches)[: len(images)].double().cpu().numpy()


def load_all(stage: Stage, source: str, names: Sequence[str]) -> dict[str, AuditedModel]:
    """Read the classifiers that an earlier stage trained, on the running stage's device.

    Args:
        stage: the running stage; `source` becomes one of its inputs.
        source: the stage that trained them, "02_face_world"; written out, so that `make` sees it.
        names: of the models, for example "celeba-like".

    Returns:
        Name → model, in the order of the names.

    Raises:
        helpers.artifacts.ArtifactError: the stage has not finished, or left no such model.

    Example:
        >>> from faceworld import networks
        >>> networks.load_all(stage=None, source="02_face_world", names=[])
        {}
    """
    for name in names:
        stage.load(source, f"{name}.json")  # the card beside the weights is to be whole as well
    paths = {name: stage.load(source, f"{name}.safetensors") for name in names}
    return {name: AuditedModel.read(path, stage.device) for name, path in paths.items()}


class BinaryTask(Recipe):
    """Tell two classes apart, both shown equally often: the rarer one repeated (transects, 5.1)."""

    def order(self, labels: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        half = len(labels) // 2
        rows = []
        for members in (np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)):
            rounds = math.ceil(half / len(members))
            shuffled = [generator.permutation(members) for _ in range(rounds)]
            rows.append(np.concatenate(shuffled)[:half])
        return generator.permutation(np.concatenate(rows))

    def loss(self, network: nn.Module, images: Tensor, labels: Tensor, progress: float) -> Loss:
        logits = network(images)[:, 0]
        loss = functional.binary_cross_entropy_with_logits(logits, labels.float())
        return loss, ((logits > 0) == (labels > 0.5)).float().mean()


RECIPES = {
    "small": BinaryTask(100, 4e-3, 1e-2, one_cycle),
    "resnet50": BinaryTask(64, 1e-4, 0.0, two_steps),
}


def null_control(
    label: ArrayLike, item: ArrayLike, cluster: ArrayLike, *, rate: float, icc: float, seed: int
) -> np.ndarray:
    """Scores of a simulated classifier that errs at one rate for all faces.

    Each cluster draws its own error probability from Beta(a, b) with mean `rate` and a + b = (1 -
    icc) / icc, each image its error from that (a beta-binomial model). The draws are keyed by
    cluster and item, and depend on neither the label nor any attribute: every true effect is
    exactly zero. Errors in one cluster (a transect) have the intraclass correlation `icc`, as those
    of real classifiers have one.

    Args:
        label: (n,) 0 female, 1 male: the right answers.
        item: (n,) a number of its own for each image.
        cluster: (n,) the transect, or other unit, that the image belongs to.
        rate: expected error rate, above 0 and below 1.
        icc: correlation of two errors in one cluster, above 0 and below 1.
        seed: of the run.

    Returns:
        P(male), float64 (n,), above 0.5 where the control answers "male".

    Example:
        >>> import numpy as np
        >>> from faceworld.networks.classifiers import null_control
        >>> item = np.arange(4000)
        >>> score = null_control(item % 2, item, item // 8, rate=0.1, icc=0.2, seed=1)
        >>> round(float(((score > 0.5) != item % 2).mean()), 1)
        0.1
    """
    concentration = (1 - icc) / icc
    clusters, position = np.unique(cluster, return_inverse=True)
    draws = seeding.uniforms(seed, "null control: cluster", clusters, 1)[:, 0]
    rates = stats.beta.ppf(draws, rate * concentration, (1 - rate) * concentration)
    chance, confidence = seeding.uniforms(seed, "null control: image", item, 2).T
    confidence = 0.55 + 0.45 * confidence
    answers_male = (np.asarray(label) == 1) != (chance < rates[position])
    return np.where(answers_male, confidence, 1 - confidence)
