"""Times the element-wise maximum of two matrices of integers 0…255 in NumPy and Numba."""

import json

import numpy as np

import peer

parser = peer.arguments(repeats=20)
parser.add_argument("--size", type=int, nargs=2, default=[1000, 1000], metavar=("ROWS", "COLUMNS"))
options = parser.parse_args()
generator = np.random.default_rng(0)
a, b = generator.integers(0, 256, size=(2, *options.size), dtype=np.int32)

# NumPy has no parallel maximum: it uses one thread for any --threads.
names, absent = [peer.numpy_name()], peer.Absent()
seconds = {"NumPy": peer.measure(options.repeats, lambda: np.maximum(a, b))}


def time_numba():
    import numba

    def maximum(a, b):
        result = np.empty_like(a)
        rows, columns = a.shape
        for row in numba.prange(rows):
            for column in range(columns):
                result[row, column] = max(a[row, column], b[row, column])
        return result

    parallel = numba.njit(parallel=True)(maximum)
    numba.set_num_threads(options.threads)
    times = {}
    if options.threads == 1:
        sequential = numba.njit(maximum)  # Without parallel=True, prange is range.
        times["Numba"] = peer.measure(options.repeats, lambda: sequential(a, b))
    times["Numba parallel"] = peer.measure(options.repeats, lambda: parallel(a, b))
    assert np.array_equal(parallel(a, b), np.maximum(a, b))
    seconds.update(times)
    names.append(f"Numba {numba.__version__}")


absent.attempt((["Numba"] if options.threads == 1 else []) + ["Numba parallel"], "numba", time_numba)
print(json.dumps({"peer": ", ".join(names), "seconds": seconds, "missing": absent.missing, "failed": absent.failed}))
