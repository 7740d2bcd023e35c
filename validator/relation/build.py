"""Relations written down from shapes: boxes, affine index maps, reshapes, tables over devices and indices.

Every point starts with the device coordinates `d0, d1, …` (none for a program without devices) and goes on with the
local index `i0, i1, …`. Texts are cached by the store, so equal builders cost one dictionary look-up.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .mesh import Box, Mesh, affine_fit, boxes

if TYPE_CHECKING:
    from .objects import Dom, Rel
    from .store import Store


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{k}" for k in range(count)]


def affine(terms: Sequence[tuple[int, str]], constant: int = 0) -> str:
    """An affine expression in isl's notation, which accepts neither `+ -1` nor `(-1)*d0`."""
    text = ""
    for factor, name in terms:
        if factor:
            sign = "-" if factor < 0 else "+"
            body = name if abs(factor) == 1 else f"{abs(factor)}{name}"
            text = f"{text} {sign} {body}" if text else (f"-{body}" if factor < 0 else body)
    if constant or not text:
        text = f"{text} {'-' if constant < 0 else '+'} {abs(constant)}" if text else str(constant)
    return text


def box_constraints(variables: Sequence[str], extents: Sequence[int]) -> list[str]:
    return [f"0 <= {name} < {extent}" for name, extent in zip(variables, extents, strict=True)]


def leading(store: Any, count: int, arity: int) -> Rel:
    """{p -> the first `arity` coordinates of p} for points of `count` coordinates."""
    variables = names("p", count)
    return store.rel(f"{{[{','.join(variables)}] -> [{','.join(variables[:arity])}]}}")


def passing(store: Any, count: int) -> Rel:
    """{x -> x} for tuples of `count` integers."""
    inner = ",".join(names("g", count))
    return store.rel(f"{{[{inner}] -> [{inner}]}}")


def constant(store: Any, domain: Dom, *numbers: int) -> Rel:
    """{p -> [numbers]} on the domain."""
    variables = ",".join(names("p", domain.arity))
    return store.restrict(store.rel(f"{{[{variables}] -> [{','.join(map(str, numbers))}]}}"), domain)


