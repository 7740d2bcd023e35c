"""Pipelines: their text, and running one pass after the other over a module."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..validator.api import source_of
from ..validator.compat import ir
from ..validator.report.diagnostic import Diagnostic, Severity
from ..validator.report.report import Report
from ..validator.report.text import diagnose
from . import registered
from .base import ModulePass, OptionError, PassFailure
from .diagnostics import error_at, of_mlir
from .registry import PASSES
from .validate_spmd import NotValidated, Snapshot, ValidateSpmd

ANCHOR = "builtin.module"


class PipelineError(ValueError):
    """A pipeline that does not exist: a name, an option or a bracket is wrong."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A pass that jaxlib knows, or a nest of such, as text."""

    text: str

    def __str__(self) -> str:
        return self.text


Stage = ModulePass | Registered


def parse_pipeline(text: str) -> list[Stage]:
    """The stages of `builtin.module(pass{option=value …},…)`; raises `PipelineError`."""
    inner = text.strip()
    if not (inner.startswith(f"{ANCHOR}(") and inner.endswith(")")):
        raise PipelineError(f"expected a pipeline '{ANCHOR}(…)', not '{text}'")
    return [parse_stage(part) for part in _split(inner[len(ANCHOR) + 1 : -1])]


def parse_stage(text: str) -> Stage:
    """One pass with its options; raises `PipelineError`."""
    name, options = _options(text)
    if not name:
        raise PipelineError("a pass without a name")
    if name in PASSES:
        try:
            return PASSES[name].with_options(options)
        except OptionError as error:
            raise PipelineError(str(error)) from None
    fault = registered.check(text)
    if fault is None:
        return Registered(text)
    close = difflib.get_close_matches(name, PASSES, n=1)
    hint = f", did you mean '{close[0]}'?" if close else ""
    raise PipelineError(f"{fault}{hint}")


def pipeline_text(stages: Sequence[Stage]) -> str:
    return f"{ANCHOR}({','.join(map(str, stages))})"


def _split(text: str) -> Iterator[str]:
    """The parts between commas outside of brackets."""
    depth, start = 0, 0
    for position, sign in enumerate(text):
        depth += (sign in "({[<") - (sign in ")}]>")
        if depth < 0:
            raise PipelineError(f"a bracket closes that was not opened: '{text[: position + 1]}'")
        if sign == "," and depth == 0:
            yield text[start:position].strip()
            start = position + 1
    if depth:
        raise PipelineError(f"a bracket is not closed: '{text}'")
    if text[start:].strip() or start:
        yield text[start:].strip()


def _options(text: str) -> tuple[str, dict[str, str]]:
    name, brace, rest = text.partition("{")
    if not brace or not rest.endswith("}"):
        return text, {}
    pairs = [part.partition("=") for part in rest[:-1].split()]
    return name, {key: value if sign else "true" for key, sign, value in pairs}


Watcher = Callable[[Stage, ir.Module], None]


def run_pipeline(
    stages: Sequence[Stage], module: ir.Module, source: str, after_each: Watcher | None = None
) -> tuple[ir.Module | None, list[Diagnostic]]:
    """The module that a pipeline leaves, and what was said; None after an error, which ends the pipeline.

    `source` names the module in messages. What `validate-spmd` compares with is the module as it comes in, or where
    the last `snapshot` stands.
    """
    said: list[Diagnostic] = []
    before = source_of(module, f"{source} (before)") if any(isinstance(s, ValidateSpmd) for s in stages) else None
    for stage in stages:
        found: list[Diagnostic] = []
        if isinstance(stage, Registered):
            module, found = registered.run(stage.text, module, source)
        else:
            try:
                with module.context, ir.Location.unknown():
                    if isinstance(stage, Snapshot):
                        before = source_of(module, f"{source} (snapshot)")
                    elif isinstance(stage, ValidateSpmd):
                        assert before is not None
                        stage.validate(before, module.operation, source)
                    else:
                        stage.apply(module.operation)
            except NotValidated as failure:
                found = _explained(failure.report)
            except PassFailure as failure:
                found = [error_at(failure.location, source, failure.message)]
            found = found or _verify(stage, module, source)
        said += found
        if any(one.severity is Severity.ERROR for one in found):
            return None, said
        if after_each is not None:
            after_each(stage, module)
    return module, said


def _verify(stage: Stage, module: ir.Module, source: str) -> list[Diagnostic]:
    """What MLIR's verifier says of the module that a pass leaves."""
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        blame = Diagnostic(Severity.NOTE, f"the pass '{stage}' left this module", source)
        return [*of_mlir(error, source), blame]
    return []


def _explained(report: Report) -> list[Diagnostic]:
    """What a report says, with the verdict in front."""
    first, *rest = diagnose(report)
    return [replace(first, message=f"{report.verdict.name}: {first.message}"), *rest]
