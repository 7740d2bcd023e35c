"""The greatest elements of rows as the sort that XLA makes of them: a stable one, downwards in the total order.

XLA sorts so wherever it has no routine of its own, and what it calls a top-k elsewhere goes by the same order: of equal
elements the first one comes first, 0 before −0, and NaN before all where its sign is positive.
"""

from __future__ import annotations

from collections.abc import Sequence

_TEXT = """
module {{
func.func @main(%x: {whole}) -> ({some}, {places}) {{
%i = stablehlo.iota dim = {last} : {numbers}
%s:2 = "stablehlo.sort"(%x, %i) <{{dimension = {last} : i64, is_stable = true}}> ({{
^bb0(%a: tensor<{element}>, %b: tensor<{element}>, %c: tensor<{index}>, %d: tensor<{index}>):
%p = stablehlo.compare GT, %a, %b{order} : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
stablehlo.return %p : tensor<i1>
}}) : ({whole}, {numbers}) -> ({whole}, {numbers})
%v = stablehlo.slice %s#0 [{slices}] : ({whole}) -> {some}
%n = stablehlo.slice %s#1 [{slices}] : ({numbers}) -> {places}
func.return %v, %n : {some}, {places}
}}
}}
"""


def sorted_and_cut(shape: Sequence[int], k: int, element: str, index: str, *, is_float: bool) -> str:
    """A module of one function from rows to the greatest k elements of each and their places."""
    cut = [*shape[:-1], k]
    return _TEXT.format(
        whole=_type(shape, element),
        some=_type(cut, element),
        numbers=_type(shape, index),
        places=_type(cut, index),
        last=len(shape) - 1,
        element=element,
        index=index,
        order=", TOTALORDER" if is_float else "",
        slices=", ".join(f"0:{n}" for n in cut),
    )


def _type(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"
