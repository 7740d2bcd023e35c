"""The package list in pyproject.toml and the folders of the repository agree."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

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


@pytest.mark.slow
def test_a_plain_wheel_has_everything(tmp_path: Path):
    source = tmp_path / "source"
    for folder in ("shardproof", "validator", "passes", "dialect"):
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source / file)
    build = [sys.executable, "-P", "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(source)]
    subprocess.run(build, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    modules = {
        f"shardproof/{module.relative_to(ROOT)}"
        for top in ("validator", "passes", "dialect")
        for module in (ROOT / top).rglob("*.py")
    }
    assert modules | {"shardproof/__init__.py", "shardproof/py.typed"} <= names
    assert {name.split("/")[0] for name in names} == {"shardproof", "shardproof-0.1.0.dist-info"}
    pair = [str(ROOT / "lit" / "cli" / "Inputs" / "two_ops.mlir")] * 2
    code = f"import sys, shardproof.validator.cli as cli; print(cli.__file__); sys.exit(cli.main({pair!r}))"
    # A zip file on the path is read like a folder; a meta path finder of an editable install must not win over it.
    run = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(wheel)!r}); {code}"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(str(wheel))
