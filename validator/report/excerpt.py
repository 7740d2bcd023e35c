"""Lines of the user's source for reports, where the file can be read; else there is no excerpt, and never an error."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from functools import lru_cache

from ..read.ir import Frame

_MAX_BYTES = 4 << 20
"""A larger file is no source that anybody wrote."""
_MAX_WIDTH = 160
"""Longer lines are cut around the caret."""
_TAB = 4


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a file around one of them. `first` is the number of the first line, `line` that of the marked one.

    `caret` is the place in the marked line that is meant, counted from 0, None where it is not known.
    """

    path: str
    first: int
    line: int
    lines: tuple[str, ...]
    caret: int | None

    @property
    def marked(self) -> str:
        return self.lines[self.line - self.first]

    def text_lines(self) -> list[str]:
        """The marked line and below it a line with the caret, the latter left out where the place is not known."""
        text, caret = self.marked, self.caret
        if caret is None:
            return [text[:_MAX_WIDTH].rstrip()]
        start = max(0, caret - _MAX_WIDTH // 2) if len(text) > _MAX_WIDTH else 0
        return [text[start : start + _MAX_WIDTH].rstrip(), " " * (caret - start) + "^"]


def excerpt(frame: Frame, beside: str = "", context: int = 0) -> Excerpt | None:
    """The line of the frame with `context` lines on both sides, None where there is no such line to read.

    A relative path is looked for from the working directory, then in the folder of the file `beside`.
    """
    if frame.line < 1:
        return None
    for path in _candidates(frame.file, beside):
        lines = _lines(path)
        if lines is not None:
            break
    else:
        return None
    if frame.line > len(lines):
        return None
    first = max(1, frame.line - context)
    shown = tuple(_visible(line) for line in lines[first - 1 : frame.line + context])
    return Excerpt(path, first, frame.line, shown, _caret(frame, lines[frame.line - 1]))


def _candidates(file: str, beside: str) -> list[str]:
    folder = os.path.dirname(beside)
    return [file] if os.path.isabs(file) or not folder else [file, os.path.join(folder, file)]


def _lines(path: str) -> list[str] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    # a pipe or device would block or never end
    if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
        return None
    return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _read(path: str, _changed: int, size: int) -> list[str] | None:
    """The lines of a file as it is now: the time of its last change is part of the key."""
    try:
        with open(path, "rb") as file:
            data = file.read(size)
    except OSError:
        return None
    return None if b"\0" in data else data.decode("utf-8", errors="replace").split("\n")


def _visible(line: str) -> str:
    """The line without what would act on a terminal."""
    return "".join(ch if ch.isprintable() else "�" for ch in line.rstrip("\r").expandtabs(_TAB))


def column(frame: Frame) -> int | None:
    """The frame's column counted from 1; None where it is not known.

    JAX counts the columns of Python files from 0, MLIR's parser those of its text from 1.
    """
    if frame.column < 1:
        return None
    return frame.column + 1 if frame.file.endswith(".py") else frame.column


def _caret(frame: Frame, line: str) -> int | None:
    at = column(frame)
    if at is None:
        return None
    # Python counts columns in bytes of UTF-8
    before = line.encode()[: at - 1].decode(errors="ignore") if frame.file.endswith(".py") else line[: at - 1]
    return len(_visible(before)) if len(before) < len(line.rstrip()) else None
