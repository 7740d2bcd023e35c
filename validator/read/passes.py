"""The modules of a dump of every pass: what each pass of XLA's pipeline made of one program, in order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .errors import ReadError, ReadErrorKind

_NAME = re.compile(
    r"module_(?P<id>\d+)\.(?P<module>.+)\.(?P<order>\d{4})\.(?P<pipeline>[^.]+)\.after_(?P<after>[^.]+)"
    r"(?:\.before_(?P<before>[^.]+))?\.hlo\.pb"
)
_PARTITIONER = re.compile(r"(?:tpu-)?spmd-partitioning")
_START = "pipeline-start"
_LAST_PASS = "layout-assignment"
"""From here on XLA prepares for one machine: layouts, fusions, calls of libraries."""


@dataclass(frozen=True, slots=True)
class PassModule:
    """The module between two passes of a pipeline."""

    order: int
    pipeline: str
    after: str
    before: str
    """The next pass of the pipeline; empty where the file does not tell."""
    path: Path

    @property
    def is_start(self) -> bool:
        """Whether a pipeline begins here: no pass has run since the last one."""
        return self.after == _START


@dataclass(frozen=True, slots=True)
class PassDump:
    """What was dumped of one module, in order, up to the last pass that is not the machine's.

    `logical` counts the modules at the start that are programs of logical tensors; what follows are programs of
    devices. It is all of them where the partitioner was not dumped.
    """

    name: str
    module: str
    modules: tuple[PassModule, ...]
    logical: int
    left_out: int
    """How many modules were dumped after that."""


def find_passes(folder: str | Path, module_regex: str | None = None) -> tuple[PassDump, ...]:
    """Every module in an XLA dump folder of which at least two passes were dumped as protos.

    Raises `ReadError` where there is none.
    """
    root = Path(folder)
    if not root.is_dir():
        raise ReadError(ReadErrorKind.MISSING, str(folder), "no such folder")
    wanted = re.compile(module_regex or "")
    found: dict[tuple[int, str], list[PassModule]] = {}
    for path in sorted(root.iterdir()):
        match = _NAME.fullmatch(path.name)
        if match is not None and wanted.search(match["module"]):
            module = PassModule(int(match["order"]), match["pipeline"], match["after"], match["before"] or "", path)
            found.setdefault((int(match["id"]), match["module"]), []).append(module)
    dumps = [_dump(number, name, modules) for (number, name), modules in sorted(found.items())]
    dumps = [dump for dump in dumps if len(dump.modules) > 1]
    if not dumps:
        which = f" of a module matching '{module_regex}'" if module_regex else ""
        raise ReadError(
            ReadErrorKind.MISSING,
            str(folder),
            f"no dumps of passes{which}: dump with --xla_dump_hlo_pass_re=.* and --xla_dump_hlo_as_proto",
        )
    return tuple(dumps)


def _dump(number: int, name: str, modules: list[PassModule]) -> PassDump:
    modules.sort(key=lambda module: module.order)
    last = next((k for k, module in enumerate(modules) if module.after == _LAST_PASS), len(modules))
    kept = modules[:last]
    partitioned = next((k for k, module in enumerate(kept) if _PARTITIONER.fullmatch(module.before)), None)
    logical = len(kept) if partitioned is None else partitioned + 1
    return PassDump(f"{name} ({number:04})", name, tuple(kept), logical, len(modules) - last)
