"""Execute one notebook at one profile and leave the result for the book.

The notebook's parameters cell declares what it takes; those names are looked up in the profile
(and `profile` and `device`), and the values are written into that cell before papermill executes
a copy. So the reader sees the values that were really used, once.
A failing notebook leaves `<stage>.failed.ipynb` beside the place of its output.
"""

import logging
import re
import tempfile
import time
from functools import partial
from pathlib import Path

import jupytext
import kernels
import nbformat
import papermill
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError

from faceaudit.utils.files import atomic
from helpers.artifacts import lineage, pages

TIMES = ("papermill", "execution")
logging.getLogger("papermill").setLevel(logging.ERROR)


def parameterised(notebook: Path, values: dict[str, object]) -> nbformat.NotebookNode:
    """The notebook read from its .py source, whose parameters cell has a `name = scalar` a line.

    Names that `values` has get those; comments and order stay.
    """
    content, line = jupytext.read(notebook), re.compile(r"^(\w+)( = )[^#\n]*?((?:  #.*)?)$", re.M)

    def filled(found: re.Match) -> str:
        name, equals, comment = found.groups()
        return f"{name}{equals}{values[name]!r}{comment}" if name in values else found[0]

    for number, cell in enumerate(content.cells):
        cell["id"] = f"cell-{number}"  # jupytext draws them at random
        if "parameters" in cell.metadata.get("tags", []):
            cell.source = line.sub(filled, cell.source)
    return content


def run(page: str, profile: str, device: str, log: Path, study: str | None = None) -> None:
    """Execute a page of the book, and record what it was made from; raises as `execute`.

    With a study, the page shows that in place of the example.
    """
    made_from, more = pages.page_basis(page, profile), {"study": study} if study else {}
    out = pages.executed_notebook(page, profile)
    execute(lineage.source_of(page), out, profile, device, log, **more)
    pages.record_page(page, profile, made_from, study)


def _log(log: Path, cell: nbformat.NotebookNode, **_: object) -> None:
    with log.open("a") as stream:
        print(time.strftime("%X"), cell.source.partition("\n")[0], file=stream)


def execute(
    notebook: Path, out: Path, profile: str, device: str, log: Path, **more: object
) -> None:
    """Run a notebook in its own folder; its result appears only when every cell succeeded.

    Its parameters are those of the profile, profile and device, and what is given besides.

    Raises:
        ValueError: unknown profile.
        RuntimeError: a cell failed, or the kernel was killed; what ran is in `….failed.ipynb`.
    """
    values = vars(lineage.load_profile(profile)) | {"profile": profile, "device": device} | more
    content = parameterised(notebook, values)
    failed = out.with_suffix(".failed.ipynb")
    failed.unlink(missing_ok=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    options = {"kernel_name": "python3", "progress_bar": False}
    options["on_cell_execute"] = partial(_log, log)
    # Saving after each cell takes longer than many cells; a failure is saved anyway.
    options["request_save_on_cell_execute"] = False
    # Where the kernel starts; `cwd` would move every thread of this process.
    options["resources"] = {"metadata": {"path": str(notebook.parent)}}
    with tempfile.TemporaryDirectory() as scratch:
        source, result = Path(scratch, "in.ipynb"), Path(scratch, "out.ipynb")
        options["kernel_manager_class"] = kernels.manager(log, Path(scratch))
        nbformat.write(content, source)
        try:
            papermill.execute_notebook(source, result, **options)
        except PapermillExecutionError as error:
            failed.write_bytes(result.read_bytes())
            raise RuntimeError(
                f"a cell failed; what ran is in {failed}\n---- cell [{error.exec_count}]\n"
                f"{error.source}\n---- {error.ename}: {error.evalue}"
            ) from None
        except DeadKernelError:
            hint = "Systems do so when memory is short: try JOBS=1 or a smaller profile"
            raise RuntimeError(f"its kernel was killed. {hint}") from None
        executed = nbformat.read(result, as_version=4)
    for holder in (executed, *executed.cells):  # the book has no use for times of this run
        holder.metadata = {k: v for k, v in holder.metadata.items() if k not in TIMES}
    with atomic(out) as temporary:
        nbformat.write(executed, temporary)
