"""An MLIR module as a `Program`: one walk from the entry function, calls inlined, every attribute made plain."""

from __future__ import annotations

import gc
import re
from collections.abc import Generator, Iterable
from typing import Any

import numpy as np

from ..compat import ir
from .attribute_values import AttributeReader, UnsupportedType
from .attributes import DotDims
from .constants import array_from_text, constant_array
from .converted import Converted, PendingGroups
from .errors import ReadError, ReadErrorKind
from .expansions import WRITTEN_OUT, Expansions
from .groups import group_mode, mesh_groups
from .ir import Location, Op, Parameter, Region, Result, TensorType, TokenType, TupleType, Value
from .known_calls import meant
from .locations import LocationReader
from .manual_calls import ManualCalls, NotAManualCall
from .manual_forms import LEAVE, MESHES, is_body, named_meshes
from .sdy_sharding import parse_group_mesh_axes, parse_sdy_mesh
from .sharding_reader import ShardingReader
from .shardings import Sharding, ShardingKind
from .tiling import Mesh
from .unverified import check_meaning

_RETURNS = frozenset({"func.return", "stablehlo.return", "sdy.return", "mhlo.return"})
_SAME = {"stablehlo.dot": "stablehlo.dot_general", "mhlo.erf": "chlo.erf"}
"""One operation by two names: the first is what the conversion from HLO writes."""
COLLECTIVES = frozenset(
    {
        "stablehlo.all_gather",
        "stablehlo.all_reduce",
        "stablehlo.all_to_all",
        "stablehlo.collective_broadcast",
        "stablehlo.collective_permute",
        "stablehlo.reduce_scatter",
        "mhlo.all_to_all",
    }
)
"""`mhlo.all_to_all` is HLO's form that takes and gives one operand for each participant."""


def _attributes(op: ir.Operation) -> Any:
    """An operation's attributes, with the classes they have at run time, which the stubs do not know."""
    return op.attributes


_ANY_ACCURACY = "#stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<DEFAULT>>"
"""What an operation asks for that says nothing of how accurate it has to be."""

_WHOLE_TUPLE = Value(-1, TokenType(), "%tuple")
"""Stands for every tuple: programs hold their elements alone."""

Work = Generator["Work", None, None]


DEPTH_LIMIT = 64
"""Regions in regions: what walks programs calls itself for each, and no program that is compiled has ten."""


