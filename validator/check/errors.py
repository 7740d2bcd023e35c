"""Why a certificate is not accepted."""

from __future__ import annotations


class Rejection(Exception):
    """A step that does not hold, or cannot be checked; the message names both."""

    def at(self, where: str) -> Rejection:
        """The same with the place in front, unless it has one already."""
        if getattr(self, "place", ""):
            return self
        placed = Rejection(f"{where}: {self}")
        placed.place = where  # pyright: ignore[reportAttributeAccessIssue]
        return placed
