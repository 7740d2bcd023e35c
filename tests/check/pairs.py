"""Pairs of programs in this repository, and certificates of them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from shardproof.validator.ops.digest import digest
from shardproof.validator.options import Options
from shardproof.validator.read.certificates import seal_of
from shardproof.validator.read.ir import Program
from shardproof.validator.read.program import read_pair
from shardproof.validator.read.scalars import fold_scalars
from shardproof.validator.validate import validate_programs

ROOT = Path(__file__).resolve().parents[2]
_DATA = ROOT / "tests" / "read" / "data"

FILES = {
    "tp_mlp": (ROOT / "examples/tp_mlp/before.hlo.txt", ROOT / "examples/tp_mlp/after.hlo.txt"),
    **{
        name: (_DATA / f"{name}_before.hlo.txt", _DATA / f"{name}_after.hlo.txt")
        for name in ("complex", "scan_mlp", "take_vocab", "uneven_max")
    },
}


@cache
def pair(name: str) -> tuple[Program, Program]:
    before, after = FILES[name]
    return read_pair(before.read_bytes(), after.read_bytes(), names=(before.name, after.name))


@cache
def certificate(name: str) -> str:
    """The certificate that the validator writes of a pair."""
    report = validate_programs(*pair(name), Options(certificate=True))
    assert report.certificate is not None, [note.text for note in report.notes]
    return report.certificate


def sealed(text: str) -> str:
    """A certificate after an edit, as a forger would give it out."""
    bare = re.sub(r'seal = "[0-9a-f]*"', 'seal = ""', text)
    return bare.replace('seal = ""', f'seal = "{seal_of(bare)}"')


def about(text: str, old: Program, new: Program) -> str:
    """A certificate that claims to speak of another program."""
    return sealed(text.replace(digest(fold_scalars(old)), digest(fold_scalars(new))))
