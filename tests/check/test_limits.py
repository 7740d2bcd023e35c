"""Certificates that are made to keep the checker busy: it ends in time, and within its memory."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from shardproof.validator import check_command
from shardproof.validator.check_command import main
from shardproof.validator.read.certificates import seal_of

from .pairs import FILES, certificate

COUNT = 300
SUM = " + ".join(f"{k + 2} e{k}" for k in range(COUNT))
ROWS = " and ".join(f"0 <= e{k} <= {k + 2} and e{k} + 2 e{(k * 7 + 1) % COUNT} <= i + {k}" for k in range(COUNT))
HARD = {
    "quantified": f"[i] -> [j] : exists {','.join(f'e{k}' for k in range(COUNT))} : {ROWS} and {SUM} = j",
    "digits": f"[i] -> [j] : j = {'9' * 1_000_000} i",
    "pieces": f"[i] -> [j] : {' or '.join(f'(i = {k} and j = {k * k})' for k in range(20_000))}",
}
"""Relations whose text keeps isl busy, which counts none of that as its operations."""


def forged(text: str) -> str:
    """A certificate with one more relation, sealed anew."""
    lines = certificate("tp_mlp").rstrip("\n").split("\n")
    last = max(number for number, line in enumerate(lines) if '"shardproof.relation"' in line)
    lines.insert(last + 1, f'  "shardproof.relation"() {{text = "{{{text}}}"}} : () -> ()')
    changed = "\n".join(lines)
    seal = changed.split('seal = "')[1].split('"')[0]
    return changed.replace(seal, seal_of(changed, seal)) + "\n"


@pytest.fixture
def check(tmp_path, capsys):
    """Checks a text with these options: exit code, standard output, standard error."""
    path = tmp_path / "proof.mlir"

    def run(text: str, *options: str) -> tuple[int, str, str]:
        path.write_text(text)
        code = main([str(path), *map(str, FILES["tp_mlp"]), *options])
        out, err = capsys.readouterr()
        return code, out.replace(str(path), "proof.mlir"), err

    return run


@pytest.mark.parametrize("kind", HARD)
def test_a_relation_that_keeps_isl_busy(kind: str, check):
    script = "import islpy, sys\nislpy.Map('{' + sys.stdin.read() + '}')"
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", script], input=HARD[kind], text=True, timeout=4, capture_output=True)
    start = time.monotonic()
    code, out, err = check(forged(HARD[kind]), "--timeout", "3")
    assert time.monotonic() - start < 3 + 3
    assert (code, err) == (3, "")
    assert out == "NOT_CHECKED  proof.mlir: no verdict within 3 s, stopped while checking the certificate\n"


def test_a_limit_of_memory(check):
    code, out, _ = check(forged(HARD["quantified"]), "--memory-limit", "150")
    assert code == 3
    assert out.startswith("NOT_CHECKED  proof.mlir: no verdict within 150 MB, stopped while ")


def test_there_are_limits_without_being_asked_for(check, monkeypatch):
    assert check_command.parser().parse_args(["c", "b", "a"]).timeout == check_command.SECONDS
    assert check_command.parser().parse_args(["c", "b", "a"]).memory_limit == check_command.MEGABYTES
    monkeypatch.setattr(check_command, "SECONDS", 2.0)
    code, out, _ = check(forged(HARD["digits"]))
    assert code == 3
    assert "no verdict within 2 s" in out


def test_more_of_a_relation_that_is_none_changes_nothing(check):
    assert check(forged("[i] -> [i]"))[0] == 0


@pytest.mark.parametrize("option", [("--timeout", "0"), ("--timeout", "inf"), ("--memory-limit", "1.5")])
def test_limits_that_are_none(option: tuple[str, str], capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["c", "b", "a", *option])
    assert f"error: argument {option[0]}: '{option[1]}' is not a positive" in capsys.readouterr().err


def test_brackets_that_would_overflow_the_stack_of_a_reader(check):
    text = certificate("tp_mlp").replace('theory = "', f'deep = {"[" * 100_000 + "]" * 100_000}, theory = "')
    code, _, err = check(text)
    assert code == 5
    assert err.endswith("proof.mlir: error: brackets are nested more than 1000 deep\n")


@pytest.mark.parametrize("text", ["[i] -> [j] : j = {0}i{1}", "[i] -> [j] : j = i//{0}2{1}", "{0}[i]{1} -> [j]"])
def test_brackets_that_would_overflow_the_stack_of_isl(text: str, check):
    code, out, _ = check(forged(text.format("(" * 100_000, ")" * 100_000)))
    assert (code, out) == (1, "REJECTED  proof.mlir: a relation whose brackets are nested more than 1000 deep\n")
