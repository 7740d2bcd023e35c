"""A counterexample is believed only if XLA or StableHLO's interpreter, where they run the programs, see it too."""

import time
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from shardproof.validator import compat, confirm, replica_runner
from shardproof.validator.confirm import confirmed, differ
from shardproof.validator.evaluate.compare import Counterexample
from shardproof.validator.options import Options
from shardproof.validator.read.runnable import NotRunnableError
from shardproof.validator.report.report import Confirmation, Evaluator, Report
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.run import Source, validate_here

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tp_mlp"
BEFORE, AFTER, BROKEN = (Source.of_file(str(EXAMPLE / f"{name}.hlo.txt")) for name in ("before", "after", "broken"))
ASK = Options(confirm=True)
PATIENCE = 300.0
"""Seconds for XLA: the machine may be busy."""


@pytest.fixture
def no_interpreter(monkeypatch: pytest.MonkeyPatch):
    """XLA is all there is."""
    monkeypatch.setattr(confirm, "_OTHERS", {Evaluator.XLA: confirm._OTHERS[Evaluator.XLA]})


@pytest.fixture
def no_xla(monkeypatch: pytest.MonkeyPatch):
    """XLA takes too long."""
    limits, _ = confirm._OTHERS[Evaluator.XLA]

    def slow(*_: object) -> NoReturn:
        raise NotRunnableError("XLA took more than 10 s")

    monkeypatch.setattr(confirm, "_OTHERS", {**confirm._OTHERS, Evaluator.XLA: (limits, slow)})


@pytest.fixture(scope="module")
def refuted_example() -> Report:
    return validate_here(BEFORE, BROKEN, Options())


def test_both_evaluators_see_a_real_difference(refuted_example: Report):
    report = confirmed(refuted_example, BEFORE, BROKEN, ASK, PATIENCE)
    assert report.verdict is Verdict.REFUTED
    assert report.confirmation == Confirmation((Evaluator.REFERENCE, Evaluator.XLA))
    assert report.to_json()["counterexample"]["evaluators"] == ["reference", "xla"]
    assert "note: seen by the reference evaluator and by XLA" in str(report)


def test_a_difference_that_xla_does_not_see_refutes_nothing(refuted_example: Report):
    report = confirmed(refuted_example, BEFORE, AFTER, ASK, PATIENCE)
    assert report.verdict is Verdict.NOT_PROVED
    assert report.counterexample is None
    assert report.message == "the two evaluators disagree on a counterexample"
    assert "but XLA, on the same inputs, does not (expected" in str(report.notes[-1])
    assert report.outputs[0].verdict is Verdict.NOT_PROVED


@pytest.mark.usefixtures("no_interpreter")
def test_without_an_answer_the_reference_evaluator_stands_alone(refuted_example: Report):
    report = confirmed(refuted_example, BEFORE, BROKEN, ASK, seconds=0.0)
    assert report.verdict is Verdict.REFUTED
    assert report.confirmation == Confirmation((Evaluator.REFERENCE,), "XLA took more than 0 s")
    assert report.to_json()["counterexample"]["unconfirmed"] == "XLA took more than 0 s"
    assert "note: seen by the reference evaluator alone: XLA took more than 0 s" in str(report)


@pytest.mark.usefixtures("no_interpreter")
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os.abort()", "XLA's process ended with code -6"),
        ("import sys; sys.exit(3)", "XLA's process ended with code 3"),
        ("print('noise')", "XLA's process ended with code 0"),
    ],
)
def test_a_crash_of_xla_is_none_of_ours(
    refuted_example: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
):
    (tmp_path / "runner.py").write_text(code)
    monkeypatch.setattr(replica_runner, "__file__", str(tmp_path / "runner.py"))
    report = confirmed(refuted_example, BEFORE, BROKEN, ASK, PATIENCE)
    assert report.verdict is Verdict.REFUTED
    assert report.confirmation == Confirmation((Evaluator.REFERENCE,), reason)


def test_what_xla_refuses_is_told(refuted_example: Report):
    unknown = BROKEN.data.replace(b"maximum(%add.22, %max.6)", b'custom-call(%add.22, %max.6), custom_call_target="no"')
    report = confirmed(refuted_example, BEFORE, Source(BROKEN.name, unknown), ASK, PATIENCE)
    assert report.verdict is Verdict.REFUTED
    assert report.confirmation is not None
    assert report.confirmation.evaluators == (Evaluator.REFERENCE,)
    assert report.confirmation.reason.startswith("XLA does not run it: ")


