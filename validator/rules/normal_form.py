"""Sums and products as sorted multisets, in place of commutativity with associativity.

Rewriting with both laws grows with the number of orders (6,050 nodes for a sum of eight). Here every class gets one
form, sum of coefficient times monomial, computed bottom-up over the classes; classes with one form are equal. A form
is only ever built from equations that hold, so a bad choice (a cycle cut, a long sum left whole) loses completeness,
never soundness.

What a form may do depends on the element type and the theory:

    integers       one polynomial modulo 2^bits, products multiplied out
    any order      max, min, and, or: the set of what is combined; xor: what occurs an odd number of times
    reassociated   terms and factors are multisets: nothing cancels, only constants combine, and exactly;
                   a constant goes into a sum of operands only if it is a power of two
    real           coefficients add and cancel, factors have integer exponents, exponentials join
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from ..ops.record import Theory
from ..read.ir import DType
from .constants import REALS, is_power_of_two

Exponents = tuple[tuple[int, int], ...]
"""Atoms (class numbers) with their exponents, sorted."""
Linear = tuple[tuple["Monomial", Fraction], ...]
"""Terms, sorted; the empty sum is zero."""
Monomial = tuple[Exponents, Linear]
"""Atoms, and the argument of the exponential that they are multiplied by (zero: none)."""

ONE: Monomial = ((), ())
LONGEST = 32
"""Sums of more terms are left whole where they occur as operands."""

OPS = frozenset({"add", "subtract", "negate", "multiply", "divide", "exponential"})


@dataclass(frozen=True, slots=True)
class Chain:
    """An op that may be taken in any order and grouping, bit for bit: idempotent, or x ∘ x is its neutral element 0."""

    of_constants: Callable[[int, int], int]
    idempotent: bool = True


CHAINS = {
    "and": Chain(operator.and_),
    "maximum": Chain(max),
    "minimum": Chain(min),
    "or": Chain(operator.or_),
    "xor": Chain(operator.xor, idempotent=False),
}


@dataclass(frozen=True, slots=True)
class Laws:
    """The laws of one element type under one theory."""

    rule: str
    modulus: int | None = None
    field: bool = False
    """Any constant distributes, terms cancel, one may divide, exp is a homomorphism."""
    expand: bool = False
    """Products of sums are multiplied out."""
    chain: Chain | None = None
    """What `add` stands for, if it is no sum."""

    @property
    def collects(self) -> bool:
        return self.field or self.modulus is not None


def laws_of(dtype: str, theory: Theory) -> tuple[Laws, ...]:
    """The laws for sums and products of an element type in a theory; none for booleans and complex numbers."""
    if dtype == REALS:
        if theory is Theory.REAL:
            return (Laws("rational-monomials", field=True), Laws("rational-monomials", field=True, expand=True))
        return () if theory is Theory.EXACT else (Laws("sums-and-products-reordered"),)
    type_ = DType(dtype)
    if type_.is_integer:
        return (Laws("integer-polynomials", modulus=1 << type_.bits, expand=True),)
    is_loose = type_.is_float and not type_.is_positive and theory is not Theory.EXACT
    return (Laws("sums-and-products-reordered"),) if is_loose else ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One node of a class: an op over class numbers, or a constant."""

    op: str
    operands: tuple[int, ...] = ()
    constant: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """Class `left` equals class `right`, or the constant, by the laws' rule."""

    left: int
    right: int | None
    constant: Fraction | None
    rule: str
    dtype: str


def systems(operations: Iterable[tuple[str, int, Operation]], theory: Theory) -> Iterator[tuple[str, Forms]]:
    """Element types and forms, of sums and products and of each op of `CHAINS`; a node comes as (type, class, node)."""
    sums: dict[str, dict[int, list[Operation]]] = {}
    chains: dict[tuple[str, str], dict[int, list[Operation]]] = {}
    for dtype, number, node in operations:
        if node.op in CHAINS:
            linked = Operation("add", node.operands)
            chains.setdefault((node.op, dtype), {}).setdefault(number, []).append(linked)
        else:
            sums.setdefault(dtype, {}).setdefault(number, []).append(node)
    for dtype, classes in sums.items():
        for laws in laws_of(dtype, theory):
            yield dtype, Forms(laws, classes)
    for (op, dtype), classes in chains.items():
        if dtype != REALS and DType(dtype).is_complex:
            continue  # they have no order
        if dtype != REALS and not DType(dtype).is_float:  # constant floats are operands like any: −0 is not 0
            for number, nodes in sums.get(dtype, {}).items():
                constants = [node for node in nodes if node.op == "constant"]
                classes.setdefault(number, []).extend(constants)
        yield dtype, Forms(Laws("chains-in-any-order", chain=CHAINS[op]), classes)


