"""For every lemma the smallest programs whose proof needs it, and a twin that must not be proved."""

from __future__ import annotations

from collections.abc import Sequence

from shardproof.validator.ops.record import Theory
from shardproof.validator.read.ir import Program
from shardproof.validator.read.program import read_program

from . import test_looked_up as looked_up
from . import test_ordered as ordered
from .lemma_parts import (
    INDEX,
    ONE,
    PART,
    ROWS,
    TILES,
    WHOLE,
    Example,
    N,
    all_reduce,
    elementwise,
    made,
    own_start,
    total,
)
from .pairs import Tensor, program
from .test_selecting import Pool
from .test_updates import Rows
from .test_windows import LOGADDEXP, Lines


def _sum() -> Example:
    local = total("sum", "%a0", PART, ONE)
    return made(
        [WHOLE], ONE, total("out", "%a0", WHOLE, ONE), [PART], ONE, local + all_reduce("out", "%sum", ONE),
        local + f"%out = stablehlo.negate %sum : {ONE}",
    )  # fmt: skip


def _absorption() -> Example:
    """Largest elements under a triangular mask: the first device has all that is left of row 0, others the constant."""
    whole, part = (Tensor((3, width), "f32", f"{{devices=[1,{N}]<=[{N}]}}") for width in (6, 2))
    out = Tensor((3,), "f32")
    rows = [[column <= row for column in range(6)] for row in range(3)]
    mask = f"%all = stablehlo.constant dense<{str(rows).lower()}> : tensor<3x6xi1>\n"

    def top(name: str, of: Tensor, keep: str, least: float) -> str:
        return (
            f"%least = stablehlo.constant dense<{least}> : {of}\n"
            "%low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
            f"%x = stablehlo.select {keep}, %a0, %least : {Tensor(of.shape, 'i1')}, {of}\n"
            f"%{name} = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : "
            f"({of}, tensor<f32>) -> {out}\n"
        )

    mine = "%zero = stablehlo.constant dense<0> : tensor<i32>\n%mine = stablehlo.dynamic_slice %all, %zero, %start, "
    mine += "sizes = [3, 2] : (tensor<3x6xi1>, tensor<i32>, tensor<i32>) -> tensor<3x2xi1>\n"
    after, broken = (
        mask + own_start(2) + mine + top("top", part, "%mine", least) + all_reduce("out", "%top", out, by="maximum")
        for least in (-1.0, -2.0)
    )
    return made([whole], out, mask + top("out", whole, "%all", -1.0), [part], out, after, broken)


def _unfolding() -> Example:
    """The original sums four elements, and all six; the devices add the other two to the first sum."""
    whole = Tensor((6,), "f32")

    def part(name: str, low: int, high: int) -> str:
        some = Tensor((high - low,), "f32")
        return f"%{name}s = stablehlo.slice %a0 [{low}:{high}] : ({whole}) -> {some}\n" + total(
            name, f"%{name}s", some, ONE
        )

    def after(low: int) -> str:
        return part("y", 0, 4) + part("z", low, 6) + f"%s = stablehlo.add %y, %z : {ONE}\n"

    last = f"%out = stablehlo.multiply %y, %s : {ONE}"
    before = part("y", 0, 4) + part("s", 0, 6) + last
    return made([whole], ONE, before, [whole], ONE, after(4) + last, after(3) + last)


def _splitting() -> Example:
    """The devices add before they sum, the original sums before it adds."""
    before = total("x", "%a0", WHOLE, ONE) + total("y", "%a1", WHOLE, ONE) + f"%out = stablehlo.add %x, %y : {ONE}"

    def after(op: str) -> str:
        local = f"%z = stablehlo.{op} %a0, %a1 : {PART}\n" + total("sum", "%z", PART, ONE)
        return local + all_reduce("out", "%sum", ONE)

    return made([WHOLE, WHOLE], ONE, before, [PART, PART], ONE, after("add"), after("subtract"))


def _sum_of_sums() -> Example:
    """Each device has columns, so that none of the original's sums over rows is complete on any."""
    columns = f"{{devices=[1,{N}]<=[{N}]}}"
    whole, part, row = Tensor((5, 6), "f32", columns), Tensor((5, 2), "f32", columns), Tensor((5,), "f32")
    before = total("rows", "%a0", whole, row, "1") + total("out", "%rows", row, ONE)
    local = total("sum", "%a0", part, ONE, "0, 1")
    after, broken = (local + all_reduce("out", "%sum", ONE, groups) for groups in ("[[0, 1, 2]]", "[[0], [1], [2]]"))
    return made([whole], ONE, before, [part], ONE, after, broken)


def _contraction() -> Example:
    columns = f"{{devices=[1,{N}]<=[{N}]}}"
    x, w, out = Tensor((4, 6), "f32", columns), Tensor((6, 5), "f32", ROWS), Tensor((4, 5), "f32")
    mine, weights = Tensor((4, 2), "f32", columns), Tensor((2, 5), "f32", ROWS)

    def dot(name: str, left: Tensor, right: Tensor) -> str:
        return f"%{name} = stablehlo.dot_general %a0, %a1, contracting_dims = [1] x [0] : ({left}, {right}) -> {out}\n"

    before, local = dot("out", x, w), dot("sum", mine, weights)
    broken = local + f"%out = stablehlo.negate %sum : {out}"
    return made([x, w], out, before, [mine, weights], out, local + all_reduce("out", "%sum", out), broken)


def _products() -> Example:
    """The devices multiply element by element and sum."""
    dot = f"%out = stablehlo.dot_general %a0, %a1, contracting_dims = [0] x [0] : ({WHOLE}, {WHOLE}) -> {ONE}"

    def after(op: str) -> str:
        local = f"%z = stablehlo.{op} %a0, %a1 : {PART}\n" + total("sum", "%z", PART, ONE)
        return local + all_reduce("out", "%sum", ONE)

    return made([WHOLE, WHOLE], ONE, dot, [PART, PART], ONE, after("multiply"), after("add"))


def _zero_product() -> Example:
    """Rows of the second factor that meet zeros of the first."""
    x, w, out = Tensor((4, 6), "f32"), Tensor((6, 5), "f32"), Tensor((4, 5), "f32")
    wide, tall = Tensor((4, 8), "f32"), Tensor((8, 5), "f32")
    before = f"%out = stablehlo.dot_general %a0, %a1, contracting_dims = [1] x [0] : ({x}, {w}) -> {out}"

    def after(fill: str) -> str:
        return (
            f"%fill = stablehlo.constant dense<{fill}> : tensor<f32>\n"
            f"%x = stablehlo.pad %a0, %fill, low = [0, 0], high = [0, 2], interior = [0, 0] : "
            f"({x}, tensor<f32>) -> {wide}\n"
            f"%more = stablehlo.slice %a1 [0:2, 0:5] : ({w}) -> tensor<2x5xf32>\n"
            f"%w = stablehlo.concatenate %a1, %more, dim = 0 : ({w}, tensor<2x5xf32>) -> {tall}\n"
            f"%out = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({wide}, {tall}) -> {out}"
        )

    return Example(
        lambda: program(before, [x, w], out, N),
        lambda: program(after("0.0"), [x, w], out, N),
        lambda: program(after("1.0"), [x, w], out, N),
        accepted=Theory.REAL,
    )


def _sums_of_products() -> Example:
    """A sum by parts, each put together from a quarter of it and the rest."""

    def after(rest: str) -> str:
        multiples = "".join(
            f"%{name} = stablehlo.constant dense<{factor}> : {ONE}\n"
            f"%{name}s = stablehlo.multiply %sum, %{name} : {ONE}\n"
            for name, factor in (("quarter", "0.25"), ("rest", rest))
        )
        both = f"%both = stablehlo.add %quarters, %rests : {ONE}\n"
        return total("sum", "%a0", PART, ONE) + multiples + both + all_reduce("out", "%both", ONE)

    whole = total("out", "%a0", WHOLE, ONE)
    return Example(
        lambda: program(whole, [WHOLE], ONE, N),
        lambda: program(after("0.75"), [PART], ONE, N),
        lambda: program(after("0.5"), [PART], ONE, N),
        accepted=Theory.REAL,
    )


