"""Problem files: two programs, how they relate, and the verdict that is expected, in MLIR (see docs/dialect.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..dialect.verify import verify
from .compat import ir
from .ops.record import Theory
from .options import Assumption, Options
from .read.errors import ReadError
from .read.files import PAIR_NAMES
from .read.ir import Frame
from .read.mesh_ops import MESHES
from .read.mlir_text import parse_file, place_of, position
from .report.diagnostic import Diagnostic, Severity, of_read_error
from .report.report import Report
from .report.verdict import Verdict
from .run import Source

PROBLEM = "shardproof.problem"
RELATIONS = "shardproof.relations"


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a file: what to validate, and the verdict to expect; None where the file expects none.

    `frame` is its place in the file, `proof` the theory that the proof is expected to need. `labels` name the two
    programs in reports.
    """

    frame: Frame | None
    spec: Source
    impl: Source
    labels: tuple[str, str]
    options: Options
    expect: Verdict | None = None
    proof: Theory | None = None

    def named(self, report: Report) -> Report:
        """The report with the names that the programs have in the file."""
        return replace(report, before=self.labels[0], after=self.labels[1])

    def disagreement(self, report: Report) -> str | None:
        """How the report differs from what the file expects, None where it does not."""
        if self.expect is None:
            return None
        found = report.verdict.name + (f" ({report.theory.value})" if report.theory is not None else "")
        if report.verdict is not self.expect:
            return f"expected {self.expect.name}, found {found}"
        if self.proof is not None and report.theory is not self.proof:
            return f"expected {self.expect.name} ({self.proof.value}), found {found}"
        return None


def read_problems(data: bytes, name: str, options: Options) -> list[Problem]:
    """The problems of a file or of one of its parts; an empty list for a part without operations.

    `options` hold what a problem does not say; its own theory counts, and its assumptions are added. Paths are relative
    to the file. Raises `ProblemError` with everything that is wrong.
    """
    try:
        module = parse_file(data, name)
    except ReadError as error:
        raise ProblemError([of_read_error(error, name)]) from None
    findings = verify(module)
    if findings:
        raise ProblemError([error_at(each.operation, name, each.message) for each in findings])
    ops: list[Any] = [view.operation for view in module.body.operations]
    modules = {str(op.attributes["sym_name"].value): op for op in ops if _is_named_module(op)}
    reader = _Reader(name, options, ops, modules)
    try:
        stated = [reader.stated(op) for op in ops if op.name == PROBLEM]
        if stated or not ops:
            return stated
        if all(side in modules for side in PAIR_NAMES):
            return [reader.unstated(*(modules[side] for side in PAIR_NAMES))]
    except ReadError as error:
        raise ProblemError([of_read_error(error, name)]) from None
    message = f"no '{PROBLEM}' and no modules {' and '.join(f'@{side}' for side in PAIR_NAMES)}"
    raise ProblemError([error_at(ops[0], name, message)])


class ProblemError(Exception):
    """A part of a problem file that cannot be run: all that is wrong with it."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__("; ".join(each.message for each in diagnostics))
        self.diagnostics = diagnostics


def error_at(op: Any, name: str, message: str) -> Diagnostic:
    """An error at an operation of the file of this name."""
    return Diagnostic(Severity.ERROR, message, name, _frame(op, name))


def _frame(op: Any, name: str) -> Frame | None:
    found = position(op.location)
    return Frame(name, *found) if found else None


def _is_named_module(op: Any) -> bool:
    return op.name == "builtin.module" and "sym_name" in op.attributes


class _Reader:
    def __init__(self, name: str, options: Options, ops: list[Any], modules: dict[str, Any]) -> None:
        self.name = name
        self.options = options
        self.modules = modules
        self.meshes = [op for op in ops if op.name in MESHES]
        self.relations = next((op for op in ops if op.name == RELATIONS), None)

    def stated(self, op: Any) -> Problem:
        """The problem of a `shardproof.problem`."""
        attributes = op.attributes
        assumed = [each.value for each in attributes["assume"]] if "assume" in attributes else []
        options = replace(
            self.options,
            theory=Theory(attributes["theory"].value),
            assumptions=self.options.assumptions | {Assumption(name) for name in assumed},
            relations=self.lists(op),
        )
        sides = [self.side(attributes[side], place_of(op, self.name)) for side in ("spec", "impl")]
        proof = Theory(attributes["proof"].value) if "proof" in attributes else None
        return self.problem(op, sides, options, Verdict[attributes["expect"].value], proof)

    def unstated(self, before: Any, after: Any) -> Problem:
        """The problem that two modules and perhaps relations make, without a verdict to expect."""
        options = replace(self.options, relations=self.lists(self.relations) if self.relations is not None else None)
        return self.problem(before, [self.module(before), self.module(after)], options, None, None)

    def problem(
        self,
        op: Any,
        sides: list[tuple[Source, str]],
        options: Options,
        expect: Verdict | None,
        proof: Theory | None,
    ) -> Problem:
        (spec, spec_label), (impl, impl_label) = sides
        return Problem(_frame(op, self.name), spec, impl, (spec_label, impl_label), options, expect, proof)

    def side(self, attribute: Any, where: str) -> tuple[Source, str]:
        if not isinstance(attribute, ir.StringAttr):
            return self.module(self.modules[ir.FlatSymbolRefAttr(attribute).value])
        path = str(Path(self.name).parent / attribute.value)
        try:
            return Source.of_file(path), path
        except ReadError as error:
            raise ReadError(error.kind, where, str(error)) from None

    def module(self, op: Any) -> tuple[Source, str]:
        # Debug information keeps the places in this file.
        text = op.get_asm(enable_debug_info=True)
        return Source(self.name, text.encode()), f"{self.name}:@{op.attributes['sym_name'].value}"

    def lists(self, op: Any) -> Source | None:
        """The relations of an operation as a relation file of its own, with this file's meshes and places."""
        lists = [f"{key} = {op.attributes[key]}" for key in ("parameters", "results") if key in op.attributes]
        if not lists:
            return None
        meshes = "".join(mesh.get_asm(enable_debug_info=True, use_local_scope=True) + "\n" for mesh in self.meshes)
        text = f'{meshes}"{RELATIONS}"() {{{", ".join(lists)}}} : () -> () {op.location}\n'
        return Source(self.name, text.encode())
