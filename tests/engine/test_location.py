"""Where a report says that something is wrong."""

from __future__ import annotations

import pytest

from shardproof.validator.options import Options
from shardproof.validator.read.program import read_program
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs

MODULE = """module @m attributes {{mhlo.num_partitions = 2 : i32}} {{
func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = stablehlo.negate %x : tensor<4xf32> loc("user.py":3:5)
  %1 = stablehlo.{op} %0, %y : tensor<4xf32> loc("user.py":4:7)
  %2 = stablehlo.tanh %x : tensor<4xf32> loc("user.py":5:9)
  return {result} : tensor<4xf32>
}} }}"""


def program(op: str, result: str = "%1"):
    return read_program(MODULE.format(op=op, result=result))


@pytest.mark.parametrize(("op", "result", "line"), [("subtract", "%1", 4), ("add", "%0", 3), ("add", "%2", 5)])
def test_a_result_without_a_stop_is_located_at_its_op(op: str, result: str, line: int) -> None:
    report = validate_programs(program("add"), program(op, result), Options())
    (output,) = report.outputs
    assert report.verdict is Verdict.REFUTED
    assert [frame.line for frame in output.location.frames] == [line]
    assert f"user.py:{line}:" in str(report)


def test_a_parameter_that_is_returned_has_no_location() -> None:
    report = validate_programs(program("add"), program("add", "%x"), Options())
    (output,) = report.outputs
    assert report.verdict is Verdict.REFUTED
    assert not output.location.frames
