"""Programs of the sweep that call one function of JAX's own libraries, whatever it is.

All public functions are tried on a few forms of arguments. Most do not take most of them: what JAX does not lower is
no program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.ndimage
import jax.scipy.signal
import jax.scipy.special
import jax.scipy.stats
from jax import lax

from .sweep_case import Case, cases

_MODULES: dict[str, Any] = {
    "numpy": jnp,
    "numpy.linalg": jnp.linalg,
    "numpy.fft": jnp.fft,
    "lax": lax,
    "lax.linalg": lax.linalg,
    "nn": jax.nn,
    "ops": jax.ops,
    "scipy.linalg": jax.scipy.linalg,
    "scipy.ndimage": jax.scipy.ndimage,
    "scipy.signal": jax.scipy.signal,
    "scipy.special": jax.scipy.special,
    "scipy.stats": jax.scipy.stats,
    "scipy.stats.norm": jax.scipy.stats.norm,
}

_MATRIX, _SQUARE, _ROW = ((8, 16), "float32"), ((8, 8), "float32"), ((8,), "float32")
_INTEGERS, _BOOLEANS, _PLACES = ((8, 16), "int32"), ((8, 16), "bool"), ((8,), "int32")

_FORMS: dict[str, tuple[list[Any], str]] = {
    "matrix": ([_MATRIX], "xy->.."),
    "matrices": ([_MATRIX, _MATRIX], "xy,xy->.."),
    "three": ([_MATRIX, _MATRIX, _MATRIX], "xy,xy,xy->.."),
    "row": ([_ROW], "x->."),
    "rows": ([_ROW, _ROW], "x,x->."),
    "square": ([_SQUARE], "xy->.."),
    "squares": ([_SQUARE, _SQUARE], "xy,xy->.."),
    "integers": ([_INTEGERS], "xy->.."),
    "integer_pairs": ([_INTEGERS, _INTEGERS], "xy,xy->.."),
    "booleans": ([_BOOLEANS], "xy->.."),
    "choice": ([_BOOLEANS, _MATRIX, _MATRIX], "xy,xy,xy->.."),
    "places": ([_MATRIX, _PLACES], "xy,x->.."),
}


def programs() -> Iterator[Case]:
    for module, holder in _MODULES.items():
        for name in sorted(vars(holder)):
            function = getattr(holder, name)
            if name.startswith("_") or not callable(function) or isinstance(function, type):
                continue
            for form, (arguments, cut) in _FORMS.items():
                yield from cases(f"library/{module}.{name}_{form}", _arrays(function), arguments, [cut], "2x4")
            for axis in (0, 1):
                along = _arrays(lambda a, function=function, axis=axis: function(a, axis=axis))
                yield from cases(f"library/{module}.{name}_axis{axis}", along, [_MATRIX], ["xy->.."], "2x4")


def _arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that returns the arrays among what another one returns."""

    def arrays(*arguments: Any) -> tuple[jax.Array, ...]:
        found = tuple(leaf for leaf in jax.tree.leaves(function(*arguments)) if isinstance(leaf, jax.Array))
        if not found:
            raise TypeError("no array is returned")
        return found

    return arrays
