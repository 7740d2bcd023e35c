"""What certificates may take from what the before program divides by, and what they may not."""

from __future__ import annotations

import re

import pytest

from shardproof.validator.check.check import check
from shardproof.validator.check.errors import Rejection
from shardproof.validator.ops.digest import digest
from shardproof.validator.ops.domains import limited
from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Program
from shardproof.validator.read.scalars import fold_scalars
from shardproof.validator.relation.build import Builder
from shardproof.validator.relation.mesh import NO_DEVICES
from shardproof.validator.relation.store import Store
from tests.relate.pairs import Tensor, program

from .pairs import sealed
from .test_holes import printed
from .test_kinds import written

EIGHT = Tensor((8,), "f32")

DIVIDED = "%d = stablehlo.divide %a0, %a1 : tensor<8xf32>\n"

ALWAYS = {
    "a divisor": DIVIDED + "%out = stablehlo.add %d, %a0 : tensor<8xf32>",
    "a logarithm": "%l = stablehlo.log %a1 : tensor<8xf32>\n%out = stablehlo.multiply %l, %a0 : tensor<8xf32>",
    "a root under a fraction": "%l = stablehlo.rsqrt %a1 : tensor<8xf32>\n%out = stablehlo.add %l, %a0 : tensor<8xf32>",
    "a factor of a divisor": (
        "%m = stablehlo.multiply %a1, %a0 : tensor<8xf32>\n%out = stablehlo.divide %a0, %m : tensor<8xf32>"
    ),
    "cut and put together": (
        DIVIDED
        + "%s = stablehlo.slice %d [0:4] : (tensor<8xf32>) -> tensor<4xf32>\n"
        + "%r = stablehlo.slice %d [4:8] : (tensor<8xf32>) -> tensor<4xf32>\n"
        + "%out = stablehlo.concatenate %r, %s, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>"
    ),
    "what is chosen by": (
        DIVIDED
        + "%p = stablehlo.compare GT, %d, %a0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>\n"
        + "%out = stablehlo.select %p, %a1, %a0 : tensor<8xi1>, tensor<8xf32>"
    ),
    "moved": (
        DIVIDED
        + "%t = stablehlo.reshape %d : (tensor<8xf32>) -> tensor<2x4xf32>\n"
        + "%s = stablehlo.constant dense<0.0> : tensor<f32>\n"
        + "%r = stablehlo.reduce(%t init: %s) applies stablehlo.add across dimensions = [0, 1] "
        + ": (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>\n"
        + "%out = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> tensor<8xf32>"
    ),
}
"""Bodies of programs whose result depends on %a1 being no zero, whatever the inputs are."""

CHOICE = "%p = stablehlo.compare GT, %a0, %a1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>\n"

SOMETIMES = {
    "nothing uses it": DIVIDED + "%out = stablehlo.add %a1, %a0 : tensor<8xf32>",
    "a choice": DIVIDED + CHOICE + "%out = stablehlo.select %p, %d, %a0 : tensor<8xi1>, tensor<8xf32>",
    "a mask": (
        DIVIDED
        + "%p = stablehlo.constant dense<[true, false, true, true, true, true, true, true]> : tensor<8xi1>\n"
        + "%out = stablehlo.select %p, %d, %a0 : tensor<8xi1>, tensor<8xf32>"
    ),
    "a slice": (
        DIVIDED
        + "%s = stablehlo.slice %d [0:4] : (tensor<8xf32>) -> tensor<4xf32>\n"
        + "%out = stablehlo.concatenate %s, %s, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>"
    ),
    "most of it": (
        DIVIDED
        + "%s = stablehlo.slice %d [0:7] : (tensor<8xf32>) -> tensor<7xf32>\n"
        + "%r = stablehlo.slice %a0 [7:8] : (tensor<8xf32>) -> tensor<1xf32>\n"
        + "%out = stablehlo.concatenate %s, %r, dim = 0 : (tensor<7xf32>, tensor<1xf32>) -> tensor<8xf32>"
    ),
    "a sum of most of it": (
        DIVIDED
        + "%s = stablehlo.slice %d [0:7] : (tensor<8xf32>) -> tensor<7xf32>\n"
        + "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        + "%r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [0] "
        + ": (tensor<7xf32>, tensor<f32>) -> tensor<f32>\n"
        + "%out = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> tensor<8xf32>"
    ),
    "sums of which some are used": (
        DIVIDED
        + "%t = stablehlo.reshape %d : (tensor<8xf32>) -> tensor<4x2xf32>\n"
        + "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        + "%r = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [1] "
        + ": (tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>\n"
        + "%s = stablehlo.slice %r [0:1] : (tensor<4xf32>) -> tensor<1xf32>\n"
        + "%o = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>\n"
        + "%out = stablehlo.broadcast_in_dim %o, dims = [] : (tensor<f32>) -> tensor<8xf32>"
    ),
    "nothing is left": (
        DIVIDED
        + "%s = stablehlo.slice %d [0:0] : (tensor<8xf32>) -> tensor<0xf32>\n"
        + "%out = stablehlo.concatenate %s, %a0, dim = 0 : (tensor<0xf32>, tensor<8xf32>) -> tensor<8xf32>"
    ),
    "another value": "%d = stablehlo.divide %a1, %a0 : tensor<8xf32>\n%out = stablehlo.add %d, %a1 : tensor<8xf32>",
    "a root, which may be zero": (
        "%l = stablehlo.sqrt %a1 : tensor<8xf32>\n%out = stablehlo.add %l, %a0 : tensor<8xf32>"
    ),
    "other elements": (
        "%r = stablehlo.slice %a1 [0:4] : (tensor<8xf32>) -> tensor<4xf32>\n"
        "%s = stablehlo.concatenate %r, %r, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>\n"
        "%out = stablehlo.divide %a0, %s : tensor<8xf32>"
    ),
    "a sum that is no zero": (
        "%m = stablehlo.add %a1, %a0 : tensor<8xf32>\n%out = stablehlo.divide %a0, %m : tensor<8xf32>"
    ),
    "a branch": (
        "%s = stablehlo.slice %a0 [0:1] : (tensor<8xf32>) -> tensor<1xf32>\n"
        "%t = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>\n"
        "%c = stablehlo.compare GT, %t, %t : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        '%out = "stablehlo.if"(%c) ({\n' + DIVIDED + "stablehlo.return %d : tensor<8xf32>\n}, {\n"
        "stablehlo.return %a0 : tensor<8xf32>\n}) : (tensor<i1>) -> tensor<8xf32>"
    ),
}
"""Bodies of programs that have a result where %a1 is zero."""


