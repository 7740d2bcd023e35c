"""What the commands of the package have in common: streams, interruptions, closed pipes and faults of their own."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress

from .report.verdict import ExitCode

INTERRUPTED = 130
"""What shells report for a process ended by Ctrl-C."""

PIPE_CLOSED = 141
"""What shells report for a process whose output nobody reads any more."""


def run_command(
    program: str,
    run: Callable[[list[str]], int],
    argv: Sequence[str] | None,
    *,
    pipe_closed: int = PIPE_CLOSED,
    unwritable: int = ExitCode.INTERNAL,
) -> int:
    """The exit code of a command: that of `run` on the arguments, or the one for what kept it from its end."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # Reports hold arrows and file names of any bytes; a terminal of another encoding must not stop them.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return pipe_closed
    except OSError as error:
        # Python's own exit code for an exception is 1, which is kept for programs that differ.
        _forget_stdout()
        print(f"{program}: error: cannot write the output: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        return unwritable
    except Exception:
        print(f"{program}: internal error:\n{traceback.format_exc()}", file=sys.stderr)
        return ExitCode.INTERNAL


def _forget_stdout() -> None:
    """Lets what stdout still holds go nowhere, since the interpreter would try to write it once more at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
