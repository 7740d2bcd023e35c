"""Certificates made by hand for wrong programs: what a forger may define that the validator does not write."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

import pytest

from shardproof.validator.check.check import check
from shardproof.validator.check.errors import Rejection
from shardproof.validator.check.relations import Relations
from shardproof.validator.ops.digest import digest
from shardproof.validator.read.certificates import VERSION
from shardproof.validator.read.ir import Program
from shardproof.validator.read.scalars import fold_scalars
from tests.relate.pairs import Tensor, differs, program

from .pairs import about, sealed
from .test_kinds import written

FLOAT, NUMBER = Tensor((), "f32"), Tensor((), "i32")
EIGHT = Tensor((8,), "f32")


def _line(name: str, **said: object) -> str:
    def plain(value: object) -> str:
        if isinstance(value, list):
            return f"[{', '.join(map(plain, value))}]"
        return f'"{value}"' if isinstance(value, str) else str(value)

    attributes = ", ".join(f"{key} = {plain(value)}" for key, value in sorted(said.items()))
    return f'"shardproof.{name}"() {{{attributes}}} : () -> ()'


def _relation(text: str) -> str:
    return _line("relation", text=text)


def _term(kind: str, dtype: str, arity: int, key: str = "", parts: Sequence[int] = ()) -> str:
    return _line("term", kind=kind, type=dtype, arity=arity, key=key, parts=list(parts), levels=0)


def _view(position: int, op: str, pieces: Sequence[int]) -> list[str]:
    claim = _line("claim", of="result", position=0, monoid="view", pieces=list(pieces))
    return [_line("step", position=position, op=op), claim]


def printed(lines: Sequence[str]) -> str:
    """The form in which MLIR prints it, which is what is sealed."""
    from jaxlib.mlir import ir

    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        return str(ir.Module.parse("\n".join(lines)).operation.get_asm(print_generic_op_form=True))


def _certificate(
    before: Program, after: Program, tables: Sequence[str], first: Sequence[str], second: Sequence[str], theory: str
) -> str:
    """A certificate that says this of both programs."""
    head = _line(
        "certificate",
        version=VERSION,
        seal="",
        theory=theory,
        results=[theory],
        assumptions=[],
        mesh=[after.num_devices],
        before=digest(fold_scalars(before)),
        after=digest(fold_scalars(after)),
    )
    return sealed(printed([head, *tables, _line("program"), *first, _line("program"), *second]))


def _rejected(text: str, before: Program, after: Program, reason: str) -> None:
    assert differs(before, after, rounds=3)
    with pytest.raises(Rejection, match=reason):
        check(text.encode(), "certificate", before, after)


def _summed(count: int, devices: int) -> Program:
    """1 + the sum of the first elements: a reduction that does not start from the neutral element."""
    body = (
        f"%c = stablehlo.constant dense<1.0> : tensor<f32>\n"
        f"%s = stablehlo.slice %a0 [0:{count}] : ({EIGHT}) -> tensor<{count}xf32>\n"
        f"%out = stablehlo.reduce(%s init: %c) applies stablehlo.add across dimensions = [0] "
        f": (tensor<{count}xf32>, tensor<f32>) -> tensor<f32>\n"
    )
    return program(body, [EIGHT], FLOAT, devices)


def test_a_row_is_not_a_longer_one():
    before, right, wrong = _summed(8, 1), _summed(8, 2), _summed(4, 2)
    _rejected(about(written(before, right), right, wrong), before, wrong, "is a function of longer rows")


def _exchanged(count: int) -> Program:
    """A program of devices, and a stage of it that returns less than that one."""
    pairs = "dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>"
    channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
    body = (
        f'%q = "stablehlo.collective_permute"(%a0) <{{source_target_pairs = {pairs}, {channel}}}> '
        f": ({EIGHT}) -> {EIGHT}\n%out = stablehlo.slice %q [0:{count}] : ({EIGHT}) -> tensor<{count}xf32>\n"
    )
    return program(body, [EIGHT], Tensor((count,), "f32"), 2)


@pytest.mark.parametrize(("ours", "theirs"), [(8, 4), (4, 8)])
def test_stages_return_the_same_shapes(ours: int, theirs: int):
    before, wrong = _exchanged(ours), _exchanged(theirs)
    with pytest.raises(Rejection, match="the result is of another shape"):
        check(_certificate(before, wrong, [], [], [], "exact").encode(), "certificate", before, wrong)


def _masked(fill: str, devices: int) -> Program:
    """The greatest of one looked-up element, or of what stands for it where the index is too large."""
    body = f"""
