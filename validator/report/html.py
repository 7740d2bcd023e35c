"""Reports as HTML: one file that needs nothing else, or a fragment for notebooks.

There are no scripts and nothing is loaded; the page's own policy forbids both. Everything that comes from the outside
(names, paths, source lines, messages) is escaped where it is put in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..listing import package_version
from ..read.ir import Frame
from .drawing import drawing, readable
from .excerpt import Excerpt, excerpt
from .markup import markup
from .report import Report, Stats
from .text import advice, message_of, outputs_text
from .verdict import Verdict
from .witness import array_text, scalar_text, seen_by

if TYPE_CHECKING:
    from ..evaluate.compare import Counterexample
    from .output import Failure

_CONTEXT = 4
"""Source lines shown on both sides of the place."""
_MAX_CALLERS = 6
_MAX_OUTPUTS = 200
_CAPTION = (
    "Boxes are values. Arrows lead from operands to what uses them; a link in the middle tells which elements of the "
    "logical tensors a device holds, the table has it in full."
)

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ margin: 0; background: #fff; }}
main {{ max-width: 1180px; margin: 0 auto; padding: 36px 32px 64px; }}
@page {{ margin: 14mm; }}
@media print {{ main {{ padding: 0; max-width: none; }} }}
{style}
</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def page(reports: Sequence[Report], failures: Sequence[Failure] = ()) -> str:
    """The reports of a run as one document."""
    body = [_article(report) for report in reports] + [_failure(failure) for failure in failures]
    if len(body) != 1:
        title = f"shardproof: {len(reports)} pairs"
    else:
        title = f"{reports[0].verdict.name} {reports[0].after}" if reports else f"no verdict on {failures[0].where}"
    return _PAGE.format(title=markup(title), style=_style(), body="\n".join(body))


def fragment(report: Report) -> str:
    """One report with its style, to be put into another page."""
    return f"<style>\n{_style()}</style>\n{_article(report)}"


@cache
def _style() -> str:
    return Path(__file__).with_name("report.css").read_text(encoding="utf-8")


def _article(report: Report) -> str:
    kind = report.verdict.name.lower().replace("_", "-")
    sections = [*_header(report), *_place(report), *_graph(report), *_outputs(report), *_notes(report)]
    return "\n".join([f'<article class="shardproof {kind}">', *sections, *_footer(report), "</article>"])


def _failure(failure: Failure) -> str:
    kind = "INTERNAL ERROR" if failure.internal else "UNREADABLE"
    return (
        f'<article class="shardproof"><header><div class="verdict">{kind}</div><h1>{markup(failure.message)}</h1>'
        f'<p class="files"><b>{markup(failure.where)}</b></p></header></article>'
    )


def _header(report: Report) -> Iterator[str]:
    conditions = [f"theory {report.theory.value}"] if report.theory is not None else []
    conditions += [f"assuming {assumption.value}" for assumption in report.assumptions]
    conditions += [outputs_text(report), f"{report.stats.seconds:.2f} s"]
    proved = f"every device computes its shard of '{report.before}', for all inputs"
    message = proved if report.verdict is Verdict.PROVED else message_of(report)
    yield "<header>"
    yield f'<div class="verdict">{report.verdict.name}<span>{markup(" · ".join(conditions))}</span></div>'
    yield f"<h1>{markup(message)}</h1>"
    before, after = markup(report.before), markup(report.after)
    yield f'<p class="files">before&ensp;<b>{before}</b><br>after&ensp;&ensp;<b>{after}</b></p>'
    if report.rule is not None:
        yield f'<p class="help"><span class="rule">{report.rule.id}</span>{_prose(report.rule.help)}</p>'
    yield "</header>"


def _place(report: Report) -> Iterator[str]:
    """The place in the user's program and the counterexample, side by side where there is room."""
    parts = [part for part in (_source(report), _witness(report)) if part]
    if parts:
        yield '<section class="pair">'
        yield from (f"<div>{part}</div>" for part in parts)
        yield "</section>"


def _source(report: Report) -> str:
    location = report.location
    if report.verdict is Verdict.PROVED or not (location.frames or location.op_name):
        return ""
    parts = ["<h2>Where</h2>"]
    if location.frames:
        parts.append(f'<p class="where"><b>{_frame(location.frames[0])}</b></p>')
        if (found := excerpt(location.frames[0], report.after, _CONTEXT)) is not None:
            parts.append(_lines(found))
    if location.op_name:
        parts.append(f"<p>operation <code>{markup(location.op_name)}</code></p>")
    if callers := location.frames[1 : 1 + _MAX_CALLERS]:
        parts.append(f'<ul class="callers">{"".join(f"<li>{_frame(frame)}</li>" for frame in callers)}</ul>')
    return "".join(parts)


def _frame(frame: Frame) -> str:
    return markup(f"{frame}  in {frame.function}" if frame.function else str(frame))


