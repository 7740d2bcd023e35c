"""The passes `snapshot` and `validate-spmd`: translation validation inside a pipeline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..validator.api import options_of, source_of
from ..validator.compat import ir
from ..validator.options import Assumption, Options
from ..validator.read.errors import ReadError
from ..validator.report.report import Report
from ..validator.report.text import diagnostics, verdict_line
from ..validator.report.verdict import Verdict
from ..validator.run import Source, validate_sources
from .base import ModulePass, PassFailure


@dataclass(frozen=True)
class Snapshot(ModulePass):
    """Marks the module that later `validate-spmd` passes compare with, in place of the pipeline's input.

    ```
    shardproof-opt --pass-pipeline='builtin.module(inline-calls,snapshot,general-dots,validate-spmd)' module.mlir
    ```
    """

    name: ClassVar[str] = "snapshot"

    def apply(self, module: ir.Operation) -> None:
        """Changes nothing; the pipeline that runs the pass takes the snapshot."""


class NotValidated(PassFailure):
    """The module is not proved to be what it was before; `report` says why."""

    def __init__(self, location: ir.Location, report: Report) -> None:
        super().__init__(location, "\n".join([verdict_line(report), *diagnostics(report)]))
        self.report = report


@dataclass(frozen=True, eq=False)
class ValidateSpmd(ModulePass):
    """Proves that the module computes what it did before the passes in front of this one.

    The module before is the pipeline's input, or what the last `snapshot` saw. It may be the program of one device
    while the module now is the program of many: shardings tell how they relate, as for `validate-hlo`. Unless the
    verdict is PROVED the pass fails, and with it the pipeline; `report` has the verdict either way. The options are
    those of `validate-hlo`; a `timeout` of 0 sets no limit.

    In jaxlib's PassManager, between anybody's passes:

    ```python
    check = ValidateSpmd()
    manager = PassManager("builtin.module")
    manager.add(check.remember)           # the module before; or ValidateSpmd(before=...)
    manager.add("sdy-propagation-pipeline")
    manager.add(check)
    manager.run(module.operation)         # raises MLIRError unless proved
    print(check.report)
    ```
    """

    name: ClassVar[str] = "validate-spmd"
    before: Any = None
    """The module before, where no pass remembers it: a path, text, bytes or an `ir.Module`."""
    theory: str = "reassociated"
    timeout: int = 0
    seed: int = 0
    assume_indices_in_bounds: bool = False
    _remembered: list[bytes] = field(default_factory=list, init=False, repr=False)
    _reports: list[Report] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        self._options()

    def _options(self) -> Options:
        assume = [Assumption.INDICES_IN_BOUNDS] if self.assume_indices_in_bounds else []
        return options_of(self.theory, assume, self.timeout or None, self.seed)

    @property
    def report(self) -> Report | None:
        """The report of the last run."""
        return self._reports[-1] if self._reports else None

    def remember(self, module: Any, handle: Any = None) -> None:
        """Takes a module for the one before; a pass itself, that changes nothing."""
        self._remembered[:] = [source_of(module, "<before>").data]

    def apply(self, module: ir.Operation) -> None:
        before = self._remembered[-1] if self._remembered else self.before
        if before is None:
            raise PassFailure(module.location, "nothing to compare with: add 'remember' as a pass, or give 'before'")
        self.validate(source_of(before, "<before>"), module, "<after>")

    def validate(self, before: Source, module: ir.Operation, name: str) -> None:
        """`apply` with the module before given, and a name for reports; raises `NotValidated`."""
        try:
            report = validate_sources(before, source_of(module, name), self._options())
        except ReadError as error:
            raise PassFailure(module.location, str(error)) from None
        self._reports[:] = [report]
        if report.verdict is not Verdict.PROVED:
            raise NotValidated(module.location, report)
