"""Every step of the checker's arithmetic of the reals leaves the value of a sum of products as it is."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import islpy as isl
import pytest

from shardproof.validator.check.errors import Rejection
from shardproof.validator.check.terms import Kind, Term
from shardproof.validator.ops.monoid import Monoid
from shardproof.validator.ops.values import Piece
from shardproof.validator.read.ir import DType
from shardproof.validator.relation.objects import Rel

from .test_reals import N, Words

_OPS: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "negate": lambda a: -a,
    "exponential": math.exp,
    "log": math.log,
    "convert": float,
    "compare": lambda a, b: a < b,
    "select": lambda p, a, b: a if p else b,
}

_FUNCTIONS: dict[str, Callable[[float], float]] = {"": float, "exp": math.exp, "log": math.log, "is": float}

Index = tuple[int, ...]


class Numbers:
    """Terms and sums of products at single indices, with numbers for parameters."""

    def __init__(self, words: Words, seed: int) -> None:
        self.words, self.seed = words, seed
        self._images: dict[tuple[Rel, Index], list[Index]] = {}
        self._terms: dict[tuple[Term, Index], float] = {}

    def image(self, rel: Rel, index: Index) -> list[Index]:
        if (rel, index) not in self._images:
            fixed = rel.map
            for place, value in enumerate(index):
                fixed = fixed.fix_val(isl.dim_type.in_, place, isl.Val(value, context=fixed.get_ctx()))
            found: list[Index] = []

            def point(each: Any) -> None:
                values = (each.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(rel.arity_out))
                found.append(tuple(values))

            fixed.range().foreach_point(point)
            self._images[rel, index] = found
        return self._images[rel, index]

    def term(self, term: Term, index: Index) -> float:
        if (term, index) not in self._terms:
            self._terms[term, index] = self._term(term, index)
        return self._terms[term, index]

    def _term(self, term: Term, index: Index) -> float:
        match term.kind:
            case Kind.PARAMETER:
                return random.Random(repr((self.seed, term.key, index))).uniform(0.2, 1.5)
            case Kind.NUMBER | Kind.SCALAR:
                number = self.words.run.number_of(term)
                assert isinstance(number, int | float)
                return float(number)
            case Kind.PRODUCT:
                first, second = (part.atom for part in term.parts)
                return self.term(first, index[: first.arity]) * self.term(second, index[first.arity :])
            case Kind.APPLY:
                operands = [self.term(p.atom, self.image(p.rel, index)[0]) for p in term.parts]
                return _OPS[term.key.removeprefix("stablehlo.")](*operands)
            case _:
                elements = [
                    part.coefficient * self.term(part.atom, each)
                    for part in term.parts
                    for each in self.image(part.rel, index)
                ]
                return max(elements) if term.monoid is Monoid.MAX else sum(elements)

    def side(self, pieces: Sequence[Piece], point: Index) -> float:
        total = 0.0
        for piece in pieces:
            for index in self.image(piece.rel, point):
                product, at = float(piece.coefficient), 0
                for role, term, power in piece.atom:
                    product *= _FUNCTIONS[role](self.term(term, index[at : at + term.arity])) ** float(power)
                    at += term.arity
                total += product
        return total


def made(words: Words, chance: random.Random, depth: int, arity: int) -> Term | Piece:
    """A random term of some indices, or a read of one."""
    if depth == 0 or chance.random() < 0.1:
        return chance.choice([words.number(2), words.number(0.5), *([words.x, words.y] if arity else [])])
    w, op = words, chance.choice([*_OPS, "sum", "sum", "max", "product", "view", "at"])

    def inner(more: int = 0) -> Term | Piece:
        return made(words, chance, depth - 1, arity + more)

    def term(more: int = 0) -> Term:
        found = inner(more)
        return found if isinstance(found, Term) and found.arity == arity + more else wide(w, found, arity + more)

    if op in ("sum", "max"):
        if arity == 2:
            return inner()
        where = chance.choice(["true", "j <= i0", "j > 0"] if arity and op == "sum" else ["true"])
        own = ",".join([*(f"i{k}" for k in range(arity)), "j"])
        box = " and ".join([*(f"0 <= i{k} < {N}" for k in range(arity)), f"0 <= j < {N}", where])
        rel = f"{{[{','.join(f'i{k}' for k in range(arity))}] -> [{own}] : {box}}}"
        return w.sum(term(1), rel, Monoid.MAX if op == "max" else Monoid.ADD)
    if op == "product":
        if arity != 1:
            return inner()
        pair = w.terms.make(Kind.PRODUCT, DType.F32, 2, "()", [w.run.whole(term()), w.run.whole(w.y)])
        index = chance.choice(["[i0] -> [i0,i0]", f"[i0] -> [i0,j] : 0 <= j < {N}", f"[i0] -> [j,j] : 0 <= j < {N}"])
        return w.sum(pair, f"{{{index}{' and' if ':' in index else ' :'} 0 <= i0 < {N}}}")
    if op == "view":
        if not arity:
            return inner()
        return w.view(w.part(term(), arity, "i0 < 2"), w.part(term(), arity, "i0 >= 2"))
    if op == "at":
        return w.part(term(), arity, index=",".join(["0"] * arity)) if arity else inner()
    if op == "compare":
        return w.apply("convert", wide(w, w.apply("compare", w.x, w.y, dtype=DType.I1), arity)) if arity else inner()
    if op == "select":
        return w.apply("select", w.apply("compare", w.x, w.y, dtype=DType.I1), term(), term()) if arity else inner()
    if op == "log":
        return w.apply("log", wide(w, w.apply("exponential", term()), arity))
    if op == "divide":
        return w.apply("divide", term(), w.apply("exponential", term()))
    return w.apply(op, *[term() for _ in range(1 if op in ("negate", "exponential", "convert") else 2)])


def wide(words: Words, what: Term | Piece, arity: int) -> Term:
    """A term at more indices than it has."""
    piece = what if isinstance(what, Piece) else words.part(what, arity)
    return words.terms.make(Kind.VIEW, piece.atom.dtype, arity, (), [piece])


def points(arity: int) -> Iterator[Index]:
    return iter([()] if not arity else [(k,) for k in range(N)])


@pytest.mark.parametrize("seed", range(100))
def test_definitions_in_place_of_terms_change_nothing(seed: int) -> None:
    chance, words = random.Random(seed), Words()
    numbers, arity = Numbers(words, seed), chance.randrange(2)
    term = wide(words, made(words, chance, 4, arity), arity)
    whole = words.part(term, arity)
    side = tuple(words.reals._read(whole.atom, whole.rel))  # pyright: ignore[reportPrivateUsage]
    wanted = [numbers.side(side, point) for point in points(arity)]
    assert wanted == pytest.approx([numbers.term(term, point) for point in points(arity)])
    for _ in range(30):
        held = sorted({each for piece in side for _, each, _ in piece.atom}, key=lambda each: -each.number)
        for each in held:
            try:
                side = words.reals._replaced(side, each)  # pyright: ignore[reportPrivateUsage]
            except Rejection:
                continue
            break
        else:
            break
        assert [numbers.side(side, point) for point in points(arity)] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_taken_for_equal_is(seed: int) -> None:
    """Random terms against random ones, most of which are other numbers."""
    chance, words = random.Random(1000 + seed), Words()
    numbers, arity, shown = Numbers(words, seed), chance.randrange(2), 0
    terms = [wide(words, made(words, chance, chance.randrange(1, 4), arity), arity) for _ in range(10)]
    for first in terms:
        for second in terms:
            same = all(math.isclose(numbers.term(first, point), numbers.term(second, point)) for point in points(arity))
            try:
                words.claim(first, second)
            except Rejection:
                continue
            assert same
            shown += 1
    assert shown >= len(terms)
