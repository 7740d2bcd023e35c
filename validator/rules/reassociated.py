"""Rules that hold when sums and products may be taken in another order and the sign of zero does not matter.

Both sides are equal in exact arithmetic; they differ only in where partial results are rounded.
"""
# fmt: off
# ruff: noqa: E501

from __future__ import annotations

from ..ops.record import Theory
from .rule import Kind, Rule, Use


def _reassociated(name: str, left: str, right: str, guard: str, reason: str) -> Rule:
    return Rule(name, left, right, guard, Theory.REASSOCIATED, reason)


def _following(name: str, left: str, right: str, guard: str, reason: str) -> Rule:
    return Rule(name, left, right, guard, Theory.REASSOCIATED, reason, use=Use.FOLLOWING)


TOTALS = (
    _reassociated("sum-over-function", "(total m r x)",                        "(view r x)",                           "monoid m, float d, function r",            "one element, without the zero it is added to"),
    _reassociated("sum-of-view",       "(total m r (view s x))",               "(total m q x)",                        "monoid m, float d, compose-total m r s q", "the same elements in another order"),
    _reassociated("view-of-sum",       "(view r (total m s x))",               "(total m q x)",                        "monoid m, float d, compose r s q",         "the total seen from p is the total over what p sees"),
    _reassociated("sum-of-sums",       "(total m r (total m s x))",            "(total m q x)",                        "monoid m, float d, compose-total m r s q", "partial sums complete each other"),
    _reassociated("sum-of-operands",   "(total m r (m x y))",                  "(m (total m r x) (total m r y))",      "monoid m, float d",                        "a sum of sums, regrouped"),
    _reassociated("sum-of-constant",   "(total m r (const c))",                "(const k)",                            "monoid m, float d, multiple m d r c k",    "the same number of equal elements at every point"),
    _reassociated("sum-of-negated",    "(total add r (negate x))",             "(negate (total add r x))",             "float d",                                  "rounding to nearest is symmetric"),
    _reassociated("sum-of-scaled",     "(total add r (multiply x (const c)))", "(multiply (total add r x) (const c))", "float d, nonzero d c",                     "one constant for all summands"),
    _reassociated("sum-of-divided",    "(total add r (divide x (const c)))",   "(divide (total add r x) (const c))",   "float d, nonzero d c",                     "one constant for all summands"),
)

ARITHMETIC = (
    _reassociated("neutral-up-to-sign",        "(f x (const c))",                             "x",                                           "neutral-loose f d c",                 "x + 0 and x - (-0), where only -0 changes"),
    _following(   "divide-of-scaled",          "(divide (multiply x (const c)) y)",           "(multiply (divide x y) (const c))",           "float d, nonzero d c",                "a product and a quotient, in another order"),
    _following(   "divide-of-divided",         "(divide (divide x (const c)) y)",             "(divide (divide x y) (const c))",             "float d, nonzero d c",                "two quotients, in another order"),
    _reassociated("select-of-scaled-or-zero",  "(select p (multiply x (const c)) (const z))", "(multiply (select p x (const z)) (const c))", "float d, zero d z, power-of-two d c", "a multiple of zero is zero"),
    _reassociated("select-of-zero-or-scaled",  "(select p (const z) (multiply x (const c)))", "(multiply (select p (const z) x) (const c))", "float d, zero d z, power-of-two d c", "a multiple of zero is zero"),
    _reassociated("select-of-negated-or-zero", "(select p (negate x) (const z))",             "(negate (select p x (const z)))",             "float d, zero d z",                   "zero has no sign"),
    _reassociated("select-of-zero-or-negated", "(select p (const z) (negate x))",             "(negate (select p (const z) x))",             "float d, zero d z",                   "zero has no sign"),
)

NORMAL_FORMS = (
    Rule("sums-and-products-reordered", "sums and products of floats", "sorted multisets of terms and factors", "float d", Theory.REASSOCIATED, "reordering; constants combine exactly; only powers of two distribute over a sum; nothing cancels", Kind.NORMAL_FORM),
)

REASSOCIATED = TOTALS + ARITHMETIC + NORMAL_FORMS
