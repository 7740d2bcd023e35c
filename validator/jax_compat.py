"""Every private part of `jax` itself that the JAX front door needs; `compat.py` has those of jaxlib.

JAX compiles each program through one function of its own, once an entry of its caches. It is replaced while somebody
watches, and at no other time. A JAX that compiles in another way raises `UnknownJaxError`, never an AttributeError.
"""

from __future__ import annotations

import copy
import inspect
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

__all__ = [
    "EVERY_PASS",
    "PARTITIONER",
    "CompileStep",
    "UnknownJaxError",
    "compile_apart",
    "kept_arguments",
    "watching",
]

_STEP = "compile_or_get_cached"
_DIRECT = "backend_compile_and_load"
_STEP_PARAMETERS = ("backend", "computation", "devices", "compile_options", "host_callbacks", "executable_devices")
_DIRECT_PARAMETERS = ("backend", "module", "executable_devices", "options", "host_callbacks")

PARTITIONER = "spmd-partitioning"
EVERY_PASS = ".*"
"""Which of XLA's passes to dump."""


def _hide_own_frames() -> None:
    """Locations of what is lowered here are the user's: JAX leaves our files out of them, as it does its own."""
    try:
        from jax._src.source_info_util import register_exclusion
    except ImportError:
        return
    register_exclusion(str(Path(__file__).resolve().parent))


_hide_own_frames()


class UnknownJaxError(RuntimeError):
    """The installed JAX does not have the private function that this needs."""

    def __init__(self, missing: str) -> None:
        super().__init__(
            f"jax {jax.__version__} is not known here ({missing}); known are jax 0.10 and 0.12: dump with "
            "'compiler_options' and use 'shardproof.validate_modules'"
        )


@dataclass(frozen=True, slots=True)
class CompileStep:
    """One program on its way through JAX's compile function."""

    arguments: inspect.BoundArguments
    original: Callable[..., Any]
    direct: Callable[..., Any]

    @property
    def module(self) -> Any:
        """The StableHLO module as JAX wrote it."""
        return self.arguments.arguments["computation"]

    @property
    def is_partitioned(self) -> bool:
        return self._options.num_partitions > 1

    @property
    def _options(self) -> Any:
        return self.arguments.arguments["compile_options"]

    def run(self) -> Any:
        """What JAX does: the executable, from the persistent cache where it is there."""
        return self.original(*self.arguments.args, **self.arguments.kwargs)

    def run_dumping(self, folder: str, passes: str = PARTITIONER) -> tuple[Any, float]:
        """What JAX does, and XLA dumps into the folder; in two compilations where one could leave traces.

        With the executable come the seconds that the second compilation took.

        A program that the user dumps keeps its own folder, and one that goes into the persistent cache must not take
        the name of a folder along that is gone when it is loaded.
        """
        cached = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
        if cached or self._options.executable_build_options.debug_options.xla_dump_to or self._user_dump_settings():
            executable = self.run()
            start = time.monotonic()
            self.run_apart(folder, passes)
            return executable, time.monotonic() - start
        known = dict(self.arguments.arguments)
        known["compile_options"] = self._dumping(folder, passes)
        return self.original(**known), 0.0

    def run_apart(self, folder: str, passes: str = PARTITIONER) -> Any:
        """Compiles past the persistent cache, which would dump nothing where it has the program already."""
        known = self.arguments.arguments
        return self.direct(
            known["backend"],
            known["computation"],
            known["executable_devices"],
            self._dumping(folder, passes),
            known["host_callbacks"],
        )

    def _user_dump_settings(self) -> list[Any]:
        return [pair for pair in self._options.env_option_overrides if pair[0].startswith("xla_dump_")]

    def _dumping(self, folder: str, passes: str) -> Any:
        options = copy.deepcopy(self._options)
        others = [pair for pair in options.env_option_overrides if not pair[0].startswith("xla_dump_")]
        options.env_option_overrides = others
        debug = options.executable_build_options.debug_options
        for name, value in _dump_settings(folder, passes).items():
            setattr(debug, name, value)
        return options


def _dump_settings(folder: str, passes: str) -> dict[str, str | bool]:
    return {"xla_dump_to": folder, "xla_dump_hlo_pass_re": passes, "xla_dump_hlo_as_proto": True}


Watcher = Callable[[CompileStep], Any]
"""Gives the executable of a step."""

_lock = threading.Lock()
_watchers: list[Watcher] = []
_users = 0
"""How many need JAX's function replaced."""
_here = threading.local()
"""A thread's own watcher goes before the others."""


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Every compilation of the process goes through the watcher; the innermost one where several are on."""
    with _replaced():
        _watchers.append(watcher)
        try:
            yield
        finally:
            _watchers.remove(watcher)


def compile_apart(lowered: Any, folder: str, passes: str = PARTITIONER) -> None:
    """Compiles a `jax.stages.Lowered` once more, past all caches, and lets XLA dump passes into the folder.

    With a JAX that is not known only the public way is left, which a hit in the persistent cache makes dump nothing.
    """
    # An option that no other compilation has keeps JAX's own table of executables out of the way.
    try:
        with _replaced(), _in_this_thread(lambda step: step.run_apart(folder, passes)):
            lowered.compile(compiler_options={"xla_dump_to": folder})
    except UnknownJaxError:
        lowered.compile(compiler_options=_dump_settings(folder, passes))


@contextmanager
def _in_this_thread(watcher: Watcher) -> Iterator[None]:
    outer = getattr(_here, "watcher", None)
    _here.watcher = watcher
    try:
        yield
    finally:
        _here.watcher = outer


def kept_arguments(lowered: Any) -> tuple[int, ...] | None:
    """The numbers of the arguments that JAX did not drop as unused, where this JAX tells them."""
    known = getattr(getattr(lowered, "_lowering", None), "compile_args", {}).get("kept_var_idx")
    return None if known is None else tuple(sorted(known))


def _compiler() -> Any:
    try:
        from jax._src import compiler
    except ImportError:
        raise UnknownJaxError("no module 'jax._src.compiler'") from None
    for name, wanted in ((_STEP, _STEP_PARAMETERS), (_DIRECT, _DIRECT_PARAMETERS)):
        function = getattr(compiler, name, None)
        if function is None:
            raise UnknownJaxError(f"no function '{name}'")
        if tuple(inspect.signature(function).parameters)[: len(wanted)] != wanted:
            raise UnknownJaxError(f"'{name}' has other parameters")
    return compiler


@contextmanager
def _replaced() -> Iterator[None]:
    """JAX's function is ours meanwhile, and JAX's own again when nobody needs ours any more."""
    global _users  # noqa: PLW0603
    compiler = _compiler()
    with _lock:
        if _users == 0:
            setattr(compiler, _STEP, _watched(compiler, getattr(compiler, _STEP)))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            original = getattr(getattr(compiler, _STEP), "shardproof_original", None)
            # Where somebody else has replaced it since, ours stays below theirs and passes everything on.
            if _users == 0 and original is not None:
                setattr(compiler, _STEP, original)


def _watched(compiler: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(original)

    def step(*args: Any, **kwargs: Any) -> Any:
        watcher = getattr(_here, "watcher", None) or (_watchers[-1] if _watchers else None)
        if watcher is None:
            return original(*args, **kwargs)
        return watcher(CompileStep(signature.bind(*args, **kwargs), original, getattr(compiler, _DIRECT)))

    step.__signature__ = signature  # type: ignore[attr-defined]
    step.shardproof_original = original  # type: ignore[attr-defined]
    return step
