"""Counterexamples are made small."""

import time

import numpy as np

from shardproof.validator.evaluate.minimise import MAX_TRIALS, minimised

FOUND = (0, 0, (0,), 1.0, 2.0)


def _minimal(differs, *inputs):
    calls = []

    def differ(arrays):
        calls.append(arrays)
        return FOUND if differs(*arrays) else None

    small, found = minimised(differ, inputs, FOUND, time.monotonic() + 60)
    assert found == FOUND and len(calls) <= MAX_TRIALS
    assert all(old.shape == new.shape and old.dtype == new.dtype for old, new in zip(inputs, small, strict=True))
    assert differs(*small)
    return small


def _noise(*shape, dtype=np.float32):
    return np.random.default_rng(0).normal(3, 20, shape).astype(dtype)


def test_one_element_that_matters_is_found():
    (small,) = _minimal(lambda x: x[3, 5] != 0, _noise(8, 16))
    assert np.argwhere(small).tolist() == [[3, 5]] and small[3, 5] == 1


def test_elements_that_matter_together_are_kept():
    (small,) = _minimal(lambda x: x[0, 0] * x[7, 15] != 0, _noise(8, 16))
    assert np.argwhere(small).tolist() == [[0, 0], [7, 15]] and small.sum() == 2


def test_inputs_that_do_not_matter_are_zero():
    x, y, z = _minimal(lambda x, y, z: y[2] > x[0] and z.size > 0, _noise(4), _noise(4) + 100, _noise(4))
    assert not z.any() and not x.any()
    assert np.argwhere(y).tolist() == [[2]] and y[2] == 1


def test_numbers_become_small():
    (small,) = _minimal(lambda x: (x > 2).any(), np.full((6,), 123.25))
    assert small.sum() == 3 and np.count_nonzero(small) == 1
    (small,) = _minimal(lambda x: (x < 0).any(), np.full((6,), -7, np.int32))
    assert small.sum() == -1


def test_what_is_unsigned_or_boolean_stays_so():
    (small,) = _minimal(lambda x: x[1] >= 2, np.full((3,), 200, np.uint8))
    assert small.tolist() == [0, 2, 0]
    (small,) = _minimal(lambda x: bool(x[1]), np.ones((3,), np.bool_))
    assert small.tolist() == [False, True, False]


def test_no_trial_after_the_deadline():
    array = _noise(4)
    small, found = minimised(lambda arrays: FOUND, [array], FOUND, time.monotonic() - 1)
    assert small[0] is array and found == FOUND
