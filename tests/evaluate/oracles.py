"""Other evaluators to hold the reference evaluator against: XLA on CPU and StableHLO's interpreter."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from shardproof.validator.evaluate.arithmetic import Arithmetic, Native
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.read import read_program
from shardproof.validator.read.ir import Program


def run_program(
    program: Program, inputs: Sequence[np.ndarray], arithmetic: Arithmetic | None = None
) -> list[np.ndarray]:
    """Results on one device, without the lane axis."""
    results = Machine(1, arithmetic or Native()).run(program, [np.asarray(array)[None] for array in inputs])
    return [result[0] for result in results]


def run_text(text: str, *inputs: np.ndarray) -> list[np.ndarray]:
    return run_program(read_program(text + "\n"), inputs)


def interpret(text: str, *inputs: np.ndarray) -> list[np.ndarray]:
    """Results of StableHLO's own interpreter."""
    with jax_mlir.make_ir_context():
        module = ir.Module.parse(text)
        return [np.asarray(result) for result in stablehlo.eval_module(module, [_elements(x) for x in inputs])]


def _elements(array: np.ndarray) -> ir.DenseElementsAttr:
    if array.dtype == np.bool_:
        packed: Any = np.packbits(array, bitorder="little")
        return ir.DenseElementsAttr.get(packed, type=ir.IntegerType.get_signless(1), shape=array.shape)
    contiguous: Any = np.ascontiguousarray(array)
    return ir.DenseElementsAttr.get(contiguous, shape=array.shape)


def agrees_with_xla(function: Callable[..., Any], *inputs: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """The jitted function's results are what the evaluator computes from its StableHLO, type by type."""
    inputs = tuple(np.asarray(value) for value in inputs)
    compiled = jax.jit(function, keep_unused=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lowered = compiled.lower(*inputs)
        wanted = [np.asarray(leaf) for leaf in jax.tree.leaves(compiled(*inputs))]
    got = run_program(read_program(lowered), inputs)
    assert len(got) == len(wanted)
    for mine, xla in zip(got, wanted, strict=True):
        assert_same(mine, xla, rtol, atol)


def assert_same(mine: np.ndarray, other: np.ndarray, rtol: float = 0.0, atol: float = 0.0) -> None:
    assert mine.shape == other.shape
    if other.dtype.kind in "iub" or (other.dtype.itemsize == 1 and other.dtype.kind not in "fV"):
        np.testing.assert_array_equal(mine, other)
        return
    wide = np.complex128 if other.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(mine.astype(wide), other.astype(wide), rtol=rtol, atol=atol)
