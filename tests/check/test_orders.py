"""Certificates of results that depend on the order of elements: right ones, wrong programs, forged definitions."""

from __future__ import annotations

import re

import pytest

from shardproof.validator.check.check import check
from shardproof.validator.check.errors import Rejection
from shardproof.validator.read.errors import ReadError
from shardproof.validator.read.ir import Program
from tests.relate.pairs import Tensor, program
from tests.relate.test_ordered import ARGMAX, LAST_EQUAL, in_stages, whole
from tests.relate.test_updates import CHANGE, SET, Rows

from .pairs import about, sealed
from .test_forgery import edits
from .test_kinds import holds_for_no_other, written

CUT = "{devices=[1,3]<=[3]}"


@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_the_greatest_element_in_stages(dtype: str):
    how = (2, 7, 3, dtype)
    wrong = [
        in_stages(*how, ARGMAX, CUT, offset=1),
        in_stages(*how, ARGMAX, CUT, masked=False),
        in_stages(*how, ARGMAX, CUT, combined=LAST_EQUAL),
        in_stages(*how, LAST_EQUAL, CUT),
    ]
    if dtype == "f32":
        # among several that are no number the first wins
        wrong.append(in_stages(*how, ARGMAX, CUT, order=[1, 0, 2]))
    holds_for_no_other(whole(*how, ARGMAX, CUT), in_stages(*how, ARGMAX, CUT), *wrong)


def test_an_order_of_devices_that_does_not_matter():
    how = (2, 12, 3, "i32", ARGMAX, CUT)
    written(whole(*how), in_stages(*how, order=[1, 0, 2]))


@pytest.mark.parametrize("body", [SET, CHANGE])
@pytest.mark.parametrize("unique", [True, False])
def test_updates(body: str, unique: bool):
    made = Rows(7, 2, 4, 3, body=body)
    wrong = [
        made.after(unique, offset=1),
        made.after(unique, shifted=False),
        made.after(unique, backwards=True, only_index=True),
    ]
    if not unique:
        wrong += [made.after(unique, backwards=True), made.after(True)]
    holds_for_no_other(made.before(unique), made.after(unique), *wrong)


def test_a_promise_of_the_before_program_frees_the_order():
    made = Rows(7, 2, 4, 3)
    backwards = made.after(False, backwards=True)
    text = written(made.before(True), backwards)
    with pytest.raises(Rejection, match="in another order"):
        check(about(text, made.before(True), made.before(False)).encode(), "c", made.before(False), backwards)


def _windows(width: int, sharding: str, start: int = 0) -> Program:
    """A reducer that is no sum, over windows of three along the dimension that is whole."""
    type_ = Tensor((width, 9), "f32", sharding)
    body = f"""
  %start = stablehlo.constant dense<{start}.0> : tensor<f32>
  %out = "stablehlo.reduce_window"(%a0, %start) <{{window_dimensions = array<i64: 1, 3>}}> ({{
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.subtract %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }}) : ({type_}, tensor<f32>) -> tensor<{width}x7xf32>
"""
    return program(body, [type_], Tensor((width, 7), "f32", sharding), 2)


def test_windows_by_place():
    cut = "{devices=[2,1]<=[2]}"
    holds_for_no_other(_windows(4, cut), _windows(2, cut), _windows(2, cut, start=1))


def _argmax() -> tuple[str, Program, Program]:
    how = (2, 7, 3, "f32", ARGMAX, CUT)
    before, after = whole(*how), in_stages(*how)
    return written(before, after), before, after


def _accepted(text: str, before: Program, after: Program) -> bool:
    try:
        check(text.encode(), "certificate", before, after)
    except (Rejection, ReadError):
        return False
    return True


def _orders(text: str) -> list[str]:
    return [line for line in text.split("\n") if 'kind = "order"' in line]


def _bare(line: str) -> str:
    return re.sub(r"levels = \d+", "", line)


def test_every_change_of_an_order_is_rejected():
    """Under a new seal: the number of positions' coordinates, what is read, which function, which of its results."""
    text, before, after = _argmax()
    lines = text.split("\n")
    used = [k for k, line in enumerate(lines) if 'kind = "order"' in line]
    assert len(used) >= 2
    tried = 0
    for what, changed in edits(text):
        number = int(re.findall(r"line (\d+)", what)[0])
        if number not in used or "swapped" in what:
            continue
        new = changed.split("\n")
        if "left out" not in what and re.sub(r"levels = \d+", "", new[number]) == re.sub(
            r"levels = \d+", "", lines[number]
        ):
            continue
        tried += 1
        assert not _accepted(sealed(changed), before, after), what
    assert tried > 20


def test_two_elements_at_one_position_are_no_sequence():
    """With both, a term would be equal to what has either of them."""
    text, before, after = _argmax()
    line = _orders(text)[0]
    parts = re.findall(r"parts = \[([^\]]*)\]", line)[0]
    key = re.findall(r'key = "[^"]*"', line)[0]
    triples = parts.split(", ")
    twice = line.replace(parts, ", ".join([*triples, *triples[:6]]))
    assert "|2" in key
    with pytest.raises(Rejection, match="several elements at one position"):
        check(sealed(text.replace(line, twice)).encode(), "certificate", before, after)


def test_an_element_is_read_at_one_place():
    text, before, after = _argmax()
    line = _orders(text)[0]
    parts = re.findall(r"parts = \[([^\]]*)\]", line)[0]
    numbers = [int(number) for number in re.findall(r"-?\d+(?= : i64|,|$)", parts)]
    assert numbers[1] == numbers[4], "both components are read through one relation"
    numbers[4] = 0 if numbers[1] else 1
    changed = line.replace(parts, ", ".join(map(str, numbers)))
    with pytest.raises(Rejection, match="read in several ways"):
        check(sealed(text.replace(line, changed)).encode(), "certificate", before, after)
