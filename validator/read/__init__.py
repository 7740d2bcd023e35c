"""Reading programs: every file format, dump folder and JAX stage becomes a typed `Program`."""

from .errors import ReadError, ReadErrorKind
from .pairs import DumpPair, check_pair, find_pairs
from .program import read_pair, read_program

__all__ = ["DumpPair", "ReadError", "ReadErrorKind", "check_pair", "find_pairs", "read_pair", "read_program"]
