"""Rules that keep every bit: data movement, and laws that hold for the machine's own numbers.

"Every bit" counts all NaNs as one value and keeps the sign of zero; results below the normal range are not flushed.
"""
# fmt: off
# ruff: noqa: E501

from __future__ import annotations

from ..ops.record import Theory
from .rule import Kind, Rule, Use


def _exact(name: str, left: str, right: str, guard: str, reason: str) -> Rule:
    return Rule(name, left, right, guard, Theory.EXACT, reason)


def _following(name: str, left: str, right: str, guard: str, reason: str) -> Rule:
    return Rule(name, left, right, guard, Theory.EXACT, reason, use=Use.FOLLOWING)


def _expanding(name: str, left: str, right: str, guard: str, reason: str) -> Rule:
    return Rule(name, left, right, guard, Theory.EXACT, reason, use=Use.EXPANDING)


def _retiring(name: str, left: str, right: str, guard: str, reason: str) -> Rule:
    return Rule(name, left, right, guard, Theory.EXACT, reason, use=Use.RETIRING)


VIEWS = (
    _retiring( "view-identity",              "(view r x)",                                 "x",                                          "identity r",    "every point reads itself"),
    _exact(    "view-of-view",               "(view r (view s x))",                        "(view q x)",                                 "compose r s q", "reading twice is reading through the composite"),
    _retiring( "view-of-constant",           "(view r (const c))",                         "(const c)",                                  "",              "a constant is the same at every point"),
    _expanding("view-into-unary",            "(view r (f@d:e x))",                         "(f@d:e (view r x))",                         "",              "an elementwise op acts at each point alone"),
    _expanding("view-into-binary",           "(view r (f@d:e x y))",                       "(f@d:e (view r x) (view r y))",              "",              "an elementwise op acts at each point alone"),
    _expanding("view-into-ternary",          "(view r (f@d:e x y z))",                     "(f@d:e (view r x) (view r y) (view r z))",   "",              "an elementwise op acts at each point alone"),
    _following("view-out-of-unary",          "(f@d:e (view r x))",                         "(view r (f@d:e x))",                         "",              "an elementwise op acts at each point alone"),
    _following("view-out-of-binary",         "(f@d:e (view r x) (view r y))",              "(view r (f@d:e x y))",                       "",              "an elementwise op acts at each point alone"),
    _following("view-out-of-binary-left",    "(f@d:e (view r x) (const@d c))",             "(view r (f@d:e x (const@d c)))",             "",              "a constant is the same at every point"),
    _following("view-out-of-binary-right",   "(f@d:e (const@d c) (view r x))",             "(view r (f@d:e (const@d c) x))",             "",              "a constant is the same at every point"),
    _following("view-out-of-ternary",        "(f@d:e (view r x) (view r y) (view r z))",   "(view r (f@d:e x y z))",                     "",              "an elementwise op acts at each point alone"),
    _following("view-out-of-ternary-left",   "(f@d:e (view r x) (view r y) (const@d c))",  "(view r (f@d:e x y (const@d c)))",           "",              "a constant is the same at every point"),
    _following("view-out-of-ternary-right",  "(f@d:e (view r x) (const@d c) (view r y))",  "(view r (f@d:e x (const@d c) y))",           "",              "a constant is the same at every point"),
    _following("view-out-of-ternary-first",  "(f@d:e (view r x) (const@d c) (const@d k))", "(view r (f@d:e x (const@d c) (const@d k)))", "",              "a constant is the same at every point"),
    _following("view-out-of-ternary-middle", "(f@d:e (const@d c) (view r x) (const@d k))", "(view r (f@d:e (const@d c) x (const@d k)))", "",              "a constant is the same at every point"),
)

