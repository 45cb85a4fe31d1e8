"""Times one iteration of the notebook's network in NumPy, in single precision.

784-10-10, ReLU then softmax, cross-entropy, full-batch steps on the first 10,000 training images, learning rate 0.1.

It times two layouts and keeps the faster one: images as rows, and images as columns, as in the notebook. Both write into
preallocated arrays.
"""

import json

import numpy as np

import mnist
import peer

IMAGES = 10_000
UNITS = 10
LEARNING_RATE = np.float32(0.1)


def main():
    parser = peer.arguments(repeats=10)
    parser.add_argument("--iterations", type=int, default=10, help="iterations per repeat; a repeat's time is their mean")
    options = parser.parse_args()
    generator = np.random.default_rng(0)
    dataset, images, labels = mnist.load(IMAGES, generator)
    targets = np.eye(UNITS, dtype=np.float32)[labels]
    weights = [
        generator.standard_normal(shape, dtype=np.float32) / np.float32(shape[0] ** 0.5)
        for shape in [(mnist.PIXELS, UNITS), (UNITS, UNITS)]
    ]

    networks = [way(images, targets, [layer.copy() for layer in weights]) for way in (Rows, Columns)]
    for network in networks:
        network.iterate()
    for rows, columns in zip(*(network.weights_as_rows() for network in networks)):
        assert rows.dtype == columns.dtype == np.float32 and np.allclose(rows, columns, rtol=1e-3, atol=1e-5)
    ways = {network.name: network.iterate for network in networks}
    seconds = peer.measure_fastest(options.repeats, ways, calls=options.iterations)
    print(json.dumps({"peer": peer.numpy_name(), "seconds": {"NumPy": seconds}, "dataset": dataset}))


class Rows:
    """Images as rows, weights fan_in × fan_out."""

    name = "images as rows"

    def __init__(self, images, targets, weights):
        self.images, self.targets = images, targets
        self.w1, self.w2 = weights
        self.b1, self.b2 = np.zeros((2, UNITS), dtype=np.float32)
        self.hidden, self.outputs, self.delta = (np.empty((len(images), UNITS), dtype=np.float32) for _ in range(3))
        self.active = np.empty((len(images), UNITS), dtype=bool)

    def iterate(self):
        hidden, outputs, delta = self.hidden, self.outputs, self.delta
        np.matmul(self.images, self.w1, out=hidden)
        hidden += self.b1
        np.maximum(hidden, 0, out=hidden)
        np.matmul(hidden, self.w2, out=outputs)
        outputs += self.b2
        outputs -= outputs.max(axis=1, keepdims=True)
        np.exp(outputs, out=outputs)
        outputs /= outputs.sum(axis=1, keepdims=True)

        outputs -= self.targets
        outputs *= LEARNING_RATE / np.float32(len(self.images))
        np.matmul(outputs, self.w2.T, out=delta)
        delta *= np.greater(hidden, 0, out=self.active)
        self.w2 -= hidden.T @ outputs
        self.b2 -= outputs.sum(axis=0)
        self.w1 -= self.images.T @ delta
        self.b1 -= delta.sum(axis=0)

    def weights_as_rows(self):
        return self.w1, self.w2


class Columns:
    """Images as columns, weights fan_out × fan_in."""

    name = "images as columns"

    def __init__(self, images, targets, weights):
        self.images, self.targets = np.ascontiguousarray(images.T), np.ascontiguousarray(targets.T)
        self.w1, self.w2 = (np.ascontiguousarray(layer.T) for layer in weights)
        self.b1, self.b2 = np.zeros((2, UNITS, 1), dtype=np.float32)
        self.hidden, self.outputs, self.delta = (np.empty((UNITS, len(images)), dtype=np.float32) for _ in range(3))
        self.active = np.empty((UNITS, len(images)), dtype=bool)

    def iterate(self):
        hidden, outputs, delta = self.hidden, self.outputs, self.delta
        np.matmul(self.w1, self.images, out=hidden)
        hidden += self.b1
        np.maximum(hidden, 0, out=hidden)
        np.matmul(self.w2, hidden, out=outputs)
        outputs += self.b2
        outputs -= outputs.max(axis=0)
        np.exp(outputs, out=outputs)
        outputs /= outputs.sum(axis=0)

        outputs -= self.targets
        outputs *= LEARNING_RATE / np.float32(self.images.shape[1])
        np.matmul(self.w2.T, outputs, out=delta)
        delta *= np.greater(hidden, 0, out=self.active)
        self.w2 -= outputs @ hidden.T
        self.b2 -= outputs.sum(axis=1, keepdims=True)
        self.w1 -= delta @ self.images.T
        self.b1 -= delta.sum(axis=1, keepdims=True)

    def weights_as_rows(self):
        return self.w1.T, self.w2.T


if __name__ == "__main__":
    main()
