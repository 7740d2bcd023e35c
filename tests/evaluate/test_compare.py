"""The search for counterexamples: real differences, and none that rounding, padding or an open order explains."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from shardproof.validator.evaluate.arithmetic import Wide
from shardproof.validator.evaluate.compare import Counterexample, replay, search_counterexample
from shardproof.validator.evaluate.errors import NoLayout, UnsupportedOp
from shardproof.validator.evaluate.jittered import Jittered
from shardproof.validator.evaluate.layouts import PerDeviceLayouts, ShardedLayouts, layouts_of
from shardproof.validator.read import read_program
from shardproof.validator.read.ir import DType, Program, TensorType

DEVICES = 4
GROUPS = "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids"
ADD = """({
    ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
      %sum = stablehlo.add %lhs, %rhs : tensor<f32>
      stablehlo.return %sum : tensor<f32>
  })"""
MAX = ADD.replace("stablehlo.add", "stablehlo.maximum")
SPLIT = '{mhlo.sharding = "{devices=[4]<=[4]}"}'
ROWS = '{mhlo.sharding = "{devices=[4,1]<=[4]}"}'


def whole(signature: str, body: str) -> Program:
    return read_program(f"module @before {{\n func.func @main{signature} {{\n{body}\n}}\n}}")


def parts(signature: str, body: str) -> Program:
    attributes = f"mhlo.num_replicas = 1 : i32, mhlo.num_partitions = {DEVICES} : i32"
    return read_program(f"module @after attributes {{{attributes}}} {{\n func.func @main{signature} {{\n{body}\n}}\n}}")


def search(before: Program, after: Program, **options) -> Counterexample | None:
    options = {"seed": 3, "budget_seconds": 20.0, "max_rounds": 3} | options
    return search_counterexample(before, after, **options)


def all_reduce(operand: str, kind: str = "tensor<f32>", region: str = ADD) -> str:
    return f'"stablehlo.all_reduce"({operand}) {region} {{{GROUPS}, {CHANNEL}}} : ({kind}) -> {kind}'


def reduce(operand: str, init: str, kind: str, result: str = "tensor<f32>", op: str = "add", dims: str = "0") -> str:
    return (
        f"stablehlo.reduce({operand} init: {init}) applies stablehlo.{op} across dimensions = [{dims}] "
        f": ({kind}, tensor<f32>) -> {result}"
    )


SUM = whole(
    f"(%x: tensor<8xf32> {SPLIT}) -> tensor<f32>",
    "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
    f"%s = {reduce('%x', '%z', 'tensor<8xf32>')}\nreturn %s : tensor<f32>",
)


def sum_of_parts(last: str) -> Program:
    return parts(
        "(%x: tensor<2xf32>) -> tensor<f32>",
        f"%z = stablehlo.constant dense<0.0> : tensor<f32>\n%s = {reduce('%x', '%z', 'tensor<2xf32>')}\n{last}",
    )


def test_a_missing_all_reduce_is_found_minimised_and_replayed():
    assert search(SUM, sum_of_parts(f"%t = {all_reduce('%s')}\nreturn %t : tensor<f32>")) is None
    wrong = sum_of_parts("return %s : tensor<f32>")
    found = search(SUM, wrong)
    assert found is not None
    assert (found.result, found.index) == (0, ())
    assert np.count_nonzero(found.inputs[0]) == 1
    assert found.expected == found.inputs[0].sum()
    assert replay(found, SUM, wrong) == (found.expected, found.actual)
    again = search(SUM, wrong)
    assert again is not None
    np.testing.assert_array_equal(found.inputs[0], again.inputs[0])


@pytest.mark.parametrize(
    "last",
    [
        f"%t = {all_reduce('%s')}\n%u = {all_reduce('%t')}\nreturn %u : tensor<f32>",
        f"%t = {all_reduce('%s', region=MAX)}\nreturn %t : tensor<f32>",
        f"%t = {all_reduce('%s')}\n%k = stablehlo.constant dense<0.25> : tensor<f32>\n"
        "%u = stablehlo.multiply %t, %k : tensor<f32>\nreturn %u : tensor<f32>",
        f"%t = {all_reduce('%s')}\nreturn %t : tensor<f32>".replace("1, 2,", "1], [2,").replace("1x4", "2x2"),
    ],
)
def test_wrong_reductions_are_found(last):
    assert search(SUM, sum_of_parts(last)) is not None


def test_narrowing_before_the_sum_is_only_rounding():
    narrowed = (
        "%n = stablehlo.convert %s : (tensor<f32>) -> tensor<bf16>\n"
        "%w = stablehlo.convert %n : (tensor<bf16>) -> tensor<f32>\n"
        f"%t = {all_reduce('%w')}\nreturn %t : tensor<f32>"
    )
    assert search(SUM, sum_of_parts(narrowed)) is None


def test_laws_the_exact_arithmetic_lacks_are_no_differences():
    signature = "(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32>"
    of_sum = whole(
        signature,
        "%s = stablehlo.add %x, %y : tensor<8xf32>\n"
        "%e = stablehlo.exponential %s : tensor<8xf32>\nreturn %e : tensor<8xf32>",
    )
    of_parts = whole(
        signature,
        "%a = stablehlo.exponential %x : tensor<8xf32>\n%b = stablehlo.exponential %y : tensor<8xf32>\n"
        "%e = stablehlo.multiply %a, %b : tensor<8xf32>\nreturn %e : tensor<8xf32>",
    )
    assert search(of_sum, of_parts) is None


def test_what_is_lost_where_numbers_underflow_is_no_difference():
    """(sin e)² / e² and (1 − (cos e)²) / e², e = exp(x): for x = −126 there is no such e in their own type."""
    start = "%e = stablehlo.exponential %x : tensor<4xf32>\n%f = stablehlo.multiply %e, %e : tensor<4xf32>\n"
    end = "%r = stablehlo.divide %q, %f : tensor<4xf32>\nreturn %r : tensor<4xf32>"
    sine = "%s = stablehlo.sine %e : tensor<4xf32>\n%q = stablehlo.multiply %s, %s : tensor<4xf32>\n"
    cosine = (
        "%c = stablehlo.cosine %e : tensor<4xf32>\n%d = stablehlo.multiply %c, %c : tensor<4xf32>\n"
        "%one = stablehlo.constant dense<1.0> : tensor<4xf32>\n%q = stablehlo.subtract %one, %d : tensor<4xf32>\n"
    )
    before, right, wrong = (f"{start}{middle}{end}" for middle in (sine, cosine, cosine.replace("cosine", "tanh")))
    signature = "(%x: tensor<4xf32>) -> tensor<4xf32>"
    assert search(whole(signature, before), parts(signature, right)) is None
    assert search(whole(signature, before), parts(signature, wrong)) is not None


def test_what_a_rounded_constant_leaves_of_a_zero_is_no_difference():
    """cos(k π/2) is 0 for odd k, and −4·10⁻⁸ where π is rounded."""
    signature, t = "(%x: tensor<4xf32>) -> tensor<4xf32>", "tensor<4xf32>"
    end = f"%o = stablehlo.multiply %x, %c : {t}\nreturn %o : {t}"
    table = f"%c = stablehlo.constant dense<[1.0, 0.0, -1.0, 0.0]> : {t}\n"

    def computed(quarter: float, function: str = "cosine") -> Program:
        angles = (
            f"%k = stablehlo.iota dim = 0 : {t}\n%q = stablehlo.constant dense<{quarter}> : {t}\n"
            f"%a = stablehlo.multiply %k, %q : {t}\n%c = stablehlo.{function} %a : {t}\n"
        )
        return parts(signature, angles + end)

    assert search(whole(signature, table + end), computed(1.57079637)) is None
    assert search(whole(signature, table + end), computed(1.5708)) is not None
    assert search(whole(signature, table + end), computed(1.57079637, "sine")) is not None
    # a number that is no rounded one is what it is
    assert search(whole(signature, table + end), computed(1.5)) is not None


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_digits_that_wide_arithmetic_loses_are_no_difference(dtype: str):
    """(1 − cos e) / e² and 2 (sin e/2)² / e²: for e of 1e-9 the first one is 0 also in float64, whatever the input."""

    def text(middle: str) -> str:
        lines = [
            "%small = stablehlo.constant dense<1.0e-9> : T",
            "%one = stablehlo.constant dense<1.0> : T",
            "%two = stablehlo.constant dense<2.0> : T",
            "%e = stablehlo.multiply %x, %small : T",
            middle,
            "%f = stablehlo.multiply %e, %e : T\n%r = stablehlo.divide %q, %f : T\nreturn %r : T",
        ]
        return "\n".join(lines).replace(" T", f" tensor<4x{dtype}>")

    cosine = "%c = stablehlo.cosine %e : T\n%q = stablehlo.subtract %one, %c : T"
    sine = "%h = stablehlo.divide %e, %two : T\n%s = stablehlo.sine %h : T\n%t = stablehlo.multiply %s, %s : T\n"
    once, twice = (sine + f"%q = stablehlo.multiply %{factor}, %t : T" for factor in ("one", "two"))
    signature = f"(%x: tensor<4x{dtype}>) -> tensor<4x{dtype}>"
    assert search(whole(signature, text(cosine)), parts(signature, text(twice))) is None
    assert search(whole(signature, text(twice)), parts(signature, text(once))) is not None


def test_what_is_computed_exactly_is_not_moved():
    jittered, dtype = Jittered(0), DType.F64
    rng = np.random.default_rng(3)
    x, y, whole_numbers = rng.standard_normal(64), np.exp2(rng.integers(-9, 9, 64)), np.arange(64.0)
    for name, first, second, exact in (
        ("add", x, y, np.array([Fraction(a) + Fraction(b) == Fraction(a + b) for a, b in zip(x, y, strict=True)])),
        ("multiply", x, y, np.full(64, True)),
        ("divide", x, y, np.full(64, True)),
        ("multiply", x, x, np.full(64, False)),
        ("divide", y, x, np.full(64, False)),
        ("multiply", whole_numbers, whole_numbers, np.full(64, True)),
        ("maximum", x, y, np.full(64, True)),
    ):
        plain, moved = (each.float_binary(name, first, second, dtype) for each in (Wide(), jittered))
        assert np.all(moved[exact] == plain[exact])
        assert np.all((moved == plain) == exact)
        assert np.allclose(moved, plain, rtol=1e-12)
    assert jittered.float_reduce("add", whole_numbers, 0, dtype) == 2016
    assert np.all(jittered.float_unary("sqrt", whole_numbers**2, dtype) == whole_numbers)
    assert np.all(jittered.float_unary("cosine", x, dtype) != np.cos(x))
    square = whole_numbers.reshape(8, 8)
    assert np.all(jittered.float_matmul(square, square, dtype) == square @ square)
    other = x.reshape(8, 8)
    assert not np.any(jittered.float_matmul(other, other, dtype) == other @ other)


def test_a_discontinuity_that_rounding_crosses_is_no_difference():
    """floor(log(exp(x))) of a whole number may come out one less; the exact arithmetic knows no such law."""
    signature = "(%x: tensor<64xf32>) -> tensor<64xf32>"
    plain = whole(signature, "%f = stablehlo.floor %x : tensor<64xf32>\nreturn %f : tensor<64xf32>")
    detour = whole(
        signature,
        "%e = stablehlo.exponential %x : tensor<64xf32>\n%l = stablehlo.log %e : tensor<64xf32>\n"
        "%f = stablehlo.floor %l : tensor<64xf32>\nreturn %f : tensor<64xf32>",
    )
    assert search(plain, detour) is None


UNEVEN = whole(
    f"(%x: tensor<6xf32> {SPLIT}) -> (tensor<6xf32> {SPLIT}, tensor<f32>)",
    "%y = stablehlo.negate %x : tensor<6xf32>\n%i = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
    f"%m = {reduce('%y', '%i', 'tensor<6xf32>', op='maximum')}\nreturn %y, %m : tensor<6xf32>, tensor<f32>",
)
MASKED = """
    %p = stablehlo.partition_id : tensor<ui32>
    %q = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %o = stablehlo.multiply %q, %two : tensor<i32>
    %b = stablehlo.broadcast_in_dim %o, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %k = stablehlo.iota dim = 0 : tensor<2xi32>
    %j = stablehlo.add %b, %k : tensor<2xi32>
    %n = stablehlo.constant dense<LIMIT> : tensor<2xi32>
    %in = stablehlo.compare LT, %j, %n : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %f = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %v = stablehlo.select %in, %y, %f : tensor<2xi1>, tensor<2xf32>
