"""Each mutation operator makes well-typed mutants, in the same order every time, and leaves the program alone."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tools.check import IllTyped, check_program
from tools.mutate import BENIGN, ERRORS, KINDS, Mutant, benign_rewrites, mutants
from tools.rewrite import substitute, walk, without

from shardproof.validator.read.ir import Program
from shardproof.validator.read.program import read_program

DATA = Path(__file__).parent / "data"
CORPUS = Path(os.environ.get("SHARDPROOF_CORPUS", Path(__file__).parents[3] / "shared" / "corpus")) / "xla_cpu"


@pytest.fixture(scope="module")
def programs() -> dict[str, Program]:
    return {file.stem: read_program(file) for file in sorted(DATA.glob("*.mlir"))}


@pytest.fixture(scope="module")
def made(programs: dict[str, Program]) -> list[Mutant]:
    return [mutant for program in programs.values() for mutant in (*mutants(program), *benign_rewrites(program))]


@pytest.mark.parametrize("operator", [operator.__name__ for _, operator in (*ERRORS, *BENIGN)])
def test_every_operator_has_a_mutant_on_the_small_programs(made: list[Mutant], operator: str) -> None:
    assert any(mutant.operator == operator for mutant in made)


def test_every_kind_is_there() -> None:
    assert set(KINDS) == {f"K{number}" for number in range(1, 32)}


def test_mutants_are_well_typed(programs: dict[str, Program]) -> None:
    for program in programs.values():
        check_program(program)
        for mutant in (*mutants(program), *benign_rewrites(program)):
            check_program(mutant.program)
            assert _result_types(mutant.program) == _result_types(program), f"{mutant.operator} at {mutant.site}"


def test_mutants_come_in_the_same_order(programs: dict[str, Program]) -> None:
    for program in programs.values():
        runs = [[(one.kind, one.operator, one.site, one.change) for one in mutants(program)] for _ in range(2)]
        assert runs[0] == runs[1]


def test_no_mutant_is_the_program_itself(programs: dict[str, Program], made: list[Mutant]) -> None:
    originals = {_text(program) for program in programs.values()}
    for mutant in made:
        assert _text(mutant.program) not in originals, f"{mutant.operator} at {mutant.site}"


def test_limit_and_kinds_choose(programs: dict[str, Program]) -> None:
    chosen = list(mutants(programs["offsets"], kinds=("K22",), limit=3))
    assert [mutant.kind for mutant in chosen] == ["K22"] * 3
    with pytest.raises(ValueError, match="unknown kinds of mutants: K99"):
        list(mutants(programs["offsets"], kinds=("K99",)))


def test_loop_bodies_are_mutated(programs: dict[str, Program]) -> None:
    inside = [mutant for mutant in mutants(programs["loops"]) if "in region 1" in mutant.site]
    assert {"K1", "K3", "K6", "K24"} <= {mutant.kind for mutant in inside}


def test_left_out_operation_is_gone(programs: dict[str, Program]) -> None:
    program = programs["sums"]
    site = next(site for site in walk(program) if site.op.name == "stablehlo.all_reduce")
    count = sum(other.op.name == "stablehlo.all_reduce" for other in walk(program))
    edited = without(program, site, site.op.operands)
    assert sum(other.op.name == "stablehlo.all_reduce" for other in walk(edited)) == count - 1
    assert sum(other.op.name == "stablehlo.all_reduce" for other in walk(program)) == count


def test_checker_refuses_a_use_before_its_definition(programs: dict[str, Program]) -> None:
    program = programs["sums"]
    sites = list(walk(program))
    with pytest.raises(IllTyped, match="before its definition"):
        check_program(substitute(program, {sites[0].op.results[0]: sites[1].op.results[0]}))


def test_checker_refuses_a_wrong_type(programs: dict[str, Program]) -> None:
    program = programs["sums"]
    site = next(site for site in walk(program) if site.op.name == "stablehlo.reduce_scatter")
    with pytest.raises(IllTyped):
        check_program(without(program, site, site.op.operands))


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus at SHARDPROOF_CORPUS")
def test_mutants_of_real_programs_are_well_typed() -> None:
    kinds: set[str] = set()
    for folder in sorted(CORPUS.iterdir()):
        program = read_program(folder / "after.hlo.txt")
        check_program(program)
        for mutant in (*mutants(program), *benign_rewrites(program)):
            check_program(mutant.program)
            kinds.add(mutant.kind)
    assert kinds >= {"K1", "K3", "K6", "K7", "K12", "K13", "K19", "K22", "benign"}


def _result_types(program: Program) -> list[str]:
    return [str(result.value.type) for result in program.results]


def _text(program: Program) -> str:
    """A program as text in which equal programs are equal."""
    lines = []
    for site in walk(program):
        op = site.op
        attributes = sorted((name, _plain(value)) for name, value in op.attributes.items())
        inner = [_plain(region) for region in op.regions]
        operands, results = ([value.number for value in values] for values in (op.operands, op.results))
        lines.append(f"{site.path} {op.name} {operands} {results} {attributes} {inner}")
    return "\n".join([*lines, str([result.value.number for result in program.results])])


def _plain(value: object) -> str:
    if hasattr(value, "ops"):
        ops = [(op.name, [v.number for v in op.operands], sorted(map(str, op.attributes.items()))) for op in value.ops]  # type: ignore[attr-defined]
        return f"{ops} {[v.number for v in value.results]}"  # type: ignore[attr-defined]
    table = getattr(value, "table", value)
    return f"{table.dtype} {table.tolist()}" if isinstance(table, np.ndarray) else str(table)
