"""Manual regions that are written as calls, in each of their three spellings, and what is refused of them."""

from __future__ import annotations

import pytest

from shardproof import Verdict, validate_modules
from shardproof.validator.read import ReadError, ReadErrorKind, read_program
from shardproof.validator.read.ir import Op, Program
from shardproof.validator.read.manual_forms import named_meshes

BODY = """
  func.func private @xla.sdy.manual_computation_body(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> tensor<2x4xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %2 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<2x8xf32>) -> tensor<2x4xf32>
    return %1 : tensor<2x4xf32>
  }""".replace("(tensor<2x8xf32>) -> tensor<2x4xf32>\n    return", "(tensor<2x4xf32>) -> tensor<2x4xf32>\n    return")

PLAIN = (
    """
module @m attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["a"=4, "b"=2]>
  func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.manual_computation(%x, %w)
        in_shardings=[<@mesh, [{"a"}, {"b"}]>, <@mesh, [{"b"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>]
        manual_axes={"a", "b"} (%p: tensor<2x8xf32>, %q: tensor<8x4xf32>) {
      %1 = func.call @product(%p, %q) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
      sdy.return %1 : tensor<2x4xf32>
    } : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }"""
    + BODY.replace("xla.sdy.manual_computation_body", "product")
    + "\n}"
)

MESHES = "{mesh = #sdy.mesh<[\\22a\\22=4, \\22b\\22=2]>}"
AXES = 'xla.sdy.manual_axes = "#sdy<manual_axes{\\22a\\22, \\22b\\22}>"'
INTO = (
    'xla.sdy.in_shardings = "#sdy.sharding_per_value<'
    '[<@mesh, [{\\22a\\22}, {\\22b\\22}]>, <@mesh, [{\\22b\\22}, {}]>]>"'
)
OUT = 'xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{\\22a\\22}, {}]>]>"'


def program(enter: str, call: str, leave: str, *, first: str = "", body: str = BODY, meshes: str = MESHES) -> str:
    """The product of two matrices, with these attributes of the three ops."""
    operands = "%s0, %s1" if first else "%x, %w"
    enter, leave = (", ".join(filter(None, ("has_side_effect = true", more))) for more in (enter, leave))
    return f"""
module @m attributes {{mhlo.frontend_attributes = {{xla.sdy.meshes = "{meshes}"}},
    mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32}} {{
  func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {{
    {first}
    %0:2 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape({operands}) {{{enter}}}
        : (tensor<8x16xf32>, tensor<16x4xf32>) -> (tensor<2x8xf32>, tensor<8x4xf32>)
    %1 = call @xla.sdy.manual_computation_body(%0#0, %0#1) {{{call}}}
        : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %2 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%1) {{{leave}}}
        : (tensor<2x4xf32>) -> tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }}{body}
}}"""


def front_end(*texts: str) -> str:
    return f"mhlo.frontend_attributes = {{{', '.join(texts)}}}"


OF_THE_ENDS = program(front_end(AXES, INTO), front_end('inlineable = "false"'), front_end(AXES, OUT))
OF_THE_CALL = program("", front_end(AXES, INTO, OUT), "").replace("\\22", "\\\\\\22")
OF_HLO = program(
    "mhlo.sharding = \"{{mesh['a'=4,'b'=2], manual}, {mesh['a'=4,'b'=2], manual}}\"",
    "mhlo.sharding = \"{mesh['a'=4,'b'=2], manual}\"",
    "mhlo.sharding = \"{mesh['a'=4,'b'=2], [{'a'}, {}]}\"",
    first="""%s0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{mesh['a'=4,'b'=2], [{'a'}, {'b'}]}"}
        : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %s1 = stablehlo.custom_call @Sharding(%w) {mhlo.sharding = "{mesh['a'=4,'b'=2], [{'b'}, {}]}"}
        : (tensor<16x4xf32>) -> tensor<16x4xf32>""",
)
SPELLINGS = {"ends": OF_THE_ENDS, "call": OF_THE_CALL, "hlo": OF_HLO}


def region_of(read: Program) -> Op:
    (region,) = [op for op in read.body.ops if op.name == "sdy.manual_computation"]
    return region


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_is_read_as_the_region_it_was_made_of(name: str):
    expected, found = region_of(read_program(PLAIN)), region_of(read_program(SPELLINGS[name]))
    assert found.attributes.keys() == expected.attributes.keys()
    for key in ("in_shardings", "out_shardings"):
        assert len(found.attributes[key]) == len(expected.attributes[key])
        for mine, theirs in zip(found.attributes[key], expected.attributes[key], strict=True):
            assert (mine.kind, mine.tiles) == (theirs.kind, theirs.tiles)
            assert mine.devices.tolist() == theirs.devices.tolist()
    assert found.attributes["manual_axes"] == expected.attributes["manual_axes"] == ("a", "b")
    assert found.attributes["mesh"].axes == expected.attributes["mesh"].axes
    arguments = found.regions[0].arguments, expected.regions[0].arguments
    for mine, theirs in (arguments, (found.results, expected.results)):
        assert [value.type for value in mine] == [value.type for value in theirs]
    assert [op.name for op in found.regions[0].ops] == [op.name for op in expected.regions[0].ops]


