"""The model of `audits/example.yml`, made in the run: small, biased, and in an ONNX file.

It is trained on faces of the face world as photo collections show them: few men with long hair, few
women with dark skin. So it errs where hair and gender do not go together as it learnt.
"""

from __future__ import annotations

from pathlib import Path

from faceaudit.onnx_files import write_onnx
from helpers import models
from helpers.world import populations
from helpers.world.batches import render_to_store

POPULATION, IMAGES, EPOCHS, SIZE, SEED = "celeba-like", 2000, 10, 48, 20


def make_example_model(path: Path) -> Path:
    """Train the model and write it as ONNX; what is left of the same code is taken.

    Args:
        path: of the `.onnx` file. Weights and images are kept beside it.

    Returns:
        The path.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = populations.sample(POPULATION, IMAGES, SEED)
    images = render_to_store(drawn.parameters, SIZE, path.with_suffix(".npy"))
    labels = drawn.frame["gender"].to_numpy()
    trained = models.train(
        images, labels, path.with_suffix(".safetensors"), seed=SEED, epochs=EPOCHS
    )
    return write_onnx(trained.network, path, SIZE)
