"""Which inputs theory *real* speaks of: those for which a program computes real numbers, as far as its results tell."""

from __future__ import annotations

import numpy as np
import pytest

from shardproof.validator.evaluate import cone
from shardproof.validator.evaluate.arithmetic import Wide
from shardproof.validator.evaluate.compare import Counterexample
from shardproof.validator.evaluate.cone import search
from shardproof.validator.evaluate.errors import TooLarge
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.read import read_program
from shardproof.validator.read.ir import Program
from shardproof.validator.read.relations import NO_RELATIONS

F, B, WHOLE = "tensor<3xf32>", "tensor<3xi1>", "tensor<3xi32>"
QUOTIENT = f"%q = stablehlo.divide %one, %x : {F}"
LOGARITHM = f"%q = stablehlo.log %x : {F}"
POSITIVE = f"%p = stablehlo.compare GT, %x, %zero : ({F}, {F}) -> {B}"
X = (-1.0, 0.0, 2.0)


def module(body: str, type_: str = F) -> str:
    return f"""module @m {{
func.func public @main(%x: {F}) -> {type_} {{
  %one = stablehlo.constant dense<1.0> : {F}
  %zero = stablehlo.constant dense<0.0> : {F}
  {body}
  return %r : {type_}
}}
}}
"""


def speaks(body: str, type_: str = F, x: tuple[float, ...] = X) -> bool:
    machine = Machine(1, Wide(), of_reals=True)
    machine.run(read_program(module(body, type_)), [np.array([x], np.float32)])
    assert machine.undefined <= {"a number that is not real"}
    return not machine.undefined


SPOKEN_OF = {
    "nothing undefined": f"%r = stablehlo.exponential %x : {F}",
    "left out by a choice": f"{LOGARITHM} {POSITIVE} %r = stablehlo.select %p, %q, %zero : {B}, {F}",
    "of no use": f"{LOGARITHM} %r = stablehlo.add %x, %one : {F}",
    "sliced away": f"""{LOGARITHM} %s = stablehlo.slice %q [2:3] : ({F}) -> tensor<1xf32>
      %r = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<1xf32>) -> {F}""",
    "integers divided by zero": f"""%i = stablehlo.convert %x : ({F}) -> {WHOLE} %d = stablehlo.divide %i, %i : {WHOLE}
      %r = stablehlo.convert %d : ({WHOLE}) -> {F}""",
    "an overflow": f"""%big = stablehlo.constant dense<1.0e3> : {F} %m = stablehlo.multiply %big, %x : {F}
      %r = stablehlo.exponential %m : {F}""",
    "a difference of infinite constants": f"""%i = stablehlo.constant dense<0xFF800000> : {F} {POSITIVE}
      %m = stablehlo.select %p, %x, %i : {B}, {F} %d = stablehlo.subtract %m, %i : {F}
      %n = stablehlo.compare NE, %d, %d : ({F}, {F}) -> {B} %r = stablehlo.select %n, %zero, %m : {B}, {F}""",
    "a constant that is no number": f"""%n = stablehlo.constant dense<0x7FC00000> : {F} {POSITIVE}
      %r = stablehlo.select %p, %x, %n : {B}, {F}""",
}