"""


def uneven_parts(limit: int) -> Program:
    reduced = reduce("%v", "%i", "tensor<2xf32>", op="maximum")
    return parts(
        "(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>)",
        "%y = stablehlo.negate %x : tensor<2xf32>\n%i = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        + MASKED.replace("LIMIT", str(limit))
        + f"%r = {reduced}\n%m = {all_reduce('%r', region=MAX)}\nreturn %y, %m : tensor<2xf32>, tensor<f32>",
    )


def test_padding_in_a_result_is_never_looked_at():
    assert search(UNEVEN, uneven_parts(6)) is None


def test_a_mask_that_cuts_too_much_is_found():
    found = search(UNEVEN, uneven_parts(5))
    assert found is not None
    assert found.result == 1


def test_padding_that_leaks_into_a_result_is_found():
    leaky = parts(
        "(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>)",
        "%y = stablehlo.negate %x : tensor<2xf32>\n%i = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        f"%r = {reduce('%x', '%i', 'tensor<2xf32>', op='maximum')}\n"
        f"%m = {all_reduce('%r', region=MAX)}\nreturn %y, %m : tensor<2xf32>, tensor<f32>",
    )
    spec = whole(
        f"(%x: tensor<6xf32> {SPLIT}) -> (tensor<6xf32> {SPLIT}, tensor<f32>)",
        "%y = stablehlo.negate %x : tensor<6xf32>\n%i = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        f"%m = {reduce('%x', '%i', 'tensor<6xf32>', op='maximum')}\nreturn %y, %m : tensor<6xf32>, tensor<f32>",
    )
    found = search(spec, leaky)
    assert found is not None
    assert found.result == 1


def test_replicas_that_differ_are_found_on_their_device():
    spec = whole("(%x: tensor<f32>) -> tensor<f32>", "return %x : tensor<f32>")
    body = """
    %p = stablehlo.partition_id : tensor<ui32>
    %three = stablehlo.constant dense<3> : tensor<ui32>
    %last = stablehlo.compare EQ, %p, %three : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %y = stablehlo.negate %x : tensor<f32>
    %r = stablehlo.select %last, %y, %x : tensor<i1>, tensor<f32>
    return %r : tensor<f32>"""
    found = search(spec, parts("(%x: tensor<f32>) -> tensor<f32>", body))
    assert found is not None
    assert found.device == 3


UPDATE = whole(
    f"(%x: tensor<8xi32> {SPLIT}, %u: tensor<1xi32>, %s: tensor<i32>) -> (tensor<8xi32> {SPLIT})",
    "%r = stablehlo.dynamic_update_slice %x, %u, %s : (tensor<8xi32>, tensor<1xi32>, tensor<i32>) -> tensor<8xi32>\n"
    "return %r : tensor<8xi32>",
)
DROPPING = parts(
    "(%x: tensor<2xi32>, %u: tensor<1xi32>, %s: tensor<i32>) -> tensor<2xi32>",
    """
    %p = stablehlo.partition_id : tensor<ui32>
    %q = stablehlo.convert %p : (tensor<ui32>) -> tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %o = stablehlo.multiply %q, %two : tensor<i32>
    %b = stablehlo.broadcast_in_dim %o, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %k = stablehlo.iota dim = 0 : tensor<2xi32>
    %j = stablehlo.add %b, %k : tensor<2xi32>
    %t = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %here = stablehlo.compare EQ, %j, %t : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %v = stablehlo.reshape %u : (tensor<1xi32>) -> tensor<i32>
    %w = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %r = stablehlo.select %here, %w, %x : tensor<2xi1>, tensor<2xi32>
    return %r : tensor<2xi32>""",
)


def test_updates_dropped_instead_of_clamped_are_found_unless_assumed_away():
    found = search(UPDATE, DROPPING)
    assert found is not None
    assert not 0 <= found.inputs[2] < 8
    assert search(UPDATE, DROPPING, assume_indices_in_bounds=True) is None


def scatter(combined: str, reverse: bool) -> Program:
    """Scatter into zeros at data indices; the updates and their indices may be reversed together first."""
    order = "stablehlo.reverse %i, dims = [0] : tensor<6x1xi32>", "stablehlo.reverse %u, dims = [0] : tensor<6xf32>"
    kept = (
        "stablehlo.reshape %i : (tensor<6x1xi32>) -> tensor<6x1xi32>",
        "stablehlo.reshape %u : (tensor<6xf32>) -> tensor<6xf32>",
    )
    index, update = order if reverse else kept
    return whole(
        "(%i: tensor<6x1xi32>, %u: tensor<6xf32>) -> tensor<4xf32>",
        f"""
        %z = stablehlo.constant dense<0.0> : tensor<4xf32>
        %j = {index}
        %v = {update}
        %r = "stablehlo.scatter"(%z, %j, %v) ({{
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %s = stablehlo.add %a, %b : tensor<f32>
            stablehlo.return {combined} : tensor<f32>
          }}) {{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
            scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
            : (tensor<4xf32>, tensor<6x1xi32>, tensor<6xf32>) -> tensor<4xf32>
        return %r : tensor<4xf32>""",
    )


def test_the_order_of_colliding_updates_is_open():
    assert search(scatter("%s", False), scatter("%s", True)) is None
    assert search(scatter("%b", False), scatter("%b", True)) is None


def test_updates_that_overwrite_where_they_should_add_are_found():
    assert search(scatter("%s", False), scatter("%b", False)) is not None


def test_ties_of_a_stable_sort_are_no_open_order():
    def sort(stable: str, reverse: str) -> Program:
        return whole(
            "(%k: tensor<9xf32>) -> tensor<9xi32>",
            f"""
            %n = stablehlo.iota dim = 0 : tensor<9xi32>
            %r:2 = "stablehlo.sort"(%k, %n) ({{
              ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
                %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
                %q = stablehlo.compare GT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
                %e = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
                %t = stablehlo.and %e, %q : tensor<i1>
                %o = stablehlo.or %p, %t : tensor<i1>
                stablehlo.return {reverse} : tensor<i1>
              }}) {{dimension = 0 : i64, is_stable = {stable}}}
              : (tensor<9xf32>, tensor<9xi32>) -> (tensor<9xf32>, tensor<9xi32>)
            return %r#1 : tensor<9xi32>""",
        )

    assert search(sort("true", "%p"), sort("true", "%o")) is not None
    assert search(sort("false", "%p"), sort("true", "%o")) is None
    assert search(sort("true", "%o"), sort("false", "%p")) is None


MANUAL = f"""
    %a = stablehlo.custom_call @Sharding(%x) {SPLIT} : (tensor<8xf32>) -> tensor<8xf32>
    %b = stablehlo.custom_call @SPMDFullToShardShape(%a) {{mhlo.sharding = "{{manual}}"}}
      : (tensor<8xf32>) -> tensor<2xf32>
    %p = stablehlo.partition_id : tensor<ui32>
    %q = stablehlo.convert %p : (tensor<ui32>) -> tensor<f32>
    %o = stablehlo.broadcast_in_dim %q, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %c = stablehlo.OP %b, %o : tensor<2xf32>
    %d = stablehlo.custom_call @Sharding(%c) {{mhlo.sharding = "{{manual}}"}} : (tensor<2xf32>) -> tensor<2xf32>
    %e = stablehlo.custom_call @SPMDShardToFullShape(%d) {SPLIT} : (tensor<2xf32>) -> tensor<8xf32>
    return %e : tensor<8xf32>"""


def test_manual_regions_of_the_original_run_on_all_devices():
    spec = parts(f"(%x: tensor<8xf32> {SPLIT}) -> (tensor<8xf32> {SPLIT})", MANUAL.replace("OP", "add"))

    def local(op: str) -> Program:
        body = [*MANUAL.splitlines()[4:7], f"%r = stablehlo.{op} %x, %o : tensor<2xf32>", "return %r : tensor<2xf32>"]
        return parts("(%x: tensor<2xf32>) -> tensor<2xf32>", "\n".join(body))

    layouts = layouts_of(spec, local("add"))
    assert isinstance(layouts, ShardedLayouts)
    assert layouts.before_devices == DEVICES
    assert search(spec, local("add")) is None
    assert search(spec, local("multiply")) is not None


def test_manual_computations_of_the_user_level_program():
    spec = read_program("""
    module @user attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 4 : i32} {
      sdy.mesh @mesh = <["a"=2, "b"=2]>
      func.func @main(%x: tensor<8xf32> {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"})
          -> (tensor<8xf32> {mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"}) {
        %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"b"}]>] out_shardings=[<@mesh, [{"b"}]>]
            manual_axes={"b"} (%s: tensor<4xf32>) {
          %1 = "stablehlo.collective_permute"(%s) {source_target_pairs = dense<[[0, 1], [1, 0], [2, 3], [3, 2]]>
            : tensor<4x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}
            : (tensor<4xf32>) -> tensor<4xf32>
          sdy.return %1 : tensor<4xf32>
        } : (tensor<8xf32>) -> tensor<8xf32>
        return %0 : tensor<8xf32>
      }
    }
    """)

    def local(pairs: str) -> Program:
        return parts(
            "(%x: tensor<4xf32>) -> tensor<4xf32>",
            f'%1 = "stablehlo.collective_permute"(%x) {{source_target_pairs = dense<{pairs}> : tensor<4x2xi64>, '
            "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<4xf32>) -> tensor<4xf32>\n"
            "return %1 : tensor<4xf32>",
        )

    assert search(spec, local("[[0, 1], [1, 0], [2, 3], [3, 2]]")) is None
    assert search(spec, local("[[0, 3], [1, 2], [2, 1], [3, 0]]")) is None
    assert search(spec, local("[[0, 2], [1, 3], [2, 0], [3, 1]]")) is not None


def test_two_stages_on_the_same_devices():
    signature = f"(%x: tensor<4xf32> {SPLIT}, %y: tensor<4xf32>) -> tensor<4xf32>"
    once = (
        "%s = stablehlo.add %x, %y : tensor<4xf32>\n"
        + f"%t = {all_reduce('%s', 'tensor<4xf32>')}\nreturn %t : tensor<4xf32>"
    )
    twice = (
        f"%s = {all_reduce('%x', 'tensor<4xf32>')}\n%t = {all_reduce('%y', 'tensor<4xf32>')}\n"
        "%r = stablehlo.add %s, %t : tensor<4xf32>\nreturn %r : tensor<4xf32>"
    )
    assert isinstance(layouts_of(parts(signature, once), parts(signature, twice)), PerDeviceLayouts)
    assert search(parts(signature, once), parts(signature, twice)) is None
    assert search(parts(signature, once), parts(signature, twice.replace("%s, %t", "%s, %s"))) is not None


class FusedColumns:
    """A relation no sharding can tell: each device holds its half of two blocks of columns."""

    before_devices = 1

    def __init__(self, before: Program) -> None:
        self.logical: Sequence[TensorType] = [parameter.value.tensor for parameter in before.parameters]

    def to_before(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [array[None] for array in inputs]

    def to_after(self, inputs: Sequence[np.ndarray], poison: np.random.Generator) -> list[np.ndarray]:
        (x,) = inputs
        return [np.stack([np.concatenate([x[d : d + 1], x[4 + d : 5 + d]]) for d in range(DEVICES)])]

    def expected(self, results: Sequence[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
        (y,) = results
        shards = y[0].reshape(DEVICES, 1)
        return [(shards, np.ones(shards.shape, np.bool_))]


def test_relations_given_by_hand():
    spec = whole(
        "(%x: tensor<8xf32>) -> tensor<4xf32>",
        "%a = stablehlo.slice %x [0:4] : (tensor<8xf32>) -> tensor<4xf32>\n"
        "%b = stablehlo.slice %x [4:8] : (tensor<8xf32>) -> tensor<4xf32>\n"
        "%c = stablehlo.subtract %a, %b : tensor<4xf32>\nreturn %c : tensor<4xf32>",
    )

    def local(left: str, right: str) -> Program:
        return parts(
            "(%x: tensor<2xf32>) -> tensor<1xf32>",
            f"%a = stablehlo.slice %x [{left}] : (tensor<2xf32>) -> tensor<1xf32>\n"
            f"%b = stablehlo.slice %x [{right}] : (tensor<2xf32>) -> tensor<1xf32>\n"
            "%c = stablehlo.subtract %a, %b : tensor<1xf32>\nreturn %c : tensor<1xf32>",
        )

    assert search(spec, local("0:1", "1:2"), layouts=FusedColumns(spec)) is None
    assert search(spec, local("1:2", "0:1"), layouts=FusedColumns(spec)) is not None


def test_loops_that_do_not_end_use_up_one_trial_only():
    signature = "(%n: tensor<i32>) -> tensor<i32>"
    loop = """
    %z = stablehlo.constant dense<0> : tensor<i32>
    %r = stablehlo.while(%i = %z) : tensor<i32>
      cond {
        %c = stablehlo.compare NE, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j : tensor<i32>
      }
    %s = stablehlo.add %r, LAST : tensor<i32>
    return %s : tensor<i32>"""
    same, other = (whole(signature, loop.replace("LAST", last)) for last in ("%z", "%r"))
    assert search(same, same, budget_seconds=1.0) is None
    assert search(same, other, budget_seconds=4.0) is not None


def test_programs_that_do_not_correspond_are_refused():
    with pytest.raises(NoLayout, match="number of parameters"):
        search(SUM, UNEVEN)
    with pytest.raises(NoLayout, match="not a shard of"):
        search(
            SUM,
            parts(
                "(%x: tensor<3xf32>) -> tensor<f32>",
                "%z = stablehlo.constant dense<0.0> : tensor<f32>\nreturn %z : tensor<f32>",
            ),
        )


def test_what_cannot_be_evaluated_is_named():
    program = whole(
        "(%x: tensor<3xf32>) -> tensor<3xf32>",
        "%y = stablehlo.custom_call @mystery(%x) : (tensor<3xf32>) -> tensor<3xf32>\nreturn %y : tensor<3xf32>",
    )
    with pytest.raises(UnsupportedOp, match="mystery"):
        search(program, program)
