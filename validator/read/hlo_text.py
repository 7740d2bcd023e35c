"""HLO text: what is checked before XLA's parser sees it, and what its header tells that the proto does not keep.

XLA's parser ends the process on some malformed shardings and replica groups, and fills elided constants with made-up
values. Both are refused here, with the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from .errors import ReadError, ReadErrorKind
from .hlo_sharding import hlo_mesh, parse_hlo_sharding
from .tokens import Tokens, axis_refs, device_order

_NOT_CODE = re.compile(r'"(?:[^"\\]|\\.)*+"|/\*.*?\*/|//[^\n]*', re.S)
_BARE = re.compile(r"\[\d[\d,]*\](?:\{[^}]*\})?\s+constant\s*\(\s*(?=[^{\s)])")
_MODE = re.compile(r"\bmode=\s*(\w+)")
_BRACED = re.compile(r"\bsharding=(\{(?:[^{}]++|\{(?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*+\})*+\})*+\})")
"""A sharding with braces at most four deep: a tuple, its leaf, a dimension or `metadata`, and what that holds."""
_MESH_GROUPS = re.compile(
    r"\breplica_groups=(mesh\[[^\]\n]*\](?:,\s*device_ids=\([^)\n]*(?:\([^)\n]*\)\s*)?\))?\s*\{[^}\n]*\})"
)
_IOTA_GROUPS = re.compile(r"\breplica_groups=(\[[^\]\n]*\]<=\[[^\]\n]*\](?:T\([^)\n]*\))?)")
_NEGATIVE_LAYOUT = re.compile(r"\]\{[\d,]*-\d")
_BLANK = r"(?:\s|/\*.*?\*/|//[^\n]*)*+"
_MODULE = re.compile(rf"{_BLANK}HloModule\b{_BLANK}[^\s,/]*", re.S)
_MODULE_ATTRIBUTE = re.compile(
    rf"{_BLANK},{_BLANK}(?P<name>[\w.-]+)={_BLANK}"
    r"(?:(?P<number>\d{1,18})(?![\w.])|(?P<open>\{)|\"[^\"]*\"|[\w.-]+)?",
    re.S,
)
_IN_BRACES = re.compile(r"[^{}\"/]++|\"[^\"]*\"|/\*.*?\*/|//[^\n]*|[{}/]", re.S)


@dataclass(frozen=True, slots=True)
class HloHeader:
    """Device counts of the module's first line; None where it names neither."""

    counts: tuple[int, int] | None


def check_text(text: str, name: str) -> HloHeader:
    """Refuses what XLA's parser must not see; gives the header's device counts."""
    code = _NOT_CODE.sub(_blank, text) if "..." in text or "mode=" in text else ""
    elided = code.find("...")
    if elided >= 0:
        raise ReadError(
            ReadErrorKind.ELIDED,
            _where(text, elided, name),
            "constant is elided as '{...}': dump again with --xla_dump_large_constants or as a proto",
        )
    _check_modes(code, name)
    bare = _BARE.search(text)
    if bare is not None:
        message = "constant of several elements without braces"
        raise ReadError(ReadErrorKind.SYNTAX, _where(text, bare.end(), name), message)
    _check_each("sharding={", _BRACED, parse_hlo_sharding, text, name)
    _check_each("replica_groups=mesh", _MESH_GROUPS, _parse_mesh_groups, text, name)
    _check_each("replica_groups=[", _IOTA_GROUPS, _parse_iota_groups, text, name)
    layout = _NEGATIVE_LAYOUT.search(text)
    if layout is not None:
        raise ReadError(ReadErrorKind.SYNTAX, _where(text, layout.start(), name), "layout with a negative dimension")
    _check_instructions(text, name)
    numbers = _module_numbers(text)
    if not numbers.keys() & {"replica_count", "num_partitions"}:
        return HloHeader(None)
    return HloHeader((numbers.get("replica_count", 1), numbers.get("num_partitions", 1)))


def _module_numbers(text: str) -> dict[str, int]:
    """The attributes of the module itself that are numbers, wherever lines break and whatever strings hold."""
    numbers: dict[str, int] = {}
    start = _MODULE.match(text)
    at = 0 if start is None else start.end()
    while (found := _MODULE_ATTRIBUTE.match(text, at)) is not None:
        at = found.end()
        if found["number"] is not None:
            numbers[found["name"]] = int(found["number"])
        depth = int(found["open"] is not None)
        while depth:
            part = _IN_BRACES.match(text, at)
            if part is None:
                return numbers
            depth += (part.group() == "{") - (part.group() == "}")
            at = part.end()
    return numbers


def _check_each(opening: str, pattern: re.Pattern[str], parse: Callable[[str], object], text: str, name: str) -> None:
    """Parses each distinct spelling once; the first bad one is reported where it stands."""
    # Splitting at the opening and cutting at the line's end is several times faster than searching with the pattern.
    parts = text.split(opening)
    good: set[str] = set()
    at = len(parts[0])
    for before, part in pairwise(parts):
        if before[-1:].isspace() or before[-1:] == ",":
            line = part.partition(_NEWLINE)[0]
            head = line.partition(_METADATA)[0]
            if head not in good:
                match = pattern.match(opening + line)
                try:
                    if match is None:
                        raise ValueError(f"'{opening}' is not closed")
                    parse(match[1])
                except ValueError as error:
                    where = _where(text, at + opening.index("=") + 1, name)
                    raise ReadError(ReadErrorKind.SYNTAX, where, str(error)) from None
                good.add(head)
        at += len(opening) + len(part)


