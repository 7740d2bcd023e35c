"""Pairs of programs: the two dumps around XLA's partitioner, and whether two programs can be compared at all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from .errors import ReadError, ReadErrorKind
from .ir import Parameter, Program, Result, TensorType
from .shardings import Sharding, ShardingKind

_DUMP = re.compile(
    r"module_(?P<id>\d+)\.(?P<module>.+?)(?:\.(?P<order>\d+))?\.(?:[^.]+\.)?"
    r"(?:after_[^.]*\.(?P<before>before_(?:tpu-)?spmd-partitioning)"
    r"|(?P<after>after_(?:tpu-)?spmd-partitioning)\.before_[^.]*"
    r"|(?P<alone>(?:before|after)_(?:tpu-)?spmd-partitioning))"
    r"\.(?P<suffix>hlo\.pb|pb|txt|hlo|hlo\.txt)(?P<gz>\.gz)?"
)
_SUFFIX_ORDER = {"hlo.pb": 0, "pb": 0, "hlo": 1, "txt": 1, "hlo.txt": 1}
"""A proto is preferred to a text: it keeps every constant and the result shardings."""


@dataclass(frozen=True, slots=True)
class DumpPair:
    """The modules that enter and leave the partitioner in one compilation."""

    name: str
    """The module's name and number, `jit_step (0012)`."""
    module: str
    before: Path
    after: Path


def find_pairs(folder: str | Path, module_regex: str | None = None) -> tuple[DumpPair, ...]:
    """Every before/after pair in an XLA dump folder, in order of module number.

    `module_regex` must match somewhere in the module's name. Other files are ignored; half a pair is an error,
    because a missing half usually means a wrong `xla_dump_hlo_pass_re`.
    """
    root = Path(folder)
    if not root.is_dir():
        raise ReadError(ReadErrorKind.MISSING, str(folder), "no such folder")
    try:
        wanted = re.compile(module_regex or "")
    except re.error as error:
        raise ReadError(ReadErrorKind.FORMAT, str(folder), f"bad module pattern '{module_regex}': {error}") from None
    halves: dict[tuple[int, str, str], list[tuple[int, int, Path]]] = {}
    for path in sorted(root.iterdir()):
        match = _DUMP.fullmatch(path.name)
        if match is None or not wanted.search(match["module"]):
            continue
        side = "before" if match["before"] or (match["alone"] or "").startswith("before") else "after"
        order = int(match["order"] or 0)
        halves.setdefault((int(match["id"]), match["module"], side), []).append(
            (_SUFFIX_ORDER[match["suffix"]], order, path)
        )
    pairs: list[DumpPair] = []
    for number, module in sorted({(number, module) for number, module, _ in halves}):
        found = {side: _preferred(halves.get((number, module, side), ())) for side in ("before", "after")}
        for side, path in found.items():
            if path is None:
                raise ReadError(
                    ReadErrorKind.MISSING,
                    str(folder),
                    f"module '{module}' ({number:04}) has no {side}_spmd-partitioning dump",
                )
        before, after = found["before"], found["after"]
        assert before is not None
        assert after is not None
        pairs.append(DumpPair(f"{module} ({number:04})", module, before, after))
    if not pairs:
        which = f" of a module matching '{module_regex}'" if module_regex else ""
        raise ReadError(
            ReadErrorKind.MISSING,
            str(folder),
            f"no spmd-partitioning dumps{which}: dump with --xla_dump_hlo_pass_re=spmd-partitioning, and without a hit "
            "in the persistent compilation cache",
        )
    return tuple(pairs)


def _preferred(candidates: Iterable[tuple[int, int, Path]]) -> Path | None:
    """The best format, then the earliest stage."""
    return min(candidates, default=(0, 0, None), key=lambda candidate: candidate[:2])[2]


