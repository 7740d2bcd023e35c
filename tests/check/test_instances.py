"""Instances of rules in certificates: every rule has some, none tells anything that is not so."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache, partial
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import islpy as isl
import pytest
from egraph.instances import DTYPES, Instances
from egraph.relations import FiniteRelations, Sets
from egraph.semantics import Exact, Machine, Numbers, Reals, own_dtype, term_dtypes

from shardproof import Verdict, validate_modules
from shardproof.validator.certify.instances import Search
from shardproof.validator.check.algebra.ground import Ground, shown_by_rules
from shardproof.validator.check.check import check
from shardproof.validator.check.errors import Rejection
from shardproof.validator.check.relations import Relations
from shardproof.validator.check.terms import Kind, Term, Terms
from shardproof.validator.check.values import Calculus
from shardproof.validator.ops.digest import digest
from shardproof.validator.ops.monoid import Monoid
from shardproof.validator.ops.record import Theory
from shardproof.validator.ops.values import Piece
from shardproof.validator.read.attributes import Comparison
from shardproof.validator.read.certificates import Fact
from shardproof.validator.read.errors import ReadError
from shardproof.validator.read.ir import DType, Program
from shardproof.validator.read.program import read_pair
from shardproof.validator.rules.normal_form import CHAINS
from shardproof.validator.rules.rule import GUARDS, Rule, Sort, sorts
from shardproof.validator.rules.rule import Kind as RuleKind
from shardproof.validator.rules.rules import BY_NAME, RULES

from .pairs import sealed

REWRITES = [rule for rule in RULES if rule.kind is RuleKind.REWRITE]
ARITHMETIC: dict[Theory, type[Numbers]] = {Theory.EXACT: Machine, Theory.REASSOCIATED: Exact, Theory.REAL: Reals}
DRAWS = 300
SIZE = 4


def _terms() -> Terms:
    """Terms of a check that has met every comparison."""
    attributes = ({"comparison_direction": direction} for direction in Comparison)
    return Terms({f"stablehlo.compare {sorted(each.items())!r}": each for each in attributes})


class Setting:
    """One drawn instance of a rule, with the terms, relations and constants of a check."""

    def __init__(self, rule: Rule, rng: random.Random, theory: Theory | None = None) -> None:
        self.rule, self.rng, self.theory = rule, rng, theory or rule.theory
        number_of: Any = Calculus.number_of
        self.rels: Any = Relations()
        self.run: Any = SimpleNamespace(rels=self.rels, terms=_terms(), number_of=partial(number_of, None))
        self.instances = Instances(rule.theory, rng)
        for _ in range(DRAWS):
            drawn = self.instances.draw(rule)
            if drawn is not None and self._meets(*drawn):
                return
        pytest.fail(f"no instance of '{rule.name}' is accepted")

    def _meets(self, env: dict[str, Any], relations: FiniteRelations) -> bool:
        rels, kinds = self.rels, sorts(self.rule)
        self.points = rels.dom(f"{{ [i] : 0 <= i < {relations.size} }}")
        self.at = rels.identity_on(self.points)
        dtypes: dict[str, str] = {}
        for pattern in self.rule.patterns:
            term_dtypes(pattern, own_dtype(self.rule.patterns[0]), dtypes)
        outputs = {clause[-1] for clause in self.rule.guards if GUARDS[clause[0]].outputs}
        self.bound: dict[str, Any] = {}
        for name, sort in kinds.items():
            if name in outputs:
                continue
            if sort is Sort.TERM:
                self.bound[name] = Piece(self.leaf(name, env.get(dtypes[name], dtypes[name])), self.at)
            elif sort is Sort.RELATION:
                self.bound[name] = self.relation(relations.sets(env[name]))
            elif sort is Sort.CONSTANT:
                self.bound[name] = self.constant(env[name])
            else:
                self.bound[name] = env[name]
        try:
            ground = _prepared(self)
            ground.apply(self.rule, self.at, self.named(ground, self.bound))
        except Rejection:  # a total of nothing
            return False
        return True

    def relation(self, sets: Sets) -> Any:
        pairs = [f"[{p}] -> [{x}]" for p, reached in enumerate(sets) for x in reached]
        return self.rels.rel("{ " + "; ".join(pairs or ["[i] -> [i] : 1 = 0"]) + " }")

    def leaf(self, name: str, dtype: str) -> Term:
        type_ = DType.F32 if dtype == "real" else DType(dtype)
        return self.run.terms.make(Kind.PARAMETER, type_, 1, (name, SIZE))

    def constant(self, number: int) -> Term:
        constants = self.instances.constants
        dtype, value = constants.dtype_of(number), constants.number(number)
        type_ = DType.F32 if dtype == "real" else DType(dtype)
        if not type_.is_float:
            return self.run.terms.make(Kind.NUMBER, type_, 0, int(value))
        import numpy as np

        return self.run.terms.make(Kind.SCALAR, type_, 0, np.float64(value).tobytes().hex())

    @staticmethod
    def named(ground: Ground, bound: dict[str, Any]) -> dict[str, Any]:
        return {name: ground.number(what) if isinstance(what, Term) else what for name, what in bound.items()}

    def sides(self) -> tuple[Term, Term, list[Term]]:
        """Both sides of the rule as terms whose indices are the points, and what has to be taken apart for it."""
        search = Search(self.run, self.theory, [])
        _know_all_types(search)
        env = self.named(search, self.bound)
        for clause in self.rule.guards:
            if GUARDS[clause[0]].outputs:
                env[clause[-1]] = search.answers[clause[0]](*[env.get(cell, cell) for cell in clause[1:-1]])
        made: list[Term] = []
        for pattern in self.rule.patterns:
            piece = search.piece(search.build(pattern, env, self.at))
            own = piece.atom.arity == 1 and self.rels.equal(piece.rel, self.at)
            made.append(piece.atom if own else self.run.terms.make(Kind.VIEW, piece.atom.dtype, 1, (), [piece]))
        return made[0], made[1], [*search.opened, *made]

    def check(self, theory: Theory, *instances: dict[str, Any]) -> None:
        """What the checker does with the equality of both sides."""
        first, second, opened = self.sides()
        numbers = [self.place(term) for term in opened]
        fact = Fact({"opened": numbers}, instances)
        shown_by_rules(self.run, first, [Piece(second, self.at)], theory, fact)

    def place(self, what: Any) -> int:
        self.made.append(what)
        return len(self.made) - 1

    def said(self) -> dict[str, Any]:
        """The instance as a certificate tells it, with terms and relations by their places in tables."""
        self.made: list[Any] = []
        bound: list[list[Any]] = []
        for name, what in self.bound.items():
            if isinstance(what, Piece):
                bound.append([name, self.place(what.atom), self.place(what.rel)])
            else:
                bound.append([name, what if isinstance(what, str) else self.place(what)])
        self.run.tables = SimpleNamespace(
            term=self.made.__getitem__,
            relation=self.made.__getitem__,
            pieces=lambda flat: (Piece(self.made[flat[0]], self.made[flat[1]], flat[2]),),
        )
        return {"rule": self.rule.name, "at": self.place(self.at), "bound": bound}


def _prepared(given: Setting) -> Ground:
    """A ground that knows what there is to know of all element types."""
    ground = Ground(given.run, given.theory, [])
    _know_all_types(ground)
    return ground


def _know_all_types(ground: Ground) -> None:
    for dtype in DTYPES.values():
        ground.constants.dtype_name(dtype)


def setting(rule: Rule, seed: int = 0, theory: Theory | None = None) -> Setting:
    return Setting(rule, random.Random(f"{rule.name} {seed}"), theory)


_NAME = attrgetter("name")
BELOW_REAL = [rule for rule in REWRITES if rule.theory is not Theory.REAL]


@pytest.mark.parametrize("rule", BELOW_REAL, ids=_NAME)
def test_an_instance_shows_that_both_sides_are_equal(rule: Rule):
    given = setting(rule)
    given.check(rule.theory, given.said())
    if rule.theory is Theory.REASSOCIATED:
        with pytest.raises(Rejection, match=f"'{rule.name}' has no instance here"):
            given.check(Theory.EXACT, given.said())
    else:
        stronger = setting(rule)
        stronger.check(Theory.REASSOCIATED, stronger.said())


FOLLOWING = {
    *(rule.name for rule in REWRITES if "view-" in rule.name and "total" not in rule.name),
    *(f"{op}-commutes" for op in CHAINS),
    "idempotent-op",
    "xor-with-itself",
}
"""Rules that say nothing where ops are read through views down to what they are made of, and chains have one form."""


@pytest.mark.parametrize("rule", [rule for rule in BELOW_REAL if rule.theory is Theory.EXACT], ids=_NAME)
def test_without_an_instance_nothing_is_shown(rule: Rule):
    given = setting(rule)
    given.said()
    if rule.name in FOLLOWING:
        given.check(Theory.EXACT)
        return
    with pytest.raises(Rejection, match="is not shown to be what it is said to be"):
        _without_instance(rule)


def _without_instance(rule: Rule) -> None:
    for seed in range(20):  # some draws are integers, whose sums and products have one form
        given = setting(rule, seed)
        given.said()
        given.check(Theory.EXACT)


@pytest.mark.parametrize("rule", [rule for rule in REWRITES if rule.theory is Theory.REAL], ids=_NAME)
def test_what_holds_for_real_numbers_only_is_not_believed(rule: Rule):
    given = setting(rule)
    with pytest.raises(Rejection, match="that terms are real numbers is not checked"):
        given.check(Theory.REAL, given.said())


@pytest.mark.parametrize("rule", REWRITES, ids=_NAME)
def test_an_instance_of_every_rule_is_found(rule: Rule):
    given = setting(rule)
    first, second, opened = given.sides()
    search = Search(given.run, rule.theory, opened)
    assert search.saturate(search.goal(first, [Piece(second, given.at)]), float("inf"))


@pytest.mark.parametrize(("dtype", "is_equal"), [("f32", False), ("complex<f32>", False), ("i32", True)])
def test_sums_of_as_many_steps_have_the_same_bits(dtype: str, is_equal: bool):
    given = setting(BY_NAME["negate-negated"])
    given.said()
    rels, terms = given.rels, given.run.terms
    whole = terms.make(Kind.PARAMETER, DType(dtype), 1, (0, SIZE))
    rel = rels.rel(f"{{ [] -> [i] : 0 <= i < {SIZE} }}")
    sums = [terms.make(Kind.SUM, DType(dtype), 0, (), [Piece(whole, rel)], Monoid.ADD, levels) for levels in (1, 2)]
    fact = Fact({"opened": [given.place(each) for each in sums]}, ())
    parts = [Piece(sums[1], rels.rel("{ [] -> [] }"))]
    shown_by_rules(given.run, sums[0], parts, Theory.REASSOCIATED, fact)
    with nullcontext() if is_equal else pytest.raises(Rejection):
        shown_by_rules(given.run, sums[0], parts, Theory.EXACT, fact)


@pytest.mark.parametrize("at", ["[i] -> [0]; [i] -> [1]", "[i] -> [9] : i = 0", "[i, j] -> [i]", "[i] -> [i, i]"])
def test_an_instance_is_read_through_a_function_to_where_it_is_defined(at: str):
    given = setting(BY_NAME["negate-negated"])
    said = given.said()
    told = {**said, "at": given.place(given.rels.rel(f"{{ {at} }}"))}
    with pytest.raises(Rejection):
        given.check(Theory.EXACT, told)


# nothing wrong is accepted --------------------------------------------------------------------------------------------


def _pairs(rel: Any) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    rel.map.wrap().foreach_point(
        lambda point: found.append(tuple(point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in (0, 1)))
    )
    return found


def values(ground: Ground, numbers: Numbers, rng: random.Random) -> list[dict[int, Any]]:
    """What every node is at its points, for random values of the terms that it is made of."""
    inputs: dict[Term, list[Any]] = {}
    found: list[dict[int, Any]] = []
    for (dtype, points, kind, *head), of in ground.keys:
        at: list[int] = []
        points.set.foreach_point(lambda p, at=at: at.append(p.get_coordinate_val(isl.dim_type.set, 0).to_python()))
        if kind == "leaf":
            term, rel = head
            drawn = inputs.setdefault(term, [numbers.sample(dtype, rng) for _ in range(SIZE)])
            made = {p: drawn[x] for p, x in _pairs(rel)}
        elif kind == "const":
            made = {p: numbers.constant(ground.constants.number(head[0]), dtype) for p in at}
        elif kind == "view":
            made = {p: found[of[0]][x] for p, x in _pairs(head[0])}
        elif kind == "total":
            monoid, inner = head
            made = {p: numbers.total(monoid, dtype, [found[of[0]][x] for q, x in _pairs(inner) if q == p]) for p in at}
        else:
            op, source = head
            made = {p: numbers.apply(op, source, dtype, [found[part][p] for part in of]) for p in at}
        found.append(made)
    return found


def _twisted(given: Setting, rng: random.Random) -> tuple[Rule, dict[str, Any]]:
    """The rule, or now and then another one, with something else in place of one or two of its variables."""
    rule, bound = given.rule, dict(given.bound)
    if rng.random() < 0.2:
        rule = rng.choice([each for each in REWRITES if each.theory is rule.theory])
    for name in rng.sample(sorted(bound), min(len(bound), rng.randint(1, 2))):
        what = bound[name]
        if isinstance(what, Piece):
            bound[name] = rng.choice([each for each in bound.values() if isinstance(each, Piece)])
        elif isinstance(what, Term):
            bound[name] = given.constant(rng.randint(1, 40))
        elif isinstance(what, str):
            bound[name] = rng.choice([*DTYPES, "add", "multiply", "maximum", "and", "or", "subtract", "negate", "not"])
        else:
            sets = FiniteRelations(SIZE)
            drawn = sets.sets(sets.sample(rng, function=rng.random() < 0.5))
            bound[name] = given.relation(drawn)
    return rule, bound


UNFOLLOWED = (Rejection, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@pytest.mark.parametrize("rule", BELOW_REAL, ids=_NAME)
def test_whatever_is_in_place_of_variables_equal_terms_have_equal_values(rule: Rule):
    rng, numbers = random.Random(rule.name), ARITHMETIC[rule.theory]()
    given = setting(rule)
    evaluated = 0
    for drawn in range(40):
        if drawn >= 8 and evaluated:
            break
        ground = _prepared(given)
        for _ in range(4):
            other, bound = _twisted(given, rng)
            try:
                for each in (_prepared(given), ground):  # what fails leaves nodes behind
                    each.apply(other, given.at, given.named(each, bound))
                    each.close()
            except UNFOLLOWED:
                continue
        try:
            known = values(ground, numbers, rng)
        except (Warning, KeyError, OverflowError, TypeError):  # an op or operands that the evaluator does not know
            continue
        evaluated += bool(known)
        for number, mine in enumerate(known):
            other = known[ground.root(number)]
            assert mine.keys() == other.keys()
            assert all(numbers.equal(mine[p], other[p]) for p in mine), (ground.keys[number], ground.root(number))
    assert evaluated


# programs -------------------------------------------------------------------------------------------------------------

SHARDED = '{mhlo.sharding = "{devices=[4,1]<=[4]}"}'


def program(kind: str, body: str, devices: int) -> str:
    type_ = f"tensor<{8 // devices}x6x{kind}>"
    given = f" {SHARDED}" if devices == 1 else ""
    arguments = ", ".join(f"%{name}: {type_}{given}" for name in "xyz")
    lines = "\n".join(f"    %{line} : {type_}" for line in body.split("; "))
    attributes = f" attributes {{mhlo.num_partitions = {devices} : i32}}" if devices > 1 else ""
    result = f"({type_}{given})"
    main = f"func.func @main({arguments}) -> {result} {{\n{lines}\n    return %r : {type_}\n  }}"
    return f"module{attributes} {{\n  {main}\n}}\n"


PROGRAMS = {
    "negated twice": (
        "f32",
        "r = stablehlo.exponential %x",
        "a = stablehlo.negate %x; b = stablehlo.negate %a; r = stablehlo.exponential %b",
        4,
        {"negate-negated"},
    ),
    "halved": (
        "f32",
        "k = stablehlo.constant dense<2.0>; a = stablehlo.divide %x, %k; r = stablehlo.exponential %a",
        "k = stablehlo.constant dense<0.5>; a = stablehlo.multiply %x, %k; r = stablehlo.exponential %a",
        4,
        {"divide-by-power-of-two"},
    ),
    "clamped": (
        "f32",
        "r = stablehlo.clamp %x, %y, %z",
        "a = stablehlo.maximum %y, %x; r = stablehlo.minimum %a, %z",
        1,
        {"clamp-is-min-max"},
    ),
    "multiplied out": (
        "i32",
        "a = stablehlo.add %x, %y; r = stablehlo.multiply %a, %z",
        "a = stablehlo.multiply %x, %z; b = stablehlo.multiply %y, %z; r = stablehlo.add %a, %b",
        1,
        set(),
    ),
    "grouped otherwise": (
        "f32",
        "a = stablehlo.multiply %x, %y; r = stablehlo.multiply %a, %z",
        "a = stablehlo.multiply %y, %z; r = stablehlo.multiply %x, %a",
        1,
        set(),
    ),
    "not both bits": (
        "i32",
        "a = stablehlo.not %x; b = stablehlo.not %y; c = stablehlo.or %a, %b; r = stablehlo.add %c, %z",
        "a = stablehlo.and %x, %y; b = stablehlo.not %a; r = stablehlo.add %b, %z",
        1,
        {"not-and"},
    ),
}


@cache
def proved(name: str) -> tuple[Program, Program, str]:
    kind, before, after, devices, _ = PROGRAMS[name]
    texts = program(kind, before, 1), program(kind, after, devices)
    report = validate_modules(*texts, certificate=True)
    assert report.verdict is Verdict.PROVED
    assert report.certificate is not None, [note.text for note in report.notes]
    return *read_pair(texts[0].encode(), texts[1].encode(), names=("before", "after")), report.certificate


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_is_equal_by_rules_has_a_certificate(name: str):
    before, after, text = proved(name)
    assert text.count('"shardproof.equal"') == 1
    assert set(re.findall(r'rule = "([\w-]+)"', text)) == PROGRAMS[name][4]
    check(text.encode(), "certificate", before, after)


def _edits(line: str) -> Iterator[tuple[str, str]]:
    """Every number and word of a line changed."""
    for found in re.finditer(r"(?<![\w])-?\d+\b", line):
        for number in {int(found.group()) + 1, abs(int(found.group()) - 1)}:  # -1 would be a relation that is none
            yield found.group(), f"{line[: found.start()]}{number}{line[found.end() :]}"
    for found in re.finditer(r'"([\w-]+)"', line):
        for word in ("real", "reassociated", "exact", "i32", "bf16", "x", "add", "reals", *list(BY_NAME)[::10]):
            if word != found[1]:
                yield found.group(), f'{line[: found.start()]}"{word}"{line[found.end() :]}'


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_changed_field_of_an_equality_is_noticed(name: str):
    before, after, text = proved(name)
    lines, rejected, kept = text.split("\n"), 0, []
    for number, line in enumerate(lines):
        if not re.match(r'\s*"shardproof\.(equal|instance)"', line):
            continue
        for what, changed in [*_edits(line), ("the line", "")]:
            forged = sealed("\n".join([*lines[:number], *[changed] * bool(changed), *lines[number + 1 :]]))
            try:
                check(forged.encode(), "certificate", before, after)
            except (Rejection, ReadError):
                rejected += 1
            else:
                kept.append((what, changed))
    assert rejected > 10
    for what, changed in kept:
        # to look into more terms than needed claims nothing wrong
        assert re.sub(r"opened = \[[^]]*\]", "", changed) in map(partial(re.sub, r"opened = \[[^]]*\]", ""), lines), (
            what
        )


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_equality_does_not_carry_over_to_another_program(name: str):
    kind, original, after, devices, _ = PROGRAMS[name]
    before, right, text = proved(name)
    for old, new in (("%x", "%y"), ("negate %a", "abs %a"), ("0.5", "0.25"), ("maximum", "minimum"), ("and", "xor")):
        if old in after:
            texts = program(kind, original, 1), program(kind, after.replace(old, new, 1), devices)
            _, wrong = read_pair(texts[0].encode(), texts[1].encode(), names=("before", "after"))
            with pytest.raises(Rejection):
                check(sealed(text.replace(digest(right), digest(wrong))).encode(), "certificate", before, wrong)


def test_a_proof_that_is_not_found_in_time_is_no_certificate(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("shardproof.validator.certify.instances.MAX_SECONDS", -1.0)
    kind, before, after, devices, _ = PROGRAMS["negated twice"]
    report = validate_modules(program(kind, before, 1), program(kind, after, devices), certificate=True)
    assert report.verdict is Verdict.PROVED
    assert report.certificate is None
    said = "no certificate: an equality of the e-graph, for which no instances of rules are found"
    assert any(note.text.startswith(said) for note in report.notes)


def test_where_isl_gives_up_there_is_no_certificate(monkeypatch: pytest.MonkeyPatch):
    def give_up(self: Search, goal: object, stop: float) -> bool:
        raise Rejection("isl gives up on 'compose'")

    monkeypatch.setattr(Search, "saturate", give_up)
    kind, before, after, devices, _ = PROGRAMS["negated twice"]
    report = validate_modules(program(kind, before, 1), program(kind, after, devices), certificate=True)
    assert report.verdict is Verdict.PROVED
    assert any("isl gives up on 'compose'" in note.text for note in report.notes)
