"""What gathers and scatters promise of their indices: a broken promise makes a result undefined.

Lemma *kept promises*: the original's promises are the user's, the partitioned program may repeat one of the same
index vectors. Each of a device's is, component by component, a function of one of the original's, the same function
for all of them. What the windows of a scatter update stays distinct if no two vectors come from one and if each
function leaves its integers as far apart as the device's windows reach, where the original's are as far apart as its
own do: for windows of one element, if it is one to one. Vectors stay sorted if they come in the same order and the
functions rise, all but that of the last component strictly. Functions are looked at where the original's indices are
in bounds: beyond, what is taken from one may wrap around. Known vectors need no promise: it can be seen whether they
are sorted, or how far apart. A block that may not be run has the promises of blocks that are run whenever it is.
Theory: exact.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from ..read.attributes import GatherDims, ScatterDims
from ..read.ir import Op, TensorType
from ..relation.build import names, passing
from ..relation.objects import Rel
from .engine import Engine
from .guarded import Guarded, index_form, split_guarded
from .scatter_maps import window_extents

SORTED = "indices_are_sorted"

Component = list[Guarded]
"""An integer of each index vector, under guards: from the vector's place."""


@dataclass(frozen=True, slots=True, eq=False)
class Promise:
    """Promises of one op, and its index vectors."""

    made: frozenset[str]
    components: list[Component]
    """In the order of the operand's dimensions, of those that batching gives, too."""
    extents: list[int]
    """Of these dimensions."""
    windows: list[int]
    """How far a window reaches along each of them."""
    rank: int
    """Dimensions of a vector's place, without device coordinates."""
    blocks: frozenset[Hashable]
    """The blocks around the op that may not be run."""


def promises_kept(engine: Engine, op: Op, key: Hashable, promises: Sequence[str], starts: Any) -> bool:
    """Whether what an op promises of its indices may be believed; of a single index vector anything holds."""
    dims = op.attributes.get("dimension_numbers") or op.attributes["scatter_dimension_numbers"]
    made = frozenset(name for name in promises if op.attributes.get(name))
    shape = [n for k, n in enumerate(starts.type.shape) if k != dims.index_vector_dim]
    if not made or (math.prod(shape) <= 1 and not engine.is_original):
        return True
    components = _components(engine, starts, dims, shape)
    order, operand = sorted(components), op.operands[0].tensor
    if isinstance(dims, ScatterDims):
        windows = window_extents(dims, operand, op.operands[-1].tensor)
    else:
        windows = op.attributes["slice_sizes"]
    extents, windows = [operand.shape[k] for k in order], [windows[k] for k in order]
    mine = Promise(made, [components[k] for k in order], extents, windows, len(shape), frozenset(engine.blocks))
    known: list[Promise] = engine.noted(("promises", key))
    if engine.is_original:
        known.append(mine)
        return True
    points = engine.builder.points(shape)
    # of a block that is not run nobody promises anything
    told = [theirs for theirs in known if theirs.blocks <= mine.blocks]
    for name in made:
        if _seen(engine, mine, points, name):
            continue
        if not any(name in theirs.made and _kept(engine, mine, theirs, points, name) for theirs in told):
            return False
        engine.used("kept promises")
    return True


def _components(
    engine: Engine, starts: Any, dims: GatherDims | ScatterDims, shape: Sequence[int]
) -> dict[int, Component]:
    """The components of index vectors by the operand's dimension that each is an index of."""
    type_, places, vector = TensorType(tuple(shape), starts.type.dtype), names("i", len(shape)), dims.index_vector_dim
    if isinstance(dims, GatherDims):
        indexed, batched, given = dims.start_index_map, dims.operand_batching_dims, dims.start_indices_batching_dims
    else:
        indexed, batched = dims.scatter_dims_to_operand_dims, dims.input_batching_dims
        given = dims.scatter_indices_batching_dims
    made: dict[int, Component] = {}
    for j, own in enumerate(indexed):
        inside = [str(j)] if vector < starts.type.rank else []
        read = engine.builder.moved(shape, [*places[:vector], *inside, *places[vector:]])
        form = index_form(engine, engine.read_through(starts, read, type_))
        made[own] = [split_guarded(engine, piece) for piece in form.pieces]
    for own, k in zip(batched, given, strict=True):
        # dimensions of the indices count that of the components
        made[own] = [Guarded((), 1, engine.builder.relation(shape, [places[k - (k > vector)]]))]
    return made


def _seen(engine: Engine, mine: Promise, points: Any, name: str) -> bool:
    """Whether known index vectors are distinct, or sorted."""
    store = engine.store
    parts = [part for component in mine.components for part in component]
    if not parts or any(part.guards for part in parts):
        return False
    vectors = reduce(store.pair, map(_known, [engine] * len(mine.components), mine.components))
    if not store.set_equal(store.domain(vectors), points) or not store.single_valued(vectors):
        return False
    count = points.arity - mine.rank
    if name == SORTED:
        return _rises(engine, vectors, count)
    whole = _by_device(engine, vectors, count)
    reach = store.rel(_near(count, mine.windows))
    met = store.compose(store.compose(whole, reach), store.reverse(whole))
    return store.empty(store.minus(met, store.identity_on(points)))


