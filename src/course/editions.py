"""Editions of the labs: for students, with solutions, for graders, and slides; and the downloads.

A lab is a py:percent notebook, `course/labs/NN_slug.py`, whose solution is the source. Tags of its
cells say what becomes of them:

- `slide`: stands on the session's slides, and in no lab; of code only the output is seen.
- `solution`: students get its comments, the heads of its functions, and dots for what it assigns,
  with the figure that it draws.
- `check`: one call of `check(name, answer)` on what the solution before it assigned.
- `mistake`: another solution, wrong in a way that is foreseen; its first line is a comment that
  tells a student who makes it. Cells of mistakes and `hint`s follow their check.
- `hint`: what to try next; numbers beside this tag say about which values of a list.
- `instructor`: stands in the solution alone.

All other cells are everybody's. A lab runs in this process, from its first cell to its last.

Sources for the graders nbgrader and otter-grader hold each solution below its stub, and the grader
cuts it out. After each check they call `lab.grade`, which students do not see. What comes after the
last question has no points.
"""

import ast
import base64
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import jupytext
import matplotlib.pyplot as plt
import nbformat
import yaml
from IPython.core.displayhook import CapturingDisplayHook
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from markdown_it import MarkdownIt
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell
from PIL import Image

from course import lab, quiz, slide_faces, teacher_pages
from helpers import artifacts, pdf
from helpers.artifacts import lineage

