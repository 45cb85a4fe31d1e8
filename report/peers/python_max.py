"""Times the element-wise maximum as two interpreted loops, over lists and, where NumPy is installed, over its arrays."""

import argparse
import json
import platform
import random
import statistics
import time

parser = argparse.ArgumentParser()
parser.add_argument("--repeats", type=int, default=3)
parser.add_argument("--size", type=int, nargs=2, default=[1000, 1000], metavar=("ROWS", "COLUMNS"))
options = parser.parse_args()
rows, columns = options.size


def measure(work):
    """Seconds per call of work, after one call to warm up."""
    work()
    seconds = []
    for _ in range(options.repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return {"min": min(seconds), "median": statistics.median(seconds), "repeats": options.repeats}


def over_lists():
    result = [[0] * columns for _ in range(rows)]
    for i in range(rows):
        for j in range(columns):
            result[i][j] = a[i][j] if a[i][j] > b[i][j] else b[i][j]
    return result


generator = random.Random(0)
a, b = ([[generator.randrange(256) for _ in range(columns)] for _ in range(rows)] for _ in range(2))
seconds, missing = {"Python loops over lists": measure(over_lists)}, {}
expected = over_lists()

try:
    import numpy as np
except ImportError:
    missing["Python loops over NumPy arrays"] = "numpy"
else:
    a, b = np.array(a, dtype=np.int32), np.array(b, dtype=np.int32)

    def over_arrays():
        result = np.zeros_like(a)
        for i in range(rows):
            for j in range(columns):
                result[i, j] = a[i, j] if a[i, j] > b[i, j] else b[i, j]
        return result

    seconds["Python loops over NumPy arrays"] = measure(over_arrays)
    assert np.array_equal(over_arrays(), expected)

print(json.dumps({"peer": f"Python {platform.python_version()}", "seconds": seconds, "missing": missing}))