NOT_SPOKEN_OF = {
    "a quotient by zero": f"{QUOTIENT} %r = stablehlo.add %q, %x : {F}",
    "a logarithm of zero and below": f"%r = stablehlo.log %x : {F}",
    "a root": f"%r = stablehlo.sqrt %x : {F}",
    "the exponential of a logarithm": f"{LOGARITHM} %r = stablehlo.exponential %q : {F}",
    "a bounded quotient": f"{QUOTIENT} %t = stablehlo.tanh %q : {F} %r = stablehlo.minimum %t, %one : {F}",
    "the reciprocal of a quotient": f"{QUOTIENT} %r = stablehlo.divide %one, %q : {F}",
    "one that is compared": f"""{QUOTIENT} %p = stablehlo.compare GT, %q, %one : ({F}, {F}) -> {B}
      %r = stablehlo.select %p, %x, %one : {B}, {F}""",
    "one that is made an integer": f"""{QUOTIENT} %i = stablehlo.convert %q : ({F}) -> {WHOLE}
      %r = stablehlo.convert %i : ({WHOLE}) -> {F}""",
    "the power zero": f"{LOGARITHM} %r = stablehlo.power %q, %zero : {F}",
    "a power of zero": f"%m = stablehlo.negate %one : {F} %r = stablehlo.power %zero, %m : {F}",
    "a complex logarithm": f"""%z = stablehlo.complex %x, %zero : tensor<3xcomplex<f32>>
      %l = stablehlo.log %z : tensor<3xcomplex<f32>>
      %r = stablehlo.real %l : (tensor<3xcomplex<f32>>) -> {F}""",
    "a pole": f'%r = "chlo.lgamma"(%x) : ({F}) -> {F}',
    "a sum": f"""{QUOTIENT} %z = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [0]
        : ({F}, tensor<f32>) -> tensor<f32>
      %r = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> {F}""",
    "a maximum": f"""{QUOTIENT} %z = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.reduce(%q init: %z) applies stablehlo.maximum across dimensions = [0]
        : ({F}, tensor<f32>) -> tensor<f32>
      %r = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> {F}""",
}


@pytest.mark.parametrize("name", SPOKEN_OF)
def test_what_results_do_not_depend_on_is_not_looked_at(name: str) -> None:
    assert speaks(SPOKEN_OF[name])


@pytest.mark.parametrize("name", NOT_SPOKEN_OF)
def test_no_number_is_hidden(name: str) -> None:
    body = NOT_SPOKEN_OF[name]
    assert not speaks(body)


@pytest.mark.parametrize("name", [name for name in NOT_SPOKEN_OF if name != "a power of zero"])
def test_the_same_programs_compute_numbers_from_others(name: str) -> None:
    assert speaks(NOT_SPOKEN_OF[name], x=(0.5, 1.5, 2.5))


def test_whether_numbers_are_finite_shows() -> None:
    assert not speaks(f"{QUOTIENT} %r = stablehlo.is_finite %q : ({F}) -> {B}", B)


def test_without_theory_real_every_input_counts() -> None:
    machine = Machine(1, Wide())
    machine.run(read_program(module(f"%r = stablehlo.log %x : {F}")), [np.array([X], np.float32)])
    assert not machine.undefined


def two_results(second: str) -> Program:
    return read_program(f"""module @m {{
func.func public @main(%x: {F}, %y: {F}) -> (tensor<3x64xf32>, {F}) {{
  %q = stablehlo.divide %x, %y : {F}
  %b = stablehlo.broadcast_in_dim %q, dims = [0] : ({F}) -> tensor<3x64xf32>
  {second}
  return %b, %r : tensor<3x64xf32>, {F}
}}
}}
""")


def test_a_part_without_a_division_of_the_whole_refutes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of y = 0 the reals do not speak, since the other result is divided by it."""
    before = two_results(f"%r = stablehlo.add %x, %x : {F}")
    same, other = (
        two_results(
            f"%p = stablehlo.{op} %x, %y : {F} %d = stablehlo.divide %p, %y : {F} %r = stablehlo.add %d, %x : {F}"
        )
        for op in ("multiply", "add")
    )

    def found(after: Program, over_reals: bool) -> Counterexample | None:
        return search(
            before,
            after,
            NO_RELATIONS,
            [1],
            seed=0,
            budget_seconds=20,
            cut_seconds=20,
            assume_indices_in_bounds=False,
            over_reals=over_reals,
        )

    assert found(same, False) is not None
    assert found(same, True) is None
    assert found(other, True) is not None
    monkeypatch.setattr(cone, "MAX_ELEMENTS", 50)
    assert found(same, False) is not None
    with pytest.raises(TooLarge, match="no part of them shows whether all that is computed are real numbers"):
        found(same, True)
