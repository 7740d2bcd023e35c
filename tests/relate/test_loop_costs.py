"""What loops cost: as much as they hold, however many there are and however they are nested."""

from __future__ import annotations

import pytest

from shardproof.validator.read.ir import Program
from shardproof.validator.relate import loops

from .pairs import Tensor, program, verdict

PART = Tensor((2,), "f32")


def _loop(number: int, of: str, trips: int, inside: str = "", last: str = "") -> str:
    """A loop `%w<number>` whose value `%x<number>` becomes `last`, by ops `inside`, or else its hyperbolic tangent."""
    k = number
    value = last or f"%v{k}"
    inside = inside or f"%v{k} = stablehlo.tanh %x{k} : {PART}\n"
    return (
        f"%z{k} = stablehlo.constant dense<0> : tensor<i32>\n"
        f"%w{k}:2 = stablehlo.while(%i{k} = %z{k}, %x{k} = {of}) : tensor<i32>, {PART} cond {{\n"
        f"%n{k} = stablehlo.constant dense<{trips}> : tensor<i32>\n"
        f"%t{k} = stablehlo.compare LT, %i{k}, %n{k} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        f"stablehlo.return %t{k} : tensor<i1>\n}} do {{\n%o{k} = stablehlo.constant dense<1> : tensor<i32>\n"
        f"%j{k} = stablehlo.add %i{k}, %o{k} : tensor<i32>\n{inside}"
        f"stablehlo.return %j{k}, {value} : tensor<i32>, {PART}\n}}\n"
    )


def _made(body: str, result: str) -> Program:
    return program(f"{body}%out = stablehlo.reshape {result} : ({PART}) -> {PART}\n", [PART], PART, 1)


def test_loops_in_order_are_each_compared_with_one(monkeypatch: pytest.MonkeyPatch):
    count = 20
    body = "".join(_loop(k, f"%w{k - 1}#1" if k else "%a0", 100 + k) for k in range(count))
    compared, pair = [], loops._pair
    monkeypatch.setattr(loops, "_pair", lambda *arguments: compared.append(0) or pair(*arguments))
    both = _made(body, f"%w{count - 1}#1")
    (found,) = verdict(both, both).comparisons
    assert found is not None
    assert found.proved
    assert len(compared) == count


def test_loops_in_another_order_are_found():
    first, second = _loop(0, "%a0", 100), _loop(1, "%a0", 200)
    last = f"%out = stablehlo.add %w0#1, %w1#1 : {PART}\n"
    before, after = (program(body + last, [PART], PART, 1) for body in (first + second, second + first))
    (found,) = verdict(before, after).comparisons
    assert found is not None
    assert found.proved


def _nested(depth: int, trips: int, number: int = 0, of: str = "%a0") -> str:
    if depth == 1:
        return _loop(number, of, trips)
    return _loop(number, of, trips, _nested(depth - 1, trips, number + 1, f"%x{number}"), f"%w{number + 1}#1")


def _walked(depth: int, trips: int) -> tuple[bool, int]:
    """Whether nested loops are proved to be what their trips written out are, and how many ops were walked."""
    count = trips**depth if trips < 10 else 1
    plain = "".join(f"%q{k} = stablehlo.tanh {f'%q{k - 1}' if k else '%a0'} : {PART}\n" for k in range(count))
    decision = verdict(_made(plain, f"%q{count - 1}"), _made(_nested(depth, trips), "%w0#1"))
    (found,) = decision.comparisons
    return found is not None and found.proved, decision.device.ops_walked


def test_nested_loops_are_unrolled():
    assert _walked(3, 4)[0]


@pytest.mark.parametrize("depth", [3, 6])
def test_nested_loops_of_many_trips_are_not(depth: int):
    """60 trips in 60 trips in 60: each is a loop of few trips, and all together are 216,000 of them."""
    found, walked = _walked(depth, 60)
    assert not found
    assert walked < 2 * loops.MAX_NESTED_OPS
