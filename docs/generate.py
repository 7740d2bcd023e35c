"""Writes the pages of this folder that follow from the code: the command lines, the op table, the rule reference, the
passes, the dialect, the schema of JSON reports and the causes of missing proofs.

    python docs/generate.py

A test asserts that the committed pages are what this script writes.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from shardproof.dialect.definition import DIALECT, Group, OperationDefinition
from shardproof.dialect.definition import definition as dialect_definition
from shardproof.dialect.verify import RULES as DIALECT_RULES
from shardproof.passes import opt
from shardproof.passes.registry import PASSES
from shardproof.validator import check_command, command_line
from shardproof.validator.bisect import bisect
from shardproof.validator.confirm import confirmed
from shardproof.validator.listing import is_proved
from shardproof.validator.ops.record import Family, Theory
from shardproof.validator.ops.registry import RECORDS
from shardproof.validator.options import Options
from shardproof.validator.read.passes import find_passes
from shardproof.validator.relate.lemmas import LEMMAS
from shardproof.validator.report.cause import OTHER_RULES, Rule
from shardproof.validator.report.cause import RULES as CAUSES
from shardproof.validator.report.json_format import SCHEMA_FILE
from shardproof.validator.report.note import LINTS
from shardproof.validator.report.text import diagnostics
from shardproof.validator.rules.rules import RULES
from shardproof.validator.run import Source, validate_here

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NOTICE = "<!-- Written by docs/generate.py; run `make docs` instead of editing. -->\n"


_PASSES_HEAD = """\
# Passes

Passes from StableHLO to StableHLO that bring programs into one form and keep their meaning, and passes that prove it.
They are run by name, or put into jaxlib's PassManager:

```sh
shardproof-opt --inline-calls --unroll-loops=max-trips=8 module.mlir
shardproof-opt --pass-pipeline='builtin.module(inline-calls,cse,validate-spmd)' module.mlir
```

```python
from jaxlib.mlir.passmanager import PassManager
from shardproof.passes import InlineCalls

manager = PassManager("builtin.module")  # in the module's context
manager.add(InlineCalls())
manager.run(module.operation)
```

The validator does not need them: its reader inlines calls and expands groups while it builds its own form of a program,
and its prover looks through copies, tables and loops by relations, which trusts no rewrite. The passes are for all who
read the IR: people, `mlir-opt` pipelines, tests. What both need stands in one place: which operations are copies, what
groups mean, how a table splits into digits; and a loop's trips are counted by the reference evaluator.
Tests run every pass over real programs and compare before and after, by evaluating both and by proof.
"""

_OPT_HEAD = """\
## The command `shardproof-opt`

It follows `mlir-opt`: the module goes to stdout, diagnostics go to stderr, the exit code is 0, or 1 after any error (70
after an internal one). Each pass is a flag, in the order of the command line; passes that jaxlib registers (`cse`,
`canonicalize`, StableHLO's, Shardy's `sdy-…`) go into `--pass-pipeline`. Shardy's passes run in a process of their own,
since they end it on IR that they do not expect. The input is MLIR or HLO, as for `validate-hlo`.
"""

_SHARDY = """\
## Shardy's own partitioner

jaxlib holds a second partitioner, Shardy's MLIR passes up to `sdy-convert-global-to-local`, which JAX does not run.
`shardproof.passes.shardy` runs it on a module as JAX lowers it, in a process of its own, and validates the module that
each stage leaves:

```sh
python -m shardproof.passes.shardy lowered.mlir
```

```python
from shardproof.passes import shardy

for stage in shardy.partition(lowered.as_text()):
    print(stage.name, stage.report.verdict if stage.report else stage.said)
```

