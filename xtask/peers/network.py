"""Times one epoch of the homework's network in NumPy and PyTorch, in single precision.

784-128-64-10, the sigmoid everywhere, squared error, batches of 16 whose gradients are summed, learning rate 0.1.
The images are MNIST's training set if MNIST_DIR names its folder, else synthetic with as many pixels that are not zero.
"""

import gzip
import itertools
import json
import os
import pathlib

import numpy as np

import peer

LAYERS = [784, 128, 64, 10]
BATCH = 16
LEARNING_RATE = 0.1


def main():
    parser = peer.arguments(repeats=3)
    parser.add_argument("--images", type=int, default=60_000)
    options = parser.parse_args()
    generator = np.random.default_rng(0)
    dataset, images, labels = load(options.images, generator)
    targets = np.eye(10, dtype=np.float32)[labels]

    network = Network(generator)
    seconds = {"NumPy": peer.measure(options.repeats, lambda: network.train(images, targets, generator))}
    accuracy = {"NumPy": float(np.mean(network.predict(images) == labels))}
    names, missing = [peer.numpy_name()], {}
    try:
        import torch
    except ImportError:
        missing["PyTorch"] = "torch"
    else:
        names.append(f"PyTorch {torch.__version__}")
        seconds["PyTorch"], accuracy["PyTorch"] = time_torch(torch, options, images, labels, targets)

    print(
        json.dumps(
            {
                "peer": ", ".join(names),
                "seconds": seconds,
                "missing": missing,
                "dataset": dataset,
                "images": len(images),
                "accuracy": accuracy,
            }
        )
    )


class Network:
    """Weights are fan_in × fan_out. Activations, deltas and gradients live in buffers that every batch reuses."""

    def __init__(self, generator):
        shapes = list(itertools.pairwise(LAYERS))
        self.weights = [generator.standard_normal(shape, dtype=np.float32) / np.float32(shape[0] ** 0.5) for shape in shapes]
        self.biases = [np.zeros(fan_out, dtype=np.float32) for _, fan_out in shapes]
        self.gradients = [np.empty_like(weights) for weights in self.weights]

    def train(self, images, targets, generator):
        """One epoch. What is left over by full batches is a smaller last batch."""
        permutation = generator.permutation(len(images))
        full = len(images) - len(images) % BATCH
        buffers = Buffers(BATCH)
        for start in range(0, full, BATCH):
            chosen = permutation[start : start + BATCH]
            self.step(images[chosen], targets[chosen], buffers)
        if full < len(images):
            chosen = permutation[full:]
            self.step(images[chosen], targets[chosen], Buffers(len(chosen)))

    def step(self, images, targets, buffers):
        activations = [images, *buffers.activations]
        self.forward(activations)

        # The deltas carry the factor -learning_rate, so that the weights' gradients need no scaling.
        delta = np.subtract(targets, activations[-1], out=buffers.deltas[-1])
        delta *= np.float32(LEARNING_RATE)
        for layer in reversed(range(len(self.weights))):
            slope = np.subtract(np.float32(1), activations[layer + 1], out=buffers.slopes[layer])
            slope *= activations[layer + 1]
            delta *= slope
            np.matmul(activations[layer].T, delta, out=self.gradients[layer])
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


class Buffers:
    def __init__(self, batch):
        self.activations, self.deltas, self.slopes = (
            [np.empty((batch, width), dtype=np.float32) for width in LAYERS[1:]] for _ in range(3)
        )


def time_torch(torch, options, images, labels, targets):
    """The same epoch by autograd and torch.optim.SGD, on the CPU."""
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    images, targets = torch.from_numpy(images), torch.from_numpy(targets)
    modules = [module for shape in itertools.pairwise(LAYERS) for module in (torch.nn.Linear(*shape), torch.nn.Sigmoid())]
    network = torch.nn.Sequential(*modules)
    optimizer = torch.optim.SGD(network.parameters(), lr=LEARNING_RATE)

    def train():
        for chosen in torch.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            loss = 0.5 * (network(images[chosen]) - targets[chosen]).square().sum()
            loss.backward()
            optimizer.step()

    seconds = peer.measure(options.repeats, train)
    with torch.no_grad():
        accuracy = float(np.mean(network(images).argmax(dim=1).numpy() == labels))
    return seconds, accuracy


def load(count, generator):
    """The name of the data, images as count × 784 numbers 0…1, and labels."""
    folder = os.environ.get("MNIST_DIR")
    if folder:
        pixels = read_idx(folder, "train-images-idx3-ubyte", header=16)
        labels = read_idx(folder, "train-labels-idx1-ubyte", header=8)
        images = pixels.reshape(-1, LAYERS[0])[:count].astype(np.float32) / np.float32(255)
        return "MNIST", images, labels[:count]
    prototypes = generator.random((10, LAYERS[0])) < 0.19
    labels = generator.integers(0, 10, size=count)
    images = generator.random((count, LAYERS[0]), dtype=np.float32)
    images *= prototypes[labels]
    return "synthetic", images, labels


def read_idx(folder, name, header):
    path = pathlib.Path(folder, name)
    content = path.read_bytes() if path.exists() else gzip.decompress(path.with_name(f"{name}.gz").read_bytes())
    return np.frombuffer(content, dtype=np.uint8, offset=header)


if __name__ == "__main__":
    main()
