"""The pass `strip-dead-values`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..validator.compat import ir
from .base import ModulePass
from .inline_calls import CALLEE
from .rewriting import RETURNS, attributes, functions, is_private, is_used, nested

_EFFECTS = frozenset({"stablehlo.infeed", "stablehlo.outfeed", "stablehlo.recv", "stablehlo.send"})
_PURE_DIALECTS = ("stablehlo.", "chlo.")
_PURE = frozenset({"mhlo.copy", "mhlo.topk", "sdy.reshard", "sdy.sharding_constraint"})


@dataclass(frozen=True)
class StripDeadValues(ModulePass):
    """Removes operations whose results nothing uses, values that a loop only hands to itself, and uncalled functions.

    What has a side effect stays: `send`, `recv`, `infeed`, `outfeed`, custom calls that say so, whatever holds or calls
    one of these, and every operation of a dialect that is not known here. A collective without a use is removed: all
    devices run the same program, so none waits for it. A loop without a use counts as one that ends.

    ```mlir
    %0 = stablehlo.negate %x : tensor<4xf32>
    %1 = stablehlo.abs %x : tensor<4xf32>
    return %1 : tensor<4xf32>
    // becomes
    %0 = stablehlo.abs %x : tensor<4xf32>
    return %0 : tensor<4xf32>
    ```
    """

    name: ClassVar[str] = "strip-dead-values"

    def apply(self, module: ir.Operation) -> None:
        effects = Effects(module)
        changed = True
        while changed:
            _strip(module, effects)
            changed = _shrink_loops(module, effects)
        while unused := _uncalled(module):
            for function in unused:
                function.erase()


class Effects:
    """Which operations do more than compute their results; functions are looked through."""

    def __init__(self, module: ir.Operation) -> None:
        self._functions = functions(module)
        self._known: dict[str, bool] = {}

    def has_effect(self, op: ir.Operation) -> bool:
        return any(self._does_more(part) for part in (op, *nested(op)))

    def _does_more(self, op: ir.Operation) -> bool:
        if op.name in CALLEE:
            return self._function(attributes(op)[CALLEE[op.name]].value)
        if op.name == "stablehlo.custom_call":
            return "has_side_effect" in op.attributes and attributes(op)["has_side_effect"].value
        if op.name in RETURNS:
            return False
        return op.name in _EFFECTS or not (op.name.startswith(_PURE_DIALECTS) or op.name in _PURE)

    def _function(self, name: str) -> bool:
        if name not in self._known:
            # A function that calls itself has an effect as long as nothing else is known.
            self._known[name] = True
            function = self._functions.get(name)
            self._known[name] = function is None or any(self._does_more(part) for part in nested(function))
        return self._known[name]


def _strip(root: ir.Operation, effects: Effects) -> None:
    """Erases what is unused below an operation; users come after what they use, so one pass from the end is enough."""
    for op in reversed(nested(root)):
        if op.name not in RETURNS and len(op.results) and not is_used(op) and not effects.has_effect(op):
            op.erase()


def _uncalled(module: ir.Operation) -> list[ir.Operation]:
    called = {attributes(op)[CALLEE[op.name]].value for op in nested(module) if op.name in CALLEE}
    return [function for name, function in functions(module).items() if is_private(function) and name not in called]


def _shrink_loops(module: ir.Operation, effects: Effects) -> bool:
    """Whether a loop was rebuilt; then what it holds has moved, and operations listed before are gone."""
    for op in nested(module):
        if op.name == "stablehlo.while":
            live = _live_carries(op, effects)
            if len(live) < len(op.results):
                _keep_carries(op, sorted(live), effects)
                return True
    return False


def _live_carries(loop: ir.Operation, effects: Effects) -> set[int]:
    """Numbers of the carried values that a result, the condition or an effect depends on."""
    condition, body = (region.blocks[0] for region in loop.regions)
    ops = [view.operation for view in body]
    returned = list(ops.pop().operands)
    live = {k for k, result in enumerate(loop.results) if any(True for _ in result.uses)}
    live |= {k for k, argument in enumerate(condition.arguments) if any(True for _ in argument.uses)}
    always = [
        operand for op in ops if effects.has_effect(op) for part in (op, *nested(op)) for operand in part.operands
    ]
    while True:
        needed = {returned[k] for k in live} | set(always)
        for op in reversed(ops):
            if any(result in needed for result in op.results):
                needed.update(operand for part in (op, *nested(op)) for operand in part.operands)
        reached = {k for k, argument in enumerate(body.arguments) if argument in needed}
        if reached <= live:
            return live
        live |= reached


def _keep_carries(loop: ir.Operation, kept: list[int], effects: Effects) -> None:
    """The loop with some of its carried values only; nothing depends on the others."""
    condition, body = (region.blocks[0] for region in loop.regions)
    terminator = list(body)[-1].operation
    returned = [terminator.operands[k] for k in kept]
    ir.Operation.create(
        "stablehlo.return", operands=returned, loc=terminator.location, ip=ir.InsertionPoint(terminator)
    )
    terminator.erase()
    _strip(loop, effects)
    for k in reversed(range(len(loop.results))):
        if k not in kept:
            condition.erase_argument(k)
            body.erase_argument(k)
    smaller = ir.Operation.create(
        "stablehlo.while",
        results=[loop.results[k].type for k in kept],
        operands=[loop.operands[k] for k in kept],
        attributes={key: loop.attributes[key] for key in loop.attributes if "sharding" not in key},
        regions=2,
        loc=loop.location,
        ip=ir.InsertionPoint(loop),
    )
    for region, block in zip(smaller.regions, (condition, body), strict=True):
        block.append_to(region)
    for position, k in enumerate(kept):
        loop.results[k].replace_all_uses_with(smaller.results[position])
    loop.erase()
