"""The op table is complete: what is not proved is listed here, so that every change of it is reviewed."""

from __future__ import annotations

from collections import Counter

import pytest

from shardproof.validator.ops import registry
from shardproof.validator.ops.annotations import ANNOTATIONS
from shardproof.validator.ops.record import Family, OpRecord, table
from shardproof.validator.ops.registry import RECORDS

UNSUPPORTED = """
mhlo.bitcast
mhlo.fusion
stablehlo.broadcast
stablehlo.map
stablehlo.rng
"""
"""Ops that are evaluated and not proved: a result that depends on one is UNSUPPORTED."""

TABLES = ("COLLECTIVE", "CONTRACTION", "CONTROL", "ELEMENTWISE", "INDEXING", "MOVEMENT", "OPAQUE", "ORDER", "REDUCTION")
"""The relations by family, scatters apart."""

records = pytest.mark.parametrize("record", RECORDS.values(), ids=lambda record: record.name)


def test_the_unsupported_ops_are_these() -> None:
    without = {record.name for record in RECORDS.values() if record.relate is None}
    assert sorted(without) == UNSUPPORTED.split()


@records
def test_every_record_says_what_it_is(record: OpRecord) -> None:
    dialect, _, name = record.name.partition(".")
    assert dialect in ("stablehlo", "chlo", "mhlo", "sdy")
    assert name
    assert record.doc and record.doc == " ".join(record.doc.split())
    assert not record.doc.endswith(".") and "|" not in record.doc
    assert callable(record.evaluate)


@records
def test_attributes_either_bear_meaning_or_do_not(record: OpRecord) -> None:
    assert isinstance(record.attributes, frozenset)
    assert isinstance(record.ignored, frozenset)
    assert not record.attributes & record.ignored
    assert record.attributes | record.ignored >= ANNOTATIONS
    assert all(isinstance(name, str) and name for name in record.attributes | record.ignored)


def test_every_relation_belongs_to_one_record() -> None:
    counted = Counter(name for each in (*TABLES, "SCATTER") for name in getattr(registry, each))
    assert {name for name, count in counted.items() if count > 1} == set(), "relations in two tables"
    assert set(counted) <= set(RECORDS), "relations of ops that have no record"


def test_every_family_has_records() -> None:
    assert {record.family for record in RECORDS.values()} == set(Family)


def test_two_records_of_one_name_are_refused() -> None:
    record = RECORDS["stablehlo.add"]
    with pytest.raises(AssertionError, match=r"two records for stablehlo\.add"):
        table([record, record])