Until the program is cut, a stage is compared with the input as a program on whole tensors, on which Shardy's
collectives return their operand; from `sdy-convert-global-to-local` on, as the program of each device, with the layouts
that the input demands and Shardy's choice where it leaves them open. [BUGLIST.md](../BUGLIST.md) has what was found.
"""


def pages() -> dict[str, str]:
    """The text of each generated page by file name."""
    return {
        "causes.md": causes_page(),
        "cli.md": cli_page(),
        "dialect-reference.md": dialect_page(),
        "json.md": json_page(),
        "ops.md": ops_page(),
        "passes.md": passes_page(),
        "rules.md": rules_page(),
    }


def cli_page() -> str:
    parser = command_line.parser()
    parts = [NOTICE, f"# The command `{parser.prog}`\n", f"{parser.description}\n"]
    parts.append(
        "```\nvalidate-hlo BEFORE AFTER [options]\n"
        "validate-hlo PROBLEM [--split-input-file] [--verify-diagnostics] [options]\n"
        "validate-hlo --xla-dump DIR [--module RE] [options]\n```\n\n"
        "Inputs are MLIR (text or bytecode) or HLO (text or proto), also gzipped; the format is told by the content.\n"
    )
    parts += _option_tables(parser, "##")
    codes = [
        ("0", "PROVED: the programs agree, in the theory and under the assumptions that are printed"),
        ("1", "REFUTED: they differ, and a counterexample shows it"),
        ("2", "the command line is wrong"),
        ("3", "NOT_PROVED: neither a proof nor a counterexample was found"),
        ("4", "UNSUPPORTED: an input contains something that is not modelled"),
        ("5", "an input cannot be read, or the two cannot belong together"),
        ("6", "a problem file expects another verdict, or other diagnostics"),
        ("70", "internal error: a fault of the validator; a folder with both inputs and the details is named"),
    ]
    parts.append(f"## Exit codes\n\n{_table(('code', 'meaning'), codes)}")
    parts.append(
        "Over several pairs the exit code is the worst one: 70 before 1, then 6, 5, 4 and 3. A problem of a problem\n"
        "file whose verdict is the expected one counts as 0. Ctrl-C ends with 130.\n\n"
        "The verdict goes to stdout, one line a pair; diagnostics, counts and progress go to stderr.\n"
        "[reports.md](reports.md) tells how to read them.\n"
    )
    checker = check_command.parser()
    parts.append(f"## The command `{checker.prog}`\n\n{checker.description}\n")
    parts.append(f"```\n{checker.prog} CERT BEFORE AFTER [options]\n```\n")
    parts += _option_tables(checker, "###")
    codes = [
        (
            "0",
            "ACCEPTED: it proves that the programs agree, in the theory and under the assumptions that are printed",
        ),
        ("1", "REJECTED: it does not, for the reason that is printed"),
        ("2", "the command line is wrong"),
        ("3", "NOT_CHECKED: a limit was met before there was a verdict"),
        ("5", "an input cannot be read"),
        ("70", "internal error: a fault of the checker, or the death of its process"),
    ]
    parts.append(f"### Exit codes\n\n{_table(('code', 'meaning'), codes)}")
    return "\n".join(parts)


def _option_tables(parser: argparse.ArgumentParser, level: str) -> list[str]:
    """One table for each group of options."""
    parts = []
    # argparse has no public way to ask for its groups.
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if action.dest != "help"]
        if actions:
            rows = [(_flags(action), _help(action)) for action in actions]
            parts.append(f"{level} {str(group.title).capitalize()}\n\n{_table(('option', 'meaning'), rows)}")
    return parts


def passes_page() -> str:
    parts = [
        NOTICE,
        _PASSES_HEAD,
    ]
    for one in PASSES.values():
        text = inspect.cleandoc(one.__doc__ or "")
        parts.append(f"## `{one.name}`\n\n{text}\n")
        rows = [(f"`{f.name.replace('_', '-')}`", f"`{str(f.default).lower()}`") for f in one.options()]
        if rows:
            parts.append(_table(("option", "default"), rows))
    parts.append(_OPT_HEAD)
    return "\n".join([*parts, *_option_tables(opt.parser(), "###"), _SHARDY])


def ops_page() -> str:
    parts = [
        NOTICE,
        "# Ops\n",
        "Every op that is modelled. *proved* tells whether the prover relates it; one that is only evaluated makes\n"
        "a verdict UNSUPPORTED, as does every op that is not listed and every attribute that is neither modelled\n"
        "nor known to be without meaning. Calls are read as what they call, and tuples as their elements.\n"
        "[extending.md](extending.md) tells how to add an op.\n",
    ]
    for family in Family:
        records = sorted((r for r in RECORDS.values() if r.family is family), key=lambda record: record.name)
        if records:
            rows = [(f"`{r.name}`", "yes" if is_proved(r.name) else "no", r.doc) for r in records]
            parts.append(f"## {family.value.capitalize()}\n\n{_table(('op', 'proved', 'what it is'), rows)}")
    return "\n".join(parts)


def dialect_page() -> str:
    known = dialect_definition()
    parts = [
        NOTICE,
        "# Reference of the dialect\n",
        "What [`dialect/shardproof.irdl.mlir`](../dialect/shardproof.irdl.mlir) defines, and the rules that are\n"
        "checked beyond it. [dialect.md](dialect.md) tells how to use it.\n",
        "## Operations\n",
        *(_operation(operation) for operation in known.operations.values()),
        "## Attributes\n",
    ]
    rows = [
        (_code(f"#{DIALECT}.{each.name}"), "; ".join(f"`{n}`: {c}" for n, c in each.parameters.items()), each.summary)
        for each in known.attributes.values()
    ]
    parts.append(_table(("attribute", "parameters", "meaning"), rows))
    parts.append("## Rules\n")
    rows = [
        (_code(rule.name), rule.sentence, ", ".join(map(_code, sorted(rule.operations))) if rule.operations else "all")
        for rule in DIALECT_RULES.values()
    ]
    parts.append(_table(("rule", "what it says", "operations"), rows))
    return "\n".join(parts)


def _operation(operation: OperationDefinition) -> str:
    """An operation of the dialect, under the same headings as every other."""
    name = f"{DIALECT}.{operation.name}"
    attributes = [
        (_code(key), required, str(constraint))
        for required, group in (("yes", operation.required), ("no", operation.optional))
        for key, constraint in group.items()
    ]
    rules = [rule.sentence for rule in DIALECT_RULES.values() if rule.operations and name in rule.operations]
    constraints = "\n".join(f"- {sentence}" for sentence in rules) or "None but those of all operations."
    table = _table(("attribute", "required", "kind"), attributes)
    groups = [", ".join(map(_group, found)) or "none" for found in (operation.operands, operation.results)]
    return (
        f"### `{name}`\n\n**Semantics.** {operation.summary}\n\n**Operands.** {groups[0]}\n\n"
        f"**Results.** {groups[1]}\n\n**Attributes.**\n\n{table}\n**Constraints.**\n\n{constraints}\n"
    )


def _group(group: Group) -> str:
    count = {(1, 1): "", (0, 1): " (optional)", (0, None): " (any number)"}[group.least, group.most]
    return f"`{group.name}`{count}"


def rules_page() -> str:
    parts = [
        NOTICE,
        "# Lemmas and rules\n",
        "A proof consists of relations, which lemmas give, and of terms that rewrite rules find equal. `--stats` and\n"
        "the JSON report count the uses of both by name.\n",
        "## Lemmas\n",
        "Every value is held as v[p] = ⊕ e[R(p)]: a sum (or a single element) over what the relation R reads from the\n"
        "logical term e. The theory is the one that a use can need at most; a use on integers can need less.\n",
        _table(
            ("lemma", "statement", "provided that", "theory", "where"),
            [
                (_code(m.name), m.statement, m.precondition, m.theory.value, f"[`{m.where}`](../validator/{m.where})")
                for m in LEMMAS
            ],
        ),
        "## Rewrite rules\n",
        "The rules of the e-graph, by the theory they need. A rule says that its two sides are equal wherever its\n"
        "guard holds; a proof may use the rules of its own theory and of those before it. The notation is explained\n"
        "in [`validator/rules/rule.py`](../validator/rules/rule.py).\n",
    ]
    for theory in Theory:
        rules = [rule for rule in RULES if rule.theory is theory]
        rows = [
            (_code(rule.name), _code(rule.left), _code(rule.right), _code(rule.guard), rule.reason) for rule in rules
        ]
        head = ("rule", "left", "right", "guard", "reason")
        parts.append(f"### Theory {theory.value}\n\n{_table(head, rows)}")
    return "\n".join(parts)


def causes_page() -> str:
    def rows(rules: Iterable[tuple[str, Rule]]) -> str:
        return _table(("id", "name", "finding", "help"), [(r.id, _code(name), r.message, r.help) for name, r in rules])

    return "\n".join(
        [
            NOTICE,
            "# Causes\n",
            "What a missing proof is filed under in every format. The ids are stable: SARIF and the JSON report use\n"
            "them, and they never change their meaning.\n",
            "## What is wrong\n",
            "Told from relations alone, where they tell it.\n",
            rows((cause.value, rule) for cause, rule in CAUSES.items()),
            "## Where no cause is known\n",
            rows(("", rule) for rule in OTHER_RULES),
            "## Notes on programs that are proved\n",
            "They never change a verdict.\n",
            rows((kind.value, rule) for kind, rule in LINTS.items()),
        ]
    )


def json_page() -> str:
    """The schema as tables: one of the report itself, one for each kind of object in it."""
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    parts = [
        NOTICE,
        "# The JSON report\n",
        f"{schema['description']}\n",
        "The schema itself is [`report.schema.json`](../validator/report/report.schema.json), which is installed with\n"
        "the package. Several pairs give one object a line. An input that cannot be read and an internal error leave\n"
        "no object on stdout; the exit code and stderr tell of them.\n",
        "## The report\n",
        _keys(schema),
    ]
    for name, definition in schema["$defs"].items():
        if "properties" in definition:
            parts.append(f"## {name.capitalize()}\n\n{definition['description']}\n\n{_keys(definition)}")
    return "\n".join(parts)


def _keys(definition: dict[str, Any]) -> str:
    rows = []
    for key, value in definition["properties"].items():
        rows.append((_code(key), _json_type(value), value.get("description", "")))
        inner = value.get("items", value)
        for below, what in inner.get("properties", {}).items():
            dots = "[]." if "items" in value else "."
            rows.append((_code(f"{key}{dots}{below}"), _json_type(what), what.get("description", "")))
    return _table(("key", "type", "meaning"), rows)


def _json_type(value: dict[str, Any]) -> str:
    """A JSON type in words."""
    if "const" in value:
        return f"`{value['const']}`"
    if "oneOf" in value:
        return " or ".join(_json_type(choice) for choice in value["oneOf"])
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return "number" if name == "number" else f"[{name}](#{name})"
    types = value["type"] if isinstance(value["type"], list) else [value["type"]]
    words = []
    for name in types:
        if name == "array":
            of_objects = value["items"].get("type") == "object"
            words.append("list of objects" if of_objects else f"list of {_json_type(value['items'])}")
        elif "enum" in value and name == "string":
            words.append(", ".join(f"`{choice}`" for choice in value["enum"] if choice is not None))
        else:
            words.append(f"`{name}`" if name == "null" else name)
    return " or ".join(words)


def reports_page() -> str:
    """The page with what runs on files of this repository print, but for times."""
    example = ROOT / "examples" / "tp_mlp"
    before, after, broken = (
        Source(f"{name}.hlo.txt", (example / f"{name}.hlo.txt").read_bytes()) for name in ("before", "after", "broken")
    )
    proved = validate_here(before, after, Options())
    refuted = confirmed(validate_here(before, broken, Options()), before, broken, Options(confirm=True), _PATIENCE)
    exact = validate_here(before, after, Options(theory=Theory.EXACT))
    (dump,) = find_passes(ROOT / "examples" / "wrong_pass" / "dump")
    found = bisect(dump, Options())
    assert found.guilty is not None
    with contextlib.chdir(example):
        runs = {
            "proved": _printed("validate-hlo before.hlo.txt after.hlo.txt", str(proved)),
            "refuted": _printed("validate-hlo before.hlo.txt broken.hlo.txt", str(refuted)),
            "not_proved": _printed("validate-hlo --theory exact before.hlo.txt after.hlo.txt", str(exact)),
            "json": _abridged(refuted.to_json()),
        }
    with contextlib.chdir(ROOT / "examples" / "wrong_pass"):
        lines = [found.text(), *diagnostics(found.guilty.report), *found.notes()]
        runs["bisect"] = _printed("validate-hlo --xla-dump dump --bisect", "\n".join(lines))
    text = (HERE / "templates" / "reports.md").read_text(encoding="utf-8")
    return NOTICE + "\n" + re.sub(r"\{\{(\w+)\}\}", lambda match: runs[match[1]], text)


_PATIENCE = 300.0
"""Seconds for XLA: the machine may be busy."""


def _printed(command: str, output: str) -> str:
    output = re.sub(r"\b\d+\.\d\d s\b", "… s", output)
    return f"```\n$ {command}\n{output}\n```"


def _abridged(data: dict[str, Any]) -> str:
    """The first of the keys of a JSON report."""
    kept = {key: data[key] for key in ("schema", "before", "after", "verdict", "theory", "message", "rule", "cause")}
    witness = {key: value for key, value in data["counterexample"].items() if key != "inputs"}
    text = json.dumps({**kept, "counterexample": witness}, indent=2, ensure_ascii=False)
    return f"```json\n{text[:-2]},\n  …\n}}\n```"


def _flags(action: argparse.Action) -> str:
    metavar = str(action.metavar or "")
    if action.choices is not None:
        metavar = "|".join(str(choice) for choice in action.choices)
    if not action.option_strings:
        return f"`{metavar}`"
    return ", ".join(f"`{flag} {metavar}`" if metavar else f"`{flag}`" for flag in action.option_strings)


def _help(action: argparse.Action) -> str:
    return (action.help or "") % {"default": action.default, "prog": command_line.PROGRAM}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    for name, text in {**pages(), "reports.md": reports_page()}.items():
        (HERE / name).write_text(text, encoding="utf-8")
