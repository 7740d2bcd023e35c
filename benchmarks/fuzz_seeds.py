"""What `fuzz_inputs` damages: files of the repository that are fine, and the command lines that read them."""

from __future__ import annotations

import contextlib
import gzip
import io
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from shardproof.validator import compat
from shardproof.validator.cli import main as validate

ROOT = Path(__file__).parents[1]
READ = ROOT / "tests" / "read" / "data"
LLAMA = ROOT / "examples" / "aws_llama"


@dataclass(frozen=True, slots=True)
class Seed:
    """Files of a run that is fine, and the command line in which `{n}` stands for the n-th of them."""

    name: str
    files: tuple[bytes, ...]
    command: tuple[str, ...]
    damaged: tuple[int, ...] = (0,)
    """The files to damage, one of them at a time."""
    names: tuple[str, ...] = ()
    """The files' names, where these matter."""


def _pair(name: str, before: bytes, after: bytes) -> Seed:
    return Seed(name, (before, after), ("{0}", "{1}"), (0, 1))


@cache
def seeds(kind: str) -> tuple[Seed, ...]:
    """What is damaged: files of the repository, in the order of their names."""
    return tuple(_SEEDS[kind]())


def _hlo_texts() -> Iterator[Seed]:
    for after in sorted(READ.glob("*_after.hlo.txt")):
        before = after.with_name(after.name.replace("_after", "_before"))
        yield _pair(after.name, before.read_bytes(), after.read_bytes())
    folder = ROOT / "examples" / "tp_mlp"
    yield _pair("tp_mlp", (folder / "before.hlo.txt").read_bytes(), (folder / "after.hlo.txt").read_bytes())


def _hlo_protos() -> Iterator[Seed]:
    for folder in ("dump", "dump_named"):
        yield _pair(folder, *(path.read_bytes() for path in sorted((READ / folder).iterdir())))
    files = [gzip.decompress((LLAMA / f"tp{n}_layer1.hlo.pb.gz").read_bytes()) for n in (1, 2)]
    yield Seed(
        "aws_llama", (*files, (LLAMA / "relations.mlir").read_bytes()), ("{0}", "{1}", "--relations", "{2}"), (0, 1)
    )


def _packed() -> Iterator[Seed]:
    for seed in _hlo_protos():
        yield Seed(seed.name, tuple(gzip.compress(file, mtime=0) for file in seed.files), seed.command, seed.damaged)


def _lowered() -> Iterator[Path]:
    yield from sorted(READ.glob("*_lowered.mlir"))
    yield from sorted((ROOT / "tests" / "mutation" / "data").glob("*.mlir"))


def _stablehlo() -> Iterator[Seed]:
    for path in _lowered():
        after = path.with_name(path.name.replace("_lowered.mlir", "_after.hlo.txt"))
        yield _pair(path.name, path.read_bytes(), (after if after.exists() else path).read_bytes())


def _bytecode() -> Iterator[Seed]:
    for path in _lowered():
        module = compat.parse_module(path.read_text(), compat.new_context())
        plain = io.BytesIO()
        module.operation.write_bytecode(plain)
        forms = {"plain": plain.getvalue(), "portable": compat.portable_artifact(module)}
        for form, data in forms.items():
            if data is not None:
                yield _pair(f"{path.name} {form}", data, path.read_bytes())


def _problems() -> Iterator[Seed]:
    for path in sorted((ROOT / "lit").rglob("*.mlir")):
        data = path.read_bytes()
        if b"shardproof.problem" in data and b"Inputs/" not in data:
            yield Seed(str(path.relative_to(ROOT)), (data,), ("--split-input-file", "{0}"))


_PLAIN = """\
module @m attributes {{mhlo.num_partitions = {devices} : i32}} {{
func.func public @main(%a: tensor<{width}xf32>, %b: tensor<{width}x4xf32>) -> tensor<{width}xf32> {{
%c = stablehlo.constant dense<0.0> : tensor<f32>
%s = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [1]
  : (tensor<{width}x4xf32>, tensor<f32>) -> tensor<{width}xf32>
%out = stablehlo.add %a, %s : tensor<{width}xf32>
return %out : tensor<{width}xf32>
}}}}
"""
_ENTRIES = (
    "{shard = 0}", '"{devices=[4]<=[4]}"', '"{devices=[4]<=[2,2]T(1,0)}"', '{shard = 0, axis = ["x", "y"]}', "unit",
    '#sdy.sharding<@mesh, [{"x", "y"}]>', "{shard = 0, blocks = [8, 8]}", "affine_map<(d, i)[n] -> (i * n + d)>",
    '{map = affine_map<(x, y, i) -> (8 * x + 4 * y + i)>, mesh = @mesh}', "{repeat = [{shard = 0}], count = 1}",
    "[{map = affine_map<(d, i) -> (4 * d + i)>, domain = affine_set<(d, i) : (i - 2 >= 0)>}, "
    "{map = affine_map<(d, i) -> ((4 * d + i) mod 16)>, domain = affine_set<(d, i) : (1 - i floordiv 1 >= 0)>}]",
)  # fmt: skip


