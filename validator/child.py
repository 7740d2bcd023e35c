"""The process that validates one pair under a time limit: a pickled request on stdin, a pickled reply on stdout."""

from __future__ import annotations

import os
import pickle
import sys
import traceback

from .read.errors import ReadError
from .run import Source, summary_of, validate_here
from .validate import validate_programs


def main() -> None:
    # Libraries below may print; only the reply may reach the pipe.
    reply_fd = os.dup(1)
    os.dup2(2, 1)
    before, after, options = pickle.loads(sys.stdin.buffer.read())
    reply: tuple[object, ...]
    try:
        if isinstance(before, Source):
            reply = ("report", validate_here(before, after, options))
        else:
            reply = ("report", validate_programs(before, after, options))
    except ReadError as error:
        reply = ("unreadable", error.kind, error.where, error.message)
    except Exception as error:
        reply = ("fault", summary_of(error), traceback.format_exc())
    with os.fdopen(reply_fd, "wb") as pipe:
        pickle.dump(reply, pipe)


if __name__ == "__main__":
    main()
