"""The command `validate-hlo`.

Imports are lazy on purpose: a wrong command line answers at once, and nothing heavy is loaded for it.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TextIO

from .command import run_command
from .command_line import PROGRAM, check, parser
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
    check(command_line, args)
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


if __name__ == "__main__":
    sys.exit(main())