def _kept(engine: Engine, mine: Promise, theirs: Promise, points: Any, name: str) -> bool:
    """Whether index vectors are distinct, or sorted, if the original's are."""
    store, count, links, sources = engine.store, points.arity - mine.rank, dict[int, Rel](), list[Rel]()
    if len(mine.components) != len(theirs.components):
        return False
    pairs = list(zip(mine.components, theirs.components, strict=True))
    for k, (own, other) in enumerate(pairs):
        if any(part.guards for part in own):
            link = _linked(engine, own, other)
            if link is None:
                return False
            links[k] = link
            place = store.project_out(link, 0, 1)
            sources.append(store.project_out(place, place.arity_out - 1, 1))
    if not sources or not all(store.equal(sources[0], each) for each in sources):
        return False
    source = sources[0]
    for k, (own, other) in enumerate(pairs):
        if k not in links:
            if any(part.guards for part in other):
                return False
            there = store.compose(source, _known(engine, other))
            links[k] = store.pair(_known(engine, own), store.pair(source, there))
    if not store.single_valued(source) or not all(store.set_equal(store.domain(r), points) for r in links.values()):
        return False
    # vectors of one device have to come from those of one device
    devices = source.arity_out - theirs.rank
    owners = store.project_out(source, devices, theirs.rank)
    owner = store.compose(store.reverse(engine.leading_map(points.arity, count)), owners)
    functions = [_function(engine, links[k], count, extent) for k, extent in enumerate(theirs.extents)]
    if not all(map(store.single_valued, [owner, *functions])):
        return False
    if name != SORTED:
        reaches = zip(functions, mine.windows, theirs.windows, strict=True)
        apart = all(_keeps_apart(engine, each, count, own, other) for each, own, other in reaches)
        return apart and store.injective(_by_device(engine, source, count))
    order = store.project_out(source, 0, devices)
    strict = all(store.injective(_by_device(engine, each, count)) for each in functions[:-1])
    return strict and all(_rises(engine, each, count) for each in [order, *functions])


def _known(engine: Engine, component: Component) -> Rel:
    return reduce(engine.store.union, [part.rel for part in component])


def _linked(engine: Engine, own: Component, other: Component) -> Rel | None:
    """{place -> (integer, place of the original's, its integer)}: under guards that hold of both; None for others."""
    store, found = engine.store, None
    for part in own:
        sides = [store.reverse(store.into_domain(each.rel, 1)) for each in other if each.guards == part.guards]
        if not sides:
            return None
        side = reduce(store.union, sides)
        told = store.set_product(store.everything(1), store.domain(side))
        if not store.equal(store.restrict_range(part.rel, told), part.rel):
            return None
        link = store.compose(part.rel, store.side_by_side(passing(store, 1), side))
        found = link if found is None else store.union(found, link)
    return found


def _function(engine: Engine, link: Rel, count: int, extent: int) -> Rel:
    """{(device, the original's integer) -> integer} of a link, where that is an index of a dimension."""
    store, rest = engine.store, link.arity_out - 1
    inside = store.set_product(store.everything(rest), store.dom(f"{{[n] : 0 <= n < {extent}}}"))
    every = store.identity_on(store.range(_by_device(engine, store.restrict_range(link, inside), count)))
    argument = store.project_out(every, count, rest)
    result = store.project_out(store.project_out(every, count + 1, rest), 0, count)
    return store.compose(store.reverse(argument), result)


def _keeps_apart(engine: Engine, function: Rel, count: int, own: int, other: int) -> bool:
    """Whether {(device, n) -> m} gives integers that are at least `own` apart for those at least `other` apart."""
    store, whole = engine.store, _by_device(engine, function, count)
    met = store.compose(store.compose(whole, store.rel(_near(count, [own]))), store.reverse(whole))
    return store.empty(store.minus(met, store.rel(_near(count, [other]))))


def _near(count: int, windows: Sequence[int]) -> str:
    """{(device, x) -> (device, y)}: where windows that begin at x and at y meet."""
    device, x, y = names("d", count), names("x", len(windows)), names("y", len(windows))
    apart = [f"-{n} < {a} - {b} < {n}" for a, b, n in zip(x, y, windows, strict=True)]
    return f"{{[{','.join([*device, *x])}] -> [{','.join([*device, *y])}] : {' and '.join(apart) or '1 = 1'}}}"


def _by_device(engine: Engine, rel: Rel, count: int) -> Rel:
    """{(device, x) -> (device, y)} from {(device, x) -> y}."""
    return engine.store.pair(engine.leading_map(rel.arity_in, count), rel)


def _rises(engine: Engine, rel: Rel, count: int) -> bool:
    """Whether {(device, x) -> y} gives none of a device's x less than one before it, in lexicographic order."""
    store, whole = engine.store, _by_device(engine, rel, count)
    later = store.compose(store.reverse(whole), store.compose(_before(engine, count, rel.arity_in - count), whole))
    return store.empty(store.meet(later, store.reverse(_before(engine, count, rel.arity_out))))


def _before(engine: Engine, count: int, rank: int) -> Rel:
    """{(device, x) -> (device, y) : x comes before y}."""
    device, x, y = names("d", count), names("x", rank), names("y", rank)
    same = [f"{a} = {b}" for a, b in zip(x, y, strict=True)]
    less = [" and ".join([*same[:k], f"x{k} < y{k}"]) for k in range(rank)]
    where = " or ".join(f"({each})" for each in less) or "1 = 0"
    return engine.store.rel(f"{{[{','.join([*device, *x])}] -> [{','.join([*device, *y])}] : {where}}}")
