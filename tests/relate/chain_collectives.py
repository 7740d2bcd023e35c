"""Random collectives over random groups."""

from __future__ import annotations

import numpy as np

from shardproof.validator.read.attributes import (
    DeviceGroups,
    DevicePairs,
)
from shardproof.validator.read.ir import DType, Region

from .chain import ANY, LARGEST, NUMBERS, Chain, device_order, groups


def all_gather(chain: Chain) -> None:
    value = chain.pick(*ANY, rank=1)
    table = groups(chain.rng, chain.devices)
    if value is not None and value.tensor.size * table.table.shape[1] <= LARGEST:
        axis = chain.draw(0, value.tensor.rank - 1)
        shape = [n * (table.table.shape[1] if k == axis else 1) for k, n in enumerate(value.tensor.shape)]
        chain.emit("all_gather", [value], shape, value.tensor.dtype, all_gather_dim=axis, replica_groups=table)


def all_to_all(chain: Chain) -> None:
    value = chain.pick(*ANY, rank=1)
    table = groups(chain.rng, chain.devices)
    if value is None:
        return
    size = table.table.shape[1]
    fitting = [k for k, n in enumerate(value.tensor.shape) if n % size == 0]
    if fitting:
        split, concat = int(chain.rng.choice(fitting)), chain.draw(0, value.tensor.rank - 1)
        shape = list(value.tensor.shape)
        shape[split] //= size
        shape[concat] *= size
        chain.emit(
            "all_to_all", [value], shape, value.tensor.dtype, split_dimension=split, concat_dimension=concat,
            split_count=size, replica_groups=table,
        )  # fmt: skip


def collective_permute(chain: Chain) -> None:
    value = chain.pick(*NUMBERS)
    if value is not None:
        count = chain.draw(0, chain.devices)
        sources, targets = (device_order(chain.rng, chain.devices)[:count] for _ in range(2))
        pairs = DevicePairs(np.stack([sources, targets], axis=1).astype(np.int64).reshape(-1, 2))
        shape, dtype = value.tensor.shape, value.tensor.dtype
        chain.emit("collective_permute", [value], shape, dtype, source_target_pairs=pairs)


def collective_broadcast(chain: Chain) -> None:
    value = chain.pick(*NUMBERS)
    if value is not None:
        table = groups(chain.rng, chain.devices).table
        chosen = DeviceGroups(table[: chain.draw(1, len(table))])
        shape, dtype = value.tensor.shape, value.tensor.dtype
        chain.emit("collective_broadcast", [value], shape, dtype, replica_groups=chosen)


def _combining(chain: Chain, dtype: DType) -> tuple[Region, ...]:
    names = ("and", "or") if dtype is DType.I1 else ("add", "maximum", "minimum", "multiply")
    return (chain.reducer(names[chain.draw(0, len(names) - 1)], dtype),)


def all_reduce(chain: Chain) -> None:
    value = chain.pick(*ANY)
    if value is not None:
        dtype = value.tensor.dtype
        table = groups(chain.rng, chain.devices)
        chain.emit("all_reduce", [value], value.tensor.shape, dtype, _combining(chain, dtype), replica_groups=table)


def reduce_scatter(chain: Chain) -> None:
    value = chain.pick(*NUMBERS, rank=1)
    table = groups(chain.rng, chain.devices)
    if value is None:
        return
    size = table.table.shape[1]
    fitting = [k for k, n in enumerate(value.tensor.shape) if n % size == 0]
    if fitting:
        axis, dtype = int(chain.rng.choice(fitting)), value.tensor.dtype
        shape = [n // (size if k == axis else 1) for k, n in enumerate(value.tensor.shape)]
        region = _combining(chain, dtype)
        chain.emit(
            "reduce_scatter", [value], shape, dtype, region, scatter_dimension=axis, replica_groups=table
        )  # fmt: skip
