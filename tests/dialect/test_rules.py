"""Each rule of the dialect: a file that keeps all of them, and for each one that breaks it and no other."""

from __future__ import annotations

import pytest

from shardproof.dialect.verify import RULES, verify
from shardproof.validator.compat import ir, new_context, parse_module

MODULES = "module @a {} module @b {}"


def _problem(more: str = "", **changed: str) -> str:
    required = {"spec": "@a", "impl": "@b", "theory": '"reassociated"', "expect": '"PROVED"'} | changed
    attributes = ", ".join(
        [*(f"{key} = {value}" for key, value in required.items() if value), *([more] if more else [])]
    )
    return f'{MODULES}\n"shardproof.problem"() {{{attributes}}} : () -> ()'


def _relations(entry: str, head: str = "") -> str:
    return f'{head}\n"shardproof.relations"() {{parameters = [{entry}]}} : () -> ()'


def _mesh(axes: str = '["x", "y"]', sizes: str = "2, 3", more: str = "") -> str:
    return f'"shardproof.mesh"() {{sym_name = "m", axes = {axes}, sizes = array<i64: {sizes}>{more}}} : () -> ()'


CERTIFICATE = (
    '"shardproof.certificate"() {version = 2, seal = "", theory = "exact", results = [], assumptions = [], mesh = [], '
    'before = "", after = ""} : () -> ()\n'
)
BLOCK, END = ('"shardproof.block"() : () -> ()', '"shardproof.end"() : () -> ()')

EQUAL = '"shardproof.equal"() {term = 1, parts = [0, 0, 1], by = "rules", theory = "exact", opened = [1]} : () -> ()\n'
INSTANCE = '"shardproof.instance"() {rule = "not-not", at = 0, bound = [["d", "i1"], ["x", 0, 0]]} : () -> ()\n'
CLAIM = '"shardproof.claim"() {of = "result", position = 0, monoid = "view", pieces = [0, 0, 1]} : () -> ()\n'

BROKEN = [
    ("known-operation", '"shardproof.proof"() : () -> ()', "'shardproof.proof' is no operation of the dialect"),
    ("required-attributes", _problem(expect=""), "'shardproof.problem' without 'expect'"),
    ("required-attributes", '"shardproof.mesh"() {sym_name = "m", axes = []} : () -> ()', "without 'sizes'"),
    ("known-attributes", _problem("verdict = 3"), "'shardproof.problem' with unknown 'verdict'"),
    ("attribute-kinds", _problem(theory='"float"'), '\'theory\' is \'"float"\', expected "exact" or "reassociated"'),
    ("attribute-kinds", _problem(spec="3"), "'spec' is '3 : i64', expected #builtin.symbol_ref or #builtin.string"),
    ("attribute-kinds", _problem("parameters = 3"), "'parameters' is '3 : i64', expected #builtin.array"),
    ("operands-and-results", _relations("unit").replace("-> ()", "-> i32").replace('"s', '%0 = "s'), "with 1 results"),
    (
        "operands-and-results",
        '"shardproof.relations"() ({^bb0: "a.end"() : () -> ()}) : () -> ()',
        "'shardproof.relations' with 1 regions",
    ),
    (
        "top-level",
        'module @a {"shardproof.relations"() : () -> ()} module @b {}',
        "'shardproof.relations' below the top of the file",
    ),
    ("one-relations", _relations("unit", _relations("unit")), "a second 'shardproof.relations'"),
    ("one-relations", _relations("unit", _problem()), "'shardproof.relations' beside 'shardproof.problem'"),
    ("mesh", _mesh(axes='["x"]'), "1 axes with 2 sizes"),
    ("mesh", _mesh(axes='["x", "x"]'), "mesh axis names repeat"),
    ("mesh", _mesh(axes="[1, 2]"), "'axes' is no list of names"),
    ("mesh", _mesh(sizes="2, 0"), "mesh axis sizes must be positive"),
    ("mesh", _mesh(more=", device_ids = array<i64: 0, 1, 2, 3, 4, 4>"), "mesh lists a device twice"),
    ("mesh", _mesh(more=", device_ids = array<i64: 0, 1>"), "mesh of 6 places lists 2 devices"),
    ("entry-form", _relations('"whole"'), "parameters[0]: unknown relation 'whole'"),
    ("entry-form", _problem('results = ["replicated", {shard = -1}]'), "results[1]: dimension -1 is negative"),
    ("entry-mesh", _relations('#shardproof.shard_over<0, @m, ["x"]>'), "parameters[0]: unknown mesh '@m'"),
    ("entry-mesh", _relations('{shard = 0, axis = "x"}'), "parameters[0]: 'axis' needs exactly one mesh in the file"),
    ("entry-mesh", _relations('{shard = 0, axis = "z"}', _mesh()), "parameters[0]: the mesh has no axis 'z'"),
    ("entry-mesh", _relations("#sdy.sharding<@m, [{}]>"), "parameters[0]: unknown mesh '@m'"),
    (
        "entry-mesh",
        _relations("{repeat = [{map = affine_map<(x, i) -> (i)>, mesh = @m}]}"),
        "parameters[0].repeat[0]: unknown mesh '@m'",
    ),
    (
        "piece-dimensions",
        _relations("[{map = affine_map<(d, i) -> (i)>, domain = affine_set<(d) : (d >= 0)>}]"),
        "parameters[0]: piece 0 has a map of 2 dimensions and a domain of 1",
    ),
    ("problem-sides", _problem(spec="@c"), "spec: no module '@c' at the top of the file"),
    ("problem-sides", _problem(impl="@a::@b"), "impl: no module '@a::@b' at the top of the file"),
    (
        "assumptions",
        _problem('assume = ["no-nan"]'),
        "unknown assumption 'no-nan', expected one of 'indices-in-bounds'",
    ),
    ("assumptions", _problem("assume = [1]"), "unknown assumption '1 : i64'"),
    (
        "assumptions",
        _problem('assume = ["indices-in-bounds", "indices-in-bounds"]'),
        "assumption 'indices-in-bounds' is named twice",
    ),
    ("proof-theory", _problem('proof = "fast"'), "unknown theory 'fast', expected one of 'exact'"),
    (
        "proof-theory",
        _problem('proof = "real"'),
        "a proof in theory 'real' where 'reassociated' is the weakest to accept",
    ),
    ("certificate-head", '"shardproof.program"() : () -> ()', "without a 'shardproof.certificate' at the start"),
    ("blocks-end", CERTIFICATE + BLOCK, "a block without an end"),
    ("blocks-end", CERTIFICATE + END + BLOCK, "an end without a block"),
    ("attribute-kinds", CERTIFICATE + EQUAL.replace("rules", "word") + CLAIM, "'by' is '\"word\"', expected \"rules\""),
    (
        "required-attributes",
        CERTIFICATE + EQUAL.replace(", opened = [1]", "") + CLAIM,
        "'shardproof.equal' without 'opened'",
    ),
    ("attribute-kinds", CERTIFICATE + EQUAL + INSTANCE.replace('"not-not"', "3") + CLAIM, "'rule' is '3 : i64'"),
    ("equalities", CERTIFICATE + INSTANCE + CLAIM, "an instance without an equality"),
    ("equalities", CERTIFICATE + EQUAL + INSTANCE, "an equality without a claim"),
    ("equalities", CERTIFICATE + EQUAL + BLOCK + END, "an equality without a claim"),
    (
        "proof-theory",
        _problem('proof = "exact"', expect='"REFUTED"'),
        "a proof in theory 'exact' where REFUTED is expected",
    ),
]

