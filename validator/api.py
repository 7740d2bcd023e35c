"""The functions of the public face."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from .ops.record import Theory
from .options import Assumption, Options
from .report.report import Report
from .run import Source, validate_sources

_Kind = TypeVar("_Kind", Theory, Assumption)


def validate_modules(
    before: Any,
    after: Any,
    theory: Theory | str = Theory.REASSOCIATED,
    assume: Iterable[Assumption | str] = (),
    timeout: float | None = None,
    seed: int = 0,
    relations: Any = None,
    certificate: bool = False,
) -> Report:
    """Validates the module `after` partitioning against the module `before` it.

    Each is a path, the text of a module (a string with a line break), its bytes, or an `ir.Module` of jaxlib.
    `relations` is a relation file, in the same forms: how parameters and results relate where no sharding says so.
    `theory` is the weakest arithmetic to accept. With a `timeout` in seconds the work is done in a child process, and a
    run that exceeds it is NOT_PROVED. Raises `ReadError` for an input that cannot be read and `ValueError` for a wrong
    setting. With `certificate` the report of a proof has a certificate, which `shardproof-check` checks by itself.
    """
    options = replace(options_of(theory, assume, timeout, seed), certificate=certificate)
    if relations is not None:
        options = replace(options, relations=source_of(relations, "<relations>"))
    return validate_sources(source_of(before, "<before>"), source_of(after, "<after>"), options)


def options_of(theory: Theory | str, assume: Iterable[Assumption | str], timeout: float | None, seed: int) -> Options:
    """The settings of a public function, checked."""
    if seed < 0:
        raise ValueError(f"seed {seed} is negative")
    return Options(
        theory=_member(Theory, theory, "theory"),
        assumptions=frozenset(_member(Assumption, name, "assumption") for name in assume),
        timeout=timeout,
        seed=seed,
    )


def source_of(module: Any, name: str) -> Source:
    """One input in any of the forms that the public functions take; `name` stands for a module that has no file."""
    if isinstance(module, str) and "\n" in module:
        return Source(name, module.encode())
    if isinstance(module, str | os.PathLike):
        return Source.of_file(os.fspath(module))
    if isinstance(module, bytes | bytearray):
        return Source(name, bytes(module))
    if hasattr(module, "operation"):
        # Debug information is what locations in the report come from.
        return Source(name, module.operation.get_asm(enable_debug_info=True).encode())
    raise TypeError(f"expected a path, text, bytes or ir.Module, not '{type(module).__name__}'")


def _member(kind: type[_Kind], value: _Kind | str, what: str) -> _Kind:
    try:
        return kind(value)
    except ValueError:
        names = ", ".join(f"'{member.value}'" for member in kind)
        raise ValueError(f"unknown {what} '{value}', expected one of {names}") from None