def _attained_maximum() -> Example:
    """Elements divided and multiplied by how many of their row are its maximum."""
    row, one = Tensor((2, 5), "f32", f"{{devices=[1,1,{N}]<=[{N}] last_tile_dim_replicate}}"), Tensor((2,), "f32")
    truth = Tensor((2, 5), "i1")

    def after(kind: str, start: str) -> str:
        return (
            f"%start = stablehlo.constant dense<{start}> : tensor<f32>\n"
            f"%top = stablehlo.reduce(%a0 init: %start) applies stablehlo.{kind} across dimensions = [1] : "
            f"({row}, tensor<f32>) -> {one}\n"
            f"%tops = stablehlo.broadcast_in_dim %top, dims = [0] : ({one}) -> {row}\n"
            f"%is = stablehlo.compare EQ, %a0, %tops : ({row}, {row}) -> {truth}\n"
            f"%one = stablehlo.convert %is : ({truth}) -> {row}\n"
            + total("count", "%one", row, one, "1")
            + f"%counts = stablehlo.broadcast_in_dim %count, dims = [0] : ({one}) -> {row}\n"
            f"%less = stablehlo.divide %a0, %counts : {row}\n%out = stablehlo.multiply %less, %counts : {row}"
        )

    before = f"%zero = stablehlo.constant dense<-0.0> : {row}\n%out = stablehlo.add %a0, %zero : {row}"
    return Example(
        lambda: program(before, [row], row, N),
        lambda: program(after("maximum", "0xFF800000"), [row], row, N),
        lambda: program(after("add", "0.0"), [row], row, N),
        accepted=Theory.REAL,
    )


def _pairing() -> Example:
    before = total("x", "%a0", WHOLE, ONE) + total("y", "%a1", WHOLE, ONE) + f"%out = stablehlo.add %x, %y : {ONE}"
    local = total("x", "%a0", PART, ONE) + total("y", "%a1", PART, ONE)
    after, broken = (
        local + f"%both = stablehlo.{name} %x, %y : tensor<f32>\n" + all_reduce("out", "%both", ONE)
        for name in ("add", "subtract")
    )
    return made([WHOLE, WHOLE], ONE, before, [PART, PART], ONE, after, broken)


def _multiplicity() -> Example:
    x = Tensor((4,), "f32")
    before = f"%c = stablehlo.constant dense<3.0> : {x}\n%out = stablehlo.multiply %a0, %c : {x}"
    return made([x], x, before, [x], x, all_reduce("out", "%a0", x), all_reduce("out", "%a0", x, "[[0], [1], [2]]"))


NUMBER = "%id = stablehlo.partition_id : tensor<ui32>\n"

BITS = (
    "%number = stablehlo.partition_id : tensor<ui32>\n%one = stablehlo.constant dense<1> : tensor<ui32>\n"
    "%power = stablehlo.shift_left %one, %number : tensor<ui32>\n"
    "%below = stablehlo.subtract %power, %one : tensor<ui32>\n%id = stablehlo.popcnt %below : tensor<ui32>\n"
)
"""The number of a device as a number of bits, which index arithmetic does not know."""


def _index_arithmetic(number: str = NUMBER) -> Example:
    whole, part = Tensor((27,), "i32", TILES), Tensor((9,), "i32", TILES)
    before = f"%i = stablehlo.iota dim = 0 : {whole}\n%out = stablehlo.add %i, %a0 : {whole}"

    def after(width: int) -> str:
        return own_start(width).replace(NUMBER, number) + (
            f"%s = stablehlo.broadcast_in_dim %start, dims = [] : (tensor<i32>) -> {part}\n"
            f"%i = stablehlo.iota dim = 0 : {part}\n%j = stablehlo.add %i, %s : {part}\n"
            f"%out = stablehlo.add %j, %a0 : {part}"
        )

    return made([whole], whole, before, [part], part, after(9), after(8))


def _guard() -> Example:
    """x[i] where each device looks in its own part and the others add zeros."""
    before = f"%out = stablehlo.dynamic_slice %a0, %a1, sizes = [1] : ({WHOLE}, {INDEX}) -> tensor<1xf32>"
    clamped = "%c0 = stablehlo.constant dense<0> : tensor<i32>\n%c5 = stablehlo.constant dense<5> : tensor<i32>\n"
    look_up = (
        own_start(2)
        + (
            f"%near = stablehlo.subtract %i, %start : {INDEX}\n"
            f"%two = stablehlo.constant dense<2> : {INDEX}\n%none = stablehlo.constant dense<0> : {INDEX}\n"
            f"%low = stablehlo.compare GE, %near, %none : ({INDEX}, {INDEX}) -> tensor<i1>\n"
            f"%high = stablehlo.compare LT, %near, %two : ({INDEX}, {INDEX}) -> tensor<i1>\n"
            "%mine = stablehlo.and %low, %high : tensor<i1>\n"
            f"%x = stablehlo.dynamic_slice %a0, %near, sizes = [1] : ({PART}, {INDEX}) -> tensor<1xf32>\n"
            "%zero = stablehlo.constant dense<0.0> : tensor<1xf32>\n"
            "%part = stablehlo.select %mine, %x, %zero : tensor<i1>, tensor<1xf32>\n"
        )
        + all_reduce("out", "%part", Tensor((1,), "f32"))
    )
    right = clamped + f"%i = stablehlo.clamp %c0, %a1, %c5 : {INDEX}\n" + look_up
    wrong = f"%i = stablehlo.optimization_barrier %a1 : {INDEX}\n" + look_up
    return made([WHOLE, INDEX], Tensor((1,), "f32"), before, [PART, INDEX], Tensor((1,), "f32"), right, wrong)