DEVICES = """
module @m attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}"""


@pytest.mark.parametrize("name", SPELLINGS)
def test_what_a_spelled_region_computes(name: str):
    assert validate_modules(SPELLINGS[name], DEVICES).verdict is Verdict.PROVED
    shifted = SPELLINGS[name].replace("[[0, 1], [2, 3], [4, 5], [6, 7]]", "[[0, 2], [1, 3], [4, 6], [5, 7]]")
    assert validate_modules(shifted, DEVICES).verdict is not Verdict.PROVED
    groups = "[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2"
    alone = SPELLINGS[name].replace(groups, "[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1")
    assert validate_modules(alone, DEVICES).verdict is not Verdict.PROVED


LATER_NAME = OF_THE_ENDS.replace("@xla.sdy.manual_computation_body", "@model.fwd.xla.sdy.manual_computation_body_14.7")


def test_xla_adds_to_the_names_of_bodies():
    assert region_of(read_program(LATER_NAME)).attributes["manual_axes"] == ("a", "b")


CONSTANT = "%c = stablehlo.constant dense<0.0> : tensor<2x8xf32>"
SMALL = "%c = stablehlo.constant dense<0.0> : tensor<2x4xf32>"
AGAIN = """%9 = call @xla.sdy.manual_computation_body(%x, %w) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    return %9 : tensor<2x4xf32>"""


def before_call(added: str, source: str = OF_THE_ENDS) -> str:
    return source.replace("%1 = call", f"{added}\n    %1 = call")


def after_call(added: str, source: str = OF_THE_ENDS) -> str:
    return source.replace("%2 = stablehlo.custom_call", f"{added}\n    %2 = stablehlo.custom_call")


