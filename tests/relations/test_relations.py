"""Relation files: what each entry means, what is refused, and that prover and evaluator read them alike."""

from __future__ import annotations

import itertools
import os
import time
from dataclasses import replace
from pathlib import Path

import islpy as isl
import jax
import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

import shardproof
from shardproof.validator.evaluate.given import UNDEFINED, given_layouts, positions
from shardproof.validator.read.affine import Affine, Constraint
from shardproof.validator.read.errors import ReadError
from shardproof.validator.read.inferred import with_inferred
from shardproof.validator.read.ir import Program, Value
from shardproof.validator.read.program import read_program
from shardproof.validator.read.relations import NO_RELATIONS, Given, Piece, Relations, read_relations
from shardproof.validator.read.shardings import Sharding
from shardproof.validator.relate.decide import decide
from shardproof.validator.relation.build import Builder
from shardproof.validator.relation.given import device_vectors, given_relation
from shardproof.validator.relation.mesh import coarsest_mesh, mesh_of
from shardproof.validator.relation.store import Store
from shardproof.validator.report.verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]
LLAMA = ROOT / "examples" / "aws_llama"
CORPUS = Path(os.environ.get("SHARDPROOF_CORPUS", ROOT.parent / "shared" / "corpus")) / "aws_llama"


def _program(types: list[str], results: list[str], devices: int = 1) -> Program:
    """A program that returns constants: only its signature matters."""
    arguments = ", ".join(f"%a{k}: tensor<{each}>" for k, each in enumerate(types))
    constants = "\n".join(f"%c{k} = stablehlo.constant dense<0> : tensor<{each}>" for k, each in enumerate(results))
    types_out = ", ".join(f"tensor<{each}>" for each in results)
    return read_program(
        f"module @m attributes {{mhlo.num_partitions = {devices} : i32}} {{\n"
        f"func.func public @main({arguments}) -> ({types_out}) {{\n{constants}\n"
        f"return {', '.join(f'%c{k}' for k in range(len(results)))} : {types_out}\n}}\n}}\n"
    )


def _read(entry: str, logical: str, local: str, devices: int = 4, head: str = "") -> Given | None:
    """What a file with one entry says of the only parameter."""
    text = f'{head}\n"shardproof.relations"() {{parameters = [{entry}]}} : () -> ()\n'
    before, after = _program([logical], ["1xi32"]), _program([local], ["1xi32"], devices)
    return read_relations(text, "r.mlir", before, after).parameters.get(0)


def _held(given: Given, logical: tuple[int, ...], local: tuple[int, ...], devices: int) -> np.ndarray:
    """What each device holds of a tensor whose elements are their own positions; undefined elements are -1."""
    before = _program(["x".join(map(str, [*logical, "i32"]))], ["1xi32"])
    after = _program(["x".join(map(str, [*local, "i32"]))], ["1xi32"], devices)
    layouts = given_layouts(before, after, Relations("r", {0: given}))
    array = np.arange(np.prod(logical), dtype=np.int32).reshape(logical)
    first, second = (layouts.to_after([array], np.random.default_rng(seed))[0] for seed in (1, 2))
    return np.where(first == second, first, -1)


MESH = 'sdy.mesh @m = <["x"=2, "y"=2]>'
OWN_MESH = '"shardproof.mesh"() {sym_name = "m", axes = ["x", "y"], sizes = array<i64: 2, 2>} : () -> ()'
COLUMNS = [[0, 1], [4, 5], [2, 3], [6, 7]]
REVERSED = OWN_MESH.replace(", sizes", ", device_ids = array<i64: 3, 2, 1, 0>, sizes")


