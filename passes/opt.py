"""The command `shardproof-opt`: runs passes over modules, by the conventions of `mlir-opt`."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

from ..validator.command import run_command
from ..validator.read.errors import ReadError
from ..validator.report.expected import MARKER, disagreements, split_input

if TYPE_CHECKING:
    from ..validator.compat import ir
    from ..validator.report.diagnostic import Diagnostic
    from .pipeline import Stage

PROGRAM = "shardproof-opt"

_EPILOG = """\
The module goes to stdout, diagnostics go to stderr. Exit code 0, or 1 after any error, 70 after an internal one. A pass
is a flag of its own (--inline-calls, --unroll-loops=max-trips=8), in the order of the command line, or stands in
--pass-pipeline; passes that jaxlib registers (cse, canonicalize, sdy-…) stand there only."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """mlir-opt's exit code for a wrong command line is 1."""
        self.exit(1, f"{PROGRAM}: error: {message}\n")


def parser() -> argparse.ArgumentParser:
    """The command line without the flags of passes; the CLI reference in docs/ is generated from it."""
    result = _Parser(
        prog=PROGRAM,
        description="Runs passes over a StableHLO module.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    inputs = result.add_argument_group("input")
    inputs.add_argument("input", nargs="?", default="-", metavar="FILE", help="MLIR or HLO, '-' or none reads stdin")
    inputs.add_argument(
        "--split-input-file", action="store_true", help=f"the parts between lines '{MARKER}' are modules of their own"
    )
    inputs.add_argument(
        "--allow-unregistered-dialect", action="store_true", help="take operations of dialects that are not known"
    )

    passes = result.add_argument_group("passes")
    passes.add_argument("--pass-pipeline", metavar="TEXT", help="'builtin.module(pass{option=value},…)'")
    passes.add_argument("--list-passes", action="store_true", help="print every pass and its options")
    passes.add_argument("--dump-pass-pipeline", action="store_true", help="print the pipeline that is run to stderr")

    output = result.add_argument_group("output")
    output.add_argument("-o", dest="output", metavar="FILE", help="write the module to FILE instead of stdout")
    output.add_argument(
        "--verify-diagnostics",
        action="store_true",
        help="fail unless the errors and remarks are those in the input's '// expected-error {{…}}' comments",
    )
    output.add_argument("--print-ir-after-all", action="store_true", help="print the module to stderr after every pass")
    output.add_argument("--mlir-print-debuginfo", action="store_true", help="print locations")
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    return run_command(PROGRAM, _run, argv, pipe_closed=1, unwritable=1)


def _run(arguments: list[str]) -> int:
    from ..validator.read.files import load
    from .pipeline import PipelineError, parse_pipeline, pipeline_text

    command_line = parser()
    args, stages = _parse(command_line, arguments)
    if args.list_passes:
        print(passes_text())
        return 0
    try:
        if args.pass_pipeline is not None:
            if stages:
                command_line.error("--pass-pipeline does not go with flags of passes")
            stages = parse_pipeline(args.pass_pipeline)
        data = load(args.input)
    except PipelineError as error:
        command_line.error(str(error))
    except ReadError as error:
        print(f"{error.where}: error: {error.message}", file=sys.stderr)
        return 1
    if args.dump_pass_pipeline:
        print(f"Pass Manager with {len(stages)} passes:\n{pipeline_text(stages)}", file=sys.stderr)
    source = "<stdin>" if args.input == "-" else args.input
    outputs, failed = [], False
    for chunk in split_input(data) if args.split_input_file else [data]:
        text, fine = _process(chunk, source, stages, args)
        failed |= not fine
        outputs += [text] if text is not None else []
    if outputs:
        with _opened(command_line, args.output) as out:
            print(f"\n{MARKER}\n".join(outputs), file=out)
    return int(failed)


def _parse(command_line: argparse.ArgumentParser, arguments: list[str]) -> tuple[argparse.Namespace, list[Stage]]:
    """The options, and the passes whose flags stand among them, in order."""
    args, rest = command_line.parse_known_args(arguments)
    stages: list[Stage] = []
    if rest:
        from .pipeline import PipelineError, parse_stage
        from .registry import PASSES

        flags = {f"--{name}" for name in PASSES}
        for argument in rest:
            flag, _, options = argument.partition("=")
            if flag not in flags:
                known = [*flags, *(option for action in command_line._actions for option in action.option_strings)]
                close = difflib.get_close_matches(flag, known, n=1)
                hint = f", did you mean '{close[0]}'?" if close else ""
                what = "unknown option" if flag.startswith("-") else "more than one input:"
                command_line.error(f"{what} '{argument}'{hint}")
            try:
                stages.append(parse_stage(f"{flag[2:]}{{{options}}}"))
            except PipelineError as error:
                command_line.error(str(error))
    return args, stages


def _opened(command_line: argparse.ArgumentParser, path: str | None) -> Any:
    if path is None or path == "-":
        return nullcontext(sys.stdout)
    try:
        return open(path, "w", encoding="utf-8")
    except OSError as error:
        command_line.error(f"cannot write '{path}': {(error.strerror or str(error)).lower()}")


def _process(data: bytes, source: str, stages: Sequence[Stage], args: argparse.Namespace) -> tuple[str | None, bool]:
    """What becomes of one module, as text where there is one, and whether all went as it should."""
    from ..validator.report.diagnostic import Severity, lines_of

    module, said = _read_and_run(data, source, stages, args)
    fine = not any(one.severity is Severity.ERROR for one in said)
    if args.verify_diagnostics:
        said = disagreements(data.decode(errors="replace"), source, said)
        fine = not said
    for line in lines_of(said, source):
        print(line.text, file=sys.stderr)
    return (None if module is None else _text(module, args)), fine


def _read_and_run(
    data: bytes, source: str, stages: Sequence[Stage], args: argparse.Namespace
) -> tuple[ir.Module | None, list[Diagnostic]]:
    from ..validator.read.files import identify
    from ..validator.read.program import stablehlo_of
    from ..validator.report.diagnostic import of_read_error
    from .pipeline import run_pipeline
    from .rewriting import state_device_counts

    try:
        module, counts = stablehlo_of(identify(data, source), allow_unregistered=args.allow_unregistered_dialect)
    except ReadError as error:
        return None, [of_read_error(error, source)]
    if counts is not None:
        state_device_counts(module, counts)

    def after_each(stage: Stage, module: ir.Module) -> None:
        if args.print_ir_after_all:
            print(f"// -----// IR Dump After {stage} //----- //\n{_text(module, args)}\n", file=sys.stderr)

    return run_pipeline(stages, module, source, after_each)


def _text(module: ir.Module, args: argparse.Namespace) -> str:
    return str(module.operation.get_asm(enable_debug_info=args.mlir_print_debuginfo)).rstrip("\n")


def passes_text() -> str:
    """One line a pass: its name and what it does; below it its options and their defaults."""
    from .registry import PASSES

    width = max(len(name) for name in PASSES)
    lines = []
    for name, one in PASSES.items():
        lines.append(f"--{name:<{width}}  {one.summary()}")
        lines += [f"    {field.name.replace('_', '-')}={str(field.default).lower()}" for field in one.options()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
