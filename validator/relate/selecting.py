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
from typing import TYPE_CHECKING

from ..ops.monoid import Monoid
from ..ops.record import Theory
from ..ops.sequence_maps import Letters, Sequences, restricted_to
from ..ops.sequence_relation import constant_start
from ..ops.values import gathered, without_constant
from ..read.ir import TensorType
from ..relation.build import affine, names
from ..relation.store import Dom, Rel
from .atoms import Atom, AtomKind
from .representatives import representatives
from .sequences import matching
from .value import Piece, Val, strongest

if TYPE_CHECKING:
    from .walk import Walk


def relate_selected(
    walk: Walk,
    key: Hashable,
    operand: Val,
    source: Val,
    init: Val,
    window: Sequence[tuple[int, int, int]],
    monoid: Monoid | None,
) -> Val | None:
    """`window` gives size, stride and low padding by dimension; `monoid` is the scatter's, if `init` is its neutral.

    None where the start is no constant.
    """
    start = constant_start(walk, [init])
    if start is None:
        return None
    store, key = walk.store, (key, start.told)
    operand = walk.close(operand, f"operand of '{walk.op_name}'")
    source = walk.close(source, f"source of '{walk.op_name}'")
    type_ = operand.type
    from_window, from_source = _reads(walk, type_.shape, source.type.shape, window)
    theory = strongest([operand.theory, source.theory, init.theory])
    neutral = monoid.neutral(type_.dtype) if monoid is not None else None
    sources = source.pieces
    if neutral is not None:
        sources = tuple(rest for piece in source.pieces if (rest := without_constant(walk, piece, neutral)) is not None)
        left_out = any(rest is not piece for rest, piece in zip(sources, source.pieces, strict=False))
        if (left_out or len(sources) < len(source.pieces)) and not (monoid and monoid.reorders_exactly(type_.dtype)):
            theory = strongest([theory, Theory.REASSOCIATED])
    sequences = _sequences(walk, type_, operand, source, sources, from_window, from_source, window)
    domain = sequences.domain
    covered = _covered(walk, sequences)
    bare = domain if covered is None else store.set_minus(domain, covered)
    at_init = store.restrict(walk.builder.moved(type_.shape, []), bare)
    pieces = [Piece(piece.atom, store.compose(at_init, piece.rel)) for piece in init.pieces]
    rest = store.set_minus(domain, bare)
    for atom, known in walk.context.rows.get(key, ()):
        match = matching(walk, sequences, known, rest, in_place=True)
        if match is not None:
            pieces.append(Piece(atom, match))
            rest = store.set_minus(rest, store.domain(match))
    if not store.set_empty(rest):
        operands = tuple(dict.fromkeys(piece.atom for value in (operand, source) for piece in value.pieces))
        atom = walk.context.atoms.fresh(AtomKind.ROWS, type_.dtype, rest.arity, operands, label=walk.label())
        walk.note_fresh(atom)
        own = restricted_to(store, sequences, rest)
        choose = representatives(walk, rest, [(letters.rel, own.depth) for letters in own.letters])
        walk.context.rows.setdefault(key, []).append((atom, restricted_to(store, own, store.range(choose))))
        pieces.append(Piece(atom, choose))
    walk.context.used("selected windows")
    return Val(type_, gathered(store, pieces), domain, theory=theory)


def _reads(
    walk: Walk, shape: Sequence[int], sources: Sequence[int], window: Sequence[tuple[int, int, int]]
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
    device = walk.builder.device
    elements = walk.builder.relation([*shape, *sizes, *sizes], [*device, *inner], [*bound, *tied], exists=windows)
    return elements, walk.builder.linked([*shape, *sizes], windows, bound)


def _sequences(
    walk: Walk,
    type_: TensorType,
    operand: Val,
    source: Val,
    sources: Sequence[Piece],
    from_window: Rel,
    from_source: Rel,
    window: Sequence[tuple[int, int, int]],
) -> Sequences:
    """For each element and place: the source at (place, 0, 0…), the window's elements at (place, 1, other place)."""
    store = walk.store
    wide = sum(size != 1 for size, _, _ in window)
    arity, depth = len(walk.mesh.sizes) + type_.rank, 2 * wide + 1
    point, place, other = names("p", arity), names("k", wide), names("j", wide)
    start = store.rel(f"{{[{','.join([*point, *place, '0', *['0'] * wide])}] -> [{','.join([*point, *place])}]}}")
    inner = store.rel(f"{{[{','.join([*point, *place, '1', *other])}] -> [{','.join([*point, *place, *other])}]}}")
    domain = walk.points(type_)
    for value, read in ((operand, from_window), (source, from_source)):
        undefined = store.set_minus(store.range(read), value.domain)
        if not store.set_empty(undefined):
            domain = store.set_minus(domain, walk.leading(store.preimage(undefined, read), arity))
    by_atom: dict[Atom, Rel] = {}

    def add(atom: Atom, turn: int, rel: Rel) -> None:
        tagged = store.pair(store.compose(walk.forget(rel), store.rel(f"{{[] -> [{turn}]}}")), rel)
        if not store.empty(tagged):
            by_atom[atom] = store.union(by_atom[atom], tagged) if atom in by_atom else tagged

    active: Dom | None = None
    for piece in sources:
        rel = store.compose(from_source, piece.rel)
        add(piece.atom, 0, store.compose(start, rel))
        where = store.domain(rel)
        active = where if active is None else store.set_union(active, where)
    if active is not None:
        anywhere = store.dom(f"{{[{','.join(other)}]}}")
        elements = store.restrict(from_window, store.set_product(active, anywhere))
        for piece in operand.pieces:
            add(piece.atom, 1, store.compose(inner, store.compose(elements, piece.rel)))
    letters = tuple(Letters((atom,), rel) for atom, rel in by_atom.items())
    return restricted_to(store, Sequences(letters, arity, depth, domain), domain)


def _covered(walk: Walk, sequences: Sequences) -> Dom | None:
    """The elements over which there is some window with a source."""
    covered: Dom | None = None
    for letters in sequences.letters:
        where = walk.leading(walk.store.domain(letters.rel), sequences.arity)
        covered = where if covered is None else walk.store.set_union(covered, where)
    return covered