COURSE = lineage.ROOT / "course"
OUT = lineage.ROOT / "build" / "course"
FOR_ALL = {"slide", "solution", "mistake", "hint", "instructor"}
"""Tags of cells that students do not get as they are."""
DPI = 90
COLOURS = 32
LAST = "## What would change your mind?"
CHECKS = 12
"""Points of all checks of a lab (`course/rubric.md`)."""
SENTENCES = 6
"""Points of the answer to its last question."""
NBGRADER_CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "audit"
c.ClearSolutions.code_stub = {"python": ""}  # the dots above a solution are its stub
"""
OTTER_CONFIG = {
    "files": ["course", "handouts", "helpers", "teams.md"],
    "requirements": "requirements.txt",
    "strip_solutions_from_all_cells": True,
    "init_cell": False,
    "export_cell": False,
}
UNPACKED = re.compile(
    r"/(\.doctrees|_sources|jupyter_execute|plugin|league-gothic)/|\.(zip|map|ttf|eot|scss)$"
    r"|\.esm\.|italic\.woff|/slides/[^/]+$|/slides/faces/"
)
"""What Sphinx leaves and slides do without."""


def labs() -> dict[str, Path]:
    """Number of a session → its lab."""
    return {path.stem[:2]: path for path in sorted((COURSE / "labs").glob("[0-9]*.py"))}


def tags(cell: NotebookNode) -> set[str]:
    return {*cell.metadata.get("tags", [])}


# --- running a lab


def play(source: Path) -> tuple[NotebookNode, dict[str, dict]]:
    """Run a lab.

    Returns:
        The notebook with its outputs, and what `lab.check` has to know of every check.

    Raises:
        RuntimeError: a cell failed; naming the lab and the cell.
    """
    notebook = jupytext.read(source)
    checks = {}
    last = {}
    shell = InteractiveShell.instance(history_manager=None)
    check = lab.check

    def record(name: str, answer: object) -> None:
        last.update(name=name, answer=answer)

    lab.check = record
    try:
        for number, cell in enumerate(notebook.cells, 1):
            place = f"{source.name} cell {number}"
            if "hint" in tags(cell):
                about = [int(tag) for tag in tags(cell) if tag.isdigit()]
                checks[last["name"]]["hints"].append((cell.source, about))
            elif "mistake" in tags(cell):
                says, _, code = cell.source.partition("\n")
                exec(f"{code}\n{last['check']}", mistaken := dict(shell.user_ns))
                del mistaken
                fingerprint = lab.fingerprint(last["name"], last["answer"])
                checks[last["name"]]["mistakes"][fingerprint] = says.lstrip("# ")
            elif cell.cell_type == "code":
                cell.outputs = run_cell(shell, cell.source, place)
                if "check" in tags(cell):
                    last["check"] = cell.source
                    known = lab.recorded(last["name"], last["answer"])
                    checks[last["name"]] = known | {"mistakes": {}, "hints": []}
    finally:
        lab.check = check
        InteractiveShell.clear_instance()
    return notebook, checks


def run_cell(shell: InteractiveShell, code: str, place: str) -> list[NotebookNode]:
    """Run one cell; gives what it printed, showed and drew."""
    results = []  # of a last line that is an expression
    shell.display_trap.hook = CapturingDisplayHook(shell=shell, outputs=results)
    with capture_output() as got:
        done = shell.run_cell(code)
    if error := done.error_before_exec or done.error_in_exec:
        raise RuntimeError(f"{place}: {type(error).__name__}: {error}") from error
    outputs = [new_output("stream", name="stdout", text=got.stdout)] if got.stdout else []
    rich = [output.data for output in got.outputs]
    rich += [result["data"] for result in results]
    outputs += [new_output("display_data", data=data) for data in rich]
    for figure in map(plt.figure, plt.get_fignums()):
        figure.savefig(drawn := io.BytesIO(), format="png", dpi=DPI, bbox_inches="tight")
        Image.open(drawn).convert("RGB").quantize(COLOURS).save(small := io.BytesIO(), "png")
        picture = base64.b64encode(small.getvalue()).decode()
        outputs.append(new_output("display_data", data={"image/png": picture}))
    plt.close("all")
    return outputs


# --- what becomes of it


def stub(code: str) -> str:
    """What students start from in place of a solution."""
    lines = [line for line in code.splitlines() if line.startswith("#")]
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.FunctionDef):
            first = statement.body[0]
            documented = ast.get_docstring(statement)
            head = first.end_lineno if documented else first.lineno - 1
            lines += [*code.splitlines()[statement.lineno - 1 : head], "    ..."]
        for target in getattr(statement, "targets", []):
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            lines += [f"{ast.get_source_segment(code, name)} = ..." for name in names]
    return "\n".join(dict.fromkeys(lines))


def student(played: NotebookNode) -> NotebookNode:
    """A lab without its solutions, each with the figure that it draws."""
    return _notebook(
        [student_cell for cell in played.cells for student_cell in student_cells(cell)]
    )


def student_cells(cell: NotebookNode) -> list[NotebookNode]:
    """What students get in place of a cell."""
    if "solution" in tags(cell):
        rich = [output.data for output in cell.outputs if "data" in output]
        drawn = [data.get("image/png") for data in rich]
        return [new_code_cell(stub(cell.source)), *(_picture(png) for png in drawn if png)]
    if tags(cell) & FOR_ALL:
        return []
    return [(new_code_cell if cell.cell_type == "code" else new_markdown_cell)(cell.source)]


def _picture(png: str) -> NotebookNode:
    attachments = {"goal.png": {"image/png": png}}
    text = "Your figure should look like this:\n\n![what the solution draws](attachment:goal.png)"
    return new_markdown_cell(text, attachments=attachments)


def solution(played: NotebookNode) -> NotebookNode:
    """A lab with all but its slides; hints and mistakes are text, so that the lab runs."""
    return _notebook([_in_words(cell) for cell in played.cells if "slide" not in tags(cell)])


def _in_words(cell: NotebookNode) -> NotebookNode:
    if "hint" in tags(cell):
        return new_markdown_cell(f"*Hint.* {cell.source}")
    if "mistake" in tags(cell):
        says, _, code = cell.source.partition("\n")
        return new_markdown_cell(f"*Mistake.* {says.lstrip('# ')}\n\n```python\n{code}\n```")
    if cell.cell_type == "markdown":  # these lie beside the students' labs
        text = re.sub(r"\]\((handouts/|teams)", r"](../student/\1", cell.source)
        cell = new_markdown_cell(text)
    return cell


def slides(played: NotebookNode) -> NotebookNode:
    """The cells of a lab that stand on slides, of code the outputs alone.

    A figure is described by the heading of its slide.
    """
    cells = [cell for cell in played.cells if "slide" in tags(cell)]
    heading = ""
    for cell in cells:
        if cell.cell_type == "markdown":
            heading = (re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE) or [heading])[-1]
        else:
            cell.metadata["mystnb"] = {"image": {"alt": f"Figure of the slide: {heading}"}}
        cell.metadata["tags"] = ["remove-input"]
    return _notebook(cells)


def _notebook(cells: list[NotebookNode]) -> NotebookNode:
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


# --- for graders


def nbgrader(played: NotebookNode) -> NotebookNode:
    """A lab for `nbgrader generate_assignment`."""
    cells = []
    for kind, name, points, secret, seen in _graded(played):
        settings = {"schema_version": 3, "grade_id": name, "points": points, "task": False}
        settings |= {"grade": kind != "solution", "solution": kind != "check"}
        settings["locked"] = kind == "check"
        if kind == "last":
            seen.append(new_markdown_cell(secret, metadata={"nbgrader": settings}))
        elif kind:
            mark = "SOLUTION" if kind == "solution" else "HIDDEN TESTS"
            seen[0].source += f"\n### BEGIN {mark}\n{secret}\n### END {mark}"
            seen[0].metadata["nbgrader"] = settings
        cells += seen
    return _notebook(cells)


def otter(played: NotebookNode, stem: str) -> NotebookNode:
    """A lab for `otter assign`; students' notebooks need no otter."""
    cells = [_raw("ASSIGNMENT CONFIG", {"name": stem, **OTTER_CONFIG})]
    for kind, name, points, secret, seen in _graded(played):
        settings = {"name": name, "points": points, "manual": kind == "last"}
        if kind == "solution":
            seen[0].source += f"\n# BEGIN SOLUTION NO PROMPT\n{secret}\n# END SOLUTION"
        elif kind == "check":
            tests = _block("TESTS", [new_code_cell(f"# HIDDEN\n{secret}")])
            seen = _block("QUESTION", seen + tests, settings)
        elif kind == "last":
            note = _block("SOLUTION", [new_markdown_cell(secret)])
            seen = _block("QUESTION", seen + note, settings)
        cells += seen
    return _notebook(cells)