def _in_bounds() -> Example:
    """NumPy's negative indices: the same for indices in bounds only."""
    x, out = Tensor((6,), "f32"), Tensor((1,), "f32")

    def read(index: str) -> str:
        return f"%out = stablehlo.dynamic_slice %a0, {index}, sizes = [1] : ({x}, {INDEX}) -> {out}"

    wrapped = (
        f"%none = stablehlo.constant dense<0> : {INDEX}\n%six = stablehlo.constant dense<6> : {INDEX}\n"
        f"%neg = stablehlo.compare LT, %a1, %none : ({INDEX}, {INDEX}) -> tensor<i1>\n"
        f"%up = stablehlo.add %a1, %six : {INDEX}\n%i = stablehlo.select %neg, %up, %a1 : tensor<i1>, {INDEX}\n"
    )
    next_ = f"%one = stablehlo.constant dense<1> : {INDEX}\n%i = stablehlo.add %a1, %one : {INDEX}\n"
    return Example(
        lambda: program(read("%a1"), [x, INDEX], out, N),
        lambda: program(wrapped + read("%i"), [x, INDEX], out, N),
        lambda: program(next_ + read("%i"), [x, INDEX], out, N),
        assume_in_bounds=True,
    )


def _sorting() -> Example:
    whole, part = Tensor((6, 5), "f32", ROWS), Tensor((2, 5), "f32", ROWS)

    def sort(type_: Tensor, direction: str) -> str:
        return (
            '%out = "stablehlo.sort"(%a0) <{dimension = 1 : i64, is_stable = true}> ({\n'
            "^bb0(%l: tensor<f32>, %r: tensor<f32>):\n"
            f"%q = stablehlo.compare {direction}, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
            f"stablehlo.return %q : tensor<i1>\n}}) : ({type_}) -> {type_}\n"
        )

    return made([whole], whole, sort(whole, "LT"), [part], part, sort(part, "LT"), sort(part, "GT"))


def _ties() -> Example:
    """Rows by a boolean, in which many are alike: the devices break ties by numbers from 0 on, or the wrong way."""
    keys, whole = Tensor((6, 5), "i1", ROWS), Tensor((6, 5), "f32", ROWS)
    part_keys, part = Tensor((2, 5), "i1", ROWS), Tensor((2, 5), "f32", ROWS)
    order = "%q = stablehlo.compare LT, %l, %r : (tensor<i1>, tensor<i1>) -> tensor<i1>\n"
    before = (
        f'%sorted:2 = "stablehlo.sort"(%a0, %a1) <{{dimension = 1 : i64, is_stable = true}}> ({{\n'
        f"^bb0(%l: tensor<i1>, %r: tensor<i1>, %m: tensor<f32>, %s: tensor<f32>):\n{order}"
        f"stablehlo.return %q : tensor<i1>\n}}) : ({keys}, {whole}) -> ({keys}, {whole})\n"
        f"%out = stablehlo.negate %sorted#1 : {whole}"
    )

    def after(first: str, second: str) -> str:
        numbers = "tensor<2x5xi32>"
        return (
            f"%n = stablehlo.iota dim = 1 : {numbers}\n"
            '%sorted:3 = "stablehlo.sort"(%a0, %a1, %n) <{dimension = 1 : i64, is_stable = false}> ({\n'
            "^bb0(%l: tensor<i1>, %r: tensor<i1>, %m: tensor<f32>, %s: tensor<f32>,\n"
            "%i: tensor<i32>, %j: tensor<i32>):\n"
            f"{order}%o = stablehlo.compare LT, %r, %l : (tensor<i1>, tensor<i1>) -> tensor<i1>\n"
            "%e = stablehlo.compare EQ, %q, %o : (tensor<i1>, tensor<i1>) -> tensor<i1>\n"
            f"%b = stablehlo.compare LT, {first}, {second} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
            "%p = stablehlo.select %e, %b, %q : tensor<i1>, tensor<i1>\nstablehlo.return %p : tensor<i1>\n"
            f"}}) : ({part_keys}, {part}, {numbers}) -> ({part_keys}, {part}, {numbers})\n"
            f"%out = stablehlo.negate %sorted#1 : {part}"
        )

    return made([keys, whole], whole, before, [part_keys, part], part, after("%i", "%j"), after("%j", "%i"))


