"""Sums that hold equal elements, as many as goes by the place: windows at the border of an array hold fewer."""

import random
from collections import Counter

import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.ops.sums import _occurrences
from shardproof.validator.read.ir import Program
from shardproof.validator.relation.store import Rel, Store
from tests.tools.audit import audit_pair
from tests.tools.points import enumerate_set

from .lemma_parts import own_start
from .pairs import Tensor, differs, program, proved
from .test_windows import ADD, _init, _windows

DEVICES = 3


def _mean(rows: int, window: int, stride: int, low: int, high: int) -> Program:
    """Rows divided by how many rows their window holds."""
    whole = Tensor((rows, 2), "f32", f"{{devices=[{DEVICES},1]<=[{DEVICES}]}}")
    ones = Tensor(((rows - 1) * stride + window - low - high, 2), "f32")
    body = _init("0.0") + f"%x = stablehlo.constant dense<1.0> : {ones}\n"
    body += _windows(ones, whole, window, low, high, ADD, stride).replace("%out", "%count")
    return program(body + f"%out = stablehlo.divide %a0, %count : {whole}", [whole], whole, DEVICES)


def _mean_of_mine(rows: int, window: int, stride: int, low: int, high: int, shift: int = 0) -> Program:
    """The same on each device, whose windows are those of a padded array that begin at its own row."""
    count = (rows - 1) * stride + window - low - high
    mine = rows // DEVICES
    part, ones = Tensor((mine, 2), "f32", f"{{devices=[{DEVICES},1]<=[{DEVICES}]}}"), Tensor((count, 2), "f32")
    padded = Tensor((count + low + high, 2), "f32")
    own = Tensor(((mine - 1) * stride + window, 2), "f32")
    body = (
        _init("0.0") + own_start(mine * stride)
        + f"%one = stablehlo.constant dense<1.0> : {ones}\n%zero = stablehlo.constant dense<0> : tensor<i32>\n"
        f"%all = stablehlo.pad %one, %init, low = [{low + shift}, 0], high = [{high - shift}, 0], interior = [0, 0] : "
        f"({ones}, tensor<f32>) -> {padded}\n"
        f"%x = stablehlo.dynamic_slice %all, %start, %zero, sizes = [{own.shape[0]}, 2] : "
        f"({padded}, tensor<i32>, tensor<i32>) -> {own}\n"
    )  # fmt: skip
    body += _windows(own, part, window, 0, 0, ADD, stride).replace("%out", "%count")
    return program(body + f"%out = stablehlo.divide %a0, %count : {part}", [part], part, DEVICES)


@pytest.mark.parametrize("sizes", [(12, 3, 1, 1, 1), (12, 5, 1, 2, 2), (6, 4, 2, 1, 2), (9, 3, 1, 2, 0)])
def test_windows_of_ones_are_counted(sizes: tuple[int, int, int, int, int]):
    before, after = _mean(*sizes), _mean_of_mine(*sizes)
    assert proved(before, after, Theory.REASSOCIATED)
    assert not audit_pair(before, after).mismatches
    assert not differs(before, after)
    wrong = _mean_of_mine(*sizes, shift=-1 if sizes[3] else 1)
    assert not proved(before, wrong)
    assert differs(before, wrong)


def _pairs(rel: Rel) -> list[list[int]]:
    return enumerate_set(rel.map.wrap().flatten()).tolist()


@pytest.mark.parametrize("seed", range(60))
def test_every_element_is_counted_as_often_as_it_is_reached(seed: int):
    rng, store = random.Random(seed), Store()
    low, high, window = rng.randint(0, 2), rng.randint(0, 2), rng.randint(1, 4)
    rows, columns = rng.randint(2, 6), rng.randint(1, 3)
    step = rng.choice((1, 1, 2))
    rel = store.rel(
        f"{{[p] -> [q, r] : 0 <= p < {rows} and 0 <= q < {rows} and 0 <= r < {columns} and "
        f"p - {low} <= {step}q < p - {low} + {window} + {high}}}"
    )
    inner = store.rel(
        rng.choice(("{[q, r] -> [1]}", "{[q, r] -> [r]}", "{[q, r] -> [q]}", "{[q, r] -> [q] : q > 1}",
                    "{[q, r] -> [7] : q < 3; [q, r] -> [r] : q >= 3}", "{[q, r] -> [0] : r = 0}"))
    )  # fmt: skip
    found = _occurrences(store, rel, inner, apart=True)
    wanted: Counter[tuple[int, int]] = Counter()
    for p, *q in _pairs(rel):
        at = store.restrict(inner, store.dom(f"{{[{q[0]}, {q[1]}]}}"))
        wanted.update((p, x) for _, _, x in _pairs(at))
    if found is None:
        assert "7" in str(inner.map) or step == 2
        return
    have: Counter[tuple[int, int]] = Counter()
    for part, times in found:
        for p, x in _pairs(store.compose(part, inner)):
            have[(p, x)] += times
    assert have == wanted
