"""Contracts of custom calls: without one a call is opaque, with one it is what the contract says and no more."""

from __future__ import annotations

import pytest

from shardproof.validator.ops import opaque_relation
from shardproof.validator.ops.opaque_relation import register_custom_call
from shardproof.validator.options import Options
from shardproof.validator.read import read_program
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs

MODULE = """
module @m attributes {{mhlo.num_partitions = 2 : i32}} {{
  func.func @main(%a: tensor<{rows}x6xf32> {before}) -> (tensor<{rows}x6xf32> {before}) {{
    %r = stablehlo.custom_call @{target}(%a) {{backend_config = "{config}"}}
      : (tensor<{rows}x6xf32>) -> tensor<{rows}x6xf32>
    return %r : tensor<{rows}x6xf32>
  }}
}}
"""
ROWS = '{mhlo.sharding = "{devices=[2,1]<=[2]}"}'
COLUMNS = '{mhlo.sharding = "{devices=[1,2]<=[2]}"}'


def verdict(target: str, sharding: str = ROWS, config: str = "", shape: tuple[int, int] = (2, 6)) -> Verdict:
    before = MODULE.format(rows=4, before=sharding, target=target, config="")
    after = MODULE.format(rows=shape[0], before="", target=target, config=config).replace("x6x", f"x{shape[1]}x")
    return validate_programs(read_program(before), read_program(after), Options()).verdict


@pytest.fixture(autouse=True)
def own_contracts(monkeypatch):
    monkeypatch.setattr(opaque_relation, "CONTRACTS", dict(opaque_relation.CONTRACTS))


def test_an_unknown_call_on_shards_is_not_proved():
    assert verdict("MyRowwise") is Verdict.NOT_PROVED


def test_a_registered_call_treats_rows_by_themselves():
    register_custom_call("MyRowwise", row_rank=1)
    assert verdict("MyRowwise") is Verdict.PROVED


def test_a_row_that_is_cut_is_not_proved():
    register_custom_call("MyRowwise", row_rank=1)
    assert verdict("MyRowwise", sharding=COLUMNS, shape=(4, 3)) is Verdict.NOT_PROVED


def test_another_configuration_is_another_function():
    register_custom_call("MyRowwise", row_rank=1)
    assert verdict("MyRowwise", config="2") is Verdict.NOT_PROVED


def test_an_identity_is_its_operand():
    register_custom_call("MyMarker", identity=True)
    assert verdict("MyMarker", sharding=COLUMNS, shape=(4, 3)) is Verdict.PROVED


def test_contracts_are_checked():
    register_custom_call("Mine", row_rank=2)
    with pytest.raises(ValueError, match="custom call 'Mine' has a contract already"):
        register_custom_call("Mine", row_rank=2)
    with pytest.raises(ValueError, match="give either 'identity' or 'row_rank'"):
        register_custom_call("Other")
    with pytest.raises(ValueError, match="'row_rank' is negative"):
        register_custom_call("Other", row_rank=-1)


FORMS = [
    *(("AwsNeuronRmsNorm", config) for config in ("", "0", "-1", "7", "one", "9" * 5000)),
    *((target, "") for target in ("TopK", "lapack_spotrf_ffi", "lapack_strsm_ffi")),
]


@pytest.mark.parametrize(("target", "config"), FORMS)
def test_a_known_call_in_a_form_that_is_not_known(target: str, config: str):
    """Nothing verifies calls: operands, attributes and results may be any. The programs differ, so all are run."""
    before = MODULE.format(rows=4, before="", target=target, config=config)
    after = before.replace("return %r", "%s = stablehlo.add %r, %a : tensor<4x6xf32>\n    return %s")
    report = validate_programs(read_program(before), read_program(after), Options())
    assert report.verdict in (Verdict.UNSUPPORTED, Verdict.NOT_PROVED)
    if target == "AwsNeuronRmsNorm":
        assert report.verdict is Verdict.UNSUPPORTED
        assert f"custom call '{target}' in this form" in str(report)
