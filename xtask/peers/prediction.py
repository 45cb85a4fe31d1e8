"""Times predictions of the notebook's network in NumPy: 784-10-10, ReLU then softmax, in single precision.

Each call allocates new arrays. Both layouts of the weights are tried, and the faster one is timed.
"""

import json

import numpy as np

import mnist
import peer

parser = peer.arguments(repeats=200)
parser.add_argument("--batch", type=int, default=1)
options = parser.parse_args()
generator = np.random.default_rng(0)
_, images, _ = mnist.load(options.batch, generator)
w1, w2 = (generator.standard_normal(shape, dtype=np.float32) / np.float32(shape[0] ** 0.5) for shape in [(784, 10), (10, 10)])
b1, b2 = np.full(10, 0.1, dtype=np.float32), np.full(10, 0.1, dtype=np.float32)
v1, v2 = np.ascontiguousarray(w1.T), np.ascontiguousarray(w2.T)
image, columns = images[0], np.ascontiguousarray(images.T)
c1, c2 = b1[:, None], b2[:, None]
maximum, exp = np.maximum, np.exp


def of_one():
    """softmax(relu(x·W₁ + b₁)·W₂ + b₂), without the softmax's shift: the logits of greyscale values 0…1 are small."""
    e = exp(maximum(image @ w1 + b1, 0) @ w2 + b2)
    return e / e.sum()


def of_one_transposed():
    e = exp(v2 @ maximum(v1 @ image + b1, 0) + b2)
    return e / e.sum()


def of_rows():
    z = images @ w1
    z += b1
    maximum(z, 0, out=z)
    z = z @ w2
    z += b2
    z -= z.max(axis=1, keepdims=True)
    exp(z, out=z)
    z /= z.sum(axis=1, keepdims=True)
    return z


def of_rows_transposed():
    """Images as rows, but intermediate values as columns, whose sums NumPy vectorises."""
    z = v1 @ images.T
    z += c1
    maximum(z, 0, out=z)
    z = v2 @ z
    z += c2
    z -= z.max(axis=0)
    exp(z, out=z)
    z /= z.sum(axis=0)
    return z


def of_columns():
    z = v1 @ columns
    z += c1
    maximum(z, 0, out=z)
    z = v2 @ z
    z += c2
    z -= z.max(axis=0)
    exp(z, out=z)
    z /= z.sum(axis=0)
    return z


many = {"rows": of_rows, "rows, then columns": of_rows_transposed, "columns": of_columns}
ways = {"rows": of_one, "columns": of_one_transposed} if options.batch == 1 else many
expected = of_rows()
for name, way in ways.items():
    result = way()
    result = result.reshape(1, -1) if result.ndim == 1 else result if name == "rows" else result.T
    assert result.dtype == np.float32 and np.allclose(result, expected, rtol=1e-4, atol=1e-6), name

# Enough calls per repeat to make the timer's overhead negligible.
calls = max(1, 100 // options.batch)
seconds = peer.measure_fastest(options.repeats, ways, calls)
print(json.dumps({"peer": peer.numpy_name(), "seconds": {"NumPy": seconds}, "batch": options.batch}))
