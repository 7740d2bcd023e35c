"""Reading programs: every file format, dump folder and JAX stage becomes a typed `Program`."""

from .errors import ReadError, ReadErrorKind
from .program import read_program

__all__ = ["ReadError", "ReadErrorKind", "read_program"]
