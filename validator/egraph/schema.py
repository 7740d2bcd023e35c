"""The egglog program: tables of terms, the build rules, and the rules of `RULES` compiled from their patterns.

Tables of a term, with f an op's name, d and e its operand and result type:
    (Leaf n)  (Const d c)  (View r x)  (Total m d r x)  (Un f d e x)  (Bin f d e x y)  (Tern f d e x y z)
`(Class n)` is the class of the caller's term n. The caller's terms arrive as `put-*` facts and told equalities as
`put-equal` facts, so that one iteration of ruleset `build` inserts any number of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ops.record import Theory
from ..rules.rule import GUARDS, Kind, Node, Pattern, Rule, Sort, Use, is_variable
from ..rules.rules import BY_NAME, RULES, THEORIES, up_to

TABLES = {1: "Un", 2: "Bin", 3: "Tern"}
"""The table of an op by its number of operands."""

CHILDREN = {"Leaf": 0, "Const": 0, "View": 1, "Total": 1, "Un": 1, "Bin": 2, "Tern": 3}
"""How many of a table's last columns are terms."""

_TERMS = """
(sort Term)
(constructor Class (i64) Term)
(constructor Leaf (i64) Term)
(constructor Const (String i64) Term)
(constructor View (i64 Term) Term)
(constructor Total (String String i64 Term) Term)
(constructor Un (String String String Term) Term)
(constructor Bin (String String String Term Term) Term)
(constructor Tern (String String String Term Term Term) Term)

(relation put-leaf (i64 i64))
(relation put-const (i64 String i64))
(relation put-view (i64 i64 i64))
(relation put-total (i64 String String i64 i64))
(relation put-un (i64 String String String i64))
(relation put-bin (i64 String String String i64 i64))
(relation put-tern (i64 String String String i64 i64 i64))
(relation put-equal (i64 i64))

(ruleset build)
(rule ((put-leaf n k)) ((union (Class n) (Leaf k))) :ruleset build)
(rule ((put-const n d c)) ((union (Class n) (Const d c))) :ruleset build)
(rule ((put-view n r x)) ((union (Class n) (View r (Class x)))) :ruleset build)
(rule ((put-total n m d r x)) ((union (Class n) (Total m d r (Class x)))) :ruleset build)
(rule ((put-un n f d e x)) ((union (Class n) (Un f d e (Class x)))) :ruleset build)
(rule ((put-bin n f d e x y)) ((union (Class n) (Bin f d e (Class x) (Class y)))) :ruleset build)
(rule ((put-tern n f d e x y z)) ((union (Class n) (Tern f d e (Class x) (Class y) (Class z)))) :ruleset build)
(rule ((put-equal n k)) ((union (Class n) (Class k))) :ruleset build)

; an instance of a rule, by the class of both its sides
(relation fired (String Term))

(relation clash (i64 i64))
(ruleset tripwire)
(rule ((= x (Const d c)) (= x (Const e k)) (< c k)) ((clash c k)) :ruleset tripwire :name "two constants in one class")
(rule ((= x (Const d c)) (= x (Const e k)) (!= d e)) ((clash c k)) :ruleset tripwire :name "two types in one class")
"""


RUNS = (Use.ALWAYS, Use.FOLLOWING, Use.EXPANDING)
"""The uses that have rulesets of their own."""


def wanted(guard: str) -> str:
    """The relation that collects the questions of a guard that the host answers."""
    return f"want-{guard}"


def holds(guard: str) -> str:
    """The relation of a guard's facts."""
    return f"is-{guard}"


def _relations() -> Iterator[str]:
    for name, guard in GUARDS.items():
        columns = [sort.column for sort in guard.cells]
        yield f"(relation {holds(name)} ({' '.join(columns)}))"
        if guard.demanded:
            yield f"(relation {wanted(name)} ({' '.join(columns[: len(columns) - guard.outputs])}))"


def _name(name: str, sort: Sort) -> str:
    """A variable as it is, a literal op or element type as a string."""
    return name if is_variable(name) or sort in (Sort.TERM, Sort.RELATION, Sort.CONSTANT) else f'"{name}"'


