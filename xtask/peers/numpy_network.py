"""The homework's network in NumPy, in single precision, common to the scripts that train it.

784-128-64-10, sigmoid in all layers, squared error ½Σ, gradients summed over a batch, weights drawn uniformly in ±1/√fan_in.
"""

import itertools

import numpy as np

LAYERS = [784, 128, 64, 10]
BATCH = 16
LEARNING_RATE = 0.1


class Network:
    """Weights are fan_in × fan_out. Activations, deltas and gradients use preallocated buffers."""

    def __init__(self, generator, batch=BATCH, learning_rate=LEARNING_RATE):
        self.batch, self.learning_rate = batch, np.float32(learning_rate)
        shapes = list(itertools.pairwise(LAYERS))
        self.weights = [generator.uniform(-(shape[0] ** -0.5), shape[0] ** -0.5, shape).astype(np.float32) for shape in shapes]
        self.biases = [np.zeros(fan_out, dtype=np.float32) for _, fan_out in shapes]
        self.gradients = [np.empty_like(weights) for weights in self.weights]

    def train(self, images, targets, generator):
        """Trains one epoch."""
        self.train_in_order(images, targets, generator.permutation(len(images)))

    def train_in_order(self, images, targets, order):
        """One step for each batch of the images in the given order. The last batch may be smaller."""
        full = len(order) - len(order) % self.batch
        buffers = Buffers(self.batch)
        for start in range(0, full, self.batch):
            chosen = order[start : start + self.batch]
            self.step(images[chosen], targets[chosen], buffers)
        if full < len(order):
            chosen = order[full:]
            self.step(images[chosen], targets[chosen], Buffers(len(chosen)))

    def step(self, images, targets, buffers):
        activations = [images, *buffers.activations]
        self.forward(activations)

        # For a single image the weights' gradient is an outer product, for which matmul is slow.
        product = np.multiply if len(images) == 1 else np.matmul
        # The deltas carry the factor -learning_rate, so that the weights' gradients need no scaling.
        delta = np.subtract(targets, activations[-1], out=buffers.deltas[-1])
        delta *= self.learning_rate
        for layer in reversed(range(len(self.weights))):
            slope = np.subtract(np.float32(1), activations[layer + 1], out=buffers.slopes[layer])
            slope *= activations[layer + 1]
            delta *= slope
            product(activations[layer].T, delta, out=self.gradients[layer])
            self.biases[layer] += delta.sum(axis=0)
            if layer > 0:
                delta = np.matmul(delta, self.weights[layer].T, out=buffers.deltas[layer - 1])
            self.weights[layer] += self.gradients[layer]

    def forward(self, activations):
        """Computes all activations but the first in place: 1 / (1 + exp(-z))."""
        for weights, biases, fan_in, z in zip(self.weights, self.biases, activations, activations[1:]):
            np.matmul(fan_in, weights, out=z)
            z += biases
            np.negative(z, out=z)
            np.exp(z, out=z)
            z += np.float32(1)
            np.reciprocal(z, out=z)

    def predict(self, images):
        activations = [images, *Buffers(len(images)).activations]
        self.forward(activations)
        return activations[-1].argmax(axis=1)

    def accuracy(self, images, labels):
        """The share of correctly classified images."""
        return float(np.mean(self.predict(images) == labels))


class Buffers:
    def __init__(self, batch):
        self.activations, self.deltas, self.slopes = (
            [np.empty((batch, width), dtype=np.float32) for width in LAYERS[1:]] for _ in range(3)
        )
