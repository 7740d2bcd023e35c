"""lit's configuration: tests of the command line, each a file with RUN lines whose output filecheck reads."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import lit.formats
from jaxlib.version import __version__ as jaxlib_version

config: Any = globals()["config"]
here = Path(__file__).resolve().parent
python = shlex.quote(sys.executable)

config.name = "shardproof"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".hlo", ".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = str(here)
config.test_exec_root = str(Path(tempfile.gettempdir()) / f"shardproof-lit-{os.getuid()}")

# Tools are named in full instead of found on PATH, so that a test cannot pick up those of another environment.
config.substitutions.append(("%examples", str(here.parent / "examples")))
config.substitutions.append((r"\bvalidate-hlo\b", f"{python} -P -m shardproof.validator.cli"))
config.substitutions.append((r"\bshardproof-opt\b", f"{python} -P -m shardproof.passes.opt"))
config.substitutions.append(("%dialect", f"{python} -P -m shardproof.dialect"))
config.substitutions.append((r"\bfilecheck\b", f"{python} -P -m filecheck"))
config.substitutions.append(("%python", f"{python} -P"))
config.substitutions.append((r"\bsplit-file\b", f"{python} {shlex.quote(str(here / 'tools' / 'split_file.py'))}"))
config.substitutions.append((r"\bexpect-exit\b", f"{python} {shlex.quote(str(here / 'tools' / 'expect_exit.py'))}"))

# Groups by mesh axes are an attribute of StableHLO that jaxlib has since 0.11.
if tuple(map(int, jaxlib_version.split(".")[:2])) >= (0, 11):
    config.available_features.add("mesh-groups")

# Tools of an MLIR of its own, 22 or later, where there is one: they load the dialect's definition.
folders = os.pathsep.join(map(str, sorted(Path("/usr/lib").glob("llvm-*/bin"), reverse=True)))
mlir_opt = shutil.which("mlir-opt") or shutil.which("mlir-opt", path=folders)
told = subprocess.run([mlir_opt, "--version"], capture_output=True, text=True).stdout if mlir_opt else ""
version = re.search(r"LLVM version (\d+)", told)
if mlir_opt and version and int(version[1]) >= 22:
    config.available_features.add("mlir-opt")
    definition = shlex.quote(str(here.parent / "dialect" / "shardproof.irdl.mlir"))
    config.substitutions.append(("%mlir-opt", f"{shlex.quote(mlir_opt)} --irdl-file={definition}"))
native_opt = os.environ.get("SHARDPROOF_NATIVE_OPT")
if native_opt:
    config.available_features.add("native-opt")
    config.substitutions.append(("%native-opt", shlex.quote(native_opt)))
