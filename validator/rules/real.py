"""Rules of the real numbers: rounding, overflow, infinities and NaN are ignored.

Under this theory all float types are one, the reals (guard `reals`), so that `convert` between them is
`convert-to-itself`, and a float constant stands for the simplest rational that float32, or its float64, rounds to it.
"""
# fmt: off
# ruff: noqa: E501

from __future__ import annotations

from ..ops.record import Theory
from .rule import Kind, Rule


def _real(name: str, left: str, right: str, guard: str, reason: str) -> Rule:
    return Rule(name, left, right, guard, Theory.REAL, reason)


TOTALS = (
    _real("sum-of-factor",      "(total add r (multiply x (view s y)))",             "(multiply (total add r x) (view q y))",                             "reals d, compose r s q, function q",             "distributive law: the factor is the same for all summands"),
    _real("sum-of-quotient",    "(total add r (divide x (view s y)))",               "(divide (total add r x) (view q y))",                               "reals d, compose r s q, function q",             "distributive law: the divisor is the same for all summands"),
    _real("sum-of-shifted-exp", "(total add r (exponential (add x (view s y))))",    "(multiply (total add r (exponential x)) (exponential (view q y)))", "reals d, compose r s q, function q",             "exp(x + m) = exp(x) exp(m): softmax does not depend on its shift"),
    _real("max-of-shifted",     "(total maximum r (add x (view s y)))",              "(add (total maximum r x) (view q y))",                              "reals d, compose r s q, function q, nonempty r", "a shift keeps the order"),
    _real("min-of-shifted",     "(total minimum r (add x (view s y)))",              "(add (total minimum r x) (view q y))",                              "reals d, compose r s q, function q, nonempty r", "a shift keeps the order"),
    _real("exp-of-log-of-sum",  "(exponential (log (total add r (exponential x))))", "(total add r (exponential x))",                                     "reals d, nonempty r",                            "a sum of exponentials is positive"),
)

FUNCTIONS = (
    _real("exp-of-sum",               "(multiply (exponential x) (exponential y))", "(exponential (add x y))",                                     "reals d",          "exp is a homomorphism"),
    _real("exp-of-difference",        "(divide (exponential x) (exponential y))",   "(exponential (subtract x y))",                                "reals d",          "exp is a homomorphism"),
    _real("log-of-exp",               "(log (exponential x))",                      "x",                                                           "reals d",          "log inverts exp"),
    _real("log-of-scaled-by-exp",     "(log (multiply (exponential x) y))",         "(add x (log y))",                                             "reals d",          "log(exp(x) y) = x + log y, undefined on both sides unless y > 0"),
    _real("log-of-divided-by-exp",    "(log (divide y (exponential x)))",           "(subtract (log y) x)",                                        "reals d",          "log(y / exp(x)) = log y - x, undefined on both sides unless y > 0"),
    _real("expm1-is-exp-minus-one",   "(exponential_minus_one x)",                  "(subtract (exponential x) (const c))",                        "reals d, one d c", "by definition"),
    _real("log1p-is-log-of-one-plus", "(log_plus_one x)",                           "(log (add x (const c)))",                                     "reals d, one d c", "by definition"),
    _real("logistic-by-exp",          "(logistic x)",                               "(divide (const c) (add (const c) (exponential (negate x))))", "reals d, one d c", "by definition"),
    _real("rsqrt-is-one-over-sqrt",   "(rsqrt x)",                                  "(divide (const c) (sqrt x))",                                 "reals d, one d c", "by definition"),
    _real("square-is-product",        "(power x (const c))",                        "(multiply x x)",                                              "reals d, two d c", "by definition"),
)

NORMAL_FORMS = (
    Rule("rational-monomials", "sums and products of reals", "sums of monomials with rational coefficients and integer exponents; exponentials joined", "reals d", Theory.REAL, "field laws, x/x = 1 included, and exp as a homomorphism", Kind.NORMAL_FORM),
)

REAL = TOTALS + FUNCTIONS + NORMAL_FORMS