def _of(body: str) -> Program:
    return program(body, [EIGHT, EIGHT], EIGHT, 1)


def _line(name: str, attributes: str) -> str:
    return f'  "shardproof.{name}"() {{{attributes}}} : () -> ()\n'


def _forged(body: str) -> tuple[str, Program, Program]:
    """A certificate that y / %a1 · %a1 is y where a program's result has y as a summand, and both programs."""
    body = body.replace("%out", "%was")
    before = _of(f"{body}\n%out = stablehlo.add %was, %a0 : tensor<8xf32>")
    after = _of(
        f"{body}\n%x = stablehlo.multiply %a0, %a1 : tensor<8xf32>\n%q = stablehlo.divide %x, %a1 : tensor<8xf32>\n"
        "%out = stablehlo.add %was, %q : tensor<8xf32>"
    )
    text = written(before, before)
    tables, first, second = re.split(r'(?m)^(?=  "shardproof.program")', text)
    tables = re.sub(r'after = "\w+"', f'after = "{digest(fold_scalars(after))}"', tables)
    tables = re.sub(r'results = \["\w+"\]', 'results = ["real"]', re.sub(r'theory = "\w+"', 'theory = "real"', tables))
    count, same = tables.count('"shardproof.term"'), tables.count('"shardproof.relation"')
    terms = re.findall(r'(?m)^  "shardproof.term"\(\) .*$', tables)
    x, y = (next(k for k, term in enumerate(terms) if f'key = "{number}|8"' in term) for number in (0, 1))
    made = [("multiply", x, count), ("divide", count, count + 1)]
    for op, one, _ in made:
        key, parts = f"stablehlo.{op}", f"[{one}, {same}, 1, {y}, {same}, 1]"
        attributes = f'arity = 1 : i64, key = "{key}", kind = "apply", levels = 0 : i64, parts = {parts}, type = "f32"'
        tables += _line("term", attributes)
    relation = _line("relation", 'text = "{ [i0] -> [i0] : 0 <= i0 <= 7 }"')
    tables = re.sub(r'(?m)^  "shardproof.term"', lambda found: relation + found[0], tables, count=1)
    last, steps = len(before.body.ops) - 1, ""
    equal = f'by = "reals", opened = [], parts = [{x}, {same}, 1], term = {count + 1} : i64, theory = "real"'
    for place, (op, _, term) in enumerate(made):
        steps += _line("step", f'op = "stablehlo.{op}", position = {last + place} : i64') + _claim(term, same)
    steps += _line("equal", equal) + _claim(x, same)
    head, sign, end = second.rpartition('  "shardproof.step"')
    end = re.sub(r"position = \d+ : i64}", f"position = {last + 2} : i64}}", end, count=1)
    return sealed(printed([tables + first + head + steps + sign + end])), before, after


def _claim(term: int, relation: int) -> str:
    return _line("claim", f'monoid = "view", of = "result", pieces = [{term}, {relation}, 1], position = 0 : i64')


@pytest.mark.parametrize("name", ALWAYS)
def test_what_the_before_program_always_divides_by_is_not_zero(name: str):
    text, before, after = _forged(ALWAYS[name])
    assert check(text.encode(), "certificate", before, after).theory is Theory.REAL


@pytest.mark.parametrize("name", SOMETIMES)
def test_what_it_may_not_divide_by_may_be_zero(name: str):
    text, before, after = _forged(SOMETIMES[name])
    with pytest.raises(Rejection, match="not shown to be other than zero"):
        check(text.encode(), "certificate", before, after)


def test_the_padding_of_a_program_of_devices_may_be_zero():
    builder, body = Builder(Store(), NO_DEVICES), ALWAYS["a divisor"]
    assert [name for _, name, _ in limited(builder, program(body, [EIGHT, EIGHT], EIGHT, 1))] == ["stablehlo.divide"]
    assert not limited(builder, program(body, [EIGHT, EIGHT], EIGHT, 2))
