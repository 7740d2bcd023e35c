"""The HTML page: complete, harmless, and drawn by a real browser."""

import dataclasses
import re
import shutil
import struct
import subprocess
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pytest

from shardproof.validator.read.ir import Frame, Location
from shardproof.validator.report.drawing import drawing, readable, short_relation
from shardproof.validator.report.frontier import Frontier, NearValue
from shardproof.validator.report.html import fragment, page
from shardproof.validator.report.note import Note
from shardproof.validator.report.output import Failure
from shardproof.validator.report.report import Report

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VOID = {"meta", "br", "rect", "path"}


class Structure(HTMLParser):
    """Checks that every tag is closed, and keeps tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(text: str) -> Structure:
    structure = Structure()
    structure.feed(text)
    structure.close()
    assert structure.open == []
    return structure


def test_it_tells_what_the_text_tells(broken_example: Report):
    text = " ".join(parsed(page([broken_example])).text.split())
    witness, frontier = broken_example.counterexample, broken_example.frontier
    assert witness is not None
    assert frontier is not None
    for said in (
        "REFUTED",
        "SP001",
        broken_example.rule.help.split("`")[0] if broken_example.rule else "",
        "tp_mlp.py:30:11 in mlp",
        "return hidden @ w_out + b_out",
        "tp_mlp.py:46:14 in dump",
        str(list(witness.index)),
        "zero except [0] = 1.0" if witness.inputs[2].any() else "all 0.0",
        frontier.value,
        *(value.name for value in (*frontier.before, *frontier.after)),
        *(short_relation(value.relation).split(" [")[0] for value in frontier.after),
    ):
        assert said in text, said


@pytest.mark.parametrize("name", ["proved", "refuted", "not_proved", "unsupported"])
def test_every_verdict_is_well_formed(name: str, request: pytest.FixtureRequest):
    report: Report = request.getfixturevalue(name)
    for text in (page([report]), fragment(report), page([report, report], [Failure("torn.pb", "is cut off")])):
        assert report.verdict.name in parsed(text).text


def test_nothing_is_loaded_and_nothing_runs(broken_example: Report):
    structure = parsed(page([broken_example]))
    assert not {"script", "link", "img", "iframe", "object", "base", "form"} & set(structure.tags)
    names = {name for name, _ in structure.attributes}
    assert not {"href", "src", "srcset", "action", "style"} & names
    assert not any(name.startswith("on") for name in names)
    assert "url(" not in page([broken_example])
    assert "@import" not in page([broken_example])


HOSTILE = "</style></title><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\udc80\u202e"


def test_hostile_names(refuted: Report):
    location = Location(HOSTILE, (Frame(HOSTILE, 3, 1, HOSTILE), Frame(HOSTILE, 4, 1, HOSTILE)))
    near = NearValue(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, (HOSTILE, "x"), HOSTILE, location)
    frontier = Frontier(HOSTILE, HOSTILE, HOSTILE, location, HOSTILE, (), (near,), (near, near))
    outputs = tuple(dataclasses.replace(o, label=HOSTILE, message=HOSTILE, location=location) for o in refuted.outputs)
    report = dataclasses.replace(
        refuted,
        before=HOSTILE,
        after=HOSTILE,
        message=HOSTILE,
        outputs=outputs,
        frontier=frontier,
        notes=(Note.information(HOSTILE),),
    )
    text = page([report], [Failure(HOSTILE, HOSTILE)])
    structure = parsed(text)
    assert "script" not in structure.tags
    assert "img" not in structure.tags
    text.encode()


def test_the_drawing_has_every_value_and_relation():
    before = (
        NearValue("%1", "parameter", "f32[16]"),
        NearValue("%5", "stablehlo.add", "f32[16]", operands=("%1", "%1")),
    )
    after = (
        NearValue("%2", "parameter", "f32[8]", "sharded", "x { [d0, i0] -> [8d0 + i0] : 0 <= i0 <= 7 }", (), "%1"),
        NearValue("%3", "stablehlo.add", "f32[8]", "", "", ("%2",), ""),
    )
    svg = drawing(Frontier("stablehlo.add", "%3", "f32[8]", Location(), "adds too much", (), before, after))
    structure = parsed(svg)
    for said in ("%1", "%2", "%3", "%5", "f32[16]", "sharded", "x [d0, i0] → [8d0 + i0]", "adds too much"):
        assert said in structure.text
    assert svg.count('class="use"') == 2
    assert svg.count('class="link"') > 1
    assert 'class="link failing"' in svg
    # what fails stands beside the original's result of the same op
    tops = [float(top) for top in re.findall(r'<rect x="[\d.]+" y="([\d.]+)"', svg)]
    assert len(tops) == 4


def test_no_neighbourhood_no_drawing():
    assert drawing(Frontier("stablehlo.add", "%3", "f32[8]", Location(), "adds too much")) == ""


def test_relations_are_readable():
    relation = "b { [d, i] -> [i] : 0 <= d <= 1 }; c { [d, i] -> [2i] : i >= 3 }"
    assert short_relation(relation) == "b [d, i] → [i]; c [d, i] → [2i]"
    assert readable(relation) == "b { [d, i] → [i] : 0 ≤ d ≤ 1 }; c { [d, i] → [2i] : i ≥ 3 }"


def test_the_command_writes_one_page(tmp_path: Path):
    from shardproof.validator import cli

    example = ROOT / "examples" / "tp_mlp"
    file = tmp_path / "report.html"
    files = [str(example / f"{name}.hlo.txt") for name in ("before", "after")]
    assert cli.main(["-q", "-o", str(tmp_path / "out"), "--html", str(file), *files]) == 0
    assert "PROVED" in parsed(file.read_text(encoding="utf-8")).text
    assert cli.main(["-q", "-o", str(tmp_path / "out"), "--html", str(file), files[0], str(tmp_path / "none")]) == 5
    assert "UNREADABLE" in parsed(file.read_text(encoding="utf-8")).text


def _chromium(folder: Path, *arguments: str) -> None:
    profile = folder / "profile"
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    subprocess.run(
        [*command, f"--user-data-dir={profile}", *arguments, (folder / "report.html").as_uri()],
        check=True,
        capture_output=True,
        timeout=120,
    )


def _pixels(path: Path) -> tuple[int, int, list[bytes]]:
    """Width, height and rows of an 8-bit PNG without interlacing, as Chromium writes it; 4 or 3 bytes a pixel."""
    data = path.read_bytes()
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    assert depth == 8
    size, at, packed = {2: 3, 6: 4}[colour], 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        packed += data[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    raw, stride, rows = zlib.decompress(packed), width * size, []
    previous = bytearray(stride)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for x in range(stride):
            left = row[x - size] if x >= size else 0
            up, corner = previous[x], previous[x - size] if x >= size else 0
            paeth = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            row[x] = (row[x] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        rows.append(bytes(row))
        previous = row
    return width, height, rows


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")
@pytest.mark.parametrize("width", [800, 1400])
def test_chromium_draws_it(broken_example: Report, tmp_path: Path, width: int):
    (tmp_path / "report.html").write_text(page([broken_example]), encoding="utf-8")
    _chromium(tmp_path, f"--window-size={width},900", f"--screenshot={tmp_path / 'shot.png'}")
    found, height, rows = _pixels(tmp_path / "shot.png")
    assert (found, height) == (width, 900)
    # the bar in the verdict's colour, and a margin that nothing has run over into
    red = bytes.fromhex("ab2a20")
    assert any(red * 50 in row.replace(red + b"\xff", red) for row in rows[:120])
    size = len(rows[0]) // width
    assert all(row[-10 * size :] == b"\xff" * (10 * size) for row in rows)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")
def test_chromium_prints_it_and_finds_nothing_to_say(broken_example: Report, tmp_path: Path):
    (tmp_path / "report.html").write_text(page([broken_example]), encoding="utf-8")
    _chromium(tmp_path, f"--print-to-pdf={tmp_path / 'report.pdf'}", "--no-pdf-header-footer")
    pdf = (tmp_path / "report.pdf").read_bytes()
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert 1 <= pages <= 4
