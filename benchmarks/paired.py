"""Whether a change makes proofs faster: `python -m benchmarks.paired COMMIT MODEL [KEY=N]... [--rounds N]`.

The validator of a commit and the one of the working tree prove the same model in turn, each time in a new process, so
that other work on the machine disturbs both alike. Printed are the processor seconds of each round and the ratio of the
least ones.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from .compiling import CACHE, compiled
from .models import MODELS, parse

ROOT = Path(__file__).resolve().parent.parent

TASK = """
import sys, time
from validator.read import read_pair
from validator.options import Options
from validator.validate import validate_programs
before, after = read_pair(*sys.argv[1:])
start = time.process_time()
report = validate_programs(before, after, Options())
print(time.process_time() - start, report.verdict.name)
"""


def once(tree: Path, paths: tuple[str, str]) -> tuple[float, str]:
    """Seconds and verdict of one proof with the validator of a source tree."""
    # Without the user's path the folder itself is the first place that Python looks for `validator`.
    run = subprocess.run([sys.executable, "-c", TASK, *paths], cwd=tree, capture_output=True, text=True, check=True)
    seconds, verdict = run.stdout.split()
    return float(seconds), verdict


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paired", description="Compare the working tree with a commit, in turns."
    )
    parser.add_argument("commit")
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("changes", nargs="*", metavar="KEY=N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    options = parser.parse_args(arguments)
    made = compiled(parse(options.model, options.changes), cache=CACHE)
    paths = (str(made.before), str(made.after))
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "commit"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(tree), options.commit], check=True)
        try:
            old, new = [], []
            for _ in range(options.rounds):
                for times, where in ((old, tree), (new, ROOT)):
                    seconds, verdict = once(where, paths)
                    times.append(seconds)
                    name = options.commit if where is tree else "working tree"
                    print(f"{name:<16} {seconds:>8.2f} s  {verdict}", flush=True)
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)
    print(f"least: {min(old):.2f} s → {min(new):.2f} s, {min(new) / min(old):.2f} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
