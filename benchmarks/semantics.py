"""Random operations on XLA and on the reference evaluator: `python -m benchmarks.semantics --out FILE`.

Each module is run by XLA on the CPU, and evaluated as StableHLO, as the HLO that XLA makes of it, and as the HLO that
it has optimised: what a reader or a record misunderstands, nothing else inside the project would see.
A difference makes the exit code 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxlib import _hlo, _jax  # pyright: ignore[reportAttributeAccessIssue]

from shardproof.validator import compat
from shardproof.validator.evaluate.arithmetic import Native
from shardproof.validator.evaluate.errors import EvaluationError
from shardproof.validator.evaluate.machine import Machine
from shardproof.validator.read import ReadError, read_program

from .random_ops import FAMILIES, RandomOp, random_op

FORMS = ("StableHLO", "HLO", "optimised HLO")


def run(text: str, inputs: Sequence[np.ndarray]) -> tuple[list[np.ndarray], dict[str, str | bytes]]:
    """XLA's results on one device, and the module in each form."""
    code = compat.bytecode_of(compat.parse_module(text, compat.new_context()))
    made = _jax.mlir.mlir_module_to_xla_computation(code, False, False)
    device = jax.devices()[0]
    executable = device.client.compile_and_load(code, _jax.DeviceList((device,)), _jax.CompileOptions())
    placed = [jax.device_put(array, device) for array in inputs]
    results = executable.execute_sharded(placed).disassemble_into_single_device_arrays()
    options: Any = _hlo.HloPrintOptions()
    options.print_large_constants = True
    forms = (text, made.as_serialized_hlo_module_proto(), executable.hlo_modules()[0].to_string(options))
    return [np.asarray(parts[0]) for parts in results], dict(zip(FORMS, forms, strict=True))


def compare(op: RandomOp) -> dict[str, str]:
    """Of each form: `same`, `differs`, `open` where nothing is defined on these inputs, or why there is no answer."""
    with jax.enable_x64(True):
        wanted, forms = run(op.text, op.inputs)
    found: dict[str, str] = {}
    for name, form in forms.items():
        try:
            program, machine = read_program(form), Machine(1, Native())
            results = [result[0] for result in machine.run(program, [array[None] for array in op.inputs])]
        except (ReadError, EvaluationError) as error:
            found[name] = f"unsupported: {error}"
            continue
        agree = all(_agree(mine, xla, op.tolerance) for mine, xla in zip(results, wanted, strict=True))
        found[name] = "same" if agree else "open" if machine.undefined or machine.unordered else "differs"
    return found


def _agree(mine: np.ndarray, xla: np.ndarray, tolerance: float) -> bool:
    if mine.shape != xla.shape:
        return False
    if not jax.numpy.issubdtype(xla.dtype, jax.numpy.inexact):
        # integers of less than a byte are held in one
        return np.array_equal(mine.astype(xla.dtype), xla)
    left, right = mine.astype(np.float64), xla.astype(np.float64)
    return mine.dtype == xla.dtype and np.allclose(left, right, rtol=tolerance, atol=tolerance, equal_nan=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.semantics", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="JSON, one line a module")
    parser.add_argument("--seeds", type=int, default=100, help="modules of each family")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--family", choices=sorted(FAMILIES), action="append", help="only this one")
    options = parser.parse_args(arguments)
    counts: dict[str, Counter[str]] = {}
    with options.out.open("a") as out:
        for seed in range(options.first, options.first + options.seeds):
            for family in options.family or sorted(FAMILIES):
                op = random_op(family, seed)
                if op is None:
                    continue
                found = compare(op)
                told = counts.setdefault(family, Counter())
                told.update(answer.partition(":")[0] for answer in found.values())
                row = {"family": family, "seed": seed, **found}
                out.write(json.dumps(row | ({} if set(found.values()) == {"same"} else {"text": op.text})) + "\n")
                out.flush()
    for family, told in sorted(counts.items()):
        print(family, dict(told))
    return 1 if any(told["differs"] for told in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
