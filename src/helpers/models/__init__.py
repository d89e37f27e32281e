"""Classifiers, face recognisers and attribute readers: train, keep, load and ask them."""

from helpers.models.attribute_reader import (
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
from helpers.models.classifiers import AuditedModel, Training, load, predict, save, train, train_all
from helpers.models.controls import null_control
from helpers.models.networks import ARCHITECTURES, build, count_parameters
from helpers.models.recognisers import (
    Recogniser,
    embed,
    load_recogniser,
    onnx_recogniser,
    train_recogniser,
    train_recognisers,
)
