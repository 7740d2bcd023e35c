"""The command `shardproof-check`: whether a certificate proves that two programs are equal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .command import run_command
from .read.errors import ReadError
from .report.verdict import ExitCode


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    return run_command("shardproof-check", _run, argv)


def _run(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="shardproof-check",
        description="Checks a certificate that `validate-hlo --certificate` wrote, without the prover.",
        epilog="exit codes: 0 accepted, 1 rejected, 2 usage, 5 unreadable input, 70 a fault of the checker itself",
        allow_abbrev=False,
    )
    parser.add_argument("certificate", metavar="CERT", help="the certificate")
    parser.add_argument("before", metavar="BEFORE", help="the program before partitioning")
    parser.add_argument("after", metavar="AFTER", help="the program after partitioning")
    parser.add_argument("--relations", metavar="FILE", help="the relation file that the proof rests on")
    parser.add_argument("--infer-relations", action="store_true", help="it rests on relations from shapes")
    parser.add_argument("--assume-indices-in-bounds", action="store_true", help="it rests on this assumption")
    args = parser.parse_args(arguments)
    from .check.check import check
    from .check.errors import Rejection
    from .read.files import load
    from .read.inferred import relations_for
    from .read.program import read_pair

    try:
        data = load(args.certificate)
        before, after = read_pair(load(args.before), load(args.after), names=(args.before, args.after))
        source = None if args.relations is None else (load(args.relations), args.relations)
        given, _ = relations_for(before, after, source, infer=args.infer_relations)
        accepted = check(data, args.certificate, before, after, given, args.assume_indices_in_bounds)
    except ReadError as error:
        print(f"{error.where}: error: {' '.join(error.message.split())}", file=sys.stderr)
        return ExitCode.UNREADABLE
    except Rejection as reason:
        print(f"REJECTED  {args.certificate}: {reason}")
        return ExitCode.REFUTED
    count = f"{len(accepted.theories)} output{'s' * (len(accepted.theories) != 1)}"
    under = ", assuming ".join([accepted.theory.value, *accepted.assumptions])
    print(f"ACCEPTED ({under})  {args.before} → {args.after}  {count}")
    return ExitCode.PROVED


if __name__ == "__main__":
    sys.exit(main())
