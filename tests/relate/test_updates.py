"""Scatters that replace elements, by device: right and broken."""

import numpy as np
import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Program

from .pairs import Tensor, differs, program, proved

SET = "stablehlo.return %q : tensor<T>"
WHOLE_ROWS = (
    "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
)


def _scatter(
    base: str,
    index: str,
    update: str,
    types: tuple[Tensor, Tensor, Tensor],
    unique: bool,
    numbers: str = WHOLE_ROWS,
    body: str = SET,
    in_order: bool = False,
) -> str:
    operand, indices, updates = types
    flag, order = ("true" if yes else "false" for yes in (unique, in_order))
    text = (
        f'%out = "stablehlo.scatter"({base}, {index}, {update}) ({{\n'
        f"^bb0(%p: tensor<T>, %q: tensor<T>):\n{body}\n"
        f"}}) {{scatter_dimension_numbers = {numbers}, unique_indices = {flag}, indices_are_sorted = {order}}} : "
        f"({operand}, {indices}, {updates}) -> {operand}\n"
    )
    return text.replace("tensor<T>", f"tensor<{operand.dtype}>")


CHANGE = """%r = stablehlo.sine %p : tensor<T>
%t = stablehlo.subtract %r, %q : tensor<T>
stablehlo.return %t : tensor<T>"""


