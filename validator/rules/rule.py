"""The form of a rule, and the reader of its notation.

A pattern is an s-expression over StableHLO op names:

    (add x y)              an elementwise op; all element types are `d`
    (convert@d:e x)        operand type d, result type e; `op@d` stands for `op@d:d`
    (compare.LT@d:i1 x y)  ops with attributes that rules look at carry them in the name
    (const c)              a splat of the constant c, of any shape
    (view r x)             x read through the function r:  p -> x[r(p)]
    (total m r x)          the values of x over r(p), combined by the monoid m

One-letter names (with an optional digit) are variables; what they stand for follows from where they stand: terms,
relations, constants, element types, or ops. A guard lists facts that must hold, by the names of `GUARDS`; a guard may
bind a variable, such as the composite q of `compose r s q`.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field

from ..ops.record import Theory
from ..read.ir import DType


class Sort(enum.Enum):
    """What a variable or a cell stands for, and its column type in egglog."""

    TERM = "Term"
    RELATION = "i64"
    CONSTANT = "i64 "
    DTYPE = "String"
    OP = "String "

    @property
    def column(self) -> str:
        return self.value.strip()


class Kind(enum.Enum):
    """How a rule is carried out."""

    REWRITE = "rewrite"
    """A rule of egglog, compiled from its two patterns."""
    NORMAL_FORM = "normal form"
    """Sums and products compared as flattened multisets (`normal_form.py`)."""
    MEETING = "meeting"
    """Ops looked up under views of their operands (`meeting.py`); makes no terms."""


class Use(enum.Enum):
    """When a rewrite runs, and whether it may make new terms."""

    ALWAYS = "always"
    """In every run; makes its right side."""
    RETIRING = "retiring"
    """In every run; no rule looks at the left side again. For sides so simple that nothing is lost."""
    FOLLOWING = "following"
    """In every run, each time the others have come to rest, and only where the operands of the right side
    exist; expanding runs make these, too."""
    EXPANDING = "expanding"
    """Only in runs that ask for it: its new terms grow with the square of the depth."""


@dataclass(frozen=True, slots=True)
class Node:
    """A pattern node: an op, its element types, and its arguments (nodes or names)."""

    head: str
    source: str
    target: str
    arguments: tuple[Node | str, ...]


Pattern = Node | str


@dataclass(frozen=True, slots=True)
class Rule:
    """`left` equals `right` wherever `guard` holds, in the arithmetic of `theory`, because of `reason`."""

    name: str
    left: str
    right: str
    guard: str
    theory: Theory
    reason: str
    kind: Kind = Kind.REWRITE
    use: Use = Use.ALWAYS
    patterns: tuple[Pattern, Pattern] = field(init=False, repr=False, compare=False)
    guards: tuple[tuple[str, ...], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parsed = (parse(self.left), parse(self.right)) if self.kind is Kind.REWRITE else (self.left, self.right)
        object.__setattr__(self, "patterns", parsed)
        clauses = [tuple(clause.split()) for clause in self.guard.split(",") if clause.strip()]
        object.__setattr__(self, "guards", tuple(clauses))
        for clause in clauses:
            assert len(GUARDS[clause[0]].cells) == len(clause) - 1, f"{self.name}: {' '.join(clause)}"


@dataclass(frozen=True, slots=True)
class Guard:
    """A fact that rules may ask for: the sorts of its cells, what it says, and whether the host answers on demand.

    The last `outputs` cells of a demanded fact are the answer.
    """

    cells: tuple[Sort, ...]
    doc: str
    demanded: bool = False
    outputs: int = 0


# fmt: off
_R, _C, _D, _O = Sort.RELATION, Sort.CONSTANT, Sort.DTYPE, Sort.OP

GUARDS: dict[str, Guard] = {
    # element types, told when a type first occurs
    "float":         Guard((_D,),                "d is a floating-point type with signs (or the reals)"),
    "integer":       Guard((_D,),                "d is a signed or unsigned integer type"),
    "ordered":       Guard((_D,),                "d is not complex"),
    "signed":        Guard((_D,),                "d is a floating-point or signed integer type"),
    "negates":       Guard((_D,),                "d is no boolean and has negative numbers, or wraps around to them"),
    "infinite":      Guard((_D,),                "d has infinities, and what is too great for it becomes one"),
    "bits":          Guard((_D,),                "d is an integer type or i1"),
    "reals":         Guard((_D,),                "d stands for the reals: all float types do under theory real"),
    "widens":        Guard((_D, _D),             "every value of the first type is a value of the second"),
    "chains":        Guard((_D, _D, _D),         "the first widens to the second; both convert to the third alike"),
    "any-order":     Guard((_O, _D),             "the monoid gives the same bits in every order of operands"),
    # constants, told when a constant first occurs
    "zero":          Guard((_D, _C),             "c is +0"),
    "one":           Guard((_D, _C),             "c is 1"),
    "two":           Guard((_D, _C),             "c is 2"),
    "minus-one":     Guard((_D, _C),             "c is -1 (all ones for unsigned types)"),
    "true":          Guard((_D, _C),             "c is true"),
    "false":         Guard((_D, _C),             "c is false"),
    "positive":      Guard((_D, _C),             "c is positive and finite"),
    "finite":        Guard((_D, _C),             "c is finite"),
    "nonzero":       Guard((_D, _C),             "c is finite and not zero"),
    "power-of-two":  Guard((_D, _C),             "c is plus or minus a power of two"),
    "reciprocal":    Guard((_D, _C, _C),         "c is a normal power of two up to sign, and so is its reciprocal k"),
    "low-bits":      Guard((_D, _C, _C),         "c is a power of two, and k is c - 1"),
    "neutral":       Guard((_O, _D, _C),         "f(x, c) = x, bit for bit"),
    "neutral-loose": Guard((_O, _D, _C),         "f(x, c) = x, up to the sign of zero"),
    "absorbing":     Guard((_O, _D, _C),         "f(x, c) = c, bit for bit"),
    # ops
    "monoid":        Guard((_O,),                "m is one of the commutative monoids the rules know"),
    "idempotent":    Guard((_O,),                "f(x, x) = x"),
    # answered by the host on demand
    "compose":       Guard((_R, _R, _R),         "q is r followed by s", True, 1),
    "compose-total": Guard((_O, _R, _R, _R),     "q is r then s; m sees no element twice or does not mind", True, 1),
    "function":      Guard((_R,),                "r(p) has exactly one element", True),
    "identity":      Guard((_R,),                "r(p) = {p}", True),
    "nonempty":      Guard((_R,),                "r(p) is not empty", True),
    "multiple":      Guard((_O, _D, _R, _C, _C), "combining c by m over r(p) gives k at every p", True, 1),
    "fold-unary":    Guard((_O, _D, _C, _C),     "f(c) = k in d's own arithmetic", True, 1),
    "fold-binary":   Guard((_O, _D, _C, _C, _C), "f(c, k) = j in d's own arithmetic", True, 1),
    "fold-convert":  Guard((_D, _D, _C, _C),     "c of the first type converts to k of the second", True, 1),
}
# fmt: on

_TOKEN = re.compile(r"[()]|[^\s()]+")
_VARIABLE = re.compile(r"[a-z][0-9]?\Z")


_TYPE_NAMES = frozenset(dtype.value for dtype in DType)


def is_variable(name: str) -> bool:
    """A letter with an optional digit, but for the names of element types such as `i1`."""
    return _VARIABLE.match(name) is not None and name not in _TYPE_NAMES


def parse(text: str) -> Pattern:
    """Read one pattern."""
    tokens = _TOKEN.findall(text)
    pattern, end = _parse(tokens, 0)
    assert end == len(tokens), f"text after the pattern: {text}"
    return pattern


def _parse(tokens: list[str], at: int) -> tuple[Pattern, int]:
    if tokens[at] != "(":
        return tokens[at], at + 1
    head, _, types = tokens[at + 1].partition("@")
    source, _, target = (types or "d").partition(":")
    arguments: list[Pattern] = []
    at += 2
    while tokens[at] != ")":
        argument, at = _parse(tokens, at)
        arguments.append(argument)
    return Node(head, source, target or source, tuple(arguments)), at + 1


def sorts(rule: Rule) -> dict[str, Sort]:
    """The variables of a rewrite rule and what they stand for."""
    found: dict[str, Sort] = {}

    def note(name: str, sort: Sort) -> None:
        if is_variable(name):
            assert found.setdefault(name, sort) is sort, f"{rule.name}: '{name}' is used as {found[name]} and {sort}"

    def visit(pattern: Pattern) -> None:
        if isinstance(pattern, str):
            note(pattern, Sort.TERM)
            return
        if pattern.head == "view":
            note(str(pattern.arguments[0]), Sort.RELATION)
            visit(pattern.arguments[1])
            return
        note(pattern.source, Sort.DTYPE)
        note(pattern.target, Sort.DTYPE)
        if pattern.head == "const":
            note(str(pattern.arguments[0]), Sort.CONSTANT)
        elif pattern.head == "total":
            note(str(pattern.arguments[0]), Sort.OP)
            note(str(pattern.arguments[1]), Sort.RELATION)
            visit(pattern.arguments[2])
        else:
            note(pattern.head, Sort.OP)
            for argument in pattern.arguments:
                visit(argument)

    for pattern in rule.patterns:
        visit(pattern)
    for clause in rule.guards:
        for name, sort in zip(clause[1:], GUARDS[clause[0]].cells, strict=True):
            note(name, sort)
    return found