def _atom(number: int) -> Linear:
    return (((((number, 1),), ()), Fraction(1)),)


def _is_atom(form: Linear) -> int | None:
    if len(form) == 1 and form[0][1] == 1:
        exponents, exponential = form[0][0]
        if not exponential and len(exponents) == 1 and exponents[0][1] == 1:
            return exponents[0][0]
    return None


def _constant(form: Linear) -> Fraction | None:
    if not form:
        return Fraction(0)
    return form[0][1] if len(form) == 1 and form[0][0] == ONE else None


def _sum(laws: Laws, terms: Iterable[tuple[Monomial, Fraction]]) -> Linear:
    if laws.chain is not None:
        return _combined(laws.chain, terms)
    if laws.collects:
        collected: dict[Monomial, Fraction] = {}
        for monomial, coefficient in terms:
            collected[monomial] = collected.get(monomial, Fraction(0)) + coefficient
        if laws.modulus is not None:
            collected = {monomial: coefficient % laws.modulus for monomial, coefficient in collected.items()}
        return tuple(sorted((monomial, coefficient) for monomial, coefficient in collected.items() if coefficient))
    kept: list[tuple[Monomial, Fraction]] = []
    constant = Fraction(0)
    for monomial, coefficient in terms:
        if monomial == ONE:
            constant += coefficient
        else:
            kept.append((monomial, coefficient))
    if constant:
        kept.append((ONE, constant))
    return tuple(sorted(kept))


def _combined(chain: Chain, terms: Iterable[tuple[Monomial, Fraction]]) -> Linear:
    """What a chain combines: each operand once (of xor those that are left), and its constants as one."""
    found: dict[Monomial, Fraction] = {}
    for monomial, coefficient in terms:
        if monomial == ONE and ONE in found:
            found[ONE] = Fraction(chain.of_constants(int(found[ONE]), int(coefficient)))
        elif chain.idempotent or monomial not in found:
            found[monomial] = coefficient
        else:
            del found[monomial]
    if not chain.idempotent and found.get(ONE) == 0:
        del found[ONE]
    return tuple(sorted(found.items()))


def _scale(laws: Laws, form: Linear, factor: Fraction) -> Linear | None:
    if laws.collects:
        return _sum(laws, ((monomial, coefficient * factor) for monomial, coefficient in form))
    if factor == 0 or (len(form) > 1 and not is_power_of_two(factor)):
        return None
    return tuple(sorted((monomial, coefficient * factor) for monomial, coefficient in form))


def _times(laws: Laws, left: Monomial, right: Monomial) -> Monomial:
    exponents = dict(left[0])
    for atom, exponent in right[0]:
        exponents[atom] = exponents.get(atom, 0) + exponent
    kept = tuple(sorted((atom, exponent) for atom, exponent in exponents.items() if exponent))
    return kept, _sum(laws, (*left[1], *right[1])) if left[1] or right[1] else ()


def _inverse(monomial: Monomial) -> Monomial:
    exponents, exponential = monomial
    inverted = tuple((atom, -exponent) for atom, exponent in exponents)
    return inverted, tuple((term, -coefficient) for term, coefficient in exponential)