REFUSED = {
    "what does not enter": (
        before_call(CONSTANT).replace("body(%0#0,", "body(%c,"),
        "takes what no 'xla.sdy.GlobalToLocalShape' gives",
    ),
    "a use before the call": (
        before_call("%c = stablehlo.negate %0#0 : tensor<2x8xf32>"),
        "'stablehlo.negate': what 'xla.sdy.GlobalToLocalShape' or '@xla.sdy.manual_computation_body' gives is not used",
    ),
    "a use after the call": (after_call("%c = stablehlo.negate %1 : tensor<2x4xf32>"), "'stablehlo.negate': what "),
    "a part is returned": (
        after_call("")
        .replace("return %2 : tensor<8x4xf32>", "return %1 : tensor<2x4xf32>")
        .replace("%w: tensor<16x4xf32>) -> tensor<8x4xf32>", "%w: tensor<16x4xf32>) -> tensor<2x4xf32>"),
        "'func.return': what ",
    ),
    "what does not leave": (
        after_call(SMALL).replace("LocalToGlobalShape(%1)", "LocalToGlobalShape(%c)"),
        "takes something else than the results of one ",
    ),
    "nothing at all": (program("", "", ""), "LocalToGlobalShape' of 1 tensors with 0 shardings"),
    "no axes where it enters": (program(front_end(INTO), "", front_end(AXES, OUT)), "a tensor without a sharding"),
    "no shardings where it leaves": (
        program(front_end(AXES, INTO), "", front_end(AXES)),
        "'xla.sdy.LocalToGlobalShape' of 1 tensors with 0 shardings",
    ),
    "two sets of axes": (
        program(front_end(AXES, INTO), "", front_end(AXES.replace(", \\22b\\22", ""), OUT)),
        "name different manual axes",
    ),
    "too few axes": (
        OF_THE_ENDS.replace("\\22a\\22, \\22b\\22}>", "\\22a\\22}>"),
        "f32[8,16] is not cut into f32[2,8] by ",
    ),
    "swapped axes": (
        OF_THE_ENDS.replace("[{\\22a\\22}, {\\22b\\22}]", "[{\\22b\\22}, {\\22a\\22}]"),
        "f32[8,16] is not cut into f32[2,8] by sharding ",
    ),
    "a result that is not cut": (
        program(front_end(AXES, INTO), "", front_end(AXES, OUT.replace("[{\\22a\\22}", "[{}"))),
        "f32[8,4] is not cut into f32[2,4] by sharding ",
    ),
    "an unknown axis": (
        OF_THE_ENDS.replace("\\22a\\22, \\22b\\22}>", "\\22a\\22, \\22c\\22}>"),
        "unknown mesh axis 'c'",
    ),
    "an unknown mesh": (OF_THE_ENDS.replace("{mesh = #sdy.mesh", "{other = #sdy.mesh"), "of an unknown mesh"),
    "no list of meshes": (OF_THE_ENDS.replace("#sdy.mesh<", "#sdy.mash<"), "'xla.sdy.meshes': unexpected "),
    "nothing tells how it is cut": (OF_HLO.replace("@Sharding(%x)", "@Shading(%x)"), "of a tensor without a sharding"),
    "nothing tells the axes": (
        OF_HLO.replace("'b'=2], manual}, {", "'b'=2], [{}, {}]}, {"),
        "tells no manual axes",
    ),
    "a damaged mesh": (
        OF_HLO.replace("\"{mesh['a'=4,'b'=2], manual}\"", "\"{mesh['a'={,'b'=2], manual}\"").replace(
            "{{mesh", "{{mosh"
        ),
        "tells no manual axes",
    ),
    "a body that calls itself": (
        OF_THE_ENDS.replace("return %1 : tensor<2x4xf32>", AGAIN),
        "recursive call of ",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_modelled_is_refused(name: str):
    source, text = REFUSED[name]
    with pytest.raises(ReadError) as caught:
        read_program(source, name="in")
    assert caught.value.kind is ReadErrorKind.UNSUPPORTED
    assert text in str(caught.value)
    assert str(caught.value).startswith("in")


def test_a_call_tells_of_its_own_operands_whichever_op_they_entered_by():
    square = """
module @m attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\\22a\\22=2, \\22b\\22=2]>}"},
    mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    ENTER
    %1:2 = call @xla.sdy.manual_computation_body(%y, %v) {mhlo.frontend_attributes = {
        xla.sdy.manual_axes = "#sdy<manual_axes{\\22a\\22, \\22b\\22}>",
        xla.sdy.in_shardings = "#sdy.sharding_per_value<[<@mesh, [{\\22a\\22}, {}]>, <@mesh, [{\\22b\\22}, {}]>]>",
        xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{\\22a\\22}, {}]>, <@mesh, [{\\22b\\22}, {}]>]>"}}
        : (tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    %2:2 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%1#1, %1#0) {has_side_effect = true}
        : (tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
    return %2#1, %2#0 : tensor<4x4xf32>, tensor<4x4xf32>
  }
  func.func private @xla.sdy.manual_computation_body(%x: tensor<2x4xf32>, %w: tensor<2x4xf32>)
      -> (tensor<2x4xf32>, tensor<2x4xf32>) {
    return %x, %w : tensor<2x4xf32>, tensor<2x4xf32>
  }
}"""
    one = "stablehlo.custom_call @xla.sdy.GlobalToLocalShape({0}) {{has_side_effect = true}} : ({1}) -> ({2})"
    apart = "\n".join(f"%{n} = {one.format(f'%{o}', 'tensor<4x4xf32>', 'tensor<2x4xf32>')}" for n, o in ("yx", "vw"))
    both = one.format("%w, %x", "tensor<4x4xf32>, tensor<4x4xf32>", "tensor<2x4xf32>, tensor<2x4xf32>")
    swapped = square.replace("(%y, %v)", "(%0#1, %0#0)").replace("ENTER", f"%0:2 = {both}")
    for source in (square.replace("ENTER", apart), swapped):
        region = region_of(read_program(source))
        assert [s.devices.reshape(2, 2).tolist() for s in region.attributes["in_shardings"]] == [
            [[0, 1], [2, 3]],
            [[0, 2], [1, 3]],
        ]
        assert [s.devices.reshape(2, 2).tolist() for s in region.attributes["out_shardings"]] == [
            [[0, 2], [1, 3]],
            [[0, 1], [2, 3]],
        ]


def test_results_leave_once():
    twice = OF_THE_ENDS.replace(
        "    return %2 :",
        f"""    %3 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%1) {{{front_end(AXES, OUT)}}}
        : (tensor<2x4xf32>) -> tensor<8x4xf32>
    return %3 :""",
    )
    with pytest.raises(ReadError, match="leave it twice"):
        read_program(twice)


def test_meshes_by_name():
    found = named_meshes('{mesh = #sdy.mesh<["a"=2, "b"=4]>, mesh_0 = #sdy.mesh<[], device_ids=[3]>}')
    assert {name: mesh.axes for name, mesh in found.items()} == {"mesh": (("a", 2), ("b", 4)), "mesh_0": ()}
    assert found["mesh_0"].order.tolist() == [3]
    with pytest.raises(ValueError, match="unexpected 'junk'"):
        named_meshes('{mesh = #sdy.mesh<["a"=2]>, junk}')


def test_a_sharding_that_is_not_understood_names_no_mesh():
    damaged = OF_HLO.replace("\"{mesh['a'=4,'b'=2], manual}\"", "\"{mesh['a'={,'b'=2], manual}\"")
    assert damaged != OF_HLO
    assert region_of(read_program(damaged)).attributes["manual_axes"] == ("a", "b")
