"""The lemmas that proofs by relations rest on, each stated once, with the condition that the code checks.

`Context.used` counts them for the report and knows no others. Their arguments stand in the modules that are named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ops.record import Theory


@dataclass(frozen=True, slots=True)
class Lemma:
    """One step that takes relations to relations; v[p] = ⊕ e[R(p)] is the form that all values have."""

    name: str
    statement: str
    precondition: str
    theory: Theory
    """The weakest arithmetic in which some use of the lemma needs it; a use on integers can need less."""
    where: str
    """The module, below `validator/`, that applies it."""


LEMMAS = (
    Lemma(
        "index arithmetic",
        "an integer op on INT[a1], …, INT[ak] is INT[f(a1, …, ak)], wrap-around included",
        "all operands are known integers; of floats, all are exactly representable and no −0.0 arises",
        Theory.EXACT,
        "ops/integers.py",
    ),
    Lemma(
        "bounded integer",
        "a comparison that holds, or fails, for all integers that its operands can be is that boolean",
        "each operand lies in its type's range or where its clamp, extremum, selection or sum keeps it",
        Theory.EXACT,
        "ops/ranges.py",
    ),
    Lemma(
        "constant folding",
        "a small integer value that depends on no input is what the reference evaluator gives for every device",
        "all operands are known on every device",
        Theory.EXACT,
        "relate/walk.py",
    ),
    Lemma(
        "element of a constant",
        "a constant tensor that is read at one of its indices only is the number there",
        "none",
        Theory.EXACT,
        "ops/engine.py",
    ),
    Lemma(
        "neutral element",
        "max(x, −inf) = x, x · 1 = x, x / 1 = x, x − 0 = x, x + −0 = x and the like where an operand is the constant",
        "a shift, an op that reorders exactly, or arithmetic of two real numbers; the constant has "
        "the bits of the neutral element",
        Theory.EXACT,
        "ops/elementwise_relation.py",
    ),
    Lemma(
        "zero product",
        "a product with the constant zero adds nothing to a sum of products",
        "the theory of the real numbers is accepted: infinities and NaN break it",
        Theory.REAL,
        "relate/sums.py",
    ),
    Lemma(
        "congruence",
        "f(a1[x1], …, ak[xk]) is the original's term f(u1, …, uk) read where that has the same operands",
        "same op, attributes and atoms; the original's joint operand relation is injective",
        Theory.EXACT,
        "relate/lift.py",
    ),
    Lemma(
        "e-graph",
        "a new term is another term of the original that the rewrite rules find equal",
        "every rule used belongs to an accepted theory; the new term needs the theory of the weakest rule",
        Theory.REAL,
        "relate/bridge.py",
    ),
    Lemma(
        "sums of products",
        "terms that +, −, ·, / and exp, sums and choices make the same sum of products of other terms are equal",
        "parameters are real, what the original divides by is not zero; all else is shown real; −∞ only within exp",
        Theory.REAL,
        "relate/reals.py",
    ),
    Lemma(
        "attained maximum",
        "the number of elements that equal their maximum (or minimum) is positive, so one may divide by it",
        "all elements that the maximum is taken over are among those that are counted, and none is NaN",
        Theory.EXACT,
        "relate/signs.py",
    ),
    Lemma(
        "composition of sums",
        "⊕ over q ∈ ρ(p) of (⊕ e[R(q)]) = ⊕ e[R(ρ(p))]",
        "⊕ is idempotent, or no element is reached through two q, or all of one p through equally many, which count",
        Theory.REASSOCIATED,
        "ops/sums.py",
    ),
    Lemma(
        "sum of sums",
        "a sum of the original over its own named sums is also the sum of their elements",
        "⊕ is idempotent, or no element is counted twice",
        Theory.REASSOCIATED,
        "relate/names.py",
    ),
    Lemma(
        "contraction",
        "Σ over k of A[a(p,k)] · B[b(p,k)] is the sum of the products A[x] · B[y] over the pairs (x, y) reached from p",
        "no pair is reached through two k",
        Theory.REASSOCIATED,
        "ops/sums.py",
    ),
    Lemma(
        "products of elements",
        "Σ over x of y[a(x)] · z[b(x)] is the sum of the products of y and z over the pairs (a(x), b(x))",
        "no pair is reached through two x; all of one type, of numbers that are no complex ones",
        Theory.REASSOCIATED,
        "relate/multiplied.py",
    ),
    Lemma(
        "completion",
        "v[p] = ⊕ e[R(p)] is y[m(p)], and what is left, for y[q] = ⊕ e[S(q)]",
        "m is single-valued; R(p) = S(m(p)), or R(p) contains S(m(p)) and what is left stays in the sum",
        Theory.REASSOCIATED,
        "relate/fold.py",
    ),
    Lemma(
        "shifted integer",
        "x − s = t is x = t + s, x + s = t is x = t − s, s − x = t is x = s − t",
        "s and t are known integers of x's type, in which they wrap around",
        Theory.EXACT,
        "ops/shifted.py",
    ),
    Lemma(
        "absorption",
        "y ⊕ e is y where y is a sum of the original, or of the device, that e is an element of",
        "⊕ is idempotent, and y is a sum of the same ⊕",
        Theory.EXACT,
        "relate/absorption.py",
    ),
    Lemma(
        "unfolding",
        "y ⊕ (⊕ e[R(p)]), where y is ⊕ e[S(q)], is the ⊕ of all these elements",
        "⊕ is idempotent, or no element is reached through two indices of y",
        Theory.REASSOCIATED,
        "relate/unfolding.py",
    ),
    Lemma(
        "splitting",
        "Σ over x of (y[a(x)] ± z[b(x)]) is Σ y[a(x)] ± Σ z[b(x)], and the same for any other ⊕ of two operands",
        "⊕ is idempotent, or no element of y or z is reached through two x",
        Theory.REASSOCIATED,
        "relate/splitting.py",
    ),
    Lemma(
        "pairing",
        "a point that holds y + z, or y − z, as two elements of a sum is the original's op on y and z there",
        "both are complete terms, each with the coefficient 1 or −1, and the original has that op on them",
        Theory.REASSOCIATED,
        "relate/fold.py",
    ),
    Lemma(
        "multiplicity",
        "n equal elements of a sum are n · e, one negative element is −e",
        "the sum is an addition and n is exactly a value of the type",
        Theory.REASSOCIATED,
        "relate/fold.py",
    ),
    Lemma(
        "guard",
        "what is read at an unknown integer e[x] is the sum over t of what is read at t, guarded by e[x] = t",
        "t runs over the whole range of e's type, or over what is known to hold e[x]",
        Theory.EXACT,
        "ops/guarded.py",
    ),
    Lemma(
        "indices in bounds",
        "an unknown index of the original is in the range where it is not clamped, also before it is wrapped around",
        "the assumption `indices-in-bounds` is asked for; the verdict prints it",
        Theory.EXACT,
        "ops/guarded.py",
    ),
    Lemma(
        "row congruence",
        "F(row_1(b), …, row_k(b)) is the original's at m(b) if the rows hold the same elements in the same order",
        "same op, attributes and regions; an op not known to treat rows by themselves has one row, everything",
        Theory.EXACT,
        "relate/rows.py",
    ),
    Lemma(
        "ties by place",
        "a sort by L, and by a number where L does not tell two elements apart, is the stable sort by L",
        "the numbers are known integers that grow along every row; L is a strict weak order, of floats a total one",
        Theory.EXACT,
        "ops/order_relation.py",
    ),
    Lemma(
        "ordered reduction",
        "reductions of equal sequences, start values left out, are equal",
        "the region is associative and its start value idempotent and neutral, shown by running every case",
        Theory.EXACT,
        "ops/sequence_relation.py",
    ),
    Lemma(
        "place of a place",
        "g[w], w being the place of an extreme among values v, is the place of the extreme among all that these are of",
        "g grows with its index, is a known integer or such a place itself, and then v compares like the value there",
        Theory.EXACT,
        "ops/looked_up.py",
    ),
    Lemma(
        "equal windows",
        "reductions of windows with the same elements at the same places are equal",
        "same region, size and constant start value, which is neutral where a window has padding",
        Theory.REASSOCIATED,
        "ops/sequence_relation.py",
    ),
    Lemma(
        "selected windows",
        "a sum over the windows that select an element is the original's if windows and sources are the same",
        "same regions; every window over the element has the same elements at the same places and the same source",
        Theory.REASSOCIATED,
        "ops/selecting_relation.py",
    ),
    Lemma(
        "updates in order",
        "an element and the updates that may land on it, taken in order, give what the original's same sequence gives",
        "same update computation, guards and order; the order is free where the original promises unique indices",
        Theory.EXACT,
        "ops/sequence_relation.py",
    ),
    Lemma(
        "kept promises",
        "index vectors are distinct, or sorted, if those of the original are that its user promised to be",
        "each comes from one of these in the same order (distinct: no windows meet), in bounds by rising functions",
        Theory.EXACT,
        "ops/promises_relation.py",
    ),
    Lemma(
        "branch selection",
        "the result of a branching op is, element by element, the value of the branch that the index chooses",
        "devices that exchange data in a branch choose alike; where the index is undefined nothing is known",
        Theory.EXACT,
        "ops/control_relation.py",
    ),
    Lemma(
        "loop induction",
        "two loops run equally often and their carried values stay related through H",
        "H holds initially; from H the conditions are equal on all devices and H holds after the bodies; devices that "
        "exchange data inside, or whose values are each other's, go on alike",
        Theory.EXACT,
        "relate/loops.py",
    ),
    Lemma(
        "counter range",
        "a carried integer lies in [c, n − 1] inside the body",
        "it starts at c, grows by a positive step and the condition is that it is less than n",
        Theory.EXACT,
        "ops/control_relation.py",
    ),
    Lemma(
        "loop unrolling",
        "a loop is its body repeated",
        "the condition is known before every trip and the same on all devices",
        Theory.EXACT,
        "relate/loops.py",
    ),
    Lemma(
        "entering",
        "a manual region's operand is, on each device, the shard that the boundary's sharding names",
        "the sharding's manual axes and the shapes agree",
        Theory.EXACT,
        "ops/manual_relation.py",
    ),
    Lemma(
        "leaving",
        "a logical value made of device values is, at x, what the first device that holds x has there",
        "all devices that hold x are proved to hold the same; out of a nested region each device's value is "
        "that of the device that differs from it in nothing but the axes of the inner region",
        Theory.EXACT,
        "ops/manual_relation.py",
    ),
)

BY_NAME: Mapping[str, Lemma] = {lemma.name: lemma for lemma in LEMMAS}