def _lines(found: Excerpt) -> str:
    rows = []
    for number, line in enumerate(found.lines, found.first):
        hit = number == found.line
        rows.append(f"<div{' class=hit' if hit else ''}><i>{number}</i>{markup(line) or ' '}</div>")
        if hit and found.caret is not None:
            rows.append(f'<div class="hit caret"><i></i>{" " * found.caret}^</div>')
    return f'<div class="source">{"".join(rows)}</div>'


def _witness(report: Report) -> str:
    witness = report.counterexample
    if witness is None:
        return ""
    output = next((output for output in report.outputs if output.index == witness.result), None)
    facts = (
        ("", "output", output.label if output is not None and output.label else str(witness.result)),
        ("", "device", str(witness.device)),
        ("", "element", str(list(witness.index))),
        ("", "expected", scalar_text(witness.expected)),
        ("bad", "computed", scalar_text(witness.actual)),
    )
    cells = [f'<div><dt>{name}</dt><dd class="{kind}">{markup(value)}</dd></div>' for kind, name, value in facts]
    return (
        f'<h2>Counterexample</h2><dl class="values">{"".join(cells)}</dl>'
        f'{_inputs(witness)}<p class="seen">{_sentence(seen_by(report))}</p>'
    )


def _inputs(witness: Counterexample) -> str:
    if not witness.inputs:
        return ""
    rows = []
    for number, value in enumerate(witness.inputs):
        kind, content = array_text(value)
        rows.append(_row(str(number), kind, content))
    return f"<table><tr><th>input</th><th>type</th><th>value</th></tr>{''.join(rows)}</table>"


def _row(*cells: str) -> str:
    """A row of code, given as plain text."""
    return "<tr>" + "".join(f'<td class="v">{markup(cell)}</td>' for cell in cells) + "</tr>"


def _graph(report: Report) -> Iterator[str]:
    frontier = report.frontier
    if frontier is None:
        return
    yield "<section><h2>The place in both programs</h2>"
    op, value, reason = (markup(text) for text in (frontier.op, frontier.value, frontier.reason))
    # a cause is known by what would mend it, and that is told of the op to be mended
    what = "The first value without a relation" if report.cause is None else "Likely at fault"
    yield f"<p>{what} is <code>{value}</code>, the result of <code>{op}</code>: {reason}.</p>"
    if svg := drawing(frontier):
        yield f'<div class="canvas">{svg}</div>'
        yield f'<p class="caption">{_CAPTION}</p>'
    near = [(value.name, value.signature, value.relation) for value in frontier.after if value.relation]
    rows = near or [(operand.name, "", operand.relation) for operand in frontier.operands]
    if rows:
        yield "<table><tr><th>value</th><th>on each device</th><th>relation to the before program</th></tr>"
        for row in rows:
            yield _row(*map(readable, row))
        yield "</table>"
    yield "</section>"


def _outputs(report: Report) -> Iterator[str]:
    if not report.outputs:
        return
    yield "<section><h2>Results</h2>"
    yield "<table><tr><th>result</th><th>verdict</th><th>theory</th><th>where and why</th></tr>"
    for output in report.outputs[:_MAX_OUTPUTS]:
        why = ""
        if output.verdict is not Verdict.PROVED:
            place = str(output.location.frames[0]) if output.location.frames else ""
            why = ": ".join(part for part in (place, output.message) if part)
        theory = output.theory.value if output.theory is not None else ""
        name = markup(f"{output.index} {output.label}".rstrip())
        verdict = f'<span class="tag {output.verdict.name}">{output.verdict.name}</span>'
        yield f'<tr><td class="v">{name}</td><td>{verdict}</td><td>{theory}</td><td>{markup(why)}</td></tr>'
    yield "</table>"
    if len(report.outputs) > _MAX_OUTPUTS:
        yield f"<p>and {len(report.outputs) - _MAX_OUTPUTS} more</p>"
    yield "</section>"


def _notes(report: Report) -> Iterator[str]:
    for title, lines in (("Notes", [str(note) for note in report.notes]), ("What to try", list(advice(report)))):
        if lines:
            items = "".join(f"<li>{markup(line)}</li>" for line in lines)
            yield f'<section><h2>{title}</h2><ul class="plain">{items}</ul></section>'


def _footer(report: Report) -> Iterator[str]:
    stats: Stats = report.stats
    counts = (
        f"{stats.ops_before:,} operations before, {stats.ops_after:,} after",
        f"{stats.relations:,} operations on relations",
        f"{stats.memo_hits:,} found again",
        f"shardproof {package_version()}",
    )
    yield f"<footer>{markup(' · '.join(counts))}</footer>"


def _sentence(text: str) -> str:
    return markup(f"{text[:1].upper()}{text[1:]}.")


def _prose(text: str) -> str:
    """Help texts, in which code stands between backticks."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", markup(text))
