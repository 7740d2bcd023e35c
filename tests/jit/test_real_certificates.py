"""Certificates of proofs over the reals on compiled programs, and the same certificates for programs gone wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import shardproof
from shardproof import Theory
from shardproof.validator.check.check import check
from shardproof.validator.check.errors import Rejection
from shardproof.validator.options import Options
from shardproof.validator.read.ir import Program
from shardproof.validator.validate import validate_programs
from tests.check.pairs import about
from tests.tools import zoo
from tests.tools.context import Context
from tests.tools.operators.benign import scaled_and_back
from tests.tools.operators.reductions import single_sum
from tests.tools.rewrite import with_ops

from . import test_reals, test_ring_attention
from .conftest import Capture
from .manual_programs import arguments, cases

pytestmark = pytest.mark.slow


def report_on(before: Program, after: Program) -> shardproof.Report:
    report = validate_programs(before, after, Options(Theory.REAL, certificate=True))
    assert report.verdict is shardproof.Verdict.PROVED
    return report


def accepted(before: Program, after: Program, theory: Theory = Theory.REAL) -> str:
    report = report_on(before, after)
    assert report.certificate is not None, [note.text for note in report.notes]
    assert check(report.certificate.encode(), "c", before, after).theory is report.theory is theory
    return report.certificate


def in_quarters(context: Context) -> Iterator[Program]:
    """A sum's parts are put together from a quarter of them and the rest, which only the reals can collect."""
    for site in context.named("all_reduce"):
        if not single_sum(site.op):
            continue
        make = context.builder(site)
        source = site.op.operands[0]
        quarter, rest = (
            make.elementwise("multiply", source, make.constant(factor, source.tensor)) for factor in (0.25, 0.75)
        )
        make.again(site.op, (make.elementwise("add", quarter, rest),), into=site.op.results)
        yield with_ops(context.program, site, make.ops)


@pytest.mark.parametrize("name", test_ring_attention.RIGHT)
def test_rings_have_certificates(captured: Capture, name: str) -> None:
    accepted(*captured(lambda: test_ring_attention.compared(test_ring_attention.RIGHT[name])))


@pytest.mark.parametrize(
    ("name", "gradient"),
    [
        (name, gradient)
        for name, ring in test_ring_attention.WRONG.items()
        for gradient in (False, True)
        if not (gradient and ring.causal)  # which is not proved
    ],
)
def test_certificates_of_rings_do_not_hold_of_wrong_ones(captured: Capture, name: str, gradient: bool) -> None:
    ring = replace(test_ring_attention.WRONG[name], gradient=gradient)
    before, right = captured(lambda: test_ring_attention.compared(ring))
    same, wrong = captured(lambda: test_ring_attention.compared(replace(ring, wrong=name)))
    forged = about(accepted(before, right), right, wrong)
    with pytest.raises(Rejection):
        check(forged.encode(), "forged", same, wrong)


@pytest.mark.parametrize("name", ["scan_outputs", "scan_micro_batches", "scan_rows_sharded"])
def test_loops_that_look_up_have_certificates(captured: Capture, name: str) -> None:
    """What their loops carry are elements that are looked up, one at each index."""
    lowered = zoo.ENTRIES[name].lower()
    before, after = captured(lambda: shardproof.validate(lowered, stages="partitioner"))
    context = Context(after)
    need_the_reals = list(in_quarters(context))
    assert need_the_reals
    for edited in need_the_reals:
        accepted(before, edited)
    for edit in scaled_and_back(context):
        accepted(before, edit.program, Theory.REASSOCIATED)


@pytest.mark.parametrize("name", test_reals.RIGHT)
def test_small_laws_have_certificates(captured: Capture, name: str) -> None:
    accepted(*captured(lambda: test_reals.on_shards(*test_reals.RIGHT[name], count=2)))


@pytest.mark.parametrize("name", test_reals.WRONG)
def test_no_wrong_program_has_the_certificate_of_its_original(captured: Capture, name: str) -> None:
    """The original for both programs is proved; the wrong one is no more equal for that."""
    reference, candidate = test_reals.WRONG[name]
    before, right = captured(lambda: test_reals.on_shards(reference, reference, count=2))
    _, wrong = captured(lambda: test_reals.on_shards(reference, candidate, count=2))
    report = report_on(before, right)
    assert report.certificate is not None
    with pytest.raises(Rejection):
        check(about(report.certificate, right, wrong).encode(), "forged", before, wrong)


@pytest.mark.parametrize("activation", [jnp.tanh, jax.nn.relu])
def test_gradients_of_pipelines_have_certificates(captured: Capture, activation: Callable[[Any], Any]) -> None:
    accepted(*captured(lambda: test_reals.gradient_of(lambda weights, x: activation(x @ weights))))


def test_a_mean_of_means_needs_no_reals(captured: Capture) -> None:
    case = cases()["factors_that_cancel"]
    compare = lambda: shardproof.compare(case.reference, jax.jit(case.sharded), *arguments(case), theory="real")  # noqa: E731
    accepted(*captured(compare), Theory.REASSOCIATED)
