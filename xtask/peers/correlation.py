"""Times the correlation of an image with a kernel, zero-padded, in SciPy, Numba and OpenCV."""

import json

import numpy as np

import peer

FILTERS = {"sobel": ((1, 2, 1), (1, 0, -1)), "sobel_5x5": ((1, 2, 1, 2, 1), (1, 0, 0, 0, -1))}

parser = peer.arguments(repeats=20)
parser.add_argument("--size", type=int, nargs=2, default=[1000, 1000], metavar=("ROWS", "COLUMNS"))
parser.add_argument("--kernel", type=int, nargs=2, default=[3, 3], metavar=("ROWS", "COLUMNS"))
parser.add_argument("--filter", choices=FILTERS)
options = parser.parse_args()
generator = np.random.default_rng(0)
image = generator.uniform(0, 1, options.size).astype(np.float32)
kernel = generator.uniform(-1, 1, options.kernel).astype(np.float32)
if options.filter:
    kernel = np.outer(*FILTERS[options.filter]).astype(np.float32)

names, seconds, absent = [f"NumPy {np.__version__}"], {}, peer.Absent()
results = []


def time_scipy():
    import scipy
    from scipy.signal import convolve2d

    rotated = np.ascontiguousarray(np.rot90(kernel, 2))
    # SciPy convolves on one thread for any --threads.
    correlate = lambda: convolve2d(image, rotated, mode="same")
    seconds["SciPy"] = peer.measure(options.repeats, correlate)
    results.append(correlate())
    names.append(f"SciPy {scipy.__version__}")


def time_opencv():
    import cv2

    cv2.setNumThreads(options.threads)
    correlate = lambda: cv2.filter2D(image, -1, kernel, borderType=cv2.BORDER_CONSTANT)
    seconds["OpenCV"] = peer.measure(options.repeats, correlate)
    results.append(correlate())
    names.append(f"OpenCV {cv2.__version__}")


def time_numba():
    import numba

    def correlate(kernel, image):
        (kernel_rows, kernel_columns), (rows, columns) = kernel.shape, image.shape
        result = np.zeros_like(image)
        for i in numba.prange(rows):
            for j in range(columns):
                total = np.float32(0)
                for u in range(kernel_rows):
                    for v in range(kernel_columns):
                        row, column = i + u - kernel_rows // 2, j + v - kernel_columns // 2
                        if 0 <= row < rows and 0 <= column < columns:
                            total += kernel[u, v] * image[row, column]
                result[i, j] = total
        return result

    numba.set_num_threads(options.threads)
    times = {}
    if options.threads == 1:
        sequential = numba.njit(correlate)  # Without parallel=True, prange is range.
        times["Numba"] = peer.measure(options.repeats, lambda: sequential(kernel, image))
    else:
        parallel = numba.njit(parallel=True)(correlate)
        times["Numba parallel"] = peer.measure(options.repeats, lambda: parallel(kernel, image))
    results.append((sequential if options.threads == 1 else parallel)(kernel, image))
    seconds.update(times)
    names.append(f"Numba {numba.__version__}")


absent.attempt(["SciPy"], "scipy", time_scipy)
absent.attempt(["OpenCV"], "cv2", time_opencv)
absent.attempt(["Numba" if options.threads == 1 else "Numba parallel"], "numba", time_numba)
assert all(np.allclose(result, results[0], rtol=0, atol=1e-4) for result in results)
absent.missing = {label: {"cv2": "opencv-python-headless"}.get(package, package) for label, package in absent.missing.items()}
print(json.dumps({"peer": ", ".join(names), "seconds": seconds, "missing": absent.missing, "failed": absent.failed}))
