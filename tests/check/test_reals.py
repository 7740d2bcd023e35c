"""What the checker takes for equal over the real numbers: laws that hold, and what only looks like one."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import pytest

from shardproof.validator.check.errors import Rejection
from shardproof.validator.check.reals.reals import Reals
from shardproof.validator.check.relations import Relations
from shardproof.validator.check.run import Run
from shardproof.validator.check.terms import Kind, Term, Terms
from shardproof.validator.ops.monoid import Monoid
from shardproof.validator.ops.values import Piece
from shardproof.validator.read.attributes import Comparison
from shardproof.validator.read.ir import DType
from shardproof.validator.relation.build import Builder
from shardproof.validator.relation.mesh import NO_DEVICES

N = 4
"""Elements of a vector; tables are N × N."""


@dataclass
class Words:
    """Terms of vectors x, y, z, of a table t and of numbers, by what they are made of."""

    rels: Any = field(default_factory=Relations)
    terms: Terms = field(default_factory=Terms)

    def __post_init__(self) -> None:
        builder = Builder(self.rels, NO_DEVICES)
        self.run = Run(self.rels, self.terms, {}, [], {}, {}, None, None, builder, True, 1)  # pyright: ignore[reportArgumentType]
        self.reals = Reals(self.run)
        self.x, self.y, self.z = (self.parameter(k, 1) for k in range(3))
        self.t = self.parameter(3, 2)

    def parameter(self, number: int, arity: int) -> Term:
        return self.terms.make(Kind.PARAMETER, DType.F32, arity, (number, *[N] * arity))

    def number(self, value: float) -> Term:
        if value == int(value):
            return self.terms.make(Kind.NUMBER, DType.F32, 0, int(value))
        return self.terms.make(Kind.SCALAR, DType.F32, 0, struct.pack("<d", value).hex())

    @property
    def bottom(self) -> Term:
        return self.terms.make(Kind.SCALAR, DType.F32, 0, struct.pack("<d", float("-inf")).hex())

    def part(self, term: Term, arity: int, where: str = "", index: str = "") -> Piece:
        """A term at the same index, a number at any; `where` limits the index, `index` tells another one."""
        variables = [f"i{k}" for k in range(arity)]
        box = " and ".join([f"0 <= {name} < {N}" for name in variables] + [where] * bool(where)) or "1 = 1"
        own = index or ",".join(variables[: term.arity])
        return Piece(term, self.rels.rel(f"{{[{','.join(variables)}] -> [{own}] : {box}}}"))

    def apply(self, op: str, *parts: Term | Piece, dtype: DType = DType.F32) -> Term:
        arity = max(p.arity if isinstance(p, Term) else p.rel.arity_in for p in parts)
        reads = [p if isinstance(p, Piece) else self.part(p, arity) for p in parts]
        key = op if "." in op else f"stablehlo.{op}"
        return self.terms.make(Kind.APPLY, dtype, arity, key, reads)

    def sum(self, term: Term, rel: str, monoid: Monoid = Monoid.ADD, count: int = 1) -> Term:
        read = self.rels.rel(rel)
        return self.terms.make(Kind.SUM, DType.F32, read.arity_in, (), [Piece(term, read, count)], monoid, 1)

    def rows(self, term: Term, monoid: Monoid = Monoid.ADD) -> Term:
        return self.sum(term, f"{{[i0] -> [i0,j] : 0 <= i0 < {N} and 0 <= j < {N}}}", monoid)

    def all(self, term: Term) -> Term:
        return self.sum(term, f"{{[] -> [j] : 0 <= j < {N}}}")

    def view(self, *parts: Piece) -> Term:
        return self.terms.make(Kind.VIEW, DType.F32, parts[0].rel.arity_in, (), parts)

    def masked(self, term: Term) -> Term:
        """−∞ above the diagonal of a table."""
        return self.view(self.part(term, 2, "i1 <= i0"), self.part(self.bottom, 2, "i1 > i0"))

    def at_rows(self, term: Term) -> Piece:
        return self.part(term, 2, index="i0")

    def claim(self, term: Term, *others: Term | Piece) -> None:
        self.reals.shown(term, [p if isinstance(p, Piece) else self.part(p, term.arity) for p in others])


def positive(w: Words, term: Term) -> Term:
    return w.apply("exponential", term)


def softmax(w: Words, scores: Term, shift: Term | None, where: str = "true") -> Term:
    shifted = scores if shift is None else w.apply("subtract", scores, w.at_rows(shift))
    weights = w.apply("exponential", shifted)
    total = w.sum(weights, f"{{[i0] -> [i0,j] : 0 <= i0 < {N} and 0 <= j < {N} and {where}}}")
    return w.apply("divide", weights, w.at_rows(total))


LAWS: dict[str, Any] = {
    "2x / 2 = x": lambda w: (w.apply("divide", w.apply("multiply", w.x, w.number(2)), w.number(2)), w.x),
    "1 / (1 / e) = e": lambda w: (
        w.apply("divide", w.number(1), w.apply("divide", w.number(1), positive(w, w.x))),
        positive(w, w.x),
    ),
    "x / 3 as a factor": lambda w: (w.apply("divide", w.x, w.number(3)), w.apply("multiply", w.number(1 / 3), w.x)),
    "(x + y) z": lambda w: (
        w.apply("multiply", w.apply("add", w.x, w.y), w.z),
        w.apply("add", w.apply("multiply", w.x, w.z), w.apply("multiply", w.z, w.y)),
    ),
    "x - x = 0": lambda w: (w.apply("subtract", w.x, w.x), w.number(0)),
    "0 x = 0": lambda w: (w.apply("multiply", w.number(0), w.x), w.number(0)),
    "x e / e = x": lambda w: (w.apply("divide", w.apply("multiply", w.x, positive(w, w.y)), positive(w, w.y)), w.x),
    "exp(x + y)": lambda w: (
        w.apply("exponential", w.apply("add", w.x, w.y)),
        w.apply("multiply", positive(w, w.x), positive(w, w.y)),
    ),
    "exp(log(e)) = e": lambda w: (w.apply("exponential", w.apply("log", positive(w, w.x))), positive(w, w.x)),
    "log(x e) = log x + y": lambda w: (
        w.apply("log", w.apply("multiply", w.x, positive(w, w.y))),
        w.apply("add", w.apply("log", w.x), w.y),
    ),
    "3 log x": lambda w: (
        w.apply("add", w.apply("log", w.x), w.apply("multiply", w.number(2), w.apply("log", w.x))),
        w.apply("multiply", w.number(3), w.apply("log", w.x)),
    ),
    "a chosen factor": lambda w: (
        w.apply("multiply", w.apply("select", predicate(w), w.x, w.y), w.z),
        w.apply("select", predicate(w), w.apply("multiply", w.x, w.z), w.apply("multiply", w.z, w.y)),
    ),
    "sum of products": lambda w: (
        w.apply("multiply", w.all(w.x), w.all(w.y)),
        w.sum(
            w.terms.make(Kind.PRODUCT, DType.F32, 2, "()", [w.run.whole(w.x), w.run.whole(w.y)]),
            f"{{[] -> [i,j] : 0 <= i < {N} and 0 <= j < {N}}}",
        ),
    ),
    "a square of a sum": lambda w: (
        w.apply("multiply", w.all(w.x), w.all(w.x)),
        w.sum(
            w.terms.make(Kind.PRODUCT, DType.F32, 2, "()", [w.run.whole(w.x), w.run.whole(w.x)]),
            f"{{[] -> [i,j] : 0 <= i < {N} and 0 <= j < {N}}}",
        ),
    ),
    "weights sum to one": lambda w: (w.rows(softmax(w, w.t, None)), w.number(1)),
    "a softmax is shifted": lambda w: (softmax(w, w.t, w.rows(w.t, Monoid.MAX)), softmax(w, w.t, None)),
    "a masked softmax is shifted": lambda w: (
        softmax(w, w.masked(w.t), w.x, "j <= i0"),
        softmax(w, w.masked(w.t), w.y, "j <= i0"),
    ),
    "exp(-inf - x) = 0": lambda w: (w.apply("exponential", w.apply("subtract", w.bottom, w.x)), w.number(0)),
    "what is compared with -inf": lambda w: (
        w.apply("multiply", chosen(w, w.masked(w.t)), w.number(2)),
        w.apply("add", *[chosen(w, w.masked(w.t))] * 2),
    ),
    "a choice by an order": lambda w: (
        w.apply("multiply", chosen_by_order(w, w.t), w.number(2)),
        w.apply("add", *[chosen_by_order(w, w.t)] * 2),
    ),
    "convert": lambda w: (w.apply("convert", w.x), w.x),
    "a maximum is attained": lambda w: (over_maxima(w), w.x),
    "x over a positive sum": lambda w: (
        w.apply("multiply", w.apply("divide", w.x, root(w)), root(w)),
        w.x,
    ),
}


def predicate(w: Words) -> Term:
    return w.apply("compare", w.x, w.z, dtype=DType.I1)


def chosen(w: Words, compared: Term) -> Term:
    """Elements of a table, or others where a term is what it is compared with."""
    same = w.parameter(6, 2) if compared.dtype.is_float else w.terms.make(Kind.PARAMETER, compared.dtype, 2, (8, N, N))
    return w.apply("select", w.apply("compare", compared, same, dtype=DType.I1), w.t, w.parameter(9, 2))


def order(w: Words, table: Term, dtype: DType) -> Term:
    """What a function makes of each row of a table."""
    return w.terms.make(Kind.ROWS, dtype, 1, ("0" * 64, 0, 1), [w.part(table, 2)])


def chosen_by_order(w: Words, table: Term) -> Term:
    """Elements of x where a number that rows give is that of another vector."""
    test = w.apply("compare", order(w, table, DType.I32), integer(w), dtype=DType.I1)
    return w.apply("select", test, w.x, w.y)


def root(w: Words) -> Term:
    """√(y² + 1/2)."""
    return w.apply("sqrt", w.apply("add", w.apply("multiply", w.y, w.y), w.number(0.5)))


def indicator(w: Words) -> Term:
    return w.apply("convert", predicate(w))


NO_LAWS: dict[str, Any] = {
    "x / x = 1": lambda w: (w.apply("divide", w.x, w.x), w.number(1)),
    "x y / y = x": lambda w: (w.apply("divide", w.apply("multiply", w.x, w.y), w.y), w.x),
    "x / y y = x": lambda w: (w.apply("multiply", w.apply("divide", w.x, w.y), w.y), w.x),
    "log - log = 0": lambda w: (w.apply("subtract", w.apply("log", w.x), w.apply("log", w.x)), w.number(0)),
    "0 log x = 0": lambda w: (w.apply("multiply", w.number(0), w.apply("log", w.x)), w.number(0)),
    "0 (y / x) = 0": lambda w: (w.apply("multiply", w.apply("divide", w.y, w.x), w.number(0)), w.number(0)),
    "0 / x = 0": lambda w: (w.apply("divide", w.number(0), w.x), w.number(0)),
    "x / 0 = 0": lambda w: (w.apply("divide", w.x, w.number(0)), w.number(0)),
    "exp(log x) = x": lambda w: (w.apply("exponential", w.apply("log", w.x)), w.x),
    "exp(log x) / x = 1": lambda w: (w.apply("divide", w.apply("exponential", w.apply("log", w.x)), w.x), w.number(1)),
    "a logarithm by itself": lambda w: (w.apply("divide", *[w.apply("log", root(w))] * 2), w.number(1)),
    "log(x y)": lambda w: (
        w.apply("log", w.apply("multiply", w.x, w.y)),
        w.apply("add", w.apply("log", w.x), w.apply("log", w.y)),
    ),
    "log 2 = 2": lambda w: (w.apply("log", w.part(w.number(2), 1)), w.number(2)),
    "log of a square": lambda w: (
        w.apply("log", w.apply("multiply", w.x, w.x)),
        w.apply("multiply", w.number(2), w.apply("log", w.x)),
    ),
    "a dropped factor": lambda w: (
        w.apply("exponential", w.apply("add", w.x, w.apply("add", w.y, w.z))),
        w.apply("multiply", positive(w, w.x), positive(w, w.y)),
    ),
    "a wrong sign": lambda w: (
        w.apply("exponential", w.apply("subtract", w.x, w.y)),
        w.apply("multiply", positive(w, w.x), positive(w, w.y)),
    ),
    "a wrong coefficient": lambda w: (w.apply("multiply", w.x, w.number(3)), w.apply("multiply", w.x, w.number(2))),
    "a wrong exponent": lambda w: (w.apply("multiply", w.x, w.x), w.x),
    "x x x": lambda w: (w.apply("multiply", w.x, w.apply("multiply", w.x, w.x)), w.apply("multiply", w.x, w.x)),
    "a sum of squares": lambda w: (w.apply("multiply", w.all(w.x), w.all(w.x)), w.all(w.apply("multiply", w.x, w.x))),
    "an element twice": lambda w: (w.all(w.x), w.sum(w.x, f"{{[] -> [j] : 0 <= j < {N - 1}}}")),
    "a count": lambda w: (w.all(w.x), w.sum(w.x, f"{{[] -> [j] : 0 <= j < {N}}}", count=2)),
    "another index": lambda w: (w.apply("multiply", w.x, w.part(w.y, 1, index="0")), w.apply("multiply", w.x, w.y)),
    "-inf - -inf": lambda w: (w.apply("subtract", w.part(w.bottom, 1), w.bottom), w.number(0)),
    "0 -inf": lambda w: (w.apply("multiply", w.part(w.bottom, 1), w.number(0)), w.number(0)),
    "what is compared with -inf - -inf": lambda w: (
        w.apply("multiply", chosen(w, w.apply("subtract", *[w.masked(w.t)] * 2)), w.number(2)),
        w.apply("add", *[chosen(w, w.apply("subtract", *[w.masked(w.t)] * 2))] * 2),
    ),
    "what is compared with an integer of -inf": lambda w: (
        w.apply("multiply", chosen(w, w.apply("convert", w.masked(w.t), dtype=DType.I32)), w.number(2)),
        w.apply("add", *[chosen(w, w.apply("convert", w.masked(w.t), dtype=DType.I32))] * 2),
    ),
    "what is compared with 0 -inf": lambda w: (
        w.apply("multiply", chosen(w, w.apply("multiply", w.number(0), w.masked(w.t))), w.number(2)),
        w.apply("add", *[chosen(w, w.apply("multiply", w.number(0), w.masked(w.t)))] * 2),
    ),
    "a choice by an order of -inf": lambda w: (
        w.apply("multiply", chosen_by_order(w, w.masked(w.t)), w.number(2)),
        w.apply("add", *[chosen_by_order(w, w.masked(w.t))] * 2),
    ),
    "an order that may be none": lambda w: (
        w.apply("subtract", *[w.apply("convert", chosen_by_order(w, w.apply("divide", w.t, w.t)))] * 2),
        w.apply("multiply", w.number(0), w.t),
    ),
    "elements in order": lambda w: (
        w.apply("subtract", *[order(w, w.t, DType.F32)] * 2),
        w.number(0),
    ),
    "-inf twice": lambda w: (w.apply("multiply", w.number(2), w.part(w.bottom, 1)), w.bottom),
    "exp(x - -inf)": lambda w: (w.apply("exponential", w.apply("subtract", w.x, w.bottom)), w.number(0)),
    "exp(-inf - log x)": lambda w: (
        w.apply("exponential", w.apply("subtract", w.bottom, w.apply("log", w.x))),
        w.number(0),
    ),
    "exp(-inf) / exp(-inf)": lambda w: (
        w.apply("divide", positive(w, w.masked(w.t)), positive(w, w.masked(w.t))),
        w.number(1),
    ),
    "an empty row": lambda w: (
        softmax(w, w.view(w.part(w.bottom, 2)), w.x),
        softmax(w, w.view(w.part(w.bottom, 2)), w.y),
    ),
    "a maximum of nothing": lambda w: (
        w.apply("subtract", *[w.sum(w.x, "{[i0] -> [j] : 0 <= j < i0 < 4}", Monoid.MAX)] * 2),
        w.number(0),
    ),
    "a choice that leaves out": lambda w: (
        w.apply("select", predicate(w), w.apply("log", w.x), w.number(0)),
        w.apply("multiply", indicator(w), w.apply("log", w.x)),
    ),
    "what a choice leaves out": lambda w: (
        w.apply("multiply", w.apply("select", predicate(w), w.apply("log", w.x), w.y), w.number(0)),
        w.number(0),
    ),
    "a test by itself": lambda w: (w.apply("divide", indicator(w), indicator(w)), indicator(w)),
    "a test by itself is one": lambda w: (w.apply("divide", indicator(w), indicator(w)), w.number(1)),
    "1 / (1 / x)": lambda w: (
        w.apply("divide", w.y, w.apply("divide", w.number(1), w.x)),
        w.apply("multiply", w.y, w.x),
    ),
    "a power of two": lambda w: (
        w.apply("convert", w.part(w.apply("convert", w.x, dtype=DType.F8E8M0FNU), 1)),
        w.x,
    ),
    "less than nothing": lambda w: (
        w.apply("multiply", w.number(0), w.apply("convert", w.x, dtype=DType.F8E8M0FNU)),
        w.number(0),
    ),
    "a square root": lambda w: (w.apply("multiply", w.apply("sqrt", w.x), w.apply("sqrt", w.x)), w.x),
    "no positive sum": lambda w: (
        w.apply("divide", w.apply("multiply", w.all(w.x), w.all(w.y)), w.all(w.y)),
        w.all(w.x),
    ),
    "a difference of positive ones": lambda w: (
        w.apply("divide", *[w.apply("subtract", positive(w, w.x), positive(w, w.y))] * 2),
        w.number(1),
    ),
    "where there is nothing": lambda w: (
        w.apply("add", w.part(w.x, 1, "i0 < 2"), w.part(w.y, 1, "i0 < 2")),
        w.apply("add", w.y, w.x),
    ),
    "a convert to integers": lambda w: (
        w.apply("convert", w.part(w.apply("convert", w.x, dtype=DType.I32), 1)),
        w.x,
    ),
    "of two operands": lambda w: (w.apply("convert", w.x, w.y), w.apply("add", w.x, w.y)),
    "integers wrap": lambda w: (
        w.apply("convert", w.part(w.apply("add", *[integer(w)] * 2, dtype=DType.I32), 1)),
        w.apply("multiply", w.number(2), w.apply("convert", integer(w))),
    ),
    "a maximum of more elements": lambda w: (over_maxima(w, "j > 0"), w.x),
    "less than the maximum": lambda w: (over_maxima(w, direction=Comparison.LT), w.x),
    "a dense constant": lambda w: (w.apply("subtract", *[array(w)] * 2), w.number(0)),
    "a carried value": lambda w: (w.apply("subtract", *[carried(w)] * 2), w.number(0)),
}


def over_maxima(w: Words, where: str = "true", direction: Comparison = Comparison.EQ) -> Term:
    """The elements of x by how many of these elements are as large as its largest."""
    top = w.sum(w.x, f"{{[] -> [j] : 0 <= j < {N}}}", Monoid.MAX)
    w.terms.meanings["stablehlo.compare"] = {"comparison_direction": direction}
    is_top = w.apply("compare", w.x, w.part(top, 1), dtype=DType.I1)
    count = w.sum(w.apply("convert", is_top), f"{{[] -> [j] : 0 <= j < {N} and {where}}}")
    return w.apply("multiply", w.apply("divide", w.x, w.part(count, 1)), w.part(count, 1))


def integer(w: Words) -> Term:
    return w.terms.make(Kind.PARAMETER, DType.I32, 1, (7, N))


def array(w: Words) -> Term:
    """Of which only a digest is known."""
    return w.terms.make(Kind.ARRAY, DType.F32, 1, "0" * 64)


def carried(w: Words) -> Term:
    return w.terms.make(Kind.CARRIED, DType.F32, 1, (0, "start", 0))


@pytest.mark.parametrize("name", LAWS)
def test_laws_of_the_reals(name: str) -> None:
    words = Words()
    words.claim(*LAWS[name](words))
    words = Words()
    first, second = LAWS[name](words)
    if second.arity == first.arity:
        words.claim(second, first)


@pytest.mark.parametrize("name", NO_LAWS)
def test_what_only_looks_like_a_law(name: str) -> None:
    words = Words()
    first, second = NO_LAWS[name](words)
    with pytest.raises((Rejection, ValueError)):
        words.claim(first, second)
    if second.arity == first.arity:
        with pytest.raises((Rejection, ValueError)):
            words.claim(second, first)


def test_an_equality_may_be_stated_again() -> None:
    """And is not counted twice where it is used."""
    words = Words()
    twice = words.apply("multiply", words.x, words.number(2))
    for _ in range(2):
        words.claim(twice, words.apply("add", words.x, words.x))
    words.claim(words.apply("divide", twice, words.number(2)), words.x)


def test_an_equality_that_does_not_hold_is_not_remembered() -> None:
    words = Words()
    square = words.apply("multiply", words.x, words.x)
    for _ in range(2):
        with pytest.raises(Rejection):
            words.claim(square, words.x)


def test_an_absent_element_makes_no_product() -> None:
    """What is multiplied by an element under a guard that does not hold is not read: it need be no number."""
    words = Words()
    index = words.terms.make(Kind.PARAMETER, DType.I32, 0, (5,))
    guarded = words.run.guard(words.x, (index,))
    logarithm = words.apply("log", words.y)
    product = words.terms.make(Kind.PRODUCT, DType.F32, 3, "()", [words.run.whole(guarded), words.run.whole(logarithm)])
    scaled = words.apply("multiply", words.part(product, 3), words.number(3))
    bare = words.apply("multiply", words.part(guarded, 3), words.part(logarithm, 3, index="i2"))
    with pytest.raises(Rejection):
        words.claim(scaled, words.apply("multiply", words.number(3), words.part(bare, 3)))


def test_what_is_shown_of_a_divisor_is_used_where_it_was_shown() -> None:
    """A sum that is another one in its first half is divided by as that one there, and nowhere else."""
    for where, holds in (("i0 < 2", True), ("true", False)):
        words = Words()
        first = words.rows(positive(words, words.t))
        low, high = (words.part(term, 1, where) for term, where in ((first, "i0 < 2"), (words.z, "i0 >= 2")))
        second = words.view(low, high)
        words.claim(second, low)
        divided = words.apply("divide", words.x, second)
        claim = words.part(words.apply("divide", words.x, first), 1, where)
        if holds:
            words.claim(divided, claim)
        else:
            with pytest.raises(Rejection):
                words.claim(divided, claim)


def test_what_is_shown_twice_counts_once() -> None:
    words = Words()
    total = words.apply("multiply", words.number(2), words.x)
    for where in ("i0 < 3", "i0 > 0"):
        words.claim(total, words.part(words.apply("add", words.x, words.x), 1, where))
    words.claim(words.apply("negate", total), words.apply("multiply", words.number(-2), words.x))
    with pytest.raises(Rejection):
        words.claim(words.apply("negate", total), words.apply("multiply", words.number(-4), words.x))


def test_equalities_in_a_circle_come_to_an_end() -> None:
    words = Words()
    first = words.apply("add", words.x, words.y)
    second = words.apply("add", words.y, words.x)
    for one, other in ((first, first), (first, second), (second, first)):
        words.claim(one, other)
    words.claim(words.apply("negate", second), words.apply("negate", first))
    with pytest.raises(Rejection):
        words.claim(second, words.z)
