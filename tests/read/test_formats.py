"""One program in every format reads alike, whatever the file is called."""

import gzip
import io
import subprocess
import sys
from pathlib import Path

import pytest

from read.programs import DATA, ops_named
from shardproof.validator import compat
from shardproof.validator.read import read_program
from shardproof.validator.read.ir import Program
from shardproof.validator.read.show import show_op, show_program

HLO = DATA / "uneven_max_after.hlo.txt"
MLIR = DATA / "layer_lowered.mlir"


def shown(program: Program) -> str:
    return show_program(program)


def hlo_proto() -> bytes:
    return compat.hlo_text_to_proto(HLO.read_text())


def wrapped(proto: bytes) -> bytes:
    """An HloProto: the module as field 1."""
    size, out = len(proto), bytearray(b"\x0a")
    while size >= 0x80:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out) + proto


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress], ids=["plain", "gz"])
@pytest.mark.parametrize("form", ["text", "module proto", "proto", "snapshot"])
def test_hlo(form: str, pack, tmp_path: Path):
    data = {
        "text": HLO.read_bytes(),
        "module proto": hlo_proto(),
        "proto": wrapped(hlo_proto()),
        "snapshot": wrapped(wrapped(hlo_proto())),
    }[form]
    path = tmp_path / "misleading.mlir"
    path.write_bytes(pack(data))
    assert shown(read_program(path)) == shown(read_program(HLO))


def test_mlir_bytecode_and_portable_artifact():
    from jaxlib.mlir._mlir_libs import _stablehlo  # pyright: ignore[reportMissingImports]

    expected = shown(read_program(MLIR))
    assert shown(read_program(DATA / "layer_lowered.mlirbc")) == expected
    module = compat.parse_module((DATA / "take_vocab_lowered.mlir").read_text(), compat.new_context())
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    assert shown(read_program(buffer.getvalue())) == shown(read_program(DATA / "take_vocab_lowered.mlir"))
    # An artifact holds StableHLO alone, so this program has no Shardy in it.
    text = (
        "module @m {\nfunc.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = stablehlo.tanh %a : tensor<4xf32>\n"
    )
    text += "  return %0 : tensor<4xf32>\n}\n}\n"
    plain = compat.parse_module(text, compat.new_context())
    artifact = _stablehlo.serialize_portable_artifact(plain, _stablehlo.get_minimum_version())
    assert compat.is_portable_artifact(artifact)
    assert shown(read_program(artifact)) == shown(read_program(text))


def test_module_object():
    module = compat.parse_module(MLIR.read_text(), compat.new_context())
    assert shown(read_program(module)) == shown(read_program(MLIR))


def test_leading_comments():
    text = "// RUN: something\n\n" + MLIR.read_text()
    assert shown(read_program(text)) == shown(read_program(MLIR))
    assert shown(read_program("// a note\n/* more */ " + HLO.read_text())) == shown(read_program(HLO))


def test_standard_input():
    code = "from shardproof.validator.read import read_program; p = read_program('-'); print(p.source, len(p.body.ops))"
    run = subprocess.run([sys.executable, "-c", code], input=HLO.read_bytes(), capture_output=True)
    assert run.stdout.decode().split() == ["stdin", str(len(read_program(HLO).body.ops))]


def test_lowered_and_its_cold_start():
    """Reading a file imports jaxlib but not jax; a Lowered comes from the caller's own jax."""
    code = (
        "import sys\nfrom shardproof.validator.read import read_program\n"
        f"read_program({str(HLO)!r})\nassert 'jax' not in sys.modules\n"
        "import jax, jax.numpy as jnp\n"
        "lowered = jax.jit(lambda x: jnp.tanh(x)).lower(jax.ShapeDtypeStruct((4,), jnp.float32))\n"
        "print(*[op.name for op in read_program(lowered).body.ops])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.split() == ["stablehlo.tanh"], run.stderr


def test_listing():
    program = read_program(HLO)
    (reduce,) = ops_named(program, "stablehlo.all_reduce")
    assert show_op(reduce).startswith("'stablehlo.all_reduce' %")
    assert show_op(reduce).endswith(": f32[]")
    lines = shown(program).splitlines()
    assert lines[0] == "program jit__lambda on 1x8 devices"
    assert any("replica_groups = {{0,1,2,3},{4,5,6,7}}" in line for line in lines)
    assert any("-inf" in line and "stablehlo.constant" in line for line in lines)
    assert lines[-1].startswith("  return %")
