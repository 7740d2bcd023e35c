"""Tokens of sharding and replica group texts, and the pieces that XLA's and Shardy's grammars share."""

from __future__ import annotations

import re

import numpy as np

from .tiling import MAX_DEVICES, AxisRef, iota

_TOKEN = re.compile(
    r"""\s+|/\*.*?\*/|(?P<token><=|'[^']*'|"(?:[^"\\]|\\.)*"|-?\d+|@"[^"]*"|[@A-Za-z_][\w.$-]*|.)""", re.S
)


class Tokens:
    """The tokens of one text, comments and blanks dropped, with the few moves a hand-written parser needs."""

    def __init__(self, text: str) -> None:
        self.text = text
        matches = [match for match in _TOKEN.finditer(text) if match["token"] is not None]
        self._tokens = [match["token"] for match in matches]
        self._spans = [match.span() for match in matches]
        self._at = 0

    @property
    def position(self) -> int:
        return self._at

    def rewind(self, position: int) -> None:
        self._at = position

    def since(self, position: int) -> str:
        """The text of the tokens taken since a position."""
        return self.text[self._spans[position][0] : self._spans[self._at - 1][1]]

    @property
    def next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def take(self) -> str:
        token = self.next
        self._at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.next != token:
            return False
        self._at += 1
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise ValueError(f"expected '{token}' but found '{self.next or 'end of text'}' in '{self.text}'")

    def integer(self) -> int:
        token = self.take()
        if not re.fullmatch(r"-?\d{1,18}", token):
            raise ValueError(f"expected a number but found '{token or 'end of text'}' in '{self.text}'")
        return int(token)

    def integers(self, close: str) -> list[int]:
        """Numbers up to and including the closing token."""
        numbers: list[int] = []
        while not self.accept(close):
            numbers.append(self.integer())
            if self.next != close:
                self.expect(",")
        return numbers

    def end(self) -> None:
        if self.next:
            raise ValueError(f"unexpected '{self.next}' in '{self.text}'")

    def unexpected(self) -> ValueError:
        return ValueError(f"unexpected '{self.next or 'end of text'}' in '{self.text}'")


def device_order(tokens: Tokens) -> np.ndarray:
    """`<=[dims]T(perm)` after its `<=`, or `[dims]T(perm)` alone."""
    tokens.expect("[")
    dims = tokens.integers("]")
    if not dims or any(size < 1 for size in dims) or int(np.prod([float(d) for d in dims])) > MAX_DEVICES:
        raise ValueError(f"bad device order in '{tokens.text}'")
    perm = None
    if tokens.accept("T"):
        tokens.expect("(")
        perm = tokens.integers(")")
        if sorted(perm) != list(range(len(dims))):
            raise ValueError(f"bad permutation in '{tokens.text}'")
    return iota(dims, perm)


def axis_name(tokens: Tokens) -> str:
    token = tokens.take()
    if len(token) < 2 or token[0] not in "'\"" or token[-1] != token[0]:
        raise ValueError(f"expected an axis name but found '{token or 'end of text'}' in '{tokens.text}'")
    return token[1:-1]


def mesh_axes(tokens: Tokens) -> list[tuple[str, int]]:
    """The names and sizes of `['x'=2,'y'=4]`, quotes of either kind."""
    tokens.expect("[")
    axes: list[tuple[str, int]] = []
    while not tokens.accept("]"):
        name = axis_name(tokens)
        tokens.expect("=")
        axes.append((name, tokens.integer()))
        if tokens.next != "]":
            tokens.expect(",")
    return axes


def axis_refs(tokens: Tokens, close: str) -> tuple[list[AxisRef], bool]:
    """Axes up to the closing token, and whether a `?` leaves the list open."""
    refs: list[AxisRef] = []
    is_open = False
    while not tokens.accept(close):
        if tokens.accept("?"):
            is_open = True
        else:
            name = axis_name(tokens)
            if tokens.accept(":"):
                tokens.expect("(")
                pre = tokens.integer()
                tokens.expect(")")
                refs.append(AxisRef(name, pre, tokens.integer()))
            else:
                refs.append(AxisRef(name))
        if tokens.next != close:
            tokens.expect(",")
    return refs, is_open
