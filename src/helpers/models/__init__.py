"""The audited models, gender classifiers and face recognisers: train, keep, load and ask them."""

from helpers.models.controls import null_control
from helpers.models.identity_sets import (
    CONTROL,
    RECOGNISERS,
    composition,
    draw_sets,
    identity_set,
    pool_composition,
)
from helpers.models.networks import ARCHITECTURES, build, count_parameters
from helpers.models.recognition import (
    Recogniser,
    embed,
    load_recogniser,
    onnx_recogniser,
    train_recogniser,
    train_recognisers,
)
from helpers.models.training import (
    AuditedModel,
    Training,
    load,
    predict,
    save,
    train,
    train_all,
)

__all__ = [
    "ARCHITECTURES",
    "CONTROL",
    "RECOGNISERS",
    "AuditedModel",
    "Recogniser",
    "Training",
    "build",
    "composition",
    "count_parameters",
    "draw_sets",
    "embed",
    "identity_set",
    "load",
    "load_recogniser",
    "null_control",
    "onnx_recogniser",
    "pool_composition",
    "predict",
    "save",
    "train",
    "train_all",
    "train_recogniser",
    "train_recognisers",
]