class Builder:
    """Builds relations whose points carry the coordinates of one mesh."""

    def __init__(self, store: Store, mesh: Mesh) -> None:
        self.store = store
        self.mesh = mesh
        self.device = names("d", len(mesh.sizes))
        self._device_box = box_constraints(self.device, mesh.sizes)
        self.memo: dict[Hashable, Any] = {}
        """What others derive from this mesh, by keys that hold the objects they name."""

    def _tuple(self, local: Sequence[str]) -> str:
        return f"[{','.join([*self.device, *local])}]"

    def relation(
        self, shape: Sequence[int], outputs: Sequence[str], where: Sequence[str] = (), exists: Sequence[str] = ()
    ) -> Rel:
        """{[d, i] -> [outputs]} with i in the box of `shape`, device coordinates in range and further constraints."""
        local = names("i", len(shape))
        constraints = [*self._device_box, *box_constraints(local, shape), *where]
        body = " and ".join(constraints) or "1 = 1"
        if exists:
            body = f"exists ({','.join(exists)} : {body})"
        return self.store.rel(f"{{{self._tuple(local)} -> [{','.join(outputs)}] : {body}}}")

    def moved(self, shape: Sequence[int], outputs: Sequence[str], where: Sequence[str] = ()) -> Rel:
        """Like `relation`, and the device coordinates stay: {[d, i] -> [d, outputs]}."""
        return self.relation(shape, [*self.device, *outputs], where)

    def linked(
        self,
        shape: Sequence[int],
        inner: Sequence[str],
        where: Sequence[str],
        device: Sequence[str] | None = None,
    ) -> Rel:
        """{[d, i] -> [d', x]}, x (and d' where given) being fresh variables bound by constraints only."""
        target = self.device if device is None else device
        return self.relation(shape, [*target, *inner], where)

    def points(self, shape: Sequence[int]) -> Dom:
        """All points of a value of this local shape."""
        local = names("i", len(shape))
        constraints = [*self._device_box, *box_constraints(local, shape)]
        body = " and ".join(constraints) or "1 = 1"
        return self.store.dom(f"{{{self._tuple(local)} : {body}}}")

    def where(self, shape: Sequence[int], constraints: Sequence[str]) -> Dom:
        """The points of this local shape that fulfil the constraints (over d0…, i0…)."""
        local = names("i", len(shape))
        body = " and ".join([*self._device_box, *box_constraints(local, shape), *constraints]) or "1 = 1"
        return self.store.dom(f"{{{self._tuple(local)} : {body}}}")

    def identity(self, shape: Sequence[int]) -> Rel:
        """{[d, i] -> [d, i]}."""
        return self.moved(shape, names("i", len(shape)))

    def local_identity(self, shape: Sequence[int]) -> Rel:
        """{[d, i] -> [i]}: every device holds the whole value."""
        return self.relation(shape, names("i", len(shape)))

    def reshape(self, shape: Sequence[int], source: Sequence[int]) -> Rel:
        """{[d, i] -> [d, x]}: equal row-major position, cut into the smallest groups of dimensions that match."""
        key = ("reshape", tuple(shape), tuple(source))
        known = self.memo.get(key)
        if known is None:
            known = self.memo[key] = self._reshape(shape, source)
        return known

    def _reshape(self, shape: Sequence[int], source: Sequence[int]) -> Rel:
        outputs = names("x", len(source))
        constraints = box_constraints(outputs, source)
        for out_dims, in_dims in reshape_groups(shape, source):
            left = affine(strides_of("i", out_dims, shape))
            right = affine(strides_of("x", in_dims, source))
            constraints.append(f"{left} = {right}")
        return self.linked(shape, outputs, constraints)

    def table(self, grid: np.ndarray, shape: Sequence[int]) -> Rel | None:
        """{[d, i] -> [n]} for integers given for each device and local index, or None where it takes too many boxes.

        `grid` has shape [devices or 1, *shape].
        """
        if not grid.size:
            return self.relation(shape, ["0"])
        per_device = grid.shape[0] != 1 or not self.mesh.sizes
        values = self.mesh.grid(grid) if per_device and self.mesh.sizes else grid.reshape(shape)
        variables = [*(self.device if per_device else []), *names("i", len(shape))]
        found = boxes(values)
        if (found is None or len(found) > 1) and not per_device:
            by_coordinates = self._table_of_devices(values)
            if by_coordinates is not None:
                return by_coordinates
        if found is None:
            return None
        pieces = [self._box_piece(box, variables, shape) for box in found]
        return self.store.rel("{" + "; ".join(pieces) + "}")

    def _table_of_devices(self, values: np.ndarray) -> Rel | None:
        """{[d, i] -> [n]} for one entry a device, where it is affine in the coordinates of device i; else None."""
        if values.shape != (self.mesh.num_devices,) or len(self.mesh.sizes) < 2:
            return None
        fit = affine_fit(self.mesh.grid(values))
        if fit is None:
            return None
        digits = names("e", len(self.mesh.sizes))
        entry = affine(strides_of("e", range(len(digits)), self.mesh.sizes))
        value = affine(list(zip(fit[1], digits, strict=True)), fit[0])
        inside = [*self._device_box, *box_constraints(digits, self.mesh.sizes), f"i0 = {entry}", f"n = {value}"]
        return self.store.rel(f"{{{self._tuple(['i0'])} -> [n] : exists {','.join(digits)} : {' and '.join(inside)}}}")

    def _box_piece(self, box: Box, variables: Sequence[str], shape: Sequence[int]) -> str:
        local = names("i", len(shape))
        bounds = [f"{low} <= {name} < {high}" for name, (low, high) in zip(variables, box.bounds, strict=True)]
        if len(variables) == len(local):
            bounds = [*self._device_box, *bounds]
        value = affine(list(zip(box.coefficients, variables, strict=True)), box.constant)
        return f"{self._tuple(local)} -> [{value}] : {' and '.join(bounds) or '1 = 1'}"

    def devices_related(self, grid: np.ndarray) -> Rel | None:
        """{[d] -> [d']} from a vector [devices] of device numbers, -1 for none; None where it takes too many boxes."""
        if not self.mesh.sizes:
            return None
        sources = self.mesh.grid(np.asarray(grid))
        found = boxes(sources)
        if found is None:
            return None
        others = names("e", len(self.mesh.sizes))
        number = affine(strides_of("e", range(len(others)), self.mesh.sizes))
        pieces = []
        for box in found:
            bounds = [f"{low} <= {name} < {high}" for name, (low, high) in zip(self.device, box.bounds, strict=True)]
            inside = sources[tuple(slice(*bound) for bound in box.bounds)]
            if inside.max() < 0:
                continue
            digits = self._digits(inside, box)
            if digits is None:
                # no number below 0 has digits in range, so a device without a source is in no piece
                source = affine(list(zip(box.coefficients, self.device, strict=True)), box.constant)
                bounds += [*box_constraints(others, self.mesh.sizes), f"{number} = {source}"]
            outputs = others if digits is None else digits
            pieces.append(f"[{','.join(self.device)}] -> [{','.join(outputs)}] : {' and '.join(bounds)}")
        return self.store.rel("{" + "; ".join(pieces) + "}") if pieces else None

    def _digits(self, sources: np.ndarray, box: Box) -> list[str] | None:
        """Every digit of the sources in a box as an expression, None where one is not affine or a source is missing."""
        if sources.min() < 0:
            return None
        table = self.mesh.coordinates[sources]
        outputs = []
        for k in range(table.shape[-1]):
            fit = affine_fit(table[..., k])
            if fit is None:
                return None
            origin = fit[0] - sum(c * low for c, (low, _) in zip(fit[1], box.bounds, strict=True))
            outputs.append(affine(list(zip(fit[1], self.device, strict=True)), origin))
        return outputs


def strides_of(prefix: str, dims: Sequence[int], shape: Sequence[int]) -> list[tuple[int, str]]:
    """Row-major terms (stride, name) of some dimensions of a shape."""
    terms: list[tuple[int, str]] = []
    stride = 1
    for dim in reversed(dims):
        terms.append((stride, f"{prefix}{dim}"))
        stride *= shape[dim]
    return terms[::-1]


def reshape_groups(shape: Sequence[int], source: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Pairs of runs of dimensions (of the result, of the operand) with equal products, as short as they can be."""
    groups: list[tuple[list[int], list[int]]] = []
    out, inner = 0, 0
    while out < len(shape) or inner < len(source):
        left: list[int] = []
        right: list[int] = []
        size_left = size_right = 1
        if out < len(shape):
            left.append(out)
            size_left = shape[out]
            out += 1
        if inner < len(source):
            right.append(inner)
            size_right = source[inner]
            inner += 1
        while size_left != size_right:
            if size_left < size_right and out < len(shape):
                left.append(out)
                size_left *= shape[out]
                out += 1
            elif inner < len(source):
                right.append(inner)
                size_right *= source[inner]
                inner += 1
            else:
                break
        groups.append((left, right))
    return groups
