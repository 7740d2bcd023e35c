"""HLO that means more than its conversion to StableHLO keeps is refused, never read as something else."""

import pytest

from shardproof.validator.read import ReadError, ReadErrorKind, read_program

IMAGE, KERNEL = "x: f32[1,1,4]", "y: f32[1,1,3]"
CONVOLUTION = "f32[1,1,4] convolution(x, y), window={size=3 pad=1_1}, dim_labels=bf0_oi0->bf0"
CALL = 'f32[1,1,4] custom-call(x, y), custom_call_target="__cudnn$convForward"'
ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }"


def _module(root: str, *parameters: str, head: str = "HloModule m") -> str:
    lines = []
    for number, parameter in enumerate(parameters):
        name, type_ = parameter.split(": ")
        lines.append(f"  {name} = {type_} parameter({number})")
    return "\n".join([head, "", ADD, "", "ENTRY main {", *lines, f"  ROOT r = {root}", "}", ""])


def _refused(text: str) -> str:
    with pytest.raises(ReadError) as caught:
        read_program(text)
    if "unexpected attribute" in caught.value.message:
        pytest.skip("this jaxlib does not know the attribute")
    assert caught.value.kind is ReadErrorKind.UNSUPPORTED
    return caught.value.message


@pytest.mark.parametrize(
    ("attribute", "what"),
    [
        ("window={size=3 pad=1_1}", "a window"),
        ("dim_labels=bf0_oi0->bf0", "dimension labels"),
        ("feature_group_count=2", "groups"),
        ("batch_group_count=2", "groups"),
        ("operand_precision={highest,default}", "a precision"),
        ("padding_type=PADDING_SAME", "a kind of padding"),
    ],
)
def test_a_call_of_a_library_says_more_than_its_target(attribute: str, what: str) -> None:
    """Two convolutions of another window were one function."""
    assert (
        _refused(_module(f"{CALL}, {attribute}", IMAGE, KERNEL))
        == f"'custom-call' named 'r' with {what} is not supported"
    )


def test_a_call_that_says_no_more_is_read() -> None:
    (op,) = read_program(_module(f'{CALL}, backend_config="abc"', IMAGE, KERNEL)).body.ops
    assert op.attributes["backend_config"] == "abc"


@pytest.mark.parametrize("attribute", ["convolution_kind=dgrad", "algorithm=dot_bf16_bf16_f32"])
def test_a_convolution_of_another_kind(attribute: str) -> None:
    assert "'convolution' named 'r'" in _refused(_module(f"{CONVOLUTION}, {attribute}", IMAGE, KERNEL))
    assert read_program(_module(CONVOLUTION, IMAGE, KERNEL)).body.ops


def test_a_selection_of_the_greatest_in_any_order() -> None:
    unstable = "(f32[2], s32[2]) topk(x), k=2, largest=true, is_stable=false"
    assert _refused(_module(unstable, "x: f32[4]")) == "'topk' named 'r' with ties in any order is not supported"
    stable = read_program(_module(unstable.replace("false", "true"), "x: f32[4]"))
    assert [op.attributes["is_stable"] for op in stable.body.ops if op.name == "stablehlo.sort"] == [True]


@pytest.mark.parametrize(
    ("told", "mode"),
    [
        ("", "cross_replica"),
        (", channel_id=1", "cross_replica_and_partition"),
        (", channel_id=1, use_global_device_ids=true", "flattened_id"),
    ],
)
def test_a_mode_of_groups_is_the_one_that_the_rest_implies(told: str, mode: str) -> None:
    groups = "{{0,2},{1,3}}" if mode == "flattened_id" else "{{0,1}}"
    head = "HloModule m, replica_count=2, num_partitions=2"
    for named in ("cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id"):
        root = f"f32[4] all-reduce(x), replica_groups={groups}{told}, mode={named}, to_apply=add"
        text = _module(root, "x: f32[4]", head=head)
        if named == mode:
            assert read_program(text).body.ops
        else:
            assert _refused(text) == f"a collective of mode '{named}' is not supported"


@pytest.mark.parametrize(
    "value",
    ["constant({...})", "constant( {...} )", "constant(/* f */{...})", "constant({\n ...})", "constant({{1,2},...})"],
)
def test_an_elided_constant_however_it_is_spaced(value: str) -> None:
    """XLA fills it with numbers of its own making."""
    text = _module(f'f32[2,2] {value}, metadata={{op_name="ij,..."}}')
    with pytest.raises(ReadError) as caught:
        read_program(text)
    assert caught.value.kind is ReadErrorKind.ELIDED


def test_dots_in_names_and_comments_elide_nothing() -> None:
    text = _module('f32[2] constant({1,/* ... */2}), metadata={op_name="a \\"... b,...c"}') + "// {...}\n"
    assert read_program(text).body.ops[0].attributes["value"].tolist() == [1, 2]


def test_one_number_for_many_elements() -> None:
    """XLA gives it to the first one."""
    with pytest.raises(ReadError, match="constant of several elements without braces"):
        read_program(_module("f32[2,2] constant(5)"))


def test_a_mode_on_a_line_of_its_own() -> None:
    root = "f32[4] all-reduce(x), replica_groups={{0,1}},\n    mode=cross_partition, to_apply=add"
    assert "mode 'cross_partition'" in _refused(_module(root, "x: f32[4]", head="HloModule m, replica_count=2"))


@pytest.mark.parametrize(
    ("head", "counts"),
    [
        ("HloModule m, replica_count=2, num_partitions=4", (2, 4)),
        ("HloModule m, replica_count=2,\n  num_partitions=4", (2, 4)),
        ('HloModule m, frontend_attributes={a="num_partitions=8"}, num_partitions=4', (1, 4)),
        ("HloModule m, input_output_alias={ {}: (0, {}, may-alias) }, num_partitions=/* of 8 */4", (1, 4)),
        ("/* HloModule x, num_partitions=2 */ HloModule m // num_partitions=8\n  , num_partitions=4", (1, 4)),
        ("HloModule m /* num_partitions=8 */", (1, 1)),
    ],
)
def test_device_counts_are_those_of_the_module(head: str, counts: tuple[int, int]) -> None:
    program = read_program(_module("f32[4] negate(x)", "x: f32[4]", head=head))
    assert (program.num_replicas, program.num_partitions) == counts


@pytest.mark.parametrize("type_", ["s1[4]", "(f32[2], (s1[4]))"])
def test_a_bit_with_a_sign_is_no_boolean(type_: str) -> None:
    """The conversion makes `i1` of it, which becomes 1 where this becomes -1."""
    root = "s32[4] convert(x)" if type_ == "s1[4]" else f"{type_} copy(x)"
    assert _refused(_module(root, f"x: {type_}")) == "element type 's1' of 'x' is not supported"
