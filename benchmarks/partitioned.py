"""Compiles a lowered program in this process, and keeps the modules around the partitioner."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jax


def partitioned(lowered: jax.stages.Lowered) -> tuple[jax.stages.Compiled, bytes, bytes | None]:
    """The compiled program and the modules before and after partitioning; None where nothing is partitioned."""
    with tempfile.TemporaryDirectory() as folder:
        options = {"xla_dump_to": folder, "xla_dump_hlo_pass_re": ".*spmd-partitioning", "xla_dump_hlo_as_proto": True}
        compiled = lowered.compile(compiler_options=options)
        dumped = [(file.name, file) for file in Path(folder).glob("*.hlo.pb")]
        # TPUs have a pass of their own, whose name ends like this
        after = [file.read_bytes() for name, file in dumped if re.search(r"\.after_(\w+-)?spmd-partitioning", name)]
        before = [file.read_bytes() for name, file in dumped if re.search(r"\.before_(\w+-)?spmd-partitioning", name)]
    return (compiled, before[0], after[0]) if after and before else (compiled, b"", None)
