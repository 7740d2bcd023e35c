"""Fourier transforms over several dimensions, as the transforms over one dimension each that StableHLO defines them by.

What is transformed first is the last dimension, of an inverse it is the first one; whatever the numbers of the whole
tensor are, those on the real side of a transform of real numbers are in its last dimension. Programs that transform
a tensor in slabs or pencils, with an exchange between two dimensions, do the same one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_TYPE = re.compile(r"tensor<(?:(?P<shape>[0-9x]+)x)?(?P<element>f32|f64|complex<f32>|complex<f64>)>")
_OUTER = {"FFT": "FFT", "RFFT": "FFT", "IFFT": "IFFT", "IRFFT": "IFFT"}
"""What is done in all dimensions but the last one."""


def one_by_one(kind: str, lengths: Sequence[int], operand: str, result: str) -> str | None:
    """A module of one function that transforms dimension by dimension; None where there is but one, or none is told."""
    given, found = _TYPE.fullmatch(operand), _TYPE.fullmatch(result)
    if len(lengths) < 2 or kind not in _OUTER or given is None or found is None:
        return None
    shape, end = _extents(given), _extents(found)
    rank = len(shape)
    outer = [(_OUTER[kind], axis) for axis in range(rank - len(lengths), rank - 1)]
    inner = (kind, rank - 1)
    steps = [*outer, inner] if kind.startswith("I") else [inner, *outer[::-1]]
    element, lines, last = given["element"], list[str](), "%x"

    def step(operation: str, type_: str) -> None:
        nonlocal last
        lines.append(f"%{len(lines)} = {operation.format(last)} -> {type_}")
        last = f"%{len(lines) - 1}"

    for which, axis in steps:
        order = list(range(rank))
        order[axis], order[-1] = order[-1], order[axis]
        moved = [shape[k] for k in order]
        if axis != rank - 1:
            step(f"stablehlo.transpose {{}}, dims = {order} : ({_type(shape, element)})", _type(moved, element))
        before, size = _type(moved, element), lengths[axis - rank]
        if axis == rank - 1:
            moved[-1], element = end[-1], found["element"] if which == kind and which in ("RFFT", "IRFFT") else element
        step(f"stablehlo.fft {{}}, type = {which}, length = [{size}] : ({before})", _type(moved, element))
        shape = [moved[k] for k in order]
        if axis != rank - 1:
            step(f"stablehlo.transpose {{}}, dims = {order} : ({_type(moved, element)})", _type(shape, element))
    body = "\n".join(lines)
    return f"module {{\nfunc.func @main(%x: {operand}) -> {result} {{\n{body}\nfunc.return {last} : {result}\n}}\n}}"


def _extents(type_: re.Match[str]) -> list[int]:
    return [int(n) for n in (type_["shape"] or "").split("x") if n]


def _type(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"
