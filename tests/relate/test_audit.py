"""Every relation of a walk against the evaluator, on committed programs, their mutants, and the corpus.

The audit must also see faults: relations that are wrong on purpose.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from shardproof.validator.evaluate.errors import EvaluationError
from shardproof.validator.evaluate.inputs import Profile
from shardproof.validator.ops import collective_maps, sums, values
from shardproof.validator.read.ir import Program
from shardproof.validator.read.program import read_pair
from shardproof.validator.relation.store import Rel, Store
from tests.tools.audit import Audit, audit_pair
from tests.tools.mutate import benign_rewrites, mutants

from .pairs import Tensor, program

_REPOSITORY = Path(__file__).resolve().parents[2]
_DATA = _REPOSITORY / "tests" / "read" / "data"
_CORPUS = Path(os.environ.get("SHARDPROOF_CORPUS", _REPOSITORY.parent / "shared" / "corpus")) / "xla_cpu"

COMMITTED = ("complex", "scan_mlp", "take_vocab", "uneven_max")
CORPUS = sorted(folder.name for folder in _CORPUS.iterdir()) if _CORPUS.is_dir() else []
SAMPLE = [
    name
    for name in ("attn_sp", "conv_spatial", "decode_heads", "moe", "scatter_add", "uneven_concat")
    if name in CORPUS
]
PROFILES = tuple(Profile)


def committed(name: str) -> tuple[Program, Program]:
    return _pair(_DATA / f"{name}_before.hlo.txt", _DATA / f"{name}_after.hlo.txt")


def from_corpus(name: str) -> tuple[Program, Program]:
    return _pair(_CORPUS / name / "before.hlo.txt", _CORPUS / name / "after.hlo.txt")


def _pair(before: Path, after: Path) -> tuple[Program, Program]:
    return read_pair(before.read_bytes(), after.read_bytes(), names=(before.name, after.name))


def clean(audit: Audit) -> None:
    assert not audit.mismatches, "\n".join(map(str, audit.mismatches[:5]))


def changed(program: Program, seed: int, count: int) -> Iterator[Program]:
    """A seeded choice of mutants, faulty and benign."""
    everything = [*mutants(program, limit=1), *benign_rewrites(program, limit=1)]
    for mutant in random.Random(seed).sample(everything, min(count, len(everything))):
        yield mutant.program


def audit_mutants(before: Program, after: Program, seed: int, count: int) -> int:
    """How many mutants were audited; those that the evaluator refuses are left out."""
    done = 0
    for number, mutant in enumerate(changed(after, seed, count)):
        try:
            audit = audit_pair(before, mutant, seed=seed + number, profile=PROFILES[number % len(PROFILES)])
        except EvaluationError:
            continue
        clean(audit)
        done += 1
    return done


@pytest.mark.parametrize("name", COMMITTED)
def test_committed(name: str) -> None:
    before, after = committed(name)
    for number, profile in enumerate((Profile.GENERIC, Profile.BOUNDARY)):
        audit = audit_pair(before, after, seed=number, profile=profile)
        clean(audit)
        assert audit.values > 10


@pytest.mark.parametrize("name", ["take_vocab", "uneven_max"])
def test_mutants(name: str) -> None:
    before, after = committed(name)
    assert audit_mutants(before, after, 11, 8) >= 4


def _shifted(rel: Rel, store: Store) -> Rel:
    """The same points, the last index one less, where that stays in the relation's range."""
    inner = [f"x{k}" for k in range(rel.arity_out)]
    moved = [*inner[:-1], f"{inner[-1]} - 1"]
    step = store.rel(f"{{[{','.join(inner)}] -> [{','.join(moved)}] : {inner[-1]} >= 1}}")
    return store.union(store.compose(rel, step), store.fix_range(rel, rel.arity_out - 1, 0))


HALVES = "{devices=[2]<=[2]}"
GREATEST = """%init = stablehlo.constant dense<0xFF800000> : tensor<f32>
%greatest = stablehlo.reduce(%a0 init: %init) applies stablehlo.maximum across dimensions = [0]
  : (tensor<{0}xf32>, tensor<f32>) -> tensor<f32>"""