%four = stablehlo.constant dense<4> : tensor<i32>
%inf = stablehlo.constant dense<0xFF800000> : tensor<f32>
%z = stablehlo.constant dense<{fill}> : tensor<1xf32>
%ds = stablehlo.dynamic_slice %a0, %a1, sizes = [1] : (tensor<8xf32>, tensor<i32>) -> tensor<1xf32>
%again = stablehlo.reshape %ds : (tensor<1xf32>) -> tensor<1xf32>
%p = stablehlo.compare LT, %a1, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
%pb = stablehlo.broadcast_in_dim %p, dims = [] : (tensor<i1>) -> tensor<1xi1>
%sel = stablehlo.select %pb, %ds, %z : tensor<1xi1>, tensor<1xf32>
%r1 = stablehlo.reshape %sel : (tensor<1xf32>) -> tensor<1x1xf32>
%r2 = stablehlo.reshape %r1 : (tensor<1x1xf32>) -> tensor<1xf32>
%out = stablehlo.reduce(%r2 init: %inf) applies stablehlo.maximum across dimensions = [0]
    : (tensor<1xf32>, tensor<f32>) -> tensor<f32>
"""
    return program(body, [EIGHT, NUMBER], FLOAT, devices)


@pytest.mark.parametrize("besides", [False, True])
def test_a_sum_of_elements_that_may_be_absent_is_none_of_them(besides: bool):
    """0 where the index is too large, told as a view of elements under guards, has none of them there.

    The view is named first as what a sum is a sum of, or as a part of a value that has other elements besides.
    """
    before, after, wrong = _masked("0xFF800000", 1), _masked("0xFF800000", 2), _masked("0.0", 1)
    text = written(before, after)
    terms, relations = text.count('"shardproof.term"'), text.count('"shardproof.relation"')
    greatest = re.search(r'kind = "sum", levels = 1 : i64, parts = \[(\d+), (\d+), 1\]', text)
    assert greatest is not None
    guard, rel = int(greatest[1]), int(greatest[2])
    few = "[o0, o0] : 0 <= o0 <= 3; [{p}] -> [0, o1] : -2147483648 <= o1 < 0"
    many = "[o0, o0] : 4 <= o0 <= 7; [{p}] -> [7, o1] : 8 <= o1 <= 2147483647"
    tables = [
        _relation("{ [i0 = 0] -> [] }"),
        _relation("{ [i0 = 0, i1 = 0] -> [] }"),
        *(
            _relation(f"{{ [{p}] -> {what.format(p=p)} }}")
            for p in ("i0 = 0", "i0 = 0, i1 = 0")
            for what in (few, many)
        ),
        _term("sum", "f32", 0, "stablehlo.add", [guard, rel, 1]),
        _term("view", "f32", 0, "", [guard, rel, 1]),
    ]
    lines = text.split("\n")
    start = next(k for k, line in enumerate(lines) if '"shardproof.program"' in line)
    compare, select = (
        next(k for k, line in enumerate(lines) if f"stablehlo.{op}" in line and "step" in line)
        for op in ("compare", "select")
    )
    first: list[str] = []
    if besides:
        first = _view(4, "stablehlo.reshape", [terms + 1, relations, 1, guard, relations + 3, 1])
        steps = [
            *_view(7, "stablehlo.select", [terms + 1, relations, 1]),
            *_view(8, "stablehlo.reshape", [guard, relations + 4, 1]),
        ]
    else:
        steps = [
            *_view(7, "stablehlo.select", [terms, relations, 1]),
            *_view(8, "stablehlo.reshape", [terms + 1, relations + 1, 1]),
            *_view(9, "stablehlo.reshape", [guard, relations + 2, 1]),
        ]
    middle = [*lines[start:compare], *first, *lines[compare:select], *steps, *lines[select + 2 :]]
    forged = printed([*lines[:start], *tables, *middle])
    if not besides:
        forged = forged.replace('"exact"', '"reassociated"')
    reason = "is not known to be one element" if besides else "holds other elements under its guards"
    _rejected(about(forged, before, wrong), wrong, after, reason)


def _guarded_by_all(devices: int, cut: bool) -> Program:
    """A look-up where two conditions hold, which are known to hold from the fifth element on."""
    body = """
%t = stablehlo.constant dense<true> : tensor<i1>
%z = stablehlo.constant dense<0.0> : tensor<8xf32>
%x = stablehlo.pad %a2, %t, low = [0], high = [4], interior = [0] : (tensor<4xi1>, tensor<i1>) -> tensor<8xi1>
%y = stablehlo.pad %a3, %t, low = [0], high = [4], interior = [0] : (tensor<4xi1>, tensor<i1>) -> tensor<8xi1>
%x1 = stablehlo.reshape %x : (tensor<8xi1>) -> tensor<1x8xi1>
%y1 = stablehlo.reshape %y : (tensor<8xi1>) -> tensor<1x8xi1>
%xy = stablehlo.concatenate %x1, %y1, dim = 0 : (tensor<1x8xi1>, tensor<1x8xi1>) -> tensor<2x8xi1>
%v = stablehlo.reduce(%xy init: %t) applies stablehlo.and across dimensions = [0]
    : (tensor<2x8xi1>, tensor<i1>) -> tensor<8xi1>
