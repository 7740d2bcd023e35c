"""What may stand on the command line of `validate-hlo`, and which options do not go together."""

from __future__ import annotations

import argparse
import os
import re

from .ops.record import Theory
from .report.output import Format

PROGRAM = "validate-hlo"

_EPILOG = """\
exit codes:
  0 proved, 1 refuted, 2 usage, 3 not proved, 4 unsupported, 5 unreadable input, 6 not what a problem file expects,
  70 internal error; a problem whose verdict is as expected counts as 0;
  over several pairs the worst one, where 70 is worse than 1, then 6, 5, 4, 3

The verdict goes to stdout, diagnostics and progress go to stderr."""


def parser() -> argparse.ArgumentParser:
    """The command line; the CLI reference in docs/ is generated from it."""
    result = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Proves that a partitioned XLA program computes, on every device and for all inputs, its shard of "
        "the program before partitioning.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    inputs = result.add_argument_group("inputs")
    inputs.add_argument(
        "before",
        nargs="?",
        metavar="BEFORE",
        help="the program before partitioning, or without AFTER a problem file (see dialect.md); '-' reads stdin",
    )
    inputs.add_argument("after", nargs="?", metavar="AFTER", help="the program after partitioning; '-' reads stdin")
    inputs.add_argument("--xla-dump", metavar="DIR", help="validate every before/after pair in an XLA dump folder")
    inputs.add_argument(
        "--module", type=_pattern, metavar="RE", help="with --xla-dump: only modules whose name matches this expression"
    )
    inputs.add_argument(
        "--bisect",
        action="store_true",
        help="with --xla-dump of every pass: find the first pass whose output is not equivalent to its input",
    )
    inputs.add_argument(
        "--jobs", type=_count, metavar="N", help="with --xla-dump: validate N pairs at a time, each in its own process"
    )
    inputs.add_argument(
        "--ray",
        action="store_true",
        help="with --xla-dump: validate the pairs on a Ray cluster, N of --jobs at a time (needs the extra 'ray')",
    )
    inputs.add_argument(
        "--relations",
        metavar="FILE",
        help="how parameters and results relate where no sharding says so (see relations.md)",
    )
    inputs.add_argument(
        "--infer-relations",
        action="store_true",
        help="assume that tensors nothing is told of are cut evenly over all devices, as their shapes suggest",
    )

    inputs.add_argument("--split-input-file", action="store_true", help="a problem file: split it at lines '// -----'")
    inputs.add_argument(
        "--verify-diagnostics",
        action="store_true",
        help="a problem file: compare diagnostics with comments '// expected-error {{...}}' instead of printing them",
    )

    proof = result.add_argument_group("proof")
    proof.add_argument(
        "--theory",
        choices=[theory.value for theory in Theory],
        default=Theory.REASSOCIATED.value,
        help="the weakest arithmetic to accept (default: %(default)s)",
    )
    proof.add_argument(
        "--assume-indices-in-bounds",
        action="store_true",
        help="judge only inputs whose run-time indices are in bounds",
    )
    add_limits(proof, "a pair")
    proof.add_argument("--node-limit", type=_count, metavar="N", help="how many nodes one e-graph may have")
    proof.add_argument(
        "--seed",
        type=_whole,
        default=0,
        metavar="N",
        help="seed of the search for counterexamples (default: %(default)s)",
    )

    proof.add_argument(
        "--no-confirm",
        action="store_true",
        help="do not run a counterexample on another evaluator as well before it is believed",
    )

    output = result.add_argument_group("output")
    output.add_argument(
        "--format",
        choices=[format_.value for format_ in Format],
        default=Format.TEXT.value,
        help="format of the verdict (default: %(default)s)",
    )
    output.add_argument("-o", dest="output", metavar="FILE", help="write the verdict to FILE instead of stdout")
    output.add_argument(
        "--replay", metavar="FILE", help="when refuted, write a Python script that evaluates the counterexample"
    )
    output.add_argument(
        "--write-problem", metavar="FILE", help="write the pair, its relations and its verdict as a problem file"
    )
    output.add_argument("--html", metavar="FILE", help="write the reports as one page of HTML, too")
    output.add_argument(
        "--certificate",
        metavar="FILE",
        help="when proved, write the proof for 'shardproof-check' (see certificates.md)",
    )
    output.add_argument("--stats", action="store_true", help="print counts to stderr")
    level = output.add_mutually_exclusive_group()
    level.add_argument("-q", dest="quiet", action="store_true", help="print no diagnostics")
    level.add_argument("-v", dest="verbose", action="store_true", help="print the verdict on every output")

    about = result.add_argument_group("about")
    about.add_argument("--list-ops", action="store_true", help="print every op that is modelled")
    about.add_argument("--list-rules", action="store_true", help="print every lemma and every rewrite rule")
    about.add_argument("--version", action="store_true", help="print versions")
    return result


def add_limits(
    group: argparse._ActionsContainer, what: str, seconds: float | None = None, megabytes: int | None = None
) -> None:
    """The options that bound what may be spent on something, by default not at all or by these."""
    told = ["" if limit is None else " (default: %(default)g)" for limit in (seconds, megabytes)]
    group.add_argument(
        "--timeout", type=_seconds, default=seconds, metavar="S", help=f"give up on {what} after S seconds{told[0]}"
    )
    group.add_argument(
        "--memory-limit",
        type=_count,
        default=megabytes,
        metavar="MB",
        help=f"give up on {what} that takes more than MB megabytes{told[1]}",
    )


_OF_ONE_PAIR = ("relations", "replay", "certificate", "write_problem")
"""Options that make sense for one pair of programs only."""


def check(command_line: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Refuses combinations that argparse cannot express."""
    for path in (args.replay, args.html, args.certificate, args.write_problem):
        if path is not None and (os.path.isdir(path or ".") or not os.access(os.path.dirname(path) or ".", os.W_OK)):
            command_line.error(f"cannot write '{path}'")
    if args.bisect and args.xla_dump is None:
        command_line.error("--bisect goes with --xla-dump only")
    if args.bisect and (args.jobs or args.ray):
        command_line.error("--jobs and --ray do not go with --bisect")
    if args.xla_dump is not None:
        if args.before is not None:
            command_line.error("BEFORE and AFTER do not go with --xla-dump")
        for option in _OF_ONE_PAIR:
            if getattr(args, option) is not None:
                command_line.error(f"{_flag(option)} takes one pair and does not go with --xla-dump")
        if args.ray:
            from . import cluster

            if not cluster.is_installed():
                command_line.error(cluster.MISSING)
        return
    for option in ("jobs", "ray"):
        if getattr(args, option):
            command_line.error(f"--{option} goes with --xla-dump only")
    if args.module is not None:
        command_line.error("--module goes with --xla-dump only")
    if args.before is None:
        command_line.error("BEFORE and AFTER, a problem file, or --xla-dump, are required")
    if args.after is None:
        for option in _OF_ONE_PAIR:
            if getattr(args, option) is not None:
                command_line.error(f"{_flag(option)} takes one pair and does not go with a problem file")
        return
    for option in ("split_input_file", "verify_diagnostics"):
        if getattr(args, option):
            command_line.error(f"{_flag(option)} goes with a problem file only")
    if [args.before, args.after, args.relations].count("-") > 1:
        command_line.error("only one input can be stdin")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not a regular expression: {error}") from None
    return text


def _count(text: str) -> int:
    return _number(text, 1, "a positive whole number")


def _whole(text: str) -> int:
    return _number(text, 0, "a whole number from 0 on")


def _number(text: str, least: int, what: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"'{text}' is not {what}")
    return number


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number of seconds")
    return seconds
