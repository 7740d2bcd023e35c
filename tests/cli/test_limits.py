"""Limits end a validation in time, whatever it is at, and what was proved until then is reported."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shardproof.validator.ops.record import Theory
from shardproof.validator.options import Options
from shardproof.validator.report.report import Obstacle, Report
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.run import Source, validate_sources

CHAIN = 200
"""Ops: more than a walk goes without saying how far it is."""

STUCK = "while True:\n    try: time.sleep(1)\n    except BaseException: pass"
"""What a library in C++ that does not come back looks like from outside."""


def chain(second: str) -> Source:
    """A program whose first result is right, and whose second one comes late and is made from it."""
    ops = [f"%{k + 1} = stablehlo.add %{k}, %{k} : tensor<4xf32>" for k in range(CHAIN)]
    last = f"%{CHAIN + 1} = stablehlo.{second} %{CHAIN}, %x : tensor<4xf32>"
    body = "\n".join(["%0 = stablehlo.negate %x : tensor<4xf32>", *ops, last])
    text = (
        "module @m {\nfunc.func public @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
        f"{body}\nreturn %0, %{CHAIN + 1} : tensor<4xf32>, tensor<4xf32>\n}}\n}}\n"
    )
    return Source(f"{second}.mlir", text.encode())


@pytest.fixture
def patched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """Runs a text in every process at its start."""

    def patch(text: str) -> None:
        (tmp_path / "sitecustomize.py").write_text(f"import os, sys, time\n{text}\n")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    return patch


def function(name: str, body: str) -> str:
    return f"def {name}(*arguments, **named):\n" + "\n".join(f"    {line}" for line in body.splitlines()) + "\n"


def limited(before: Source, after: Source, options: Options) -> Report:
    start = time.monotonic()
    report = validate_sources(before, after, options)
    if options.timeout is not None:
        assert time.monotonic() - start < options.timeout + 2
    assert report.verdict is Verdict.NOT_PROVED
    return report


def verdicts(report: Report) -> list[Verdict]:
    return [output.verdict for output in report.outputs]


def test_what_was_walked_stays_proved(patched):
    patched(
        "import shardproof.validator.relate.lift as lift\n"
        "old = lift.lift\n"
        + function(
            "new",
            "if 'stablehlo.multiply' in str(arguments[1]) and not arguments[0].is_original:\n    stuck()\n"
            "return old(*arguments, **named)",
        )
        + function("stuck", STUCK)
        + "import shardproof.validator.relate.engine as engine\nengine.lift = new\n"
    )
    report = limited(chain("multiply"), chain("multiply"), Options(timeout=8))
    assert (verdicts(report), report.obstacle) == ([Verdict.PROVED, Verdict.NOT_PROVED], Obstacle.TIMEOUT)
    assert report.outputs[0].theory is Theory.EXACT
    assert report.message == "no verdict within 8 s, stopped while walking the after program"
    assert report.stats.ops_before > 0


def test_what_was_proved_is_not_lost_in_the_search(patched):
    patched("import shardproof.validator.evaluate.cone as cone\n" + function("stuck", STUCK) + "cone.search = stuck\n")
    report = limited(chain("multiply"), chain("divide"), Options(timeout=8))
    assert verdicts(report) == [Verdict.PROVED, Verdict.NOT_PROVED]
    assert report.obstacle is Obstacle.NO_RELATION
    assert report.frontier is not None
    assert report.frontier.op == "stablehlo.divide"
    assert str(report.notes[-1]) == "the time limit was reached while looking for a counterexample"


def test_reading_counts(patched):
    patched(
        "import shardproof.validator.read.program as program\n"
        "old = program._read\n"
        + function("new", "time.sleep(3)\nreturn old(*arguments, **named)")
        + "program._read = new\n"
    )
    report = limited(chain("multiply"), chain("multiply"), Options(timeout=4))
    assert (report.obstacle, report.outputs) == (Obstacle.TIMEOUT, ())
    assert "stopped while reading the" in report.message


def test_memory(patched):
    # 50 MB every tenth of a second: the limit is passed by little before it is seen
    patched(
        "import shardproof.validator.evaluate.cone as cone\n"
        + function("hoard", "kept = []\nwhile True:\n    kept.append(b'x' * 50_000_000)\n    time.sleep(0.1)")
        + "cone.search = hoard\n"
    )
    start = time.monotonic()
    report = limited(chain("multiply"), chain("divide"), Options(memory_limit=600, timeout=60))
    assert time.monotonic() - start < 30
    assert verdicts(report) == [Verdict.PROVED, Verdict.NOT_PROVED]
    assert str(report.notes[-1]) == "the memory limit was reached while looking for a counterexample"


def test_memory_of_the_copy_that_reads(patched):
    patched(
        "import shardproof.validator.read.program as program\n"
        + function("hoard", "kept = []\nwhile True:\n    kept.append(b'x' * 50_000_000)\n    time.sleep(0.1)")
        + "program._bytecode = hoard\n"
    )
    report = limited(chain("multiply"), chain("multiply"), Options(memory_limit=800, timeout=60))
    assert report.obstacle is Obstacle.MEMORY
    assert report.message == "no verdict within 800 MB, stopped while reading the before program"


def test_memory_of_the_start_alone():
    report = limited(chain("multiply"), chain("multiply"), Options(memory_limit=1))
    assert report.obstacle is Obstacle.MEMORY
    assert report.message.startswith("no verdict within 1 MB, stopped while ")


def test_a_limit_that_is_met_by_none_changes_nothing():
    options = Options(memory_limit=4000, timeout=99999999999999999999.0)
    report = validate_sources(chain("multiply"), chain("multiply"), options)
    assert report.verdict is Verdict.PROVED


def test_nodes_of_the_e_graph():
    before, after = (
        Source(
            name,
            "module @m {\nfunc.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {\n"
            f"{body}\nreturn %out : tensor<4xf32>\n}}\n}}\n".encode(),
        )
        for name, body in (
            ("a.mlir", "%0 = stablehlo.maximum %x, %y : tensor<4xf32>\n%out = stablehlo.cosine %0 : tensor<4xf32>"),
            (
                "b.mlir",
                "%0 = stablehlo.maximum %x, %y : tensor<4xf32>\n%1 = stablehlo.maximum %0, %x : tensor<4xf32>\n"
                "%out = stablehlo.cosine %1 : tensor<4xf32>",
            ),
        )
    )
    assert validate_sources(before, after, Options()).verdict is Verdict.PROVED
    report = validate_sources(before, after, Options(node_limit=1))
    assert report.verdict is Verdict.NOT_PROVED
    assert report.stats.egraph_stop == "node limit"
    assert "the e-graph met its limit of nodes: a higher one may find a proof" in map(str, report.notes)
