"""The neighbourhood of a failing place as an SVG drawing: values of both programs as boxes, relations on the links.

The before program stands on the left and the after program on the right, one value in a row in program order, so that
values which correspond stand side by side. Arcs on the outside lead from operands to what uses them; the links between
the sides carry the relation of a device value to the logical tensors.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from .frontier import Frontier, NearValue
from .markup import markup

_BOX = 286
_MIDDLE = 236
_GUTTER = 60
_LANE = 13
"""How far apart arcs of different operands run."""
_PAD = 11
_LINE = 16
_GAP = 20
_HEAD = 30
_BOX_CHARS = 40
"""Characters of small text that fit into a box, and in the middle into a link's label."""
_LINK_CHARS = 31
_MAX_LAYOUT_LINES = 4
_MAX_LINK_LINES = 3
WIDTH = 2 * (_GUTTER + _BOX) + _MIDDLE


@dataclass(frozen=True, slots=True)
class _Box:
    value: NearValue
    left: bool
    top: float
    height: float

    @property
    def x(self) -> float:
        return _GUTTER if self.left else _GUTTER + _BOX + _MIDDLE

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


def drawing(frontier: Frontier) -> str:
    """The drawing as an `<svg>` element, or nothing where nothing is known of the neighbourhood."""
    if not frontier.after and not frontier.before:
        return ""
    after = tuple(_with_original(value, frontier) for value in frontier.after)
    boxes, height = _placed(_beside(frontier.before, after), after)
    parts = [
        f'<svg class="graph" viewBox="0 0 {WIDTH} {height:g}" role="img" xmlns="http://www.w3.org/2000/svg" '
        f'aria-label="values around {markup(frontier.value)} in both programs">',
        f'<text class="side" x="{_GUTTER}" y="14">before program (logical tensors)</text>',
        f'<text class="side" x="{_GUTTER + _BOX + _MIDDLE}" y="14">after program (one device)</text>',
    ]
    for left in (True, False):
        parts += _arcs([box for box in boxes if box.left is left])
    parts += _links(boxes, frontier)
    parts += [part for box in boxes for part in _drawn(box, not box.left and box.value.name == frontier.value)]
    return "\n".join([*parts, "</svg>"])


def _with_original(value: NearValue, frontier: Frontier) -> NearValue:
    """The failing value belongs beside the original's result of the same op, which it should be a part of."""
    if value.name != frontier.value:
        return value
    taken = {other.counterpart for other in frontier.after if other.name != frontier.value}
    same = [other.name for other in frontier.before if other.op == frontier.op and other.name not in taken]
    return replace(value, counterpart=same[-1]) if same else value


def _beside(before: Sequence[NearValue], after: Sequence[NearValue]) -> list[NearValue]:
    """The before program's values in the order of those they correspond to, as far as operands come before users."""
    wanted = {value.counterpart: number for number, value in reversed(list(enumerate(after)))}
    pending, placed, order = list(before), set[str](), []
    names = {value.name for value in before}
    while pending:
        ready = [v for v in pending if all(o in placed or o not in names or o == v.name for o in v.operands)] or pending
        chosen = min(ready, key=lambda value: wanted.get(value.name, len(after)))
        pending.remove(chosen)
        placed.add(chosen.name)
        order.append(chosen)
    return order


def _placed(before: Sequence[NearValue], after: Sequence[NearValue]) -> tuple[list[_Box], float]:
    """Boxes in rows; those that correspond share a row where program order allows it."""
    boxes: list[_Box] = []
    top = float(_HEAD)
    for left, right in _rows(before, after):
        row = max(_height(value) for value in (left, right) if value is not None)
        for value, on_left in ((left, True), (right, False)):
            if value is not None:
                own = _height(value)
                boxes.append(_Box(value, on_left, top + (row - own) / 2, own))
        top += row + _GAP
    return boxes, top - _GAP + 4


def _rows(
    before: Sequence[NearValue], after: Sequence[NearValue]
) -> Iterator[tuple[NearValue | None, NearValue | None]]:
    places = {value.name: number for number, value in enumerate(before)}
    pairs = _increasing([(places[v.counterpart], k) for k, v in enumerate(after) if v.counterpart in places])
    left = right = 0
    for one, other in [*pairs, (len(before), len(after))]:
        yield from zip_longest(before[left:one], after[right:other])
        if one < len(before) and other < len(after):
            yield before[one], after[other]
        left, right = one + 1, other + 1