@pytest.mark.parametrize(
    ("entry", "head", "local", "expected"),
    [
        ('"replicated"', "", (8,), [list(range(8))] * 4),
        ("{shard = 0}", "", (2,), [[0, 1], [2, 3], [4, 5], [6, 7]]),
        ('{shard = 0, axis = "x"}', MESH, (4,), [[0, 1, 2, 3], [0, 1, 2, 3], [4, 5, 6, 7], [4, 5, 6, 7]]),
        ('{shard = 0, axis = "y"}', MESH, (4,), [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 3], [4, 5, 6, 7]]),
        ('#sdy.sharding<@m, [{"y", "x"}]>', MESH, (2,), [[0, 1], [4, 5], [2, 3], [6, 7]]),
        ('"#sdy.sharding<@m, [{}]>"', MESH, (8,), [list(range(8))] * 4),
        ('"{devices=[4]3,2,1,0}"', "", (2,), [[6, 7], [4, 5], [2, 3], [0, 1]]),
        ("{shard = 0, blocks = [4, 4]}", "", (2,), [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ("#shardproof.replicated", "", (8,), [list(range(8))] * 4),
        ("#shardproof.shard<0>", "", (2,), [[0, 1], [2, 3], [4, 5], [6, 7]]),
        ('#shardproof.shard_over<0, @m, ["y"]>', MESH, (4,), [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 3], [4, 5, 6, 7]]),
        ('#shardproof.shard_over<0, @m, ["y", "x"]>', OWN_MESH, (2,), [[0, 1], [4, 5], [2, 3], [6, 7]]),
        ('{shard = 0, axis = ["y", "x"]}', OWN_MESH, (2,), [[0, 1], [4, 5], [2, 3], [6, 7]]),
        ('#sdy.sharding<@m, [{"x"}]>', OWN_MESH, (4,), [[0, 1, 2, 3], [0, 1, 2, 3], [4, 5, 6, 7], [4, 5, 6, 7]]),
        ('{shard = 0, axis = "x"}', REVERSED, (4,), [[4, 5, 6, 7], [4, 5, 6, 7], [0, 1, 2, 3], [0, 1, 2, 3]]),
        ("#shardproof.shard_blocks<0, [4, 4]>", "", (2,), [[0, 4], [1, 5], [2, 6], [3, 7]]),
        (
            "{map = affine_map<(x, y, i) -> (4 * y + 2 * x + i)>, mesh = @m}",
            MESH,
            (2,),
            [[0, 1], [4, 5], [2, 3], [6, 7]],
        ),
        ("affine_map<(d, i) -> (d + 4 * i)>", "", (2,), [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ("{map = affine_map<(d, i)[n] -> (d + n * i)>}", "", (2,), [[0, 4], [1, 5], [2, 6], [3, 7]]),
        (
            "[{map = affine_map<(d, i) -> (2 * (d floordiv 2) + i)>, domain = affine_set<(d, i) : (d mod 2 == 0)>},"
            " {map = affine_map<(d, i) -> (7 - d ceildiv 2 - i)>, domain = affine_set<(d, i) : (d mod 2 - 1 == 0,"
            " 1 - i >= 0)>}]",
            "",
            (3,),
            [[0, 1, 2], [6, 5, -1], [2, 3, 4], [5, 4, -1]],
        ),
    ],
)
def test_what_an_entry_means(entry: str, head: str, local: tuple[int, ...], expected: list[list[int]]):
    given = _read(entry, "8xi32", "x".join(map(str, [*local, "i32"])), head=head)
    assert given is not None
    assert _held(given, (8,), local, 4).tolist() == expected


def test_unit_and_absent_lists_leave_it_to_the_shardings():
    assert _read("unit", "8xi32", "8xi32") is None


def test_open_repetitions_repeat_equally_often():
    before = _program(["4xi32", "8xi32", "8xi32", "2xi32", "2xi32", "4xi32"], ["1xi32"])
    after = _program(["4xi32", "2xi32", "2xi32", "2xi32", "2xi32", "4xi32"], ["1xi32"], 4)
    text = """"shardproof.relations"() {parameters = ["replicated", {repeat = [{shard = 0}]}, {repeat = ["replicated"]},
    {repeat = ["replicated"], count = 1}]} : () -> ()"""
    relations = read_relations(text, "r.mlir", before, after)
    texts = [g.content.text for g in relations.parameters.values() if isinstance(g.content, Sharding)]
    assert texts == ["{replicated}", "{devices=[4]<=[4]}", "{devices=[4]<=[4]}", *["{replicated}"] * 3]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('"whole"', "r.mlir:2:1: parameters[0]: unknown relation 'whole'"),
        ("{shard = 1}", "no dimension 1 in a tensor of rank 1"),
        ("{shard = 0, of = 2}", "unknown key 'of'"),
        ('{axis = "x"}', "'shard' is missing"),
        ('{shard = "0"}', "'\"0\"' is no integer"),
        ('{shard = 0, axis = "x"}', "'axis' needs exactly one mesh"),
        ("{shard = 0, blocks = [5, 3]}", "blocks [5, 3] do not make up 8 in parts for 4 devices"),
        ('"{devices=[2,2]<=[4]}"', "is for rank 2, the tensor has rank 1"),
        ('"{devices=[2]<=[2]}"', "makes [4] of [8], the device's is [2]"),
        ('"replicated"', "makes [8] of [8], the device's is [2]"),
        ("#sdy.sharding<@none, [{}]>", "unknown mesh '@none'"),
        ("affine_map<(d, i, j) -> (i)>", "map with 3 dimensions for a device number and 1 local indices"),
        ("affine_map<(d, i) -> (d, i)>", "map with 2 results for a logical tensor of rank 1"),
        ("affine_map<(d, i)[n, m] -> (d + n + m)>", "map with 2 symbols"),
        ("affine_map<(d, i)[n] -> (i floordiv (n - 4))>", "divides by something else than a positive number"),
        ("affine_map<(d, i) -> (i * 65536 * 65536 + d)>", "map with numbers beyond 1073741824"),
        ("[{map = affine_map<(d, i) -> (i)>, domain = 3}]", "'domain' is no affine set"),
        ("[3]", "is no piece"),
        ("3", "unknown relation '3 : i64'"),
        ("#shardproof.cut<0>", "'#shardproof.cut<0>' is no attribute of the dialect"),
        ("#shardproof.shard<0, 1>", "'#shardproof.shard<0, 1>' has 2 parameters instead of 1"),
        ('#shardproof.shard<"x">', "dimension is no '#builtin.integer'"),
        ("#shardproof.shard<-1>", "dimension -1 is negative"),
        ('#shardproof.shard_over<0, @m, ["x"]>', "unknown mesh '@m'"),
        ("#shardproof.shard_over<0, @m, []>", "no axis is named"),
        ('#shardproof.shard_over<0, @m, ["x", "x"]>', "an axis is named twice"),
        ("#shardproof.shard_over<0, @m, [1]>", "'1 : i64' is no name of an axis"),
        ("#shardproof.shard_blocks<0, [0, 8]>", "blocks [0, 8] are not positive sizes"),
        ("{map = affine_map<(x, i) -> (i)>, mesh = @m}", "unknown mesh '@m'"),
        ('{map = affine_map<(x, i) -> (i)>, mesh = "m"}', "'mesh' is no name of a mesh"),
        ('"replicated", "replicated"', "relations for 2 parameters, the programs have 1"),
        ('{repeat = ["replicated", "replicated"]}', "relations for 0 parameters and groups of 2, the programs have 1"),
        ('{repeat = ["replicated"], count = -1}', "count -1 is negative"),
        ('"replicated", {repeat = [], count = 1000000000000}', "parameters[1]: 'repeat' is empty"),
        ('{repeat = [{repeat = ["replicated"]}]}', "parameters[0].repeat[0]: a repetition in a repetition"),
    ],
)
def test_misuse_is_refused_with_its_place(entry: str, message: str):
    with pytest.raises(ReadError) as error:
        _read(entry, "8xi32", "2xi32")
    assert str(error.value).startswith("r.mlir:2:1: parameters")
    assert message in str(error.value)


