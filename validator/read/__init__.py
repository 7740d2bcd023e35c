"""Reading programs: every file format, dump folder and JAX stage becomes a typed `Program`.

The functions are loaded when they are first asked for, since they bring numpy and MLIR with them; the errors do not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import ReadError, ReadErrorKind

if TYPE_CHECKING:
    from .pairs import DumpPair, check_pair, find_pairs
    from .program import read_pair, read_program

__all__ = ["DumpPair", "ReadError", "ReadErrorKind", "check_pair", "find_pairs", "read_pair", "read_program"]

_HOME = {
    "DumpPair": "pairs",
    "check_pair": "pairs",
    "find_pairs": "pairs",
    "read_pair": "program",
    "read_program": "program",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
