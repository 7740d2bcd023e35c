"""Small tools for rewriting MLIR through jaxlib's bindings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..validator.compat import ir

Mapping = dict[ir.Value, ir.Value]

RETURNS = frozenset({"func.return", "stablehlo.return", "sdy.return", "mhlo.return"})


def body_of(module: ir.Operation) -> ir.Block:
    """The one block of a module."""
    return module.regions[0].blocks[0]


def functions(module: ir.Operation) -> dict[str, ir.Operation]:
    """The module's functions by name, those without a body included."""
    return {
        attributes(view.operation)["sym_name"].value: view.operation
        for view in body_of(module)
        if view.operation.name == "func.func"
    }


def device_counts(module: ir.Operation) -> tuple[int, int] | None:
    """Replicas and partitions, where the module states them."""
    stated = attributes(module)
    keys = ("mhlo.num_replicas", "mhlo.num_partitions")
    if not any(key in stated for key in keys):
        return None
    replicas, partitions = (stated[key].value if key in stated else 1 for key in keys)
    return replicas, partitions


def state_device_counts(module: ir.Module, counts: tuple[int, int]) -> None:
    """Writes replicas and partitions into a module that does not state them, as JAX does."""
    if device_counts(module.operation) is None:
        number = ir.IntegerType.get_signless(32, module.context)
        for key, count in zip(("mhlo.num_replicas", "mhlo.num_partitions"), counts, strict=True):
            module.operation.attributes[key] = ir.IntegerAttr.get(number, count)


def is_private(function: ir.Operation) -> bool:
    return "sym_visibility" in function.attributes and attributes(function)["sym_visibility"].value == "private"


def attributes(op: ir.Operation) -> Any:
    """An operation's attributes, with the classes they have at run time, which the stubs do not know."""
    return op.attributes


def nested(op: ir.Operation) -> list[ir.Operation]:
    """All operations below one, the outer before the inner; a list, so that the caller may erase what it has seen."""
    found: list[ir.Operation] = []
    pending = [op]
    while pending:
        current = pending.pop()
        inner = [view.operation for region in current.regions for block in region.blocks for view in block]
        found.extend(inner)
        pending.extend(reversed(inner))
    return found


def defining_op(value: ir.Value) -> ir.Operation | None:
    """The operation whose result a value is; None for the argument of a block."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def is_used(op: ir.Operation) -> bool:
    """Whether anything uses a result."""
    return any(True for result in op.results for _ in result.uses)


def replace(op: ir.Operation, values: Iterable[ir.Value]) -> None:
    """Erases an operation after its uses have been given other values."""
    for result, value in zip(list(op.results), list(values), strict=True):
        result.replace_all_uses_with(value)
    op.erase()


def clone_body(
    block: ir.Block, mapping: Mapping, before: ir.Operation, call: ir.Location | None = None
) -> list[ir.Value]:
    """Clones the operations of a block in front of another one, and gives what the clone returns.

    `mapping` holds values for the block's arguments, and afterwards also those for the results of its operations.
    With the location of a `call`, the clones tell that they are below it.
    """
    *ops, terminator = [view.operation for view in block]
    point = ir.InsertionPoint(before)
    for op in ops:
        clone = clone_op(op, mapping, point)
        if call is not None:
            for part in (clone, *nested(clone)):
                part.location = ir.Location.callsite(part.location, [call])  # type: ignore[misc]
    return [mapping.get(value, value) for value in terminator.operands]


def clone_op(op: ir.Operation, mapping: Mapping, point: ir.InsertionPoint) -> ir.Operation:
    """One operation cloned, with what it and its regions read from outside mapped."""
    clone = op.clone(ip=point).operation
    for reader in (clone, *nested(clone)):
        for k, operand in enumerate(list(reader.operands)):
            if operand in mapping:
                reader.operands[k] = mapping[operand]
    mapping.update(zip(op.results, clone.results, strict=True))
    return clone


def read_from_outside(ops: Sequence[ir.Operation]) -> Iterator[ir.Value]:
    """Each value that the operations or their regions read and that none of them defines, once, in order of use."""
    inside: set[ir.Value] = set()
    for op in ops:
        for part in (op, *nested(op)):
            inside.update(part.results)
            inside.update(
                argument for region in part.regions for block in region.blocks for argument in block.arguments
            )
    seen: set[ir.Value] = set()
    for op in ops:
        for part in (op, *nested(op)):
            for operand in part.operands:
                if operand not in inside and operand not in seen:
                    seen.add(operand)
                    yield operand


def build(
    name: str,
    results: Sequence[ir.Type],
    operands: Sequence[ir.Value],
    point: ir.InsertionPoint,
    location: ir.Location,
    **attributes_: ir.Attribute,
) -> ir.Operation:
    """A new operation without regions."""
    return ir.Operation.create(
        name, results=results, operands=operands, attributes=attributes_, ip=point, loc=location
    ).operation


def build_function(
    name: str,
    arguments: Sequence[ir.Type],
    results: Sequence[ir.Type],
    point: ir.InsertionPoint,
    location: ir.Location,
    *,
    private: bool = False,
) -> ir.Operation:
    """A new function with an empty block."""
    told: dict[str, ir.Attribute] = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(arguments), list(results))),
    }
    if private:
        told["sym_visibility"] = ir.StringAttr.get("private")
    function = ir.Operation.create("func.func", attributes=told, regions=1, ip=point, loc=location).operation
    ir.Block.create_at_start(function.regions[0], list(arguments), [location] * len(arguments))
    return function
