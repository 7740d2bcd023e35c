"""MLIR tools that load the definition, where they are installed; none of them is needed by the package."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEFINITION = ROOT / "dialect" / "shardproof.irdl.mlir"
NAMES = ("mlir-opt", "torch-mlir-opt", "iree-opt")


def tool(name: str) -> str | None:
    """The path of a tool: on PATH, or in one of LLVM's own folders, the newest first."""
    folders = [str(folder) for folder in sorted(Path("/usr/lib").glob("llvm-*/bin"), key=_version, reverse=True)]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(folders))


def cmake_folder() -> Path | None:
    """The CMake package of MLIR 22 or later: `MLIR_DIR`, or that of an installed LLVM."""
    if "MLIR_DIR" in os.environ:
        return Path(os.environ["MLIR_DIR"])
    found = sorted(Path("/usr/lib").glob("llvm-*/lib/cmake/mlir"), key=lambda path: _version(path.parents[2] / "bin"))
    return found[-1] if found and _version(found[-1].parents[2] / "bin") >= 22 else None


def _version(folder: Path) -> int:
    digits = folder.parent.name.removeprefix("llvm-")
    return int(digits) if digits.isdigit() else 0


def printed(command: list[str], text: str, *options: str) -> str:
    """What a tool prints of a file in generic form."""
    flags = ["--allow-unregistered-dialect", "--mlir-print-op-generic", *options, "-"]
    run = subprocess.run([*command, *flags], input=text, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout
