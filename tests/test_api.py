"""The public face, with the real engine."""

import subprocess
import sys
from pathlib import Path

import pytest

import shardproof
from shardproof import Assumption, ReadError, Theory, Verdict, validate_modules

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "tp_mlp"
BEFORE, AFTER, BROKEN = (EXAMPLE / f"{name}.hlo.txt" for name in ("before", "after", "broken"))


def test_paths():
    report = validate_modules(BEFORE, str(AFTER))
    assert (report.verdict, report.theory) == (Verdict.PROVED, Theory.REASSOCIATED)
    assert (report.before, report.after) == (str(BEFORE), str(AFTER))


def test_text_bytes_and_modules():
    from shardproof.validator.compat import hlo_text_to_proto, hlo_to_stablehlo, new_context, parse_module

    proto = hlo_text_to_proto(AFTER.read_text())
    report = validate_modules(BEFORE.read_text(), proto)
    assert (report.verdict, report.before, report.after) == (Verdict.PROVED, "<before>", "<after>")
    context = new_context()
    modules = [
        parse_module(hlo_to_stablehlo(hlo_text_to_proto(path.read_text())), context) for path in (BEFORE, BROKEN)
    ]
    assert validate_modules(modules[0], modules[1]).verdict is Verdict.REFUTED


def test_a_refutation_has_a_counterexample():
    report = validate_modules(BEFORE, BROKEN)
    assert report.verdict is Verdict.REFUTED
    assert report.counterexample is not None
    assert report.to_json()["counterexample"]["device"] == report.counterexample.device


def test_settings():
    report = validate_modules(BEFORE, AFTER, theory="exact", assume=["indices-in-bounds"], timeout=60)
    assert report.verdict is Verdict.NOT_PROVED
    assert report.assumptions == (Assumption.INDICES_IN_BOUNDS,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"theory": "bitwise"}, "unknown theory 'bitwise', expected one of 'exact', 'reassociated', 'real'"),
        ({"seed": -1}, "seed -1 is negative"),
        ({"assume": ["luck"]}, "unknown assumption 'luck', expected one of 'indices-in-bounds'"),
    ],
)
def test_wrong_settings(settings: dict, message: str):
    with pytest.raises(ValueError, match=message):
        validate_modules(BEFORE, AFTER, **settings)


def test_wrong_inputs():
    with pytest.raises(ReadError, match="no/such/file: no such file or directory"):
        validate_modules("no/such/file", AFTER)
    with pytest.raises(TypeError, match=r"expected a path, text, bytes or ir\.Module, not 'int'"):
        validate_modules(3, AFTER)


def test_every_public_name_exists():
    for name in shardproof.__all__:
        assert getattr(shardproof, name) is not None
    assert set(shardproof.__all__) <= set(dir(shardproof))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = shardproof.nothing  # pyright: ignore[reportAttributeAccessIssue]


def test_the_package_is_not_loaded_before_it_is_used():
    code = "import sys, shardproof; print([name for name in sys.modules if name.startswith('shardproof.')])"
    out = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