def _block(of: str, cells: list[NotebookNode], config: dict | None = None) -> list[NotebookNode]:
    return [_raw(f"BEGIN {of}", config), *cells, _raw(f"END {of}")]


def _raw(head: str, config: dict | None = None) -> NotebookNode:
    return new_raw_cell(f"# {head}\n{yaml.safe_dump(config)}" if config else f"# {head}")


def _graded(played: NotebookNode) -> Iterator[tuple]:
    """Of each cell: what is graded, its name and points, what students do not see, and do see."""
    every = played.cells
    last = next(n for n, cell in enumerate(every) if cell.source.startswith(LAST))
    each = CHECKS / sum("check" in tags(cell) for cell in every[:last])
    notes = [cell.source for cell in every[last:] if "instructor" in tags(cell)]
    for number, cell in enumerate(every):
        graded = None, None, None, None
        if number == last:
            graded = "last", "sentences", SENTENCES, notes[0]
        elif "solution" in tags(cell):
            graded = "solution", f"solution-{number}", 0, cell.source
        elif "check" in tags(cell):
            code = "from course.lab import grade\n" + cell.source.replace("check", "grade", 1)
            graded = "check", cell.source.split('"')[1], each if number < last else 0, code
        yield *graded, student_cells(cell)


# --- files


def make_tables(profile: str = "laptop") -> None:
    """Write the tables of `course/tables.yml` from what the book's run left.

    Raises:
        ArtifactError: a stage was not run.
        ValueError: naming a table that lacks a column.
    """
    tables = yaml.safe_load((COURSE / "tables.yml").read_text(encoding="utf-8"))
    (COURSE / "tables").mkdir(exist_ok=True)
    for name, entry in tables.items():
        table = artifacts.load(entry["stage"], entry["file"], profile)
        table = table.reset_index() if any(table.index.names) else table
        if missing := {*entry["columns"]} - {*table}:
            raise ValueError(f"{name}: {entry['file']} has no {missing}; it has {list(table)}")
        table[entry["columns"]].to_parquet(COURSE / "tables" / f"{name}.parquet", index=False)


