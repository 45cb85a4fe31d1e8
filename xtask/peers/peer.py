"""Common code of the peers' scripts: arguments, timing, version names, and peers that may be absent."""

import argparse
import statistics
import time

import numpy as np


def arguments(repeats):
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1, help="worker threads; also set the libraries' environment variables: OMP_NUM_THREADS, …")
    parser.add_argument("--repeats", type=int, default=repeats)
    return parser


def measure(repeats, work, calls=1):
    """Seconds per call of work, after one call to warm up; each repeat is the mean of the given number of calls.

    The result of the last call is freed outside the timed span.
    """
    work()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            result = work()
        seconds.append((time.perf_counter() - start) / calls)
        del result
    return {"min": min(seconds), "median": statistics.median(seconds), "repeats": repeats}


def measure_fastest(repeats, ways, calls=1):
    """Tries several equivalent functions, a few repeats each, then measures the fastest and adds its name."""
    tried = {name: measure(max(3, repeats // 10), way, calls)["min"] for name, way in ways.items()}
    name = min(tried, key=tried.get)
    return {**measure(repeats, ways[name], calls), "way": name}


class Absent:
    """Reasons for labels without a time: a package that is not installed, or the error of a broken one."""

    def __init__(self):
        self.missing, self.failed = {}, {}

    def attempt(self, labels, package, work, *arguments):
        """Runs work, which imports the package and times the labels. An exception only loses these labels' times."""
        try:
            work(*arguments)
        except ModuleNotFoundError as error:
            if error.name == package:
                self.missing |= dict.fromkeys(labels, package)
            else:
                self.fail(labels, error)
        except (Exception, SystemExit) as error:  # A broken library may raise anything, and even end the script.
            self.fail(labels, error)

    def fail(self, labels, error):
        text = " ".join(str(error).split())[:200]
        self.failed |= dict.fromkeys(labels, f"{type(error).__name__}: {text}")


def numpy_name():
    """NumPy's version and its BLAS."""
    try:
        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        name = "OpenBLAS" if "openblas" in blas["name"] else blas["name"]
        return f"NumPy {np.__version__} ({name} {blas['version']})"
    except (KeyError, TypeError):  # NumPy before 1.26
        return f"NumPy {np.__version__}"