TOO_LARGE = "an expression of more than 300 operations or numbers"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        # remainders of remainders: as plain sums of quotients they are two to the power of their depth
        (f"affine_map<(d, i) -> ({'(' * 40}i{' * 3 + d) mod 1000003' * 40})>", TOO_LARGE),
        (f"affine_map<(d, i) -> ({'(' * 900}i{' + d) floordiv 3' * 900})>", TOO_LARGE),
        (f"affine_map<(d, i) -> (i{' floordiv 3' * 2000})>", TOO_LARGE),
        (f"affine_map<(d, i) -> ({' + '.join(f'i floordiv {k}' for k in range(2, 5000))})>", TOO_LARGE),
        (f"[{', '.join(['{map = affine_map<(d, i) -> (i)>}'] * 5000)}]", "5000 pieces, more than 4096"),
        (f"{{shard = 0, blocks = {[8] * 5000}}}", "5000 blocks, more than 4096"),
    ],
)
def test_files_that_would_take_for_ever_are_refused(entry: str, message: str):
    with pytest.raises(ReadError) as error:
        _read(entry, "8xi32", "2xi32")
    # MLIR of jaxlib 0.12 does not read the deepest of them
    ends = f"parameters[0] (parameter 0): {message}", "r.mlir: AffineExpr work stack overflow"
    assert str(error.value).endswith(ends)


