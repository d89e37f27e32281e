"""Models of one's own, of which nothing is known but their answers.

An ONNX file, a function of Python or an endpoint on the network (chapter 20).
"""

from helpers.models.black_box.alignment import (
    TEMPLATE,
    aligned,
    similarity_transform,
)
from helpers.models.black_box.answers import NO_FACE, Answers, Gives, Reading
from helpers.models.black_box.call_limits import CallLimits
from helpers.models.black_box.endpoints import CallFailed, Endpoint
from helpers.models.black_box.kept_answers import ask_and_keep
from helpers.models.black_box.local_models import BlackBox, LocalModel
from helpers.models.black_box.model_check import check_model
from helpers.models.black_box.onnx_export import write_onnx
from helpers.models.black_box.onnx_models import onnx_model
from helpers.models.black_box.preparation import Preparation
from helpers.models.black_box.preparation_check import better_preparation, check_preparation
from helpers.models.black_box.presets import FaceDetector, preset
from helpers.models.black_box.python_models import python_model
from helpers.models.black_box.remote import RemoteModel, remote_model
