"""Proofs over the real numbers, which count only where the checker of certificates accepts them.

Where a program may divide by zero, the laws of the reals hold of less than it seems, and a prover that forgets what a
program leaves out proves too much. The checker goes its own way to these laws, so both have to agree. Proofs in weaker
theories do not wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from .certify.terms import InexpressibleError
from .certify.write import certificate
from .ops.record import Theory, weakest
from .read.ir import Program
from .relate.decide import Decision

MAX_ALONE = 8
"""Up to so many results whose proofs are not accepted together are checked one by one."""


@dataclass(frozen=True, eq=False)
class Decided:
    """What is decided of each result: in the theory that is asked for or, over the reals, in a weaker one before.

    What the decision over the `real` numbers proves counts for the `accepted` results, and is not believed of others.
    """

    weaker: Decision
    otherwise: Decision | None = None
    """Another way in the same theory, for results that are left: what it simplifies may cost others their label."""
    real: Decision | None = None
    accepted: frozenset[int] = frozenset()
    refused: Mapping[int, str] = field(default_factory=dict)
    """Results with a proof over the reals that does not count, and why."""
    certificate: str = ""
    """A certificate of all results, where one was made."""
    beyond: Mapping[int, Theory] = field(default_factory=dict)
    """Results that are proved in a theory that is not asked for."""

    @cached_property
    def proved(self) -> dict[int, Theory]:
        """The theory of every result that is proved."""
        real = {} if self.real is None else _proved(self.real)
        return self._below | {k: one for k, one in real.items() if k in self.accepted}

    @cached_property
    def _below(self) -> dict[int, Theory]:
        every = [below_reals(each) for each in (self.weaker, self.otherwise) if each is not None]
        return {k: weakest(one[k] for one in every if k in one) for k in sorted({k for one in every for k in one})}

    @property
    def main(self) -> Decision:
        """The decision that most of what is proved rests on."""
        if self.real is not None and self.accepted:
            return self.real
        return self.weaker if self.otherwise is None else self.otherwise

    def of(self, result: int) -> Decision:
        """The decision that tells why a result is proved, or is not."""
        if result in below_reals(self.weaker) or (result in self.refused and self.otherwise is None):
            return self.weaker
        if self.otherwise is not None and (result in self.refused or result in self._below):
            return self.otherwise
        return self.main

    @property
    def notes(self) -> tuple[str, ...]:
        """What a report has to say of the relations, and of proofs that do not count."""
        refused: dict[str, list[int]] = {}
        for result, reason in sorted(self.refused.items()):
            refused.setdefault(reason, []).append(result)
        return (*self.main.notes, *(_refusal(results, reason) for reason, results in refused.items()))


def with_reals(
    before: Program, after: Program, below: Decided, real: Decision, *, in_bounds: bool, deadline: float | None
) -> Decided:
    """What is decided in a weaker theory, and of a traced decision over the reals those proofs that are accepted."""
    proved = _proved(real)
    sought = sorted(proved.keys() - below.proved.keys())
    if not sought:
        return replace(below, real=real)
    attempt = partial(_attempt, before, after, real, in_bounds, deadline)
    whole = len(proved) == len(before.results)
    together = sorted(proved) if whole else sought
    text, reason = attempt(together)
    refused = {} if text else dict.fromkeys(sought, reason)
    if not text and len(together) > 1 and len(sought) <= MAX_ALONE:
        alone = {k: attempt([k]) for k in sought}
        refused = {k: reason for k, (accepted, reason) in alone.items() if not accepted}
    accepted = frozenset(sought) - refused.keys()
    return replace(below, real=real, accepted=accepted, refused=refused, certificate=text if whole else "")


def below_reals(decision: Decision) -> dict[int, Theory]:
    """The theory of every result that is proved in another one than that of the reals."""
    return {k: theory for k, theory in _proved(decision).items() if theory is not Theory.REAL}


def _proved(decision: Decision) -> dict[int, Theory]:
    return {k: one.theory for k, one in enumerate(decision.comparisons) if one is not None and one.proved}


def _attempt(
    before: Program, after: Program, decision: Decision, in_bounds: bool, deadline: float | None, results: Sequence[int]
) -> tuple[str, str]:
    """A certificate that these results are proved, or why there is none that is accepted.

    It is one of programs without other results: of their inputs less is assumed.
    """
    if deadline is not None and time.monotonic() > deadline:
        return "", "no time was left to check it"
    if len(results) < len(before.results):
        before, after = (replace(each, results=tuple(each.results[k] for k in results)) for each in (before, after))
        given = {new: decision.relations.results[k] for new, k in enumerate(results) if k in decision.relations.results}
        comparisons = tuple(decision.comparisons[k] for k in results)
        relations = replace(decision.relations, results=given)
        decision = replace(decision, comparisons=comparisons, relations=relations)
    try:
        return certificate(before, after, decision, in_bounds=in_bounds), ""
    except InexpressibleError as error:
        # alone it is the first one of its certificate, whatever its number is
        return "", str(error).removeprefix("result 0: ") if len(results) == 1 else str(error)


def _refusal(results: Sequence[int], reason: str) -> str:
    named = f"result{'s' * (len(results) != 1)} {', '.join(map(str, results))}"
    return f"{named}: proved over the reals by steps that the checker of certificates does not accept ({reason})"