def test_many_pieces_are_read_in_time():
    """Comparing each with each other one took more than a minute."""
    where = (f"(i - {2 * k} >= 0, {2 * k + 1} - i >= 0)" for k in range(4096))
    image = "map = affine_map<(d, i) -> (d * 8192 + i)>"
    entry = ", ".join(f"{{{image}, domain = affine_set<(d, i) : {each}>}}" for each in where)
    given = _read(f"[{entry}]", "32768xi32", "8192xi32")
    assert given is not None
    start = time.process_time()
    given_relation(Builder(Store(), mesh_of([4])), given, (32768,), (8192,), whole=True)
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"shardproof.relations"() {parameters = [} : () -> ()', "r.mlir:1:41: "),
        ("", "r.mlir: has no 'shardproof.relations'"),
        ('"shardproof.relations"() {inputs = []} : () -> ()', "r.mlir:1:1: unknown list 'inputs'"),
        ('"shardproof.relations"() : () -> ()\n"shardproof.relations"() : () -> ()', "r.mlir:2:1: a second"),
        ('"shardproof.relation"() : () -> ()', "r.mlir:1:1: 'shardproof.relation' has no place"),
        ('"shardproof.mesh"() {sym_name = "m"} : () -> ()', "r.mlir:1:1: 'shardproof.mesh' without 'axes'"),
        (OWN_MESH.replace('"x", ', ""), "r.mlir:1:1: 1 axes with 2 sizes"),
        (OWN_MESH.replace('"x"', '"y"'), "r.mlir:1:1: mesh axis names repeat"),
        (OWN_MESH.replace("i64: 2", "i32: 2"), "r.mlir:1:1: 'sizes' is no 'array<i64: …>'"),
        ('"shardproof.relations"() {results = 3} : () -> ()', "r.mlir:1:1: results: '3 : i64' is no list"),
    ],
)
def test_files_that_are_no_relation_files(text: str, message: str):
    program = _program(["8xi32"], ["1xi32"])
    with pytest.raises(ReadError) as error:
        read_relations(text, "r.mlir", program, program)
    assert str(error.value).startswith(message)


def test_numbers_that_mlir_writes_and_does_not_read():
    """That of jaxlib 0.10 does not, later ones do."""
    text = '"shardproof.relations"() {results = [affine_set<(i) : (i - 1 >= 9223372036854775807)>]} : () -> ()'
    program = _program(["8xi32"], ["1xi32"])
    with pytest.raises(ReadError) as error:
        read_relations(text, "r.mlir", program, program)
    old = jax.__version__.startswith("0.10.")
    message = "r.mlir: constant too large" if old else "r.mlir:1:1: results[0]: unknown relation 'affine_set<"
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("entry", "whole", "message"),
    [
        ("affine_map<(d, i) -> (2 * d + i + 1)>", False, "piece 0 reaches out of [8]"),
        ("affine_map<(d, i) -> (2 * d + i - 1)>", False, "piece 0 reaches out of [8]"),
        ("[affine, affine]", False, "pieces 0 and 1 cover the same element"),
        ("affine_map<(d, i) -> (i)>", True, "no device holds some of the elements of the logical [8]"),
        ("[]", True, "no device holds some of the elements"),
    ],
)
def test_what_is_no_relation_is_refused(entry: str, whole: bool, message: str):
    given = _read(
        entry.replace("affine,", "{map = affine_map<(d, i) -> (i)>},").replace(
            "affine]", "{map = affine_map<(d, i) -> (i)>, domain = affine_set<(d, i) : (i - 1 == 0)>}]"
        ),
        "8xi32",
        "2xi32",
    )
    assert given is not None
    with pytest.raises(ReadError) as error:
        given_relation(Builder(Store(), mesh_of([4])), given, (8,), (2,), whole=whole)
    assert message in str(error.value)


def _linear(arity: int) -> st.SearchStrategy[Affine]:
    """Expressions with quotients and remainders, nested at most once."""
    plain = st.builds(
        lambda constant, factors: sum((Affine.variable(k).times(f) for k, f in enumerate(factors)), Affine(constant)),
        st.integers(-3, 3),
        st.lists(st.integers(-2, 3), min_size=arity, max_size=arity),
    )
    divided = st.builds(lambda a, n: a.floor_divided(n), plain, st.integers(1, 4))
    remainder = st.builds(lambda a, n: a + a.floor_divided(n).times(-n), plain, st.integers(2, 4))
    nested = st.builds(lambda a, b, n: (a + b).floor_divided(n), plain, divided, st.integers(2, 3))
    return st.one_of(plain, divided, remainder, nested, st.builds(lambda a, b: a + b.times(2), plain, remainder))


