"""Comparisons that bounds decide, against all values of a small integer type."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from .pairs import Tensor, program, proved

DEVICES = 2
TILES = f"{{devices=[{DEVICES}]<=[{DEVICES}]}}"
COMPARISONS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal, "EQ": np.equal, "NE": np.not_equal,
}  # fmt: skip
OPS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "add": np.add, "subtract": np.subtract, "maximum": np.maximum, "minimum": np.minimum,
}  # fmt: skip


def expression(source: random.Random, dtype: str, type_: Tensor) -> tuple[str, np.ndarray]:
    """StableHLO that makes %e of %a0, and what it gives for every value of the type, wrap-around included."""
    kind = np.dtype(f"{'u' if dtype.startswith('u') else ''}int8")
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    values = np.arange(low, high + 1).astype(kind)
    text, name = "", "%a0"
    for number in range(source.randint(1, 4)):
        chosen = source.choice([*OPS, "clamp"])
        a, b = sorted(source.randint(low, high) // source.choice([1, 8]) for _ in range(2))
        if source.random() < 0.1:
            a, b = b, a
        text += f"%a_{number} = stablehlo.constant dense<{a}> : {type_}\n"
        if chosen == "clamp":
            text += f"%b_{number} = stablehlo.constant dense<{b}> : {type_}\n"
            text += f"%e_{number} = stablehlo.clamp %a_{number}, {name}, %b_{number} : {type_}\n"
            values = np.minimum(np.maximum(values, kind.type(a)), kind.type(b))
        else:
            text += f"%e_{number} = stablehlo.{chosen} {name}, %a_{number} : {type_}\n"
            values = OPS[chosen](values, np.full_like(values, a))
        name = f"%e_{number}"
    return text.replace(name + " =", "%e ="), values


@pytest.mark.parametrize("dtype", ["i8", "ui8"])
def test_a_decided_comparison_holds_for_every_value(dtype: str) -> None:
    source = random.Random(f"bounds of {dtype}")
    whole, part = Tensor((4,), dtype, TILES), Tensor((2,), dtype, TILES)
    flags, mine = Tensor((4,), "i1", TILES), Tensor((2,), "i1", TILES)
    decided = missed = 0
    for _ in range(60):
        text, values = expression(source, dtype, part)
        direction = source.choice(list(COMPARISONS))
        limit = source.choice([int(values.min()), int(values.max()), int(source.choice(values.tolist()))])
        holds = COMPARISONS[direction](values, values.dtype.type(limit))
        answer = "true" if source.random() < 0.5 else "false"
        before = program(f"%out = stablehlo.constant dense<{answer}> : {flags}", [whole], flags, DEVICES)
        after = program(
            f"{text}%c = stablehlo.constant dense<{limit}> : {part}\n"
            f"%out = stablehlo.compare {direction}, %e, %c : ({part}, {part}) -> {mine}",
            [part],
            mine,
            DEVICES,
        )
        right = bool((holds == (answer == "true")).all())
        if proved(before, after):
            assert right, (text, direction, limit, answer)
            decided += 1
        else:
            missed += right
    assert decided >= 5, "the lemma decided next to nothing: the test says little"
    assert missed <= decided


def test_known_and_looked_up_coordinates_are_told_apart() -> None:
    """An index vector of a known and an unknown coordinate: the known one stays index arithmetic."""
    rows, mine = Tensor((4, 1), "i32", TILES.replace("[2]<", "[2,1]<")), Tensor((2, 1), "i32")
    both, two = Tensor((4, 2), "i1", TILES.replace("[2]<", "[2,1]<")), Tensor((2, 2), "i1")
    pair = Tensor((2, 2), "i32")
    before = program(f"%out = stablehlo.constant dense<true> : {both}", [rows], both, DEVICES)

    def after(limit: int) -> str:
        return (
            f"%z = stablehlo.constant dense<0> : {mine}\n%h = stablehlo.constant dense<7> : {mine}\n"
            f"%k = stablehlo.clamp %z, %a0, %h : {mine}\n%i = stablehlo.iota dim = 0 : {mine}\n"
            f"%x = stablehlo.concatenate %i, %k, dim = 1 : ({mine}, {mine}) -> {pair}\n"
            f"%c = stablehlo.constant dense<{limit}> : {pair}\n%y = stablehlo.add %x, %c : {pair}\n"
            f"%out = stablehlo.compare GE, %y, %c : ({pair}, {pair}) -> {two}"
        )

    assert proved(before, program(after(3), [mine], two, DEVICES))
    # the greatest values wrap around
    assert not proved(before, program(after(2**31 - 2), [mine], two, DEVICES))