def _expression(pattern: Pattern) -> str:
    if isinstance(pattern, str):
        return pattern
    source, target = _name(pattern.source, Sort.DTYPE), _name(pattern.target, Sort.DTYPE)
    if pattern.head == "const":
        return f"(Const {source} {pattern.arguments[0]})"
    if pattern.head == "view":
        return f"(View {pattern.arguments[0]} {_expression(pattern.arguments[1])})"
    if pattern.head == "total":
        monoid, relation, term = pattern.arguments
        return f"(Total {_name(str(monoid), Sort.OP)} {source} {relation} {_expression(term)})"
    arguments = " ".join(map(_expression, pattern.arguments))
    return f"({TABLES[len(pattern.arguments)]} {_name(pattern.head, Sort.OP)} {source} {target} {arguments})"


def _clause(clause: tuple[str, ...]) -> str:
    guard = GUARDS[clause[0]]
    cells = (_name(name, sort) for name, sort in zip(clause[1:], guard.cells, strict=True))
    return f"({holds(clause[0])} {' '.join(cells)})"


def compile_rule(rule: Rule, use: Use) -> Iterator[str]:
    """The egglog rule for one use, and before it one rule for each question its guard asks the host."""
    left, right = rule.patterns
    assert isinstance(left, Node), f"{rule.name}: the left side is a variable"
    ruleset = _ruleset(rule.theory, use)
    known = [f"(= whole {_expression(left)})"]
    known += [_clause(clause) for clause in rule.guards if not GUARDS[clause[0]].demanded]
    for position, clause in enumerate(rule.guards):
        guard = GUARDS[clause[0]]
        if guard.demanded:
            question = clause[1 : len(clause) - guard.outputs]
            cells = " ".join(_name(name, sort) for name, sort in zip(question, guard.cells, strict=False))
            action = f"({wanted(clause[0])} {cells})"
            asking = f"{use.value} {rule.name}?{position} {clause[0]}"
            yield f'(rule ({" ".join(known)}) ({action}) :ruleset {ruleset} :name "{asking}")'
            known.append(_clause(clause))
    if use is Use.FOLLOWING:
        assert isinstance(right, Node), f"{rule.name}: the right side has no operand"
        made = [_expression(each) for each in right.arguments if isinstance(each, Node)]
        known += [f"(= made{position} {operand})" for position, operand in enumerate(made)]
    actions = f'(union whole {_expression(right)}) (fired "{rule.name}" whole)'
    if use is Use.RETIRING:
        actions += f" (subsume {_expression(left)})"
    yield f'(rule ({" ".join(known)}) ({actions}) :ruleset {ruleset} :name "{use.value} {rule.name}")'


def rule_of(name: str) -> str | None:
    """The rule behind an egglog rule's name; None for rules that ask or build."""
    words = name.split(" ")
    return words[1] if len(words) == 2 and words[1] in BY_NAME else None


def question_of(name: str) -> str | None:
    """The guard whose questions an egglog rule writes; None for other rules."""
    words = name.split(" ")
    return words[2] if len(words) == 3 and words[2] in GUARDS else None


_RULESETS = {Use.RETIRING: Use.ALWAYS}
"""Uses that share the ruleset of another one."""


def _ruleset(theory: Theory, use: Use) -> str:
    return f"{theory.value}-{_RULESETS.get(use, use).value}"


def combined(theory: Theory, use: Use) -> str:
    """The ruleset of a theory with those below it, for one of RUNS; expanding runs hold the ordinary rules too."""
    return f"up-to-{_ruleset(theory, use)}"


def program() -> str:
    """The whole egglog program."""
    lines = [_TERMS, *_relations()]
    lines += [f"(ruleset {_ruleset(theory, use)})" for theory in THEORIES for use in RUNS]
    for rule in RULES:
        if rule.kind is Kind.REWRITE:
            lines += compile_rule(rule, rule.use)
            if rule.use is Use.FOLLOWING:
                lines += compile_rule(rule, Use.EXPANDING)
    for theory in THEORIES:
        for use in RUNS:
            uses = (Use.ALWAYS, Use.EXPANDING) if use is Use.EXPANDING else (use,)
            members = " ".join(_ruleset(member, part) for member in up_to(theory) for part in uses)
            lines.append(f"(unstable-combined-ruleset {combined(theory, use)} {members})")
    return "\n".join(lines)
