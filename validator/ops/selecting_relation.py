"""The gradient of a maximum over windows: each window adds its source element to the element that it selects.

Lemma *selected windows*: out[o] is the start value plus, for every window w over o in their order, source[w] if w
selects o. That depends on nothing but, for each place that o can have in a window, the window's source element and its
elements (none where they lie in padding, which is never selected). So if the device's windows over o have the same
elements at the same places, with the same sources, as the original's over m(o), the results are equal. A window whose
source is neutral adds nothing, whatever it selects. An element that no window covers is the start value.
Theory: exact, or reassociated where windows with neutral sources were left out (−0.0).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ..relation.build import affine, names
from ..relation.objects import Dom, Rel
from .engine import Engine
from .monoid import Monoid
from .record import Theory, strongest
from .sequence_maps import Sequences, collected, restricted_to
from .sequence_relation import Order, constant_start
from .values import Piece, gathered, without_constant


def selected_in_order(
    engine: Engine,
    key: Hashable,
    operand: Any,
    source: Any,
    init: Any,
    window: Sequence[tuple[int, int, int]],
    monoid: Monoid | None,
) -> Any:
    """`window` gives size, stride and low padding by dimension; `monoid` is the scatter's, if `init` is its neutral.

    None where the start is no constant.
    """
    start, store = constant_start(engine, [init]), engine.store
    if start is None:
        return None
    operand = engine.close(operand, "an operand that windows select from")
    source = engine.close(source, "a source of what windows select")
    type_ = operand.type
    theory = strongest([operand.theory, source.theory, init.theory])
    neutral = monoid.neutral(type_.dtype) if monoid is not None else None
    sources = [without_constant(engine, piece, neutral) for piece in source.pieces]
    left_out = any(rest is not piece for rest, piece in zip(sources, source.pieces, strict=True))
    if left_out and not (monoid and monoid.reorders_exactly(type_.dtype)):
        theory = strongest([theory, Theory.REASSOCIATED])
    sequences = _sequences(engine, operand, source, [piece for piece in sources if piece is not None], window)
    domain, covered = sequences.domain, store.set_minus(sequences.domain, sequences.domain)
    for letters in sequences.letters:
        lead = engine.leading_map(letters.rel.arity_in, sequences.arity)
        covered = store.set_union(covered, store.image(store.domain(letters.rel), lead))
    engine.used("selected windows")
    at_init = store.restrict(engine.builder.moved(type_.shape, []), store.set_minus(domain, covered))
    pieces = [Piece(piece.atom, store.compose(at_init, piece.rel)) for piece in init.pieces]
    rest = restricted_to(store, sequences, store.set_meet(domain, covered))
    if not store.set_empty(rest.domain):
        atoms = tuple(dict.fromkeys(piece.atom for value in (operand, source) for piece in value.pieces))
        order = Order((key, start.told), rest, (type_,), theory, atoms, in_place=True)
        pieces += engine.in_order(order)[0].pieces
    return engine.value(type_, gathered(store, pieces), domain, theory=theory)


def _reads(
    engine: Engine, shape: Sequence[int], sources: Sequence[int], window: Sequence[tuple[int, int, int]]
) -> tuple[Rel, Rel]:
    """(device, element, its place, place of another) → that element; (device, element, its place) → the source."""
    rank = len(shape)
    wide = [k for k, (size, _, _) in enumerate(window) if size != 1]
    sizes = [window[k][0] for k in wide]
    inner, windows, tied, bound = names("x", rank), names("w", rank), [], []
    for k, (size, stride, low) in enumerate(window):
        own = [(1, f"i{rank + wide.index(k)}")] if size != 1 else []
        other = [(1, f"i{rank + len(wide) + wide.index(k)}")] if size != 1 else []
        bound.append(f"0 <= w{k} < {sources[k]}")
        bound.append(f"i{k} = {affine([(stride, f'w{k}'), *own], -low)}")
        tied.append(f"0 <= x{k} < {shape[k]}")
        tied.append(f"x{k} = {affine([(stride, f'w{k}'), *other], -low)}")
    device = engine.builder.device
    elements = engine.builder.relation([*shape, *sizes, *sizes], [*device, *inner], [*bound, *tied], exists=windows)
    return elements, engine.builder.linked([*shape, *sizes], windows, bound)


def _sequences(
    engine: Engine, operand: Any, source: Any, sources: Sequence[Any], window: Sequence[tuple[int, int, int]]
) -> Sequences:
    """For each element and place: the source at (place, 0, 0…), the window's elements at (place, 1, other place)."""
    store, type_ = engine.store, operand.type
    from_window, from_source = _reads(engine, type_.shape, source.type.shape, window)
    wide = sum(size != 1 for size, _, _ in window)
    domain, depth = engine.points(type_), 2 * wide + 1
    arity = domain.arity
    point, place, other = names("p", arity), names("k", wide), names("j", wide)
    start = store.rel(f"{{[{','.join([*point, *place, '0', *['0'] * wide])}] -> [{','.join([*point, *place])}]}}")
    inner = store.rel(f"{{[{','.join([*point, *place, '1', *other])}] -> [{','.join([*point, *place, *other])}]}}")
    for value, read in ((operand, from_window), (source, from_source)):
        undefined = store.preimage(store.set_minus(store.range(read), value.domain), read)
        domain = store.set_minus(domain, store.image(undefined, engine.leading_map(read.arity_in, arity)))
    parts: list[tuple[tuple[Any, ...], Rel, int]] = []

    def add(atom: Any, turn: int, rel: Rel) -> None:
        tag = store.compose(store.project_out(rel, 0, rel.arity_out), store.rel(f"{{[] -> [{turn}]}}"))
        if not store.empty(rel):
            parts.append(((atom,), store.pair(tag, rel), depth))

    active: Dom | None = None
    for piece in sources:
        rel = store.compose(from_source, piece.rel)
        add(piece.atom, 0, store.compose(start, rel))
        where = store.domain(rel)
        active = where if active is None else store.set_union(active, where)
    if active is not None:
        elements = store.restrict(from_window, store.set_product(active, store.everything(wide)))
        for piece in operand.pieces:
            add(piece.atom, 1, store.compose(inner, store.compose(elements, piece.rel)))
    return collected(store, parts, arity, domain)