def _ordered() -> Example:
    columns = f"{{devices=[1,{N}]<=[{N}]}}"
    size = (4, 12, N, "f32", ordered.ARGMAX, columns)
    return Example(
        lambda: ordered.whole(*size), lambda: ordered.in_stages(*size), lambda: ordered.in_stages(*size, offset=1)
    )


def _looked_up() -> Example:
    size = (4, 12 // N, N, "f32")
    columns = f"{{devices=[1,{N}]<=[{N}]}}"
    return Example(
        lambda: ordered.whole(4, 12, N, "f32", ordered.ARGMAX, columns),
        lambda: looked_up.looked_up(*size),
        lambda: looked_up.looked_up(*size, first=1),
    )


def _windows() -> Example:
    lines = Lines(12, N, LOGADDEXP, "0xFF800000")
    return Example(lines.before, lines.after, lambda: lines.after(first=-1))


def _selected() -> Example:
    pool = Pool(12, N)
    return Example(pool.before, pool.after, lambda: pool.after(compare="GT"))


def _updates() -> Example:
    rows = Rows(12, 2, 3, N)
    return Example(lambda: rows.before(False), lambda: rows.after(False), lambda: rows.after(False, offset=1))


def _promises() -> Example:
    rows = Rows(12, 2, 3, N)
    return Example(
        lambda: rows.before(True, in_order=True),
        lambda: rows.after(True, in_order=True),
        lambda: rows.after(True, offset=1, in_order=True),
    )


def _branches() -> Example:
    mask = Tensor((), "i1")

    def branch(type_: Tensor, names: Sequence[str]) -> str:
        first, second = (
            f"%{name} = stablehlo.{name} %a0 : {type_}\nstablehlo.return %{name} : {type_}" for name in names
        )
        return f'%out = "stablehlo.if"(%a1) ({{\n{first}\n}}, {{\n{second}\n}}) : (tensor<i1>) -> {type_}\n'

    names = "negate", "exponential"
    return made(
        [WHOLE, mask], WHOLE, branch(WHOLE, names), [PART, mask], PART, branch(PART, names), branch(PART, names[::-1])
    )


def loop(type_: Tensor, limit: str, step: str, *, count: str = "%zero") -> str:
    """From 0 to a limit; `step` makes %next of %x, and may use %i."""
    return (
        f"%zero = stablehlo.constant dense<0> : {INDEX}\n"
        f"%r:2 = stablehlo.while(%i = {count}, %x = %a0) : {INDEX}, {type_}\ncond {{\n{limit}\n"
        f"%c = stablehlo.compare LT, %i, %n, SIGNED : ({INDEX}, {INDEX}) -> tensor<i1>\n"
        f"stablehlo.return %c : tensor<i1>\n}} do {{\n{step}\n%one = stablehlo.constant dense<1> : {INDEX}\n"
        f"%j = stablehlo.add %i, %one : {INDEX}\nstablehlo.return %j, %next : {INDEX}, {type_}\n}}\n"
        f"%out = stablehlo.optimization_barrier %r#1 : {type_}\n"
    )


def _induction() -> Example:
    limit = f"%most = stablehlo.constant dense<5> : {INDEX}\n%n = stablehlo.minimum %a1, %most : {INDEX}"

    def text(type_: Tensor, op: str) -> str:
        return loop(type_, limit, f"%next = stablehlo.{op} %x : {type_}")

    return made(
        [WHOLE, INDEX], WHOLE, text(WHOLE, "sine"), [PART, INDEX], PART, text(PART, "sine"), text(PART, "cosine")
    )


def _counter() -> Example:
    """An index clamped to what the counter can be anyhow."""
    table = Tensor((16,), "f32")
    limit = f"%n = stablehlo.constant dense<4> : {INDEX}"

    def text(type_: Tensor, index: str) -> str:
        spread = f"(tensor<f32>) -> {type_}"
        return loop(
            type_,
            limit,
            f"{index}\n%d = stablehlo.dynamic_slice %a1, %k, sizes = [1] : ({table}, {INDEX}) -> tensor<1xf32>\n"
            "%e = stablehlo.reshape %d : (tensor<1xf32>) -> tensor<f32>\n"
            f"%f = stablehlo.broadcast_in_dim %e, dims = [] : {spread}\n%next = stablehlo.add %x, %f : {type_}",
        )

    plain = f"%k = stablehlo.optimization_barrier %i : {INDEX}"
    clamped = (
        f"%low = stablehlo.constant dense<0> : {INDEX}\n%high = stablehlo.constant dense<{{}}> : {INDEX}\n"
        f"%k = stablehlo.clamp %low, %i, %high : {INDEX}"
    )
    return made(
        [WHOLE, table], WHOLE, text(WHOLE, plain), [PART, table], PART, text(PART, clamped.format(3)),
        text(PART, clamped.format(2)),
    )  # fmt: skip


def _unrolling() -> Example:
    before = "".join(
        f"%{new} = stablehlo.sine %{old} : {WHOLE}\n" for old, new in (("a0", "x1"), ("x1", "x2"), ("x2", "out"))
    )

    def text(trips: int) -> str:
        limit = f"%n = stablehlo.constant dense<{trips}> : {INDEX}"
        return loop(PART, limit, f"%next = stablehlo.sine %x : {PART}")

    return made([WHOLE], WHOLE, before, [PART], PART, text(3), text(4))


def _manual() -> Example:
    """A manual region in the original that shifts its shards around the ring."""
    pairs = "source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>"

    def shift(name: str, of: str, table: str) -> str:
        return (
            f'%{name} = "stablehlo.collective_permute"({of}) <{{{table}, channel_handle = '
            "#stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> tensor<2xf32>\n"
        )

    def before() -> Program:
        axis = '<@mesh, [{"x"}]>'
        return read_program(
            'module @m attributes {mhlo.num_partitions = 3 : i32} {\nsdy.mesh @mesh = <["x"=3]>\n'
            f"func.func public @main(%a0: tensor<6xf32> {{sdy.sharding = #sdy.sharding{axis}}}) -> "
            f"(tensor<6xf32> {{sdy.sharding = #sdy.sharding{axis}}}) {{\n"
            f"%out = sdy.manual_computation(%a0) in_shardings=[{axis}] out_shardings=[{axis}] "
            'manual_axes={"x"} (%x: tensor<2xf32>) {\n'
            + shift("y", "%x", pairs)
            + "sdy.return %y : tensor<2xf32>\n} : (tensor<6xf32>) -> tensor<6xf32>\n"
            "return %out : tensor<6xf32>\n}\n}\n"
        )

    other = pairs.replace("[[0, 1], [1, 2], [2, 0]]", "[[1, 0], [2, 1], [0, 2]]")
    return Example(
        before,
        lambda: program(shift("out", "%a0", pairs), [PART], PART, N),
        lambda: program(shift("out", "%a0", other), [PART], PART, N),
    )


def _bounded_integer() -> Example:
    """Where a clamped integer is compared with more than it can be, both sides are the choice of one branch."""
    index, mine = Tensor((6,), "i32", TILES), Tensor((2,), "i32", TILES)
    negated = f"%n = stablehlo.negate %a0 : {PART}\n"

    def local(limit: int) -> str:
        return (
            f"{negated}%low = stablehlo.constant dense<0> : {mine}\n%high = stablehlo.constant dense<3> : {mine}\n"
            f"%k = stablehlo.clamp %low, %a1, %high : {mine}\n%c = stablehlo.constant dense<{limit}> : {mine}\n"
            f"%p = stablehlo.compare LT, %k, %c : ({mine}, {mine}) -> {Tensor((2,), 'i1')}\n"
            f"%out = stablehlo.select %p, %n, %a0 : {Tensor((2,), 'i1')}, {PART}"
        )

    return made([WHOLE, index], WHOLE, f"%out = stablehlo.negate %a0 : {WHOLE}", [PART, mine], PART, local(4), local(3))


def _shifted() -> Example:
    """A look-up by comparison: each device compares its own positions with the index less its first position."""
    table, part, out = Tensor((6,), "f32", TILES), Tensor((2,), "f32", TILES), Tensor((), "f32")

    def picked(of: Tensor, index: str) -> str:
        kind, truth = Tensor(of.shape, "i32"), Tensor(of.shape, "i1")
        return (
            f"%places = stablehlo.iota dim = 0 : {kind}\n%at_all = stablehlo.broadcast_in_dim {index}, dims = [] : "
            f"(tensor<i32>) -> {kind}\n%is = stablehlo.compare EQ, %at_all, %places : ({kind}, {kind}) -> {truth}\n"
            f"%one = stablehlo.convert %is : ({truth}) -> {of}\n%mine = stablehlo.multiply %one, %a0 : {of}\n"
        )

    def after(op: str) -> str:
        moved = own_start(2) + f"%moved = stablehlo.{op} %a1, %start : tensor<i32>\n"
        return moved + picked(part, "%moved") + total("sum", "%mine", part, out) + all_reduce("out", "%sum", out)

    before = picked(table, "%a1") + total("out", "%mine", table, out)
    return made([table, INDEX], out, before, [part, INDEX], out, after("subtract"), after("add"))


def _plus(number: str) -> str:
    return f"%c = stablehlo.constant dense<{number}> : {{0}}\n%out = stablehlo.add %a0, %c : {{0}}"


def _plus_element(k: int) -> str:
    """An element of a table is added, of which the one at place 1 is 0.3."""
    return (
        f"%t = stablehlo.constant dense<[0.7, 0.3, 0.5]> : tensor<3xf32>\n%s = stablehlo.slice %t [{k}:{k + 1}] : "
        "(tensor<3xf32>) -> tensor<1xf32>\n%c = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<1xf32>) -> {0}\n"
        "%out = stablehlo.add %a0, %c : {0}"
    )


EXAMPLES: dict[str, Example] = {
    "shifted integer": _shifted(),
    "index arithmetic": _index_arithmetic(),
    "bounded integer": _bounded_integer(),
    "constant folding": _index_arithmetic(BITS),
    "element of a constant": elementwise(_plus("0.3"), _plus_element(1), _plus_element(2)),
    "neutral element": elementwise(
        "%out = stablehlo.negate %a0 : {0}",
        "%c = stablehlo.constant dense<0xFF800000> : {0}\n%x = stablehlo.maximum %a0, %c : {0}\n"
        "%out = stablehlo.negate %x : {0}",
        "%c = stablehlo.constant dense<0.0> : {0}\n%x = stablehlo.maximum %a0, %c : {0}\n"
        "%out = stablehlo.negate %x : {0}",
    ),
    "congruence": elementwise(
        "%out = stablehlo.exponential %a0 : {0}",
        "%out = stablehlo.exponential %a0 : {0}",
        "%out = stablehlo.tanh %a0 : {0}",
    ),
    "e-graph": elementwise(
        "%out = stablehlo.subtract %a0, %a1 : {0}",
        "%n = stablehlo.negate %a1 : {0}\n%out = stablehlo.add %n, %a0 : {0}",
        "%n = stablehlo.negate %a0 : {0}\n%out = stablehlo.add %n, %a1 : {0}",
        count=2,
    ),
    "composition of sums": _sum(),
    "products of elements": _products(),
    "completion": _sum(),
    "sum of sums": _sum_of_sums(),
    "absorption": _absorption(),
    "unfolding": _unfolding(),
    "splitting": _splitting(),
    "contraction": _contraction(),
    "zero product": _zero_product(),
    "sums of products": _sums_of_products(),
    "attained maximum": _attained_maximum(),
    "pairing": _pairing(),
    "multiplicity": _multiplicity(),
    "guard": _guard(),
    "indices in bounds": _in_bounds(),
    "row congruence": _sorting(),
    "ties by place": _ties(),
    "ordered reduction": _ordered(),
    "place of a place": _looked_up(),
    "equal windows": _windows(),
    "selected windows": _selected(),
    "updates in order": _updates(),
    "kept promises": _promises(),
    "branch selection": _branches(),
    "loop induction": _induction(),
    "counter range": _counter(),
    "loop unrolling": _unrolling(),
    "entering": _manual(),
    "leaving": _manual(),
}