def build(out: Path = OUT) -> Path:
    """Make all editions, slides, handouts and the downloads; returns the folder of these.

    Raises:
        RuntimeError: a lab failed, or Sphinx or the browser did.
    """
    shutil.rmtree(out, ignore_errors=True)
    checks = {}
    files = set()
    for source in labs().values():
        played, known = play(source)
        checks |= known
        needed = lineage.dependencies(source).modules
        files |= {path for path in needed if "course" not in path.parts}
        editions = {
            "student": student(played),
            "solution": solution(played),
            f"nbgrader/source/{source.stem}": nbgrader(played),
            "otter": otter(played, source.stem),
            "slides": slides(played),  # the last, since it changes tags
        }
        for folder, notebook in editions.items():
            (out / folder).mkdir(parents=True, exist_ok=True)
            nbformat.write(notebook, out / folder / f"{source.stem}.ipynb")
    (out / "nbgrader" / "nbgrader_config.py").write_text(NBGRADER_CONFIG, "utf-8")
    package = out / "student" / "course"
    shutil.copytree(COURSE / "tables", package / "tables")
    for name in ("__init__.py", "lab.py"):
        shutil.copy2(Path(lab.__file__).with_name(name), package)
    # It is no secret: packed, the last hint is not read by chance.
    (package / "checks.bin").write_bytes(zlib.compress(json.dumps(checks).encode()))
    # What labs import, so that students install no package.
    for name in lineage.hashes_of_files([*files]):
        copy_code(lineage.ROOT / name, out / "student")
    for folder in {parent for path in files for parent in path.parents}:
        if lineage.SOURCE in folder.parents:  # a package, which exports what its stub says
            for path in folder.glob("__init__.py*"):
                copy_code(path, out / "student")
    shutil.copy2(COURSE / "requirements.txt", out / "student")
    shutil.copy2(COURSE / "students.md", out / "student" / "README.md")
    print_handouts(out / "student" / "handouts")
    quiz.write(out / "student" / "quizzes")
    build_slides(out / "slides")
    for name in ("instructor", "README.md", "league.md", "try_labs.py"):
        copy = shutil.copytree if (COURSE / name).is_dir() else shutil.copy2
        copy(COURSE / name, out / name)
    teacher_pages.fill(out / "instructor")
    league = out / "league.md"
    league.write_text(teacher_pages.filled(league.read_text(encoding="utf-8")), encoding="utf-8")
    for folder in (out, out / "student"):
        for name in ("course/rubric.md", "course/teams.md", "LICENSE-text"):
            shutil.copy2(lineage.ROOT / name, folder)
    downloads = out / "downloads"
    downloads.mkdir()
    pack(out, downloads / "course.zip")
    pack(out / "student", downloads / "course-students.zip")
    return downloads


def copy_code(path: Path, into: Path) -> None:
    """Copy a file of our packages to the place in a folder that it has in `src`."""
    copy = into / path.relative_to(lineage.SOURCE)
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, copy)


def build_slides(folder: Path) -> None:
    """Turn the notebooks in a folder into slides that need no network."""
    slide_faces.draw(folder / slide_faces.FOLDER)
    (folder / "index.md").write_text("# Slides\n\n```{toctree}\n:glob:\n\n*\n```\n", "utf-8")
    look = ["-c", str(COURSE / "static"), "-q", "-W", "-b", "revealjs"]
    command = [sys.executable, "-m", "sphinx", *look]
    subprocess.run([*command, str(folder), str(folder / "html")], check=True)


def print_handouts(folder: Path) -> None:
    """Print each handout on its page."""
    folder.mkdir()
    look = (COURSE / "static" / "handout.css").read_text(encoding="utf-8")
    for source in sorted((COURSE / "handouts").glob("*.md")):
        text = MarkdownIt().enable("table").render(source.read_text(encoding="utf-8"))
        page = folder / f"{source.stem}.html"
        title = f"<title>Handout {source.stem}</title><style>{look}</style>"
        text = f'<!doctype html><html lang="en"><meta charset="utf-8">{title}{text}'
        page.write_text(text, encoding="utf-8")
        if shutil.which(pdf.CHROMIUM):  # else the page is there, and any browser prints it
            pdf.print_page(page, page.with_suffix(".pdf"))


def pack(folder: Path, archive: Path) -> None:
    """Pack a folder; the same files make the same download."""
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*"))}
    with zipfile.ZipFile(archive, "w") as packed:
        for name, path in files.items():
            if path.is_file() and not UNPACKED.search(f"/{name}"):
                info = zipfile.ZipInfo(f"{archive.stem}/{name}")
                info.external_attr = 0o644 << 16  # others may read it
                packed.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    print(build())
