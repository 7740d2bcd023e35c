"""The rules that files of the dialect obey: each is one sentence and has a test. IRDL can say the first few only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..validator.compat import ir
from ..validator.ops.record import Theory
from ..validator.options import Assumption
from ..validator.read.mesh_ops import MESHES, read_mesh
from ..validator.read.tiling import Mesh
from .attributes import is_own, parameters_of, satisfies
from .definition import DIALECT, Group, OperationDefinition, definition
from .entries import AffinePiece, Entry, EntryError, Pieces, Repeat, Shard, Written, read_entries


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach of a rule, and the operation it is found at."""

    rule: str
    operation: Any
    message: str


@dataclass(slots=True)
class File:
    """The top of a file: its operations, and the meshes and modules among them by name."""

    operations: list[Any]
    meshes: dict[str, Mesh]
    modules: dict[str, Any]


Check = Callable[[File, Any], Iterator[str]]
"""What is wrong with one operation of a file, in sentences without a location."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, the operations it is about (None for every operation of the dialect), and its check."""

    name: str
    sentence: str
    operations: frozenset[str] | None
    check: Check


RULES: dict[str, Rule] = {}
"""The rules by name, in the order they are checked."""


def verify(module: ir.Module) -> list[Finding]:
    """All breaches in a file. An operation that does not have the form its definition gives is not looked into."""
    file = _file(module)
    found: list[Finding] = []
    for op in _own_operations(module.operation):
        for rule in RULES.values():
            if rule.operations is None or op.name in rule.operations:
                messages = [Finding(rule.name, op, message) for message in rule.check(file, op)]
                found += messages
                if messages and rule.name in _FORM:
                    break
    return found


def _file(module: ir.Module) -> File:
    file = File([view.operation for view in module.body.operations], {}, {})
    for op in file.operations:
        if op.name in MESHES:
            try:
                name, mesh = read_mesh(op)
            except ValueError:
                continue
            file.meshes[name] = mesh
        elif op.name == "builtin.module" and "sym_name" in op.attributes:
            file.modules[_value(op, "sym_name")] = op
    return file


def _own_operations(op: Any) -> Iterator[Any]:
    for region in op.regions:
        for block in region:
            for view in block:
                inner = view.operation
                if inner.name.startswith(f"{DIALECT}.") or inner.name in MESHES:
                    yield inner
                yield from _own_operations(inner)


def _rule(name: str, sentence: str, *operations: str) -> Callable[[Check], Check]:
    def entered(check: Check) -> Check:
        RULES[name] = Rule(name, sentence, frozenset(operations) or None, check)
        return check

    return entered


def _defined(op: Any) -> OperationDefinition | None:
    return definition().operations.get(op.name.removeprefix(f"{DIALECT}."))


def _names(op: Any) -> list[str]:
    """Iterating over an operation's attributes gives names in newer bindings and pairs in older ones."""
    return [each if isinstance(each, str) else each.name for each in op.attributes]


def _value(op: Any, name: str) -> Any:
    return op.attributes[name].value


# The form that the definition gives, which IRDL checks too.


@_rule("known-operation", "An operation of the dialect is one that the definition lists.")
def _known_operation(file: File, op: Any) -> Iterator[str]:
    if op.name.startswith(f"{DIALECT}.") and _defined(op) is None:
        yield f"'{op.name}' is no operation of the dialect"


@_rule("required-attributes", "An operation has every attribute that its definition requires.")
def _required_attributes(file: File, op: Any) -> Iterator[str]:
    defined = _defined(op)
    for name in defined.required if defined else ():
        if name not in op.attributes:
            yield f"'{op.name}' without '{name}'"


@_rule("known-attributes", "An attribute is one that the definition lists, or bears another dialect's name.")
def _known_attributes(file: File, op: Any) -> Iterator[str]:
    defined = _defined(op)
    for name in _names(op) if defined else ():
        if defined and name not in defined.required and name not in defined.optional and "." not in name:
            yield f"'{op.name}' with unknown '{name}'"


@_rule(
    "attribute-kinds", "An attribute is of a kind that its definition allows, and the dialect's own are well-formed."
)
def _attribute_kinds(file: File, op: Any) -> Iterator[str]:
    defined = _defined(op)
    for name, constraint in {**defined.required, **defined.optional}.items() if defined else ():
        if name not in op.attributes:
            continue
        attribute = op.attributes[name]
        if not satisfies(attribute, constraint):
            yield f"'{name}' is '{attribute}', expected {constraint}"
        elif is_own(attribute):
            try:
                parameters_of(attribute)
            except ValueError as error:
                yield str(error)