def check_pair(before: Program, after: Program) -> None:
    """Refuses two programs that cannot be compared: other parameters, other results, other devices.

    One device on the first side is a logical program, which any number of devices may implement.
    """
    for what, left, right in (
        ("parameters", len(before.parameters), len(after.parameters)),
        ("results", len(before.results), len(after.results)),
    ):
        if left != right:
            raise ReadError(ReadErrorKind.MISMATCH, after.source, f"{right} {what}, but '{before.source}' has {left}")
    if before.num_devices not in (1, after.num_devices):
        raise ReadError(
            ReadErrorKind.MISMATCH,
            after.source,
            f"{_devices(after)}, but '{before.source}' is for {_devices(before)}",
        )


def with_layouts(program: Program, told: Program, chosen: Program) -> Program:
    """The program with the layouts that `told` demands at its boundary, and those of `chosen` where it leaves one open.

    A layout that the user's program leaves open is the compiler's choice. What the user demands is not.
    """
    _check_same("parameters", program, program.parameters, told.parameters, chosen.parameters)
    _check_same("results", program, program.results, told.results, chosen.results)
    return replace(
        program,
        parameters=tuple(
            replace(mine, sharding=_layout(user.sharding, made.sharding))
            for mine, user, made in zip(program.parameters, told.parameters, chosen.parameters, strict=True)
        ),
        results=tuple(
            replace(mine, sharding=_layout(user.sharding, made.sharding))
            for mine, user, made in zip(program.results, told.results, chosen.results, strict=True)
        ),
    )


def with_stated(program: Program, after: Program) -> Program:
    """The program with the layouts that the devices' program states for itself, where it leaves them open.

    A module from before the partitioner may leave a layout to XLA, and the module from after it tells what XLA chose.
    Only tensors are concerned whose shapes show that they were cut.
    """
    pairs = {
        "parameter": list(zip(program.parameters, after.parameters, strict=True)),
        "result": list(zip(program.results, after.results, strict=True)),
    }
    chosen = [f"{kind} '{mine.label}'" for kind, both in pairs.items() for mine, made in both if _states(mine, made)]
    if not chosen:
        return program
    listed = ", ".join(chosen[:_LISTED]) + (f" and {len(chosen) - _LISTED} more" if len(chosen) > _LISTED else "")
    note = f"layouts that only the after program states: {listed}"
    return replace(
        program,
        parameters=tuple(replace(m, sharding=a.sharding) if _states(m, a) else m for m, a in pairs["parameter"]),
        results=tuple(replace(m, sharding=a.sharding) if _states(m, a) else m for m, a in pairs["result"]),
        notes=(*program.notes, note),
    )


_LISTED = 8
"""No more tensors than this are named in a note."""


def _states(mine: Parameter | Result, made: Parameter | Result) -> bool:
    """Whether a tensor that was cut has a layout on one side only: on that of the devices."""
    stated, whole, own = made.sharding, mine.value.type, made.value.type
    if stated is None or stated.kind is not ShardingKind.TILED or _layout(mine.sharding, stated) is not stated:
        return False
    if not isinstance(whole, TensorType) or not isinstance(own, TensorType) or len(stated.tiles) != whole.rank:
        return False
    part = tuple(-(-extent // tiles) for extent, tiles in zip(whole.shape, stated.tiles, strict=True))
    return whole.shape != own.shape == part


def _layout(told: Sharding | None, made: Sharding | None) -> Sharding | None:
    """The sharding made, where none is told or that told leaves dimensions open and allows it."""
    return made if told is None or (made is not None and any(told.open) and told.allows(made)) else told


def _check_same(what: str, program: Program, *counted: tuple[Parameter, ...] | tuple[Result, ...]) -> None:
    if len({len(side) for side in counted}) != 1:
        counts = ", ".join(str(len(side)) for side in counted)
        raise ReadError(
            ReadErrorKind.MISMATCH, program.source, f"the stages have different numbers of {what}: {counts}"
        )


def _devices(program: Program) -> str:
    return f"{program.num_replicas} replicas of {program.num_partitions} partitions"
