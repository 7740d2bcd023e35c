"""MLIR locations as `Location`: the JAX op name and the user's frames, innermost first."""

from __future__ import annotations

from ..compat import ir
from .ir import UNKNOWN_LOCATION, Frame, Location


class LocationReader:
    """Converts each location once; `file` stands for MLIR's "-" in positions of the parsed text itself."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._known: dict[ir.Attribute, Location] = {}
        self._frames: dict[Frame, Frame] = {}

    def read(self, location: ir.Location) -> Location:
        key = location.attr
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._convert(location)
        return known

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
                pending.extend((part, enclosed, "") for part in reversed(list(node.locations)))
            elif isinstance(node, ir.FileLineColLoc):
                file = self._file if node.filename == "-" else node.filename
                frame = Frame(file, node.start_line, node.start_col, function)
                frames.append(self._frames.setdefault(frame, frame))
        if not op_name and not frames:
            return UNKNOWN_LOCATION
        return Location(op_name, tuple(frames))
