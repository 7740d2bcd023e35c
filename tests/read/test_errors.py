"""Every refusal: its kind, where it points, and its text."""

import gzip
import time

import pytest

from read.programs import DATA, stablehlo
from shardproof.validator import compat
from shardproof.validator.read import ReadError, ReadErrorKind, read_program
from shardproof.validator.read import files as files_module
from shardproof.validator.read import program as program_module


def refused(source: object, name: str | None = "in") -> tuple[ReadErrorKind, str]:
    with pytest.raises(ReadError) as caught:
        read_program(source, name=name)
    return caught.value.kind, str(caught.value)


HLO = (DATA / "uneven_max_before.hlo.txt").read_text()
MLIR = (DATA / "uneven_max_lowered.mlir").read_text()
(PROTO,) = (path.read_bytes() for path in (DATA / "dump").glob("*.after_spmd-partitioning*"))
BODY = "  return %a : tensor<4xf32>"


@pytest.mark.parametrize(
    ("source", "kind", "text"),
    [
        (b"", "FORMAT", "in: is empty"),
        (b" \n\t", "FORMAT", "in: is empty"),
        (
            "what is\nthis",
            "FORMAT",
            "in: is neither an HLO module (text or proto) nor an MLIR module (text or bytecode)",
        ),
        (b"\x00\x01\x02\x03" * 99, "FORMAT", "in: is not an HLO proto: field number 0"),
        (b"\xff\xfe\xfd" * 99, "FORMAT", "in: is not an HLO proto: varint of more than ten bytes"),
        (b"ML\xefR" + b"junk" * 9, "TRUNCATED", "in: is damaged or truncated MLIR bytecode"),
        (b"\x1f\x8b" + b"junk", "FORMAT", "in: is not valid gzip: "),
        (gzip.compress(HLO.encode())[:200], "TRUNCATED", "in: is a truncated gzip file"),
        (PROTO[:1000], "TRUNCATED", "in: is a truncated HLO proto: data ends inside a field"),
        (HLO[: len(HLO) // 2], "TRUNCATED", "text ends before the module does: "),
        (MLIR[: len(MLIR) // 3], "TRUNCATED", "text ends before the module does: "),
        (
            HLO.replace("constant(5)", "constant({...})"),
            "ELIDED",
            "in:33:33: constant is elided as '{...}': dump again with --xla_dump_large_constants or as a proto",
        ),
        (
            stablehlo("  %0 = stablehlo.constant dense_resource<__elided__> : tensor<4xf32>\n" + BODY),
            "ELIDED",
            "in:4:8: constant is elided: print the module with large constants",
        ),
        (HLO.replace(" subtract(", " subtrakt("), "SYNTAX", "in:35:26: expects opcode but sees: subtrakt"),
        (HLO.replace("last_tile_dim_replicate}", "last_tile_dim}"), "SYNTAX", "in:31:47: unexpected 'last_tile_dim'"),
        (HLO.replace("[4,1,2]<=[2,4]T(1,0)", "[4,1,3]<=[2,4]T(1,0)"), "SYNTAX", "in:31:47: 12 tiles but 8 devices"),
        (MLIR.replace("stablehlo.subtract", "stablehlo.subtrakt"), "SYNTAX", "in:8:10: custom op"),
        (
            MLIR.replace("stablehlo.subtract", "mine.subtract"),
            "SYNTAX",
            "in:8:10: Dialect `mine' not found for custom op 'mine.subtract'",
        ),
        (
            stablehlo("  %0 = stablehlo.tanh %b : tensor<?xf32>\n" + BODY,
                      "(%a: tensor<4xf32>, %b: tensor<?xf32>) -> tensor<4xf32>"),
            "UNSUPPORTED",
            "in:3:36: dynamic shape 'tensor<?xf32>' is not supported",
        ),
        (
            stablehlo("  %0 = stablehlo.dynamic_iota %b, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>\n" + BODY,
                      "(%a: tensor<4xf32>, %b: tensor<1xi32>) -> tensor<4xf32>"),
            "UNSUPPORTED",
            "in:4:8: 'stablehlo.dynamic_iota': dynamic shape 'tensor<?xf32>' is not supported",
        ),
        (
            stablehlo('  %0 = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<'
                      "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
                      "slice_sizes = array<i64: 0>, indices_are_sorted = false}> : "
                      "(tensor<4xf32>, tensor<2x1xi32>) -> tensor<2xf32>\n" + BODY,
                      "(%a: tensor<4xf32>, %b: tensor<2x1xi32>) -> tensor<4xf32>"),
            "UNSUPPORTED",
            "in:4:8: 'stablehlo.gather': an element of an empty window has no meaning",
        ),
        (HLO.replace("f32[8,4]", "f32[<=8,4]"), "UNSUPPORTED", "in: dynamic shape"),
        ("module {\n}\n", "FORMAT", "in: no function '@main' and 0 other public functions"),
        (
            stablehlo("  %0 = call @lost(%a) : (tensor<4xf32>) -> tensor<4xf32>\n" + BODY,
                      top="func.func private @lost(tensor<4xf32>) -> tensor<4xf32>"),
            "UNSUPPORTED",
            "in:4:8: call of '@lost', which has no body",
        ),
        (
            stablehlo("  %0 = call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>"),
            "UNSUPPORTED",
            "in:4:8: recursive call of '@main'",
        ),
        (
            stablehlo(BODY, '(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32>'),
            "SYNTAX",
            "in:3:1: ",
        ),
        ("module attributes {a.b = " + "[" * 5000 + "]" * 5000 + "} {\n}\n", "LIMIT", "in: brackets are nested more"),
        (stablehlo(BODY, f"(%a: {'tuple<' * 900}{'>' * 900})"), "LIMIT", "in: brackets are nested more than 200 deep"),
    ],
)  # fmt: skip
def test_refusal(source: object, kind: str, text: str):
    found, message = refused(source)
    assert found is ReadErrorKind[kind], message
    assert text in message
    assert message.startswith("in:")
    assert len(message) < 600


def test_missing_file():
    assert refused("/no/such/file.mlir", None) == (
        ReadErrorKind.MISSING,
        "/no/such/file.mlir: no such file or directory",
    )


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_impossible_names(name: str):
    kind, message = refused(name, None)
    assert kind is ReadErrorKind.MISSING
    assert len(message) < 300


def test_folder():
    assert refused(DATA, None) == (ReadErrorKind.FORMAT, f"{DATA}: is a folder, not a program")


def test_size_limit(monkeypatch: pytest.MonkeyPatch, tmp_path):
    monkeypatch.setattr(files_module, "SIZE_LIMIT", 1 << 20)
    bomb = gzip.compress(bytes(50 << 20))
    assert refused(bomb) == (ReadErrorKind.LIMIT, "in: unpacks to more than 1 MiB")
    large = tmp_path / "large.mlir"
    large.write_bytes(bytes(2 << 20))
    assert refused(large, None) == (ReadErrorKind.LIMIT, f"{large}: larger than 1 MiB")


def test_op_limit(monkeypatch: pytest.MonkeyPatch):
    """Doubling calls would make 2**40 operations."""
    monkeypatch.setattr(program_module, "OP_LIMIT", 1000)
    call = "".join(f"  %{k} = call @f{{n}}(%{v}) : (tensor<4xf32>) -> tensor<4xf32>\n" for k, v in ((0, "a"), (1, "0")))
    functions = [
        f"func.func private @f{n}(%a: tensor<4xf32>) -> tensor<4xf32> {{\n{call.format(n=n + 1)}\n"
        "  return %1 : tensor<4xf32>\n}"
        for n in range(40)
    ]
    functions.append("func.func private @f40(%a: tensor<4xf32>) -> tensor<4xf32> {\n" + BODY + "\n}")
    started = time.perf_counter()
    kind, message = refused(stablehlo(call.format(n=0) + "\n  return %1 : tensor<4xf32>", top="\n".join(functions)))
    assert kind is ReadErrorKind.LIMIT
    assert "more than 1000 operations" in message
    assert time.perf_counter() - started < 10


def test_deep_calls_do_not_recurse():
    functions = [
        f"func.func private @f{n}(%a: tensor<4xf32>) -> tensor<4xf32> {{\n"
        f"  %0 = call @f{n + 1}(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}}"
        for n in range(1500)
    ]
    functions.append("func.func private @f1500(%a: tensor<4xf32>) -> tensor<4xf32> {\n" + BODY + "\n}")
    body = "  %0 = call @f0(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>"
    program = read_program(stablehlo(body, top="\n".join(functions)))
    assert program.results[0].value is program.parameters[0].value


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("  r = f32[4] reshape(p)", "in:4:3: 'reshape' of 8 elements to 4 elements"),
        ("  r = f32[8]{-1} add(p, p)", "in:4:12: layout with a negative dimension"),
        ("  r = f32[8] parameter(3)", "in:2:1: parameters of the computation are numbered [0, 3]"),
        ("  r = f32[8] add(p, p), sharding={mesh[], manual}", "in:4:34: 'manual' needs a mesh with axes"),
        ("  r = f32[8] add(p, p), sharding={devices=[8]<=[8]", "in:4:34: 'sharding={' is not closed"),
        (
            "  r = f32[8] all-gather(p), dimensions={0}, replica_groups=[3,4]<=[8]",
            "in:4:60: replica groups [3, 4] do not arrange 8 devices",
        ),
        (
            "  r = f32[8] all-gather(p), dimensions={0}, replica_groups=mesh['x'=2,'x'=4] {'x'}",
            "in:4:60: mesh axis names repeat",
        ),
    ],
)
def test_refused_before_xla_aborts(line: str, message: str):
    """XLA's parser answers these with a failed assertion, which would end this process."""
    text = f"HloModule m, num_partitions=8\nENTRY e {{\n  p = f32[8] parameter(0)\n{line}\n"
    text += "  ROOT s = f32[8] add(p, p)\n}\n"
    kind, found = refused(text)
    assert kind is ReadErrorKind.SYNTAX
    assert found.startswith(message)


def test_a_constant_without_value_in_a_proto():
    from shardproof.validator.read import wire
    from shardproof.validator.read.hlo_module import COMPUTATION_INSTRUCTIONS, MODULE_COMPUTATIONS, _replace

    def without_literal(instruction: memoryview) -> bytes:
        spans = [(start, end) for number, _, _, start, end in wire.fields(instruction) if number != 8]
        return b"".join(bytes(instruction[start:end]) for start, end in spans)

    proto = compat.hlo_text_to_proto(HLO)
    emptied = _replace(
        memoryview(proto), MODULE_COMPUTATIONS, lambda c: _replace(c, COMPUTATION_INSTRUCTIONS, without_literal)
    )
    assert emptied is not None
    assert refused(emptied) == (ReadErrorKind.ELIDED, "in: constant 'constant.0' has no value")


def test_other_objects():
    with pytest.raises(TypeError, match="cannot read a program from a int"):
        read_program(3)


def test_an_all_to_all_without_groups_does_not_end_the_process():
    """The verifier of jaxlib 0.10 divides by the number of groups."""
    body = """%0 = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 0 : i64,
      split_count = 2 : i64, replica_groups = dense<> : tensor<0x0xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>"""
    with pytest.raises(ReadError, match=r":4: 'stablehlo.all_to_all' without replica groups"):
        read_program(stablehlo(body))


@pytest.mark.parametrize("counts", ["mhlo.num_partitions = 0", "mhlo.num_replicas = -1", "mhlo.num_replicas = 0"])
def test_a_program_runs_on_one_device_at_least(counts: str):
    text = (
        f"module attributes {{{counts} : i32}} {{\nfunc.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n"
        "return %x : tensor<4xf32>\n}\n}\n"
    )
    kind, message = refused(text)
    assert kind is ReadErrorKind.SYNTAX
    assert message.startswith("in: is a program of ")


@pytest.mark.parametrize(("counts", "number"), [("num_partitions", 1048577), ("num_replicas", 2000000000)])
def test_a_program_of_more_devices_than_there_can_be(counts: str, number: int):
    """Groups and coordinates are listed for each of them."""
    text = (
        f"module attributes {{mhlo.{counts} = {number} : i32}} {{\n"
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "return %x : tensor<4xf32>\n}\n}\n"
    )
    kind, message = refused(text)
    assert kind is ReadErrorKind.UNSUPPORTED
    assert message == f"in: a program of {number} devices is beyond the limit of 1048576"


@pytest.mark.parametrize(
    "line",
    [
        "  r = f32[{9}] add(p, p)",
        "  r = f32[8] parameter({9})",
        "  r = f32[8] add(p, p), sharding={{devices=[{9}]<=[{9}]}}",
        "  r = f32[8] add(p, p), sharding={{devices=[8]<=[8]T({9})}}",
        "  r = f32[8] add(p, p), sharding={{maximal device={9}}}",
        "  r = f32[8] all-gather(p), dimensions={{0}}, replica_groups=[{9}]<=[8]",
    ],
)
@pytest.mark.parametrize("digits", [400, 10_000])
def test_numbers_that_python_does_not_read(line: str, digits: int):
    """No number of 64 bits is that long; Python takes 4,300 digits, and no floating-point number has more than 309."""
    text = f"HloModule m, num_partitions={'9' * digits if digits > 400 else 8}\nENTRY e {{\n  p = f32[8] parameter(0)\n"
    text += line.format(*[""] * 9, "9" * digits) + "\n  ROOT s = f32[8] add(p, p)\n}\n"
    kind, found = refused(text)
    assert kind is ReadErrorKind.SYNTAX
    assert found.startswith("in:")
    assert len(found) < 1100


@pytest.mark.parametrize("calls", [False, True])
def test_regions_nested_deep(calls: bool):
    """What walks programs calls itself for each. The callees of calls stand where they are called."""

    def nested(depth: int) -> str:
        lines, functions = "return %a : tensor<4xf32>", []
        for k in range(depth):
            lines = lines.replace("return %", "stablehlo.return %")
            lines = (
                f'%r{k} = "stablehlo.if"(%p) ({{\n{lines}\n}}, {{\nstablehlo.return %a : tensor<4xf32>\n}})'
                f" : (tensor<i1>) -> tensor<4xf32>\nreturn %r{k} : tensor<4xf32>"
            ).replace("stablehlo.stablehlo.", "stablehlo.")
            if calls and k % 2:
                take = "(%a: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32>"
                functions.append(f"func.func private @f{k}{take} {{\n{lines}\n}}")
                lines = (
                    f"%c{k} = call @f{k}(%a, %p) : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32>\n"
                    f"return %c{k} : tensor<4xf32>"
                )
        return stablehlo(f"  {lines}", "(%a: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32>", top="\n".join(functions))

    assert len(read_program(nested(64)).results) == 1
    kind, message = refused(nested(65))
    assert kind is ReadErrorKind.LIMIT
    assert message.endswith(": regions nested more than 64 deep")


@pytest.mark.parametrize(
    ("element", "fitting", "other"),
    [
        ("i32", "SIGNED", "UNSIGNED"),
        ("ui8", "UNSIGNED", "SIGNED"),
        ("f32", "TOTALORDER", "SIGNED"),
        ("i1", "UNSIGNED", "FLOAT"),
    ],
)
def test_a_comparison_of_another_type_than_its_operands(element: str, fitting: str, other: str) -> None:
    """MLIR does not verify it, and later versions of XLA take floats of type SIGNED in their total order."""
    type_ = f"tensor<2x{element}>"
    text = f"""func.func @main(%x: {type_}) -> tensor<2xi1> {{{{
      %0 = stablehlo.compare LT, %x, %x, {{0}} : ({type_}, {type_}) -> tensor<2xi1>
      return %0 : tensor<2xi1>
    }}}}\n"""
    assert read_program(text.format(fitting)).body.ops
    with pytest.raises(ReadError, match=f"a comparison of '{element}' of type '{other}'") as caught:
        read_program(text.format(other))
    assert caught.value.kind is ReadErrorKind.UNSUPPORTED


@pytest.mark.parametrize(
    "op",
    [
        '"stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}>',
        '"stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 4>}>',
    ],
)
def test_a_reduction_in_a_wider_type_is_refused(op: str) -> None:
    """StableHLO has the sum of four 100s of i8 be 400 in i32; XLA refuses it."""
    shape = "1x" if "window" in op else ""
    text = f"""func.func @main(%x: tensor<4xi8>, %z: tensor<i8>) -> tensor<{shape}i32> {{
      %0 = {op} ({{
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }}) : (tensor<4xi8>, tensor<i8>) -> tensor<{shape}i32>
      return %0 : tensor<{shape}i32>
    }}\n"""
    with pytest.raises(ReadError, match="'i8' accumulated in 'i32' is not supported") as caught:
        read_program(text)
    assert caught.value.kind is ReadErrorKind.UNSUPPORTED


_ADD = "%r = stablehlo.add %a, %a : tensor<4xf32>"
_STRANGE = "\\80"


@pytest.mark.parametrize(
    ("line", "top", "where"),
    [
        ('%r = "foo.{0}bar"(%a) : (tensor<4xf32>) -> tensor<4xf32>', "", "4:6"),
        (f'{_ADD} loc("a{{0}}")', "", "4:47"),
        (f'{_ADD} loc("a{{0}}":3:4)', "", "4:47"),
        (f'{_ADD} loc("n{{0}}"("x":3:4))', "", "4:47"),
        ('%r = stablehlo.add %a, %a {{"mhlo.{0}x" = 3 : i32}} : tensor<4xf32>', "", "4:28"),
        ('%r = stablehlo.add %a, %a {{mhlo.sharding = "{0}"}} : tensor<4xf32>', "", "4:44"),
        ('%r = call @"f{0}"(%a) : (tensor<4xf32>) -> tensor<4xf32>', "", "4:12"),
        (_ADD, 'sdy.mesh @"m{0}" = <["x"=2]>', "2:11"),
    ],
)
def test_strings_that_are_not_utf_8(line: str, top: str, where: str):
    """Python's bindings of MLIR cannot say them, and some places end the process for it."""
    body = line.format(_STRANGE) + "\nreturn %r : tensor<4xf32>"
    kind, message = refused(stablehlo(body, top=top.format(_STRANGE)))
    assert (kind, message) == (ReadErrorKind.UNSUPPORTED, f"in:{where}: a string that is not UTF-8")


@pytest.mark.parametrize("name", ["\\C3\\A9", "é", "\\\\80"])
def test_strings_that_are_utf_8(name: str):
    read_program(stablehlo(f'{_ADD} loc("{name}")\nreturn %r : tensor<4xf32>'))


def test_custom_calls_are_configured_with_any_bytes():
    call = f'custom_call @f(%a) {{backend_config = "{_STRANGE}"}}'
    body = f"%r = stablehlo.{call} : (tensor<4xf32>) -> tensor<4xf32>\nreturn %r : tensor<4xf32>"
    (op,) = read_program(stablehlo(body)).body.ops
    assert op.attributes["backend_config"] == b"\x80"
