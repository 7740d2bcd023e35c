"""A counterexample as text and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..evaluate.compare import Counterexample
    from .report import Confirmation, Report

_MAX_SHOWN = 32
"""Inputs of more elements are told by their shape only; a replay script holds them all."""

_MAX_PLACES = 6
"""An input with no more elements than this that are not zero is told by them, whatever its size."""


def witness_lines(witness: Counterexample, report: Report) -> Iterator[str]:
    """What a counterexample shows, then the inputs it takes, one each line."""
    output = next((output for output in report.outputs if output.index == witness.result), None)
    title = output.title if output is not None else f"output {witness.result}"
    yield (
        f"counterexample: {title}, device {witness.device}, element {list(witness.index)}: "
        f"expected {scalar_text(witness.expected)}, got {scalar_text(witness.actual)} "
        f"(inputs '{witness.profile}', seed {witness.seed})"
    )
    yield seen_by(report)
    if 0 < len(witness.matter) < len(witness.inputs):
        these = ", ".join(map(str, witness.matter))
        yield f"only {'inputs' if len(witness.matter) > 1 else 'input'} {these} must be other than zero"
    if witness.out_of_bounds:
        yield (
            f"the original meets an index that is negative or out of bounds: {', '.join(witness.out_of_bounds)}; "
            "no inputs without one were found to differ, and '--assume-indices-in-bounds' judges those only"
        )
    for number, value in enumerate(witness.inputs):
        kind, content = array_text(value)
        separator = " " if content.startswith("[") or value.ndim == 0 else ", "
        yield f"input {number} = {kind}{separator}{content}"


def seen_by(report: Report) -> str:
    """Which evaluators have seen the difference."""
    confirmation = report.confirmation
    if confirmation is None:
        return "seen by the reference evaluator"
    if len(confirmation.evaluators) > 1:
        reason = f" ({confirmation.reason})" if confirmation.reason else ""
        return f"seen by the reference evaluator and by {confirmation.evaluators[-1].manner}{reason}"
    return f"seen by the reference evaluator alone: {confirmation.reason}"


def witness_to_json(witness: Counterexample, confirmation: Confirmation | None = None) -> dict[str, Any]:
    """Plain data of schema 1. Numbers that JSON does not have (NaN, infinities, complex ones) are strings."""
    return {
        "output": witness.result,
        "device": witness.device,
        "element": list(witness.index),
        "expected": _plain(witness.expected),
        "actual": _plain(witness.actual),
        "evaluators": _evaluators(confirmation),
        "unconfirmed": None if confirmation is None or not confirmation.reason else confirmation.reason,
        "profile": witness.profile,
        "seed": witness.seed,
        "matter": list(witness.matter),
        "out_of_bounds": list(witness.out_of_bounds),
        "inputs": [_input(np.asarray(value)) for value in witness.inputs],
    }


def _evaluators(confirmation: Confirmation | None) -> list[str]:
    return ["reference"] if confirmation is None else [evaluator.value for evaluator in confirmation.evaluators]


def _input(value: np.ndarray) -> dict[str, Any]:
    shown = [_plain(item) for item in value.reshape(-1)] if value.size <= _MAX_SHOWN else None
    return {"shape": list(value.shape), "dtype": str(value.dtype), "values": shown}


def array_text(value: np.ndarray) -> tuple[str, str]:
    """The type of an input, and its content in the fewest words: counterexamples are zero nearly everywhere."""
    array = np.asarray(value)
    kind = f"{array.dtype}[{','.join(map(str, array.shape))}]"
    if array.size > 1 and (array == array.flat[0]).all():
        return kind, f"all {scalar_text(array.flat[0])}"
    places = np.argwhere(array)
    if array.size > _MAX_PLACES and len(places) <= _MAX_PLACES:
        entries = ", ".join(f"{place.tolist()} = {scalar_text(array[tuple(place)])}" for place in places)
        return kind, f"zero except {entries}"
    if array.size > _MAX_SHOWN:
        return kind, "not shown"
    return kind, " ".join(repr(array.tolist()).split())


def _plain(value: Any) -> bool | int | float | str:
    item = np.asarray(value).item()
    if (isinstance(item, float) and not math.isfinite(item)) or isinstance(item, complex):
        return str(item)
    return item if isinstance(item, bool | int | float) else str(item)


def scalar_text(value: Any) -> str:
    """A number as Python prints it."""
    return str(np.asarray(value).item())
