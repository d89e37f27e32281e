"""Amazon Mechanical Turk batch results as they are written. Chapters 1, 3, 13 and 14 write them."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.annotations.schema import ATTRIBUTES
from helpers.annotations.text import require_writable


def write_mturk(answers: pd.DataFrame, path: str | Path) -> None:
    """Write a crowd's answers as a batch results file.

    A cancelled assignment went back to the pool and leaves no row.

    Args:
        answers: as `crowd.annotate` returns them.
        path: CSV file to write.

    Raises:
        ValueError: an image or a worker has no name that a file can keep; names the row, counted
            from 0.

    Example:
        >>> import pandas as pd, tempfile
        >>> from helpers import annotations
        >>> from helpers.annotations import crowd
        >>> shown = pd.DataFrame({"age": [0.5]}, index=["a"])
        >>> answers = crowd.annotate(shown, 2, seed=1, stage="example")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     annotations.write_mturk(answers, f"{folder}/batch.csv")
        ...     len(annotations.read_mturk(f"{folder}/batch.csv").frame)
        2
    """
    for column in ("image_id", "worker_id"):
        require_writable(answers[column])
    answers = answers[answers["status"] != "cancelled"].reset_index(drop=True)
    answers = answers.astype({"worker_id": "str"})
    rejected = answers["status"] == "rejected"
    submitted = answers["submitted_at"]
    reviewed = _time_text(submitted + pd.Timedelta(days=1))
    worked = answers["seconds"].round().clip(lower=1)
    visits = answers["image_id"] + "/" + answers["worker_id"] + "/" + answers["visit"].astype("str")
    batch = {
        "HITId": _identifiers(answers["image_id"]),
        "HITTypeId": "3FACEATTRIBUTES0000000000000A",
        "Title": "Describe a face",
        "Description": "Look at one face and answer eight questions",
        "Keywords": "face, image, attributes",
        "Reward": "$0.10",
        "CreationTime": _time_text(submitted.dt.floor("D")),
        "MaxAssignments": answers.groupby("image_id")["image_id"].transform("size"),
        "RequesterAnnotation": "BatchId:1;",
        "AssignmentDurationInSeconds": 600,
        "AutoApprovalDelayInSeconds": 259200,
        "Expiration": _time_text(submitted.dt.floor("D") + pd.Timedelta(days=7)),
        "NumberOfSimilarHITs": "",
        "LifetimeInSeconds": "",
        "AssignmentId": _identifiers(visits),
        "WorkerId": answers["worker_id"],
        "AssignmentStatus": np.where(rejected, "Rejected", "Approved"),
        "AcceptTime": _time_text(submitted - pd.to_timedelta(worked, unit="s")),
        "SubmitTime": _time_text(submitted),
        "AutoApprovalTime": _time_text(submitted + pd.Timedelta(days=3)),
        "ApprovalTime": reviewed.where(~rejected, ""),
        "RejectionTime": reviewed.where(rejected, ""),
        "RequesterFeedback": np.where(rejected, "Answers do not match the image", ""),
        "WorkTimeInSeconds": worked.astype(int),
        "LifetimeApprovalRate": "",
        "Last30DaysApprovalRate": "",
        "Last7DaysApprovalRate": "",
        "Input.image_id": answers["image_id"],
        "Input.image_url": "images/" + answers["image_id"] + ".png",
    }
    for attribute, levels in ATTRIBUTES.items():
        if attribute in answers:
            batch[f"Answer.{attribute}"] = answers[attribute].map(dict(enumerate(levels)))
    batch |= {"Approve": "", "Reject": ""}
    pd.DataFrame(batch, index=answers.index).to_csv(path, index=False)


def _time_text(times: pd.Series) -> pd.Series:
    return times.dt.strftime("%a %b %d %H:%M:%S UTC %Y")


def _identifiers(values: pd.Series) -> pd.Series:
    """Thirty capitals and digits in MTurk's style, equal for equal values."""
    names = {value: "3" + blake2b(value.encode()).hexdigest()[:29].upper() for value in values}
    return values.map(names)
