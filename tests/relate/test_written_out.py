"""Elementwise algebra on shards: the original's term reads its operands elsewhere, so that it has to be written out."""

from __future__ import annotations

from typing import Any

import pytest

from shardproof.validator.check.check import check
from shardproof.validator.ops.record import Theory
from shardproof.validator.options import Options
from shardproof.validator.read.ir import Program
from shardproof.validator.relate import lift
from shardproof.validator.relate.bridge import Bridge
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs

from .lemma_parts import elementwise

HALF = "%h = stablehlo.constant dense<0.5> : {0}\n"
BELOW = (
    "%z = stablehlo.constant dense<0.0> : {0}\n%p = stablehlo.compare GT, %a0, %z : ({0}, {0}) -> {1}\n"
    "%q = stablehlo.compare GT, %a1, %z : ({0}, {0}) -> {1}\n"
)
CHOICE = "%out = stablehlo.select %n, %a0, %a1 : {1}, {0}"
NOT_BOTH = BELOW + "%b = stablehlo.and %p, %q : {1}\n%n = stablehlo.not %b : {1}\n" + CHOICE
NEITHER = BELOW + "%x = stablehlo.not %p : {1}\n%y = stablehlo.not %q : {1}\n%n = stablehlo.{2} %x, %y : {1}\n" + CHOICE

LAWS = {
    "a difference turned round": (
        Theory.REASSOCIATED,
        "%out = stablehlo.subtract %a0, %a1 : {0}",
        "%d = stablehlo.subtract %a1, %a0 : {0}\n%out = stablehlo.negate %d : {0}",
        "%d = stablehlo.subtract %a0, %a1 : {0}\n%out = stablehlo.negate %d : {0}",
    ),
    "a sign that leaves a product": (
        Theory.EXACT,
        "%n = stablehlo.negate %a0 : {0}\n%out = stablehlo.multiply %n, %a1 : {0}",
        "%p = stablehlo.multiply %a0, %a1 : {0}\n%out = stablehlo.negate %p : {0}",
        "%p = stablehlo.multiply %a0, %a0 : {0}\n%out = stablehlo.negate %p : {0}",
    ),
    "a power of two on a sum": (
        Theory.REASSOCIATED,
        HALF + "%s = stablehlo.add %a0, %a1 : {0}\n%out = stablehlo.multiply %s, %h : {0}",
        HALF + "%x = stablehlo.multiply %a0, %h : {0}\n%y = stablehlo.multiply %a1, %h : {0}\n"
        "%out = stablehlo.add %x, %y : {0}",
        HALF + "%x = stablehlo.multiply %a0, %h : {0}\n%out = stablehlo.add %x, %a1 : {0}",
    ),
    "not both": (Theory.EXACT, NOT_BOTH, NEITHER.replace("{2}", "or"), NEITHER.replace("{2}", "and")),
}


def programs(name: str) -> tuple[Program, Program, Program]:
    truth = ["tensor<6xi1>", "tensor<2xi1>", "tensor<2xi1>"]
    texts = [body.replace("{1}", kind) for body, kind in zip(LAWS[name][1:], truth, strict=True)]
    example = elementwise(*texts, count=2)
    return example.before(), example.after(), example.broken()


@pytest.mark.parametrize("name", LAWS)
def test_laws_hold_on_shards(name: str):
    theory, (before, after, broken) = LAWS[name][0], programs(name)
    report = validate_programs(before, after, Options(certificate=True))
    assert (report.verdict, report.theory) == (Verdict.PROVED, theory)
    assert report.certificate is not None, [note.text for note in report.notes]
    assert check(report.certificate.encode(), "c", before, after).theory is theory
    assert validate_programs(before, broken, Options()).verdict is Verdict.REFUTED


@pytest.mark.parametrize("name", [name for name in LAWS if name != "not both"])
def test_some_need_to_be_written_out(name: str, monkeypatch: pytest.MonkeyPatch):
    before, after, _ = programs(name)
    find = Bridge._find

    def as_it_is(*arguments: Any, wholly: bool = False) -> Any:
        return None if wholly else find(*arguments)

    monkeypatch.setattr(Bridge, "_find", as_it_is)
    monkeypatch.setattr(lift, "multiple_of", lambda walk, atom: None)
    assert validate_programs(before, after, Options()).verdict is Verdict.NOT_PROVED
