"""What people are asked about images: their tasks, and whether their answers are there.

The words of questions and answers are those of `faceaudit.annotations.schema`, and the words that
say what to do with the tasks stand in `faceaudit/templates/sentences.j2`.
"""

import os
from pathlib import Path

import numpy as np

from faceaudit import words
from faceaudit.annotations.schema import Scales, hidden_names
from faceaudit.file.specification import Specification
from faceaudit.people.tools import TOOLS, Tasks, tool_of

MAX_UNANSWERED_SHARE = 0.1
"""Share of images that may stay without an answer ("cannot say"); with more, people are missing."""


class PeopleNeeded(Exception):
    """An audit waits for people; its text says what was written and what to do."""


class Questionnaire:
    """What people are asked about images, and the folders of their tasks and answers.

    Args:
        images: uint8 (n, 3, height, width).
        questions: attribute → the answers that people choose from.
        audit: whose `people` are asked.
        folder: of the audit's artifacts.
        stage: of an audit that asks several times, else "".

    Attributes:
        people: of the audit file, the tool that they work in.
        tool: what is done for a tool of this kind.
        names: of the images, in their order.
        files: of the export; empty where there is none yet.

    Raises:
        InputError: the people of the audit file answer in no tool.
    """

    def __init__(
        self,
        images: np.ndarray,
        questions: Scales,
        audit: Specification,
        folder: Path,
        stage: str,
    ) -> None:
        self.people = tool_of(audit)
        self.tool = TOOLS[self.people.kind]
        self.names = hidden_names(images)
        self._images = images
        self._questions = questions
        self._tasks = folder / "people" / stage / "tasks"
        self._answers = folder / "people" / stage / "answers"
        if self.people.export is not None:
            self._answers = Path(os.path.normpath(audit.beside(self.people.export))) / stage
        self.files = self.tool.find_export(self._answers, set(self.names))

    def require(self, is_missing: np.ndarray, subject: str, question: str) -> None:
        """Stop where more than `MAX_UNANSWERED_SHARE` of the images have no answer.

        Args:
            is_missing: (n,) whether an image has no answer.
            subject: what the images are in the message, such as "images" or "pairs".
            question: what is asked about them in the message.

        Raises:
            PeopleNeeded: see `people_needed`.
        """
        if is_missing.mean() > MAX_UNANSWERED_SHARE:
            raise self.people_needed(is_missing, subject, question)

    def people_needed(self, is_missing: np.ndarray, subject: str, question: str) -> PeopleNeeded:
        """Write tasks about images without an answer; the error says where they are.

        The arguments are those of `require`.
        """
        if self.people.export is None:
            self._answers.mkdir(parents=True, exist_ok=True)
        # An export of one file is of all images.
        is_single_export = self.tool.is_job or not self._answers.is_dir()
        rows = np.arange(len(is_missing)) if is_single_export else np.flatnonzero(is_missing)
        instructions = self._write_tasks(rows)
        counts = (int(is_missing.sum()), len(is_missing), subject, question)
        replaced_files = is_single_export and self.files
        sentences = words.render_sentences(
            "people_needed", counts, self._tasks, instructions, self._answers, replaced_files
        )
        return PeopleNeeded(*sentences)

    def _write_tasks(self, rows: np.ndarray) -> str:
        """Write tasks about some of the images, by their rows; says what to do with them."""
        # Equal images have equal names, and are one picture.
        row_of_name = {self.names[row]: row for row in rows}
        pictures = {
            name: self._images[row_of_name[name]].transpose(1, 2, 0) for name in sorted(row_of_name)
        }
        return self.tool.write_tasks(Tasks(pictures, self._questions, self.people, self._tasks))