@_rule("operands-and-results", "An operation has as many operands and results as its definition says, and no regions.")
def _operands_and_results(file: File, op: Any) -> Iterator[str]:
    defined = _defined(op)
    if defined is None:
        return
    for what, groups, count in (
        ("operands", defined.operands, len(op.operands)),
        ("results", defined.results, len(op.results)),
        ("regions", (), len(op.regions)),
    ):
        if not _fits(groups, count):
            yield f"'{op.name}' with {count} {what}"


def _fits(groups: tuple[Group, ...], count: int) -> bool:
    most = [group.most for group in groups]
    return sum(group.least for group in groups) <= count and (
        None in most or count <= sum(each for each in most if each is not None)
    )


# What the file as a whole has to be.


@_rule("top-level", "Operations of the dialect stand at the top of the file.")
def _top_level(file: File, op: Any) -> Iterator[str]:
    if op.name.startswith(f"{DIALECT}.") and op not in file.operations:
        yield f"'{op.name}' below the top of the file"


@_rule("names-differ", "No two meshes, modules or problems of a file have one name.")
def _names_differ(file: File, op: Any) -> Iterator[str]:
    # Older jaxlibs take every named operation for a symbol, and refuse a second one while they parse.
    if op not in file.operations or "sym_name" not in op.attributes:
        return
    name = op.attributes["sym_name"]
    others = [each for each in file.operations if each != op and "sym_name" in each.attributes]
    if any(each.attributes["sym_name"] == name for each in others):
        yield f"{name} is the name of another operation too"


@_rule(
    "one-relations",
    "A file has at most one list of relations, and none beside problems, which have their own.",
    f"{DIALECT}.relations",
)
def _one_relations(file: File, op: Any) -> Iterator[str]:
    for other in file.operations:
        if other.name == f"{DIALECT}.problem":
            yield f"'{op.name}' beside '{other.name}'"
            return
        if other.name == op.name and other != op:
            if file.operations.index(other) < file.operations.index(op):
                yield f"a second '{op.name}'"
            return


# Meshes.


@_rule(
    "mesh",
    "A mesh has one positive size for each of its axes, whose names differ, and lists each device once.",
    *MESHES,
)
def _mesh(file: File, op: Any) -> Iterator[str]:
    try:
        read_mesh(op)
    except ValueError as error:
        yield str(error)


# Relations.

WITH_RELATIONS = (f"{DIALECT}.relations", f"{DIALECT}.problem")
"""Operations that have lists of relations."""


@_rule("entry-form", "An entry of a list of relations has one of the documented forms.", *WITH_RELATIONS)
def _entry_form(file: File, op: Any) -> Iterator[str]:
    for name in ("parameters", "results"):
        if name in op.attributes:
            try:
                read_entries(name, op.attributes[name])
            except EntryError as error:
                yield str(error)


@_rule(
    "entry-mesh",
    "A mesh that an entry names is declared at the top of the file, with the axes that it names.",
    *WITH_RELATIONS,
)
def _entry_mesh(file: File, op: Any) -> Iterator[str]:
    for path, entry in _leaves(op):
        for mesh, axes in _meshes_named(entry):
            if mesh is None and len(file.meshes) != 1:
                yield f"{path}: 'axis' needs exactly one mesh in the file"
            elif mesh is not None and mesh not in file.meshes:
                yield f"{path}: unknown mesh '@{mesh}'"
            else:
                known = dict((file.meshes[mesh] if mesh is not None else next(iter(file.meshes.values()))).axes)
                yield from (f"{path}: the mesh has no axis '{axis}'" for axis in axes if axis not in known)


def _meshes_named(entry: Entry) -> Iterator[tuple[str | None, tuple[str, ...]]]:
    match entry:
        case Shard(axes=axes, mesh=mesh) if axes:
            yield mesh, axes
        case Written(text):
            name = re.match(r'#sdy\.sharding<@(\w+|"[^"]*")', text)
            if name is not None:
                yield name[1].strip('"'), ()
        case Pieces(pieces):
            yield from ((piece.mesh, ()) for piece in pieces if piece.mesh is not None)
        case _:
            pass


@_rule("piece-dimensions", "The map and the domain of a piece have the same dimensions.", *WITH_RELATIONS)
def _piece_dimensions(file: File, op: Any) -> Iterator[str]:
    for path, entry in _leaves(op):
        for number, piece in enumerate(entry.pieces if isinstance(entry, Pieces) else ()):
            counts = _dimensions(piece)
            if len(set(counts)) > 1:
                yield f"{path}: piece {number} has a map of {counts[0]} dimensions and a domain of {counts[1]}"