class Forms:
    """The forms of all classes of one element type."""

    def __init__(self, laws: Laws, nodes: dict[int, list[Operation]]) -> None:
        self._laws = laws
        self._nodes = nodes
        self._forms: dict[int, Linear] = {}
        self._alternatives: dict[int, list[Linear]] = {}

    def findings(self, dtype: str) -> Iterator[Finding]:
        """Equalities between classes that their forms show."""
        for number in self._nodes:
            self._compute(number)
        rule, seen = self._laws.rule, {}
        for number in self._nodes:
            for form in self._alternatives[number]:
                atom, constant = _is_atom(form), _constant(form)
                if constant is not None:
                    if not self._has_constant(number, constant):
                        yield Finding(number, None, constant, rule, dtype)
                    continue
                other = atom if atom is not None else seen.setdefault(form, number)
                if other != number:
                    yield Finding(number, other, None, rule, dtype)

    def _has_constant(self, number: int, constant: Fraction) -> bool:
        """A class that holds another constant too must be reported, so that the tripwire sees it."""
        wanted = _sum(self._laws, [(ONE, constant)])
        return any(node.op == "constant" and self._form(node) == wanted for node in self._nodes[number])

    def _compute(self, root: int) -> None:
        """Fill in the forms of a class and of what it is made of, without recursion."""
        stack = [root]
        open_classes: set[int] = set()
        while stack:
            number = stack[-1]
            if number in self._forms:
                stack.pop()
                continue
            if number not in open_classes:
                open_classes.add(number)
                waiting = [
                    operand
                    for node in self._nodes.get(number, ())
                    for operand in node.operands
                    if operand not in self._forms and operand not in open_classes
                ]
                if waiting:
                    stack.extend(waiting)
                    continue
            stack.pop()
            self._finish(number)
            open_classes.discard(number)

    def _finish(self, number: int) -> None:
        found: list[tuple[bool, Linear]] = []
        for node in self._nodes.get(number, ()):
            form = self._form(node)
            if form is not None and len(form) <= LONGEST and not _mentions(form, number):
                # what constants come to exactly, before the number of the type that this was rounded to
                found.append((node.op == "constant", form))
        self._alternatives[number] = [form for _, form in found]
        self._forms[number] = min(found, key=lambda one: (len(one[1]), *one))[1] if found else _atom(number)

    def _factor(self, number: int) -> tuple[Monomial, Fraction]:
        """A class as a factor of a product: of a sum that a power of two went into, the sum itself times that."""
        scale = Fraction(1)
        for _ in range(LONGEST):
            form = self._of(number)
            if len(form) == 1:
                monomial, coefficient = form[0]
                return monomial, coefficient * scale
            scaled = next(filter(None, map(self._scaled, self._nodes.get(number, ()))), None)
            if scaled is None:
                break
            number, scale = scaled[0], scale * scaled[1]
        return _atom(number)[0][0], scale

    def _scaled(self, node: Operation) -> tuple[int, Fraction] | None:
        """(class, constant other than zero) whose product the node is."""
        if node.op == "negate":
            return node.operands[0], Fraction(-1)
        if node.op == "divide":
            divisor = _constant(self._of(node.operands[1]))
            return (node.operands[0], 1 / divisor) if divisor else None
        if node.op != "multiply":
            return None
        for operand, other in (node.operands, node.operands[::-1]):
            constant = _constant(self._of(operand))
            if constant:
                return other, constant
        return None

    def _of(self, number: int) -> Linear:
        """The form of an operand; a class that is still open (a cycle) is an atom."""
        return self._forms.get(number) or (() if number in self._forms else _atom(number))

    def _form(self, node: Operation) -> Linear | None:
        laws = self._laws
        if node.op == "constant":
            assert node.constant is not None
            return _sum(laws, [(ONE, node.constant)])
        first = self._of(node.operands[0])
        if node.op == "negate":
            return _scale(laws, first, Fraction(-1))
        if node.op == "exponential":
            if not laws.field:
                return None
            return ((((), first), Fraction(1)),) if first else ((ONE, Fraction(1)),)
        second = self._of(node.operands[1])
        if node.op == "add":
            return _sum(laws, (*first, *second))
        if node.op == "subtract":
            negated = _scale(laws, second, Fraction(-1))
            return None if negated is None else _sum(laws, (*first, *negated))
        if node.op == "multiply":
            return self._product(node, first, second)
        return self._quotient(node, first, second)

    def _product(self, node: Operation, first: Linear, second: Linear) -> Linear | None:
        laws = self._laws
        for form, other, operand in ((first, second, node.operands[1]), (second, first, node.operands[0])):
            constant = _constant(form)
            if constant is not None:
                return self._multiple(other, operand, constant)
        if not laws.expand:
            first, second = ((self._factor(operand),) for operand in node.operands)
        if len(first) * len(second) > LONGEST:
            return None
        return _sum(laws, ((_times(laws, one, other), c * k) for one, c in first for other, k in second))

    def _multiple(self, form: Linear, number: int, factor: Fraction) -> Linear | None:
        """A class with this form, times a constant; whole where the constant does not go into its sum."""
        scaled = _scale(self._laws, form, factor)
        if scaled is None and factor:
            monomial, coefficient = self._factor(number)
            scaled = ((monomial, coefficient * factor),)
        return scaled

    def _quotient(self, node: Operation, first: Linear, second: Linear) -> Linear | None:
        laws = self._laws
        if laws.modulus is not None:
            return None
        constant = _constant(second)
        if constant is not None:
            return self._multiple(first, node.operands[0], 1 / constant) if constant else None
        if not laws.field:
            return None
        if len(second) != 1:
            second = _atom(node.operands[1])
        if len(first) > 1 and not laws.expand:
            first = _atom(node.operands[0])
        divisor, coefficient = second[0]
        inverse = _inverse(divisor)
        return _sum(laws, ((_times(laws, term, inverse), c / coefficient) for term, c in first))


def _mentions(form: Linear, number: int) -> bool:
    return any(
        any(atom == number for atom, _ in exponents) or (exponential and _mentions(exponential, number))
        for (exponents, exponential), _ in form
    )
