"""The zoo: small sharded JAX programs, compiled here and now by the XLA that is installed.

Forced host devices must be asked for before JAX's backend starts, so importing this module asks for eight of them.
Compiled pairs are kept below SHARDPROOF_ZOO_CACHE (a temporary folder where that is not set), one folder for each
distinct lowered program and JAX version.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_FLAG = "--xla_force_host_platform_device_count"
if _FLAG not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_FLAG}=8".strip()

import jax  # noqa: E402

from .entry import Entry, Expectation, entry  # noqa: E402
from .programs import contractions, control, indexing, miscompiled, movement, networks, reductions  # noqa: E402

__all__ = ["ENTRIES", "Entry", "Expectation", "Pair", "compile_pair", "compile_stages", "entry", "named"]

_FAMILIES = (contractions, reductions, movement, networks, indexing, control, miscompiled)


def _collect(groups: Iterable[tuple[Entry, ...]]) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for group in groups:
        for one in group:
            assert one.name not in entries, f"two programs named {one.name}"
            entries[one.name] = one
    return entries


ENTRIES: dict[str, Entry] = _collect(family.ENTRIES for family in _FAMILIES)


class Pair(NamedTuple):
    """What one compilation gives: both modules as serialized HloProto, and the StableHLO that went in."""

    before: bytes
    after: bytes
    lowered: str


def named(pattern: str) -> list[Entry]:
    """The entries whose name contains a text."""
    return [one for name, one in ENTRIES.items() if pattern in name]


def compile_pair(one: Entry) -> Pair:
    """Compile an entry, or take what an earlier run compiled; the modules are those around the partitioner."""
    lowered = one.lower()
    text = lowered.as_text(debug_info=True)
    folder = _cache() / _key(one, lowered.as_text())
    files = [folder / name for name in ("before.hlo.pb", "after.hlo.pb")]
    if not all(file.exists() for file in files):
        _compile(one, lowered, folder)
    return Pair(files[0].read_bytes(), files[1].read_bytes(), text)


def _cache() -> Path:
    told = os.environ.get("SHARDPROOF_ZOO_CACHE")
    return Path(told) if told else Path(tempfile.gettempdir()) / "shardproof-zoo"


def _key(one: Entry, text: str) -> str:
    digest = hashlib.sha256(f"{jax.__version__}\n{one.mesh}\n{text}".encode()).hexdigest()[:16]
    return f"{one.name}-{digest}"


def _compile(one: Entry, lowered: jax.stages.Lowered, folder: Path) -> None:
    dumped = _dump(lowered, "spmd-partitioning")
    before = [data for name, data in dumped if ".before_spmd-partitioning" in name]
    after = [data for name, data in dumped if ".after_spmd-partitioning" in name]
    if len(before) != 1 or len(after) != 1:
        raise RuntimeError(f"'{one.name}' dumped {[name for name, _ in dumped]} instead of one pair")
    folder.mkdir(parents=True, exist_ok=True)
    # A file appears whole or not at all, whoever else compiles the same program.
    for data, target in ((before[0], "before.hlo.pb"), (after[0], "after.hlo.pb")):
        part = folder / f"{target}.{os.getpid()}"
        part.write_bytes(data)
        part.replace(folder / target)


def compile_stages(one: Entry) -> list[tuple[str, bytes]]:
    """The modules between the passes that change something, in order, from the partitioner's input on."""
    stages = [(name, data) for name, data in _dump(one.lower(), ".*") if _NUMBERED.search(name)]
    start = next(number for number, (name, _) in enumerate(stages) if ".before_spmd-partitioning" in name)
    return stages[start:]


_NUMBERED = re.compile(r"\.\d{4}\.")


def _dump(lowered: jax.stages.Lowered, passes: str) -> list[tuple[str, bytes]]:
    """Compile, and give the modules dumped around the passes that match, by file name in order."""
    # A hit in JAX's compilation cache would dump nothing.
    was_on = jax.config.jax_enable_compilation_cache  # type: ignore[attr-defined]
    jax.config.update("jax_enable_compilation_cache", False)
    try:
        with tempfile.TemporaryDirectory() as folder:
            options = {"xla_dump_to": folder, "xla_dump_hlo_pass_re": passes, "xla_dump_hlo_as_proto": True}
            lowered.compile(compiler_options=options)
            return [(file.name, file.read_bytes()) for file in sorted(Path(folder).glob("*.hlo.pb"))]
    finally:
        jax.config.update("jax_enable_compilation_cache", was_on)
