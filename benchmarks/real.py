"""Proves train steps of real model code, MaxText and flax, one row each: `python -m benchmarks.real [NAME]...`.

The columns are those of `benchmarks.scale`. The models are compiled by an interpreter that has MaxText and flax, named
by `--python`; README.md of this folder tells how to make one. Nothing is run: MaxText lowers its steps from shapes.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from pathlib import Path

from .compiling import CACHE
from .flax_models import AXES, MODELS
from .maxtext import DEVICES
from .scale import COLUMNS, row

DENSE = ("sparse_matmul=false", "megablox=false", "capacity_factor=1.0")
"""Experts as einsums over slots, which every backend has; the other way is a kernel."""

ONE_HEAD = ("ici_fsdp_parallelism=512", "ici_tensor_parallelism=1")
FOUR_HEADS = ("ici_fsdp_parallelism=128", "ici_tensor_parallelism=4")


@dataclass(frozen=True, slots=True)
class MaxText:
    """A model of MaxText's list on 512 devices, 64 × 8 unless its key heads ask for another mesh."""

    name: str
    settings: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        return "benchmarks.maxtext"

    @property
    def devices(self) -> int:
        return DEVICES

    @property
    def arguments(self) -> list[str]:
        return [self.name, *self.settings]

    def __str__(self) -> str:
        return f"maxtext {self.name}"


@dataclass(frozen=True, slots=True)
class Flax:
    """A model of `benchmarks.flax_models`."""

    name: str

    @property
    def module(self) -> str:
        return "benchmarks.flax_models"

    @property
    def devices(self) -> int:
        return math.prod(AXES.values())

    @property
    def arguments(self) -> list[str]:
        return [self.name]

    def __str__(self) -> str:
        return self.name


PROGRAMS: tuple[MaxText | Flax, ...] = (
    *(MaxText(name) for name in ("llama2-7b", "llama2-13b", "llama2-70b", "llama3-8b", "llama3-70b")),
    *(MaxText(name) for name in ("llama3.1-8b", "llama3.1-70b", "llama3.1-405b", "llama3.3-70b", "mistral-7b")),
    MaxText("gemma-2b", ONE_HEAD),
    MaxText("gemma-7b"),
    MaxText("gemma2-2b", FOUR_HEADS),
    *(MaxText(name) for name in ("gemma2-9b", "gemma2-27b", "gemma3-12b", "gemma3-27b")),
    MaxText("gemma3-4b", FOUR_HEADS),
    MaxText("qwen2.5-7b", FOUR_HEADS),
    *(MaxText(name) for name in ("qwen2.5-14b", "qwen3-8b", "qwen3-14b", "qwen3-32b")),
    *(MaxText(name) for name in ("gpt3-22b", "gpt3-175b")),
    *(MaxText(name, DENSE) for name in ("mixtral-8x7b", "mixtral-8x22b", "deepseek2-16b", "deepseek3-671b")),
    MaxText("qwen3-30b-a3b", (*DENSE, *FOUR_HEADS)),
    *(Flax(name) for name in MODELS),
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real", description="Prove train steps of MaxText and flax, one row each."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only programs whose name ends in one of these")
    parser.add_argument("--python", default=sys.executable, metavar="PATH", help="interpreter with MaxText and flax")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help=f"dumps (default {CACHE})")
    parser.add_argument("--whole", action="store_true", help="let XLA finish, to compare with its whole time")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="S", help="seconds a program (default 300)")
    options = parser.parse_args(arguments)
    chosen = [program for program in PROGRAMS if not options.names or str(program).endswith(tuple(options.names))]
    print(COLUMNS)
    proved = True
    for program in chosen:
        made = row(program, options.cache, whole=options.whole, limit=options.timeout, python=options.python)
        proved &= made.measured is not None and made.measured.verdict == "PROVED"
        print(made, flush=True)
    return 0 if proved else 1


if __name__ == "__main__":
    sys.exit(main())
