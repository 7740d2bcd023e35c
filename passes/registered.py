"""Passes that jaxlib registers: MLIR's, StableHLO's and Shardy's, run by their name in a pipeline."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO

from jaxlib.mlir.passmanager import PassManager

from ..validator import compat
from ..validator.compat import ir
from ..validator.report.diagnostic import Diagnostic, Severity
from .diagnostics import of_mlir

_lock = threading.Lock()
_registered: list[bool] = []

ABORTING = "sdy-"
"""Passes with this prefix end the process on IR that they do not expect, so they run in another one."""


def register() -> None:
    """Makes the names of StableHLO's passes known; those of MLIR and Shardy are from the start."""
    with _lock:
        if not _registered:
            compat.stablehlo_attributes.register_stablehlo_passes()
            _registered.append(True)


def check(text: str) -> str | None:
    """Why a part of a pipeline, such as `cse` or `func.func(cse)`, cannot be run; None where it can."""
    register()
    try:
        with compat.new_context():
            PassManager.parse(f"builtin.module({text})")
    except (ir.MLIRError, ValueError) as error:
        return str(error).strip().partition("\n")[0].partition("error: ")[2] or str(error).partition("\n")[0]
    return None


def run(text: str, module: ir.Module, source: str) -> tuple[ir.Module, list[Diagnostic]]:
    """What a part of a pipeline makes of a module, and what it said; where it said an error, the module is spoilt."""
    return run_apart(text, module, source) if ABORTING in text else run_here(text, module, source)


def run_here(text: str, module: ir.Module, source: str) -> tuple[ir.Module, list[Diagnostic]]:
    register()
    said: list[Diagnostic] = []
    try:
        with module.context:
            PassManager.parse(f"builtin.module({text})").run(module.operation)
    except ir.MLIRError as error:
        said += of_mlir(error, source)
    return module, said


def run_apart(text: str, module: ir.Module, source: str) -> tuple[ir.Module, list[Diagnostic]]:
    """`run_here` in a process of its own, whose death is an error."""
    (outcome,) = run_all_apart([text], module, source)
    return (module if outcome.module is None else outcome.module), list(outcome.said)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one part of a pipeline left, None after an error, and what it said."""

    text: str
    module: ir.Module | None
    said: tuple[Diagnostic, ...]


def run_all_apart(texts: Sequence[str], module: ir.Module, source: str, timeout: float | None = None) -> list[Outcome]:
    """One part after the other in one process of its own, up to the first error, which may be the process's death."""
    unregistered = module.context.allow_unregistered_dialects
    request = (tuple(texts), module.operation.get_asm(enable_debug_info=True), source, unregistered)
    # A fresh interpreter, and -P so that the working directory shadows no module.
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "SHARDPROOF": "off"},
    )
    late = ""
    try:
        out, err = process.communicate(pickle.dumps(request), timeout=timeout)
    except subprocess.TimeoutExpired:
        late = f"did not end within {timeout:g} s"
        process.kill()
        out, err = process.communicate()
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    answers = BytesIO(out)
    outcomes: list[Outcome] = []
    for text in texts:
        try:
            result, said = pickle.load(answers)
        except (EOFError, pickle.UnpicklingError):
            fault = late or f"ended its process: {_death(process, err)}"
            return [*outcomes, Outcome(text, None, (Diagnostic(Severity.ERROR, f"'{text}' {fault}", source),))]
        outcomes.append(Outcome(text, result and compat.parse_module(result, module.context), tuple(said)))
        if result is None:
            break
    return outcomes


def _death(process: subprocess.Popen[bytes], err: bytes) -> str:
    """How a process ended, with the check that failed where it says one."""
    code = process.returncode
    how = signal.Signals(-code).name if code < 0 else f"code {code}"
    lines = err.decode(errors="replace").strip().splitlines()
    why = next((line for line in lines if "Check failed" in line or "Assertion" in line or "LLVM ERROR" in line), "")
    return f"{how}{': ' if why else ''}{why}"


def main() -> None:
    """The process: one request on stdin, one answer a part on stdout."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    texts, asm, source, unregistered = pickle.loads(sys.stdin.buffer.read())
    module = compat.parse_module(asm, compat.new_context(allow_unregistered=unregistered))
    for text in texts:
        module, said = run_here(text, module, source)
        failed = any(one.severity is Severity.ERROR for one in said)
        pickle.dump((None if failed else module.operation.get_asm(enable_debug_info=True), said), out)
        out.flush()
        if failed:
            return


if __name__ == "__main__":
    main()
