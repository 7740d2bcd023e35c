"""Source lines in diagnostics: shown where they can be read, never a reason to fail."""

import os
import socket
from pathlib import Path

import pytest

from shardproof.validator.read.ir import Frame
from shardproof.validator.report.excerpt import column, excerpt

SOURCE = "def f(x):\n\treturn x + 1\n    naïve = f(x)\r\nlast"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "model.py"
    file.write_bytes(SOURCE.encode())
    return file


def shown(file: Path, line: int, at: int, **rest) -> list[str] | None:
    found = excerpt(Frame(str(file), line, at), **rest)
    return None if found is None else found.text_lines()


def test_the_caret_stands_below_the_place(source: Path):
    assert shown(source, 2, 8) == ["    return x + 1", "           ^"]
    # JAX counts bytes: the two of ï are one place
    assert shown(source, 3, 13) == ["    naïve = f(x)", "            ^"]
    assert shown(source, 4, 0) == ["last"]


def test_a_place_beyond_the_line_has_no_caret(source: Path):
    assert shown(source, 1, 300) == ["def f(x):"]


def test_columns_of_mlir_text_count_from_one(tmp_path: Path):
    file = tmp_path / "a.mlir"
    file.write_text("module {\n  %0 = x\n}\n")
    assert shown(file, 2, 3) == ["  %0 = x", "  ^"]
    assert column(Frame("a.mlir", 2, 3)) == 3
    assert column(Frame("a.py", 2, 3)) == 4
    assert column(Frame("a.py", 2, 0)) is None


def test_context(source: Path):
    found = excerpt(Frame(str(source), 2, 8), context=1)
    assert found is not None
    assert (found.first, found.line, found.lines) == (1, 2, ("def f(x):", "    return x + 1", "    naïve = f(x)"))


def test_a_relative_path_is_also_looked_for_beside_the_input(source: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir("/")
    assert excerpt(Frame("model.py", 1, 5)) is None
    assert excerpt(Frame("model.py", 1, 5), beside=str(source.parent / "after.hlo.txt")) is not None


@pytest.mark.parametrize("line", [0, -3, 5, 1 << 40])
def test_no_such_line(source: Path, line: int):
    assert shown(source, line, 3) is None


def test_what_cannot_be_read_gives_nothing(source: Path, tmp_path: Path):
    assert shown(tmp_path, 1, 1) is None
    assert shown(tmp_path / "none.py", 1, 1) is None
    assert excerpt(Frame("with\0zero.py", 1, 1)) is None
    assert excerpt(Frame("x" * 100_000, 1, 1)) is None
    (tmp_path / "binary.py").write_bytes(b"a = 1\n\0\0\n")
    assert shown(tmp_path / "binary.py", 1, 1) is None
    with open(tmp_path / "huge.py", "wb") as file:
        file.truncate(1 << 33)
    assert shown(tmp_path / "huge.py", 1, 1) is None


def test_a_pipe_or_socket_does_not_hang(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.py")
    assert shown(tmp_path / "pipe.py", 1, 1) is None
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.py"))
        assert shown(tmp_path / "socket.py", 1, 1) is None


def test_a_file_that_changes_is_read_again(source: Path):
    assert shown(source, 1, 0) == ["def f(x):"]
    source.write_text("something = else_\n")
    assert shown(source, 1, 0) == ["something = else_"]


def test_nothing_acts_on_the_terminal(tmp_path: Path):
    file = tmp_path / "evil.py"
    file.write_bytes(b"x = '\x1b[31m\xff\x07'\n")
    found = shown(file, 1, 4)
    assert found is not None
    assert found[0].isprintable()


def test_a_long_line_is_cut_around_the_caret(tmp_path: Path):
    file = tmp_path / "long.py"
    file.write_text("a" * 5000 + "X" + "b" * 5000)
    found = shown(file, 1, 5000)
    assert found is not None
    text, caret = found
    assert len(text) <= 160
    assert text[len(caret) - 1] == "X"
