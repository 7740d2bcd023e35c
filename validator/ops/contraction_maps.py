"""Which products a contraction sums at each point: pairs of relations into the left and the right operand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..read.attributes import ConvDims, DotDims
from ..read.ir import Op
from ..relation.build import Builder, affine, names

if TYPE_CHECKING:
    from ..relation.objects import Rel

PairReads = list[tuple["Rel | None", "Rel"]]
"""Relations from (point, summed index) to the left and to the right operand. Without a left one, it is zero there."""


def dot_reads(builder: Builder, op: Op) -> PairReads:
    dims = op.attributes["dot_dimension_numbers"]
    assert isinstance(dims, DotDims)
    lhs, rhs = (operand.tensor for operand in op.operands)
    type_ = op.results[0].tensor
    batch = len(dims.lhs_batch)
    lhs_free = [k for k in range(lhs.rank) if k not in dims.lhs_batch + dims.lhs_contracting]
    rhs_free = [k for k in range(rhs.rank) if k not in dims.rhs_batch + dims.rhs_contracting]
    summed = [lhs.shape[k] for k in dims.lhs_contracting]
    left, right = [""] * lhs.rank, [""] * rhs.rank
    for position, (a, b) in enumerate(zip(dims.lhs_batch, dims.rhs_batch, strict=True)):
        left[a] = right[b] = f"i{position}"
    for position, k in enumerate(lhs_free):
        left[k] = f"i{batch + position}"
    for position, k in enumerate(rhs_free):
        right[k] = f"i{batch + len(lhs_free) + position}"
    for position, (a, b) in enumerate(zip(dims.lhs_contracting, dims.rhs_contracting, strict=True)):
        left[a] = right[b] = f"i{type_.rank + position}"
    shape = [*type_.shape, *summed]
    return [(builder.moved(shape, left), builder.moved(shape, right))]


class Flavour(NamedTuple):
    """What tells one way of multiplying from another: of the left factor, of the right one, and of both."""

    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    both: tuple[str, ...] = ()

    def mirrored(self) -> Flavour:
        """Of the same products with their factors exchanged."""
        return Flavour(self.right, self.left, self.both)


PLAIN = Flavour()
"""Of a product that says nothing of its precision and algorithm."""


def flavour(op: Op) -> Flavour:
    """Precision and algorithm where they are not the default, which files also leave out."""
    precision = op.attributes.get("precision_config")
    names_ = tuple(map(str, precision)) if isinstance(precision, (list, tuple)) else (str(precision or "DEFAULT"),)
    left, right = ([] if name.upper() == "DEFAULT" else [name] for name in (names_ * 2)[:2])
    fields = str(op.attributes.get("algorithm") or "")
    both = [_SIDES.sub("", fields)]
    for side, mine in ((left, "lhs"), (right, "rhs")):
        side += [f"{name} {value}" for which, name, value in _SIDES.findall(fields) if which == mine]
    return Flavour(tuple(left), tuple(right), tuple(filter(None, both)))


_SIDES = re.compile(r"\b(lhs|rhs)_(\w+) = ([^,<>]+)")
"""What an algorithm says of one factor."""


def convolution_reads(builder: Builder, op: Op) -> PairReads | None:
    """Positions in padding or between dilated elements are products with the constant zero, as the op computes them."""
    dims = op.attributes["dimension_numbers"]
    assert isinstance(dims, ConvDims)
    lhs, rhs = (operand.tensor for operand in op.operands)
    type_ = op.results[0].tensor
    rank, spatial = type_.rank, len(dims.output_spatial)
    groups = int(op.attributes.get("feature_group_count", 1))
    batch_groups = int(op.attributes.get("batch_group_count", 1))
    features = rhs.shape[dims.kernel_input_feature]
    window = [rhs.shape[k] for k in dims.kernel_spatial]
    shape = [*type_.shape, features, *window]
    of, kf = f"i{dims.output_feature}", f"i{rank}"
    per_group = type_.shape[dims.output_feature] // max(groups, batch_groups)
    group = [f"{of} = {affine([(per_group, 'g'), (1, 'r')])}", f"0 <= r < {per_group}"]
    left, right = [""] * lhs.rank, [""] * rhs.rank
    left[dims.input_batch] = f"i{dims.output_batch}"
    left[dims.input_feature] = kf
    if groups > 1:
        left[dims.input_feature] = affine([(features, "g"), (1, kf)])
    if batch_groups > 1:
        left[dims.input_batch] = affine([(type_.shape[dims.output_batch], "g"), (1, f"i{dims.output_batch}")])
    right[dims.kernel_input_feature] = kf
    right[dims.kernel_output_feature] = of
    inside: list[str] = []
    for k in range(spatial):
        position = _position(op, dims, k, rank)
        extent = lhs.shape[dims.input_spatial[k]]
        left[dims.input_spatial[k]] = f"x{k}"
        inside.append(f"{affine([(_numbers(op, 'lhs_dilation', spatial)[k], f'x{k}')])} = {position}")
        inside.append(f"0 <= x{k} < {extent}")
        tap = f"i{rank + 1 + k}"
        reverse = op.attributes.get("window_reversal")
        flipped = reverse is not None and bool(tuple(reverse)[k])
        right[dims.kernel_spatial[k]] = affine([(-1, tap)], window[k] - 1) if flipped else tap
    if groups > 1 and batch_groups > 1:
        return None
    needs_group = groups > 1 or batch_groups > 1
    auxiliary = [*names("x", spatial), *(["g", "r"] if needs_group else [])]
    outputs, where = _bound(builder.device, left, [*inside, *(group if needs_group else [])], auxiliary)
    left_read = builder.relation(shape, outputs, where)
    right_read = builder.moved(shape, right)
    store = builder.store
    reads: PairReads = [(left_read, store.restrict(right_read, store.domain(left_read)))]
    padded = store.set_minus(store.domain(right_read), store.domain(left_read))
    if not store.set_empty(padded):
        reads.append((None, store.restrict(right_read, padded)))
    return reads


def _bound(
    device: list[str], outputs: list[str], where: list[str], auxiliary: list[str]
) -> tuple[list[str], list[str]]:
    """Outputs as fresh variables y…, tied to their expressions over auxiliary variables that exist."""
    fresh = names("y", len(outputs))
    ties = [f"{name} = {expression}" for name, expression in zip(fresh, outputs, strict=True)]
    body = " and ".join([*ties, *where])
    closed = f"(exists {','.join(auxiliary)} : {body})" if auxiliary else body
    return [*device, *fresh], [closed]


def _position(op: Op, dims: ConvDims, k: int, rank: int) -> str:
    """stride · output position + dilation · tap − low padding."""
    spatial = len(dims.output_spatial)
    padding = op.attributes.get("padding")
    low = int(padding[k][0]) if padding is not None else 0
    stride, dilation = _numbers(op, "window_strides", spatial)[k], _numbers(op, "rhs_dilation", spatial)[k]
    return affine([(stride, f"i{dims.output_spatial[k]}"), (dilation, f"i{rank + 1 + k}")], -low)


def _numbers(op: Op, name: str, count: int) -> tuple[int, ...]:
    value = op.attributes.get(name)
    return tuple(int(v) for v in value) if value is not None and len(value) else (1,) * count


CONTRACTIONS: Mapping[str, Callable[[Builder, Op], PairReads | None]] = {
    "stablehlo.dot_general": dot_reads,
    "stablehlo.convolution": convolution_reads,
}