def _blank(found: re.Match[str]) -> str:
    """As many blanks as a string or a comment has characters; its lines stay."""
    return "".join("\n" if char == "\n" else " " for char in found.group())


_GROUPED = re.compile(r"\b(?:all-reduce|reduce-scatter)[\w-]*\s*\(")


def _check_modes(code: str, name: str) -> None:
    """Refuses a mode of replica groups that the rest of the collective does not imply: XLA's proto does not keep it.

    `code` is the text without strings and comments, in which an instruction ends at the next equals sign with blanks.
    """
    for found in _MODE.finditer(code):
        end = code.find(" = ", found.end())
        told = code[code.rfind(" = ", 0, found.start()) : end if end >= 0 else len(code)]
        implied = "cross_replica_and_partition" if "channel_id=" in told else "cross_replica"
        implied = "flattened_id" if "use_global_device_ids=true" in told else implied
        if _GROUPED.search(told) and found[1] != implied:
            where = _where(code, found.start(1), name)
            raise ReadError(ReadErrorKind.UNSUPPORTED, where, f"a collective of mode '{found[1]}' is not supported")


_DEFINITION = re.compile(
    r"^(?P<open>[^=\n]*\{)[ \t]*$|^\s*(?:ROOT\s+)?%?(?P<name>[\w.-]+) = \w+\[(?P<dims>[\d,]*)\](?:\{[^}\n]*\})? "
    r"(?:reshape\((?:[^%)\n]*[ %])?(?P<operand>[\w.-]+)\)|parameter\((?P<number>-?\d{1,18})\))?",
    re.M,
)


_DIGITS = 4000


def _check_instructions(text: str, name: str) -> None:
    """Element counts of reshapes and the numbers of parameters: what XLA asserts before it verifies anything."""
    sizes: dict[str, int] = {}
    numbered: list[tuple[int, list[int]]] = [(0, [])]
    for match in _DEFINITION.finditer(text):
        if match["open"] is not None:
            numbered.append((match.start(), []))
            sizes = {}
            continue
        dims = match["dims"]
        # Python reads no longer numbers than this, nor does XLA take them
        size = prod(map(int, filter(None, dims.split(",")))) if len(dims) <= _DIGITS else 0
        sizes[match["name"]] = size
        if match["number"] is not None:
            numbered[-1][1].append(int(match["number"]))
        operand = sizes.get(match["operand"])
        if operand is not None and operand != size:
            where = _where(text, match.start("name"), name)
            raise ReadError(ReadErrorKind.SYNTAX, where, f"'reshape' of {operand} elements to {size} elements")
    if sum(len(numbers) for _, numbers in numbered) != text.count(" parameter("):
        # Written by hand, several instructions a line: XLA's parser will have to see to it.
        return
    for start, numbers in numbered:
        if sorted(numbers) != list(range(len(numbers))):
            where = _where(text, start, name)
            raise ReadError(ReadErrorKind.SYNTAX, where, f"parameters of the computation are numbered {numbers}")


_NEWLINE, _METADATA = "\n", ", metadata={"


def _parse_mesh_groups(text: str) -> None:
    tokens = Tokens(text)
    tokens.expect("mesh")
    mesh = hlo_mesh(tokens)
    tokens.expect("{")
    refs, _ = axis_refs(tokens, "}")
    tokens.end()
    mesh.split([refs])


def _parse_iota_groups(text: str) -> None:
    tokens = Tokens(text)
    tokens.expect("[")
    dims = tokens.integers("]")
    tokens.expect("<=")
    devices = device_order(tokens)
    tokens.end()
    if len(dims) != 2 or min(dims) < 1 or dims[0] * dims[1] != devices.size:
        raise ValueError(f"replica groups {dims} do not arrange {devices.size} devices in '{text}'")


def _where(text: str, at: int, name: str) -> str:
    line = text.count("\n", 0, at) + 1
    return f"{name}:{line}:{at - text.rfind(chr(10), 0, at)}"


_POSITION = re.compile(r"was parsing (\d+):(\d+): error: ([^\n]*)")


def syntax_error(text: str, name: str, message: str) -> ReadError:
    """XLA's parse error, located; a text that ends inside a computation is called truncated."""
    match = _POSITION.search(message)
    where = name if match is None else f"{name}:{match[1]}:{match[2]}"
    what = message.strip().partition("\n")[0] if match is None else match[3].strip()
    if not text.rstrip().endswith("}") or "ENTRY" not in text:
        return ReadError(ReadErrorKind.TRUNCATED, where, f"text ends before the module does: {what}")
    return ReadError(ReadErrorKind.SYNTAX, where, what)
