"""Fails a test of pytest in which a kernel has a fault, although the program goes on. `cuda-emulate run --pytest` loads it."""

import ctypes

import pytest

LIBRARY = ctypes.CDLL("libcuda.so.1")


def take_faults():
    """The number of launches with a fault since the last call, and what they have to say."""
    count, text = ctypes.c_int(), ctypes.create_string_buffer(1 << 16)
    if LIBRARY.cudaEmulatorTakeFaults(ctypes.byref(count), text, len(text)) != 0:
        raise RuntimeError("libcuda.so.1 does not tell its faults")
    return count.value, text.value.decode(errors="replace")


def run_phase(result):
    count, text = take_faults()
    if count and result.excinfo is None:
        launches = "a launch" if count == 1 else f"{count} launches"
        result.force_exception(pytest.fail.Exception(f"{launches} of this test had a fault:\n{text}", pytrace=False))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup():
    run_phase((yield))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call():
    run_phase((yield))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown():
    run_phase((yield))
