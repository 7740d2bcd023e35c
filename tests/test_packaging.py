"""The package list in pyproject.toml and the folders of the repository agree."""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def _folders() -> set[str]:
    found = {"shardproof"}
    for top in ("validator", "passes", "dialect"):
        for init in (ROOT / top).rglob("__init__.py"):
            found.add("shardproof." + ".".join(init.parent.relative_to(ROOT).parts))
    return found


def test_every_package_is_listed():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(config["tool"]["setuptools"]["packages"]) == _folders()


def test_every_module_stands_in_a_package():
    for top in ("validator", "passes", "dialect"):
        for module in (ROOT / top).rglob("*.py"):
            assert (module.parent / "__init__.py").exists(), f"{module.relative_to(ROOT)} would not be installed"


def test_importing_the_public_face_loads_no_heavy_library():
    code = "import sys, shardproof; print(sorted({'jax', 'jaxlib', 'egglog', 'islpy', 'numpy'} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
