"""Runs a command and fails unless it ends with the given exit code: `expect_exit.py CODE COMMAND...`."""

import subprocess
import sys

expected = int(sys.argv[1])
code = subprocess.run(sys.argv[2:], check=False).returncode
if code != expected:
    print(f"exit code {code}, expected {expected}", file=sys.stderr)
sys.exit(code != expected)
