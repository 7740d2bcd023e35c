"""Equality with a moved integer, in 8 bits, against what numpy computes."""

from __future__ import annotations

import numpy as np
import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Program

from .pairs import Tensor, program, proved

FORMS = {"x - s": ("subtract %a0, %s", 1), "x + s": ("add %a0, %s", -1), "s - x": ("subtract %s, %a0", 0)}
EXTREMES = (-128, -127, -1, 0, 1, 100, 127)


def _asked(kind: str, direction: str, of: str, shift: int, value: int) -> Program:
    tensor, truth = Tensor((4,), kind), Tensor((4,), "i1")
    low = 0 if kind == "ui8" else -128
    s, t = ((number - low) % 256 + low for number in (shift, value))
    body = f"%s = stablehlo.constant dense<{s}> : {tensor}\n%t = stablehlo.constant dense<{t}> : {tensor}\n"
    body += f"%m = stablehlo.{of} : {tensor}\n" if of != "%a0" else ""
    asked = "%a0" if of == "%a0" else "%m"
    body += f"%out = stablehlo.compare {direction}, {asked}, %t : ({tensor}, {tensor}) -> {truth}\n"
    return program(body, [tensor], truth, 1)


@pytest.mark.parametrize("kind", ["i8", "ui8"])
@pytest.mark.parametrize("form", FORMS)
def test_every_element_that_is_found_is_the_one(form: str, kind: str):
    of, sign = FORMS[form]
    every = np.arange(256, dtype=np.int64)
    for number, shift in enumerate(EXTREMES):
        value = EXTREMES[-1 - number]
        moved = {"x - s": every - shift, "x + s": every + shift, "s - x": shift - every}[form]
        (x,) = every[(moved - value) % 256 == 0]
        assert (x - (value + sign * shift if sign else shift - value)) % 256 == 0
        direction = ("EQ", "NE")[number % 2]
        asked = _asked(kind, direction, of, shift, value)
        assert proved(asked, _asked(kind, direction, "%a0", 0, int(x)), Theory.EXACT)
        assert not proved(asked, _asked(kind, direction, "%a0", 0, int(x) + 1))


def test_an_order_is_not_moved():
    asked = _asked("i8", "LT", "subtract %a0, %s", 100, 100)
    assert not proved(asked, _asked("i8", "LT", "%a0", 0, 200))
