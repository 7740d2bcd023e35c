"""Files of results, one JSON object a row, which a later run reads and adds to."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from .watched import Failure

Kind = TypeVar("Kind")
Row = dict[str, Any]


def read_rows(results: Path) -> list[Row]:
    """What earlier runs found; nothing where there is no file yet."""
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def add_rows(results: Path, outcomes: Iterable[tuple[Any, Any]], lost: Callable[[Any, Failure], Row]) -> list[Row]:
    """Adds the rows that tasks give, as they come; `lost` makes the row of a task that failed."""
    rows: list[Row] = []
    with results.open("a") as file:
        for task, result in outcomes:
            rows.append(lost(task, result) if isinstance(result, Failure) else result)
            print(json.dumps(rows[-1]), file=file, flush=True)
    return rows


def in_turn(kinds: Iterable[Kind], numbers: Iterable[int], end: float) -> Iterator[tuple[Kind, int]]:
    """Cases of all kinds in turn, until that time of the monotonic clock."""
    kinds = list(kinds)
    for number in numbers:
        for kind in kinds:
            if time.monotonic() > end:
                return
            yield kind, number
