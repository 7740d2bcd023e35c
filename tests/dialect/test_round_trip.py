"""What is printed is printed the same by every tool that loads the definition, and by ourselves once more."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dialect.mlir_tools import DEFINITION, NAMES, ROOT, cmake_folder, printed, tool
from shardproof import validate_modules
from shardproof.dialect import (
    AffinePiece,
    Entry,
    Pieces,
    Repeat,
    Replicated,
    Shard,
    Unstated,
    Written,
    canonical,
    problem_text,
    relations_text,
)
from shardproof.dialect import printed as text_of
from shardproof.dialect.entries import read_entries
from shardproof.dialect.verify import verify
from shardproof.validator.compat import new_context, parse_module
from shardproof.validator.ops.record import Theory
from shardproof.validator.options import Assumption, Options
from shardproof.validator.problems import read_problems
from shardproof.validator.report.expected import split_input
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.run import validate_sources

CORPUS = Path(os.environ.get("SHARDPROOF_CORPUS", ROOT.parent / "shared" / "corpus"))
TP_MLP = [(ROOT / "examples" / "tp_mlp" / f"{side}.hlo.txt").read_bytes() for side in ("before", "after")]
MESHES = {"grid": {"x": 2, "y": 2}}

ENTRIES: list[Entry] = [
    Unstated(),
    Replicated(),
    Shard(1),
    Shard(0, axes=("x",), mesh="grid"),
    Shard(0, axes=("y", "x")),
    Shard(0, blocks=(4, 8)),
    Written("{devices=[4,1]<=[4]}"),
    Written('#sdy.sharding<@grid, [{"x"}, {}]>'),
    Pieces((AffinePiece("(d, i, j)[n] -> (d + n * i, j)"),)),
    Pieces((AffinePiece("(x, y, i) -> (2 * x + y + i)", "(x, y, i) : (x - 1 == 0, 3 - i >= 0)", "grid"),)),
    Repeat((Shard(0), Replicated()), 2),
    Repeat((Unstated(),)),
]


def _files() -> list[tuple[str, str]]:
    """Every part of the problem and relation files there are, in the form that is printed."""
    found = []
    for folder in ("lit/problems", "lit/lemmas", "examples", "lit/relations"):
        for path in sorted((ROOT / folder).rglob("*.mlir")):
            for number, part in enumerate(split_input(path.read_bytes())):
                if b'"shardproof.' not in part or b"{,}" in part:
                    continue
                module = parse_module(part.decode(), new_context(allow_unregistered=True))
                if not verify(module):
                    canonical(module)
                    found.append((f"{path.relative_to(ROOT)}:{number}", text_of(module)))
    return found


def _texts() -> list[tuple[str, str]]:
    built = [
        ("relations", relations_text(ENTRIES, ENTRIES[:2], MESHES)),
        ("empty", relations_text()),
        (
            "problem",
            problem_text(
                *TP_MLP, expect=Verdict.PROVED, theory=Theory.REAL, parameters=[Repeat((Unstated(),))], meshes=MESHES,
                assume=list(Assumption), proof=Theory.EXACT, name='a "name"',
            ),
        ),
    ]  # fmt: skip
    report = validate_modules(TP_MLP[0], TP_MLP[1], certificate=True)
    type_ = "tensor<4xf32>"
    plain = f"%out = stablehlo.abs %x : {type_}\nreturn %out : {type_}"
    negated = f"%x = stablehlo.negate %a : {type_}\n{plain}"
    main = f"func.func @main(%{{}}: {type_}) -> {type_} {{{{\n{{}}\n}}}}\n"
    programs = main.format("x", plain), main.format("a", negated)
    equal = validate_modules(*programs, certificate=True)
    assert report.certificate is not None
    assert equal.certificate is not None
    assert "shardproof.instance" in equal.certificate
    return [*built, ("certificate", report.certificate), ("equality", equal.certificate), *_files()]


def _corpus() -> list[tuple[str, str]]:
    return [
        (before.parent.name, problem_text(before.read_bytes(), after.read_bytes(), expect=Verdict.PROVED))
        for before in sorted((CORPUS / "xla_cpu").glob("*/before.*"))
        for after in before.parent.glob("after.*")
    ]


def _all_printed(command: list[str], texts: list[tuple[str, str]]) -> None:
    """Asserts that a tool prints every text as it is, all of them in one run."""
    marker = "// -----\n"
    found = printed(command, marker.join(text for _, text in texts), "--split-input-file").split(marker)
    for (what, text), again in zip(texts, found, strict=True):
        assert again == text, what


def test_printing_twice_changes_nothing():
    for name, text in _texts():
        module = parse_module(text, new_context(allow_unregistered=True))
        assert text_of(module) == text, name
        canonical(module)
        assert text_of(module) == text, name


def test_entries_survive():
    module = parse_module(relations_text(ENTRIES, meshes=MESHES), new_context(allow_unregistered=True))
    *_, op = module.body.operations
    read = read_entries("parameters", op.attributes["parameters"])
    named = [
        Shard(0, axes=("y", "x"), mesh="grid") if entry == Shard(0, axes=("y", "x")) else entry for entry in ENTRIES
    ]
    maps = [entry for entry in read if isinstance(entry, Pieces)]
    assert [entry for entry in read if not isinstance(entry, Pieces)] == [e for e in named if not isinstance(e, Pieces)]
    assert maps == [
        Pieces((AffinePiece("(d0, d1, d2)[s0] -> (d0 + d1 * s0, d2)"),)),
        Pieces(
            (AffinePiece("(d0, d1, d2) -> (d0 * 2 + d1 + d2)", "(d0, d1, d2) : (d0 - 1 == 0, -d2 + 3 >= 0)", "grid"),)
        ),
    ]


def test_a_problem_of_real_programs_is_decided_like_the_pair():
    (problem,) = read_problems(problem_text(*TP_MLP, expect=Verdict.PROVED).encode(), "p.mlir", Options())
    report = validate_sources(problem.spec, problem.impl, problem.options)
    assert problem.disagreement(report) is None
    broken = (ROOT / "examples" / "tp_mlp" / "broken.hlo.txt").read_bytes()
    (problem,) = read_problems(problem_text(TP_MLP[0], broken, expect=Verdict.PROVED).encode(), "p.mlir", Options())
    report = validate_sources(problem.spec, problem.impl, problem.options)
    assert problem.disagreement(report) == "expected PROVED, found REFUTED"


@pytest.mark.parametrize("name", NAMES)
def test_stock_tools_print_the_same(name: str):
    path = tool(name)
    if path is None:
        pytest.skip(f"no {name}")
    _all_printed([path, f"--irdl-file={DEFINITION}"], _texts())


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir() or tool("mlir-opt") is None, reason="no corpus or no mlir-opt")
def test_problems_of_the_corpus_are_printed_the_same_by_mlir_opt():
    path = str(tool("mlir-opt"))
    texts = _corpus()
    assert len(texts) > 60
    _all_printed([path, f"--irdl-file={DEFINITION}"], texts)


@pytest.mark.slow
@pytest.mark.skipif(
    cmake_folder() is None or any(tool(t) is None for t in ("cmake", "ninja", "c++")), reason="no MLIR 22"
)
def test_the_native_tool_and_the_plugin(tmp_path: Path):
    commands = [
        ["cmake", "-G", "Ninja", "-S", str(ROOT / "cmake"), "-B", str(tmp_path), f"-DMLIR_DIR={cmake_folder()}"],
        ["cmake", "--build", str(tmp_path)],
    ]
    for command in commands:
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr
    native = tmp_path / "shardproof-native-opt"
    plugin = tmp_path / "libShardproofPlugin.so"
    mlir_opt = tool("mlir-opt")
    pipeline = "--pass-pipeline=builtin.module(shardproof-verify)"
    _all_printed([str(native), pipeline], _texts())
    if mlir_opt is not None:
        _all_printed([mlir_opt, f"--load-dialect-plugin={plugin}", f"--load-pass-plugin={plugin}", pipeline], _texts())
    environment = {**os.environ, "SHARDPROOF_NATIVE_OPT": str(native), "TMPDIR": str(tmp_path)}
    tests = [str(ROOT / "lit" / "dialect" / name) for name in ("native_round_trip.test", "native_verification.mlir")]
    command = [sys.executable, "-P", "-c", "from lit.main import main; main()", "-v", *tests]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0 and run.stdout.count("PASS: ") == 2, run.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameters": [Shard(0, axes=("x",), mesh="m")]}, "parameters[0]: unknown mesh '@m'"),
        ({"results": [Written("somehow")]}, "results[0]: unknown relation 'somehow'"),
        ({"proof": Theory.REAL}, "a proof in theory 'real' where 'reassociated' is the weakest to accept"),
        ({"meshes": {"impl": {"x": 2}}}, "impl"),
        ({"parameters": [Pieces((AffinePiece("(d, i) -> (j)"),))]}, "use of undeclared identifier"),
    ],
)
def test_problems_that_break_a_rule_are_not_built(options: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=re.escape(message)):
        problem_text(*TP_MLP, expect=Verdict.PROVED, **options)
