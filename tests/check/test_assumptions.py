"""Certificates that rest on what is assumed or given by hand: accepted only where the checker is given the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import shardproof
from shardproof.validator.check.check import check
from shardproof.validator.check.errors import Rejection
from shardproof.validator.options import Assumption, Options
from shardproof.validator.read.ir import Program
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs
from tests.relate.lemma_examples import EXAMPLES
from tests.relate.pairs import Tensor, program

from .pairs import about, pair, sealed
from .pairs import certificate as plain

IN_BOUNDS = EXAMPLES["indices in bounds"]


def _written(before: Program, after: Program) -> str:
    options = Options(certificate=True, assumptions=frozenset({Assumption.INDICES_IN_BOUNDS}))
    report = validate_programs(before, after, options)
    assert report.certificate is not None, [note.text for note in report.notes]
    return report.certificate


def test_indices_in_bounds_have_to_be_assumed_by_both():
    before, after, broken = IN_BOUNDS.before(), IN_BOUNDS.after(), IN_BOUNDS.broken()
    text = _written(before, after)
    accepted = check(text.encode(), "c", before, after, in_bounds=True)
    assert accepted.assumptions == ("indices-in-bounds",)
    with pytest.raises(Rejection, match=r"assumes \['indices-in-bounds'\], and given is \[\]"):
        check(text.encode(), "c", before, after)
    hidden = sealed(text.replace('assumptions = ["indices-in-bounds"]', "assumptions = []"))
    assert hidden != text
    with pytest.raises(Rejection, match="holds other elements"):
        check(hidden.encode(), "c", before, after)
    with pytest.raises(Rejection):
        check(about(text, after, broken).encode(), "c", before, broken, in_bounds=True)


def test_an_assumption_that_is_not_made_is_not_given_for_nothing():
    with pytest.raises(Rejection, match=r"assumes \[\], and given is \['indices-in-bounds'\]"):
        check(plain("tp_mlp").encode(), "c", *pair("tp_mlp"), in_bounds=True)


SECOND, HALF = "affine_map<(d, i) -> (i * 2 + d)>", "affine_map<(d, i) -> (d * 4 + i)>"
RELATIONS = f'"shardproof.relations"() {{parameters = [{SECOND}], results = [{SECOND}]}} : () -> ()\n'
"""Every second element, which no sharding tells."""


def _doubled(width: int, devices: int) -> Program:
    type_ = Tensor((width,), "f32")
    return program(f"%out = stablehlo.add %a0, %a0 : {type_}\n", [type_], type_, devices)


def _texts(tmp_path: Path) -> list[str]:
    """A pair of programs, which shardings do not relate, as files."""
    paths = []
    for name, width, devices in (("before", 8, 1), ("after", 4, 2)):
        path = tmp_path / f"{name}.mlir"
        path.write_text(
            f"module @m attributes {{mhlo.num_partitions = {devices} : i32}} {{\n"
            f"func.func public @main(%a: tensor<{width}xf32>) -> tensor<{width}xf32> {{\n"
            f"%out = stablehlo.add %a, %a : tensor<{width}xf32>\nreturn %out : tensor<{width}xf32>\n}}\n}}\n"
        )
        paths.append(str(path))
    return paths


def _run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-P", "-m", module, *arguments], capture_output=True, text=True)


CHECK, PROVE = "shardproof.validator.check_command", "shardproof.validator.cli"


def test_relations_have_to_be_given_to_both(tmp_path):
    before, after = _texts(tmp_path)
    relations, proof = str(tmp_path / "relations.mlir"), str(tmp_path / "proof.mlir")
    Path(relations).write_text(RELATIONS)
    assert _run(PROVE, before, after, "--relations", relations, "--certificate", proof).returncode == 0
    accepted = _run(CHECK, proof, before, after, "--relations", relations)
    assert accepted.stdout == f"ACCEPTED (exact, assuming relations)  {before} → {after}  1 output\n"
    bare = _run(CHECK, proof, before, after)
    assert bare.returncode == 1
    assert "assumes ['relations'], and given is []" in bare.stdout
    # under other relations it is no proof of what they say of the result
    Path(relations).write_text(RELATIONS.replace(f"results = [{SECOND}]", f"results = [{HALF}]"))
    other = _run(CHECK, proof, before, after, "--relations", relations)
    assert other.returncode == 1, other.stdout
    assert "holds other elements" in other.stdout


def test_relations_from_shapes(tmp_path):
    before, after = _texts(tmp_path)
    proof = str(tmp_path / "proof.mlir")
    assert _run(PROVE, before, after, "--infer-relations", "--certificate", proof).returncode == 0
    assert _run(CHECK, proof, before, after).returncode == 1
    assert _run(CHECK, proof, before, after, "--infer-relations").returncode == 0


def test_a_model_that_is_related_by_hand():
    folder = Path(__file__).resolve().parents[2] / "examples" / "aws_llama"
    before, after = folder / "tp1_layer1.hlo.pb.gz", folder / "tp2_layer1.hlo.pb.gz"
    report = shardproof.validate_modules(before, after, relations=folder / "relations.mlir", certificate=True)
    assert report.certificate is not None, [note.text for note in report.notes]


def _chosen(devices: int, *, few: bool) -> Program:
    """A look-up in sixteen elements, or in the first four, besides one in four that is run only if a test holds."""
    types = [Tensor((4,), "f32"), Tensor((16,), "f32"), Tensor((), "i32"), Tensor((), "i1")]
    count, source = (4, "%s") if few else (16, "%a1")
    body = f"""
%c = "stablehlo.if"(%a3) ({{
  %d = stablehlo.dynamic_slice %a0, %a2, sizes = [1] : (tensor<4xf32>, tensor<i32>) -> tensor<1xf32>
  stablehlo.return %d : tensor<1xf32>
}}, {{
  %e = stablehlo.constant dense<0.0> : tensor<1xf32>
  stablehlo.return %e : tensor<1xf32>
}}) : (tensor<i1>) -> tensor<1xf32>
%s = stablehlo.slice %a1 [0:4] : (tensor<16xf32>) -> tensor<4xf32>
%out = stablehlo.dynamic_slice {source}, %a2, sizes = [1] : (tensor<{count}xf32>, tensor<i32>) -> tensor<1xf32>
"""
    return program(body, types, Tensor((1,), "f32"), devices)


def test_an_index_of_a_branch_that_is_not_run_may_be_out_of_bounds():
    before, after, wrong = _chosen(1, few=False), _chosen(2, few=False), _chosen(2, few=True)
    options = Options(assumptions=frozenset({Assumption.INDICES_IN_BOUNDS}), certificate=True)
    text = _written(before, after)
    assert validate_programs(before, wrong, options).verdict is Verdict.REFUTED
    with pytest.raises(Rejection):
        check(about(text, after, wrong).encode(), "c", before, wrong, in_bounds=True)
