"""What else a term is: an equality that a certificate states and that is shown there, in place of the term."""

from __future__ import annotations

from typing import Any

from ...ops.record import Theory
from ...ops.values import Piece, Value
from ...read.certificates import Fact
from ..errors import Rejection


def met(run: Any, value: Value, fact: Fact) -> Value:
    """The value with the parts that a term is shown to be in the term's place, wherever they are read.

    The term at each index at which a part is read has to be that part there, for all inputs of which the theory speaks.
    """
    rels, said = run.rels, fact.said
    term, parts, theory = run.tables.term(said["term"]), run.tables.pieces(said["parts"]), Theory(said["theory"])
    known = run.covered(parts, None)
    if value.monoid is not None or any(
        (part.atom.dtype, part.rel.arity_in, part.rel.arity_out) != (term.dtype, term.arity, part.atom.arity)
        for part in parts
    ):
        raise Rejection(f"{term} is said to be a term of another type, or in a sum")
    if said["by"] == "rules":
        from .ground import shown_by_rules

        shown_by_rules(run, term, parts, theory, fact)
    elif theory is not Theory.REAL or run.reals is None or said["by"] != "reals" or said["opened"] or fact.instances:
        raise Rejection("an equality over the reals in another theory, or with what shows others")
    else:
        run.reals.shown(term, parts)
    pieces: list[Piece] = []
    for piece in value.pieces:
        if piece.atom is term:
            pieces += [Piece(part.atom, rels.compose(piece.rel, part.rel)) for part in parts]
            outside = rels.set_minus(rels.range(piece.rel), known)
            pieces.append(Piece(term, rels.restrict_range(piece.rel, outside)))
        else:
            pieces.append(piece)
    return Value(value.type, run.gathered(pieces), value.domain, theory=value.theory).needing(theory)
