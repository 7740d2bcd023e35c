"""Runs the programs of BUGLIST.md: they are wrong in the versions that it says, and only there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from evaluate.oracles import interpret, run_program, run_text

import shardproof
from shardproof import Verdict
from shardproof.validator.compat import jaxlib_version
from shardproof.validator.read import read_program

TEXT = (Path(__file__).parents[2] / "BUGLIST.md").read_text()
_CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)


class Bug(NamedTuple):
    """A section of the list."""

    title: str
    code: str
    wrong: dict[str, bool]
    """By JAX version."""
    later: bool
    """Whether it is a pass after the partitioner that goes wrong."""


def _bugs() -> list[Bug]:
    found = []
    for section in TEXT.split("\n## ")[1:]:
        code = _CODE.search(section)
        if code is None:
            continue
        versions, results = (
            [cell.strip() for cell in re.findall(pattern, section, re.MULTILINE)[0].split("|")]
            for pattern in (r"^\| JAX \|(.*)\|$", r"^\| result \|(.*)\|$")
        )
        wrong = {version: result == "wrong" for version, result in zip(versions, results, strict=True)}
        found.append(Bug(section.partition("\n")[0], code[1], wrong, "Stage: later pass" in section))
    return found


BUGS = _bugs()


def test_the_list_is_read_whole() -> None:
    assert len(BUGS) == len(_CODE.findall(TEXT)) - 1
    assert len(BUGS) >= 11


def test_every_entry_has_a_program_versions_a_verdict_and_reports() -> None:
    sections = [part for part in re.split(r"\n##+ ", TEXT)[1:] if re.search(r"^- Public report:", part, re.MULTILINE)]
    assert len(sections) >= len(BUGS) + 8
    for section in sections:
        title = section.partition("\n")[0]
        assert re.search(r"```(python|mlir)\n", section), title
        assert re.search(r"^\| (JAX|jaxlib) \|.*\d.*\|$", section, re.MULTILINE), title
        assert re.search(r"^- Verdict: \w", section, re.MULTILINE), title


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.title)
def test_a_bug_is_as_told(bug: Bug) -> None:
    if jax.__version__ not in bug.wrong:
        pytest.skip(f"nothing is told of jax {jax.__version__}")
    wrong = bug.wrong[jax.__version__]
    ran: list[bool] = []

    def run(devices: int | tuple[int, ...], function: Any, into: list[Any], out: Any, *arguments: Any) -> None:
        sizes = np.atleast_1d(devices)
        mesh = jax.sharding.Mesh(np.array(jax.devices()[: sizes.prod()]).reshape(sizes), ("x", "y")[: sizes.size])
        shardings = tuple(jax.sharding.NamedSharding(mesh, spec) for spec in into)
        result = None if out is None else jax.sharding.NamedSharding(mesh, out)
        sharded = jax.jit(function, in_shardings=shardings, out_shardings=result)
        ran.append(np.array_equal(sharded(*arguments), jax.jit(function)(*arguments)))
        assert ran == [not wrong]
        report = shardproof.validate(sharded, *arguments, stages="passes" if bug.later else "partitioner")
        assert (report.verdict is Verdict.REFUTED) is wrong
        assert (report.counterexample is not None) is wrong
        if bug.later:
            partitioned = shardproof.validate(sharded, *arguments, stages="partitioner")
            assert partitioned.verdict is Verdict.PROVED

    def alone(function: Any, right: list[int], *arguments: np.ndarray) -> None:
        lowered = jax.jit(function).lower(*arguments)
        (mine,) = run_program(read_program(lowered), arguments)
        assert mine.tolist() == right
        ran.append(np.asarray(lowered.compile()(*arguments)).tolist() == right)
        assert ran == [not wrong]

    names: dict[str, Any] = {}
    first = _CODE.search(TEXT)
    assert first is not None
    exec(first[1], names)
    names |= {"run": run, "alone": alone}
    exec(bug.code, names)
    assert ran


def test_the_interpreter_is_as_told() -> None:
    (section,) = (part for part in TEXT.split("\n## ") if part.startswith("Not XLA: StableHLO's interpreter"))
    code, versions, results = (
        re.findall(pattern, section, re.DOTALL)[0]
        for pattern in (r"```mlir\n(.*?)```", r"\n\| jaxlib \|(.*?)\|\n", r"\n\| interpreter \|(.*?)\|\n")
    )
    told = dict(zip(map(str.strip, versions.split("|")), map(str.strip, results.split("|")), strict=True))
    if jaxlib_version not in told:
        pytest.skip(f"nothing is told of jaxlib {jaxlib_version}")
    inputs = [np.array(value, np.int32) for value in ([1, 2], [[0]], [9])]
    (mine,) = run_text(code, *inputs)
    (found,) = interpret(code, *inputs)
    assert mine.tolist() == [1, 2]
    assert found.tolist() == {"wrong": [9, 2], "right": [1, 2]}[told[jaxlib_version]]