%ds = stablehlo.dynamic_slice %a0, %a1, sizes = [1] : (tensor<8xf32>, tensor<i32>) -> tensor<1xf32>
%d1 = stablehlo.reshape %ds : (tensor<1xf32>) -> tensor<f32>
%d8 = stablehlo.broadcast_in_dim %d1, dims = [] : (tensor<f32>) -> tensor<8xf32>
%sel = stablehlo.select %v, %d8, %z : tensor<8xi1>, tensor<8xf32>
%h = stablehlo.slice %sel [0:4] : (tensor<8xf32>) -> tensor<4xf32>
"""
    rest = "%zz" if cut else "%l"
    body += (
        "%zz = stablehlo.constant dense<0.0> : tensor<4xf32>\n"
        "%l = stablehlo.slice %sel [4:8] : (tensor<8xf32>) -> tensor<4xf32>\n"
        f"%out = stablehlo.concatenate %h, {rest}, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>\n"
    )
    tests = Tensor((4,), "i1")
    return program(body, [EIGHT, NUMBER, tests, tests], EIGHT, devices)


def test_a_logical_sum_without_elements_is_neutral():
    before, right, wrong = (_guarded_by_all(*how) for how in ((1, False), (2, False), (2, True)))
    tables = [
        _relation("{ [i0] -> [i0] : 0 <= i0 <= 3 }"),
        _relation("{ [i0] -> [i0] : 0 <= i0 <= 7 }"),
        _relation("{ [d0, i0] -> [i0] : 0 <= d0 <= 1 and 0 <= i0 <= 7 }"),
        _term("parameter", "i1", 1, "2|4"),
        _term("parameter", "i1", 1, "3|4"),
        _term("sum", "i1", 1, "stablehlo.and", [0, 0, 1, 1, 0, 1]),
    ]
    first, second = (_view(7, "stablehlo.reduce", [2, rel, 1]) for rel in (1, 2))
    check(_certificate(before, right, tables, first, second, "exact").encode(), "certificate", before, right)
    _rejected(_certificate(before, wrong, tables, first, second, "exact"), before, wrong, "holds other elements")


def test_a_function_of_an_element_that_may_be_absent_is_no_sum():
    """x + y where a test holds, else x, is a sum, but no `add`: as an integer that indexes it would have no value."""
    index, table = Tensor((1,), "i32"), Tensor((8,), "i32")

    def added(devices: int) -> Program:
        body = """
