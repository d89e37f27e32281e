"""Models on the network: no image is asked about twice, and a failed call is no answer.

Every answer is on the disk before the next call is made (`journal`): the numbers that were read,
and nothing else of what the endpoint said, which may repeat a key. What is read elsewhere in an
answer is asked about anew. Images are asked about in a random order: an endpoint that changes
during an audit would otherwise change along with the grid. Chapter 20.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from faceaudit.black_box.answers import NO_FACE, Answers, Gives, Reading
from faceaudit.black_box.call_limits import CallLimits, TokenBucket
from faceaudit.black_box.descriptions import described
from faceaudit.black_box.endpoints import CallFailed, Endpoint, WrongEndpoint
from faceaudit.black_box.journal import Journal, image_key
from faceaudit.black_box.local_models import BlackBox
from faceaudit.black_box.remote_answers import Read, as_value, field
from helpers.models.training import check_images
from helpers.utils import seeding

Ask = Callable[[bytes], Any]
"""The bytes of a PNG → an answer, as `read` takes it."""
LONGEST_WAIT = 300.0
"""Seconds; whoever asks for more patience is asked again after these."""
ENOUGH_TO_JUDGE = 40
"""Calls after which the share of failures says something about an endpoint."""


def remote_model(
    ask: str | Ask,
    read: str | Read,
    folder: str | Path,
    *,
    version: str,
    limits: CallLimits,
    headers: Mapping[str, str] | None = None,
    timeout: float = 30.0,
    gives: Gives = "probability",
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> RemoteModel:
    """Take a model on the network.

    Args:
        ask: the address that takes a PNG by POST and answers JSON; or a function of a PNG's bytes,
            for services that want to be asked in another way. It may raise `CallFailed`.
        read: where the answer stands in the JSON, for example "faces.0.gender.p_male"; an empty
            list or a null on the way means that no face was found. Or a function.
        folder: where answers are kept.
        version: of the model, in your words; another version, or `read`, is asked anew.
        limits: budget, rate and patience.
        headers: of an address, name → value; "env:NAME" takes it from the environment.
        timeout: seconds that a call may take, of an address.
        gives: "probability", or "embedding" of a recogniser.
        seed: of the order.
        progress: told after every image how many of how many are done.

    Returns:
        The model; see `BlackBox`.

    Raises:
        ValueError: a setting that is none, by name.

    Example:
        >>> import numpy as np, tempfile
        >>> from faceaudit import black_box
        >>> def ask(png):
        ...     return {"faces": [{"p_male": 0.25}]}
        >>> limits = black_box.CallLimits(max_calls=10, per_second=1000)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model = black_box.remote_model(
        ...         ask, "faces.0.p_male", folder, version="2026-11", limits=limits
        ...     )
        ...     model(np.zeros((2, 3, 8, 8), np.uint8)).tolist(), len(model.log())
        ([0.25, 0.25], 1)
    """
    if not str(version).strip():
        raise ValueError("model.version is empty; say which version of the model is audited")
    if isinstance(ask, str):
        endpoint = Endpoint(ask, headers, timeout)
        about = {"url": endpoint.address, "version": str(version)}
    elif headers:
        raise ValueError("model.headers are of an address; a function has its own")
    else:
        function = ask if inspect.isroutine(ask) else type(ask)
        about = {"ask": f"{function.__module__}:{function.__qualname__}", "version": str(version)}
        endpoint = _without_key(ask)
    return RemoteModel(
        endpoint, about, read, folder, limits, gives=gives, seed=seed, progress=progress
    )


def _without_key(ask: Ask) -> Callable[[bytes, str], Any]:
    return lambda png, key: ask(png)


class RemoteModel(BlackBox):
    """A model on the network, as `remote_model` makes it.

    Call it once with all images: the order is drawn among those that lack an answer.

    Args:
        endpoint: (PNG, key) → the answer.
        about: what kept answers belong to, besides `read`: address or function, and version.
        read, folder, limits, gives, seed, progress: as of `remote_model`.

    Attributes:
        path: of the file that the answers are kept in.
    """

    def __init__(
        self,
        endpoint: Callable[[bytes, str], Any],
        about: dict[str, str],
        read: str | Read,
        folder: str | Path,
        limits: CallLimits,
        *,
        gives: Gives,
        seed: int,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        name, about = next(iter(about.values())), {**about, "read": described(read)}
        super().__init__(name, {"kind": "remote", **about}, Reading(gives))
        self._endpoint, self._about, self._limits = endpoint, about, limits
        self._read = field(read) if isinstance(read, str) else read
        self._bucket = TokenBucket(limits.per_second)
        self._seed, self._progress = seed, progress
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        self.path = Path(folder, f"{digest[:32]}.jsonl")
        self._called = self._failed = 0

    def ask(self, images: np.ndarray, points: np.ndarray | None = None) -> Answers:
        """Answers with reasons; images that have an answer are not asked about."""
        check_images(images)
        if points is not None:
            raise ValueError(f"{self.name}: an endpoint finds its faces itself; pass no points")
        keys = [image_key(image) for image in images]
        self._called = self._failed = 0
        with self._journal() as journal:
            rows = self._missing(keys, journal)
            for done, row in enumerate(rows, 1):
                self._answer_one(keys[row], images[row], journal)
                if self._progress:
                    self._progress(done, len(rows))
            entries = [journal.entries[key] for key in keys]
        return self._gathered(entries)

    def log(self) -> pd.DataFrame:
        """One row per image: key, time, version, calls of the last try, reason ("" if answered)."""
        with self._journal() as journal:
            rows = [
                {
                    "key": key,
                    "time": pd.Timestamp(entry["time"]),
                    "version": self._about["version"],
                    "calls": entry["calls"],
                    "reason": entry.get("failed", ""),
                }
                for key, entry in journal.entries.items()
            ]
        return pd.DataFrame(rows, columns=["key", "time", "version", "calls", "reason"])

    def _journal(self) -> Journal:
        return Journal(self.path, self._about)

    def _missing(self, keys: list[str], journal: Journal) -> list[int]:
        """Rows of images without an answer, one of each, in a random order."""
        first = {key: row for row, key in reversed(list(enumerate(keys)))}
        rows = sorted(
            row for key, row in first.items() if "answer" not in journal.entries.get(key, {})
        )
        return seeding.rng(self._seed, "order of calls").permutation(rows).astype(int).tolist()

    def _answer_one(self, key: str, image: np.ndarray, journal: Journal) -> None:
        """Ask about one image, and keep what came of it."""
        png, reason, limits = _png(image), "", self._limits
        for attempt in range(1, limits.retries + 2):
            if journal.calls + attempt > limits.max_calls:
                self._stop_over_budget(key, attempt - 1, reason, journal)
            self._bucket.take()
            self._called += 1
            try:
                answer = self._answer(png, key)
            except CallFailed as failure:
                reason = failure.reason
                self._failed += not failure.busy
                if not failure.again or attempt > limits.retries:
                    journal.add(key, _entry(attempt, failed=reason))
                    self._refuse_reading(failure, journal)
                    self._give_up(reason)
                    return
                self._give_up(reason)
                wait = limits.pause(attempt, key) if failure.wait is None else failure.wait
                time.sleep(min(wait, LONGEST_WAIT))
            except WrongEndpoint:
                raise
            except ValueError:  # what is no probability ends the run, and was a call
                journal.add(key, _entry(attempt, failed="an answer that is none"))
                raise
            else:
                journal.add(key, _entry(attempt, answer=answer))
                return

    def _answer(self, png: bytes, key: str) -> float | list[float] | None:
        """One call, and what is read in its answer; None if no face was found."""
        try:
            answer = self._endpoint(png, key)
        except (CallFailed, WrongEndpoint):
            raise
        except Exception as error:  # a caller's own `ask` may raise anything
            raise CallFailed(type(error).__name__) from error
        try:
            found = self._read(answer)
        except (LookupError, TypeError) as error:
            words = str(error.args[0] if error.args else type(error).__name__)
            raise _NothingThere(words) from None
        if found is None:
            return None
        name = f"{self.name}, {self._about['read']}"
        return as_value(found, self.reading.gives == "embedding", name).tolist()

    def _refuse_reading(self, failure: CallFailed, journal: Journal) -> None:
        """Raise ValueError if no answer has ever had what is read: then the reading is wrong."""
        answered = any("answer" in entry for entry in journal.entries.values())
        if isinstance(failure, _NothingThere) and not answered:
            raise ValueError(f"{self.name}: {failure.words}; check model.read")

    def _stop_over_budget(self, key: str, calls: int, reason: str, journal: Journal) -> None:
        if calls:
            journal.add(key, _entry(calls, failed=reason))
        raise ValueError(
            f"{self.name}: the budget of {self._limits.max_calls:,} calls is used up, and images "
            f"are left without an answer; what was answered is kept in {self.path}: raise "
            "model.max_calls and run the same again"
        )

    def _give_up(self, reason: str) -> None:
        """Raise ValueError if the endpoint fails too often to go on."""
        too_many = self._failed > self._limits.most_failures * self._called
        if self._called >= ENOUGH_TO_JUDGE and too_many:
            raise ValueError(
                f"{self.name}: {self._failed} of {self._called} calls failed, the last one by "
                f"{reason!r}; what was answered is kept in {self.path}: run the same again when "
                "the endpoint is well"
            )

    def _gathered(self, entries: list[dict[str, Any]]) -> Answers:
        values = [np.array(one.get("answer"), float) for one in entries]  # None: NaN
        width = max((value.shape for value in values), default=())
        filled = np.full((len(entries), *width), np.nan)
        reasons = []
        for row, (value, entry) in enumerate(zip(values, entries, strict=True)):
            silent = value.ndim == 0 and np.isnan(value)
            if not silent and value.shape != width:
                raise ValueError(
                    f"{self.name}: vectors of {value.size} and of {width[0]} numbers, "
                    "one length was expected"
                )
            filled[row] = value
            reasons.append(entry.get("failed") or (NO_FACE if silent else ""))
        return Answers(filled, np.array(reasons, str))


class _NothingThere(CallFailed):
    """An answer that lacks what is read, as an apology does; its fields' names are not kept."""

    def __init__(self, words: str) -> None:
        super().__init__("nothing stands where model.read looks")
        self.words = words


def _entry(calls: int, **what: Any) -> dict[str, Any]:
    return {"calls": calls, "time": datetime.now(UTC).isoformat(timespec="milliseconds"), **what}


def _png(image: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0))).save(stream, "PNG")
    return stream.getvalue()
