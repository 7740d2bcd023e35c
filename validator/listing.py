"""What `--list-ops`, `--list-rules` and `--version` print."""

from __future__ import annotations

import platform
from importlib import metadata


def version_text() -> str:
    """The versions a bug report needs, read from package metadata so that nothing heavy is imported."""
    parts = [f"{name} {_version(name)}" for name in ("jaxlib", "egglog", "islpy", "numpy")]
    return f"shardproof {_version('shardproof')} ({', '.join(parts)}, Python {platform.python_version()})"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def ops_text() -> str:
    """One line an op: its name, family, whether the prover relates it, and what it is."""
    from .ops.registry import RECORDS

    width = max(len(name) for name in RECORDS)
    return "\n".join(
        f"{record.name:<{width}}  {record.family.value:<12}  "
        f"{'proved' if record.relate is not None else 'evaluated only':<14}  {record.doc}"
        for record in sorted(RECORDS.values(), key=lambda record: (record.family.value, record.name))
    )


def rules_text() -> str:
    """One line a rewrite rule: its name, theory and formula, with its guard where it has one."""
    from .egraph.rules import RULES

    width = max(len(rule.name) for rule in RULES)
    return "\n".join(
        f"{rule.name:<{width}}  {rule.theory.value:<12}  {rule.left} = {rule.right}"
        + (f"  where {rule.guard}" if rule.guard else "")
        for rule in RULES
    )