@settings(max_examples=60, deadline=None)
@drawn(data=st.data())
def test_prover_and_evaluator_read_pieces_alike(data: st.DataObject):
    local = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=2)))
    devices = data.draw(st.sampled_from([1, 2, 4, 6, 8]))
    rank = data.draw(st.integers(1, 2))
    # Images are made to lie in range: the place modulo the extent. Pieces are kept apart by the device's remainder.
    shape = tuple(data.draw(st.lists(st.integers(1, 7), min_size=rank, max_size=rank)))
    pieces = []
    for remainder in range(data.draw(st.integers(1, 2))):
        image = []
        for extent in shape:
            place = data.draw(_linear(len(local) + 1))
            image.append(place + place.floor_divided(extent).times(-extent))
        device = Affine.variable(0)
        apart = device + device.floor_divided(2).times(-2) + Affine(-remainder)
        own = Constraint(data.draw(_linear(len(local) + 1)), data.draw(st.booleans()))
        pieces.append(Piece(tuple(image), (Constraint(apart, True), own)))
    given = Given("here", tuple(pieces))
    vectors = device_vectors(Relations("r", {0: given}), devices)
    mesh = coarsest_mesh(devices, vectors, [])
    rel = given_relation(Builder(Store(), mesh), given, shape, local, whole=False)
    assert not isinstance(rel, str)
    table = positions(given.content, shape, local, devices) if isinstance(given.content, tuple) else None
    assert table is not None
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    rel.map.wrap().foreach_point(lambda point: _note(point, rel.map, found))
    for place in itertools.product(range(devices), *(range(n) for n in local)):
        digits = tuple(int(k) for k in mesh.coordinates[place[0]])
        expected = found.pop((*digits, *place[1:]), None)
        position = int(table[place])
        assert expected == (None if position == UNDEFINED else tuple(int(k) for k in np.unravel_index(position, shape)))
        for piece in pieces:
            if all(_holds(constraint, place) for constraint in piece.domain):
                assert expected == tuple(image.evaluated(place) for image in piece.image)
    assert not found


def _holds(constraint: Constraint, place: tuple[int, ...]) -> bool:
    value = constraint.expression.evaluated(place)
    return value == 0 if constraint.is_equality else value >= 0


def _note(point: isl.Point, raw: isl.Map, found: dict[tuple[int, ...], tuple[int, ...]]) -> None:
    count = raw.dim(isl.dim_type.in_)
    numbers = [
        point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(count + raw.dim(isl.dim_type.out))
    ]
    assert tuple(numbers[:count]) not in found
    found[tuple(numbers[:count])] = tuple(numbers[count:])


FUSED = """module @fused {{
func.func public @main(%x: tensor<6x{k}xf32>, %w: tensor<{k}x{n}xf32>) -> tensor<6x{h}xf32> {{
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] :
    (tensor<6x{k}xf32>, tensor<{k}x{n}xf32>) -> tensor<6x{n}xf32>
  %a = stablehlo.slice %y [0:6, 0:{h}] : (tensor<6x{n}xf32>) -> tensor<6x{h}xf32>
  %b = stablehlo.slice %y [0:6, {start}:{stop}] : (tensor<6x{n}xf32>) -> tensor<6x{h}xf32>
  %g = stablehlo.logistic %a : tensor<6x{h}xf32>
  %r = stablehlo.multiply %g, %b : tensor<6x{h}xf32>
  return %r : tensor<6x{h}xf32>
}}
}}
"""
LOGICAL = FUSED.format(k=5, n=24, h=12, start=12, stop=24)
LOCAL = FUSED.format(k=5, n=8, h=4, start=4, stop=8).replace("@fused", "@m attributes {mhlo.num_partitions = 3 : i32}")


def _fused(weights: str, result: str = "{shard = 1}") -> str:
    return f'"shardproof.relations"() {{parameters = ["replicated", {weights}], results = [{result}]}} : () -> ()\n'