def test_large_programs_are_not_run_by_the_way(refuted_example: Report, monkeypatch: pytest.MonkeyPatch):
    few = {evaluator: (replace(limits, ops=3), run) for evaluator, (limits, run) in confirm._OTHERS.items()}
    monkeypatch.setattr(confirm, "_OTHERS", few)
    report = confirmed(refuted_example, BEFORE, BROKEN, ASK, PATIENCE)
    assert report.confirmation == Confirmation((Evaluator.REFERENCE,), "more than 3 ops")


def test_after_the_deadline_nothing_is_run(refuted_example: Report):
    report = confirmed(refuted_example, BEFORE, BROKEN, ASK, PATIENCE, deadline=time.monotonic() - 1)
    assert report.confirmation is not None
    assert report.confirmation.evaluators == (Evaluator.REFERENCE,)
    assert report.confirmation.reason.startswith("XLA took more than 0 s; StableHLO's interpreter ")


def _summing(devices: int, reducer: str) -> Source:
    """Each device's part of the input, put together over all of them."""
    groups = "[[" + ", ".join(map(str, range(devices))) + "]]"
    return Source(
        f"{reducer}.mlir",
        f"""
    module @m attributes {{mhlo.num_partitions = {devices} : i32}} {{
      func.func public @main(%x: tensor<3xTYPE> {{mhlo.sharding = "{{devices=[{devices}]<=[{devices}]}}"}},
          %p: tensor<i1> {{mhlo.sharding = "{{replicated}}"}})
          -> (tensor<3xTYPE> {{mhlo.sharding = "{{replicated}}"}}) {{
        %z = "stablehlo.all_reduce"(%x) <{{replica_groups = dense<{groups}> : tensor<1x{devices}xi64>,
          channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}}> ({{
        ^bb0(%a: tensor<TYPE>, %b: tensor<TYPE>):
          %c = stablehlo.{reducer} %a, %b : tensor<TYPE>
          stablehlo.return %c : tensor<TYPE>
        }}) : (tensor<3xTYPE>) -> tensor<3xTYPE>
        %n = stablehlo.negate %z : tensor<3xTYPE>
        %r = stablehlo.select %p, %z, %n : tensor<i1>, tensor<3xTYPE>
        return %r : tensor<3xTYPE>
      }}
    }}""".encode(),
    )


def _sum(devices: int) -> Source:
    total = 3 * devices
    text = f"""
    module @m attributes {{mhlo.num_partitions = {devices} : i32}} {{
      func.func public @main(%x: tensor<{total}xTYPE> {{mhlo.sharding = "{{devices=[{devices}]<=[{devices}]}}"}},
          %p: tensor<i1> {{mhlo.sharding = "{{replicated}}"}})
          -> (tensor<3xTYPE> {{mhlo.sharding = "{{replicated}}"}}) {{
        %rows = stablehlo.reshape %x : (tensor<{total}xTYPE>) -> tensor<{devices}x3xTYPE>
        %zero = stablehlo.constant dense<ZERO> : tensor<TYPE>
        %z = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0]
          : (tensor<{devices}x3xTYPE>, tensor<TYPE>) -> tensor<3xTYPE>
        %n = stablehlo.negate %z : tensor<3xTYPE>
        %r = stablehlo.select %p, %z, %n : tensor<i1>, tensor<3xTYPE>
        return %r : tensor<3xTYPE>
      }}
    }}"""
    return Source("sum.mlir", text.encode())


def _of(source: Source, kind: str) -> Source:
    zero = "(0.0, 0.0)" if kind.startswith("complex") else "0.0" if kind[0] in "bf" else "0"
    return Source(source.name, source.data.replace(b"TYPE", kind.encode()).replace(b"ZERO", zero.encode()))