def _dimensions(piece: AffinePiece) -> list[int]:
    return [len(text[1 : text.index(")")].split(",")) for text in (piece.map, piece.domain) if text is not None]


def _leaves(op: Any) -> Iterator[tuple[str, Entry]]:
    """The entries of an operation's lists that are no repetitions, with their paths; none of a malformed list."""
    for name in ("parameters", "results"):
        if name not in op.attributes:
            continue
        try:
            entries = read_entries(name, op.attributes[name])
        except EntryError:
            continue
        for number, entry in enumerate(entries):
            if isinstance(entry, Repeat):
                yield from ((f"{name}[{number}].repeat[{k}]", each) for k, each in enumerate(entry.entries))
            else:
                yield f"{name}[{number}]", entry


# Problems.

_PROBLEM = f"{DIALECT}.problem"


@_rule("problem-sides", "The two programs of a problem are modules at the top of the file, or paths.", _PROBLEM)
def _problem_sides(file: File, op: Any) -> Iterator[str]:
    for side in ("spec", "impl"):
        attribute = op.attributes[side]
        if not isinstance(attribute, ir.StringAttr) and str(attribute).removeprefix("@").strip('"') not in file.modules:
            yield f"{side}: no module '{attribute}' at the top of the file"


@_rule("assumptions", "The assumptions of a problem are known, and each is named once.", _PROBLEM)
def _assumptions(file: File, op: Any) -> Iterator[str]:
    if "assume" not in op.attributes:
        return
    names = [each.value if isinstance(each, ir.StringAttr) else str(each) for each in op.attributes["assume"]]
    known = [assumption.value for assumption in Assumption]
    for number, name in enumerate(names):
        if name not in known:
            yield f"unknown assumption '{name}', expected one of {', '.join(map(repr, known))}"
        elif name in names[:number]:
            yield f"assumption '{name}' is named twice"


@_rule(
    "proof-theory",
    "A problem tells the arithmetic of its proof only if it expects one, and one that it accepts.",
    _PROBLEM,
)
def _proof_theory(file: File, op: Any) -> Iterator[str]:
    if "proof" not in op.attributes:
        return
    theories = [theory.value for theory in Theory]
    proof, theory = _value(op, "proof"), _value(op, "theory")
    if proof not in theories:
        yield f"unknown theory '{proof}', expected one of {', '.join(map(repr, theories))}"
    elif _value(op, "expect") != "PROVED":
        yield f"a proof in theory '{proof}' where {_value(op, 'expect')} is expected"
    elif theories.index(proof) > theories.index(theory):
        yield f"a proof in theory '{proof}' where '{theory}' is the weakest to accept"


# Certificates. Whether one proves anything is for `shardproof-check`.

_IN_CERTIFICATES = tuple(
    f"{DIALECT}.{name}"
    for name in ("block", "claim", "end", "equal", "instance", "loop", "program", "relation", "step", "term")
)


@_rule("certificate-head", "What belongs to a certificate follows its head, the first operation.", *_IN_CERTIFICATES)
def _certificate_head(file: File, op: Any) -> Iterator[str]:
    if file.operations[0].name != f"{DIALECT}.certificate":
        yield f"'{op.name}' without a '{DIALECT}.certificate' at the start of the file"


@_rule("blocks-end", "Every block of a certificate has its end.", f"{DIALECT}.certificate")
def _blocks_end(file: File, op: Any) -> Iterator[str]:
    depth = 0
    for each in file.operations:
        depth += (each.name == f"{DIALECT}.block") - (each.name == f"{DIALECT}.end")
        if depth < 0:
            yield "an end without a block"
            return
    if depth:
        yield "a block without an end"


@_rule(
    "equalities",
    "Instances of rules follow an equality, and a claim that uses it follows these.",
    f"{DIALECT}.certificate",
)
def _equalities(file: File, op: Any) -> Iterator[str]:
    last = op.name
    for name in [*(each.name for each in file.operations), ""]:
        if name == f"{DIALECT}.instance" and last not in _EQUALITY:
            yield "an instance without an equality"
        if last in _EQUALITY and name not in (*_EQUALITY, f"{DIALECT}.claim"):
            yield "an equality without a claim"
        last = name


_EQUALITY = (f"{DIALECT}.equal", f"{DIALECT}.instance")

_FORM = frozenset({"known-operation", "required-attributes", "attribute-kinds", "operands-and-results"})
"""Rules whose breach leaves nothing for later rules to look at."""
