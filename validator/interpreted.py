"""A counterexample on StableHLO's own interpreter, which runs each device as a process of a grid.

It computes one element after the other, but it knows no compiler: it runs where XLA refuses a program or has too few
devices.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from . import compat
from .compat import ir
from .explain.apart import apart
from .read.runnable import NotRunnableError
from .replicas import Limits, ReplicaRun, Side

LIMITS = Limits(devices=256, elements=1 << 18, ops=2_000)

_PROGRAM = "shardproof_device"
_MAIN = """
module {{
  func.func private @{program}({inputs}) -> ({outputs})
  func.func @main({arguments}) -> ({results}) {{
    %r:{count} = "interpreter.run_parallel"({passed}) {{programs = [{programs}]}} : ({types}) -> ({returned})
    {picked}
    return {named} : {results}
  }}
}}
"""


def interpreted(run: ReplicaRun, seconds: float) -> tuple[Any, Any]:
    """The expected and the actual element as the interpreter computes them, in a process of its own: it may abort.

    Raises `NotRunnableError`, with what it said, where it gives none within this time.
    """
    for side in (run.before, run.after):
        if side.replicas > compat.interpreted_devices():
            raise NotRunnableError(
                "StableHLO's interpreter of this jaxlib runs only as many devices as there are processors"
            )
    with tempfile.TemporaryFile() as said:

        def work() -> Iterator[tuple[str, Any]]:
            os.dup2(said.fileno(), 2)
            try:
                yield "values", tuple(_element(side, run.result) for side in (run.before, run.after))
            except NotRunnableError as error:
                yield "failed", str(error)
            except (ir.MLIRError, RuntimeError, ValueError, TypeError, AttributeError) as error:
                yield "failed", f"{type(error).__name__}: {error}".splitlines()[0]

        answer = apart(work, seconds, seconds)
        if answer is None:
            raise NotRunnableError(_ended(said, seconds))
    kind, content = answer
    if kind != "values":
        raise NotRunnableError(f"StableHLO's interpreter does not run it: {content}")
    return content


def _ended(said: IO[bytes], seconds: float) -> str:
    """Why there is no answer: the last thing that the process said, else the time."""
    said.seek(0)
    lines = [line for line in said.read().decode(errors="replace").splitlines() if "LLVM ERROR" in line]
    if lines:
        return f"StableHLO's interpreter does not run it: {lines[-1].partition('LLVM ERROR: ')[2]}"
    return f"StableHLO's interpreter gave no answer in {seconds:g} s"


def _element(side: Side, result: int) -> Any:
    """One element of one device's result, as a number of Python."""
    with compat.interpreter_context() as context, ir.Location.unknown():
        module = compat.parse_module(side.module, context)
        symbols = ir.SymbolTable(module.operation)
        _tell_apart(module)
        program = symbols["main"]
        kinds: Any = ir.FunctionType(ir.TypeAttr(program.attributes["function_type"]).value)
        symbols.set_symbol_name(program, _PROGRAM)
        main = ir.Module.parse(_main(kinds, side, result), context)
        module.body.append(main.body.operations[1].operation.clone())
        arguments = [
            _dense(array[device], ir.RankedTensorType(kind).element_type)
            for device in range(side.replicas)
            for array, kind in zip(side.inputs, kinds.inputs, strict=True)
        ]
        parts = [np.asarray(part).item() for part in compat.interpret(module, arguments)]
    return complex(*parts) if len(parts) == 2 else parts[0]


def _tell_apart(module: ir.Module) -> None:
    """Gives each collective a channel of its own, makes the devices partitions of one replica, and drops copies.

    The interpreter knows collectives by their channel and group only: a device that is ahead would meet the others in
    an earlier one. For the same reason none may run more than once.
    """
    numbers = itertools.count(1)
    for function in module.body.operations:
        outermost: set[ir.Operation] = set()
        if ir.StringAttr(function.attributes["sym_name"]).value == "main":
            outermost.update(view.operation for view in function.operation.regions[0].blocks[0].operations)
        for op in list(_inside(function.operation)):
            if op.name == "stablehlo.replica_id":
                with ir.InsertionPoint(op):
                    number = ir.Operation.create("stablehlo.partition_id", results=[op.results[0].type])
                op.results[0].replace_all_uses_with(number.results[0])
                op.erase()
            elif op.name == "mhlo.copy":
                op.results[0].replace_all_uses_with(op.operands[0])
                op.erase()
            elif "replica_groups" in op.attributes or "source_target_pairs" in op.attributes:
                if op not in outermost:
                    raise NotRunnableError("a collective in a loop, branch or function, whose runs it would mix up")
                handle = f"#stablehlo.channel_handle<handle = {next(numbers)}, type = 1>"
                op.attributes["channel_handle"] = ir.Attribute.parse(handle)
                if op.name in _BY_GLOBAL_IDS:
                    op.attributes["use_global_device_ids"] = ir.UnitAttr.get()