def _relations() -> Iterator[Seed]:
    programs = [_PLAIN.format(devices=devices, width=width).encode() for devices, width in ((1, 16), (4, 4))]
    for number, entry in enumerate(_ENTRIES):
        lists = f"{{parameters = [{entry}, {{shard = 0}}], results = [{entry}]}}"
        text = f'sdy.mesh @mesh = <["x"=2, "y"=2]>\n"shardproof.relations"() {lists} : () -> ()\n'
        yield Seed(f"entry {number}", (text.encode(), *programs), ("{1}", "{2}", "--relations", "{0}"))
    files = [(LLAMA / f"tp{n}_layer1.hlo.pb.gz").read_bytes() for n in (1, 2)]
    yield Seed("aws_llama", ((LLAMA / "relations.mlir").read_bytes(), *files), ("{1}", "{2}", "--relations", "{0}"))


def _certificates() -> Iterator[Seed]:
    for pair in _hlo_texts():
        with tempfile.TemporaryDirectory() as folder:
            names = [Path(folder) / name for name in ("before", "after", "certificate")]
            for path, data in zip(names, pair.files, strict=False):
                path.write_bytes(data)
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                validate([str(names[0]), str(names[1]), "--certificate", str(names[2])])
            if names[2].exists():
                command = ("{0}", "{1}", "{2}", "--timeout", "20", "--memory-limit", "1500")
                yield Seed(pair.name, (names[2].read_bytes(), *pair.files), command)


def _dumps() -> Iterator[Seed]:
    for folder, option in ((READ / "dump", ()), (ROOT / "examples" / "wrong_pass" / "dump", ("--bisect",))):
        paths = sorted(folder.iterdir())[:6]  # the partitioner is among them, and goes wrong in the second folder
        yield Seed(
            folder.parent.name,
            tuple(path.read_bytes() for path in paths),
            ("--xla-dump", ".", "--timeout", "20", *option),
            tuple(range(len(paths))),
            tuple(path.name for path in paths),
        )


def _outputs() -> Iterator[Seed]:
    """Programs and problems of every verdict, written in every format."""
    pairs = [*_hlo_texts(), *_stablehlo(), *_problems(), *list(_relations())[:3], *_dumps()]
    for seed in pairs:
        for format_ in ("json", "sarif", "junit"):
            options = ("--format", format_, "-o", "verdict", "--html", "page.html", "--timeout", "20", "-v")
            yield Seed(f"{seed.name} {format_}", seed.files, (*seed.command, *options), seed.damaged, seed.names)


def _passes() -> Iterator[Seed]:
    ways = (
        ("--inline-calls", "--unroll-loops=max-trips=8"),
        ("--explicit-replica-groups", "--general-dots", "--fold-partition-tables"),
        ("--outline-layers", "--strip-dead-values", "--drop-annotations"),
        ("--pass-pipeline=builtin.module(cse,canonicalize,inline-calls)",),
        ("--split-input-file", "--allow-unregistered-dialect", "--inline-calls"),
    )
    files = [*_lowered(), *sorted((ROOT / "lit" / "passes").rglob("*.mlir")), *sorted(READ.glob("*_after.hlo.txt"))]
    for number, path in enumerate(files):
        yield Seed(path.name, (path.read_bytes(),), ("{0}", *ways[number % len(ways)]))


def _options() -> Iterator[Seed]:
    (seed,) = (seed for seed in _hlo_texts() if seed.name == "tp_mlp")
    yield Seed("tp_mlp", seed.files, seed.command, ())


_SEEDS: dict[str, Callable[[], Iterator[Seed]]] = {
    "hlo-text": _hlo_texts,
    "hlo-proto": _hlo_protos,
    "gzip": _packed,
    "stablehlo-text": _stablehlo,
    "bytecode": _bytecode,
    "problem": _problems,
    "relations": _relations,
    "certificate": _certificates,
    "dump": _dumps,
    "output": _outputs,
    "passes": _passes,
    "options": _options,
    "check-options": lambda: (replace(seed, command=seed.command[:3], damaged=()) for seed in _certificates()),
}
KINDS = tuple(_SEEDS)
