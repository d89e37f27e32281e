"""Audit a face-analysis model: one file in, one report out.

python -m faceaudit example first             copy three examples into a folder, tables and files
python -m faceaudit plan audits/mine.yml      write the plan, before any model is asked
python -m faceaudit run audits/mine.yml       go through the audit, to the report
python -m faceaudit gate report.json          fail a build where the report says so
python -m faceaudit verify report.json        compute the report once more from its rows
python -m faceaudit side-by-side a/report.json b/report.json --out both
                                              put models in one report, audited on the same images

The examples: table.yml (a classifier's answers about matched images), pairs.yml (a recogniser's
about pairs), portraits.yml (found portraits). In a checkout of the book audits/example.yml asks a
classifier, and audits/verification.yml a recogniser.

exit codes, of gate:
  0  passed: the last line says how many comparisons are undecided
  1  at least one comparison is beyond the tolerance, the analysis departed from the plan, or
     there is a doubt that the audit file does not accept; a line for each
  2  none of this, but too little is known: an average over all faces is undecided, that of what
     is missing included, or it would be beyond the tolerance if missing answers were errors, or
     there are fewer faces, answers or rows of use than the policy asks for; with --fail-on
     inconclusive also where any comparison is undecided or not estimable. --fail-on exceeds does
     without this
  3  could not run: a file is missing or has a fault, or the parts of a report contradict each
     other; so ends `run` as well, where an endpoint gives no answers or the disk is full, and the
     same command goes on from there

gate and verify take the report of several models as well; there the worst model decides.

verify ends with 0 where the rows give what the report says, and else with 3: a line for each thing
that differs, or one that says which rows are missing.
"""

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from faceaudit.example_files import copy_examples
from faceaudit.models_side_by_side import NAME, side_by_side_from_files
from faceaudit.people.tasks import PeopleNeeded
from faceaudit.recomputation import verify
from faceaudit.report.gate import BROKEN, PASSED, STATES, coverage_warnings, gate, warnings_of
from faceaudit.run import Folders, plan_audit, run_audit


def parser() -> argparse.ArgumentParser:
    """What the command line takes."""
    form = {"description": __doc__, "formatter_class": argparse.RawDescriptionHelpFormatter}
    command_line = argparse.ArgumentParser(prog="python -m faceaudit", **form)
    commands = command_line.add_subparsers(dest="command", required=True, metavar="COMMAND")
    example_command = commands.add_parser("example", **form)
    plan_command = commands.add_parser("plan", **form)
    run_command = commands.add_parser("run", **form)
    gate_command = commands.add_parser("gate", **form)
    verify_command = commands.add_parser("verify", **form)
    models_command = commands.add_parser("side-by-side", **form)
    example_command.add_argument("folder", type=Path, help="that the examples are copied to")
    for command in (plan_command, run_command):
        command.add_argument("file", help="the audit file, for example audits/mine.yml")
        command.add_argument(
            "--out", type=Path, help="the folder of the report; else beside the file"
        )
        command.add_argument(
            "--plan", type=Path, metavar="FILE", help="of the plan; else beside what is kept"
        )
    plan_command.add_argument(
        "--replace", action="store_true", help="make a new plan, which names the old one"
    )
    run_command.add_argument(
        "--model-version", metavar="VERSION", help="of the model, in place of model.version"
    )
    run_command.add_argument("--device", default="cpu", help="cpu or cuda, for networks of files")
    gate_command.add_argument("report", help="a report.json")
    gate_command.add_argument("--fail-on", choices=STATES, help="see exit codes")
    gate_command.add_argument("--allow-departures", action="store_true", help="pass, and say so")
    verify_command.add_argument("report", help="a report.json")
    verify_command.add_argument(
        "--file", type=Path, help="the audit file; else it is looked for beside the report's folder"
    )
    models_command.add_argument(
        "reports", nargs="+", help="a report.json of each model; its folder names the model"
    )
    models_command.add_argument("--out", type=Path, required=True, help="the folder of the report")
    models_command.add_argument("--name", default=NAME, help="of the report")
    return command_line


def main(arguments: Sequence[str], plan: Callable = plan_audit, run: Callable = run_audit) -> int:
    """Run a command; gives the exit code.

    Args:
        arguments: of the command line.
        plan: writes a plan, as `faceaudit.run.plan_audit` does.
        run: runs an audit, as `faceaudit.run.run_audit` does.
    """
    try:
        code, lines = _run_command(parser().parse_args(arguments), plan, run)
    except SystemExit as stop:
        # argparse's own code for wrong arguments, 2, is that of an undecided comparison.
        return BROKEN if stop.code else PASSED
    except PeopleNeeded as stop:
        code = PASSED
        lines = [str(stop)]
    except BrokenPipeError:
        _drop_output()
        return BROKEN
    except (ValueError, OSError) as error:
        print(f"audit: {error}", file=sys.stderr)
        return BROKEN
    except Exception:  # Python's own exit code would be that of a gate that fails
        traceback.print_exc()
        return BROKEN
    try:
        print(*lines, sep="\n", flush=True)
    except BrokenPipeError:
        _drop_output()
    return code


def _drop_output() -> None:
    """Take further output to nowhere: who read it has closed it, as `head` does.

    Otherwise Python would write what is left at its end, and fail.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run_command(
    arguments: argparse.Namespace, plan: Callable, run: Callable
) -> tuple[int, list[str]]:
    """The exit code of a command, and the lines that it prints at last."""
    if arguments.command == "example":
        files = copy_examples(arguments.folder)
        lines = [f"example: {file}" for file in files]
        return PASSED, [*lines, "run makes the report of each: python -m faceaudit run FILE"]
    if arguments.command == "gate":
        return gate(arguments.report, arguments.fail_on, arguments.allow_departures)
    if arguments.command == "verify":
        return verify(arguments.report, arguments.file)
    if arguments.command == "side-by-side":
        page, found = side_by_side_from_files(arguments.reports, arguments.out, arguments.name)
        return PASSED, [repr(found), f"report: {page}"]
    folders = None
    if arguments.out:
        folders = Folders(arguments.out, arguments.out / "kept")
    if arguments.command == "plan":
        plan(
            arguments.file,
            folders=folders,
            plan_file=arguments.plan,
            replace=arguments.replace,
        )
        return PASSED, []
    report = run(
        arguments.file,
        device=arguments.device,
        folders=folders,
        plan_file=arguments.plan,
        model_version=arguments.model_version,
    )
    return PASSED, [*warnings_of(report), *coverage_warnings(report), report.answer]


def run_from_command_line() -> None:
    """Run the command of the command line, and end Python with its exit code."""
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run_from_command_line()
