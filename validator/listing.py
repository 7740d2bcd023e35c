"""What `--list-ops`, `--list-rules` and `--version` print."""

from __future__ import annotations

import platform
from importlib import metadata


def version_text() -> str:
    """The versions a bug report needs, read from package metadata so that nothing heavy is imported."""
    parts = [f"{name} {_version(name)}" for name in ("jaxlib", "egglog", "islpy", "numpy")]
    return f"shardproof {_version('shardproof')} ({', '.join(parts)}, Python {platform.python_version()})"


def package_version() -> str:
    """The version of this package."""
    return _version("shardproof")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def is_proved(name: str) -> bool:
    """Whether the prover says something of an op: by a relation, or because it computes every device's number."""
    from .ops.registry import RECORDS
    from .relate.walk import DEVICE_NUMBERS

    return RECORDS[name].relate is not None or name in DEVICE_NUMBERS


def ops_text() -> str:
    """One line an op: its name, family, whether the prover relates it, and what it is."""
    from .ops.registry import RECORDS

    width = max(len(name) for name in RECORDS)
    return "\n".join(
        f"{record.name:<{width}}  {record.family.value:<12}  "
        f"{'proved' if is_proved(record.name) else 'evaluated only':<14}  {record.doc}"
        for record in sorted(RECORDS.values(), key=lambda record: (record.family.value, record.name))
    )


def rules_text() -> str:
    """One line a rewrite rule or lemma: its name, theory and what it says, with its guard or precondition."""
    from .relate.lemmas import LEMMAS
    from .rules.rules import RULES

    rows = [(rule.name, rule.theory, f"{rule.left} = {rule.right}", rule.guard) for rule in RULES]
    rows += [(lemma.name, lemma.theory, lemma.statement, lemma.precondition) for lemma in LEMMAS]
    width = max(len(name) for name, *_ in rows)
    return "\n".join(
        f"{name:<{width}}  {theory.value:<12}  {text}" + (f"  where {guard}" if guard else "")
        for name, theory, text, guard in rows
    )
