"""Files of the dialect made from Python, and the one form that files are printed in.

That form is MLIR's generic one, as `mlir-opt --mlir-print-op-generic` prints it, so that reading a printed file and
printing it again gives the same bytes, in any of the tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..passes.rewriting import state_device_counts
from ..validator.compat import ir, new_context, parse_module
from ..validator.ops.record import Theory
from ..validator.options import Assumption
from ..validator.read.files import identify
from ..validator.read.mesh_ops import MESHES, OWN_MESH, read_mesh
from ..validator.read.mlir_text import parse_file
from ..validator.read.program import stablehlo_of
from ..validator.report.verdict import Verdict
from .definition import DIALECT
from .entries import Entry, Repeat, Shard, read_entries
from .verify import WITH_RELATIONS, verify

Module = str | bytes | ir.Module
"""A program: its text or bytes in any format that the validator reads, or a module."""


def printed(module: ir.Module) -> str:
    """The text of a file, ending as MLIR's tools end theirs."""
    return f"{module.operation.get_asm(print_generic_op_form=True)}\n"


def canonical(module: ir.Module) -> None:
    """Rewrites the relations and assumptions of a file to the one spelling there is for what they say.

    Raises `EntryError` for a malformed entry.
    """
    ops: list[Any] = [view.operation for view in module.body.operations]
    meshes = [read_mesh(op)[0] for op in ops if op.name in MESHES]
    only = meshes[0] if len(meshes) == 1 else None
    for op in ops:
        if op.name not in WITH_RELATIONS:
            continue
        for key in ("parameters", "results"):
            if key in op.attributes:
                entries = [_named(entry, only) for entry in read_entries(key, op.attributes[key])]
                op.attributes[key] = ir.Attribute.parse(_list(entries), module.context)
        if "assume" in op.attributes:
            names = sorted({str(each) for each in op.attributes["assume"]})
            op.attributes["assume"] = ir.Attribute.parse(_list(names), module.context)


def _named(entry: Entry, mesh: str | None) -> Entry:
    """The entry with the file's only mesh where it names none."""
    match entry:
        case Shard(dimension, axes, None) if axes:
            return Shard(dimension, axes, mesh)
        case Repeat(entries, count):
            return Repeat(tuple(_named(each, mesh) for each in entries), count)
        case _:
            return entry


def _list(items: Iterable[object]) -> str:
    return f"[{', '.join(map(str, items))}]"


def relations_text(
    parameters: Sequence[Entry] | None = None,
    results: Sequence[Entry] | None = None,
    meshes: Mapping[str, Mapping[str, int]] | None = None,
) -> str:
    """A relation file. A mesh is given by its name, its axes and their sizes, from major to minor.

    Raises ValueError for relations that break a rule of the dialect.
    """
    op = f'"{DIALECT}.relations"() {{{", ".join(_lists(parameters, results))}}} : () -> ()'
    return _printed(f"{_mesh_ops(meshes)}{op}")


def problem_text(
    spec: Module,
    impl: Module,
    *,
    expect: Verdict,
    theory: Theory = Theory.REASSOCIATED,
    parameters: Sequence[Entry] | None = None,
    results: Sequence[Entry] | None = None,
    meshes: Mapping[str, Mapping[str, int]] | None = None,
    relations: bytes | None = None,
    assume: Iterable[Assumption] = (),
    proof: Theory | None = None,
    name: str | None = None,
) -> str:
    """A problem file that holds both programs, with lists of relations where the programs' shardings do not tell them.

    `relations` is the content of a relation file, in place of lists and meshes. Raises `ReadError` for a program that
    cannot be read, and ValueError for relations that break a rule of the dialect.
    """
    attributes = ["spec = @spec", "impl = @impl", f'theory = "{theory.value}"', f'expect = "{expect.name}"']
    heads, lists = (_mesh_ops(meshes), _lists(parameters, results)) if relations is None else _taken_over(relations)
    attributes += lists
    assumed = sorted(f'"{assumption.value}"' for assumption in assume)
    attributes += [f"assume = {_list(assumed)}"] if assumed else []
    attributes += [f'proof = "{proof.value}"'] if proof is not None else []
    attributes += [f"sym_name = {ir.StringAttr.get(name, new_context())}"] if name is not None else []
    sides = "\n".join(_side(module, side) for module, side in ((spec, "spec"), (impl, "impl")))
    op = f'"{DIALECT}.problem"() {{{", ".join(attributes)}}} : () -> ()'
    return _printed(f"{heads}{sides}\n{op}")


def _taken_over(relations: bytes) -> tuple[str, list[str]]:
    """The meshes of a relation file, and its lists as attributes."""
    heads, lists = "", []
    for view in parse_file(relations, "relations").body.operations:
        op: Any = view.operation
        if op.name in MESHES:
            heads += op.get_asm(print_generic_op_form=True, use_local_scope=True) + "\n"
        else:
            lists += [f"{key} = {op.attributes[key]}" for key in ("parameters", "results") if key in op.attributes]
    return heads, lists


def _printed(text: str) -> str:
    try:
        module = parse_module(text, new_context(allow_unregistered=True))
    except ir.MLIRError as error:
        raise ValueError(error.error_diagnostics[0].message if error.error_diagnostics else str(error)) from None
    for finding in verify(module):
        raise ValueError(finding.message)
    canonical(module)
    return printed(module)


def _lists(parameters: Sequence[Entry] | None, results: Sequence[Entry] | None) -> list[str]:
    named = (("parameters", parameters), ("results", results))
    return [f"{key} = {_list(entries)}" for key, entries in named if entries is not None]


def _mesh_ops(meshes: Mapping[str, Mapping[str, int]] | None) -> str:
    return "".join(
        f'"{OWN_MESH}"() {{sym_name = "{name}", axes = {_list(f"{chr(34)}{axis}{chr(34)}" for axis in axes)}, '
        f"sizes = array<i64: {', '.join(map(str, axes.values()))}>}} : () -> ()\n"
        for name, axes in (meshes or {}).items()
    )


def _side(source: Module, name: str) -> str:
    """A program as a module of this name, which states its device counts."""
    counts = None
    if isinstance(source, ir.Module):
        copied = str(source.operation.get_asm(print_generic_op_form=True))
        module: Any = parse_module(copied, new_context(allow_unregistered=True))
    else:
        data = source.encode() if isinstance(source, str) else source
        module, counts = stablehlo_of(identify(data, name))
    if counts is not None:
        state_device_counts(module, counts)
    with module.context:
        module.operation.attributes["sym_name"] = ir.StringAttr.get(name)
    return module.operation.get_asm(print_generic_op_form=True, use_local_scope=True)
