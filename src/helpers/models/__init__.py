"""Classifiers, face recognisers and attribute readers: train, load and ask them."""

from helpers.errors import null_control
from helpers.models.attribute_reader import decorrelated_faces, train_reader
from helpers.models.classifiers import AuditedModel, features, load_all, predict, train, train_all
from helpers.models.recognisers import Recogniser, train_recognisers
