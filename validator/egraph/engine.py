"""The only module that talks to egglog: load the native module, run text, bulk-load facts, read tables.

Importing `egglog.bindings` the ordinary way first runs the package's high-level API (0.2 s). The native module needs
none of it, so it is loaded from its file and registered under its own name, where a later ordinary import finds it.
The same calls work with egglog 13.2 and 14.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder
from pathlib import Path
from typing import Any

_NAME = "egglog.bindings"


def _load() -> Any:
    if _NAME in sys.modules:
        return sys.modules[_NAME]
    package = importlib.util.find_spec("egglog")
    if package is None or not package.submodule_search_locations:
        raise ImportError("egglog is not installed")
    finder = FileFinder(package.submodule_search_locations[0], (ExtensionFileLoader, EXTENSION_SUFFIXES))
    found = finder.find_spec("bindings")
    if found is None or found.origin is None:
        raise ImportError("egglog has no native module 'bindings'")
    spec = importlib.util.spec_from_file_location(_NAME, found.origin)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[_NAME] = module
    return module


def _memory_folder() -> str | None:
    """A folder in memory, where the system has one: on a busy disk, opening a file costs milliseconds."""
    shared = "/dev/shm"
    return shared if os.path.isdir(shared) and os.access(shared, os.W_OK | os.X_OK) else None


_MOST = 3
"""E-graphs that may live, one a theory, before unreachable ones are looked for."""
_alive: weakref.WeakSet[Engine] = weakref.WeakSet()


class Engine:
    """One e-graph of egglog. Values (`Any` here) are egglog's: hashable, ordered, canonical when they are read."""

    def __init__(self, program: str) -> None:
        if len(_alive) >= _MOST and gc.isenabled():
            # of what each takes Python, that thinks they are small, knows nothing; a copy of a process, where no
            # garbage is collected, lacks egglog's threads and would wait for them when one is let go
            gc.collect()
        self._egglog = _load()
        _alive.add(self)
        # Facts travel as tab-separated files: 1 µs a row, where a parsed command costs 350 µs.
        self._folder = Path(tempfile.mkdtemp(prefix="egraph-", dir=_memory_folder()))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._egraph = self._egglog.EGraph(fact_directory=str(self._folder))
        self._parsed: dict[str, list[Any]] = {}
        # egglog 13 keeps, for every word of a command, all of the text that it was parsed with: 340 MB for the whole
        # program, 5 MB line by line
        for line in filter(None, program.splitlines()):
            self._egraph.run_program(*self._egraph.parse_program(line))
        self._span = self._egraph.parse_program("(print-size)")[0].span
        self._values: dict[int | str, Any] = {}

    def run(self, text: str) -> list[Any]:
        """Run commands. Their parse is kept: the same few schedules run thousands of times."""
        commands = self._parsed.get(text)
        if commands is None:
            commands = self._parsed[text] = self._egraph.parse_program(text)
        return self._egraph.run_program(*commands)

    def insert(self, facts: Iterable[tuple[str, Sequence[Sequence[int | str]]]]) -> None:
        """Add rows to relations; cells are integers or strings without tabs and line ends."""
        for relation, rows in facts:
            text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
            Path(self._folder, f"{relation}.tsv").write_text(text, encoding="utf-8")
            self.run(f'(input {relation} "{relation}.tsv")')

    def step(self, ruleset: str) -> tuple[bool, dict[str, int]]:
        """Run one iteration: did anything change, and how often did each rule match."""
        report = self.run(f"(run {ruleset} 1)")[0].report
        return report.updated, report.num_matches_per_rule

    def size(self, function: str) -> int:
        return self.run(f"(print-size {function})")[0].size

    def sizes(self, functions: Iterable[str]) -> int:
        """The rows of some tables together."""
        return sum(output.size for output in self.run("".join(f"(print-size {name})" for name in functions)))

    def tables(self) -> dict[str, Any]:
        """Every table as it stands: `tables()[name].rows`, each with `.inputs` and `.output`."""
        return self._egraph.freeze().functions

    def number(self, value: Any) -> int:
        return self._egraph.value_to_i64(value)

    def text(self, value: Any) -> str:
        return self._egraph.value_to_string(value)

    def value(self, literal: int | str) -> Any:
        """The value of an integer or string, for lookups and comparisons with table cells."""
        value = self._values.get(literal)
        if value is None:
            egglog = self._egglog
            boxed = egglog.Int(literal) if isinstance(literal, int) else egglog.String(literal)
            value = self._values[literal] = self._egraph.eval_expr(egglog.Lit(self._span, boxed))[1]
        return value

    def lookup(self, function: str, *key: int | str) -> Any | None:
        return self._egraph.lookup_function(function, [self.value(part) for part in key])
