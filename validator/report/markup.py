"""Text from anywhere as text in HTML and SVG."""

from __future__ import annotations

import re
from html import escape

_UNFIT = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What no document may hold, halves of surrogate pairs (from file names of other bytes), and what reverses text."""


def markup(text: str) -> str:
    """The text for use between tags and in quoted attributes."""
    return escape(_UNFIT.sub("�", text), quote=True)
