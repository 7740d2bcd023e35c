"""The command `validate-hlo`.

Imports are lazy on purpose: a wrong command line answers at once, and nothing heavy is loaded for it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TextIO

from .command import run_command
from .ops.record import Theory
from .options import Assumption, Options
from .read.errors import ReadError
from .report.output import Failure, Format, Writer, writer_for
from .report.verdict import ExitCode

if TYPE_CHECKING:
    from .course import Course
    from .report.report import Report
    from .run import Source

    Validate = Callable[[Source, Source, Options, Course], Report]

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
    proof.add_argument("--timeout", type=_seconds, metavar="S", help="give up on a pair after S seconds")
    proof.add_argument(
        "--memory-limit", type=_count, metavar="MB", help="give up on a pair that takes more than MB megabytes"
    )
    proof.add_argument("--node-limit", type=_count, metavar="N", help="how many nodes one e-graph may have")
    proof.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the search for counterexamples (default: %(default)s)"
    )

    proof.add_argument(
        "--no-confirm",
        action="store_true",
        help="do not run a counterexample on XLA as well before it is believed",
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


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    return run_command(PROGRAM, _run, argv)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two inputs, as paths or '-', to read when their turn comes."""

    before: str
    after: str


def _run(arguments: list[str]) -> int:
    command_line = parser()
    args = command_line.parse_args(arguments)
    if args.version or args.list_ops or args.list_rules:
        return _about(args)
    _check(command_line, args)
    options = Options(
        theory=Theory(args.theory),
        assumptions=_assumptions(args),
        timeout=args.timeout,
        memory_limit=args.memory_limit,
        node_limit=args.node_limit,
        seed=args.seed,
        confirm=not args.no_confirm,
        certificate=args.certificate is not None,
    )
    with ExitStack() as stack:
        try:
            out = stack.enter_context(_open(args.output)) if args.output else sys.stdout
        except OSError as error:
            command_line.error(f"cannot write '{args.output}': {(error.strerror or str(error)).lower()}")
        writer = writer_for(Format(args.format), out, args.html)
        stack.callback(writer.close)
        if args.before is not None and args.after is None:
            return _problems(options, args, writer, [PROGRAM, *arguments])
        if args.bisect:
            return _bisect(options, args, out, writer)
        try:
            pairs = _pairs(args)
        except ReadError as error:
            _say_unreadable(error, writer)
            return ExitCode.UNREADABLE
        validate = _validator(pairs, options, args, stack)
        try:
            codes = [_validate(pair, options, args, writer, [PROGRAM, *arguments], validate) for pair in pairs]
        except KeyboardInterrupt as stop:
            # what was proved until then is worth saying
            if (report := getattr(stop, "report", None)) is not None:
                _say(report, args, writer)
            raise
    if len(codes) > 1 and not args.quiet:
        _say_counts(codes)
    return ExitCode.worst(codes)


def _assumptions(args: argparse.Namespace) -> frozenset[Assumption]:
    asked = {
        Assumption.INDICES_IN_BOUNDS: args.assume_indices_in_bounds,
        Assumption.RELATIONS_FROM_SHAPES: args.infer_relations,
    }
    return frozenset(assumption for assumption, wanted in asked.items() if wanted)


def _open(path: str) -> TextIO:
    return open(path, "w", encoding="utf-8", errors="backslashreplace")


def _about(args: argparse.Namespace) -> int:
    from . import listing

    if args.version:
        print(listing.version_text())
    if args.list_ops:
        print(listing.ops_text())
    if args.list_rules:
        print(listing.rules_text())
    return ExitCode.PROVED


_OF_ONE_PAIR = ("relations", "replay", "certificate", "write_problem")
"""Options that make sense for one pair of programs only."""