KEPT = [
    "",
    CERTIFICATE + '"shardproof.relation"() {text = "{ [] }"} : () -> ()' + BLOCK + BLOCK + END + END,
    CERTIFICATE + CLAIM + EQUAL + INSTANCE + INSTANCE + EQUAL + CLAIM + CLAIM + EQUAL + CLAIM,
    _problem(),
    _problem('sym_name = "p", assume = ["indices-in-bounds"], proof = "exact", other.note = 3'),
    _problem(spec='"before.mlir"', impl="@a"),
    _mesh(more=", device_ids = array<i64: 5, 4, 3, 2, 1, 0>"),
    _relations('unit, "replicated", {shard = 0, axis = ["y", "x"]}, #sdy.sharding<@m, [{"x"}]>', _mesh()),
    _relations("{map = affine_map<(x, y, i) -> (i)>, mesh = @m, domain = affine_set<(x, y, i) : (i >= 0)>}", _mesh()),
    _relations("#shardproof.shard_blocks<0, [2, 2]>", 'sdy.mesh @m = <["x"=2]>'),
]


def _broken(text: str) -> list[tuple[str, str]]:
    module = parse_module(text, new_context(allow_unregistered=True))
    return [(finding.rule, finding.message) for finding in verify(module)]


@pytest.mark.parametrize(("rule", "text", "message"), BROKEN)
def test_a_breach_is_told(rule: str, text: str, message: str):
    found = _broken(text)
    assert [name for name, _ in found] == [rule]
    assert message in found[0][1]


@pytest.mark.parametrize("text", KEPT)
def test_what_keeps_the_rules_is_let_through(text: str):
    assert _broken(text) == []


@pytest.mark.parametrize("text", [_mesh() + _mesh(), _problem('sym_name = "a"')])
def test_two_of_one_name_are_refused_by_the_parser_or_the_rule(text: str):
    try:
        found = {rule for rule, _ in _broken(text)}
    except ir.MLIRError as error:
        found = {"names-differ"} if "redefinition of symbol" in str(error) else set()
    assert found == {"names-differ"}


def test_every_rule_has_a_breach_and_a_sentence():
    assert {rule for rule, _, _ in BROKEN} | {"names-differ"} == set(RULES)
    for rule in RULES.values():
        assert rule.sentence[0].isupper() and rule.sentence.endswith(".") and rule.sentence.count(". ") == 0
