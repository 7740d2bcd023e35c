"""MLIR locations as `Location`: the JAX op name and the user's frames, innermost first."""

from __future__ import annotations

import re
from typing import Any

from ..compat import ir
from .ir import UNKNOWN_LOCATION, Frame, Location


class LocationReader:
    """Converts each location once; `file` stands for MLIR's "-" in positions of the parsed text itself."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._known: dict[ir.Attribute, Location] = {}
        self._frames: dict[Frame, Frame] = {}
        self._inlined: dict[tuple[Location, Location], Location] = {}

    def read(self, location: ir.Location) -> Location:
        key = location.attr
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._convert(location)
        return known

    def inlined(self, location: Location, call: Location) -> Location:
        """The location of an operation of a callee: below the call's, unless it tells the whole stack already."""
        key = (location, call)
        known = self._inlined.get(key)
        if known is None:
            frames = location.frames
            if call.frames and (not frames or frames[-1] != call.frames[-1]):
                frames += call.frames
            name = location.op_name
            if call.op_name and name.partition("/")[0] != call.op_name.partition("/")[0]:
                name = f"{call.op_name}/{name}" if name else call.op_name
            known = self._inlined[key] = Location(name, frames)
        return known

    def _frame(self, file: str, line: int, column: int, function: str) -> Frame:
        frame = Frame(file, line, column, function)
        return self._frames.setdefault(frame, frame)

    def _convert(self, location: ir.Location) -> Location:
        """Walks the chain outside in.

        A name around a position is the function that the position is in, if a call site or another name encloses it;
        every other name is an op name, and the outermost one counts.
        """
        op_name = ""
        frames: list[Frame] = []
        pending: list[tuple[ir.Location, bool, str]] = [(location, False, "")]
        while pending:
            node, enclosed, function = pending.pop()
            if isinstance(node, ir.NameLoc):
                child, name = node.child_loc, node.name_str
                if enclosed and isinstance(child, ir.FileLineColLoc):
                    pending.append((child, True, name))
                else:
                    op_name = op_name or name
                    pending.append((child, True, ""))
            elif isinstance(node, ir.CallSiteLoc):
                pending.append((node.caller, True, ""))
                pending.append((node.callee, True, ""))
            elif isinstance(node, ir.FusedLoc):
                parts: list[Any] = list(node.locations)
                pending.extend((part, enclosed, "") for part in reversed(parts))
            elif isinstance(node, ir.FileLineColLoc):
                file = self._file if node.filename == "-" else node.filename
                stack = _STACK_IN_NAME.split(file, maxsplit=1)
                if len(stack) == 2:
                    frames.extend(self._frame(*position, 0, "") for position in reversed(_positions(stack[1])))
                else:
                    frames.append(self._frame(file, node.start_line, node.start_col, function))
        if not op_name and not frames:
            return UNKNOWN_LOCATION
        return Location(op_name, tuple(frames))


_STACK_IN_NAME = re.compile(r"\n-+\n")
"""Neuron's compiler writes a whole stack, outermost frame first, below the file name: `['a.py:1', 'b.py:2']`."""


def _positions(text: str) -> list[tuple[str, int]]:
    positions = [(match[1], int(match[2])) for match in re.finditer(r"'([^']*):(\d{1,18})'", text)]
    return [position for position in positions if "/site-packages/" not in position[0]] or positions
