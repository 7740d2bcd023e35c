"""Programs hold no tuples: readers put their elements in their place, and refuse what needs a whole one."""

import pytest

from shardproof.validator.read import ReadError, ReadErrorKind, read_program
from tests.tools.zoo import ENTRIES, compile_pair

PAIR = "tuple<tensor<2xf32>, tensor<2xi32>>"
TUPLE = f"%t = stablehlo.tuple %a, %b : {PAIR}"


def _function(body: str, arguments: str = "%a: tensor<2xf32>, %b: tensor<2xi32>", result: str = "tensor<2xi32>") -> str:
    return f"func.func @main({arguments}) -> {result} {{\n  {body}\n  return %r : {result}\n}}\n"


def test_an_element_of_a_tuple_is_what_was_put_there() -> None:
    program = read_program(_function(f"{TUPLE}\n  %r = stablehlo.get_tuple_element %t[1] : ({PAIR}) -> tensor<2xi32>"))
    assert program.body.ops == ()
    assert program.results[0].value == program.parameters[1].value


def test_a_tuple_that_nothing_takes_is_left_out() -> None:
    program = read_program(_function(f"{TUPLE}\n  %r = stablehlo.negate %b : tensor<2xi32>"))
    assert [op.name for op in program.body.ops] == ["stablehlo.negate"]


def test_tuples_that_xla_leaves_in_its_programs_are_read_away() -> None:
    """The conversion of HLO leaves the tuples of loops behind where a program calls LAPACK."""
    pair = compile_pair(ENTRIES["cholesky_of_rows"])
    for text in (pair.before, pair.after):
        assert not [op for op in read_program(text).body.ops if "tuple" in op.name]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            _function(f"{TUPLE}\n  %r = stablehlo.custom_call @f(%t) : ({PAIR}) -> tensor<2xi32>"),
            "in:3:8: 'stablehlo.custom_call' of a tuple is not supported",
        ),
        (
            _function(f"%r = stablehlo.get_tuple_element %t[1] : ({PAIR}) -> tensor<2xi32>", f"%t: {PAIR}"),
            "in:1:17: a tuple as an argument is not supported: (f32[2], i32[2])",
        ),
        (
            _function(f"{TUPLE}\n  %r = stablehlo.tuple %t : tuple<{PAIR}>", result=f"tuple<{PAIR}>"),
            "in:3:8: 'stablehlo.tuple' of a tuple is not supported",
        ),
        (
            _function(f"%r = stablehlo.custom_call @f() : () -> tuple<{PAIR}>", "", f"tuple<{PAIR}>"),
            "in:2:8: 'stablehlo.custom_call': a tuple inside a tuple is not supported",
        ),
    ],
)
def test_what_takes_a_whole_tuple_is_refused_at_its_place(text: str, message: str) -> None:
    with pytest.raises(ReadError) as caught:
        read_program(text, name="in")
    assert caught.value.kind is ReadErrorKind.UNSUPPORTED
    assert str(caught.value) == message
