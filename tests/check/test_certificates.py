"""Certificates: what is proved is accepted, in the form that MLIR prints, without anything of the prover."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import shardproof
from shardproof.validator.check.check import check
from shardproof.validator.check.errors import Rejection
from shardproof.validator.check_command import main
from shardproof.validator.ops.record import Theory
from shardproof.validator.options import Options
from shardproof.validator.run import InternalError
from shardproof.validator.validate import validate_programs
from tests.relate.pairs import Tensor, module

from .pairs import FILES, certificate, pair


@pytest.mark.parametrize("name", FILES)
def test_a_proof_is_accepted_with_its_theory(name: str):
    before, after = pair(name)
    report = validate_programs(before, after, Options())
    accepted = check(certificate(name).encode(), name, before, after)
    assert accepted.theory is report.theory
    assert accepted.theories == tuple(output.theory for output in report.outputs)


@pytest.mark.parametrize("name", FILES)
def test_the_text_is_what_mlir_prints(name: str):
    from jaxlib.mlir import ir

    text = certificate(name)
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        assert f"{ir.Module.parse(text).operation.get_asm(print_generic_op_form=True)}\n" == text


def test_a_certificate_of_other_programs_is_rejected():
    with pytest.raises(Rejection, match="the certificate speaks of other programs"):
        check(certificate("tp_mlp").encode(), "c", *pair("take_vocab"))


def test_nothing_is_written_down_unless_asked_for():
    assert validate_programs(*pair("tp_mlp"), Options()).certificate is None


def test_the_public_face_gives_certificates():
    before, after = FILES["tp_mlp"]
    report = shardproof.validate_modules(str(before), str(after), certificate=True)
    assert report.certificate == certificate("tp_mlp")


LOADED = """
import sys
from shardproof.validator import check_command
from shardproof.validator.course import Course
from shardproof.validator.run import Source
certificate, before, after = map(Source.of_file, ('-', *sys.argv[1:]))
found = check_command.check_here(certificate, before, after, None, False, False, Course())
assert not isinstance(found, str), found
print('\\n'.join(sys.modules))
"""


def loaded(before: Path, after: Path, text: str) -> set[str]:
    """The modules of this project that have to be loaded to accept a certificate, and all others."""
    command = [sys.executable, "-P", "-c", LOADED, str(before), str(after)]
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return {name.removeprefix("shardproof.validator.") for name in run.stdout.split()}


def test_the_checker_loads_nothing_of_the_prover():
    found = loaded(*FILES["take_vocab"], certificate("take_vocab"))
    assert "check.check" in found
    assert not [name for name in found if name.split(".")[0] in ("relate", "egraph", "certify", "explain", "validate")]
    assert not {"relation.store", "egglog"} & found


SUM = "%s = stablehlo.add %a{}, %a{} : tensor<8xf32>\n%out = stablehlo.add %s, %a{} : tensor<8xf32>"
EXPONENTIAL = "%s = stablehlo.add %a0, %a1 : tensor<8xf32>\n%out = stablehlo.exponential %s : tensor<8xf32>"
EXPONENTIALS = (
    "%e = stablehlo.exponential %a0 : tensor<8xf32>\n%f = stablehlo.exponential %a1 : tensor<8xf32>\n"
    "%out = stablehlo.multiply %e, %f : tensor<8xf32>"
)


@pytest.mark.parametrize(
    ("before", "after", "theory", "laws"),
    [
        (SUM.format(0, 1, 2), SUM.format(1, 0, 2), Theory.EXACT, set()),
        (SUM.format(0, 1, 2), SUM.format(1, 2, 0), Theory.REASSOCIATED, {"check.algebra.ground"}),
        (EXPONENTIALS, EXPONENTIAL, Theory.REAL, {"check.reals.reals"}),
    ],
    ids=["no law", "rules", "reals"],
)
def test_laws_of_arithmetic_are_loaded_by_what_uses_them(
    before: str, after: str, theory: Theory, laws: set[str], tmp_path: Path
):
    paths = tmp_path / "before.mlir", tmp_path / "after.mlir"
    for path, body in zip(paths, (before, after), strict=True):
        path.write_text(module(body, [Tensor((8,), "f32")] * 3, Tensor((8,), "f32"), 1))
    report = shardproof.validate_modules(*map(str, paths), certificate=True, theory=theory)
    assert report.theory is theory
    assert report.certificate is not None
    found = loaded(*paths, report.certificate)
    assert found & {"check.algebra.ground", "check.reals.reals"} == laws


CHECKER = Path(shardproof.__file__).resolve().parents[1] / "validator" / "check"


@pytest.mark.parametrize(("folder", "most"), [("", 1_500), ("algebra", 297), ("reals", 688)])
def test_the_checker_is_small(folder: str, most: int):
    """All lines of what checks proofs, and of what only proofs by rules, or over the real numbers, ask besides."""
    files = (CHECKER / folder).glob("*.py")
    lines = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert sum(lines.values()) <= most, lines


def test_the_checker_imports_records_and_readers_only():
    """What op records, readers and builders of relations import is held by the test of what is loaded."""
    allowed = {"command", "evaluate", "ops", "read", "relation", "report", "rules"}
    for path in CHECKER.rglob("*.py"):
        outside = r"\.\." if path.parent == CHECKER else r"\.\.\."
        for found in re.findall(rf"^\s*from {outside}(\w*)\.?(\w*)", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert found[0] in allowed, (path.name, found)
            assert found[1] != "store", (path.name, found)


def run_check(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "shardproof.validator.check_command", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_command(tmp_path):
    before, after = map(str, FILES["tp_mlp"])
    path = tmp_path / "proof.mlir"
    prove = [sys.executable, "-P", "-m", "shardproof.validator.cli", before, after, "--certificate", str(path)]
    assert subprocess.run(prove, capture_output=True).returncode == 0
    accepted = run_check(str(path), before, after)
    assert accepted.returncode == 0
    assert accepted.stdout == f"ACCEPTED (reassociated)  {before} → {after}  1 output\n"
    rejected = run_check(str(path), before, before)
    assert rejected.returncode == 1
    assert rejected.stdout.startswith(f"REJECTED  {path}: the certificate speaks of other programs")
    path.write_text("no certificate")
    unreadable = run_check(str(path), before, after)
    assert unreadable.returncode == 5
    assert unreadable.stderr.startswith(f"{path}:1:1: error: custom op 'no' is unknown")
    assert run_check(str(path), before).returncode == 2


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "shardproof-check: interrupted\n"),
        (BrokenPipeError(), 141, ""),
        (RuntimeError("a fault"), 70, "shardproof-check: internal error:\n"),
        (InternalError("a death", "last words"), 70, "shardproof-check: internal error: a death\nlast words\n"),
    ],
)
def test_what_keeps_the_command_from_its_end(raised, code, said, monkeypatch, capsys, tmp_path):
    def fail(*arguments, **limits):
        raise raised

    path = tmp_path / "proof.mlir"
    path.write_text(certificate("tp_mlp"))
    monkeypatch.setattr("shardproof.validator.child.Child.ask", fail)
    monkeypatch.setattr("shardproof.validator.command._forget_stdout", lambda: None)
    assert main([str(path), *map(str, FILES["tp_mlp"])]) == code
    assert capsys.readouterr().err.startswith(said)


def test_a_refuted_pair_has_none(tmp_path):
    before, after = map(str, FILES["tp_mlp"])
    path = tmp_path / "proof.mlir"
    prove = [sys.executable, "-P", "-m", "shardproof.validator.cli", before, after]
    run = subprocess.run([*prove, "--theory", "exact", "--certificate", str(path)], capture_output=True, text=True)
    assert run.returncode == 3
    assert f"note: no certificate: nothing is proved, so '{path}' is not written" in run.stderr
    assert not path.exists()
