"""What a partitioned program promises of its indices is believed only of index vectors of which the original does."""

from __future__ import annotations

import pytest

from shardproof.validator.ops.record import Theory

from .modules import module, theory_of

ARGUMENTS = [("x", "8xi32", ""), ("i", "3xi32", ""), ("u", "3xi32", ""), ("v", "3xi32", "")]
BOTH = """%i2 = stablehlo.concatenate %i, %i, dim = 0 : (tensor<3xi32>, tensor<3xi32>) -> tensor<6xi32>
  %uv = stablehlo.concatenate %u, %v, dim = 0 : (tensor<3xi32>, tensor<3xi32>) -> tensor<6xi32>"""


def added(base: str, index: str, update: str, count: int, promise: str) -> str:
    """base.at[index].add(update) as %o."""
    return f"""%column = stablehlo.reshape {index} : (tensor<{count}xi32>) -> tensor<{count}x1xi32>
    %o = "stablehlo.scatter"({base}, %column, {update}) <{{scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>{promise}}}> ({{
    ^bb0(%l: tensor<i32>, %r: tensor<i32>):
      %s = stablehlo.add %l, %r : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }}) : (tensor<8xi32>, tensor<{count}x1xi32>, tensor<{count}xi32>) -> tensor<8xi32>"""


def looked_up(index: str, promise: str, result: str = "%o") -> str:
    """x[index]."""
    return f"""%column = stablehlo.reshape {index} : (tensor<3xi32>) -> tensor<3x1xi32>
    {result} = "stablehlo.gather"(%x, %column) <{{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>{promise}}}>
      : (tensor<8xi32>, tensor<3x1xi32>) -> tensor<3xi32>"""


UNIQUE, SORTED = ", unique_indices = true", ", indices_are_sorted = true"


@pytest.mark.parametrize(("promise", "proved"), [("", True), (UNIQUE, False), (SORTED, False)])
def test_indices_put_one_after_the_other_are_neither_distinct_nor_sorted(promise: str, proved: bool) -> None:
    """x.at[i].add(u).at[i].add(v), with distinct and sorted indices each, by one scatter."""
    first = added("%x", "%i", "%u", 3, UNIQUE + SORTED).replace("%column", "%c").replace("%o =", "%p =")
    before = module(
        ARGUMENTS, "8xi32", f"{first} {added('%p', '%i', '%v', 3, UNIQUE + SORTED)} return %o : tensor<8xi32>"
    )
    after = module(ARGUMENTS, "8xi32", f"{BOTH} {added('%x', '%i2', '%uv', 6, promise)} return %o : tensor<8xi32>")
    assert theory_of(before, after) is (Theory.EXACT if proved else None)
    assert theory_of(before, before) is Theory.EXACT


@pytest.mark.parametrize(("promise", "proved"), [("", True), (SORTED, False)])
def test_indices_in_the_other_order_are_not_sorted(promise: str, proved: bool) -> None:
    turned = "%j = stablehlo.reverse %i, dims = [0] : tensor<3xi32>"
    back = "%o = stablehlo.reverse %q, dims = [0] : tensor<3xi32> return %o : tensor<3xi32>"
    before = module(ARGUMENTS, "3xi32", f"{looked_up('%i', SORTED)} return %o : tensor<3xi32>")
    after = module(ARGUMENTS, "3xi32", f"{turned} {looked_up('%j', promise, '%q')} {back}")
    assert theory_of(before, after) is (Theory.EXACT if proved else None)
    assert theory_of(before, before) is Theory.EXACT


@pytest.mark.parametrize(
    ("numbers", "promise", "proved"),
    [
        ([1, 4, 6], SORTED + UNIQUE, True),
        ([4, 1, 6], UNIQUE, True),
        ([4, 1, 6], SORTED, False),
        ([1, 4, 4], SORTED, True),
        ([1, 4, 4], UNIQUE, False),
    ],
)
def test_known_indices_speak_for_themselves(numbers: list[int], promise: str, proved: bool) -> None:
    known = f"%k = stablehlo.constant dense<{numbers}> : tensor<3xi32>"
    before = module(ARGUMENTS, "8xi32", f"{known} {added('%x', '%k', '%u', 3, '')} return %o : tensor<8xi32>")
    after = module(ARGUMENTS, "8xi32", f"{known} {added('%x', '%k', '%u', 3, promise)} return %o : tensor<8xi32>")
    assert theory_of(before, after) is (Theory.EXACT if proved else None)


@pytest.mark.parametrize(
    ("moved", "proved"),
    [
        ("%j = stablehlo.add %i, %one : tensor<3xi32>", True),
        ("%j = stablehlo.subtract %one, %i : tensor<3xi32>", False),
    ],
)
def test_indices_stay_sorted_under_functions_that_rise(moved: str, proved: bool) -> None:
    """x[i] + x[1 + i] or x[i] + x[1 − i], where the original's user promised that i is sorted."""
    one = "%one = stablehlo.constant dense<1> : tensor<3xi32>"
    total = "%o = stablehlo.add %p, %q : tensor<3xi32> return %o : tensor<3xi32>"
    plain = looked_up("%i", SORTED, "%p").replace("%column", "%c")
    before = module(ARGUMENTS, "3xi32", f"{one} {moved} {plain} {looked_up('%j', '', '%q')} {total}")
    after = module(ARGUMENTS, "3xi32", f"{one} {moved} {plain} {looked_up('%j', SORTED, '%q')} {total}")
    assert theory_of(before, after) is (Theory.EXACT if proved else None)
    assert theory_of(before, before) is Theory.EXACT
