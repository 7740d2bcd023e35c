"""Reading programs: every file format, dump folder and JAX stage becomes a typed `Program`.

`read_program` is loaded when it is first asked for, since it brings MLIR with it; the data classes do not.
"""

from typing import TYPE_CHECKING, Any

from .errors import ReadError, ReadErrorKind

if TYPE_CHECKING:
    from .program import read_program

__all__ = ["ReadError", "ReadErrorKind", "read_program"]


def __getattr__(name: str) -> Any:
    if name == "read_program":
        from .program import read_program

        return read_program
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
