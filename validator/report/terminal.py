"""Diagnostics on a terminal in colour, everywhere else as plain text."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TextIO

from .diagnostic import Line, Severity

_LOCATION = "bold"
_STYLES = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "bold magenta",
    Severity.REMARK: "bold blue",
    Severity.NOTE: "bold cyan",
}
_CARET = "bold green"


def print_lines(lines: Iterable[Line], stream: TextIO) -> None:
    """Prints diagnostics. What `NO_COLOR` and `TERM=dumb` ask for is respected."""
    if not _in_colour(stream):
        for line in lines:
            print(line.text, file=stream)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, soft_wrap=True, highlight=False, emoji=False, markup=False)
    for line in lines:
        text = Text(line.text, no_wrap=True)
        if line.diagnostic is None:
            if line.text.strip() == "^":
                text.stylize(_CARET)
        else:
            place = len(line.diagnostic.where) + 1
            kind = len(line.diagnostic.severity.value) + 2
            text.stylize(_LOCATION, 0, place)
            text.stylize(_STYLES[line.diagnostic.severity], place, place + kind)
        console.print(text, overflow="ignore", crop=False)


def _in_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    try:
        return stream.isatty()
    except ValueError:
        return False
