"""What a search for the first wrong pass says, as data, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .json_format import SCHEMA, report_to_json
from .report import Report
from .verdict import Verdict


@dataclass(frozen=True, slots=True)
class Step:
    """One pass: the module it was given against the module it left.

    Only passes that change a module are dumped. `passes` names the first and the last that may have made this change;
    mostly they are the same.
    """

    pipeline: str
    passes: tuple[str, str]
    report: Report

    @property
    def name(self) -> str:
        first, last = self.passes
        return f"'{last}'" if first in ("", last) else f"'{last}' or one since '{first}'"


@dataclass(frozen=True, slots=True)
class Bisection:
    """The steps of one module in order, up to the first that is REFUTED. `left_out` counts modules not looked at."""

    module: str
    steps: tuple[Step, ...]
    left_out: int
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """PROVED where every step is; else that of the worst step."""
        return Verdict.of(step.report.verdict for step in self.steps)

    @property
    def guilty(self) -> Step | None:
        """The first pass whose output differs from its input."""
        return next((step for step in self.steps if step.report.verdict is Verdict.REFUTED), None)

    @property
    def unknown(self) -> tuple[Step, ...]:
        """Passes that were neither proved nor refuted."""
        known = (Verdict.PROVED, Verdict.REFUTED)
        return tuple(step for step in self.steps if step.report.verdict not in known)

    def text(self) -> str:
        """One line, made to be found by grep."""
        guilty, count = self.guilty, len(self.steps)
        if guilty is not None:
            found = f"first wrong pass {guilty.name} of pipeline '{guilty.pipeline}', step {count}"
        else:
            proved = sum(step.report.verdict is Verdict.PROVED for step in self.steps)
            found = f"no wrong pass, {proved} of {count} steps proved"
        return f"{self.verdict.name}  {self.module}  {found}  {self.seconds:.2f} s"

    def notes(self, verbose: bool = False) -> list[str]:
        """What else there is to say, one line each."""
        shown = self.steps if verbose else self.unknown
        lines = [
            f"{step.report.after}: note: pass {step.name} of pipeline '{step.pipeline}' is {step.report.verdict.name}"
            + (f": {step.report.message}" if step.report.message else "")
            for step in shown
        ]
        if self.left_out:
            lines.append(
                f"{self.module}: note: {self.left_out} modules from the assignment of layouts on are not looked at"
            )
        return lines

    def to_json(self) -> dict[str, Any]:
        """Plain data; `report` is one of schema 1."""
        guilty = self.guilty
        return {
            "schema": SCHEMA,
            "bisection": {
                "module": self.module,
                "verdict": self.verdict.name,
                "pass": None if guilty is None else guilty.passes[1],
                "since": None if guilty is None else guilty.passes[0] or None,
                "pipeline": None if guilty is None else guilty.pipeline,
                "left_out": self.left_out,
                "seconds": round(self.seconds, 6),
                "steps": [_step(step) for step in self.steps],
            },
            "report": None if guilty is None else report_to_json(guilty.report),
        }

    def json_line(self) -> str:
        """The data as one line of strict JSON."""
        return json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False)


def _step(step: Step) -> dict[str, Any]:
    return {
        "pipeline": step.pipeline,
        "pass": step.passes[1],
        "since": step.passes[0] or None,
        "before": step.report.before,
        "after": step.report.after,
        "verdict": step.report.verdict.name,
        "theory": None if step.report.theory is None else step.report.theory.value,
        "message": step.report.message,
    }