TOTALS = (
    _exact("total-over-function",      "(total m r x)",                            "(view r x)",                               "any-order m d, function r",            "one element combined is that element"),
    _exact("total-of-view",            "(total m r (view s x))",                   "(total m q x)",                            "any-order m d, compose-total m r s q", "the same elements, found through the composite"),
    _exact("view-of-total",            "(view r (total m s x))",                   "(total m q x)",                            "any-order m d, compose r s q",         "the total seen from p is the total over what p sees"),
    _exact("total-of-total",           "(total m r (total m s x))",                "(total m q x)",                            "any-order m d, compose-total m r s q", "partial totals complete each other"),
    _exact("total-of-operands",        "(total m r (m x y))",                      "(m (total m r x) (total m r y))",          "any-order m d",                        "a commutative monoid lets operands be regrouped"),
    _exact("total-of-constant",        "(total m r (const c))",                    "(const k)",                                "any-order m d, multiple m d r c k",    "the same number of equal elements at every point"),
    _exact("total-and-of-not",         "(total and r (not x))",                    "(not (total or r x))",                     "bits d",                               "De Morgan"),
    _exact("total-or-of-not",          "(total or r (not x))",                     "(not (total and r x))",                    "bits d",                               "De Morgan"),
    _exact("total-max-of-negated",     "(total maximum r (negate x))",             "(negate (total minimum r x))",             "float d",                              "negation reverses the order"),
    _exact("total-min-of-negated",     "(total minimum r (negate x))",             "(negate (total maximum r x))",             "float d",                              "negation reverses the order"),
    _exact("total-max-of-scaled",      "(total maximum r (multiply x (const c)))", "(multiply (total maximum r x) (const c))", "infinite d, positive d c",             "scaling, rounded, keeps the order; overflow to NaN would not"),
    _exact("total-min-of-scaled",      "(total minimum r (multiply x (const c)))", "(multiply (total minimum r x) (const c))", "infinite d, positive d c",             "scaling, rounded, keeps the order; overflow to NaN would not"),
    _exact("total-max-of-widened",     "(total@e maximum r (convert@d:e x))",      "(convert@d:e (total@d maximum r x))",      "float d, widens d e",                  "widening keeps the order"),
    _exact("total-min-of-widened",     "(total@e minimum r (convert@d:e x))",      "(convert@d:e (total@d minimum r x))",      "float d, widens d e",                  "widening keeps the order"),
    _exact("total-sum-of-scaled-int",  "(total add r (multiply x (const c)))",     "(multiply (total add r x) (const c))",     "integer d",                            "integers are a ring, wrap-around included"),
    _exact("total-sum-of-factor-int",  "(total add r (multiply x (view s y)))",    "(multiply (total add r x) (view q y))",    "integer d, compose r s q, function q", "a factor that is the same for all summands"),
    _exact("total-sum-of-negated-int", "(total add r (negate x))",                 "(negate (total add r x))",                 "integer d",                            "integers are a ring, wrap-around included"),
)