%four = stablehlo.constant dense<4> : tensor<i32>
%z = stablehlo.constant dense<0> : tensor<1xi32>
%ds = stablehlo.dynamic_slice %a0, %a1, sizes = [1] : (tensor<8xi32>, tensor<i32>) -> tensor<1xi32>
%p = stablehlo.compare LT, %a1, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
%pb = stablehlo.broadcast_in_dim %p, dims = [] : (tensor<i1>) -> tensor<1xi1>
%sel = stablehlo.select %pb, %ds, %z : tensor<1xi1>, tensor<1xi32>
%out = stablehlo.add %a2, %sel : tensor<1xi32>
"""
        return program(body, [table, NUMBER, index], index, devices)

    before, after = added(1), added(2)
    text = written(before, after)
    lines = text.split("\n")
    terms, relations = text.count('"shardproof.term"'), text.count('"shardproof.relation"')
    start = next(k for k, line in enumerate(lines) if '"shardproof.program"' in line)
    kinds = [re.search(r'key = "([^"]*)", kind = "(\w+)"', line) for line in lines if '"shardproof.term"' in line]
    found = [each.groups() if each else None for each in kinds]
    number, one = found.index(("0|8", "parameter")), found.index(("1", "parameter"))
    other = found.index(("2|1", "parameter"))
    tables = [
        _relation("{ [i0] -> [o0, o0] : 0 <= o0 <= 3; [i0] -> [0, o1] : -2147483648 <= o1 < 0 }"),
        _relation("{ [i0] -> [i0] }"),
        _relation("{ [i0 = 0] -> [i0] }"),
        _line("term", kind="guard", type="i32", arity=2, key="", parts=[number, -1, 1, one, -1, 1], levels=0),
        _term("apply", "i32", 1, "stablehlo.add", [other, relations + 1, 1, terms, relations, 1]),
    ]
    end = next(k for k, line in enumerate(lines) if k > start and '"shardproof.program"' in line)
    step = next((k for k in range(start, end) if "stablehlo.add" in lines[k]), end)
    claims = _view(6, "stablehlo.add", [terms + 1, relations + 2, 1])
    forged = printed([*lines[:start], *tables, *lines[start:step], *claims, *lines[end:]])
    with pytest.raises(Rejection, match="a function of elements that may be absent"):
        check(sealed(forged).encode(), "certificate", before, after)


def test_a_relation_has_no_parameters():
    relations = Relations()
    assert relations.rel("{[p] -> [p]}").arity_in == 1
    with pytest.raises(Rejection):
        relations.rel("[n] -> {[p] -> [n]}")


@pytest.mark.parametrize(("dtype", "constant", "good", "bad"), [("i1", "true", 1, 5), ("f16", "2048.0", 2048, 2049)])
def test_a_constant_is_a_value_of_its_type(dtype: str, constant: str, good: int, bad: int):
    """What a type rounds is one number to the rules, which round, and another one where integers are compared."""
    whole = Tensor((8,), "i32")
    before = program(f"%out = stablehlo.constant dense<{bad}> : {whole}\n", [whole], whole, 1)
    after = program(
        f"%c = stablehlo.constant dense<{constant}> : tensor<8x{dtype}>\n"
        f"%out = stablehlo.convert %c : (tensor<8x{dtype}>) -> {whole}\n",
        [whole],
        whole,
        2,
    )
    assert differs(before, after)
    tables = [
        _relation("{ [d0, i0] -> [] : 0 <= d0 <= 1 and 0 <= i0 <= 7 }"),
        _relation(f"{{ [d0, i0] -> [{bad}] : 0 <= d0 <= 1 and 0 <= i0 <= 7 }}"),
        _relation("{ [] -> [] }"),
        _term("number", dtype, 0, str(good)),
        _term("number", dtype, 0, str(bad)),
        _term("integer", dtype, 1),
    ]
    second = [
        *_view(0, "stablehlo.constant", [0, 0, 1]),
        _line("equal", by="rules", opened=[], parts=[1, 2, 1], term=0, theory="exact"),
        _line("claim", of="result", position=0, monoid="view", pieces=[1, 0, 1]),
        _line("step", position=1, op="stablehlo.convert"),
        _line("claim", of="operand", position=0, monoid="view", pieces=[2, 1, 1]),
    ]
    _rejected(_certificate(before, after, tables, [], second, "exact"), before, after, "no value of its type")


@pytest.mark.parametrize(
    ("kind", "dtype", "key"), [("scalar", "i1", 5.0), ("scalar", "f16", 65536.0), ("number", "ui8", 256)]
)
def test_a_term_is_no_constant_beyond_its_type(kind: str, dtype: str, key: float):
    text = struct.pack("<d", key).hex() if kind == "scalar" else str(key)
    same = program("%out = stablehlo.negate %a0 : tensor<8xf32>", [EIGHT], EIGHT, 1)
    forged = _certificate(same, same, [_term(kind, dtype, 0, text)], [], [], "exact").encode()
    with pytest.raises(Rejection, match="no value of its type"):
        check(forged, "certificate", same, same)


def test_over_the_reals_a_divisor_is_no_zero_where_it_is_multiplied_by_too():
    """x · (x / x) is x but for a zero."""
    before = program(f"%out = stablehlo.reshape %a0 : ({EIGHT}) -> {EIGHT}", [EIGHT], EIGHT, 1)
    after = program(
        f"%d = stablehlo.divide %a0, %a0 : {EIGHT}\n%out = stablehlo.multiply %a0, %d : {EIGHT}\n", [EIGHT], EIGHT, 2
    )
    tables = [
        _relation("{ [i0] -> [i0] : 0 <= i0 <= 7 }"),
        _relation("{ [d0, i0] -> [i0] : 0 <= d0 <= 1 and 0 <= i0 <= 7 }"),
        _term("parameter", "f32", 1, "0|8"),
        _term("apply", "f32", 1, "stablehlo.divide", [0, 0, 1, 0, 0, 1]),
        _term("apply", "f32", 1, "stablehlo.multiply", [0, 0, 1, 1, 0, 1]),
    ]
    second = [*_view(0, "stablehlo.divide", [1, 1, 1]), *_view(1, "stablehlo.multiply", [2, 1, 1])]
    _rejected(_certificate(before, after, tables, [], second, "real"), before, after, "not shown to be other than zero")


@pytest.mark.parametrize("kind", ["carried", "array", "apply"])
def test_a_term_has_no_more_indices_than_fit_in_memory(kind: str):
    same = program("%out = stablehlo.negate %a0 : tensor<8xf32>", [EIGHT], EIGHT, 1)
    long = _term(kind, "f32", 10**9, "0")
    reading = _term("guard", "f32", 10**9, "", [0, -1, 1])
    forged = _certificate(same, same, [long, reading], [], [], "exact").encode()
    with pytest.raises(Rejection, match="with 1000000000 indices"):
        check(forged, "certificate", same, same)
