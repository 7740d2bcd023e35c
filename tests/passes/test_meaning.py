"""Every normalisation keeps what a program computes, on real programs: by the reference evaluator, and by proof."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from read.programs import CORPUS

from shardproof.passes.base import ModulePass
from shardproof.passes.pipeline import parse_pipeline, run_pipeline
from shardproof.passes.registry import NORMALISATIONS
from shardproof.passes.rewriting import state_device_counts
from shardproof.validator.evaluate.compare import search_counterexample
from shardproof.validator.options import Options
from shardproof.validator.read.files import identify
from shardproof.validator.read.program import read_pair, stablehlo_of
from shardproof.validator.report.verdict import Verdict
from shardproof.validator.validate import validate_programs
from tests.tools.zoo import ENTRIES, compile_pair

DEVICES = 8
ZOO = [*ENTRIES][::9]
"""Programs of every family, few enough to be compiled here."""


CHOICE = "with collectives, not chosen alike by all that take part"
"""Nothing says of two programs of devices that all have the same argument: branches that exchange data stay open."""


def stages(name: str) -> Iterator[tuple[str, bytes]]:
    """A program as JAX writes it, and before and after the partitioner."""
    if name in ENTRIES:
        pair = compile_pair(ENTRIES[name])
        yield from (("lowered", pair.lowered.encode()), ("before", pair.before), ("after", pair.after))
    else:
        folder = CORPUS / "xla_cpu" / name
        yield from (
            (file, (folder / file).read_bytes()) for file in ("lowered.mlir", "before.hlo.txt", "after.hlo.txt")
        )


def check(one: ModulePass, name: str, stage: str, data: bytes) -> bool:
    """Whether the pass changed the program; asserts that it keeps its meaning."""
    module, counts = stablehlo_of(identify(data, f"{name} {stage}"))
    state_device_counts(module, counts or (1, DEVICES))
    old = module.operation.get_asm(enable_debug_info=True)
    changed, said = run_pipeline([one], module, name)
    assert changed is not None, said
    new = changed.operation.get_asm(enable_debug_info=True)
    if new == old:
        return False
    before, after = read_pair(old, new, names=("before the pass", "after the pass"))
    assert search_counterexample(before, after, budget_seconds=20.0, max_rounds=1) is None
    report = validate_programs(before, after, Options())
    if report.verdict is Verdict.UNSUPPORTED and CHOICE in str(report):
        return True
    assert report.verdict in (Verdict.PROVED, Verdict.NOT_PROVED), report
    if not may_stay_open(one, name):
        assert report.verdict is Verdict.PROVED, report
    return True


def may_stay_open(one: ModulePass, name: str) -> bool:
    """A loop of the original is not related to its trips one by one, nor is everything about an argmax proved."""
    return one.name == "unroll-loops" or "argmax" in name


@pytest.mark.parametrize("name", ZOO)
def test_the_zoo_keeps_its_meaning(name: str):
    for one in NORMALISATIONS:
        for stage, data in stages(name):
            check(one(), name, stage, data)


CORPUS_NAMES = sorted(folder.name for folder in (CORPUS / "xla_cpu").glob("*"))


@pytest.mark.slow
@pytest.mark.parametrize("one", NORMALISATIONS, ids=lambda one: one.name)
def test_the_corpus_keeps_its_meaning(one: type[ModulePass]):
    if not CORPUS_NAMES:
        pytest.skip("no corpus")
    changed = [check(one(), name, stage, data) for name in CORPUS_NAMES for stage, data in stages(name)]
    # XLA 0.10 writes tables of groups itself, and no program of the corpus has layers one by one.
    assert any(changed) or one.name in ("explicit-replica-groups", "outline-layers")


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 2])
def test_the_layers_of_a_decoder_become_one_function(devices: int):
    """The first layer has an embedding in front and the last one a head behind, so the cut is a layer and a bit."""
    path = CORPUS / "aws_llama" / f"tp{devices}_layer4.hlo.pb.gz"
    if not path.exists():
        pytest.skip("no corpus")
    module, _ = stablehlo_of(identify(path.read_bytes(), path.name))
    old = module.operation.get_asm(enable_debug_info=True)
    pipeline = parse_pipeline("builtin.module(inline-calls,strip-dead-values,outline-layers)")
    outlined, said = run_pipeline(pipeline, module, path.name)
    assert outlined is not None, said
    new = outlined.operation.get_asm(enable_debug_info=True)
    assert str(outlined).count("call @layer(") == 3
    before, after = read_pair(old, new, names=("unrolled", "outlined"))
    assert validate_programs(before, after, Options()).verdict is Verdict.PROVED
