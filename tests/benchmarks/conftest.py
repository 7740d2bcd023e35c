"""The benchmarks are no part of the installed package: they are run, and imported here, from the repository's root."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
