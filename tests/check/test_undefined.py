"""Values that are equal as real numbers, and differ where they are none: 0 / 0 is no infinity."""

from __future__ import annotations

import re

import pytest

from shardproof.validator.check.check import check
from shardproof.validator.check.errors import Rejection
from shardproof.validator.ops.digest import digest
from shardproof.validator.ops.record import Theory
from shardproof.validator.ops.values import Value
from shardproof.validator.read.ir import DType, Program, TensorType
from shardproof.validator.read.scalars import fold_scalars
from tests.relate.pairs import Tensor, differs, program

from .pairs import sealed
from .test_holes import printed
from .test_kinds import written
from .test_reals import Words

FLOATS, INTEGERS = Tensor((8,), "f32"), Tensor((8,), "i32")

TEST = (
    f"%p{{0}} = stablehlo.compare LT, %q{{0}}, %a0 : ({FLOATS}, {FLOATS}) -> tensor<8xi1>\n"
    f"%n{{0}} = stablehlo.convert %p{{0}} : (tensor<8xi1>) -> {INTEGERS}\n"
)

CONVERSION = f"%n{{0}} = stablehlo.convert %q{{0}} : ({FLOATS}) -> {INTEGERS}\n"


def _apart(second: str, use: str) -> Program:
    """What is made of (x + y) / z minus what is made of the same number, computed in another way."""
    body = (
        f"%s = stablehlo.add %a0, %a2 : {FLOATS}\n%q1 = stablehlo.divide %s, %a1 : {FLOATS}\n"
        f"%d = stablehlo.divide %a0, %a1 : {FLOATS}\n%e = stablehlo.divide %a2, %a1 : {FLOATS}\n"
        f"%q2 = {second} : {FLOATS}\n{use.format(1)}{use.format(2)}%out = stablehlo.subtract %n1, %n2 : {INTEGERS}\n"
    )
    return program(body, [FLOATS] * 3, INTEGERS, 1)


def _line(name: str, attributes: str) -> str:
    return f'  "shardproof.{name}"() {{{attributes}}} : () -> ()\n'


def _term(op: str, first: int, second: int) -> str:
    parts = f"[{first}, 0, 1, {second}, 0, 1]"
    return _line(
        "term", f'arity = 1, key = "stablehlo.{op}", kind = "apply", levels = 0, parts = {parts}, type = "f32"'
    )


def _step(op: str, position: int, term: int) -> str:
    claim = _line("claim", f'monoid = "view", of = "result", pieces = [{term}, 0, 1], position = 0')
    return _line("step", f'op = "stablehlo.{op}", position = {position}') + claim


def _with_integer(text: str) -> str:
    """A certificate with a term for integers in front of all others."""

    def counted(found: re.Match[str]) -> str:
        numbers = [int(number) for number in re.findall(r"-?\d+", found[2])]
        return f"{found[1]}[{', '.join(str(n + (k % 3 == 0)) for k, n in enumerate(numbers))}]"

    integer = _line("term", 'arity = 1, key = "", kind = "integer", levels = 0, parts = [], type = "i32"')
    text = re.sub(r"((?:parts|pieces) = )\[([^\]]*)\]", counted, text)
    return re.sub(r'(?m)^  "shardproof.term"', lambda found: integer + found[0], text, count=1)


@pytest.mark.parametrize("use", [TEST, CONVERSION], ids=["compared", "converted"])
def test_numbers_that_may_be_undefined_are_not_tested(use: str):
    """By its real numbers the difference is 0; (x + y) / z is infinite where x / z + y / z is no number."""
    before = program(f"%out = stablehlo.constant dense<0> : {INTEGERS}", [FLOATS] * 3, INTEGERS, 1)
    right, wrong = (_apart(second, use) for second in ("stablehlo.divide %s, %a1", "stablehlo.add %d, %e"))
    tables, _, after = re.split(r'(?m)^(?=  "shardproof.program")', _with_integer(written(right, right)))
    for name, of in (("before", before), ("after", wrong)):
        tables = re.sub(rf'{name} = "\w+"', f'{name} = "{digest(fold_scalars(of))}"', tables)
    tables = re.sub(r'"exact"', '"real"', tables)
    terms = re.findall(r'(?m)^  "shardproof.term"\(\) .*$', tables)
    x, z, y = (next(k for k, term in enumerate(terms) if f'key = "{number}|8"' in term) for number in (0, 1, 2))
    quotient, count = next(k for k, term in enumerate(terms) if "stablehlo.divide" in term), len(terms)
    tables += _term("divide", x, z) + _term("divide", y, z) + _term("add", count, count + 1)
    steps = _step("divide", 2, count) + _step("divide", 3, count + 1) + _step("add", 4, count + 2)
    fact = f'by = "reals", opened = [], parts = [{quotient}, 0, 1], term = {count + 2}, theory = "real"'
    steps += _line("equal", fact) + _step("add", 4, quotient).partition("\n")[2]
    own = r'(?m)^  "shardproof.step"\(\) \{op = "stablehlo.divide", position = 4 : i64\}.*\n  "shardproof.claim".*\n'
    assert len(re.findall(own, after)) == 1
    text = tables + '  "shardproof.program"() : () -> ()\n' + re.sub(own, steps.replace("\\", ""), after)
    text = re.sub(r"((?:arity|levels|position|term) = \d+)(?=[,}])", r"\1 : i64", text)
    assert differs(before, wrong, rounds=3)
    with pytest.raises(Rejection, match="is tested, and not shown to be a real number"):
        check(sealed(printed([text])).encode(), "forged", before, wrong)


@pytest.mark.parametrize("theory", [Theory.EXACT, Theory.REAL])
def test_what_a_loop_carries_is_a_number_if_its_condition_is_shown_over_the_reals(theory: Theory):
    words = Words()
    words.run.reals = words.reals
    condition = Value(TensorType((), DType.I1), (), words.rels.dom("{[]}"), theory=theory)
    for term, is_number in ((words.x, True), (words.apply("divide", words.x, words.z), False)):
        piece = words.part(term, 1)
        carried = Value(TensorType((8,), DType.F32), (piece,), words.rels.domain(piece.rel))
        if is_number or theory is Theory.EXACT:
            assert words.reals.tested(None, [carried], [condition]) == [condition]
        else:
            with pytest.raises(Rejection, match="not shown to be a real number"):
                words.reals.tested(None, [carried], [condition])
