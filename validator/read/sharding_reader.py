"""Shardings of one module's attributes, in whatever spelling, each read once."""

from __future__ import annotations

from ..compat import ir
from .hlo_sharding import parse_hlo_sharding
from .manual_forms import plain_text
from .sdy_sharding import parse_sdy_sharding
from .shardings import Sharding, ShardingKind
from .tiling import Mesh


class ShardingReader:
    """Text that is not understood becomes an UNSUPPORTED sharding. `meshes` are those of the module, by name."""

    def __init__(self, meshes: dict[str, Mesh]) -> None:
        self._meshes = meshes
        self._known: dict[ir.Attribute | str, tuple[Sharding, ...]] = {}

    @property
    def all(self) -> list[Sharding]:
        """Every sharding that was read, some of them more than once."""
        return [sharding for entry in self._known.values() for sharding in entry]

    def of_op(self, attribute: ir.Attribute, count: int) -> tuple[Sharding | None, ...]:
        """One sharding for each of `count` results."""
        shardings = self.of(attribute)
        if len(shardings) == count:
            return shardings
        if len(shardings) == 1:
            return shardings * count
        return tuple(Sharding(ShardingKind.UNSUPPORTED, str(attribute)) for _ in range(count))

    def of(self, attribute: ir.Attribute) -> tuple[Sharding, ...]:
        """The shardings of one attribute."""
        known = self._known.get(attribute)
        if known is None:
            text = attribute.value if isinstance(attribute, ir.StringAttr) else str(attribute)
            known = self._known[attribute] = self.of_text(text)
        return known

    def of_text(self, text: str) -> tuple[Sharding, ...]:
        """The shardings that a text lists, or the one that it is."""
        known = self._known.get(text)
        if known is None:
            plain = plain_text(text)
            try:
                if plain.startswith("#sdy"):
                    read = parse_sdy_sharding(plain, self._meshes)
                else:
                    read = parse_hlo_sharding(plain)
            except ValueError:
                read = Sharding(ShardingKind.UNSUPPORTED, plain)
            known = self._known[text] = read if isinstance(read, tuple) else (read,)
        return known
