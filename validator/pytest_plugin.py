"""The pytest plugin: `--shardproof` validates every partitioned program that the tests compile.

Nothing of the validator is loaded unless the option or the fixture is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .session import Session

_STATE = pytest.StashKey["_State"]()
_WORKER_KEY = "shardproof"


class _State:
    """The session of this process, and the lines that test processes of pytest-xdist sent."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.session: Session | None = None
        self.lines: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("shardproof", "validation of partitioned JAX programs")
    group.addoption(
        "--shardproof",
        action="store_true",
        help="validate every partitioned program that the tests compile and list the verdicts",
    )
    group.addoption(
        "--shardproof-on-failure",
        choices=("record", "warn", "raise"),
        default="record",
        help="what the test that compiled a program without a proof is told beside that (default: nothing)",
    )
    group.addoption(
        "--shardproof-timeout", type=float, default=60.0, metavar="S", help="seconds for one program (default 60)"
    )


def pytest_configure(config: pytest.Config) -> None:
    state = config.stash[_STATE] = _State()
    if config.getoption("--shardproof"):
        from .session import validation

        way: Any = config.getoption("--shardproof-on-failure")
        limit = config.getoption("--shardproof-timeout")
        state.session = state.stack.enter_context(validation(way, timeout=limit))


def pytest_unconfigure(config: pytest.Config) -> None:
    if _STATE in config.stash:
        config.stash[_STATE].stack.close()


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    state = session.config.stash[_STATE]
    if output is not None and state.session is not None:
        output[_WORKER_KEY] = state.session.summary()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A process of pytest-xdist ends and hands over what it saw."""
    node.config.stash[_STATE].lines.extend(getattr(node, "workeroutput", {}).get(_WORKER_KEY, ()))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    state = config.stash[_STATE]
    lines = state.lines
    if state.session is not None and not lines:
        lines = state.session.summary()
    if lines:
        terminalreporter.section("shardproof")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture
def shardproof_validation() -> Iterator[Session]:
    """Validates what the test compiles; a partitioned program without a proof raises in the test."""
    from .session import validation

    with validation("raise") as session:
        yield session
