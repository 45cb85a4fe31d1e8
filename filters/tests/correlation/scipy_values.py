"""SciPy's correlations of pseudo-random images with pseudo-random kernels, for filters/tests/correlation/scipy.rs.

    python scipy_values.py integers COUNT    # a checksum of each result
    python scipy_values.py reals COUNT       # each result, as the bits of its values
"""

import sys

import numpy as np
from scipy.signal import convolve2d

MASK = (1 << 64) - 1


class Generator:
    """Knuth's linear congruential generator (MMIX), the same in Rust."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK
        return (self.state >> 33) % bound

    def shape(self):
        """A quarter of the images are rows or columns; kernels have up to nine rows and columns, often more than the image."""
        rows, columns = 1 + self.below(8), 1 + self.below(8)
        if (lean := self.below(8)) < 2:
            rows, columns = (1, columns) if lean == 0 else (rows, 1)
        return (rows, columns), (1 + self.below(9), 1 + self.below(9))

    def matrix(self, shape, value):
        return np.array([value(self) for _ in range(shape[0] * shape[1])], dtype=np.float32).reshape(shape)


def integer(generator):
    return generator.below(511) - 255


def real(generator):
    return (generator.below(1 << 20) - (1 << 19)) / (1 << 19)


def correlate(kernel, image):
    return convolve2d(image, np.rot90(kernel, 2), mode="same")


def checksum(result):
    total = 2166136261
    for value in result.ravel():
        assert abs(value) < 1 << 24 and value == int(value)
        total = ((total ^ (int(value) & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return total


kind, count = sys.argv[1], int(sys.argv[2])
lines = []
for case in range(count):
    generator = Generator(case)
    image_shape, kernel_shape = generator.shape()
    value = integer if kind == "integers" else real
    image, kernel = generator.matrix(image_shape, value), generator.matrix(kernel_shape, value)
    result = correlate(kernel, image)
    assert result.shape == image.shape and result.dtype == np.float32
    if kind == "integers":
        lines.append(f"{checksum(result):08x}")
    else:
        lines.append(" ".join(f"{bits:08x}" for bits in result.ravel().view(np.uint32)))
if kind == "integers":
    lines = [" ".join(lines[i : i + 12]) for i in range(0, count, 12)]
print("\n".join(lines))
