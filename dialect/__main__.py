"""Reads files of the dialect, checks them by the rules and prints them: `python -m shardproof.dialect FILE`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..validator.compat import ir
from ..validator.problems import error_at
from ..validator.read.errors import ReadError
from ..validator.read.files import load
from ..validator.read.mlir_text import parse_file, text_of
from ..validator.report.diagnostic import Diagnostic, of_read_error
from ..validator.report.expected import MARKER, disagreements, split_input
from .build import canonical, printed
from .verify import RULES, verify


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(prog="shardproof.dialect", description=__doc__, allow_abbrev=False)
    result.add_argument("file", nargs="?", default="-", metavar="FILE", help="MLIR; '-' or nothing reads stdin")
    result.add_argument("--split-input-file", action="store_true", help="take the parts between lines '// -----' apart")
    result.add_argument("--verify-diagnostics", action="store_true", help="compare diagnostics with expecting comments")
    result.add_argument("--canonicalize", action="store_true", help="give every relation its one spelling")
    result.add_argument("--list-rules", action="store_true", help="print the rules and end")
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command: 0 if all is well, 1 if a rule or an expectation is broken or the input cannot be read."""
    args = parser().parse_args(argv)
    if args.list_rules:
        for rule in RULES.values():
            print(f"{rule.name:<22} {rule.sentence}")
        return 0
    name = "<stdin>" if args.file == "-" else args.file
    try:
        data = load(args.file)
        text = text_of(data, name) if args.verify_diagnostics else ""
    except ReadError as error:
        print(f"{error.where}: error: {error.message}", file=sys.stderr)
        return 1
    found: list[Diagnostic] = []
    for number, part in enumerate(split_input(data) if args.split_input_file else [data]):
        module, diagnostics = _read(part, name)
        found += diagnostics
        if module is not None and not diagnostics and not args.verify_diagnostics:
            if args.canonicalize:
                canonical(module)
            print((f"{MARKER}\n" if number else "") + printed(module), end="")
    if args.verify_diagnostics:
        found = disagreements(text, name, found)
    for each in found:
        print(each, file=sys.stderr)
    return int(bool(found))


def _read(part: bytes, name: str) -> tuple[ir.Module | None, list[Diagnostic]]:
    try:
        module = parse_file(part, name)
    except ReadError as error:
        return None, [of_read_error(error, name)]
    return module, [error_at(each.operation, name, each.message) for each in verify(module)]


if __name__ == "__main__":
    sys.exit(main())
