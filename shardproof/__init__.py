"""Proves that a partitioned JAX or XLA program computes what the single-device program computes.

    import shardproof

    report = shardproof.validate_modules("before.hlo.txt", "after.hlo.txt")
    print(report)

Importing the package is cheap: everything below it is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardproof.validator.api import validate_modules as validate_modules
    from shardproof.validator.ops.record import Theory as Theory
    from shardproof.validator.options import Assumption as Assumption
    from shardproof.validator.read.errors import ReadError as ReadError
    from shardproof.validator.read.errors import ReadErrorKind as ReadErrorKind
    from shardproof.validator.report.report import Report as Report
    from shardproof.validator.report.verdict import Verdict as Verdict
    from shardproof.validator.run import InternalError as InternalError

__version__ = "0.1.0"

_HOMES = {
    "Assumption": "options",
    "InternalError": "run",
    "ReadError": "read.errors",
    "ReadErrorKind": "read.errors",
    "Report": "report.report",
    "Theory": "ops.record",
    "Verdict": "report.verdict",
    "validate_modules": "api",
}
"""Where each public name lives below `shardproof.validator`."""

__all__ = [
    "Assumption",
    "InternalError",
    "ReadError",
    "ReadErrorKind",
    "Report",
    "Theory",
    "Verdict",
    "__version__",
    "validate_modules",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".validator.{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
