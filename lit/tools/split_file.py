"""Writes the parts of a file, each below a line `//--- NAME`, into a folder: `split_file.py FILE FOLDER`.

Each part is padded with empty lines, so that line numbers in messages are those of the whole file.
"""

import sys
from pathlib import Path

MARK = "//--- "

source, folder = Path(sys.argv[1]), Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
name = ""
parts: dict[str, list[str]] = {}
for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), start=1):
    if line.startswith(MARK):
        name = line.removeprefix(MARK).strip()
        parts[name] = [""] * number
    elif name:
        parts[name].append(line)
if not parts:
    sys.exit(f"{source}: no line '{MARK}NAME'")
for name, lines in parts.items():
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
