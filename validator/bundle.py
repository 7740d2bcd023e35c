"""What a user can send along with a report of a fault: both inputs, the command and the traceback in one folder."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path, PurePath

from .listing import version_text
from .run import Source


def write_bundle(
    before: Source, after: Source, command: list[str], details: str, relations: Source | None = None
) -> Path:
    """Writes the folder and returns its path; it is left for the user to keep or delete."""
    folder = Path(tempfile.mkdtemp(prefix="shardproof-"))
    for side, source in (("before", before), ("after", after), ("relations", relations)):
        if source is None:
            continue
        (folder / f"{side}-{PurePath(source.name).name.strip('<>') or 'input'}").write_bytes(source.data)
    text = f"{version_text()}\n{shlex.join(command)}\n\n{details}"
    (folder / "details.txt").write_text(text, encoding="utf-8", errors="backslashreplace")
    return folder
