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


WINDOWS = [("x", "8xi32", ""), ("v", "3x2xi32", "")]


def added_windows(index: str, size: int, promise: str, base: str = "%x", update: str = "%v") -> str:
    return f"""%o = "stablehlo.scatter"({base}, {index}, {update}) <{{scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>{promise}}}> ({{
    ^bb0(%l: tensor<i32>, %r: tensor<i32>):
      %s = stablehlo.add %l, %r : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }}) : (tensor<8xi32>, tensor<3x1xi32>, tensor<3x{size}xi32>) -> tensor<8xi32>"""


@pytest.mark.parametrize(("starts", "proved"), [([0, 2, 4], True), ([4, 0, 2], True), ([0, 1, 4], False)])
def test_windows_of_known_distinct_indices_may_meet(starts: list[int], proved: bool) -> None:
    """A scatter's promise is that of all elements that are updated, not that its windows begin apart."""
    known = f"%i = stablehlo.constant dense<{[[start] for start in starts]}> : tensor<3x1xi32>"
    before, after = (
        module(WINDOWS, "8xi32", f"{known} {added_windows('%i', 2, each)} return %o : tensor<8xi32>")
        for each in ("", UNIQUE)
    )
    assert theory_of(before, after) is (Theory.EXACT if proved else None)


@pytest.mark.parametrize(("promised", "size", "proved"), [(2, 2, True), (3, 2, True), (1, 2, False)])
def test_windows_of_promised_indices_may_meet(promised: int, size: int, proved: bool) -> None:
    """x[i : i + n] += w and x[i : i + 2] += v, where the original promises that the former ones are apart."""
    before, after = (
        module(
            [*WINDOWS, ("w", f"3x{promised}xi32", ""), ("i", "3x1xi32", "")],
            "8xi32",
            added_windows("%i", promised, UNIQUE, "%x", "%w").replace("%o =", "%p =")
            + f" {added_windows('%i', size, each, '%p')} return %o : tensor<8xi32>",
        )
        for each in ("", UNIQUE)
    )
    assert theory_of(before, after) is (Theory.EXACT if proved else None)


TABLE = "tensor<8xi32>"
CHOSEN = [*ARGUMENTS, ("p", "i1", ""), ("n", "i32", ""), ("m", "i32", "")]


def chosen(predicate: str, first: str, second: str) -> str:
    """x.at[i].add(u) if the predicate holds, else x.at[i].add(v), each with its promise."""
    blocks = [added("%x", "%i", u, 3, promise) for u, promise in (("%u", first), ("%v", second))]
    one, other = (f"{{ {block} stablehlo.return %o : tensor<8xi32> }}" for block in blocks)
    return f'%o = "stablehlo.if"({predicate}) ({one}, {other}) : (tensor<i1>) -> {TABLE} return %o : {TABLE}'


@pytest.mark.parametrize("promise", [UNIQUE, SORTED])
def test_a_branch_promises_nothing_of_another_one(promise: str) -> None:
    before = module(CHOSEN, "8xi32", chosen("%p", promise, ""))
    assert theory_of(before, module(CHOSEN, "8xi32", chosen("%p", promise, ""))) is Theory.EXACT
    assert theory_of(before, module(CHOSEN, "8xi32", chosen("%p", promise, promise))) is None
    assert theory_of(before, module(CHOSEN, "8xi32", chosen("%p", "", promise))) is None


def repeated(name: str, base: str, trips: str, promise: str) -> str:
    return f"""%zero_{name} = stablehlo.constant dense<0> : tensor<i32>
    %{name}:2 = stablehlo.while(%c = %zero_{name}, %y = {base}) : tensor<i32>, tensor<8xi32>
    cond {{
      %t = stablehlo.compare LT, %c, {trips} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    }} do {{
      %one = stablehlo.constant dense<1> : tensor<i32>
      {added("%y", "%i", "%u", 3, promise)}
      %d = stablehlo.add %c, %one : tensor<i32>
      stablehlo.return %d, %o : tensor<i32>, tensor<8xi32>
    }}"""


@pytest.mark.parametrize("promise", [UNIQUE, SORTED])
def test_a_loop_promises_nothing_of_another_one(promise: str) -> None:
    """The first loop may run no trip at all."""

    def loops(first: str, second: str) -> str:
        both = f"{repeated('a', '%x', '%n', first)} {repeated('b', '%a#1', '%m', second)}"
        return module(CHOSEN, "8xi32", f"{both} return %b#1 : tensor<8xi32>")

    before = loops(promise, "")
    assert theory_of(before, before) is Theory.EXACT
    assert theory_of(before, loops(promise, promise)) is None
    assert theory_of(before, loops("", promise)) is None


def test_a_branch_sets_no_order_of_another_one_free() -> None:
    """x.at[i].set(u) in either branch, of which only the first promises that indices are distinct."""

    def chosen_set(promise: str, turned: bool) -> str:
        blocks = []
        for each, back in ((promise, False), ("", turned)):
            index, update = ("%j", "%w") if back else ("%i", "%u")
            scatter = added("%x", index, update, 3, each)
            whole = scatter.replace("%s = stablehlo.add %l, %r : tensor<i32>", "").replace("return %s", "return %r")
            turning = f"{TURNED} " if back else ""
            blocks.append(f"{{ {turning}{whole} stablehlo.return %o : tensor<8xi32> }}")
        both = ", ".join(blocks)
        body = f'%o = "stablehlo.if"(%p) ({both}) : (tensor<i1>) -> tensor<8xi32> return %o : tensor<8xi32>'
        return module(CHOSEN, "8xi32", body)

    before = chosen_set(UNIQUE, turned=False)
    assert theory_of(before, before) is Theory.EXACT
    assert theory_of(before, chosen_set(UNIQUE, turned=True)) is None
    assert theory_of(chosen_set("", turned=False), chosen_set("", turned=True)) is None


TURNED = """%j = stablehlo.reverse %i, dims = [0] : tensor<3xi32>
  %w = stablehlo.reverse %u, dims = [0] : tensor<3xi32>"""
