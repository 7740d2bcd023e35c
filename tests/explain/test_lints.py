"""Lints, each on programs of real XLA that have what it tells and on programs that nearly have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from tools import zoo
from tools.rewrite import Builder

import shardproof
from shardproof.validator.options import Options
from shardproof.validator.read.attributes import DeviceGroups
from shardproof.validator.read.ir import Program
from shardproof.validator.read.program import read_program
from shardproof.validator.report.note import Note, NoteKind
from shardproof.validator.report.report import Report
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs


def _lints(report: Report) -> list[Note]:
    assert report.verdict is Verdict.PROVED, report
    return [note for note in report.notes if note.rule is not None]


def _kinds(report: Report) -> set[NoteKind]:
    return {note.kind for note in _lints(report)}


def _compiled(mesh: Mesh, function: Callable[..., Any], *arguments: tuple[Any, ...]) -> Report:
    """The report on the partitioner; arguments are (shape, dtype, axis of each dimension), results are replicated."""
    shapes = [
        jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, PartitionSpec(*axes)))
        for shape, dtype, *axes in arguments
    ]
    jitted = jax.jit(function, out_shardings=NamedSharding(mesh, PartitionSpec()))
    return shardproof.validate(jitted, *shapes, stages="partitioner")


def _zoo(name: str) -> tuple[Program, Program]:
    pair = zoo.compile_pair(zoo.ENTRIES[name])
    return read_program(pair.before, name="before"), read_program(pair.after, name="after")


def _proved(before: Program, after: Program) -> Report:
    return validate_programs(before, after, Options())


def _mapped(mesh: Mesh, function: Callable[..., Any], out: PartitionSpec) -> Any:
    return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=PartitionSpec("b"), out_specs=out, check_vma=False))


def test_a_maximum_over_what_all_devices_have_is_redundant(mesh: Mesh):
    def twice(x: jax.Array) -> jax.Array:
        return lax.pmax(lax.pmax(jnp.max(x), "b"), "b")

    report = shardproof.compare(
        jnp.max, _mapped(mesh, twice, PartitionSpec()), jax.ShapeDtypeStruct((16,), jnp.float32)
    )
    (note,) = _lints(report)
    assert note.kind is NoteKind.REDUNDANT_COLLECTIVE and note.rule is not None and note.rule.id == "SP030"
    assert note.text.startswith("'all_reduce' over mesh axis 'b' gives ")
    assert note.location.frames[0].file == __file__


def test_a_maximum_that_devices_need_is_not_redundant(mesh: Mesh):
    def once(x: jax.Array) -> jax.Array:
        return lax.pmax(jnp.max(x), "b")

    def of_one_device(x: jax.Array) -> jax.Array:
        kept = jnp.where(lax.axis_index("b") == 0, lax.pmax(jnp.max(x), "b"), 0)
        return lax.psum(kept, "b")

    for function in (once, of_one_device):
        candidate = _mapped(mesh, function, PartitionSpec())
        assert not _lints(shardproof.compare(jnp.max, candidate, jax.ShapeDtypeStruct((16,), jnp.float32)))


def test_a_collective_that_nothing_uses_is_dead():
    before, after = _zoo("matmul_inner")
    assert not _lints(_proved(before, after))
    make = Builder(after, after.body.ops[0].location)
    value = after.parameters[0].value
    region = make.reducer("add", value.tensor.dtype)
    whole = next(op for op in after.body.ops if op.name == "stablehlo.all_reduce").attributes["replica_groups"]
    assert isinstance(whole, DeviceGroups)
    make.emit("all_reduce", (value,), value.type, replica_groups=whole, regions=(region,))
    dead = replace(after, body=replace(after.body, ops=(*make.ops, *after.body.ops)))
    (note,) = _lints(_proved(before, dead))
    assert note.kind is NoteKind.DEAD_COLLECTIVE


def test_gathered_only_to_be_sliced():
    (note,) = _lints(_proved(*_zoo("dynamic_slice_sharded")))
    assert note.kind is NoteKind.GATHER_THEN_SLICE
    assert note.text.endswith("only slices of it are used, 24 of 96 elements")


@pytest.mark.parametrize("name", ["uneven_concat", "matmul_gathered", "reshard_replicate", "slice_rows"])
def test_what_is_gathered_and_needed_is_no_waste(name: str):
    # to cut off what the gathering of uneven shards leaves at the end is none either
    assert NoteKind.GATHER_THEN_SLICE not in _kinds(_proved(*_zoo(name)))


def test_partial_sums_in_bf16_are_told_with_their_bound(mesh: Mesh):
    def dot(a: jax.Array, b: jax.Array) -> jax.Array:
        return a @ b

    (note,) = _lints(_compiled(mesh, dot, ((8, 16), jnp.bfloat16, None, "b"), ((16, 8), jnp.bfloat16, "b")))
    assert note.kind is NoteKind.NARROW_PARTIAL_SUMS
    # four roundings of 2^-8 each: 4u / (1 - 4u) = 0.0159
    assert "bf16 partial sums over 4 devices: the error is at most 0.016 of" in note.text
    assert not _lints(_compiled(mesh, dot, ((8, 16), jnp.float32, None, "b"), ((16, 8), jnp.float32, "b")))


def test_the_bound_holds():
    """Sums of four parts in bf16, rounded in any order, against the exact sum."""
    import ml_dtypes
    import numpy as np

    rng = np.random.default_rng(0)
    parts = rng.normal(size=(1000, 4)) * 10 ** rng.uniform(-3, 3, (1000, 4))
    total = parts[:, 0].astype(ml_dtypes.bfloat16)
    for k in range(1, 4):
        total = np.add(total, parts[:, k].astype(ml_dtypes.bfloat16)).astype(ml_dtypes.bfloat16)
    u = 2.0**-8
    error = np.abs(total.astype(np.float64) - parts.sum(axis=1))
    assert (error <= 4 * u / (1 - 4 * u) * np.abs(parts).sum(axis=1)).all()
    assert error.max() > 0


def test_what_one_device_owns_is_moved_and_not_rounded(mesh: Mesh):
    def take(table: jax.Array, rows: jax.Array) -> jax.Array:
        return jnp.take(table, rows, axis=0, mode="clip")

    assert not _lints(_compiled(mesh, take, ((16, 4), jnp.bfloat16, "b"), ((5,), jnp.int32)))


def test_what_cannot_be_split_evenly_is_made_whole(mesh: Mesh):
    def transform(x: jax.Array) -> jax.Array:
        return lax.with_sharding_constraint(jnp.fft.fft(x), NamedSharding(mesh, PartitionSpec("b"))).real

    notes = _lints(_compiled(mesh, transform, ((6,), jnp.float32)))
    assert notes and {note.kind for note in notes} == {NoteKind.REPLICATED_FALLBACK}
    assert "on dimension 0 over 4 devices, which do not divide 6" in notes[0].text
    assert not _lints(_compiled(mesh, transform, ((8,), jnp.float32)))


@pytest.mark.parametrize("name", ["uneven_slice_max", "uneven_slice_mean", "uneven_matmul"])
def test_uneven_shards_are_no_fallback(name: str):
    assert NoteKind.REPLICATED_FALLBACK not in _kinds(_proved(*_zoo(name)))
