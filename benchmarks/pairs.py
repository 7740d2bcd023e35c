"""Where pairs of programs come from: the corpus, the examples and the zoo."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from shardproof.validator.read.ir import Program
from shardproof.validator.read.program import read_program

ROOT = Path(__file__).parents[1]
CORPUS = Path(os.environ.get("SHARDPROOF_CORPUS", ROOT.parent / "shared" / "corpus"))
_ZOO = "zoo/"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two programs and the name that finds them again."""

    name: str
    before: Program
    after: Program


def corpus_names(folders: tuple[str, ...] = ("xla_cpu",)) -> list[str]:
    """The pairs of the corpus and of the examples."""
    places = [CORPUS / folder for folder in folders] + [ROOT / "examples"]
    found = [folder for place in places if place.is_dir() for folder in sorted(place.iterdir())]
    return [_name(folder) for folder in found if (folder / "before.hlo.txt").exists()]


def zoo_names(pattern: str = "") -> list[str]:
    """The programs of the zoo whose name contains a text."""
    from tests.tools import zoo

    return [f"{_ZOO}{one.name}" for one in zoo.named(pattern)]


@lru_cache(maxsize=4)
def compiled(name: str) -> tuple[bytes, bytes]:
    """The modules of a program of the zoo, so that compiling is no part of reading."""
    from tests.tools import zoo

    pair = zoo.compile_pair(zoo.ENTRIES[name.removeprefix(_ZOO)])
    return pair.before, pair.after


@lru_cache(maxsize=4)
def load(name: str) -> Pair:
    """The pair of a name; the last few are kept."""
    if name.startswith(_ZOO):
        before, after = (read_program(data, name=name) for data in compiled(name))
        return Pair(name, before, after)
    folder = (ROOT if name.startswith("examples/") else CORPUS) / name
    return Pair(name, read_program(folder / "before.hlo.txt"), read_program(folder / "after.hlo.txt"))


def _name(folder: Path) -> str:
    return f"{folder.parent.name}/{folder.name}"
