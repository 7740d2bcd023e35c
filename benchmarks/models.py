"""Models at full size, written for `jax.jit` over a mesh of named axes and never run: only shapes are given.

`python -m benchmarks.models NAME FOLDER [layers=N] [AXIS=N]... [widths=N] [topology=T]` lowers one and compiles it,
with XLA's module before and after partitioning dumped to the folder. The number of devices is fixed when JAX starts,
so each program needs a process of its own; `benchmarks.scale` starts them.
A topology of TPUs is compiled for ahead of time.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .compiling import compile_with_dumps
from .topology import NoCompilerError, devices

if TYPE_CHECKING:
    import jax

MAX_DEVICES = 2048
"""The CPU client refuses more."""


@dataclass(frozen=True)
class Size:
    """The numbers of one architecture; a number that an architecture does not have is 0."""

    layers: int
    hidden: int
    heads: int
    feed_forward: int
    vocabulary: int
    sequence: int
    batch: int
    key_heads: int = 0
    head: int = 128
    scan: bool = False
    dense_layers: int = 0
    experts: int = 0
    chosen: int = 0
    expert_width: int = 0
    query_rank: int = 0
    key_rank: int = 0
    rotary: int = 0

    def scaled(self, factor: int) -> Size:
        """All widths times a factor, the numbers of layers, heads, experts and devices as they are."""
        names = ("hidden", "feed_forward", "vocabulary", "sequence", "head", "expert_width", "query_rank", "key_rank")
        return replace(self, **{name: getattr(self, name) * factor for name in (*names, "rotary")})


@dataclass(frozen=True)
class Model:
    """A program by name: what it is made of, its mesh, and the function that lowers it."""

    size: Size
    axes: Mapping[str, int]
    lower: Callable[[Size, jax.sharding.Mesh], jax.stages.Lowered] = field(repr=False)

    @property
    def devices(self) -> int:
        return math.prod(self.axes.values())


def _llama(size: Size, mesh: jax.sharding.Mesh) -> jax.stages.Lowered:
    from .model_transformers import lower_llama

    return lower_llama(size, mesh)


def _deepseek(size: Size, mesh: jax.sharding.Mesh) -> jax.stages.Lowered:
    from .model_transformers import lower_deepseek

    return lower_deepseek(size, mesh)


def _decode(size: Size, mesh: jax.sharding.Mesh) -> jax.stages.Lowered:
    from .model_transformers import lower_decode

    return lower_decode(size, mesh)


def _vit(size: Size, mesh: jax.sharding.Mesh) -> jax.stages.Lowered:
    from .model_vision import lower_vit

    return lower_vit(size, mesh)


def _convnet(size: Size, mesh: jax.sharding.Mesh) -> jax.stages.Lowered:
    from .model_vision import lower_convnet

    return lower_convnet(size, mesh)


LLAMA_8B = Size(32, 4096, 32, 14336, 128256, 8192, 64, key_heads=8)
LLAMA_70B = Size(80, 8192, 64, 28672, 128256, 8192, 128, key_heads=8)
LLAMA_405B = Size(126, 16384, 128, 53248, 128256, 8192, 256, key_heads=8)
DEEPSEEK_V3 = Size(
    61, 7168, 128, 18432, 129280, 4096, 256, dense_layers=3, experts=256, chosen=8, expert_width=2048,
    query_rank=1536, key_rank=512, rotary=64,
)  # fmt: skip
VIT_L = Size(24, 1024, 16, 4096, 1000, 256, 4096, head=64)
RESNET_50 = Size(50, 64, 0, 0, 1000, 224, 4096)

MODELS: Mapping[str, Model] = {
    "llama3-8b": Model(LLAMA_8B, {"fsdp": 8, "tensor": 8}, _llama),
    "llama3-8b-scan": Model(replace(LLAMA_8B, scan=True), {"fsdp": 8, "tensor": 8}, _llama),
    "llama3-70b": Model(LLAMA_70B, {"fsdp": 64, "tensor": 8}, _llama),
    "llama3-70b-scan": Model(replace(LLAMA_70B, scan=True), {"fsdp": 64, "tensor": 8}, _llama),
    "llama3-405b": Model(LLAMA_405B, {"fsdp": 256, "tensor": 8}, _llama),
    "llama3-405b-scan": Model(replace(LLAMA_405B, scan=True), {"fsdp": 256, "tensor": 8}, _llama),
    "deepseek-v3": Model(DEEPSEEK_V3, {"fsdp": 8, "expert": 32, "tensor": 8}, _deepseek),
    "deepseek-v3-scan": Model(replace(DEEPSEEK_V3, scan=True), {"fsdp": 8, "expert": 32, "tensor": 8}, _deepseek),
    "llama3-70b-decode": Model(replace(LLAMA_70B, scan=True), {"fsdp": 8, "tensor": 8}, _decode),
    "vit-l": Model(VIT_L, {"fsdp": 64, "tensor": 8}, _vit),
    "resnet-50": Model(RESNET_50, {"fsdp": 64, "tensor": 4}, _convnet),
}


@dataclass(frozen=True)
class Variant:
    """A model with some numbers changed, for growth series."""

    name: str
    layers: int | None = None
    widths: int = 1
    axes: tuple[tuple[str, int], ...] = ()
    topology: str = ""
    """Of TPUs, such as `v5e:8x8`; of host devices if there is none."""

    @property
    def model(self) -> Model:
        known = MODELS[self.name]
        size = known.size if self.layers is None else replace(known.size, layers=self.layers)
        axes = {**known.axes, **dict(self.axes)}
        return replace(known, size=size.scaled(self.widths), axes=axes)

    @property
    def module(self) -> str:
        return "benchmarks.models"

    @property
    def devices(self) -> int:
        return self.model.devices

    @property
    def arguments(self) -> list[str]:
        """What `python -m benchmarks.models` takes to build it."""
        changes = [f"layers={self.layers}"] if self.layers is not None else []
        changes += [f"widths={self.widths}"] if self.widths != 1 else []
        changes += [f"topology={self.topology}"] if self.topology else []
        return [self.name, *changes, *(f"{axis}={count}" for axis, count in self.axes)]

    def __str__(self) -> str:
        return " ".join(self.arguments)


def parse(name: str, changes: list[str]) -> Variant:
    """A variant from its arguments; `ValueError` where they name nothing."""
    if name not in MODELS:
        raise ValueError(f"no model '{name}'; there are {', '.join(MODELS)}")
    variant = Variant(name)
    for change in changes:
        key, _, value = change.partition("=")
        if key == "layers":
            variant = replace(variant, layers=int(value))
        elif key == "widths":
            variant = replace(variant, widths=int(value))
        elif key == "topology":
            variant = replace(variant, topology=value)
        elif key in MODELS[name].axes:
            variant = replace(variant, axes=(*variant.axes, (key, int(value))))
        else:
            raise ValueError(f"'{name}' has no '{key}'")
    return variant


def lower(variant: Variant) -> Any:
    """Lower a variant; JAX starts here, with as many CPU devices as the mesh needs, or for those of a topology."""
    model = variant.model
    if variant.topology:
        return _lowered(model, devices(variant.topology)[: model.devices])
    if model.devices > MAX_DEVICES:
        raise ValueError(f"{model.devices} devices; the CPU client has at most {MAX_DEVICES}")
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={model.devices}".strip()
    import jax

    return _lowered(model, jax.devices("cpu"))


def _lowered(model: Model, found: list[Any]) -> Any:
    import jax
    import numpy as np

    if len(found) < model.devices:
        raise ValueError(f"{model.devices} devices; there are {len(found)}")
    jax.config.update("jax_enable_compilation_cache", False)
    mesh = jax.sharding.Mesh(np.array(found).reshape(tuple(model.axes.values())), tuple(model.axes))
    return model.lower(model.size, mesh)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description="Compile one model, with dumps.")
    parser.add_argument("name", choices=MODELS)
    parser.add_argument("folder")
    parser.add_argument("changes", nargs="*", metavar="KEY=N", help="layers=N, widths=N, topology=T or a mesh axis=N")
    options = parser.parse_args(arguments)
    try:
        lowered = lower(parse(options.name, options.changes))
    except (NoCompilerError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    compile_with_dumps(lowered, options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
