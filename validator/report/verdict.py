"""The closed set of verdicts, their precedence, and the exit codes of the command line."""

from __future__ import annotations

import enum
from collections.abc import Iterable


class Verdict(enum.Enum):
    """What the validator found out. Only PROVED says that the programs agree; only REFUTED says that they differ."""

    PROVED = "PROVED"
    NOT_PROVED = "NOT_PROVED"
    UNSUPPORTED = "UNSUPPORTED"
    REFUTED = "REFUTED"

    @staticmethod
    def of(verdicts: Iterable[Verdict]) -> Verdict:
        """The verdict of a whole over the verdicts of its outputs: the one that comes first in precedence."""
        return max(verdicts, key=_PRECEDENCE.index, default=Verdict.PROVED)


_PRECEDENCE = (Verdict.PROVED, Verdict.NOT_PROVED, Verdict.UNSUPPORTED, Verdict.REFUTED)


class ExitCode(enum.IntEnum):
    """How `validate-hlo` ends; 1 is kept strictly for programs that differ.

    UNMET is for a problem file whose problem has another verdict than the file expects.
    """

    PROVED = 0
    REFUTED = 1
    USAGE = 2
    NOT_PROVED = 3
    UNSUPPORTED = 4
    UNREADABLE = 5
    UNMET = 6
    INTERNAL = 70

    @staticmethod
    def of(verdict: Verdict) -> ExitCode:
        return ExitCode[verdict.name]

    @staticmethod
    def worst(codes: Iterable[ExitCode]) -> ExitCode:
        """The code of a run over several pairs."""
        return max(codes, key=_SEVERITY.index, default=ExitCode.PROVED)


_SEVERITY = (
    ExitCode.PROVED,
    ExitCode.NOT_PROVED,
    ExitCode.UNSUPPORTED,
    ExitCode.UNREADABLE,
    ExitCode.UNMET,
    ExitCode.REFUTED,
    ExitCode.USAGE,
    ExitCode.INTERNAL,
)
