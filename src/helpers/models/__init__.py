"""Classifiers, face recognisers and attribute readers: train, keep, load and ask them."""

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
from helpers.models.reader import (
    JUDGED,
    READ,
    Reader,
    decorrelated_faces,
    load_reader,
    read,
    reading_error,
    scores_to_read,
    train_reader,
)
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
    "JUDGED",
    "READ",
    "RECOGNISERS",
    "AuditedModel",
    "Reader",
    "Recogniser",
    "Training",
    "build",
    "composition",
    "count_parameters",
    "decorrelated_faces",
    "draw_sets",
    "embed",
    "identity_set",
    "load",
    "load_reader",
    "load_recogniser",
    "null_control",
    "onnx_recogniser",
    "pool_composition",
    "predict",
    "read",
    "reading_error",
    "save",
    "scores_to_read",
    "train",
    "train_all",
    "train_reader",
    "train_recogniser",
    "train_recognisers",
]
