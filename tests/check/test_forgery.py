"""Certificates that were changed, and certificates for programs that they do not speak of."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from shardproof.validator.check.check import check
from shardproof.validator.check.errors import Rejection
from shardproof.validator.evaluate.errors import EvaluationError
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.errors import ReadError
from shardproof.validator.read.ir import Program
from tests.tools.mutate import mutants

from .pairs import FILES, about, certificate, pair, sealed

_WORDS = {
    "view": "stablehlo.add",
    "stablehlo.add": "stablehlo.maximum",
    "exact": "reassociated",
    "reassociated": "exact",
    "f32": "bf16",
    "operand": "result",
    "result": "operand",
    "apply": "sum",
    "sum": "view",
    "parameter": "array",
    "stablehlo.": "stablehlo.x",
}


def edits(text: str) -> Iterator[tuple[str, str]]:
    """Every number one greater, words for others, whole lines left out, digits of digests changed."""
    lines = text.split("\n")

    def with_line(number: int, line: str | None) -> str:
        return "\n".join([*lines[:number], *([] if line is None else [line]), *lines[number + 1 :]])

    for number, line in enumerate(lines):
        for found in re.finditer(r"(?<![iuf\w])\d+\b", line):
            changed = line[: found.start()] + str(int(found.group()) + 1) + line[found.end() :]
            yield f"line {number}: {found.group()} + 1", with_line(number, changed)
        for word, other in _WORDS.items():
            if f'"{word}' in line:
                yield f"line {number}: {word} → {other}", with_line(number, line.replace(f'"{word}', f'"{other}', 1))
        for found in re.finditer(r'"[0-9a-f]{64}"', line):
            digit = "0" if line[found.start() + 1] != "0" else "1"
            changed = line[: found.start() + 1] + digit + line[found.start() + 2 :]
            yield f"line {number}: a digest", with_line(number, changed)
        if re.match(r'\s*"shardproof\.(relation|term|claim|loop)"', line):
            yield f"line {number} left out", with_line(number, None)
            if number + 1 < len(lines):
                swapped = [*lines[:number], lines[number + 1], line, *lines[number + 2 :]]
                yield f"line {number} swapped", "\n".join(swapped)


def accepted(text: str, before: Program, after: Program) -> bool:
    try:
        check(text.encode(), "certificate", before, after)
    except (Rejection, ReadError):
        return False
    return True


@pytest.mark.parametrize("name", ["tp_mlp", "take_vocab", "scan_mlp"])
def test_every_changed_field_is_noticed(name: str):
    before, after = pair(name)
    text, count = certificate(name), 0
    for what, changed in edits(text):
        assert changed != text
        assert not accepted(changed, before, after), what
        count += 1
    assert count > 250


@pytest.mark.parametrize("name", ["tp_mlp", "scan_mlp"])
def test_changes_under_a_new_seal_are_rejected_unless_they_claim_nothing_wrong(name: str):
    """What may pass: a relation that reaches beyond its value's points, a claim left out or told as a sum of one step,
    definitions in another order, the number of steps of a sum where the theory leaves them open, the seal itself."""
    before, after = pair(name)
    text, rejected = certificate(name), 0
    original = text.split("\n")
    for what, changed in edits(text):
        if not accepted(sealed(changed), before, after):
            rejected += 1
            continue
        if "left out" in what or "swapped" in what or "view →" in what:
            continue
        for old, new in zip(original, changed.split("\n"), strict=True):
            first, second = (re.sub(r'levels = \d+|seal = "\w+"', "", line) for line in (old, new))
            assert first == second or '"shardproof.relation"' in old, f"{what}: {new}"
    assert rejected > 150


def differs(before: Program, after: Program) -> bool | None:
    """Whether the reference evaluator tells the programs apart; None where it cannot run them."""
    from benchmarks.oracle import Label, label

    try:
        said, _ = label(before, after)
    except EvaluationError:
        return None
    return said is Label.DIFFERS


@pytest.mark.parametrize("name", FILES)
def test_a_proof_does_not_carry_over_to_a_wrong_program(name: str):
    before, after = pair(name)
    text = certificate(name)
    every = list(mutants(after, limit=1))
    rejected = 0
    for mutant in random.Random(0).sample(every, min(30, len(every))):
        if accepted(about(text, after, mutant.program), before, mutant.program):
            assert differs(before, mutant.program) is False, f"{mutant.kind} {mutant.operator} {mutant.change}"
        else:
            rejected += 1
    assert rejected > 3


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ('kind = "number", levels', 'kind = "scalar", levels'),
        ('key = "0|', 'key = "x|'),
        ("] : 0 <= i0", "] : exists (e : i0 = 2e) and 0 <= i0"),
        ("pieces = [", "pieces = [0, 0, -1, "),
        ("version = 2", "version = 1"),
        ('kind = "apply"', 'kind = "applied"'),
        ("shardproof.step", "shardproof.stop"),
        ("arity = 2", 'arity = "2"'),
    ],
)
def test_malformed_certificates_are_rejected_with_a_reason(word: str, other: str):
    before, after = pair("tp_mlp")
    text = certificate("tp_mlp")
    assert word in text
    with pytest.raises((Rejection, ReadError), match=r"\w"):
        check(sealed(text.replace(word, other)).encode(), "certificate", before, after)


def test_a_weaker_theory_cannot_be_passed_off_as_a_stronger_one():
    before, after = pair("tp_mlp")
    changed = sealed(certificate("tp_mlp").replace('"reassociated"', '"exact"'))
    with pytest.raises(Rejection, match="claims another theory than 'reassociated'"):
        check(changed.encode(), "certificate", before, after)


def test_less_may_be_claimed_than_is_shown():
    """What is equal in reassociated arithmetic is so over the reals."""
    before, after = pair("tp_mlp")
    text = certificate("tp_mlp")
    found = check(sealed(text.replace('"reassociated"', '"real"')).encode(), "certificate", before, after)
    assert (found.theory, set(found.theories)) == (Theory.REAL, {Theory.REAL})
    for changed in (
        text.replace('theory = "reassociated"', 'theory = "real"'),
        re.sub(r'results = \["reassociated"', 'results = ["real"', text),
        re.sub(r"results = \[.*?\]", "results = []", text),
        re.sub(r'results = \["reassociated"', 'results = ["reassociated", "reassociated"', text),
    ):
        assert changed != text
        with pytest.raises(Rejection):
            check(sealed(changed).encode(), "certificate", before, after)


def test_a_rejection_names_the_step():
    before, after = pair("tp_mlp")
    text = certificate("tp_mlp")
    changed = sealed(text.replace('of = "result", pieces = [6, ', 'of = "result", pieces = [5, ', 1))
    assert changed != text
    with pytest.raises(Rejection, match=r"^before, op 0 'stablehlo.dot_general': "):
        check(changed.encode(), "certificate", before, after)