ARITHMETIC = (
    _exact("add-commutes",            "(add x y)",                       "(add y x)",                 "",                          "IEEE addition rounds the one exact sum"),
    _exact("multiply-commutes",       "(multiply x y)",                  "(multiply y x)",            "ordered d",                 "IEEE multiplication rounds the one exact product"),
    _exact("maximum-commutes",        "(maximum x y)",                   "(maximum y x)",             "ordered d",                 "-0 is below +0, NaN wins"),
    _exact("minimum-commutes",        "(minimum x y)",                   "(minimum y x)",             "ordered d",                 "-0 is below +0, NaN wins"),
    _exact("and-commutes",            "(and x y)",                       "(and y x)",                 "",                          "bit by bit"),
    _exact("or-commutes",             "(or x y)",                        "(or y x)",                  "",                          "bit by bit"),
    _exact("xor-commutes",            "(xor x y)",                       "(xor y x)",                 "",                          "bit by bit"),
    _exact("neutral-element",         "(f x (const c))",                 "x",                         "neutral f d c",             "x*1, x/1, x-0, x+(-0), max(x,-inf), min(x,inf), and true, or false ..."),
    _exact("absorbing-element",       "(f x (const c))",                 "(const c)",                 "absorbing f d c",           "and false, or true, integer times zero ..."),
    _exact("idempotent-op",           "(f x x)",                         "x",                         "idempotent f",              "max, min, and, or of equal operands"),
    _exact("xor-with-itself",         "(xor x x)",                       "(const c)",                 "bits d, zero d c",          "equal bits cancel"),
    _exact("fold-unary",              "(f (const c))",                   "(const k)",                 "fold-unary f d c k",        "computed in the type itself"),
    _exact("fold-binary",             "(f (const c) (const k))",         "(const j)",                 "fold-binary f d c k j",     "computed in the type itself"),
    _exact("subtract-is-add-negated", "(subtract x y)",                  "(add x (negate y))",        "negates d",                 "IEEE defines subtraction so; integers wrap alike"),
    _exact("negate-negated",          "(negate (negate x))",             "x",                         "negates d",                 "the sign flips twice"),
    _exact("multiply-by-minus-one",   "(multiply x (const c))",          "(negate x)",                "minus-one d c",             "only the sign changes"),
    _exact("multiply-negated",        "(multiply (negate x) y)",         "(negate (multiply x y))",   "signed d",                  "rounding to nearest is symmetric"),
    _exact("divide-negated",          "(divide (negate x) y)",           "(negate (divide x y))",     "float d",                   "rounding to nearest is symmetric"),
    _exact("divide-by-power-of-two",  "(divide x (const c))",            "(multiply x (const k))",    "float d, reciprocal d c k", "both round the one exact quotient"),
    _exact("remainder-by-low-bits",   "(remainder x (const c))",         "(select (compare.LT@d:i1 x (const z)) (negate (and (select (compare.LT@d:i1 x (const z)) (negate x) x) (const k))) (and (select (compare.LT@d:i1 x (const z)) (negate x) x) (const k)))", "low-bits d c k, zero d z, signed d", "the remainder has its dividend's sign; the least number's low bits are 0"),
    _exact("maximum-of-negated",      "(maximum (negate x) (negate y))", "(negate (minimum x y))",    "float d",                   "negation reverses the order"),
    _exact("minimum-of-negated",      "(minimum (negate x) (negate y))", "(negate (maximum x y))",    "float d",                   "negation reverses the order"),
    _exact("abs-of-negated",          "(abs (negate x))",                "(abs x)",                   "signed d",                  "only the sign changes"),
    _exact("abs-of-abs",              "(abs (abs x))",                   "(abs x)",                   "signed d",                  "the sign is gone already"),
    _exact("clamp-is-min-max",        "(clamp x y z)",                   "(minimum (maximum y x) z)", "ordered d",                 "the definition of clamp"),
)

CONVERSIONS = (
    _exact("convert-to-itself",      "(convert@d:d x)",               "x",               "",                     "no change of type"),
    _exact("convert-there-and-back", "(convert@e:d (convert@d:e x))", "x",               "widens d e",           "widening loses nothing"),
    _exact("convert-chain",          "(convert@e:b (convert@d:e x))", "(convert@d:b x)", "chains d e b",         "widening keeps the value, and the value decides"),
    _exact("fold-convert",           "(convert@d:e (const@d c))",     "(const@e k)",     "fold-convert d e c k", "rounded to nearest even"),
)

