"""Operations that are read as others: CHLO operations that HLO does not have as what XLA makes of them.

CHLO defines its operations by what they are made of, and jaxlib's own conversion to HLO writes that out. Here it does
so for one operation at a time, so that a program as JAX wrote it and the modules that XLA dumps compute the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from .. import compat
from ..compat import ir
from .fourier import one_by_one
from .greatest import sorted_and_cut

_KEPT = frozenset({"chlo.erf", "chlo.mulhi", "chlo.square"})
"""What HLO has an operation for, or a rule relates."""

_CONTRACTIONS = frozenset({"stablehlo.dot", "stablehlo.dot_general"})
_SMALL = ("i1", "i4", "ui4", "i8", "ui8")
_HELD = {
    "bf16": _SMALL,
    "f16": _SMALL,
    "f32": (*_SMALL, "i16", "ui16", "bf16", "f16"),
    "f64": (*_SMALL, "i16", "ui16", "i32", "ui32", "bf16", "f16", "f32"),
    "i32": (*_SMALL, "i16", "ui16"),
}
"""By element type: types all of whose values it has. XLA converts no operand of a contraction where that is so."""

WRITTEN_OUT = frozenset({"chlo.top_k", "mhlo.topk", "stablehlo.dot", "stablehlo.dot_general", "stablehlo.fft"})
"""Operations that may be others that are written here."""


class Expansions:
    """The blocks that stand for operations, each kind of operation converted once."""

    def __init__(self) -> None:
        self._known: dict[Hashable, ir.Block | None] = {}
        self._modules: list[ir.Module] = []

    def block(self, op: ir.Operation) -> ir.Block | None:
        """A block whose arguments are the operation's operands and which returns its results; None for all others."""
        if (op.name not in WRITTEN_OUT and not op.name.startswith("chlo.")) or op.name in _KEPT or len(op.regions):
            return None
        types = (*(value.type for value in op.operands), *(value.type for value in op.results))
        if any(not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape for type_ in types):
            return None
        key = (op.name, *types, *((name, op.attributes[name]) for name in op.attributes))
        if key not in self._known:
            self._known[key] = self._converted(op)
        return self._known[key]

    def _converted(self, op: ir.Operation) -> ir.Block | None:
        if op.name in WRITTEN_OUT:
            return self._written_out(op)
        alone = _alone(op)
        try:
            module = compat.parse_module(compat.through_hlo(alone), op.context)
        except (RuntimeError, ValueError, ir.MLIRError):
            return None
        functions = [view.operation for view in module.body]
        if len(functions) != 1 or functions[0].name != "func.func":
            return None
        (block,) = functions[0].regions[0].blocks
        before, after = _types(alone), _types(module)
        if before != after or any(view.operation.name.startswith("chlo.") for view in block):
            return None
        self._modules.append(module)
        return block

    def _written_out(self, op: ir.Operation) -> ir.Block | None:
        if op.name in _CONTRACTIONS:
            return self._of_one_type(op)
        text = _transforms(op) if op.name == "stablehlo.fft" else _greatest(op)
        if text is None:
            return None
        module = compat.parse_module(text, op.context)
        self._modules.append(module)
        (function,) = [view.operation for view in module.body]
        (block,) = function.regions[0].blocks
        return block

    def _of_one_type(self, op: ir.Operation) -> ir.Block | None:
        """A contraction of two types whose result has one of them that holds the other: this one is converted first."""
        wanted = ir.RankedTensorType(op.results[0].type).element_type
        given = [ir.RankedTensorType(value.type) for value in op.operands]
        others = [str(type_.element_type) for type_ in given if type_.element_type != wanted]
        if len(others) != 1 or others[0] not in _HELD.get(str(wanted), ()):
            return None
        with op.context, ir.Location.unknown():
            module = _alone(op, [ir.RankedTensorType.get(type_.shape, wanted) for type_ in given])
        self._modules.append(module)
        return module.body.operations[0].regions[0].blocks[0]


def _transforms(op: ir.Operation) -> str | None:
    kind = str(op.attributes["fft_type"]).rstrip(">").rpartition(" ")[2]
    lengths = list(ir.DenseI64ArrayAttr(op.attributes["fft_length"]))
    return one_by_one(kind, lengths, str(op.operands[0].type), str(op.results[0].type))


def _greatest(op: ir.Operation) -> str | None:
    """A selection of the greatest elements, of which equal ones keep their order; None of any other."""
    told = {name: str(op.attributes[name]) for name in op.attributes}
    if "false" in (told.get("largest"), told.get("is_stable")):
        return None
    operand, places = (ir.RankedTensorType(value.type) for value in (op.operands[0], op.results[1]))
    element, k = str(operand.element_type), ir.RankedTensorType(op.results[0].type).shape[-1]
    return sorted_and_cut(operand.shape, k, element, str(places.element_type), is_float="f" in element)


def _alone(op: ir.Operation, converted: Sequence[ir.Type] = ()) -> ir.Module:
    """A module of one function that does nothing else than this operation, on operands `converted` to other types."""
    with op.context, ir.Location.unknown():
        inputs, outputs = [value.type for value in op.operands], [value.type for value in op.results]
        module = ir.Module.create()
        attributes = {
            "sym_name": ir.StringAttr.get("main"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, outputs)),
        }
        with ir.InsertionPoint(module.body):
            function = ir.Operation.create("func.func", attributes=attributes, regions=1)
        block = function.regions[0].blocks.append(*inputs)
        with ir.InsertionPoint(block):
            given = {name: op.attributes[name] for name in op.attributes}
            operands: list[ir.Value] = list(block.arguments)
            for number, type_ in enumerate(converted):
                if type_ != inputs[number]:
                    made = ir.Operation.create("stablehlo.convert", results=[type_], operands=[operands[number]])
                    operands[number] = made.results[0]
            only = ir.Operation.create(op.name, results=outputs, operands=operands, attributes=given)
            ir.Operation.create("func.return", operands=list(only.results))
        return module


def _types(module: ir.Module) -> str:
    return str(module.body.operations[0].attributes["function_type"])
