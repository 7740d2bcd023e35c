"""Convolution with all its attributes, as one batched matrix product of windows and kernels."""

from __future__ import annotations

import math

import numpy as np

from ..read.attributes import ConvDims
from ..read.ir import Op
from .arithmetic import Arithmetic
from .windows import Window, padding_pairs, windows_of


def convolve(arithmetic: Arithmetic, op: Op, lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    dims = op.attributes["dimension_numbers"]
    assert isinstance(dims, ConvDims)
    left, right, result = op.operands[0].tensor, op.operands[1].tensor, op.results[0].tensor
    spatial = len(dims.input_spatial)

    def listed(name: str) -> tuple[int, ...]:
        given = op.attributes.get(name)
        return (1,) * spatial if given is None else tuple(int(n) for n in given)

    window = Window(
        size=tuple(right.shape[d] for d in dims.kernel_spatial),
        strides=listed("window_strides"),
        base_dilations=listed("lhs_dilation"),
        window_dilations=listed("rhs_dilation"),
        padding=padding_pairs(op, spatial),
    )
    images = lhs.transpose(0, *(d + 1 for d in (dims.input_batch, dims.input_feature, *dims.input_spatial)))
    kernels = rhs.transpose(
        0, *(d + 1 for d in (dims.kernel_output_feature, dims.kernel_input_feature, *dims.kernel_spatial))
    )
    reversal = op.attributes.get("window_reversal") or (False,) * spatial
    kernels = np.flip(kernels, axis=tuple(3 + k for k in range(spatial) if reversal[k]))

    devices, batch, features = images.shape[:3]
    flat = images.reshape(devices * batch * features, *images.shape[3:])
    zero = arithmetic.full((flat.shape[0],), 0, left.dtype)
    patches = windows_of(flat, zero, window)
    outputs, taps = patches.shape[1:-1], patches.shape[-1]
    places = math.prod(outputs)

    batch_groups = int(op.attributes.get("batch_group_count", 1))
    feature_groups = int(op.attributes.get("feature_group_count", 1))
    groups = batch_groups * feature_groups
    # Exactly one of the two counts differs from one, so that the groups split either the batch or the features.
    patches = patches.reshape(
        devices, batch_groups, batch // batch_groups, feature_groups, features // feature_groups, places, taps
    )
    patches = patches.transpose(0, 1, 3, 2, 5, 4, 6)
    rows = patches.reshape(devices, groups, (batch // batch_groups) * places, (features // feature_groups) * taps)
    out_features = kernels.shape[1]
    columns = kernels.reshape(devices, groups, out_features // groups, -1).transpose(0, 1, 3, 2)
    product = arithmetic.matmul(rows, columns, left.dtype, right.dtype, result.dtype)
    product = product.reshape(devices, groups, batch // batch_groups, *outputs, out_features // groups)
    # [devices, groups, batch, *outputs, features] to [devices, batch, groups * features, *outputs].
    moved = np.moveaxis(np.moveaxis(product, 1, 2), -1, 3)
    merged = moved.reshape(devices, batch // batch_groups, out_features, *outputs)
    order = [0] * (spatial + 3)
    order[dims.output_batch + 1], order[dims.output_feature + 1] = 1, 2
    for k, d in enumerate(dims.output_spatial):
        order[d + 1] = 3 + k
    return merged.transpose(order)
