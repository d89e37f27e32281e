"""Execute one notebook at one profile and leave the result for the book.

The notebook's parameters cell declares what it takes; those names are looked up in the profile
(and `profile` and `device`), and the values are written into that cell before papermill executes
a copy. So the reader sees the values that were really used, once.
A failing notebook leaves `<stage>.failed.ipynb` beside the place of its output.
"""

from __future__ import annotations

import ast
import json
import logging
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import jupytext
import kernels
import nbformat
import papermill
from nbclient.exceptions import DeadKernelError
from papermill.engines import NBClientEngine, papermill_engines
from papermill.exceptions import PapermillExecutionError

from helpers.artifacts import atomic, lineage, pages, profiles

Tell = Callable[[float, str], None]
"""Takes the share of the cells that is done, and the first line of the one that runs."""

# Metadata with times of this run; two equal runs should leave equal notebooks.
NOISE = ("papermill", "execution")
WIDGETS = "application/vnd.jupyter.widget-state+json"
TABLE = re.compile(r"\bT_[0-9a-f]{5}(?=[\W_])")
WIDGET = re.compile(r"\b[0-9a-f]{32}\b|(?<=IPY_MODEL_)[0-9a-f]{32}\b")
ADDRESS = re.compile(r" at 0x[0-9a-f]+>")


class TellingEngine(NBClientEngine):
    """papermill's engine, which says of every cell that it begins."""

    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, *, tell: Tell, **options):
        begin = nb_man.cell_start

        def cell_start(cell, cell_index=None, **more):
            tell(cell_index / len(nb_man.nb.cells), cell.source.partition("\n")[0])
            begin(cell, cell_index, **more)

        nb_man.cell_start = cell_start
        return super().execute_managed_notebook(nb_man, kernel_name, **options)


papermill_engines.register("telling", TellingEngine)
logging.getLogger("papermill").setLevel(logging.ERROR)


def with_parameters(source: str, values: dict[str, object]) -> str:
    """The parameters cell with every `name = literal` that `values` knows rewritten in place.

    Comments and order stay. Names in `values` that the cell does not declare are left out.
    """
    lines = source.splitlines()
    for statement in lineage.parse(source, "parameters").body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id in values:
            value = statement.value
            line = lines[value.lineno - 1].encode()  # ast counts columns in bytes
            new = line[: value.col_offset] + repr(values[target.id]).encode()
            lines[value.lineno - 1] = (new + line[value.end_col_offset :]).decode()
    return "\n".join(lines)


def parameterised(notebook: Path, values: dict[str, object]) -> nbformat.NotebookNode:
    """The notebook read from its .py source with its parameters cell filled in.

    Raises:
        ValueError: the notebook has no cell tagged `parameters`.
    """
    content = jupytext.read(notebook)
    for cell in content.cells:
        if "parameters" in cell.metadata.get("tags", []):
            cell.source = with_parameters(cell.source, values)
            return content
    raise ValueError(f"{notebook} has no cell tagged 'parameters'")


def without_noise(content: nbformat.NotebookNode) -> str:
    """The notebook's text without times of this run, with names that every run gives alike."""
    for holder in (content, *content.cells):
        for key in NOISE:
            holder.metadata.pop(key, None)
        if holder.metadata.get("tags") == []:
            del holder.metadata["tags"]
    for number, cell in enumerate(content.cells):
        cell["id"] = f"cell-{number}"
    text = ADDRESS.sub(">", nbformat.writes(content))
    # Widgets and styled tables draw their names at random.
    drawn = dict.fromkeys([*widgets_in_order(content), *TABLE.findall(text)])
    names = {
        name: f"T_{n:05x}" if name.startswith("T_") else f"{n:032x}" for n, name in enumerate(drawn)
    }
    anywhere = re.compile("|".join(map(re.escape, names)) or "(?!)")
    named = anywhere.sub(lambda found: names[found[0]], text)
    return nbformat.writes(nbformat.reads(named, as_version=4))  # sorted by these names


def widgets_in_order(content: nbformat.NotebookNode) -> list[str]:
    """Names of the widgets in an order that does not depend on them: as cells and widgets refer."""
    state = content.metadata.get("widgets", {}).get(WIDGETS, {}).get("state", {})
    order: dict[str, int] = {}

    def follow(text: str) -> None:
        for name in WIDGET.findall(text):
            if name in state and name not in order:
                order[name] = len(order)
                follow(json.dumps(state[name], sort_keys=True))

    def told(name: str) -> str:
        text = json.dumps(state[name], sort_keys=True)
        return WIDGET.sub(lambda found: str(order.get(found[0], "")), text)

    follow(json.dumps(content.cells, sort_keys=True))
    for name in sorted(state.keys() - order.keys(), key=told):  # links, for example
        follow(name)
    return list(order)


def run(
    page: str, profile: str, device: str, log: Path, tell: Tell, study: str | None = None
) -> None:
    """Execute a page of the book, and record what it was made from; raises as `execute`.

    With a study, the page shows that in place of the example.
    """
    started, made_from = time.monotonic(), pages.basis(page, profile)
    out, more = pages.executed(page, profile), {"study": study} if study else {}
    execute(lineage.source_of(page), out, profile, device, log, tell, **more)
    pages.record(page, profile, made_from, time.monotonic() - started, study)


def execute(
    notebook: Path,
    out: Path,
    profile: str,
    device: str,
    log: Path,
    tell: Tell = print,
    **more: object,
) -> None:
    """Run a notebook in its own folder; its result appears only when every cell succeeded.

    Its parameters are those of the profile, profile and device, and what is given besides.

    Raises:
        ValueError: unknown profile, or a notebook without parameters cell.
        RuntimeError: a cell failed, or the kernel was killed; what ran is in `….failed.ipynb`.
    """
    values = asdict(profiles.load(profile)) | {"profile": profile, "device": device} | more
    content = parameterised(notebook, values)
    failed = out.with_suffix(".failed.ipynb")
    failed.unlink(missing_ok=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        source, result = Path(scratch, "in.ipynb"), Path(scratch, "out.ipynb")
        nbformat.write(content, source)
        try:
            papermill.execute_notebook(
                source,
                result,
                engine_name="telling",
                tell=tell,
                kernel_name="python3",
                # Where the kernel starts; `cwd` would move every thread of this process.
                resources={"metadata": {"path": str(notebook.parent)}},
                progress_bar=False,
                # Saving after each cell takes longer than many cells; a failure is saved anyway.
                request_save_on_cell_execute=False,
                kernel_manager_class=kernels.manager(log),
                # A kernel that listens on this machine only need not warn about it.
                extra_arguments=["--Application.log_level=ERROR"],
            )
        except PapermillExecutionError as error:
            failed.write_bytes(result.read_bytes())
            raise RuntimeError(
                f"a cell failed; what ran is in {failed}\n---- cell [{error.exec_count}]\n"
                f"{error.source}\n---- {error.ename}: {error.evalue}"
            ) from None
        except DeadKernelError:
            raise RuntimeError(
                "its kernel was killed. Systems do so when memory is short: see the peak below, "
                "and run less at a time (JOBS=1) or a smaller profile"
            ) from None
        text = without_noise(nbformat.read(result, as_version=4))
    with atomic(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
