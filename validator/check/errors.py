"""Why a certificate is not accepted."""

from __future__ import annotations


class Rejection(Exception):
    """A step that does not hold, or cannot be checked; the message names both, with the place in front."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(f"{place}: {reason}" if place else reason)
        self.place = place

    def at(self, place: str) -> Rejection:
        return self if self.place else Rejection(str(self), place)
