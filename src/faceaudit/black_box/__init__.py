"""Models of one's own, of which nothing is known but their answers.

An ONNX file, a function of Python or an endpoint on the network (chapter 20).
"""

from faceaudit.black_box.alignment import (
    TEMPLATE,
    aligned,
    similarity_transform,
)
from faceaudit.black_box.answers import NO_FACE, Answers, Gives, Reading
from faceaudit.black_box.call_limits import CallLimits
from faceaudit.black_box.endpoints import CallFailed, Endpoint
from faceaudit.black_box.kept_answers import ask_and_keep
from faceaudit.black_box.local_models import BlackBox, LocalModel
from faceaudit.black_box.model_check import check_model
from faceaudit.black_box.onnx_export import write_onnx
from faceaudit.black_box.onnx_models import onnx_model
from faceaudit.black_box.preparation import Preparation
from faceaudit.black_box.preparation_check import better_preparation, check_preparation
from faceaudit.black_box.presets import FaceDetector, preset
from faceaudit.black_box.python_models import python_model
from faceaudit.black_box.remote import RemoteModel, remote_model
