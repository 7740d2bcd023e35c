"""Shardy's partitioner under validation: right programs, those of BUGLIST.md, and what ends its process."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from shardproof.passes.shardy import STAGES, Stage, main, partition
from shardproof.validator.compat import jaxlib_version
from shardproof.validator.read.errors import ReadError
from shardproof.validator.report.verdict import Verdict

_LIST = (Path(__file__).parents[2] / "BUGLIST.md").read_text(encoding="utf-8")


class Bug(NamedTuple):
    title: str
    text: str
    outcomes: dict[str, str]
    """By jaxlib version: `wrong`, `right`, `refused` or `aborts`."""


def _bugs() -> list[Bug]:
    (chapter,) = re.findall(r"\n## Shardy's own partitioner\n(.*?)\n## ", _LIST, re.DOTALL)
    found = []
    for section in chapter.split("\n### ")[1:]:
        code = re.search(r"```mlir\n(.*?)```", section, re.DOTALL)
        if code is None:
            continue
        versions, results = (
            [cell.strip() for cell in re.findall(rf"^\| {row} \|(.*)\|$", section, re.MULTILINE)[0].split("|")]
            for row in ("jaxlib", "local")
        )
        found.append(Bug(section.partition("\n")[0], code[1], dict(zip(versions, results, strict=True))))
    return found


BUGS = _bugs()


def verdicts(stages: list[Stage]) -> dict[str, Verdict | None]:
    return {stage.name: stage.report.verdict if stage.report else None for stage in stages}


def test_the_list_is_read_whole():
    _, chapter = _LIST.split("\n## Shardy's own partitioner\n")
    assert len(BUGS) == chapter.count("```mlir")
    assert len(BUGS) >= 9


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.title)
def test_a_bug_is_as_told(bug: Bug):
    if jaxlib_version not in bug.outcomes:
        pytest.skip(f"nothing is told of jaxlib {jaxlib_version}")
    stages = partition(bug.text)
    found = verdicts(stages)
    assert all(found[name] is Verdict.PROVED for name in ("propagation", "reshards", "canonical", "closed")), found
    match bug.outcomes[jaxlib_version]:
        case "wrong":
            assert found["local"] is found["clean"] is Verdict.REFUTED
        case "right":
            assert found["local"] is found["clean"] is Verdict.PROVED
        case "refused":
            assert stages[-1].name == "local"
            assert stages[-1].module is None
            assert "ended its process" not in stages[-1].said[0].message
        case outcome:
            assert outcome == "aborts"
            assert [stage.name for stage in stages][-1] == "local"
            assert stages[-1].module is None
            assert re.search(r"ended its process: SIGABRT: .*Check failed", stages[-1].said[0].message)


PRODUCT = """
sdy.mesh @mesh = <["a"=2, "b"=3]>
func.func @main(%x: tensor<4x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>},
                %w: tensor<12x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>})
    -> (tensor<4x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4x12xf32>, tensor<12x5xf32>) -> tensor<4x5xf32>
  %1 = stablehlo.tanh %0 : tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}
"""


def test_every_stage_of_a_product_is_proved():
    stages = partition(PRODUCT)
    assert [stage.name for stage in stages] == [name for name, _ in STAGES]
    assert set(verdicts(stages).values()) == {Verdict.PROVED}
    assert "stablehlo.all_reduce" in str(stages[-1].module)
    assert "sdy.sharding" not in str(stages[-1].module)


def test_a_layout_that_is_left_open_is_shardys_choice():
    stages = partition(PRODUCT.replace(""" {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}) {""", ") {"))
    assert set(verdicts(stages).values()) == {Verdict.PROVED}


def test_a_slow_shardy_is_ended():
    stages = partition(PRODUCT, timeout=0.001)
    assert [stage.name for stage in stages] == ["propagation"]
    assert "did not end within 0.001 s" in stages[0].said[0].message


def test_the_command_tells_each_stage(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "product.mlir"
    file.write_text(PRODUCT)
    assert main([str(file)]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{name:<12} PROVED" for name, _ in STAGES]
    assert main([str(tmp_path / "missing.mlir")]) == 1
    assert capsys.readouterr().err.endswith("missing.mlir: error: no such file or directory\n")


def test_what_cannot_be_read_is_an_error():
    with pytest.raises(ReadError, match="hello"):
        partition("func.func @main() { hello }\n")
