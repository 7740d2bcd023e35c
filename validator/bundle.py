"""What a user can send along with a report of a fault: both inputs, the command and the traceback in one folder."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePath

from .listing import version_text
from .run import Source


def write_bundle(before: Source, after: Source, command: list[str], details: str) -> Path:
    """Writes the folder and returns its path; it is left for the user to keep or delete."""
    folder = Path(tempfile.mkdtemp(prefix="shardproof-"))
    for side, source in (("before", before), ("after", after)):
        (folder / f"{side}-{PurePath(source.name).name.strip('<>') or 'input'}").write_bytes(source.data)
    (folder / "details.txt").write_text(f"{version_text()}\n{' '.join(command)}\n\n{details}")
    return folder