def whole_and_halves(before: str, after: str, extent: int, result: Tensor) -> tuple[Program, Program]:
    """A program of one vector, and one of its halves on two devices."""
    spec = program(before, [Tensor((extent,), "f32", HALVES)], result, 2)
    return spec, program(after, [Tensor((-(-extent // 2),), "f32")], result, 2)


def test_sees_a_wrong_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "%out = stablehlo.slice %a0 [1:{0}] : (tensor<{0}xf32>) -> tensor<{1}xf32>"
    pair = (
        program(body.format(4, 3), [Tensor((4,), "f32")], Tensor((3,), "f32"), 1),
        program(body.format(4, 3), [Tensor((4,), "f32")], Tensor((3,), "f32"), 2),
    )
    clean(audit_pair(*pair))
    right = values.read_through

    def wrong(walk, value, rel, type_):
        return right(walk, value, rel if walk.is_original else _shifted(rel, walk.store), type_)

    monkeypatch.setattr(values, "read_through", wrong)
    assert audit_pair(*pair).mismatches


def test_sees_a_wrong_group(monkeypatch: pytest.MonkeyPatch) -> None:
    right = collective_maps.members

    def wrong(builder, op):
        found = right(builder, op)
        return found and (_shifted(found[0], builder.store), *found[1:])

    monkeypatch.setattr(collective_maps, "members", wrong)
    assert audit_pair(*committed("take_vocab")).mismatches


def test_sees_padding_that_is_taken_for_data(monkeypatch: pytest.MonkeyPatch) -> None:
    out = "%out = stablehlo.negate %greatest : tensor<f32>"
    pair = whole_and_halves(f"{GREATEST.format(5)} {out}", f"{GREATEST.format(3)} {out}", 5, Tensor((), "f32"))
    clean(audit_pair(*pair))
    monkeypatch.setattr(sums, "_complete", lambda walk, value, rel, points: points)
    assert audit_pair(*pair).mismatches


def test_sees_a_wrong_count(monkeypatch: pytest.MonkeyPatch) -> None:
    body = """%init = stablehlo.constant dense<0.0> : tensor<f32>
      %wide = stablehlo.broadcast_in_dim %a0, dims = [0] : (tensor<4xf32>) -> tensor<4x3xf32>
      %out = stablehlo.reduce(%wide init: %init) applies stablehlo.add across dimensions = [1]
        : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>"""
    pair = (
        program(body, [Tensor((4,), "f32")], Tensor((4,), "f32"), 1),
        program(body, [Tensor((4,), "f32")], Tensor((4,), "f32"), 2),
    )
    clean(audit_pair(*pair))
    right = sums._drop_coordinate

    def wrong(*arguments):
        found = right(*arguments)
        return found and (found[0], found[1] + 1)

    monkeypatch.setattr(sums, "_drop_coordinate", wrong)
    assert audit_pair(*pair).mismatches


@pytest.mark.parametrize("name", SAMPLE)
def test_corpus_sample(name: str) -> None:
    clean(audit_pair(*from_corpus(name), seed=3))


@pytest.mark.slow
@pytest.mark.parametrize("name", CORPUS)
def test_corpus(name: str) -> None:
    before, after = from_corpus(name)
    for number, profile in enumerate((Profile.GENERIC, Profile.BOUNDARY, Profile.DUPLICATES)):
        clean(audit_pair(before, after, seed=number, profile=profile, seconds=60))


@pytest.mark.slow
@pytest.mark.parametrize("name", CORPUS)
def test_corpus_mutants(name: str) -> None:
    before, after = from_corpus(name)
    audit_mutants(before, after, sum(map(ord, name)), 6)


EMPTY = """%none = stablehlo.slice %a0 [2:2] : (tensor<4xf32>) -> tensor<0xf32>
%twice = stablehlo.concatenate %none, %none, dim = 0 : (tensor<0xf32>, tensor<0xf32>) -> tensor<0xf32>
%table = stablehlo.constant dense<> : tensor<0xi32>
%test = stablehlo.compare EQ, %table, %table : (tensor<0xi32>, tensor<0xi32>) -> tensor<0xi1>
%chosen = stablehlo.select %test, %twice, %none : tensor<0xi1>, tensor<0xf32>
%zero = stablehlo.constant dense<0.0> : tensor<f32>
%out = stablehlo.pad %chosen, %zero, low = [0], high = [3], interior = [0]
  : (tensor<0xf32>, tensor<f32>) -> tensor<3xf32>"""


@pytest.mark.parametrize("devices", [1, 2])
def test_tensors_without_elements(devices: int) -> None:
    pair = tuple(program(EMPTY, [Tensor((4,), "f32")], Tensor((3,), "f32"), n) for n in (1, devices))
    audit = audit_pair(*pair)
    clean(audit)
    assert audit.proved


GROUPS = (
    "replica_groups = dense<[[0]]> : tensor<1x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
)
ALONE = f"""%sum = "stablehlo.all_reduce"(%a0) <{{{GROUPS}, use_global_device_ids}}> ({{
^bb0(%l: tensor<f32>, %r: tensor<f32>):
  %s = stablehlo.add %l, %r : tensor<f32>
  stablehlo.return %s : tensor<f32>
}}) : (tensor<4xf32>) -> tensor<4xf32>
%all = "stablehlo.all_gather"(%sum) <{{all_gather_dim = 0 : i64, {GROUPS}, use_global_device_ids}}>
  : (tensor<4xf32>) -> tensor<4xf32>
%out = "stablehlo.all_to_all"(%all) <{{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 1 : i64,
  {GROUPS}}}> : (tensor<4xf32>) -> tensor<4xf32>"""


def test_collectives_of_one_device() -> None:
    before = program(
        "%out = stablehlo.reverse %a0, dims = [] : tensor<4xf32>", [Tensor((4,), "f32")], Tensor((4,), "f32"), 1
    )
    audit = audit_pair(before, program(ALONE, [Tensor((4,), "f32")], Tensor((4,), "f32"), 1))
    clean(audit)
    assert audit.proved
