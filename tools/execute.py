"""Execute one notebook at one profile and leave the result for the book.

    python tools/execute.py notebooks/05_transect_generation.py --profile laptop --device cpu \
        --out artifacts/laptop/05_transect_generation/05_transect_generation.ipynb

The notebook's parameters cell declares what it takes; those names are looked up in the profile
(and `profile` and `device`), and the values are written into that cell before papermill executes
a copy. So the reader sees the values that were really used, once.
A failing notebook exits with 1 and leaves `<out>.failed.ipynb` beside the place of its output.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import jupytext
import nbformat
import papermill
import plan
import warm
from jupyter_client import AsyncKernelManager
from papermill.exceptions import PapermillExecutionError

from helpers.artifacts import atomic, profiles

# Metadata with times of this run; two equal runs should leave equal notebooks.
NOISE = ("papermill", "execution")


class WarmKernelManager(AsyncKernelManager):
    """Starts the kernel through tools/warm.py, which saves it the imports if a server is there."""

    def format_kernel_cmd(self, extra_arguments: list[str] | None = None) -> list[str]:
        python, *program = super().format_kernel_cmd(extra_arguments)
        return [python, "-IS", warm.__file__, *program]

    async def _async_interrupt_kernel(self) -> None:
        """Interrupt, and wait: a shutdown that overtakes the interrupt is logged as an error."""
        await super()._async_interrupt_kernel()
        await asyncio.sleep(0.1)


def with_parameters(source: str, values: dict[str, object]) -> str:
    """The parameters cell with every `name = literal` that `values` knows rewritten in place.

    Comments and order stay. Names in `values` that the cell does not declare are left out.
    """
    lines = source.splitlines()
    for statement in ast.parse(source).body:
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


def without_noise(content: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Drop timings and the empty tags that papermill leaves."""
    for holder in (content, *content.cells):
        for key in NOISE:
            holder.metadata.pop(key, None)
        if holder.metadata.get("tags") == []:
            del holder.metadata["tags"]
    return content


def execute(notebook: Path, profile: str, device: str, out: Path) -> None:
    """Run the notebook in its own folder and write `out` only when every cell succeeded.

    Raises:
        ValueError: unknown profile, or a notebook without parameters cell.
        PapermillExecutionError: a cell failed; what ran is in `<out>.failed.ipynb`.
    """
    values = asdict(profiles.load(profile)) | {"profile": profile, "device": device}
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
                kernel_name="python3",
                cwd=notebook.parent,
                progress_bar=False,
                # Saving after each cell takes longer than many cells; a failure is saved anyway.
                request_save_on_cell_execute=False,
                kernel_manager_class=WarmKernelManager,
                # A kernel that listens on this machine only need not warn about it.
                extra_arguments=["--Application.log_level=ERROR"],
            )
        except PapermillExecutionError:
            failed.write_bytes(result.read_bytes())
            raise
        content = without_noise(nbformat.read(result, as_version=4))
    with atomic(out) as temporary:
        nbformat.write(content, temporary)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--profile", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    started = time.monotonic()
    try:
        execute(options.notebook, options.profile, options.device, options.out)
    except ValueError as error:
        raise SystemExit(f"{options.notebook}: {error}") from None
    except KeyboardInterrupt:
        raise SystemExit(f"{options.notebook}: interrupted; run the same command again") from None
    except PapermillExecutionError as error:
        raise SystemExit(
            f"{options.notebook}: a cell failed; what ran is in "
            f"{options.out.with_suffix('.failed.ipynb')}\n"
            f"---- cell [{error.exec_count}]\n{error.source}\n"
            f"---- {error.ename}: {error.evalue}"
        ) from None
    plan.record(options.profile, options.notebook.stem, time.monotonic() - started)


if __name__ == "__main__":
    main(sys.argv[1:])
