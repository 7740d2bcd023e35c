"""Colours on terminals, and nowhere else."""

import io

import pytest

from shardproof.validator.report.diagnostic import lines_of
from shardproof.validator.report.report import Report
from shardproof.validator.report.terminal import print_lines
from shardproof.validator.report.text import diagnose, diagnostics


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(report: Report, stream: io.StringIO) -> str:
    print_lines(lines_of(diagnose(report), report.after), stream)
    return stream.getvalue()


def plain(report: Report) -> str:
    return "".join(f"{line}\n" for line in diagnostics(report))


def test_no_terminal_no_colours(refuted: Report):
    assert printed(refuted, io.StringIO()) == plain(refuted)


def test_a_terminal_has_colours_and_the_same_text(refuted: Report, monkeypatch: pytest.MonkeyPatch):
    from rich.text import Text

    for variable in ("NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    text = printed(refuted, Terminal())
    assert "\x1b[1;31m" in text
    assert Text.from_ansi(text).plain.split("\n") == plain(refuted).split("\n")


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_switched_off(refuted: Report, monkeypatch: pytest.MonkeyPatch, variable: str, value: str):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv(variable, value)
    assert printed(refuted, Terminal()) == plain(refuted)
