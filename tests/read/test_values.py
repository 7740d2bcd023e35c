"""What single operations become: constants, structured attributes, calls, tuples, locations, shardings."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from read.programs import DATA, every_op, ops_named, stablehlo
from shardproof.validator.read import read_program
from shardproof.validator.read.attributes import Comparison, ConvDims, DotDims, GatherDims, ScatterDims
from shardproof.validator.read.dtypes import NUMPY_DTYPES
from shardproof.validator.read.ir import DType, Frame, TensorType
from shardproof.validator.read.shardings import ShardingKind


def constant(dense: str, type_: str) -> np.ndarray:
    program = read_program(stablehlo(f"  %0 = stablehlo.constant {dense} : {type_}\n  return %a : tensor<4xf32>"))
    (op,) = ops_named(program, "stablehlo.constant")
    return op.attributes["value"]


@pytest.mark.parametrize(
    ("dense", "type_", "expected"),
    [
        ("dense<[[1, -2], [3, 4]]>", "tensor<2x2xi32>", np.array([[1, -2], [3, 4]], np.int32)),
        ("dense<[1, 200]>", "tensor<2xui8>", np.array([1, 200], np.uint8)),
        ("dense<[true, false, true]>", "tensor<3xi1>", np.array([True, False, True])),
        ("dense<true>", "tensor<3xi1>", np.array([True, True, True])),
        ("dense<1.5>", "tensor<f32>", np.array(1.5, np.float32)),
        ("dense<[1.5, 0x7F800000]>", "tensor<2xf32>", np.array([1.5, np.inf], np.float32)),
        ("dense<[1.5, 0x7F80, 3.140625]>", "tensor<3xbf16>", np.array([1.5, np.inf, 3.140625], ml_dtypes.bfloat16)),
        ("dense<2.5>", "tensor<2xbf16>", np.array([2.5, 2.5], ml_dtypes.bfloat16)),
        ("dense<[1.0, -0.5]>", "tensor<2xf8E4M3FN>", np.array([1, -0.5], ml_dtypes.float8_e4m3fn)),
        ("dense<[1, -8, 7]>", "tensor<3xi4>", np.array([1, -8, 7], ml_dtypes.int4)),
        ("dense<[1, 15]>", "tensor<2xui4>", np.array([1, 15], ml_dtypes.uint4)),
        ("dense<-1>", "tensor<2xi4>", np.array([-1, -1], ml_dtypes.int4)),
        ("dense<[(1.0, 2.0), (0.5, -1.0)]>", "tensor<2xcomplex<f32>>", np.array([1 + 2j, 0.5 - 1j], np.complex64)),
        ("dense<(1.0, 2.0)>", "tensor<2xcomplex<f64>>", np.array([1 + 2j, 1 + 2j], np.complex128)),
        ("dense<>", "tensor<0x3xf32>", np.zeros((0, 3), np.float32)),
    ],
)
def test_constant(dense: str, type_: str, expected: np.ndarray):
    value = constant(dense, type_)
    assert value.dtype == expected.dtype
    assert value.shape == expected.shape
    assert value.tobytes() == expected.tobytes()
    assert not value.flags.writeable


@pytest.mark.parametrize("type_", ["bf16", "i4", "complex<f32>", "f8E5M2", "f32"])
def test_long_constant(type_: str):
    """MLIR prints more than a hundred elements as one hexadecimal string."""
    dtype = next(dtype for dtype in DType if dtype.value == type_)
    numbers = np.arange(300) % 7
    spelled = [f"({n}.0, 1.0)" if dtype.is_complex else f"{n}.0" if dtype.is_float else str(n) for n in numbers]
    value = constant(f"dense<[{', '.join(spelled)}]>", f"tensor<300x{type_}>")
    expected = (numbers + 1j if dtype.is_complex else numbers).astype(NUMPY_DTYPES[dtype])
    assert value.dtype == expected.dtype
    assert (value == expected).all()


def test_a_huge_splat_is_cheap():
    value = constant("dense<1.0>", "tensor<1000000x1000000xf32>")
    assert value.shape == (1000000, 1000000)
    assert value.strides == (0, 0)


def test_nan_payload_survives():
    value = constant("dense<[0x7FC00001, 0xFFC12345]>", "tensor<2xf32>")
    assert value.view(np.uint32).tolist() == [0x7FC00001, 0xFFC12345]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(width=16, allow_nan=False), min_size=2, max_size=5), st.sampled_from(["bf16", "f16", "f64"]))
def test_floats_are_read_back_exactly(numbers: list[float], type_: str):
    dtype = next(dtype for dtype in DType if dtype.value == type_)
    expected = np.array(numbers).astype(NUMPY_DTYPES[dtype])
    bits = expected.view(f"u{expected.dtype.itemsize}")
    spelled = ", ".join(f"0x{int(pattern):0{expected.dtype.itemsize * 2}X}" for pattern in bits)
    assert constant(f"dense<[{spelled}]>", f"tensor<{len(numbers)}x{type_}>").tobytes() == expected.tobytes()


def test_structured_attributes():
    program = read_program(
        stablehlo(
            """
  %0 = stablehlo.dot_general %l, %r, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %1 = stablehlo.compare  LT, %l, %l, FLOAT : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xi1>
  %2 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {stride = [1, 2], pad = [[1, 1], [0, 2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x8x4x6xf32>
  %3 = "stablehlo.gather"(%m, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}>
    : (tensor<8x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  %4 = "stablehlo.scatter"(%m, %i, %3) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  %5 = stablehlo.fft %x2, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  %6 = stablehlo.slice %m [0:8:2, 1:3] : (tensor<8x4xf32>) -> tensor<4x2xf32>
  return""",
            "(%l: tensor<2x3x4xf32>, %r: tensor<2x4x5xf32>, %x: tensor<1x8x8x4xf32>, %k: tensor<3x3x4x6xf32>, "
            "%m: tensor<8x4xf32>, %i: tensor<3x1xi32>, %x2: tensor<8xf32>)",
        )
    )
    by_name = {op.name: op.attributes for op in program.body.ops}
    assert by_name["stablehlo.dot_general"]["dot_dimension_numbers"] == DotDims((0,), (0,), (2,), (1,))
    assert by_name["stablehlo.compare"]["comparison_direction"] is Comparison.LT
    assert by_name["stablehlo.compare"]["compare_type"] == "FLOAT"
    convolution = by_name["stablehlo.convolution"]
    assert convolution["dimension_numbers"] == ConvDims(0, 3, (1, 2), 2, 3, (0, 1), 0, 3, (1, 2))
    assert convolution["padding"] == ((1, 1), (0, 2))
    assert convolution["window_strides"] == (1, 2)
    assert by_name["stablehlo.gather"]["dimension_numbers"] == GatherDims((1,), (0,), (), (), (0,), 1)
    assert by_name["stablehlo.scatter"]["scatter_dimension_numbers"] == ScatterDims((1,), (0,), (), (), (0,), 1)
    assert by_name["stablehlo.fft"]["fft_type"] == "RFFT"
    assert by_name["stablehlo.slice"] == {
        "start_indices": (0, 1),
        "limit_indices": (8, 3),
        "strides": (2, 1),
    }


def test_configuration_of_any_bytes():
    program = read_program(
        """HloModule m
ENTRY e {
  p = f32[8] parameter(0)
  ROOT c = f32[8] custom-call(p), custom_call_target="f", backend_config="\\001\\377"
}
"""
    )
    assert program.body.ops[0].attributes["backend_config"] == b"\x01\xff"


def test_dot_is_dot_general():
    program = read_program(
        stablehlo(
            "  %0 = stablehlo.dot %l, %r : (tensor<3xf32>, tensor<3x2xf32>) -> tensor<2xf32>\n  return",
            "(%l: tensor<3xf32>, %r: tensor<3x2xf32>)",
        )
    )
    (op,) = program.body.ops
    assert op.name == "stablehlo.dot_general"
    assert op.attributes["dot_dimension_numbers"] == DotDims((), (), (0,), (0,))


CALLS = """module @m {
func.func @main(%a: tensor<4xf32> loc("a")) -> tensor<4xf32> {
  %0 = call @twice(%a) : (tensor<4xf32>) -> tensor<4xf32> loc("jit(f)/jit(twice)"(callsite("f"("u.py":5:1) at "main"("u.py":9:1))))
  %1 = call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("jit(f)/jit(twice)"(callsite("f"("u.py":6:1) at "main"("u.py":9:1))))
  return %1 : tensor<4xf32>
}
func.func private @twice(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32> loc("add"("twice"("v.py":2:3)))
  return %0 : tensor<4xf32>
}
func.func private @dead(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}
}"""  # noqa: E501


def test_calls_are_inlined_with_fresh_values_below_their_call():
    program = read_program(CALLS)
    first, second = program.body.ops
    assert first.operands == (program.parameters[0].value,) * 2
    assert second.operands == first.results * 2
    assert program.results[0].value is second.results[0]
    assert first.location.op_name == "jit(f)/jit(twice)/add"
    assert first.location.frames == (
        Frame("v.py", 2, 3, "twice"),
        Frame("u.py", 5, 1, "f"),
        Frame("u.py", 9, 1, "main"),
    )
    assert second.location.frames[1].line == 6
    assert str(second.location) == "v.py:2:3"
    assert program.parameters[0].label == "a"


def test_composite_is_its_decomposition():
    program = read_program(
        CALLS.replace("call @twice(%a)", 'stablehlo.composite "x.twice" %a {decomposition = @twice}')
    )
    assert [op.name for op in program.body.ops] == ["stablehlo.add"] * 2


def test_locations_of_hlo_text():
    program = read_program(DATA / "uneven_max_before.hlo.txt")
    (subtract,) = ops_named(program, "stablehlo.subtract")
    assert subtract.location.op_name == "jit(<lambda>)/sub"
    assert subtract.location.frames == (Frame("zoo.py", 55, 121, "<lambda>"), Frame("zoo.py", 97, 62, "<module>"))


def test_locations_of_old_hlo_metadata():
    """A source file without an op name is kept, and Neuron's stack below the file name is taken apart."""
    stack = "/u/t.py\\n----\\n['/u/t.py:46', '/u/model.py:231', '/x/site-packages/scribe.py:5']"
    program = read_program(
        f"""HloModule m
ENTRY e {{
  p = f32[8] parameter(0)
  a = f32[8] add(p, p), metadata={{op_type="add" source_file="/u/v.py" source_line=12}}
  ROOT b = f32[8] multiply(a, p), metadata={{op_name="jit(f)/mul" source_file="{stack}" source_line=1}}
}}
"""
    )
    add, multiply = program.body.ops
    assert add.location.op_name == "a"
    assert add.location.frames == (Frame("/u/v.py", 12, 0),)
    assert multiply.location.op_name == "jit(f)/mul"
    assert [str(frame) for frame in multiply.location.frames] == ["/u/model.py:231", "/u/t.py:46"]


def test_fused_locations():
    body = """  %0 = stablehlo.tanh %a : tensor<4xf32> loc(fused<"x">["jit(f)/tanh"("g"("u.py":5:1)), "u2.py":7:2])
  return %0 : tensor<4xf32>"""
    (tanh,) = read_program(stablehlo(body)).body.ops
    assert tanh.location.op_name == "jit(f)/tanh"
    assert tanh.location.frames == (Frame("u.py", 5, 1, "g"), Frame("u2.py", 7, 2))


def test_positions_in_the_file_itself():
    program = read_program(
        stablehlo("  %0 = stablehlo.tanh %a : tensor<4xf32>\n  return %0 : tensor<4xf32>"), name="f.mlir"
    )
    assert str(program.body.ops[0].location) == "f.mlir:4:8"


def test_tuple_results_are_separate_results():
    program = read_program(
        """HloModule m, num_partitions=8
ENTRY e {
  p = f32[8] parameter(0)
  q = s32[8] parameter(1)
  t = (f32[8], s32[8]) tuple(p, q)
  c = (f32[8], s32[8]) custom-call(p), custom_call_target="f", sharding={{devices=[8]<=[8]}, {replicated}}
  i = s32[8] get-tuple-element(c), index=1
  w = f32[8] get-tuple-element(t), index=0
  ROOT r = (s32[8], f32[8]) tuple(i, w)
}
"""
    )
    (call,) = program.body.ops
    assert [str(result.type) for result in call.results] == ["f32[8]", "i32[8]"]
    assert [sharding.kind for sharding in call.shardings if sharding] == [ShardingKind.TILED, ShardingKind.REPLICATED]
    assert [result.value for result in program.results] == [call.results[1], program.parameters[0].value]


def test_while_keeps_its_shardings_and_regions():
    program = read_program(DATA / "scan_mlp_before.hlo.txt")
    (loop,) = ops_named(program, "stablehlo.while")
    assert len(loop.shardings) == len(loop.results) == len(loop.regions[0].arguments) == len(loop.regions[1].results)
    assert {sharding.kind for sharding in loop.shardings if sharding} == {ShardingKind.TILED, ShardingKind.REPLICATED}


def test_shardy_operations_keep_normal_forms():
    program = read_program(
        stablehlo(
            """  %0 = sdy.sharding_constraint %a <@mesh, [{"y"}]> : tensor<8xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>]
    manual_axes={"x"} (%b: tensor<4xf32>) {
    %2 = stablehlo.tanh %b {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>} : tensor<4xf32>
    sdy.return %2 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>""",
            "(%a: tensor<8xf32>) -> tensor<8xf32>",
            'sdy.mesh @mesh = <["x"=2, "y"=4]>',
        )
    )
    constraint, manual = program.body.ops
    assert constraint.attributes["sharding"].tiles == (4,)
    assert [sharding.tiles for sharding in manual.attributes["in_shardings"]] == [(2,)]
    assert manual.attributes["manual_axes"] == ("x",)
    assert manual.attributes["mesh"].axes == (("x", 2), ("y", 4))
    (tanh,) = manual.regions[0].ops
    assert [sharding.tiles for sharding in tanh.shardings if sharding] == [(4,)]


def test_result_shardings_of_a_proto_after_partitioning():
    (path,) = (DATA / "dump").glob("*.after_spmd-partitioning*")
    program = read_program(path)
    assert [result.sharding.tiles for result in program.results if result.sharding] == [(4,), (4, 2)]
    (named,) = (DATA / "dump_named").glob("*.after_spmd-partitioning*")
    for one, two in zip(program.results, read_program(named).results, strict=True):
        assert one.sharding is not None
        assert two.sharding is not None
        assert one.sharding.devices is not None
        assert two.sharding.devices is not None
        assert one.sharding.devices.tolist() == two.sharding.devices.tolist()


def test_every_type_is_interned():
    program = read_program(DATA / "take_vocab_before.hlo.txt")
    types: dict[TensorType, int] = {}
    for op in every_op(program):
        for result in op.results:
            assert types.setdefault(result.tensor, id(result.type)) == id(result.type)