@pytest.mark.usefixtures("no_xla")
@pytest.mark.skipif(compat.interpreted_devices() < 2, reason="the interpreter waits for one processor a device")
@pytest.mark.parametrize("kind", ["f32", "f64", "bf16", "f8E4M3FN", "i32", "ui8", "complex<f32>"])
def test_the_interpreter_sees_what_xla_does_not_run(kind: str):
    before, wrong, right = (_of(text, kind) for text in (_sum(2), _summing(2, "multiply"), _summing(2, "add")))
    refuted = validate_here(before, wrong, Options())
    assert refuted.verdict is Verdict.REFUTED
    report = confirmed(refuted, before, wrong, ASK, PATIENCE)
    assert report.confirmation == Confirmation((Evaluator.REFERENCE, Evaluator.STABLEHLO), "XLA took more than 10 s")
    assert report.to_json()["counterexample"]["evaluators"] == ["reference", "stablehlo"]
    said = "seen by the reference evaluator and by StableHLO's interpreter, which ran both programs op by op"
    assert f"note: {said} (XLA took more than 10 s)" in str(report)
    contradicted = confirmed(refuted, before, right, ASK, PATIENCE)
    assert contradicted.verdict is Verdict.NOT_PROVED
    assert "but StableHLO's interpreter, on the same inputs, does not" in str(contradicted.notes[-1])


BROADCAST_BEFORE = """
module @m attributes {mhlo.num_partitions = 2 : i32} {
  func.func public @main(%x: tensor<6xf32> {mhlo.sharding = "{devices=[2]<=[2]}"})
      -> (tensor<3xf32> {mhlo.sharding = "{replicated}"}) {
    %s = stablehlo.slice %x [0:3] : (tensor<6xf32>) -> tensor<3xf32>
    return %s : tensor<3xf32>
  }
}"""

BROADCAST_AFTER = """
module @m attributes {mhlo.num_partitions = 2 : i32} {
  func.func public @main(%x: tensor<3xf32> {mhlo.sharding = "{devices=[2]<=[2]}"})
      -> (tensor<3xf32> {mhlo.sharding = "{replicated}"}) {
    %s = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<3xf32>) -> tensor<3xf32>
    return %s : tensor<3xf32>
  }
}"""


@pytest.mark.skipif(compat.interpreted_devices() < 2, reason="the interpreter waits for one processor a device")
def test_an_op_that_xla_has_no_code_for():
    before, after = Source("before.mlir", BROADCAST_BEFORE.encode()), Source("after.mlir", BROADCAST_AFTER.encode())
    report = confirmed(validate_here(before, after, Options()), before, after, ASK, PATIENCE)
    assert report.verdict is Verdict.REFUTED
    assert report.confirmation is not None
    assert report.confirmation.evaluators == (Evaluator.REFERENCE, Evaluator.STABLEHLO)
    assert report.confirmation.reason.startswith("XLA does not run it: ")
    assert "collective-broadcast" in report.confirmation.reason


TWICE_BEFORE = """
module @m attributes {mhlo.num_partitions = 2 : i32} {
  func.func public @main(%x: tensor<6xf32> {mhlo.sharding = "{devices=[2]<=[2]}"})
      -> (tensor<6xf32> {mhlo.sharding = "{replicated}"}) {
    %two = stablehlo.constant dense<2.0> : tensor<6xf32>
    %s = stablehlo.multiply %x, %two : tensor<6xf32>
    return %s : tensor<6xf32>
  }
}"""

GATHERED = """
    %g = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}>
      : (tensor<3xf32>) -> tensor<6xf32>
    %h = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>,
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}>
      : (tensor<3xf32>) -> tensor<6xf32>
    %s = stablehlo.add %g, %h : tensor<6xf32>"""

LOOPED = f"""
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %none = stablehlo.constant dense<0.0> : tensor<6xf32>
    %i:2 = stablehlo.while(%n = %zero, %a = %none) : tensor<i32>, tensor<6xf32>
      cond {{
        %two = stablehlo.constant dense<2> : tensor<i32>
        %c = stablehlo.compare LT, %n, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }} do {{
        %one = stablehlo.constant dense<1> : tensor<i32>
        %m = stablehlo.add %n, %one : tensor<i32>{GATHERED.replace("%s", "%t")}
        stablehlo.return %m, %t : tensor<i32>, tensor<6xf32>
      }}
    %s = stablehlo.add %i#1, %none : tensor<6xf32>"""


