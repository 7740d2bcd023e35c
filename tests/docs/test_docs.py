"""The documentation agrees with the code and with itself."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from shardproof.validator.report.report import Obstacle, Report
from shardproof.validator.report.verdict import ExitCode, Verdict

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "text"), sorted(_generator().pages().items()))
def test_generated_pages_are_up_to_date(name: str, text: str):
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, "run 'make docs'"


@pytest.mark.slow
def test_what_the_page_on_reports_shows_is_what_is_printed():
    assert (ROOT / "docs" / "reports.md").read_text(encoding="utf-8") == _generator().reports_page(), "run 'make docs'"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in index


def test_closed_sets_are_documented():
    reports = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for obstacle in Obstacle:
        assert f"`{obstacle.value}`" in reports
    for key in Report("a", "b", Verdict.NOT_PROVED).to_json():
        assert f"`{key}`" in reports
    for verdict in Verdict:
        assert verdict.name in readme
    for code in ExitCode:
        assert re.search(rf"^\| {code.value} \|", readme, flags=re.MULTILINE), code


def test_the_readme_starts_with_two_commands():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first_block = re.search(r"```\w*\n(.*?)```", readme, flags=re.DOTALL)
    assert first_block is not None
    assert first_block[1].split("\n") == ["make demo", "make test", ""]


def _python(pattern: str) -> str:
    return pattern if pattern.endswith(".py") else f"{pattern}/*.py"


def test_the_size_of_what_is_trusted_is_told_truly():
    rows = re.findall(
        r"^\| (`[^|]+) \| [^|]+ \| (\d+) \|$", (ROOT / "docs" / "meaning.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) == 13
    counted: set[Path] = set()
    for part, told in rows:
        files = {file for pattern in re.findall(r"`([\w/.*]+)`", part) for file in ROOT.glob(_python(pattern))}
        # of a folder in the last table, what no other row has
        files -= counted
        counted |= files
        lines = sum(len(file.read_text("utf-8").splitlines()) for file in files)
        assert abs(lines - int(told)) <= max(150, lines // 10), f"{part}: {lines} lines"
