"""Audit a face-analysis model: one file in, one report out.

python -m faceaudit plan audits/mine.yml      write the plan, before any model is asked
python -m faceaudit run audits/mine.yml       go through the audit, to the report
python -m faceaudit gate report.json          fail a build where the report says so

Files to copy: audits/example.yml (a classifier), audits/verification.yml (a recogniser),
audits/table.yml (answers that are there already), audits/portraits.yml (found portraits).

exit codes, of gate:
  0  passed: the last line says how many comparisons are undecided
  1  at least one comparison is beyond the tolerance, the analysis departed from the plan, or
     there is a doubt that the audit file does not accept; a line for each
  2  with --fail-on inconclusive: none of this, but some comparisons are undecided or not
     estimable; a line for each
  3  could not run: a file is missing or has a fault; so ends `run` as well, where an endpoint gives
     no answers or the disk is full, and the same command goes on from there
"""

import argparse
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from faceaudit.people.tasks import PeopleNeeded
from faceaudit.report.gate import BROKEN, PASSED, STATES, gate, warnings_of
from faceaudit.run import Folders, plan_audit, run_audit


def parser() -> argparse.ArgumentParser:
    """What the command line takes."""
    form = {"description": __doc__, "formatter_class": argparse.RawDescriptionHelpFormatter}
    top = argparse.ArgumentParser(prog="python -m faceaudit", **form)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    plan, run, gates = (commands.add_parser(name, **form) for name in ("plan", "run", "gate"))
    for own in (plan, run):
        own.add_argument("file", help="the audit file, for example audits/table.yml")
        own.add_argument("--out", type=Path, help="the folder of the report; else beside the file")
    run.add_argument("--device", default="cpu", help="cpu or cuda, for networks of files")
    gates.add_argument("report", help="a report.json")
    gates.add_argument("--fail-on", choices=STATES, default="exceeds", help="see exit codes")
    gates.add_argument("--allow-departures", action="store_true", help="pass, and say so")
    return top


def main(arguments: Sequence[str], plan: Callable = plan_audit, run: Callable = run_audit) -> int:
    """Run a command; gives the exit code.

    Args:
        arguments: of the command line.
        plan: what writes a plan, as `faceaudit.run.plan_audit` does.
        run: what runs an audit, as `faceaudit.run.run_audit` does.
    """
    try:
        code, lines = _do(parser().parse_args(arguments), plan, run)
    except SystemExit as stop:  # of wrong arguments, which are no undecided comparison
        return BROKEN if stop.code else PASSED
    except PeopleNeeded as stop:
        code, lines = PASSED, [str(stop)]
    except (ValueError, OSError) as error:
        print(f"audit: {error}", file=sys.stderr)
        return BROKEN
    except Exception:  # Python's own exit code would be that of a gate that fails
        traceback.print_exc()
        return BROKEN
    print(*lines, sep="\n")
    return code


def _do(chosen: argparse.Namespace, plan: Callable, run: Callable) -> tuple[int, list[str]]:
    if chosen.command == "gate":
        return gate(chosen.report, chosen.fail_on, chosen.allow_departures)
    folders = Folders(chosen.out, chosen.out / "kept") if chosen.out else None
    if chosen.command == "plan":
        plan(chosen.file, folders=folders)
        return PASSED, []
    report = run(chosen.file, device=chosen.device, folders=folders)
    return PASSED, [*warnings_of(report), report.answer]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
