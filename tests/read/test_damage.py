"""Damaged files: whatever was cut, doubled or overwritten, the reader reads it or refuses it with a `ReadError`.

The mutants run in a process of their own, since an assertion inside XLA or MLIR would end it.
"""

import subprocess
import sys

import pytest

from read.programs import DATA
from shardproof.validator.read import ReadError, ReadErrorKind, read_program

MUTANTS = """
import random, sys
from pathlib import Path
from shardproof.validator.read import ReadError, read_program

rng = random.Random(7)
originals = [path.read_bytes() for path in map(Path, sys.argv[1:])]
outcomes = set()
for _ in range(150):
    data = rng.choice(originals)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at, other = rng.randrange(len(data)), rng.randrange(len(data))
        size = rng.randrange(1, 30)
        data = rng.choice([
            data[:at] + data[at + size:],
            data[:at] + bytes([rng.randrange(256)]) + data[at + 1:],
            data[:at] + data[other:other + size] + data[at:],
            data[:max(at, 40)],
        ])
    try:
        read_program(data)
        outcomes.add("READ")
    except ReadError as error:
        assert str(error).startswith(error.where + ": "), error
        outcomes.add(error.kind.name)
print(*sorted(outcomes))
"""


@pytest.mark.parametrize("pattern", ["*.hlo.txt", "*.mlir", "*/*.pb"])
def test_damaged_files(pattern: str):
    files = [str(path) for path in sorted(DATA.glob(pattern))]
    run = subprocess.run([sys.executable, "-c", MUTANTS, *files], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    assert len(run.stdout.split()) >= 2


def test_bytecode_that_ends_early():
    """MLIR's own reader does not survive every damage; what can be told from the frame is refused before it."""
    data = (DATA / "layer_lowered.mlirbc").read_bytes()
    for size in range(5, len(data), 3):
        with pytest.raises(ReadError) as caught:
            read_program(data[:size])
        assert caught.value.kind in (ReadErrorKind.TRUNCATED, ReadErrorKind.SYNTAX)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"MLIR", b"ML\xffR", "input: is damaged MLIR bytecode: its producer is not UTF-8"),
        (b"layer.py", b"lay\xffr.py", "input: holds a string that is not UTF-8: b'lay\\xffr.py\\x00'"),
    ],
)
def test_bytecode_with_damaged_strings(old: bytes, new: bytes, message: str):
    data = (DATA / "layer_lowered.mlirbc").read_bytes()
    with pytest.raises(ReadError) as caught:
        read_program(data.replace(old, new))
    assert str(caught.value) == message
