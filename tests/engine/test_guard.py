"""The second opinion on proofs: it contradicts a wrong one, and keeps quiet otherwise."""

from __future__ import annotations

import pytest

from shardproof import Verdict, validate_modules
from shardproof.validator import guard
from shardproof.validator.guard import ContradictionError, check_proofs
from shardproof.validator.ops.record import Theory
from shardproof.validator.options import Options
from shardproof.validator.read import read_program
from shardproof.validator.read.relations import NO_RELATIONS

BEFORE = """
module @m attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%a: tensor<4x6xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) -> tensor<6xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
    return %sum : tensor<6xf32>
  }
}
"""

AFTER = """
module @m attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%a: tensor<2x6xf32>) -> tensor<6xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %part = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<2x6xf32>, tensor<f32>) -> tensor<6xf32>
    %sum = "stablehlo.all_reduce"(%part) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %both = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %both : tensor<f32>
      }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}
      : (tensor<6xf32>) -> tensor<6xf32>
    return RESULT : tensor<6xf32>
  }
}
"""


def _pair(result: str):
    return read_program(BEFORE), read_program(AFTER.replace("RESULT", result))


def test_a_wrong_proof_is_contradicted():
    before, after = _pair("%part")
    with pytest.raises(ContradictionError, match="result 0 is proved, yet device"):
        check_proofs(before, after, NO_RELATIONS, {0: Theory.EXACT}, Options())


def test_a_right_proof_is_left_alone():
    before, after = _pair("%sum")
    check_proofs(before, after, NO_RELATIONS, {0: Theory.EXACT}, Options())


def test_only_proved_results_are_looked_at():
    before, after = _pair("%part")
    check_proofs(before, after, NO_RELATIONS, {}, Options())


def test_large_programs_are_not_run(monkeypatch):
    before, after = _pair("%part")
    monkeypatch.setattr(guard, "MAX_ELEMENTS", 10)
    check_proofs(before, after, NO_RELATIONS, {0: Theory.EXACT}, Options())


@pytest.mark.parametrize("theory", list(Theory))
def test_a_wrong_proof_of_any_theory_is_contradicted(theory: Theory):
    before, after = _pair("%part")
    with pytest.raises(ContradictionError):
        check_proofs(before, after, NO_RELATIONS, {0: theory}, Options())


def _of_rows(*ops: str) -> str:
    lines = "\n".join(f"  {op} : tensor<8xf32>" for op in ops)
    return f"""module @m {{
func.func public @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {{
  %one = stablehlo.constant dense<1.0> : tensor<8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<8xf32>
{lines}
  return %r : tensor<8xf32>
}}
}}
"""


QUOTIENT = (
    _of_rows("%p = stablehlo.multiply %y, %x", "%q = stablehlo.divide %x, %p", "%r = stablehlo.add %q, %one"),
    _of_rows("%p = stablehlo.add %one, %y", "%r = stablehlo.divide %p, %y"),
)
HIDDEN = (
    _of_rows("%q = stablehlo.divide %x, %y", "%t = stablehlo.tanh %q", "%r = stablehlo.add %t, %x"),
    _of_rows(
        "%q = stablehlo.divide %x, %y",
        "%t = stablehlo.tanh %q",
        "%a = stablehlo.multiply %t, %y",
        "%b = stablehlo.multiply %x, %y",
        "%c = stablehlo.add %a, %b",
        "%r = stablehlo.divide %c, %y",
    ),
)
LOGARITHM = (
    _of_rows("%l = stablehlo.log %y", "%s = stablehlo.add %l, %x", "%r = stablehlo.exponential %s"),
    _of_rows(
        "%l = stablehlo.log %y",
        "%n = stablehlo.multiply %zero, %l",
        "%e = stablehlo.exponential %x",
        "%p = stablehlo.multiply %y, %e",
        "%r = stablehlo.add %p, %n",
    ),
)


@pytest.mark.parametrize("pair", [QUOTIENT, HIDDEN, LOGARITHM], ids=["0/0", "within a function", "log of zero"])
def test_inputs_of_which_the_reals_do_not_speak_contradict_no_proof(pair: tuple[str, str]):
    report = validate_modules(*pair, theory="real")
    assert (report.verdict, report.theory) == (Verdict.PROVED, Theory.REAL)
    before, after = (read_program(text) for text in pair)
    with pytest.raises(ContradictionError):
        check_proofs(before, after, NO_RELATIONS, {0: Theory.REASSOCIATED}, Options())
