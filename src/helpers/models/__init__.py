"""The audited models: train, keep, load and ask them; and a control that is unbiased by design."""

from helpers.models.controls import null_control
from helpers.models.networks import ARCHITECTURES, build, count_parameters
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
    "AuditedModel",
    "Training",
    "build",
    "count_parameters",
    "load",
    "null_control",
    "predict",
    "save",
    "train",
    "train_all",
]
