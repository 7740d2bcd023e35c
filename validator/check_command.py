"""The command `shardproof-check`: whether a certificate proves that two programs are equal.

All reading and checking is done in a process of its own: a forged text can keep isl or MLIR busy for as long as it
likes, and neither can be stopped from within.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from .check_run import check_here
from .child import Child
from .command import run_command
from .command_line import add_limits
from .options import Options
from .partial import Record
from .read.errors import ReadError
from .report.report import Obstacle
from .report.verdict import ExitCode
from .run import InternalError, Source

if TYPE_CHECKING:
    from .check.check import Accepted

PROGRAM = "shardproof-check"

SECONDS, MEGABYTES = 600.0, 8000
"""The limits where none are given: some ten times what the largest certificates of real programs take."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    return run_command(PROGRAM, _run, argv)


def parser() -> argparse.ArgumentParser:
    """The command line; the CLI reference in docs/ is generated from it."""
    result = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Checks a certificate that `validate-hlo --certificate` wrote, without the prover.",
        epilog="exit codes: 0 accepted, 1 rejected, 2 usage, 3 no verdict within the limits, 5 unreadable input, "
        "70 a fault of the checker itself",
        allow_abbrev=False,
    )
    inputs = result.add_argument_group("inputs")
    inputs.add_argument("certificate", metavar="CERT", help="the certificate")
    inputs.add_argument("before", metavar="BEFORE", help="the program before partitioning")
    inputs.add_argument("after", metavar="AFTER", help="the program after partitioning")
    inputs.add_argument("--relations", metavar="FILE", help="the relation file that the proof rests on")
    inputs.add_argument("--infer-relations", action="store_true", help="it rests on relations from shapes")
    inputs.add_argument("--assume-indices-in-bounds", action="store_true", help="it rests on this assumption")
    add_limits(result.add_argument_group("limits"), "a check", SECONDS, MEGABYTES)
    return result


def _run(arguments: list[str]) -> int:
    args = parser().parse_args(arguments)
    options = Options(timeout=args.timeout, memory_limit=args.memory_limit)
    try:
        certificate, before, after = map(Source.of_file, (args.certificate, args.before, args.after))
        relations = None if args.relations is None else Source.of_file(args.relations)
        record = Record(before.name, after.name, options)
        with closing(Child("shardproof.validator.check.check", "checking")) as child:
            found: Accepted | str | Obstacle = child.ask(
                check_here,
                (certificate, before, after, relations, args.infer_relations, args.assume_indices_in_bounds),
                record.hear,
                timeout=options.timeout,
                memory_limit=options.memory_limit,
            )
    except ReadError as error:
        print(f"{error.where}: error: {' '.join(error.message.split())}", file=sys.stderr)
        return ExitCode.UNREADABLE
    except InternalError as error:
        print(f"{PROGRAM}: internal error: {error}\n{error.details}", file=sys.stderr)
        return ExitCode.INTERNAL
    if isinstance(found, Obstacle):
        print(f"NOT_CHECKED  {certificate.name}: {record.report(found).message}")
        return ExitCode.NOT_PROVED
    if isinstance(found, str):
        print(f"REJECTED  {certificate.name}: {found}")
        return ExitCode.REFUTED
    count = f"{len(found.theories)} output{'s' * (len(found.theories) != 1)}"
    under = ", assuming ".join([found.theory.value, *found.assumptions])
    print(f"ACCEPTED ({under})  {before.name} → {after.name}  {count}")
    return ExitCode.PROVED


if __name__ == "__main__":
    sys.exit(main())