def _increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of the pairs in which both numbers grow; there are few of them."""
    best: list[list[tuple[int, int]]] = []
    for pair in pairs:
        ends = [chain for chain in best if chain[-1][0] < pair[0] and chain[-1][1] < pair[1]]
        best.append([*max(ends, key=len, default=[]), pair])
    return max(best, key=len, default=[])


def _height(value: NearValue) -> float:
    return 2 * _PAD + _LINE * (2 + len(_layout_lines(value)))


def _layout_lines(value: NearValue) -> list[str]:
    return wrapped(value.layout, _BOX_CHARS, _MAX_LAYOUT_LINES)


def wrapped(text: str, width: int, most: int) -> list[str]:
    """Text in lines, the rest of a long one left out."""
    return textwrap.wrap(text, width, max_lines=most, placeholder=" …", break_on_hyphens=False)


def _drawn(box: _Box, failing: bool) -> Iterator[str]:
    value = box.value
    kind = "box failing" if failing else "box"
    yield f'<g class="{kind}"><title>{markup(_title(value))}</title>'
    yield f'<rect x="{box.x:g}" y="{box.top:g}" width="{_BOX}" height="{box.height:g}" rx="5"/>'
    x, y = box.x + _PAD, box.top + _PAD + 11
    name, op = markup(_cut(value.name, 12)), markup(_cut(value.op, 26))
    yield f'<text class="name" x="{x:g}" y="{y:g}">{name}<tspan class="op" dx="8">{op}</tspan></text>'
    yield f'<text class="type" x="{x:g}" y="{y + _LINE:g}">{markup(_cut(value.type, 38))}</text>'
    for number, line in enumerate(_layout_lines(value)):
        yield f'<text class="layout" x="{x:g}" y="{y + _LINE * (2 + number):g}">{markup(line)}</text>'
    yield "</g>"


def _title(value: NearValue) -> str:
    """What a reader sees who points at a box."""
    frame = value.location.frames[0] if value.location.frames else ""
    return " · ".join(str(part) for part in (f"{value.name} : {value.signature}", value.op, frame) if part)


def _arcs(boxes: Sequence[_Box]) -> Iterator[str]:
    """From each operand that is shown to what uses it, on the outside, longer ones further out."""
    places = {box.value.name: box for box in boxes}
    spans = []
    for box in boxes:
        operands = [places[name] for name in dict.fromkeys(box.value.operands) if name in places]
        spans += [(operand, box) for operand in operands if operand is not box]
    spans.sort(key=lambda span: abs(span[1].top - span[0].top))
    used: dict[str, int] = {}
    for place, (operand, user) in enumerate(spans):
        lane = min(place, 3)
        side, sign = (operand.x, -1) if operand.left else (operand.x + _BOX, 1)
        out = side + sign * (18 + _LANE * lane)
        number = used[user.value.name] = used.get(user.value.name, 0) + 1
        start, end = operand.middle, user.top + 12 + 10 * (number - 1)
        tip = side + sign * 7
        yield (
            f'<path class="use" d="M{side:g} {start:g} C{out:g} {start:g} {out:g} {end:g} {tip:g} {end:g}"/>'
            f'<path class="tip" d="M{side:g} {end:g} l{sign * 8:g} -4 v8 z"/>'
        )


def _links(boxes: Sequence[_Box], frontier: Frontier) -> Iterator[str]:
    """Between the sides: what each value of the after program is of one of the before program."""
    places = {box.value.name: box for box in boxes if box.left}
    start, end = _GUTTER + _BOX, _GUTTER + _BOX + _MIDDLE
    for box in boxes:
        if box.left:
            continue
        failing = box.value.name == frontier.value
        other = places.get(box.value.counterpart)
        lines = _link_lines(box.value, frontier if failing else None)
        kind = "link failing" if failing else "link"
        if other is not None:
            yield f'<path class="{kind}" d="M{start} {other.middle:g} L{end} {box.middle:g}"/>'
        elif failing:
            yield f'<path class="{kind}" d="M{end - 60} {box.middle:g} H{end}"/>'
        if other is None and not failing:
            continue
        # beside its own box, where links that cross lie apart
        y = box.middle - _LINE * len(lines) / 2 + 11
        left = end - 10 - 7.0 * max(map(len, lines))
        yield (
            f'<rect class="blank" x="{left - 3:g}" y="{y - 13:g}" width="{end - 7 - left:g}" '
            f'height="{_LINE * len(lines) + 2:g}"/>'
        )
        for number, line in enumerate(lines):
            yield f'<text class="{kind}" x="{end - 10}" y="{y + _LINE * number:g}">{markup(line)}</text>'


def _link_lines(value: NearValue, failing: Frontier | None) -> list[str]:
    if failing is not None:
        return wrapped(failing.reason, _LINK_CHARS, _MAX_LINK_LINES) or ["no relation"]
    return wrapped(short_relation(value.relation), _LINK_CHARS, _MAX_LINK_LINES) or ["relation not known"]


def readable(text: str) -> str:
    """A relation with the signs of mathematics."""
    return text.replace("->", "→").replace("<=", "≤").replace(">=", "≥")


def short_relation(text: str) -> str:
    """A relation without the bounds of its indices: `b_out [d0, i0] → [i0]`."""
    text = re.sub(r"\s*:[^;}]*", "", text)
    text = re.sub(r"\s+", " ", text.replace("{", "").replace("}", ""))
    return readable(text).strip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
