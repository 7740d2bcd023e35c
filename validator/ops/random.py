"""Random bits as functions of an explicit state."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluate.errors import UnsupportedOp
from ..evaluate.numbers import from_bits
from ..evaluate.random_bits import philox_bits, threefry_bits
from ..read.ir import Op
from .record import Family, OpRecord, family_record

if TYPE_CHECKING:
    from ..evaluate.machine import Machine


def evaluate_rng_bit_generator(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    """DEFAULT is Philox, as on XLA's CPU back end; narrow types keep the low bits of 32-bit words."""
    (state,) = operands
    result = op.results[1].tensor
    if op.operands[0].tensor.dtype.bits != 64 or result.dtype.is_complex or result.dtype.is_bool:
        raise UnsupportedOp(op.name, f"of '{result}' from a state of type '{op.operands[0].tensor}'")
    key, bits = state[:, 0], result.dtype.bits
    match str(op.attributes["rng_algorithm"]):
        case "THREE_FRY":
            words, counter = threefry_bits(key, state[:, 1], result.shape, bits)
            new_state = np.stack([key, counter], axis=1)
        case "PHILOX" | "DEFAULT":
            wide = state.shape[1] == 3
            # A state of two words has no high half of the counter; the expansion reads the key in its place.
            high = state[:, 2] if wide else key
            words, low, high = philox_bits(key, state[:, 1], high, result.shape, bits)
            new_state = np.stack([key, low, high] if wide else [key, low], axis=1)
        case algorithm:
            raise UnsupportedOp(op.name, f"with algorithm '{algorithm}'")
    mask = np.uint64((1 << bits) - 1)
    return [new_state, machine.arithmetic.load(from_bits(words & mask, result.dtype), result.dtype)]


def evaluate_rng(machine: Machine, op: Op, operands: list[Any]) -> list[Any]:
    raise UnsupportedOp(op.name, "draws from a hidden state")


_record = partial(family_record, Family.RANDOM)

RECORDS: tuple[OpRecord, ...] = (
    _record(
        "stablehlo.rng_bit_generator",
        "random bits and the state that follows, from a state",
        evaluate_rng_bit_generator,
        "rng_algorithm",
    ),
    _record(
        "stablehlo.rng",
        "random numbers from a hidden state, which no program can be held to",
        evaluate_rng,
        "rng_distribution",
    ),
)
