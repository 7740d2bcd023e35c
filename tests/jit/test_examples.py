"""Each parallel program of the examples is proved, value and gradient, and its broken twin is refuted."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import shardproof
from shardproof import Verdict

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "parallel"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
GRADIENT_SETTINGS = {name: {"theory": "real"} for name in ("halo_convolution", "pipeline", "uneven_softmax")}
"""What a halo or padding holds outside the tensor and what a pipeline computes in its bubbles is multiplied by zero,
and that 0 · x = 0 holds of the real numbers only."""
TRAIN_STEPS = {"fsdp_adam", "gradient_accumulation"}


@cache
def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def settings(module: ModuleType) -> dict[str, Any]:
    return getattr(module, "settings", {})


def test_there_are_enough() -> None:
    assert len(NAMES) >= 10


@pytest.mark.parametrize("name", NAMES)
def test_right_programs_are_proved(name: str) -> None:
    module = example(name)
    for function in (module.sharded, getattr(module, "by_hand", module.sharded)):
        shardproof.assert_equivalent(module.reference, function, *module.arguments, **settings(module))


@pytest.mark.parametrize("name", NAMES)
def test_broken_twins_are_refuted(name: str) -> None:
    module = example(name)
    report = shardproof.compare(module.reference, module.broken, *module.arguments, **settings(module))
    assert report.verdict is Verdict.REFUTED, str(report)
    assert report.counterexample is not None


def pullback(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The gradients of a function in its arguments of floats, for any gradient of its result."""
    floats = [k for k, argument in enumerate(arguments) if jnp.issubdtype(argument.dtype, jnp.floating)]

    def gradients(values: tuple[Any, ...], result_gradient: Any) -> Any:
        def of_floats(*given: Any) -> Any:
            return function(*(given[floats.index(k)] if k in floats else value for k, value in enumerate(values)))

        return jax.vjp(of_floats, *(values[k] for k in floats))[1](result_gradient)

    return gradients


# A train step is its own gradient.
@pytest.mark.parametrize("name", [name for name in NAMES if name not in TRAIN_STEPS])
def test_gradients_are_proved(name: str) -> None:
    module = example(name)
    result = jax.eval_shape(module.reference, *module.arguments)
    shardproof.assert_equivalent(
        pullback(module.reference, module.arguments),
        jax.jit(pullback(module.sharded, module.arguments)),
        module.arguments,
        result,
        **settings(module) | GRADIENT_SETTINGS.get(name, {}),
    )
