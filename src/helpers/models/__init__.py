"""Classifiers, face recognisers and attribute readers: train, load and ask them."""

from helpers.models.attribute_reader import (
    JUDGED,
    Reader,
    decorrelated_faces,
    reading_error,
    scores_to_read,
    train_reader,
)
from helpers.models.classifiers import (
    AuditedModel,
    load,
    load_all,
    null_control,
    predict,
    train,
    train_all,
)
from helpers.models.networks import count_parameters
from helpers.models.recognisers import Recogniser, train_recognisers