def test_a_fused_weight_is_proved_with_the_right_relation_only():
    report = shardproof.validate_modules(LOGICAL, LOCAL, relations=_fused("{shard = 1, blocks = [12, 12]}"))
    assert report.verdict is Verdict.PROVED
    assert tuple(map(str, report.notes)) == (
        "the relations of 2 parameters and 1 results were given by hand in '<relations>'",
    )
    wrong = shardproof.validate_modules(LOGICAL, LOCAL, relations=_fused("{shard = 1}"))
    assert wrong.verdict is Verdict.REFUTED
    assert wrong.counterexample is not None
    without = shardproof.validate_modules(LOGICAL, LOCAL)
    assert without.verdict is Verdict.UNSUPPORTED


def test_a_result_relation_of_other_devices_is_refuted():
    backwards = "affine_map<(d, i, j) -> (i, 8 - 4 * d + j)>"
    report = shardproof.validate_modules(LOGICAL, LOCAL, relations=_fused("{shard = 1, blocks = [12, 12]}", backwards))
    assert report.verdict is Verdict.REFUTED


def test_elements_left_open_are_told():
    """Each result element is asked of one device only; the rest of what devices hold is not judged."""
    whole = "[{map = affine_map<(d, i, j) -> (i, j)>, domain = affine_set<(d, i, j) : (d == 0)>}]"
    same = FUSED.format(k=5, n=24, h=12, start=12, stop=24)
    local = same.replace("@fused", "@m attributes {mhlo.num_partitions = 3 : i32}")
    report = shardproof.validate_modules(same, local, relations=_fused('"replicated"', whole))
    assert report.verdict is Verdict.PROVED
    assert (
        str(report.notes[-1])
        == "result 0: elements of the device's tensor that its relation leaves open are not judged"
    )


def test_the_time_limit_keeps_the_relations():
    relations = _fused("{shard = 1, blocks = [12, 12]}")
    assert shardproof.validate_modules(LOGICAL, LOCAL, relations=relations, timeout=60).verdict is Verdict.PROVED


def test_relations_guessed_from_shapes_are_an_assumption():
    half = '"shardproof.relations"() {parameters = [unit, {shard = 1, blocks = [12, 12]}]} : () -> ()\n'
    report = shardproof.validate_modules(LOGICAL, LOCAL, relations=half, assume=["relations-from-shapes"])
    assert report.verdict is Verdict.PROVED
    assert [assumption.value for assumption in report.assumptions] == ["relations-from-shapes"]
    assert tuple(map(str, report.notes)) == (
        "the relations of 1 parameters and 0 results were given by hand in '<relations>'",
        "taken to be cut evenly over 3 devices, from shapes alone: result 0 on dimension 1",
    )
    guessed = shardproof.validate_modules(LOGICAL, LOCAL, assume=["relations-from-shapes"])
    assert guessed.verdict is Verdict.REFUTED
    assert guessed.frontier is not None
    assert guessed.frontier.op == "stablehlo.slice"


@pytest.mark.parametrize("local", ["4xi32", "16xi32", "1xi32", "2x1xi32"])
def test_shapes_that_tell_no_cut_are_refused(local: str):
    before, after = _program(["8xi32"], ["1xi32"]), _program([local], ["1xi32"], 4)
    with pytest.raises(ReadError, match="tells no way to cut"):
        with_inferred(NO_RELATIONS, before, after)


def test_a_sharding_is_not_guessed_over():
    text = 'func.func public @main(%a: tensor<8xi32> {mhlo.sharding = "{replicated}"}) -> tensor<8xi32> {'
    before = read_program(f"module @m {{\n{text}\nreturn %a : tensor<8xi32>\n}}\n}}\n")
    relations, note = with_inferred(NO_RELATIONS, before, _program(["2xi32"], ["8xi32"], 4))
    assert (relations, note) == (NO_RELATIONS, "")


def test_a_program_of_devices_takes_no_relations():
    local = LOCAL.replace("%a = ", "%p = stablehlo.partition_id : tensor<ui32>\n  %a = ")
    with pytest.raises(ReadError, match="is a program of devices itself"):
        shardproof.validate_modules(local, local, relations=_fused('"replicated"', '"replicated"'))


def _llama(devices: int, layers: str) -> shardproof.Report:
    folder = LLAMA if layers.startswith("1") and devices == 2 else CORPUS
    logical = (LLAMA if layers.startswith("1") else CORPUS) / f"tp1_layer{layers.partition('.')[0]}.hlo.pb.gz"
    local = folder / f"tp{devices}_layer{layers}.hlo.pb.gz"
    return shardproof.validate_modules(logical, local, relations=LLAMA / "relations.mlir", timeout=300)


