"""The stages of one JAX program as `Program`s: as JAX wrote it, and before and after XLA's partitioner."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import jax_compat
from .compat import lowered_module
from .read.aide import trusting
from .read.errors import ReadError, ReadErrorKind
from .read.ir import Program, TensorType
from .read.pairs import find_pairs, with_layouts
from .read.program import read_pair, read_program
from .relation.layout import local_shape


@dataclass(frozen=True, slots=True)
class LaterModule:
    """The module that leaves one of XLA's passes, as a serialized HloProto."""

    pass_name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Stages:
    """One compilation. `before` and `after` are None where XLA did not partition, on one device."""

    name: str
    written: Program
    """The StableHLO that JAX wrote."""
    before: Program | None
    after: Program | None
    later: tuple[LaterModule, ...] = ()
    """What the passes after the partitioner made of the program, in order, where they were dumped."""

    @property
    def device_program(self) -> Program:
        """What each device runs, as far as the partitioner decides it."""
        return self.written if self.after is None else self.after

    def specification(self, program: Program | None = None) -> Program:
        """The program as written, or another for its place, with the layouts of this compilation at its boundary.

        A layout that the user's program leaves open is the compiler's choice, so it is taken from the module that
        enters the partitioner. What the user demands is not.
        """
        program = self.written if program is None else program
        chosen = self.written if self.before is None else self.before
        return with_layouts(program, self.written, chosen)


def lower(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, keep_unused: bool = False) -> Any:
    """The `jax.stages.Lowered` of a jitted function, of a function to be jitted, or of one that is lowered already."""
    import jax

    if isinstance(target, jax.stages.Lowered):
        if args or kwargs:
            raise TypeError("a lowered program takes no arguments")
        return target
    if isinstance(target, jax.stages.Compiled):
        raise TypeError("a compiled program holds no StableHLO any more: give the jitted or the lowered one")
    if hasattr(target, "lower"):
        return target.lower(*args, **kwargs)
    if not callable(target):
        raise TypeError(f"expected a function, a jitted function or a lowered program, not '{type(target).__name__}'")
    return jax.jit(target, keep_unused=keep_unused).lower(*args, **kwargs)


def stages_of_lowered(lowered: Any, passes: str = jax_compat.PARTITIONER) -> Stages:
    """Compiles a lowered program and reads what XLA made of it."""
    module = lowered_module(lowered)
    name = module_name(module)
    written = read_program(module, name=name)
    with tempfile.TemporaryDirectory(prefix="shardproof-") as folder:
        jax_compat.compile_apart(lowered, folder, passes)
        return read_dump(name, written, folder)


def module_name(module: Any) -> str:
    """The name of a StableHLO module, which is `jit_` and the function's."""
    return module.operation.attributes["sym_name"].value


def read_dump(name: str, written: Program, folder: str) -> Stages:
    """The stages of a program that XLA has dumped."""
    if written.num_devices == 1:
        return Stages(name, written, None, None)
    # XLA compiles helpers of its own beside the program on some platforms.
    pairs = find_pairs(folder)
    mine = [pair for pair in pairs if pair.module == name] or list(pairs)
    if len(mine) != 1:
        raise ReadError(ReadErrorKind.MISSING, name, f"XLA dumped {len(mine)} partitioned modules instead of one")
    sides = (f"{name} before partitioning", f"{name} after partitioning")
    with trusting():
        before, after = read_pair(mine[0].before, mine[0].after, names=sides)
    before, after = (replace(program, meshes=(*program.meshes, *written.meshes)) for program in (before, after))
    return Stages(name, written, _labelled(before, written), after, _later_modules(mine[0].after))


_PASS = re.compile(r"(?P<module>.+)\.(?P<order>\d{4})\.[^.]+\.after_(?P<name>[^.]+)\..*hlo\.pb")
_LAST_PASS = "layout-assignment"
"""From here on XLA prepares for one machine: layouts, fusions, calls of libraries."""


def _later_modules(after: Path) -> tuple[LaterModule, ...]:
    """What was dumped after the partitioner, of the same module, up to the last pass that is not the machine's."""
    start = _PASS.fullmatch(after.name)
    if start is None:
        return ()
    found = []
    for path in sorted(after.parent.iterdir()):
        match = _PASS.fullmatch(path.name)
        if match is None or match["module"] != start["module"] or match["order"] <= start["order"]:
            continue
        if match["name"] == _LAST_PASS:
            break
        if match["name"] != "pipeline-start":
            found.append(LaterModule(match["name"], path.read_bytes()))
    return tuple(found)


def _labelled(program: Program, written: Program) -> Program:
    """The program with the names that parameters and results have in the user's program: their paths in the tree."""
    if len(program.parameters) != len(written.parameters) or len(program.results) != len(written.results):
        return program
    return replace(
        program,
        parameters=tuple(
            replace(mine, label=named.label) for mine, named in zip(program.parameters, written.parameters, strict=True)
        ),
        results=tuple(
            replace(mine, label=named.label) for mine, named in zip(program.results, written.results, strict=True)
        ),
    )


def check_tensors(programs: Iterable[Program]) -> None:
    """Refuses programs that take or return tokens: ordered effects are not modelled."""
    for program in programs:
        for value in (*program.parameters, *program.results):
            if not isinstance(value.value.type, TensorType):
                message = f"'{value.label}' is a {value.value.type}: ordered effects are not modelled"
                raise ReadError(ReadErrorKind.UNSUPPORTED, program.source, message)


def check_shards(before: Program, after: Program) -> None:
    """Refuses layouts that do not explain the shapes of the devices' tensors, such as sums still to be taken."""
    for spec, implementation in zip(
        (*before.parameters, *before.results), (*after.parameters, *after.results), strict=True
    ):
        whole, own = spec.value.tensor, implementation.value.tensor
        if local_shape(whole.shape, spec.sharding) != own.shape:
            text = "no sharding" if spec.sharding is None else f"sharding '{spec.sharding.text}'"
            message = f"'{spec.label}' is {own} on each device, which {text} of {whole} does not explain"
            raise ReadError(ReadErrorKind.UNSUPPORTED, after.source, message)
