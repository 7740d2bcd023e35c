"""Reductions of windows by reducers that are no sum: by device with halos, padding and broken variants."""

import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Program

from .pairs import Tensor, differs, program, proved

LOGADDEXP = """%m = stablehlo.maximum %p, %q : tensor<f32>
%d = stablehlo.subtract %p, %q : tensor<f32>
%a = stablehlo.abs %d : tensor<f32>
%n = stablehlo.negate %a : tensor<f32>
%e = stablehlo.exponential %n : tensor<f32>
%l = stablehlo.log_plus_one %e : tensor<f32>
%nan = stablehlo.compare NE, %d, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
%s = stablehlo.add %p, %q : tensor<f32>
%t = stablehlo.add %m, %l : tensor<f32>
%r = stablehlo.select %nan, %s, %t : tensor<i1>, tensor<f32>
stablehlo.return %r : tensor<f32>"""
FAR = """%a = stablehlo.abs %p : tensor<f32>
%b = stablehlo.abs %q : tensor<f32>
%g = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
%r = stablehlo.select %g, %p, %q : tensor<i1>, tensor<f32>
stablehlo.return %r : tensor<f32>"""
ADD = "%r = stablehlo.add %p, %q : tensor<f32>\nstablehlo.return %r : tensor<f32>"
BARRIER = "stablehlo.optimization_barrier"


def _windows(operand: Tensor, result: Tensor, window: int, low: int, high: int, region: str, stride: int = 1) -> str:
    return (
        f'%out = "stablehlo.reduce_window"(%x, %init) ({{\n^bb0(%p: tensor<f32>, %q: tensor<f32>):\n{region}\n}}) '
        f"{{window_dimensions = array<i64: {window}, 1>, window_strides = array<i64: {stride}, 1>, "
        f"padding = dense<[[{low}, {high}], [0, 0]]> : tensor<2x2xi64>}} : ({operand}, tensor<f32>) -> {result}\n"
    )


def _init(value: str) -> str:
    return f"%init = stablehlo.constant dense<{value}> : tensor<f32>\n"


class Lines:
    """Windows of three rows, one of padding at each end, over rows that are on several devices."""

    def __init__(self, rows: int, devices: int, region: str, init: str) -> None:
        self.rows, self.devices, self.region, self.init = rows, devices, region, init
        self.tiles = f"{{devices=[{devices},1]<=[{devices}]}}"
        self.local = rows // devices

    def before(self) -> Program:
        x = Tensor((self.rows, 2), "f32", self.tiles)
        body = _init(self.init) + f"%x = {BARRIER} %a0 : {x}\n" + _windows(x, x, 3, 1, 1, self.region)
        return program(body, [x], x, self.devices)

    def after(self, *, pad: str | None = None, first: int = 0, window: int = 3, region: str | None = None) -> Program:
        """Everything gathered, padded with `pad`, and each device's rows of that."""
        part = Tensor((self.local, 2), "f32", self.tiles)
        whole, padded = Tensor((self.rows, 2), "f32"), Tensor((self.rows + 2, 2), "f32")
        mine = Tensor((self.local + 2, 2), "f32")
        starts = [d * self.local + (first if d else 0) for d in range(self.devices)]
        body = _init(self.init) + (
            f'%all = "stablehlo.all_gather"(%a0) {{all_gather_dim = 0 : i64, '
            f"replica_groups = dense<[{list(range(self.devices))}]> : tensor<1x{self.devices}xi64>, "
            f"channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}} : "
            f"({part}) -> {whole}\n%fill = stablehlo.constant dense<{pad or self.init}> : tensor<f32>\n"
            f"%w = stablehlo.pad %all, %fill, low = [1, 0], high = [1, 0], interior = [0, 0] : "
            f"({whole}, tensor<f32>) -> {padded}\n"
            f"%table = stablehlo.constant dense<{starts}> : tensor<{self.devices}xi32>\n"
            "%id = stablehlo.partition_id : tensor<ui32>\n%zero = stablehlo.constant dense<0> : tensor<i32>\n"
            f"%at = stablehlo.dynamic_slice %table, %id, sizes = [1] : "
            f"(tensor<{self.devices}xi32>, tensor<ui32>) -> tensor<1xi32>\n"
            "%start = stablehlo.reshape %at : (tensor<1xi32>) -> tensor<i32>\n"
            f"%x = stablehlo.dynamic_slice %w, %start, %zero, sizes = [{self.local + 2}, 2] : "
            f"({padded}, tensor<i32>, tensor<i32>) -> {mine}\n"
        )
        body += _windows(mine, part, window, 0, window - 3, region or self.region)
        return program(body, [part], part, self.devices)


@pytest.mark.parametrize(("rows", "devices"), [(12, 3), (8, 4), (6, 6)])
@pytest.mark.parametrize(("region", "init"), [(LOGADDEXP, "0xFF800000"), (FAR, "0.0")])
def test_windows_with_padding(rows: int, devices: int, region: str, init: str):
    lines = Lines(rows, devices, region, init)
    before = lines.before()
    assert proved(before, lines.after(), Theory.REASSOCIATED)
    assert not differs(before, lines.after())
    assert not proved(before, lines.after(first=-1))
    assert not proved(before, lines.after(pad="1.0"))
    assert not proved(before, lines.after(window=4))
    assert not proved(before, lines.after(region=FAR if region is LOGADDEXP else LOGADDEXP))


def test_a_start_that_is_not_neutral_is_refused_with_padding():
    lines = Lines(12, 3, ADD, "5.0")
    assert not proved(lines.before(), lines.after())


def test_windows_without_padding_are_exact():
    devices, tiles = 3, "{devices=[1,3]<=[3]}"

    def made(width: int, stride: int) -> Program:
        x, out = Tensor((8, width), "f32", tiles), Tensor((4 if stride == 2 else 2, width), "f32", tiles)
        body = _init("5.0") + f"%x = {BARRIER} %a0 : {x}\n" + _windows(x, out, 2, 0, 0, ADD, stride)
        return program(body, [x], out, devices)

    assert proved(made(6, 2), made(2, 2), Theory.EXACT)