def _check(command_line: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Refuses combinations that argparse cannot express."""
    for path in (args.replay, args.html, args.certificate, args.write_problem):
        if path is not None and not os.access(os.path.dirname(path) or ".", os.W_OK):
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


def _bisect(options: Options, args: argparse.Namespace, out: TextIO, writer: Writer) -> ExitCode:
    """Looks for the first wrong pass of each module in the dump."""
    from .bisect import bisect
    from .read.passes import find_passes
    from .report.output import print_bisection

    codes = []
    try:
        for dump in find_passes(args.xla_dump, args.module):
            found = bisect(dump, options)
            print_bisection(found, Format(args.format), out, writer, sys.stderr, args.quiet, args.verbose)
            codes.append(ExitCode.of(found.verdict))
    except ReadError as error:
        _say_unreadable(error, writer)
        codes.append(ExitCode.UNREADABLE)
    if len(codes) > 1 and not args.quiet:
        _say_counts(codes)
    return ExitCode.worst(codes)


def _pairs(args: argparse.Namespace) -> list[_Pair]:
    if args.xla_dump is None:
        return [_Pair(args.before, args.after)]
    from .read.pairs import find_pairs

    return [_Pair(str(pair.before), str(pair.after)) for pair in find_pairs(args.xla_dump, args.module)]


def _validator(pairs: list[_Pair], options: Options, args: argparse.Namespace, stack: ExitStack) -> Validate:
    """What validates the pairs one after the other: this process, several ones, or a cluster."""
    from .run import validate_sources

    paths = [(pair.before, pair.after) for pair in pairs]
    if args.ray:
        from .cluster import Cluster

        return stack.enter_context(closing(Cluster(paths, options, args.jobs))).validate
    if args.jobs is not None and args.jobs > 1 and len(pairs) > 1:
        from .fleet import Fleet

        return stack.enter_context(closing(Fleet(paths, options, args.jobs))).validate
    return validate_sources


def _validate(
    pair: _Pair,
    options: Options,
    args: argparse.Namespace,
    writer: Writer,
    command: list[str],
    validate: Validate,
) -> ExitCode:
    """Validates one pair and says so; a fault in one pair does not keep the others from their verdicts."""
    from .run import Source

    try:
        before, after = Source.of_file(pair.before), Source.of_file(pair.after)
        if args.relations is not None:
            options = replace(options, relations=Source.of_file(args.relations))
    except ReadError as error:
        _say_unreadable(error, writer)
        return ExitCode.UNREADABLE
    try:
        report = _report(before, after, options, args, writer, command, validate)
    except ReadError as error:
        _say_unreadable(error, writer)
        return ExitCode.UNREADABLE
    if report is None:
        return ExitCode.INTERNAL
    _say(report, args, writer)
    if args.replay is not None:
        _replay(report, before, after, args.replay, options)
    if args.certificate is not None:
        _certificate(report, args.certificate)
    if args.write_problem is not None:
        _write_problem(report, before, after, args.write_problem, options)
    return ExitCode.of(report.verdict)


def _report(
    before: Source,
    after: Source,
    options: Options,
    args: argparse.Namespace,
    writer: Writer,
    command: list[str],
    validate: Validate,
) -> Report | None:
    """The report on one pair; None, with a message and a bundle, where the validator itself failed."""
    from .course import Course
    from .progress import Bar
    from .run import InternalError, summary_of

    try:
        with Bar(wanted=not args.quiet) as bar:
            return validate(before, after, options, Course(tell=bar.hear))
    except ReadError:
        raise
    except Exception as error:
        from .bundle import write_bundle

        details = error.details if isinstance(error, InternalError) else traceback.format_exc()
        summary = str(error) if isinstance(error, InternalError) else summary_of(error)
        folder = write_bundle(before, after, command, details, options.relations)
        message = f"{summary}; inputs and details are in '{folder}'"
        print(f"{after.name}: internal error: {message}", file=sys.stderr)
        writer.failure(Failure(after.name, message, internal=True))
        return None


def _problems(options: Options, args: argparse.Namespace, writer: Writer, command: list[str]) -> ExitCode:
    """Validates the problems of a file; the exit code also tells whether the verdicts are as the file expects."""
    from .read.files import check_holds_problems
    from .run import Source, validate_sources

    try:
        source = Source.of_file(args.before)
        check_holds_problems(source.data, source.name)
    except ReadError as error:
        _say_unreadable(error, writer)
        return ExitCode.UNREADABLE

    from .problem_run import run_problems, unexpected
    from .problems import Problem

    def validate(problem: Problem) -> Report | None:
        report = _report(problem.spec, problem.impl, problem.options, args, writer, command, validate_sources)
        if report is not None:
            report = problem.named(report)
            _say(report, args, writer)
        return report

    verifying = args.verify_diagnostics
    args.quiet |= verifying
    outcomes = []
    try:
        for outcome in run_problems(source, options, args.split_input_file, validate):
            outcomes.append(outcome)
            for each in () if verifying else outcome.diagnostics:
                print(each, file=sys.stderr)
                writer.failure(Failure(each.where, each.message))
    except ReadError as error:
        _say_unreadable(error, writer)
        return ExitCode.UNREADABLE
    codes = [outcome.code for outcome in outcomes]
    if not verifying:
        return ExitCode.worst(codes)
    wrong = unexpected(source, outcomes)
    for each in wrong:
        print(each, file=sys.stderr)
    return ExitCode.worst([ExitCode.UNMET] * bool(wrong) + [code for code in codes if code is ExitCode.INTERNAL])


def _say(report: Report, args: argparse.Namespace, writer: Writer) -> None:
    from .report import text
    from .report.diagnostic import lines_of
    from .report.terminal import print_lines

    writer.report(report)
    if not args.quiet:
        print_lines(lines_of(text.diagnose(report, verbose=args.verbose), report.after), sys.stderr)
    if args.stats:
        for line in text.stats_lines(report.stats):
            print(line, file=sys.stderr)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _write_problem(report: Report, before: Source, after: Source, path: str, options: Options) -> None:
    """Writes the pair as a problem that expects what has come out of it."""
    from ..dialect.build import problem_text

    text = problem_text(
        before.data,
        after.data,
        expect=report.verdict,
        theory=options.theory,
        relations=options.relations.data if options.relations is not None else None,
        assume=options.assumptions,
        proof=report.theory,
    )
    with _open(path) as file:
        file.write(text)


def _replay(report: Report, before: Source, after: Source, path: str, options: Options) -> None:
    from .report.replay import replay_script

    if report.counterexample is None:
        print(f"{report.after}: note: no counterexample, so '{path}' is not written", file=sys.stderr)
        return
    with _open(path) as file:
        file.write(replay_script(report, before, after, options))


def _certificate(report: Report, path: str) -> None:
    if report.certificate is None:
        why = [note.text for note in report.notes if note.text.startswith("no certificate: ")]
        reason = why[0] if why else "no certificate: nothing is proved"
        print(f"{report.after}: note: {reason}, so '{path}' is not written", file=sys.stderr)
        return
    with _open(path) as file:
        file.write(report.certificate)


def _say_unreadable(error: ReadError, writer: Writer) -> None:
    message = " ".join(error.message.split())
    print(f"{error.where}: error: {message}", file=sys.stderr)
    writer.failure(Failure(error.where, message))


def _say_counts(codes: list[ExitCode]) -> None:
    def counts() -> Iterator[str]:
        for code in ExitCode:
            if count := codes.count(code):
                yield f"{count} {code.name.lower().replace('_', ' ')}"

    print(f"{len(codes)} pairs: {', '.join(counts())}", file=sys.stderr)


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not a regular expression: {error}") from None
    return text


def _count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive whole number")
    return count


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number of seconds")
    return seconds


if __name__ == "__main__":
    sys.exit(main())