class Converter:
    """Converts one module. Nested regions and calls run as generators on an explicit stack, never by recursion."""

    def __init__(self, module: ir.Module, source: str, op_limit: int) -> None:
        self._module = module
        self._source = source
        self._op_limit = op_limit
        self._attributes = AttributeReader()
        self._locations = LocationReader(source)
        self._functions: dict[str, ir.Operation] = {}
        self._meshes: dict[str, Mesh] = {}
        self._values: dict[ir.Value, Value] = {}
        self._shardings = ShardingReader(self._meshes)
        self._constants: dict[ir.Attribute, np.ndarray] = {}
        self._pending: list[PendingGroups] = []
        self._active_calls: list[str] = []
        self._bundles: dict[ir.Value, tuple[Value, ...]] = {}
        self._expansions = Expansions()
        self._manual_calls = ManualCalls(self._meshes, self._shardings.of_text)
        self._next = 0
        self._ops = 0
        self._depth = 0

    def convert(self) -> Converted:
        module = self._module.operation
        for view in self._module.body:
            op = view.operation
            if op.name == "func.func":
                self._functions[_attributes(op)["sym_name"].value] = op
            elif op.name == "sdy.mesh":
                self._meshes[_attributes(op)["sym_name"].value] = self._mesh(op)
            else:
                raise self._unsupported(op, f"'{op.name}' at the top of a module is not supported")
        self._read_named_meshes()
        entry = self._entry()
        block = self._single_block(entry, 0)
        arguments = [self._define(argument, self._location(argument.location)) for argument in block.arguments]
        parameters = self._parameters(entry, block, arguments, self._module_shardings("mhlo.spmd_parameters_shardings"))
        ops: list[Op] = []
        returned: list[Value] = []
        # Nothing made here is garbage, and the collector would go over all of it again and again.
        collecting = gc.isenabled()
        gc.disable()
        try:
            self._run(self._block(block, ops, returned, None))
        finally:
            if collecting:
                gc.enable()
        results = self._results(entry, returned, self._module_shardings("mhlo.spmd_output_sharding"))
        return Converted(
            name=_attributes(module)["sym_name"].value if "sym_name" in module.attributes else "",
            parameters=parameters,
            body=Region(tuple(arguments), tuple(ops), tuple(returned)),
            results=results,
            module_attributes={name: self._attributes.value(module.attributes[name]) for name in module.attributes},
            pending=self._pending,
            shardings=self._shardings.all,
            meshes=list(self._meshes.values()),
        )

    # The walk.

    def _run(self, work: Work) -> None:
        stack = [work]
        while stack:
            child = next(stack[-1], None)
            if child is None:
                stack.pop()
            else:
                stack.append(child)

    def _region(
        self, block: ir.Block, ops: list[Op], returned: list[Value], call: Location | None, location: Location
    ) -> Work:
        """The operations of the one block of a region of an op at a location."""
        if self._depth == DEPTH_LIMIT:
            raise ReadError(ReadErrorKind.LIMIT, self._where(location), f"regions nested more than {DEPTH_LIMIT} deep")
        self._depth += 1
        yield self._block(block, ops, returned, call)
        self._depth -= 1

    def _block(self, block: ir.Block, ops: list[Op], returned: list[Value], call: Location | None) -> Work:
        """Converts the operations of a block, inlined at `call`; yields the work of regions and callees."""
        values, attribute_reader = self._values, self._attributes
        read_location, types = self._locations.read, attribute_reader.type
        parts = self._manual_calls.parts
        terminated = False
        for view in block:
            op = view.operation
            name = op.name
            operands = tuple([values[operand] for operand in op.operands])
            if self._bundles and self._unpack(op, name, operands):
                continue
            if parts:
                self._check_use(op, name, operands)
            if name == "stablehlo.tuple":
                self._bundle(op.results[0], operands)
                continue
            if name in _RETURNS:
                returned.extend(operands)
                terminated = True
                continue
            location = read_location(op.location)
            if call is not None:
                location = self._locations.inlined(location, call)
            self._ops += 1
            if self._ops > self._op_limit:
                raise ReadError(ReadErrorKind.LIMIT, self._where(location), f"more than {self._op_limit} operations")
            callee = self._callee(op, name)
            if callee is not None:
                call_ = self._manual_call if is_body(callee) else self._call
                yield from call_(op, callee, operands, ops, location)
                continue
            may_be_others = name.startswith("chlo.") or name in WRITTEN_OUT
            if may_be_others and (expanded := self._expansions.block(op)) is not None:
                yield from self._inlined(op, expanded, operands, ops, location)
                continue
            results: list[Value] = []
            try:
                for result in op.results:
                    type_ = types(result.type)
                    if isinstance(type_, TupleType):
                        first = self._next
                        self._next += len(type_.elements)
                        leaves = [Value(first + k, each, f"%{first + k}") for k, each in enumerate(type_.elements)]
                        self._bundle(result, tuple(leaves))
                        results.extend(leaves)
                        continue
                    number = self._next
                    self._next = number + 1
                    value = Value(number, type_, f"%{number}")
                    values[result] = value
                    results.append(value)
                attributes, shardings = self._op_attributes(op, name, operands, results, location)
            except UnsupportedType as error:
                raise ReadError(ReadErrorKind.UNSUPPORTED, self._where(location), f"'{name}': {error}") from None
            regions: tuple[Region, ...] = ()
            if len(op.regions):
                built: list[Region] = []
                for k in range(len(op.regions)):
                    inner = self._single_block(op, k)
                    arguments = tuple(self._define(argument, location) for argument in inner.arguments)
                    inner_ops: list[Op] = []
                    inner_returned: list[Value] = []
                    yield self._region(inner, inner_ops, inner_returned, call, location)
                    built.append(Region(arguments, tuple(inner_ops), tuple(inner_returned)))
                regions = tuple(built)
            made = Op(_SAME.get(name, name), operands, tuple(results), attributes, regions, location, shardings)
            if name == "stablehlo.custom_call":
                try:
                    made = self._manual_calls.custom_call(made)
                except NotAManualCall as error:
                    raise ReadError(ReadErrorKind.UNSUPPORTED, self._where(location), str(error)) from None
            if made is not None:
                ops.append(meant(made) if name == "stablehlo.custom_call" else made)
        if not terminated:
            raise ReadError(ReadErrorKind.UNSUPPORTED, self._source, "a block without a return is not supported")

    def _bundle(self, result: ir.Value, leaves: tuple[Value, ...]) -> None:
        """A tuple: its elements in its place."""
        self._bundles[result] = leaves
        # What takes the tuple as a whole finds this value, and `_unpack` refuses it.
        self._values[result] = _WHOLE_TUPLE

    def _unpack(self, op: ir.Operation, name: str, operands: tuple[Value, ...]) -> bool:
        """Whether an operation only takes a tuple apart, so that its result is one of the leaves."""
        if _WHOLE_TUPLE not in operands:
            return False
        if name != "stablehlo.get_tuple_element":
            raise self._unsupported(op, f"'{name}' of a tuple is not supported")
        self._values[op.results[0]] = self._bundles[op.operands[0]][_attributes(op)["index"].value]
        return True

    def _callee(self, op: ir.Operation, name: str) -> str | None:
        if name == "func.call":
            return _attributes(op)["callee"].value
        if name == "stablehlo.composite":
            return _attributes(op)["decomposition"].value
        return None

    def _call(
        self, op: ir.Operation, callee: str, operands: tuple[Value, ...], ops: list[Op], location: Location
    ) -> Work:
        """The callee's operations in place, with fresh values."""
        block = self._called_block(callee, location)
        self._active_calls.append(callee)
        yield from self._inlined(op, block, operands, ops, location)
        self._active_calls.pop()

    def _inlined(
        self, op: ir.Operation, block: ir.Block, operands: tuple[Value, ...], ops: list[Op], location: Location
    ) -> Work:
        """The operations of a block in place of one operation."""
        self._values.update(zip(block.arguments, operands, strict=True))
        returned: list[Value] = []
        yield self._block(block, ops, returned, location)
        self._values.update(zip(op.results, returned, strict=True))

    def _manual_call(
        self, op: ir.Operation, callee: str, operands: tuple[Value, ...], ops: list[Op], location: Location
    ) -> Work:
        """The callee's operations as a region of their own, which ends where its results are put together."""
        block = self._called_block(callee, location)
        attributes, _ = self._op_attributes(op, op.name, operands, [], location)
        if "mhlo.sharding" in op.attributes:
            attributes["mhlo.sharding"] = self._shardings.of(op.attributes["mhlo.sharding"])
        try:
            called = self._manual_calls.call(operands, attributes, location)
        except NotAManualCall as error:
            raise ReadError(ReadErrorKind.UNSUPPORTED, self._where(location), str(error)) from None
        arguments = tuple(self._define(argument, location) for argument in block.arguments)
        inner: list[Op] = []
        returned: list[Value] = []
        self._active_calls.append(callee)
        yield self._region(block, inner, returned, location, location)
        self._active_calls.pop()
        results = [self._define(result, location) for result in op.results]
        self._manual_calls.returned(called, Region(arguments, tuple(inner), tuple(returned)), results)
        if not results:
            ops.append(self._manual_calls.closed(called))

    def _called_block(self, callee: str, location: Location) -> ir.Block:
        function = self._functions.get(callee)
        if function is None or not len(function.regions[0].blocks):
            raise ReadError(ReadErrorKind.UNSUPPORTED, self._where(location), f"call of '@{callee}', which has no body")
        if callee in self._active_calls:
            raise ReadError(ReadErrorKind.UNSUPPORTED, self._where(location), f"recursive call of '@{callee}'")
        return self._single_block(function, 0)

    def _check_use(self, op: ir.Operation, name: str, operands: tuple[Value, ...]) -> None:
        """Refuses an op that takes what only the ops of a manual region may take."""
        callee = self._callee(op, name)
        allowed = callee is not None and is_body(callee)
        if name == "stablehlo.custom_call":
            allowed = _attributes(op)["call_target_name"].value == LEAVE
        try:
            self._manual_calls.check_use(operands, allowed=allowed)
        except NotAManualCall as error:
            raise self._unsupported(op, f"'{name}': {error}") from None

    def _define(self, value: ir.Value, location: Location) -> Value:
        try:
            type_ = self._attributes.type(value.type)
        except UnsupportedType as error:
            raise ReadError(ReadErrorKind.UNSUPPORTED, self._where(location), str(error)) from None
        if isinstance(type_, TupleType):
            text = f"a tuple as an argument is not supported: {type_}"
            raise ReadError(ReadErrorKind.UNSUPPORTED, self._where(location), text)
        defined = Value(self._next, type_, f"%{self._next}")
        self._next += 1
        self._values[value] = defined
        return defined

    def _single_block(self, op: ir.Operation, region: int) -> ir.Block:
        blocks = list(op.regions[region].blocks)
        if len(blocks) != 1:
            raise self._unsupported(op, f"'{op.name}' with {len(blocks)} blocks in a region is not supported")
        return blocks[0]

    # Attributes.

    def _op_attributes(
        self, op: ir.Operation, name: str, operands: tuple[Value, ...], results: list[Value], location: Location
    ) -> tuple[dict[str, Any], tuple[Sharding | None, ...]]:
        attributes: dict[str, Any] = {}
        shardings: tuple[Sharding | None, ...] = ()
        raw = op.attributes
        value = self._attributes.value
        if name == "stablehlo.constant":
            attributes["value"] = self._constant(op, results[0], location)
        for key in raw:
            if key == "value" and name == "stablehlo.constant":
                continue
            attribute = raw[key]
            if key == "mhlo.sharding" or key == "sdy.sharding":
                shardings = self._shardings.of_op(attribute, len(results))
            elif key == "replica_groups" or key == "source_target_pairs":
                self._note_groups(op, name, key, attribute, attributes, location)
            elif name.startswith("sdy.") and key in ("sharding", "in_shardings", "out_shardings"):
                read = self._shardings.of(attribute)
                attributes[key] = read[0] if key == "sharding" else read
            else:
                attributes[key] = value(attribute)
        if attributes.get("result_accuracy") == _ANY_ACCURACY:
            del attributes["result_accuracy"]
        check_meaning(name, attributes, operands, results)
        if name == "stablehlo.dot":
            attributes["dot_dimension_numbers"] = DotDims((), (), (operands[0].tensor.rank - 1,), (0,))
        elif name == "sdy.manual_computation":
            attributes["manual_axes"] = tuple(re.findall(r'"([^"]*)"', str(raw["manual_axes"])))
            named = re.search(r'<@"?([\w.$-]+)', f"{raw['in_shardings']}{raw['out_shardings']}")
            if named is not None and named[1] in self._meshes:
                # The axes are names; what they mean is the mesh.
                attributes["mesh"] = self._meshes[named[1]]
        return attributes, shardings

    def _constant(self, op: ir.Operation, result: Value, location: Location) -> np.ndarray:
        if not isinstance(result.type, TensorType):
            raise UnsupportedType(f"constant of type '{result.type}'")
        try:
            attribute = op.attributes["value"]
        except TypeError:
            # The bindings know no Python class for dense complex elements.
            return array_from_text(str(op), result.type)
        known = self._constants.get(attribute)
        if known is None:
            if not isinstance(attribute, ir.DenseElementsAttr):
                if "__elided__" in str(attribute):
                    message = "constant is elided: print the module with large constants"
                    raise ReadError(ReadErrorKind.ELIDED, self._where(location), message)
                raise UnsupportedType(f"value '{str(attribute)[:60]}' is not supported")
            known = self._constants[attribute] = constant_array(attribute, result.type)
        return known

    def _note_groups(
        self,
        op: ir.Operation,
        name: str,
        key: str,
        attribute: ir.Attribute,
        attributes: dict[str, Any],
        location: Location,
    ) -> None:
        if name not in COLLECTIVES:
            raise ReadError(ReadErrorKind.UNSUPPORTED, self._where(location), f"'{name}' with '{key}' is not supported")
        channel = self._attributes.value(op.attributes["channel_handle"])[0] if "channel_handle" in op.attributes else 0
        try:
            mode = group_mode(name, channel, "use_global_device_ids" in op.attributes)
            if isinstance(attribute, ir.DenseIntElementsAttr):
                table = np.array(attribute, dtype=np.int64)
            else:
                table = self._mesh_groups(str(attribute))
        except ValueError as error:
            raise ReadError(ReadErrorKind.UNSUPPORTED, self._where(location), f"'{name}': {error}") from None
        self._pending.append(PendingGroups(attributes, key, table, mode, location))

    def _mesh_groups(self, text: str) -> np.ndarray:
        """`#stablehlo.replica_group_mesh_axes<mesh = @m, axes = [...]>` as a table."""
        mesh, axes = parse_group_mesh_axes(text, self._meshes)
        return mesh_groups(mesh, axes)

    # The module's frame.

    def _mesh(self, op: ir.Operation) -> Mesh:
        try:
            return parse_sdy_mesh(str(op.attributes["mesh"]))
        except ValueError as error:
            raise self._unsupported(op, str(error)) from None

    def _read_named_meshes(self) -> None:
        """Meshes that Shardy keeps in the module's front-end attributes, for the shardings that it keeps in others."""
        module = self._module.operation
        if "mhlo.frontend_attributes" not in module.attributes:
            return
        kept = self._attributes.value(module.attributes["mhlo.frontend_attributes"])
        if isinstance(kept, dict) and isinstance(kept.get(MESHES), str):
            try:
                self._meshes.update(named_meshes(kept[MESHES]))
            except ValueError as error:
                raise self._unsupported(module, f"'{MESHES}': {error}") from None

    def _entry(self) -> ir.Operation:
        candidates: Iterable[str] = ["main"] if "main" in self._functions else self._functions
        public = [
            self._functions[name]
            for name in candidates
            if name == "main" or "sym_visibility" not in self._functions[name].attributes
        ]
        if len(public) != 1:
            raise ReadError(
                ReadErrorKind.FORMAT, self._source, f"no function '@main' and {len(public)} other public functions"
            )
        return public[0]

    def _parameters(
        self, entry: ir.Operation, block: ir.Block, arguments: list[Value], stated: tuple[Sharding, ...]
    ) -> list[Parameter]:
        described = (
            list(_attributes(entry)["arg_attrs"]) if "arg_attrs" in entry.attributes else [None] * len(arguments)
        )
        parameters: list[Parameter] = []
        for k, (argument, value, attributes) in enumerate(zip(block.arguments, arguments, described, strict=True)):
            location = self._location(argument.location)
            sharding = self._boundary_sharding(attributes)
            if sharding is None and len(stated) == len(arguments):
                sharding = stated[k]
            label = location.op_name or f"arg{k}"
            self._check_rank(sharding, value, f"parameter '{label}'")
            parameters.append(Parameter(value, sharding, label, location))
        return parameters

    def _results(self, entry: ir.Operation, returned: list[Value], stated: tuple[Sharding, ...]) -> list[Result]:
        described = list(_attributes(entry)["res_attrs"]) if "res_attrs" in entry.attributes else [None] * len(returned)
        results: list[Result] = []
        for k, (value, attributes) in enumerate(zip(returned, described, strict=True)):
            sharding = self._boundary_sharding(attributes)
            if sharding is None and len(stated) == len(returned):
                sharding = stated[k]
            label = f"result[{k}]" if len(returned) > 1 else "result"
            if attributes is not None and "jax.result_info" in attributes:
                label = attributes["jax.result_info"].value or label
            self._check_rank(sharding, value, f"result '{label}'")
            results.append(Result(value, sharding, label))
        return results

    def _boundary_sharding(self, attributes: Any) -> Sharding | None:
        for key in ("sdy.sharding", "mhlo.sharding"):
            if attributes is not None and key in attributes:
                shardings = self._shardings.of(attributes[key])
                return shardings[0] if len(shardings) == 1 else Sharding(ShardingKind.UNSUPPORTED, str(attributes[key]))
        return None

    def _module_shardings(self, key: str) -> tuple[Sharding, ...]:
        """Shardings that an after-module keeps beside its function: one for each parameter or result."""
        attributes = self._module.operation.attributes
        if key not in attributes:
            return ()
        attribute = attributes[key]
        parts = list(attribute) if isinstance(attribute, ir.ArrayAttr) else [attribute]
        return tuple(sharding for part in parts for sharding in self._shardings.of(part))

    def _check_rank(self, sharding: Sharding | None, value: Value, what: str) -> None:
        if sharding is None or not sharding.tiles or not isinstance(value.type, TensorType):
            return
        if len(sharding.tiles) != value.type.rank:
            raise ReadError(
                ReadErrorKind.FORMAT,
                self._source,
                f"sharding '{sharding.text}' of {what} has {len(sharding.tiles)} dimensions, its type {value.type} "
                f"{value.type.rank}",
            )

    def _location(self, location: ir.Location) -> Location:
        return self._locations.read(location)

    def _where(self, location: Location) -> str:
        return str(location.frames[0]) if location.frames else self._source

    def _unsupported(self, op: ir.Operation, message: str) -> ReadError:
        return ReadError(ReadErrorKind.UNSUPPORTED, self._where(self._location(op.location)), message)
