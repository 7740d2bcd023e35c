"""Gradients of maxima over windows, by device with halos: right and broken."""

import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Program

from .pairs import Tensor, differs, program, proved

LOW = "0xFF800000"


def _selected(operand: Tensor, source: Tensor, compare: str, window: int, stride: int) -> str:
    return (
        f'%grad = "stablehlo.select_and_scatter"(%x, %ct, %zero) ({{\n'
        "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
        f"%c = stablehlo.compare {compare}, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "stablehlo.return %c : tensor<i1>\n}, {\n^bb0(%r: tensor<f32>, %s: tensor<f32>):\n"
        "%t = stablehlo.add %r, %s : tensor<f32>\nstablehlo.return %t : tensor<f32>\n}) "
        f"{{window_dimensions = array<i64: {window}, 1>, window_strides = array<i64: {stride}, 1>}} : "
        f"({operand}, {source}, tensor<f32>) -> {operand}\n"
    )


def _gathered(name: str, of: str, part: Tensor, whole: Tensor, devices: int, handle: int) -> str:
    return (
        f'%{name} = "stablehlo.all_gather"({of}) {{all_gather_dim = 0 : i64, '
        f"replica_groups = dense<[{list(range(devices))}]> : tensor<1x{devices}xi64>, "
        f"channel_handle = #stablehlo.channel_handle<handle = {handle}, type = 1>, use_global_device_ids}} : "
        f"({part}) -> {whole}\n"
    )


def _padded(name: str, of: str, value: str, before: Tensor, after: Tensor, low: int, high: int) -> str:
    return (
        f"%{name} = stablehlo.pad {of}, {value}, low = [{low}, 0], high = [{high}, 0], interior = [0, 0] : "
        f"({before}, tensor<f32>) -> {after}\n"
    )


class Pool:
    """Windows of three rows at every row, padded by one at each end, with rows on several devices."""

    def __init__(self, rows: int, devices: int) -> None:
        self.rows, self.devices, self.local = rows, devices, rows // devices
        self.tiles = f"{{devices=[{devices},1]<=[{devices}]}}"

    def before(self) -> Program:
        x, wide = Tensor((self.rows, 2), "f32", self.tiles), Tensor((self.rows + 2, 2), "f32")
        body = f"%low = stablehlo.constant dense<{LOW}> : tensor<f32>\n"
        body += "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
        body += _padded("x", "%a0", "%low", x, wide, 1, 1) + f"%ct = stablehlo.optimization_barrier %a1 : {x}\n"
        body += _selected(wide, x, "GE", 3, 1)
        body += f"%out = stablehlo.slice %grad [1:{self.rows + 1}, 0:2] : ({wide}) -> {x}\n"
        return program(body, [x, x], x, self.devices)

    def after(
        self, *, fill: str = LOW, source_fill: str = "0.0", compare: str = "GE", halo: int = 2, shift: int = 0
    ) -> Program:
        """Each device takes `halo` rows beyond its own on both sides, and the windows that lie in those."""
        part, whole = Tensor((self.local, 2), "f32", self.tiles), Tensor((self.rows, 2), "f32")
        wide, wide_source = Tensor((self.rows + 4, 2), "f32"), Tensor((self.rows + 4, 2), "f32")
        mine, source = Tensor((self.local + 2 * halo, 2), "f32"), Tensor((self.local + 2 * halo - 2, 2), "f32")
        starts = [d * self.local for d in range(self.devices)]
        body = (
            f"%low = stablehlo.constant dense<{fill}> : tensor<f32>\n"
            "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
            f"%fill = stablehlo.constant dense<{source_fill}> : tensor<f32>\n"
            + _gathered("all", "%a0", part, whole, self.devices, 1)
            + _gathered("every", "%a1", part, whole, self.devices, 2)
            + _padded("w", "%all", "%low", whole, wide, 2, 2)
            + _padded("v", "%every", "%fill", whole, wide_source, 2, 2)
            + f"%table = stablehlo.constant dense<{starts}> : tensor<{self.devices}xi32>\n"
            "%id = stablehlo.partition_id : tensor<ui32>\n%none = stablehlo.constant dense<0> : tensor<i32>\n"
            f"%at = stablehlo.dynamic_slice %table, %id, sizes = [1] : "
            f"(tensor<{self.devices}xi32>, tensor<ui32>) -> tensor<1xi32>\n"
            "%start = stablehlo.reshape %at : (tensor<1xi32>) -> tensor<i32>\n"
            f"%skip = stablehlo.constant dense<{2 - halo}> : tensor<i32>\n"
            f"%next = stablehlo.constant dense<{3 - halo + shift}> : tensor<i32>\n"
            "%first = stablehlo.add %start, %skip : tensor<i32>\n%second = stablehlo.add %start, %next : tensor<i32>\n"
            f"%x = stablehlo.dynamic_slice %w, %first, %none, sizes = [{mine.shape[0]}, 2] : "
            f"({wide}, tensor<i32>, tensor<i32>) -> {mine}\n"
            f"%ct = stablehlo.dynamic_slice %v, %second, %none, sizes = [{source.shape[0]}, 2] : "
            f"({wide_source}, tensor<i32>, tensor<i32>) -> {source}\n"
            + _selected(mine, source, compare, 3, 1)
            + f"%out = stablehlo.slice %grad [{halo}:{self.local + halo}, 0:2] : ({mine}) -> {part}\n"
        )
        return program(body, [part, part], part, self.devices)


@pytest.mark.parametrize(("rows", "devices"), [(12, 3), (8, 4), (6, 6)])
def test_overlapping_windows(rows: int, devices: int):
    pool = Pool(rows, devices)
    before = pool.before()
    right = pool.after()
    assert proved(before, right, Theory.REASSOCIATED)
    assert not differs(before, right)
    for broken in (
        pool.after(source_fill="1.0"),
        pool.after(compare="GT"),
        pool.after(halo=1),
        pool.after(shift=1),
    ):
        assert not proved(before, broken)


def test_padding_that_may_be_selected():
    pool = Pool(12, 3)
    assert not proved(pool.before(), pool.after(fill="0.0"))


def test_what_no_window_covers_is_the_start_value():
    """Windows of one row at every other row of five: two rows have no window, and another device may hold them."""
    devices, tiles = 3, "{devices=[1,3]<=[3]}"

    def made(width: int, compare: str) -> Program:
        x, ct = Tensor((5, width), "f32", tiles), Tensor((3, width), "f32", tiles)
        body = (
            "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
            f"%x = stablehlo.optimization_barrier %a0 : {x}\n%ct = stablehlo.optimization_barrier %a1 : {ct}\n"
        )
        body += _selected(x, ct, compare, 1, 2) + f"%out = stablehlo.optimization_barrier %grad : {x}\n"
        return program(body, [x, ct], x, devices)

    before = made(6, "GE")
    assert proved(before, made(2, "GE"), Theory.EXACT)
    assert not differs(before, made(2, "GE"))
