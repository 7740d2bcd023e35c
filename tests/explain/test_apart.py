"""Work in a copy of the process: it can fail, crash or hang without any harm."""

import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator

from shardproof.validator.explain.apart import apart


def test_an_answer_of_any_size_comes_back():
    assert apart(lambda: [{"place": 3}], 5, 10) == {"place": 3}
    assert len(apart(lambda: [b"x" * 1_000_000], 5, 10)) == 1_000_000


def test_the_last_answer_before_the_end_counts():
    def breaks(end: Callable[[], object]) -> Iterator[int]:
        yield 1
        yield 2
        end()
        yield 3

    assert apart(lambda: breaks(lambda: None), 5, 10) == 3
    assert apart(lambda: breaks(lambda: 1 // 0), 5, 10) == 2
    assert apart(lambda: breaks(lambda: os.kill(os.getpid(), signal.SIGKILL)), 5, 10) == 2
    assert apart(lambda: breaks(lambda: time.sleep(60)), 5, 3) == 2


def test_nothing_of_the_work_is_seen_here():
    seen = []
    assert apart(lambda: [seen.append(1) or len(seen)], 5, 10) == 1
    assert seen == []


def test_an_error_and_a_crash_give_nothing():
    assert apart(lambda: [1 // 0], 5, 10) is None
    assert apart(lambda: [os.kill(os.getpid(), signal.SIGSEGV)], 5, 10) is None
    assert apart(lambda: [lambda: 0], 5, 10) is None


def test_what_hangs_is_ended():
    start = time.monotonic()
    assert apart(lambda: [time.sleep(60)], 5, 0.3) is None
    assert time.monotonic() - start < 20


def test_what_never_stops_computing_is_ended():
    def spin():
        while True:
            pass

    assert apart(spin, 0, 60) is None


def test_no_warning_is_left_behind():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert apart(lambda: [1], 5, 10) == 1
