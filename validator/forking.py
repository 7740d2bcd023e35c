"""A copy of this process: cheap to make, and no harm is done where it hangs or dies."""

from __future__ import annotations

import faulthandler
import gc
import os
import warnings


def fork() -> int:
    """The number of the copy, 0 in the copy itself, which has one thread and leaves what is on the heap alone."""
    with warnings.catch_warnings():
        # Python and JAX warn that a copy lacks the threads: nobody here waits for long where it waits for one
        warnings.simplefilter("ignore")
        process = os.fork()
    if process == 0:
        gc.disable()
        faulthandler.disable()
    return process