def test_the_decoder_is_proved():
    assert _llama(2, "1").verdict is Verdict.PROVED


def test_the_wrong_slice_is_named():
    """A slice of the wrong block has a relation as any slice has; what it reads is not what its counterpart reads."""
    before, after = (read_program(LLAMA / f"{name}.hlo.pb.gz") for name in ("tp1_layer1", "tp2_layer1.broken"))
    relations = read_relations((LLAMA / "relations.mlir").read_bytes(), "r", before, after)
    decision = decide(before, after, deadline=None, assume_in_bounds=False, relations=relations)
    assert [comparison is not None and comparison.proved for comparison in decision.comparisons] == [False, False, True]
    origins = [stop.origin for stop in decision.stops if stop is not None]
    assert len(origins) == 2
    for origin in origins:
        assert origin is not None
        assert origin.op is not None
        assert origin.op.name == "stablehlo.slice"
        assert origin.op.attributes["start_indices"] == (0, 0)
        assert origin.op.attributes["limit_indices"] == (256, 256)


def _without_all_reduces(program: Program) -> Program:
    """The program with each all-reduce replaced by what it would have reduced."""
    known: dict[int, Value] = {}
    ops = []
    for op in program.body.ops:
        operands = tuple(known.get(value.number, value) for value in op.operands)
        if op.name == "stablehlo.all_reduce":
            known[op.results[0].number] = operands[0]
        else:
            ops.append(replace(op, operands=operands))
    assert known
    return replace(program, body=replace(program.body, ops=tuple(ops)))


def test_the_proof_needs_the_collectives_and_this_relation():
    before, after = (read_program(LLAMA / f"{name}.hlo.pb.gz") for name in ("tp1_layer1", "tp2_layer1"))
    text = (LLAMA / "relations.mlir").read_text(encoding="utf-8")
    swapped = text.replace("{map = #key, domain = #in_key}", "{map = #value, domain = #in_key}").replace(
        "{map = #value, domain = #in_value}", "{map = #key, domain = #in_value}"
    )
    shift = "d * (512 floordiv n) + j - 2560 floordiv n + 2560"
    swapped = swapped.replace(shift, "d * (512 floordiv n) + j - 2048 floordiv n + 2560", 1).replace(
        "d * (512 floordiv n) + j - 2048 floordiv n + 2048", "d * (512 floordiv n) + j - 2560 floordiv n + 2048", 1
    )
    cases = [
        (after, text, [True, True, True]),
        (_without_all_reduces(after), text, [False, True, True]),
        (after, swapped, [False, False, False]),
    ]
    for program, relation, expected in cases:
        relations = read_relations(relation, "r", before, program)
        decision = decide(before, program, deadline=None, assume_in_bounds=False, relations=relations)
        assert [c is not None and c.proved for c in decision.comparisons] == expected


@pytest.mark.slow
def test_the_broken_decoder_is_not_proved():
    """Whether a difference is found in time depends on the machine; a proof would be wrong on any."""
    report = _llama(2, "1.broken")
    assert report.verdict in (Verdict.REFUTED, Verdict.NOT_PROVED)
    assert [output.index for output in report.outputs if output.verdict is Verdict.PROVED] == [2]
    assert report.frontier is not None
    assert report.frontier.op == "stablehlo.slice"


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus at SHARDPROOF_CORPUS")
@pytest.mark.parametrize("layers", ["1", "2", "4", "8"])
@pytest.mark.parametrize("devices", [2, 4, 8])
def test_one_file_serves_every_number_of_devices_and_layers(devices: int, layers: str):
    report = _llama(devices, layers)
    assert report.verdict is Verdict.PROVED
    assert len(report.outputs) == 1 + 2 * int(layers)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus at SHARDPROOF_CORPUS")
def test_six_devices_do_not_divide_the_heads():
    with pytest.raises(
        ReadError, match=r"makes \[64, 4, 2, 64\] of \[64, 4, 8, 64\], the device's is \[64, 4, 6, 64\]"
    ):
        _llama(6, "1")


def test_a_mesh_of_other_devices_has_no_coordinates():
    entry = "{map = affine_map<(x, y, i) -> (i)>, mesh = @m}"
    with pytest.raises(ReadError, match="mesh '@m' does not hold the 4 devices in the order of their numbers"):
        _read(entry, "8xi32", "8xi32", head=REVERSED)
