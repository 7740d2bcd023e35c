"""Negative indices that are wrapped around, under the assumption that indices are in bounds."""

from __future__ import annotations

import numpy as np
import pytest

from shardproof.validator.evaluate.compare import Search, search_counterexample
from shardproof.validator.evaluate.layouts import layouts_of
from shardproof.validator.read.ir import Program

from .pairs import Tensor, program, verdict

TABLE, INDEX, ELEMENT = Tensor((6,), "f32"), Tensor((), "i8"), Tensor((1,), "f32")

WRAPPED = {
    "as JAX does": ("LT, %a1, %c0", "%a1, %c6", "%up, %a1"),
    "the number first": ("LT, %a1, %c0", "%c6, %a1", "%up, %a1"),
    "by more": ("LT, %a1, %c0", "%a1, %c7", "%up, %a1"),
}
"""What is compared, what is added, and what is chosen."""

OTHERWISE = {
    "zero, too": ("LE, %a1, %c0", "%a1, %c6", "%up, %a1"),
    "from one": ("LT, %a1, %c1", "%a1, %c6", "%up, %a1"),
    "another one": ("LT, %a1, %c0", "%a2, %c6", "%up, %a1"),
    "by another one": ("LT, %a2, %c0", "%a1, %c6", "%up, %a1"),
}
"""Indices that are in bounds for an integer that is not, and is not wrapped around."""


def _read(compared: str, added: str, chosen: str) -> Program:
    constants = {"c0": 0, "c1": 1, "c6": 6, "c7": 7}
    body = "".join(f"%{name} = stablehlo.constant dense<{n}> : {INDEX}\n" for name, n in constants.items()) + (
        f"%neg = stablehlo.compare {compared} : ({INDEX}, {INDEX}) -> tensor<i1>\n"
        f"%up = stablehlo.add {added} : {INDEX}\n%i = stablehlo.select %neg, {chosen} : tensor<i1>, {INDEX}\n"
        f"%out = stablehlo.dynamic_slice %a0, %i, sizes = [1] : ({TABLE}, {INDEX}) -> {ELEMENT}\n"
    )
    return program(body, [TABLE, INDEX, INDEX], ELEMENT, 1)


def _masked(rows: int = 6) -> Program:
    """The element if there is one, and 0 otherwise."""
    body = (
        f"%c0 = stablehlo.constant dense<0> : {INDEX}\n%n = stablehlo.constant dense<{rows}> : {INDEX}\n"
        f"%low = stablehlo.compare GE, %a1, %c0 : ({INDEX}, {INDEX}) -> tensor<i1>\n"
        f"%high = stablehlo.compare LT, %a1, %n : ({INDEX}, {INDEX}) -> tensor<i1>\n"
        "%there = stablehlo.and %low, %high : tensor<i1>\n"
        f"%p = stablehlo.broadcast_in_dim %there, dims = [] : (tensor<i1>) -> tensor<1xi1>\n"
        f"%x = stablehlo.dynamic_slice %a0, %a1, sizes = [1] : ({TABLE}, {INDEX}) -> {ELEMENT}\n"
        f"%none = stablehlo.constant dense<0.0> : {ELEMENT}\n"
        f"%out = stablehlo.select %p, %x, %none : tensor<1xi1>, {ELEMENT}\n"
    )
    return program(body, [TABLE, INDEX, INDEX], ELEMENT, 1)


def _proved(before: Program, after: Program, *, in_bounds: bool = True) -> bool:
    (comparison,) = verdict(before, after, assume_in_bounds=in_bounds).comparisons
    return comparison is not None and comparison.proved


def _differ(before: Program, after: Program) -> bool:
    """Whether any integer tells them apart."""
    search = Search(before, after, layouts_of(before, after), assume_indices_in_bounds=True)
    table = np.arange(1, 7, dtype=np.float32)
    every = np.arange(-128, 128).astype(np.int8)
    return any(search.differ([table, index, np.zeros((), np.int8)], 0) is not None for index in map(np.asarray, every))


@pytest.mark.parametrize("form", WRAPPED)
def test_what_is_wrapped_around_is_not_negative(form: str):
    before = _read(*WRAPPED[form])
    assert _proved(before, _masked())
    assert not _differ(before, _masked())
    assert not _proved(before, _masked(), in_bounds=False)


@pytest.mark.parametrize("form", OTHERWISE)
def test_what_is_moved_otherwise_may_be_negative(form: str):
    assert not _proved(_read(*OTHERWISE[form]), _masked())


def test_an_index_in_bounds_has_to_be_found():
    before = _read(*WRAPPED["as JAX does"])
    assert _differ(before, _masked(5))
    assert not _proved(before, _masked(5))


def test_counterexamples_with_indices_in_bounds_are_preferred():
    before = _read(*WRAPPED["as JAX does"])
    found = search_counterexample(before, _masked(5))
    assert found is not None
    assert (found.inputs[1], found.out_of_bounds) == (5, ())


def test_the_others_say_where_the_index_is_met():
    before = _read(*WRAPPED["as JAX does"])
    found = search_counterexample(before, _masked())
    assert found is not None
    assert found.inputs[1] not in range(6)
    assert any(text.startswith("'stablehlo.") for text in found.out_of_bounds)
