"""What readers in C++ do to their process is done to a copy: it may die or hang, and the original goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
from jaxlib.mlir.dialects import stablehlo

from read.programs import DATA
from shardproof.validator import compat
from shardproof.validator.compat import ir
from shardproof.validator.forking import fork
from shardproof.validator.read import ReadError, ReadErrorKind, aide, read_program
from shardproof.validator.read.aide import dismiss, in_aide, trusting

ORIGINAL = os.getpid()

EXCHANGE = """
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %y = "stablehlo.all_to_all"(%x) <{split_dimension = 0, concat_dimension = 0, split_count = 2,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %y : tensor<4x4xf32>
  }
}
"""


@pytest.fixture(autouse=True)
def own_aide():
    """An aide made after this module was loaded, which therefore knows its functions."""
    dismiss()
    yield
    dismiss()


def where() -> int:
    return os.getpid()


def die(words: str) -> None:
    if os.getpid() != ORIGINAL:
        os.write(2, words.encode())
        os.abort()


def refuse() -> None:
    raise ReadError(ReadErrorKind.LIMIT, "file:3", f"too much, says {os.getpid()}")


def fail() -> None:
    raise LookupError(f"lost by {os.getpid()}")


def wait() -> int:
    if os.getpid() != ORIGINAL:
        threading.Event().wait()
    return os.getpid()


def spin() -> None:
    while os.getpid() != ORIGINAL:
        pass


def test_one_aide_does_it_all():
    first = in_aide("input", where)
    assert first != ORIGINAL
    assert in_aide("input", where) == first


def test_answers_of_any_size_come_back():
    assert len(in_aide("input", bytes, 3_000_000)) == 3_000_000
    assert in_aide("input", len, b"x" * 3_000_000) == 3_000_000


def test_a_death_is_an_error_of_the_input_and_another_aide_goes_on():
    first = in_aide("input", where)
    with pytest.raises(ReadError) as caught:
        in_aide("input", die, "F1130 reader.cc:3] Check failed: axes overlap\n*** stack\n")
    assert str(caught.value) == "input: MLIR or XLA died of SIGABRT reading it: Check failed: axes overlap"
    assert caught.value.kind is ReadErrorKind.FORMAT
    assert in_aide("input", where) not in (first, ORIGINAL)


def test_a_refusal_comes_back():
    with pytest.raises(ReadError, match="file:3: too much, says") as caught:
        in_aide("input", refuse)
    assert str(ORIGINAL) not in str(caught.value)
    assert (caught.value.kind, caught.value.where) == (ReadErrorKind.LIMIT, "file:3")


def test_a_fault_is_seen_with_its_traceback():
    with pytest.raises(LookupError, match=f"lost by {ORIGINAL}"):
        in_aide("input", fail)


def test_an_aide_that_waits_for_a_thread_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(aide, "_LOOK", 0.02)
    assert in_aide("input", wait) == ORIGINAL
    assert in_aide("input", where) != ORIGINAL


def test_an_aide_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(aide, "_LOOK", 0.02)
    monkeypatch.setattr(aide, "_SECONDS", 0.1)
    with pytest.raises(ReadError, match=r"^input: MLIR or XLA does not come to an end with it$"):
        in_aide("input", spin)
    assert in_aide("input", where) != ORIGINAL


def test_bytecode_that_mlir_reads_for_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(aide, "_SECONDS", 2)
    with pytest.raises(ReadError, match="does not come to an end"):
        read_program((DATA.parent / "damaged" / "endless.mlirbc").read_bytes())


def test_a_larger_input_has_more_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(aide, "_LOOK", 0.02)
    monkeypatch.setattr(aide, "_SECONDS", -1)
    assert in_aide("input", len, b"x" * 3_000_000) == 3_000_000
    with pytest.raises(ReadError, match="does not come to an end"):
        in_aide("input", spin)


def test_a_copy_of_the_process_has_an_aide_of_its_own():
    mine = in_aide("input", where)
    process = fork()
    if process == 0:
        os._exit(0 if in_aide("input", where) not in (mine, ORIGINAL) else 1)
    assert os.waitpid(process, 0)[1] == 0
    assert in_aide("input", where) == mine


def test_no_warning_is_left_behind():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert in_aide("input", where) != ORIGINAL


def test_it_ends_with_its_process():
    program = "from shardproof.validator.read.aide import in_aide\nimport os\nprint(in_aide('input', os.getpid))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    number = int(done.stdout)
    end = time.monotonic() + 20
    while Path(f"/proc/{number}").exists() and _state(number) != "Z":
        assert time.monotonic() < end
        time.sleep(0.05)


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


@pytest.mark.parametrize("portable", [False, True])
def test_bytecode_that_ends_mlir(portable: bool):
    """jaxlib 0.10 divides by the number of devices in a group where there is none."""
    context = compat.new_context()
    module = compat.parse_module(EXCHANGE, context)
    exchange = next(op for op in module.body.operations[0].regions[0].blocks[0].operations if "all_to_all" in str(op))
    exchange.attributes["replica_groups"] = ir.Attribute.parse("dense<> : tensor<0x0xi64>", context)
    version = stablehlo.get_minimum_version()
    data = stablehlo.serialize_portable_artifact(module, version) if portable else compat.bytecode_of(module)
    with pytest.raises(ReadError) as caught:
        read_program(data)
    assert str(caught.value).startswith("input: ")
    read_program((DATA / "layer_lowered.mlirbc").read_bytes())


def test_what_this_process_wrote_is_read_by_itself():
    with trusting():
        assert in_aide("own", where) == ORIGINAL
    assert in_aide("other", where) != ORIGINAL