def _twice(body: str) -> Source:
    text = f"""
module @m attributes {{mhlo.num_partitions = 2 : i32}} {{
  func.func public @main(%x: tensor<3xf32> {{mhlo.sharding = "{{devices=[2]<=[2]}}"}})
      -> (tensor<6xf32> {{mhlo.sharding = "{{replicated}}"}}) {{{body}
    return %s : tensor<6xf32>
  }}
}}"""
    return Source("twice.mlir", text.encode())


@pytest.mark.usefixtures("no_xla")
@pytest.mark.skipif(compat.interpreted_devices() < 2, reason="the interpreter waits for one processor a device")
def test_collectives_of_one_channel_do_not_meet():
    before, after = Source("before.mlir", TWICE_BEFORE.encode()), _twice(GATHERED)
    refuted = validate_here(before, after, Options())
    assert refuted.counterexample is not None
    for _ in range(10):
        report = confirmed(refuted, before, after, ASK, PATIENCE)
        assert report.confirmation == Confirmation(
            (Evaluator.REFERENCE, Evaluator.STABLEHLO), "XLA took more than 10 s"
        )


@pytest.mark.usefixtures("no_xla")
@pytest.mark.skipif(compat.interpreted_devices() < 2, reason="the interpreter waits for one processor a device")
def test_collectives_in_a_loop_are_left_alone():
    before, after = Source("before.mlir", TWICE_BEFORE.encode()), _twice(LOOPED)
    refuted = validate_here(before, after, Options())
    assert refuted.verdict is Verdict.REFUTED
    report = confirmed(refuted, before, after, ASK, PATIENCE)
    assert report.confirmation is not None and report.confirmation.evaluators == (Evaluator.REFERENCE,)
    assert report.confirmation.reason.endswith("a collective in a loop, branch or function, whose runs it would mix up")


@pytest.mark.skipif(compat.interpreted_devices() < 80, reason="this jaxlib's interpreter needs a processor a device")
def test_the_interpreter_has_more_devices_than_xla():
    before, wrong = _of(_sum(80), "f32"), _of(_summing(80, "maximum"), "f32")
    report = confirmed(validate_here(before, wrong, Options()), before, wrong, ASK, PATIENCE)
    assert report.confirmation == Confirmation((Evaluator.REFERENCE, Evaluator.STABLEHLO), "more than 64 devices")


def test_too_few_processors_are_told(refuted_example: Report, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compat, "interpreted_devices", lambda: 7)
    monkeypatch.setattr(confirm, "_OTHERS", {Evaluator.STABLEHLO: confirm._OTHERS[Evaluator.STABLEHLO]})
    report = confirmed(refuted_example, BEFORE, BROKEN, ASK, PATIENCE)
    reason = "StableHLO's interpreter of this jaxlib runs only as many devices as there are processors"
    assert report.confirmation == Confirmation((Evaluator.REFERENCE,), reason)


def test_xla_is_asked_only_for_counterexamples(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(confirm, "confirmed", lambda *_: pytest.fail("asked"))
    assert validate_here(BEFORE, AFTER, ASK).verdict is Verdict.PROVED
    assert validate_here(BEFORE, BROKEN, replace(ASK, confirm=False)).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("told", "seen", "different"),
    [
        ((1.0, 2.0), (1.0, 2.0), True),
        ((1.0, 2.0), (1.0, 1.0), False),
        ((1.0, 2.0), (1.0, 1.0000001), False),
        ((3, 5), (np.int32(3), np.int32(5)), True),
        ((3, 5), (np.int32(4), np.int32(4)), False),
        ((1.0, np.inf), (np.float32(1), np.float32(np.inf)), True),
        ((1.0, np.nan), (np.float32(1), np.float32(1)), False),
        ((np.nan, 1.0), (np.float32(np.nan), np.float32(np.nan)), False),
        ((1e300, 1.0), (np.float32(np.inf), np.float32(1)), True),
        ((1j, 2.0), (np.complex64(1j), np.complex64(2)), True),
        ((True, False), (np.bool_(True), np.bool_(True)), False),
    ],
)
def test_what_counts_as_a_difference(told: tuple, seen: tuple, different: bool):
    assert differ(Counterexample((), 0, 0, (), told[0], told[1], 0, "generic"), *seen) is different
