"""The pass `inline-calls`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..validator.compat import ir
from ..validator.read.manual_forms import is_body
from .base import ModulePass, PassFailure
from .rewriting import attributes, clone_body, functions, is_private, nested, replace

CALLEE = {"func.call": "callee", "stablehlo.composite": "decomposition"}
"""Where each kind of call names its function."""


@dataclass(frozen=True)
class InlineCalls(ModulePass):
    """Puts the operations of called functions in place of `func.call` and `stablehlo.composite`.

    Private functions that nothing calls any more are removed. MLIR's own `inline` leaves these calls alone, since no
    dialect in jaxlib tells it that they may be inlined. A recursive call is an error, as is one of a function without a
    body. The body of a manual region (`@xla.sdy.manual_computation_body`) stays a function: what it computes on is one
    device's part of a tensor.

    ```mlir
    func.func private @double(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %a, %a : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = call @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    // becomes
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    """

    name: ClassVar[str] = "inline-calls"

    def apply(self, module: ir.Operation) -> None:
        callees = functions(module)
        done: set[str] = set()
        # Callees before callers, so that each body is cloned when it has no calls any more.
        for name in callees:
            self._flatten(name, callees, done)
        called = {attributes(op)[CALLEE[op.name]].value for op in nested(module) if op.name in CALLEE}
        for name, function in callees.items():
            if is_private(function) and name not in called:
                function.erase()

    def _flatten(self, name: str, callees: dict[str, ir.Operation], done: set[str]) -> None:
        active: list[str] = []
        pending: list[tuple[str, bool]] = [(name, False)]
        while pending:
            current, entered = pending.pop()
            if entered:
                active.pop()
                self._inline(callees[current], callees)
                done.add(current)
                continue
            if current in done:
                continue
            active.append(current)
            pending.append((current, True))
            for call in _calls(callees[current]):
                callee = attributes(call)[CALLEE[call.name]].value
                if callee not in callees or not len(callees[callee].regions[0].blocks):
                    raise PassFailure(call.location, f"call of '@{callee}', which has no body")
                if callee in active:
                    raise PassFailure(call.location, f"recursive call of '@{callee}'")
                if callee not in done:
                    pending.append((callee, False))

    def _inline(self, function: ir.Operation, callees: dict[str, ir.Operation]) -> None:
        for call in _calls(function):
            block = callees[attributes(call)[CALLEE[call.name]].value].regions[0].blocks[0]
            mapping = dict(zip(block.arguments, call.operands, strict=True))
            replace(call, clone_body(block, mapping, call, call.location))


def _calls(function: ir.Operation) -> list[ir.Operation]:
    calls = [op for op in nested(function) if op.name in CALLEE]
    return [op for op in calls if not is_body(attributes(op)[CALLEE[op.name]].value)]