_BY_GLOBAL_IDS = frozenset({"stablehlo.all_gather", "stablehlo.all_reduce", "stablehlo.reduce_scatter"})


def _inside(op: ir.Operation) -> Iterator[ir.Operation]:
    """The op and all ops in its regions."""
    pending = [op]
    while pending:
        current = pending.pop()
        yield current
        for region in current.regions:
            for block in region.blocks:
                pending.extend(view.operation for view in block)


def _main(kinds: Any, side: Side, result: int) -> str:
    """A function that runs the program on every device and returns one element in a type that Python has."""
    inputs, outputs = [str(kind) for kind in kinds.inputs], [str(kind) for kind in kinds.results]
    device, *index = side.place
    tensor = ir.RankedTensorType(kinds.results[result])
    names = [f"%a{k}" for k in range(side.replicas * len(inputs))]
    picked, named, results = _picked(tensor, f"%r#{device * len(outputs) + result}", index)
    return _MAIN.format(
        program=_PROGRAM,
        inputs=", ".join(inputs),
        outputs=", ".join(outputs),
        arguments=", ".join(f"{name}: {kind}" for name, kind in zip(names, inputs * side.replicas, strict=True)),
        results=", ".join(results),
        count=side.replicas * len(outputs),
        passed=", ".join(names),
        programs="[" + ", ".join([f"@{_PROGRAM}"] * side.replicas) + "]",
        types=", ".join(inputs * side.replicas),
        returned=", ".join(outputs * side.replicas),
        picked=picked,
        named=", ".join(named),
    )


def _picked(tensor: ir.RankedTensorType, value: str, index: list[int]) -> tuple[str, list[str], list[str]]:
    """Ops that take one element out of a value, the names of what they give, and its types."""
    kind = tensor.element_type
    one = f"tensor<{'1x' * tensor.rank}{kind}>"
    bounds = ", ".join(f"{k}:{k + 1}" for k in index)
    lines = [
        f"%e = stablehlo.slice {value} [{bounds}] : ({tensor}) -> {one}",
        f"%s = stablehlo.reshape %e : ({one}) -> tensor<{kind}>",
    ]
    if isinstance(kind, ir.ComplexType) or str(kind).startswith("complex"):
        part = str(ir.ComplexType(kind).element_type)
        names = ["%re", "%im"]
        lines += [
            f"{name} = stablehlo.{op} %s : (tensor<{kind}>) -> tensor<{part}>"
            for name, op in zip(names, ("real", "imag"), strict=True)
        ]
    else:
        part, names = str(kind), ["%s"]
    wide = part if part.startswith(("i", "ui")) and part != "i1" else "ui8" if part == "i1" else "f64"
    if wide != part:
        lines += [f"{name}w = stablehlo.convert {name} : (tensor<{part}>) -> tensor<{wide}>" for name in names]
        names = [f"{name}w" for name in names]
    return "\n    ".join(lines), names, [f"tensor<{wide}>"] * len(names)


def _dense(array: np.ndarray, kind: ir.Type) -> ir.Attribute:
    """An array as an attribute of the program's element type, bit by bit."""
    get: Any = ir.DenseElementsAttr.get  # the stubs do not know arrays
    if array.dtype == np.bool_:
        packed = np.packbits(array, bitorder="little")
        return get(packed, type=ir.IntegerType.get_signless(1), shape=array.shape)
    if array.dtype.kind not in "iufc" or array.dtype.isbuiltin != 1:
        array = array.view(f"u{array.dtype.itemsize}")
    return get(np.ascontiguousarray(array), type=kind, shape=array.shape)