LOGIC = (
    _exact("not-not",                    "(not (not x))",                                            "x",                                   "",                      "every bit flips twice"),
    _exact("not-and",                    "(not (and x y))",                                          "(or (not x) (not y))",                "",                      "De Morgan"),
    _exact("not-or",                     "(not (or x y))",                                           "(and (not x) (not y))",               "",                      "De Morgan"),
    _exact("select-same",                "(select p x x)",                                           "x",                                   "",                      "both branches are equal"),
    _exact("select-not",                 "(select (not@i1 p) x y)",                                  "(select p y x)",                      "",                      "the branches change places"),
    _exact("select-true",                "(select (const@i1 c) x y)",                                "x",                                   "true i1 c",             "the first branch is chosen"),
    _exact("select-false",               "(select (const@i1 c) x y)",                                "y",                                   "false i1 c",            "the second branch is chosen"),
    _exact("select-of-booleans",         "(select@i1 p (const@i1 c) (const@i1 k))",                  "p",                                   "true i1 c, false i1 k", "the predicate itself"),
    _exact("select-in-first-branch",     "(select p (select p x y) z)",                              "(select p x z)",                      "",                      "the inner choice is made"),
    _exact("select-in-second-branch",    "(select p x (select p y z))",                              "(select p x z)",                      "",                      "the inner choice is made"),
    _exact("select-of-negated",          "(select p (negate x) (negate y))",                         "(negate (select p x y))",             "",                      "both branches change their sign"),
    _exact("select-of-scaled",           "(select p (multiply x (const c)) (multiply y (const c)))", "(multiply (select p x y) (const c))", "power-of-two d c",      "both branches are scaled alike"),
    _exact("compare-lt-flip",            "(compare.LT@d:i1 x y)",                                    "(compare.GT@d:i1 y x)",               "",                      "x < y is y > x, false for NaN"),
    _exact("compare-le-flip",            "(compare.LE@d:i1 x y)",                                    "(compare.GE@d:i1 y x)",               "",                      "x <= y is y >= x, false for NaN"),
    _exact("compare-eq-flip",            "(compare.EQ@d:i1 x y)",                                    "(compare.EQ@d:i1 y x)",               "",                      "equality is symmetric"),
    _exact("compare-ne-flip",            "(compare.NE@d:i1 x y)",                                    "(compare.NE@d:i1 y x)",               "",                      "inequality is symmetric"),
    _exact("not-equal",                  "(not@i1 (compare.EQ@d:i1 x y))",                           "(compare.NE@d:i1 x y)",               "",                      "NE is true for NaN"),
    _exact("not-unequal",                "(not@i1 (compare.NE@d:i1 x y))",                           "(compare.EQ@d:i1 x y)",               "",                      "EQ is false for NaN"),
    _exact("unequal-to-false",           "(compare.NE@i1:i1 x (const@i1 c))",                        "x",                                   "false i1 c",            "the boolean itself"),
    _exact("unequal-to-true",            "(compare.NE@i1:i1 x (const@i1 c))",                        "(not@i1 x)",                          "true i1 c",             "its negation"),
    _exact("equal-to-true",              "(compare.EQ@i1:i1 x (const@i1 c))",                        "x",                                   "true i1 c",             "the boolean itself"),
    _exact("equal-to-false",             "(compare.EQ@i1:i1 x (const@i1 c))",                        "(not@i1 x)",                          "false i1 c",            "its negation"),
    _exact("not-less",                   "(not@i1 (compare.LT@d:i1 x y))",                           "(compare.GE@d:i1 x y)",               "integer d",             "integers are totally ordered"),
    _exact("not-less-or-equal",          "(not@i1 (compare.LE@d:i1 x y))",                           "(compare.GT@d:i1 x y)",               "integer d",             "integers are totally ordered"),
    _exact("select-greater-is-maximum",  "(select (compare.GT@d:i1 x y) x y)",                       "(maximum x y)",                       "integer d",             "integers have one zero and no NaN"),
    _exact("select-less-is-minimum",     "(select (compare.LT@d:i1 x y) x y)",                       "(minimum x y)",                       "integer d",             "integers have one zero and no NaN"),
    _exact("select-at-least-is-maximum", "(select (compare.GE@d:i1 x y) x y)",                       "(maximum x y)",                       "integer d",             "integers have one zero and no NaN"),
    _exact("select-at-most-is-minimum",  "(select (compare.LE@d:i1 x y) x y)",                       "(minimum x y)",                       "integer d",             "integers have one zero and no NaN"),
)

MEETINGS = (
    Rule("views-meet", "view r of an op whose operands are views s, t ...", "the op over the composites r;s, r;t ..., where it exists", "", Theory.EXACT, "an elementwise op acts at each point alone", Kind.MEETING),
)

NORMAL_FORMS = (
    Rule("integer-polynomials", "sums and products of integers", "one sorted polynomial, coefficients modulo 2^bits", "integer d", Theory.EXACT, "integers modulo 2^bits are a commutative ring", Kind.NORMAL_FORM),
    Rule("chains-in-any-order", "max, min, and, or, xor of several terms", "the sorted set of what is combined, of xor what occurs an odd number of times", "any-order m d", Theory.EXACT, "associative and commutative, bit for bit; x ∘ x is x, or 0 for xor", Kind.NORMAL_FORM),
)

EXACT = VIEWS + TOTALS + ARITHMETIC + CONVERSIONS + LOGIC + MEETINGS + NORMAL_FORMS