class Rows:
    """x.at[i].set(u), or any other update, with the rows of x on several devices, i and u on all."""

    def __init__(self, rows: int, width: int, count: int, devices: int, *, base: bool = True, body: str = SET) -> None:
        self.body = body
        self.devices, self.width, self.count, self.base = devices, width, count, base
        self.local = -(-rows // devices)
        tiles = f"{{devices=[{devices},1]<=[{devices}]}}"
        self.whole, self.part = Tensor((rows, width), "f32", tiles), Tensor((self.local, width), "f32", tiles)
        self.indices, self.updates = Tensor((count, 1), "i32"), Tensor((count, width), "f32")

    def _base(self, operand: Tensor) -> str:
        return "" if self.base else f"%zeros = stablehlo.constant dense<0.0> : {operand}\n"

    def before(self, unique: bool, in_order: bool = False) -> Program:
        name = "%a0" if self.base else "%zeros"
        types = (self.whole, self.indices, self.updates)
        body = _scatter(
            name, "%a1", "%a2", (self.whole, self.indices, self.updates), unique, body=self.body, in_order=in_order
        )
        return program(self._base(self.whole) + body, types, self.whole, self.devices)

    def after(
        self,
        unique: bool,
        *,
        offset: int = 0,
        shifted: bool = True,
        backwards: bool = False,
        only_index: bool = False,
        in_order: bool = False,
    ) -> Program:
        starts = [d * self.local + offset for d in range(self.devices)]
        index, update = self.indices, self.updates
        body = self._base(self.part) + (
            f"%table = stablehlo.constant dense<{starts}> : tensor<{self.devices}xi32>\n"
            "%id = stablehlo.partition_id : tensor<ui32>\n"
            f"%at = stablehlo.dynamic_slice %table, %id, sizes = [1] : "
            f"(tensor<{self.devices}xi32>, tensor<ui32>) -> tensor<1xi32>\n"
            f"%start = stablehlo.broadcast_in_dim %at, dims = [1] : (tensor<1xi32>) -> {index}\n"
            f"%near = stablehlo.subtract %a1, %start : {index}\n"
        )
        where, what = "%near" if shifted else "%a1", "%a2"
        if backwards:
            body += f"%i = stablehlo.reverse {where}, dims = [0] : {index}\n"
            where = "%i"
            if not only_index:
                body += f"%u = stablehlo.reverse %a2, dims = [0] : {update}\n"
                what = "%u"
        body += _scatter(
            "%a0" if self.base else "%zeros",
            where,
            what,
            (self.part, index, update),
            unique,
            body=self.body,
            in_order=in_order,
        )
        return program(body, [self.part, index, update], self.part, self.devices)


@pytest.mark.parametrize("body", [SET, CHANGE])
@pytest.mark.parametrize("base", [True, False])
@pytest.mark.parametrize(
    ("rows", "width", "count", "devices"), [(12, 2, 3, 3), (8, 3, 1, 4), (10, 1, 2, 4), (7, 2, 4, 3)]
)
def test_rows_at_unknown_indices(rows: int, width: int, count: int, devices: int, base: bool, body: str):
    made = Rows(rows, width, count, devices, base=base, body=body)
    for unique in (True, False):
        before = made.before(unique)
        right = made.after(unique)
        assert proved(before, right, Theory.EXACT)
        assert not differs(before, right)
        # the device may promise less than the original, but with several updates nothing that the original does not
        assert proved(before, made.after(not unique)) == (unique or count == 1)
        assert not proved(before, made.after(unique, offset=1))
        assert not proved(before, made.after(unique, shifted=False))
        if count > 1:
            assert proved(before, made.after(unique, backwards=True)) == unique
            assert not proved(before, made.after(unique, backwards=True, only_index=True))


def test_promised_order():
    made = Rows(12, 2, 3, 3)
    before = made.before(True, in_order=True)
    assert proved(before, made.after(True, in_order=True), Theory.EXACT)
    assert proved(before, made.after(True, backwards=True))
    assert not proved(before, made.after(True, backwards=True, in_order=True))
    assert not proved(made.before(True), made.after(True, in_order=True))


def _known(indices: list[int], unique: bool, local: list[list[int]] | None = None) -> Program:
    """x.at[constants].set(u), whole or on two devices with the constants of each."""
    devices = 2
    tiles = f"{{devices=[{devices}]<=[{devices}]}}"
    numbers = "#stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    operand = Tensor((6 if local is None else 3,), "f32", tiles)
    index, update = Tensor((len(indices), 1), "i32"), Tensor((len(indices),), "f32")
    if local is None:
        body = f"%i = stablehlo.constant dense<{[[n] for n in indices]}> : {index}\n"
    else:
        table = Tensor((devices, len(indices)), "i32")
        row = Tensor((1, len(indices)), "i32")
        body = (
            f"%table = stablehlo.constant dense<{local}> : {table}\n%id = stablehlo.partition_id : tensor<ui32>\n"
            "%zero = stablehlo.constant dense<0> : tensor<ui32>\n"
            f"%row = stablehlo.dynamic_slice %table, %id, %zero, sizes = [1, {len(indices)}] : "
            f"({table}, tensor<ui32>, tensor<ui32>) -> {row}\n%i = stablehlo.reshape %row : ({row}) -> {index}\n"
        )
    body += _scatter("%a0", "%i", "%a1", (operand, index, update), unique, numbers)
    return program(body, [operand, update], operand, devices)


def test_known_indices():
    before = _known([1, 4, 5], False)
    assert proved(before, _known([1, 4, 5], False, [[1, 9, 9], [9, 1, 2]]), Theory.EXACT)
    # windows outside land nowhere
    assert proved(before, _known([1, 4, 5], False, [[1, -1, 3], [-1, 1, 2]]), Theory.EXACT)
    assert not proved(before, _known([1, 4, 5], False, [[1, 2, 9], [9, 1, 2]]))
    assert not proved(before, _known([1, 4, 5], False, [[1, 9, 9], [9, 2, 1]]))


def test_an_element_set_twice_takes_the_later_update():
    before = _known([4, 4, 0], False)
    right, swapped = _known([4, 4, 0], False, [[9, 9, 0], [1, 1, 9]]), _known([4, 4, 0], False, [[9, 9, 0], [9, 1, 9]])
    assert proved(before, right)
    assert not proved(before, swapped)


def test_columns_by_themselves_whatever_the_update_does():
    devices, shape = 3, (5, 6)
    tiles = f"{{devices=[1,{devices}]<=[{devices}]}}"
    keep_if_less = (
        "%c = stablehlo.compare LT, %p, %q : (tensor<T>, tensor<T>) -> tensor<i1>\n"
        "%r = stablehlo.select %c, %p, %q : tensor<i1>, tensor<T>\nstablehlo.return %r : tensor<T>"
    )
    keep_if_greater = keep_if_less.replace("LT", "GT")

    def made(width: int, region: str, move: bool = False) -> Program:
        operand, update = Tensor((shape[0], width), "f32", tiles), Tensor((4, width), "f32", tiles)
        index = Tensor((4, 1), "i32")
        body = f"%u = stablehlo.reverse %a2, dims = [0] : {update}\n" if move else ""
        body += _scatter("%a0", "%a1", "%u" if move else "%a2", (operand, index, update), False, body=region)
        return program(body, [operand, index, update], operand, devices)

    before = made(6, keep_if_less)
    assert proved(before, made(2, keep_if_less), Theory.EXACT)
    assert not proved(before, made(2, keep_if_greater))
    assert not proved(before, made(2, keep_if_less, move=True))


def test_an_update_at_an_undefined_index_is_not_lost():
    """Padding of an unevenly sharded index array may hold anything, so what is scattered there may land anywhere."""
    devices = 2
    tiles, index_tiles = f"{{devices=[{devices}]<=[{devices}]}}", f"{{devices=[{devices},1]<=[{devices}]}}"
    numbers = "#stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    whole, local = Tensor((4,), "f32"), Tensor((4,), "f32")
    adding = "%r = stablehlo.add %p, %q : tensor<T>\nstablehlo.return %r : tensor<T>"

    def after(masked: bool) -> Program:
        index, update, mask = Tensor((2, 1), "i32", index_tiles), Tensor((2,), "f32", tiles), Tensor((2,), "i1")
        body = f"%zeros = stablehlo.constant dense<0.0> : {local}\n%none = stablehlo.constant dense<0.0> : {update}\n"
        body += (
            f"%iota = stablehlo.iota dim = 0 : tensor<2xi32>\n%id = stablehlo.partition_id : tensor<ui32>\n"
            "%n = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>\n"
            "%two = stablehlo.constant dense<2> : tensor<i32>\n"
            "%s = stablehlo.multiply %n, %two : tensor<i32>\n"
            "%b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i32>) -> tensor<2xi32>\n"
            "%at = stablehlo.add %iota, %b : tensor<2xi32>\n%end = stablehlo.constant dense<3> : tensor<2xi32>\n"
            f"%in = stablehlo.compare LT, %at, %end : (tensor<2xi32>, tensor<2xi32>) -> {mask}\n"
            f"%ones = stablehlo.constant dense<1.0> : {update}\n"
            f"%u = stablehlo.select %in, %ones, {'%none' if masked else '%ones'} : {mask}, {update}\n"
        )
        part = _scatter("%zeros", "%a0", "%u", (local, index, update), False, numbers, adding).replace("%out", "%sum")
        body += part + (
            '%out = "stablehlo.all_reduce"(%sum) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n'
            "%z = stablehlo.add %x, %y : tensor<f32>\nstablehlo.return %z : tensor<f32>\n}) "
            "{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, "
            "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids} : "
            f"({local}) -> {local}\n"
        )
        return program(body, [index], whole, devices)

    index, update = Tensor((3, 1), "i32", index_tiles), Tensor((3,), "f32")
    text = f"%zeros = stablehlo.constant dense<0.0> : {whole}\n%ones = stablehlo.constant dense<1.0> : {update}\n"
    text += _scatter("%zeros", "%a0", "%ones", (whole, index, update), False, numbers, adding)
    before = program(text, [index], whole, devices)
    assert proved(before, after(masked=True))
    assert not proved(before, after(masked=False))


def test_the_evaluator_knows_the_last_update():
    made = Rows(4, 1, 2, 2)
    before = made.before(False)
    from shardproof.validator.evaluate.arithmetic import Native
    from shardproof.validator.evaluate.machine import Machine

    inputs = [np.zeros((2, 4, 1), np.float32), np.full((2, 2, 1), 3, np.int32), np.ones((2, 2, 1), np.float32)]
    inputs[2][:, 1] = 5
    (out,) = Machine(before, Native()).run(before, inputs)
    assert out[0, :, 0].tolist() == [0, 0, 0, 5]
