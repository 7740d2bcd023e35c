"""Proves that a partitioned JAX or XLA program computes what the single-device program computes.

    import shardproof

    report = shardproof.validate(jitted, *args)
    print(report)

Importing the package is cheap: everything below it is loaded when it is first used, and JAX only where the environment
variable SHARDPROOF asks for validation of the whole run.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardproof.validator.api import validate_modules as validate_modules
    from shardproof.validator.jit import NotEquivalentError as NotEquivalentError
    from shardproof.validator.jit import assert_equivalent as assert_equivalent
    from shardproof.validator.jit import compare as compare
    from shardproof.validator.jit import validate as validate
    from shardproof.validator.ops.opaque_relation import register_custom_call as register_custom_call
    from shardproof.validator.ops.record import Theory as Theory
    from shardproof.validator.options import Assumption as Assumption
    from shardproof.validator.read.errors import ReadError as ReadError
    from shardproof.validator.read.errors import ReadErrorKind as ReadErrorKind
    from shardproof.validator.report.report import Report as Report
    from shardproof.validator.report.verdict import Verdict as Verdict
    from shardproof.validator.run import InternalError as InternalError
    from shardproof.validator.session import NotEquivalentWarning as NotEquivalentWarning
    from shardproof.validator.session import Session as Session
    from shardproof.validator.session import validation as validation

__version__ = "0.1.0"

_HOMES = {
    "Assumption": "options",
    "InternalError": "run",
    "NotEquivalentError": "jit",
    "NotEquivalentWarning": "session",
    "ReadError": "read.errors",
    "ReadErrorKind": "read.errors",
    "Report": "report.report",
    "Session": "session",
    "Theory": "ops.record",
    "Verdict": "report.verdict",
    "assert_equivalent": "jit",
    "compare": "jit",
    "register_custom_call": "ops.opaque_relation",
    "validate": "jit",
    "validate_modules": "api",
    "validation": "session",
}
"""Where each public name lives below `shardproof.validator`."""

__all__ = [
    "Assumption",
    "InternalError",
    "NotEquivalentError",
    "NotEquivalentWarning",
    "ReadError",
    "ReadErrorKind",
    "Report",
    "Session",
    "Theory",
    "Verdict",
    "__version__",
    "assert_equivalent",
    "compare",
    "register_custom_call",
    "validate",
    "validate_modules",
    "validation",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".validator.{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


if os.environ.get("SHARDPROOF", "off") not in ("", "off"):
    importlib.import_module(".validator.session", __name__).start_from_environment()
