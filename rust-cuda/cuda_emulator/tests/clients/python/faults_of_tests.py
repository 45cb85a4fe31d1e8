"""Tests of pytest: two have launches with a fault, the same one, and the tests between and after them have none."""

import numpy as np
import pytest
from numba import cuda


@cuda.jit(lineinfo=True)
def shifted(values, out):
    i = cuda.grid(1)
    out[i] = values[i + 1]


def shift(n, threads):
    values, out = cuda.to_device(np.arange(n, dtype=np.float32)), cuda.device_array(n, np.float32)
    shifted[1, threads](values, out)
    return out.copy_to_host()


def test_wrong():
    shift(32, 32)


def test_right():
    assert shift(32, 31)[30] == 31


def test_wrong_again():
    shift(32, 32)
    shift(32, 32)


@pytest.fixture
def wrong():
    shift(32, 32)


def test_of_a_wrong_fixture(wrong):
    pass


def test_that_fails_by_itself():
    shift(32, 32)
    raise AssertionError("as it says")


def test_after_all():
    assert shift(2, 1)[0] == 1
