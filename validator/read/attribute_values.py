"""MLIR attributes and types as plain Python values.

Integers, floats, booleans and strings become themselves, a string that is not UTF-8 bytes; a unit attribute is True;
arrays are tuples; a dictionary is a dict; a type is a `Type`; a symbol is its name. A dense tensor of integers that is
not a constant's value becomes nested tuples (`padding` of `reduce_window` is a tuple of (low, high) pairs).
Enumerations are their keyword, a comparison direction is a `Comparison`, a channel handle is (handle, type). What has
no plain form stays as MLIR text, so that nobody can mistake it for something he knows.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..compat import ir, stablehlo_attributes
from .attributes import Comparison, ConvDims, DotDims, GatherDims, ScatterDims
from .ir import DType, TensorType, TokenType, TupleType, Type

_ENUM = re.compile(r"#(?:stablehlo|chlo|mhlo)<(\w+) (\w+)>")
_CHANNEL = re.compile(r"#\w+\.channel_handle<handle = (-?\d+), type = (-?\d+)>")
_DTYPES = {dtype.value: dtype for dtype in DType}


class UnsupportedType(ValueError):
    """A type that a `Program` cannot hold: dynamic, quantised, sparse, or of another dialect."""


class AttributeReader:
    """Converts each distinct attribute and type once."""

    def __init__(self) -> None:
        self._values: dict[ir.Attribute, Any] = {}
        self._types: dict[ir.Type, Type | TupleType] = {}
        self._interned: dict[Type | TupleType, Type | TupleType] = {}

    def type(self, type_: ir.Type) -> Type | TupleType:
        known = self._types.get(type_)
        if known is None:
            converted = self._convert_type(type_)
            known = self._types[type_] = self._interned.setdefault(converted, converted)
        return known

    def value(self, attribute: ir.Attribute) -> Any:
        known = self._values.get(attribute)
        if known is None:
            known = self._values[attribute] = self._convert(attribute)
        return known

    def _convert_type(self, type_: ir.Type) -> Type | TupleType:
        if isinstance(type_, ir.RankedTensorType):
            if not type_.has_static_shape:
                raise UnsupportedType(f"dynamic shape '{type_}' is not supported")
            if type_.encoding is not None:
                raise UnsupportedType(f"tensor encoding of '{type_}' is not supported")
            dtype = _DTYPES.get(str(type_.element_type))
            if dtype is None:
                raise UnsupportedType(f"element type of '{type_}' is not supported")
            return TensorType(tuple(type_.shape), dtype)
        if isinstance(type_, ir.TupleType):
            elements = [self.type(type_.get_type(k)) for k in range(type_.num_types)]
            flat = tuple(element for element in elements if not isinstance(element, TupleType))
            if len(flat) < len(elements):
                raise UnsupportedType("a tuple inside a tuple is not supported")
            return TupleType(flat)
        text = str(type_)
        if text in ("!stablehlo.token", "!mhlo.token"):
            return TokenType()
        raise UnsupportedType(f"type '{text}' is not supported")

    def _convert(self, attribute: ir.Attribute) -> Any:
        if isinstance(attribute, ir.StringAttr):
            # The configuration of a custom call may be any bytes.
            raw = attribute.value_bytes
            try:
                return raw.decode()
            except UnicodeDecodeError:
                return raw
        if isinstance(attribute, (ir.BoolAttr, ir.IntegerAttr, ir.FlatSymbolRefAttr)):
            return attribute.value
        if isinstance(attribute, ir.FloatAttr):
            return float(attribute.value)
        if isinstance(attribute, _DENSE_ARRAYS):
            return tuple(attribute)
        if isinstance(attribute, ir.ArrayAttr):
            return tuple(self.value(element) for element in attribute)
        if isinstance(attribute, ir.DictAttr):
            return {named.name: self.value(named.attr) for named in attribute}
        if isinstance(attribute, ir.UnitAttr):
            return True
        if isinstance(attribute, ir.TypeAttr):
            return self.type(attribute.value)
        if isinstance(attribute, ir.DenseIntElementsAttr):
            return _nested(np.array(attribute).tolist())
        return self._structured(attribute, str(attribute))

    def _structured(self, attribute: ir.Attribute, text: str) -> Any:
        enum = _ENUM.fullmatch(text)
        if enum is not None:
            return Comparison(enum[2]) if enum[1] == "comparison_direction" else enum[2]
        channel = _CHANNEL.fullmatch(text)
        if channel is not None:
            return int(channel[1]), int(channel[2])
        if text.startswith("#stablehlo.dot<"):
            dot = stablehlo_attributes.DotDimensionNumbers(attribute)
            return DotDims(
                lhs_batch=tuple(dot.lhs_batching_dimensions),
                rhs_batch=tuple(dot.rhs_batching_dimensions),
                lhs_contracting=tuple(dot.lhs_contracting_dimensions),
                rhs_contracting=tuple(dot.rhs_contracting_dimensions),
            )
        if text.startswith("#stablehlo.conv<"):
            conv = stablehlo_attributes.ConvDimensionNumbers(attribute)
            return ConvDims(
                input_batch=conv.input_batch_dimension,
                input_feature=conv.input_feature_dimension,
                input_spatial=tuple(conv.input_spatial_dimensions),
                kernel_input_feature=conv.kernel_input_feature_dimension,
                kernel_output_feature=conv.kernel_output_feature_dimension,
                kernel_spatial=tuple(conv.kernel_spatial_dimensions),
                output_batch=conv.output_batch_dimension,
                output_feature=conv.output_feature_dimension,
                output_spatial=tuple(conv.output_spatial_dimensions),
            )
        if text.startswith("#stablehlo.gather<"):
            gather = stablehlo_attributes.GatherDimensionNumbers(attribute)
            return GatherDims(
                offset_dims=tuple(gather.offset_dims),
                collapsed_slice_dims=tuple(gather.collapsed_slice_dims),
                operand_batching_dims=tuple(gather.operand_batching_dims),
                start_indices_batching_dims=tuple(gather.start_indices_batching_dims),
                start_index_map=tuple(gather.start_index_map),
                index_vector_dim=gather.index_vector_dim,
            )
        if text.startswith("#stablehlo.scatter<"):
            scatter = stablehlo_attributes.ScatterDimensionNumbers(attribute)
            return ScatterDims(
                update_window_dims=tuple(scatter.update_window_dims),
                inserted_window_dims=tuple(scatter.inserted_window_dims),
                input_batching_dims=tuple(scatter.input_batching_dims),
                scatter_indices_batching_dims=tuple(scatter.scatter_indices_batching_dims),
                scatter_dims_to_operand_dims=tuple(scatter.scattered_dims_to_operand_dims),
                index_vector_dim=scatter.index_vector_dim,
            )
        return text


_DENSE_ARRAYS = (
    ir.DenseI64ArrayAttr,
    ir.DenseI32ArrayAttr,
    ir.DenseI16ArrayAttr,
    ir.DenseI8ArrayAttr,
    ir.DenseBoolArrayAttr,
    ir.DenseF32ArrayAttr,
    ir.DenseF64ArrayAttr,
)


def _nested(value: Any) -> Any:
    return tuple(map(_nested, value)) if isinstance(value, list) else value
