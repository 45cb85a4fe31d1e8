"""Times one epoch of the homework's network (numpy_network.py) in NumPy and PyTorch, in single precision.

The images are MNIST's training set if MNIST_DIR names its folder, else synthetic with the same share of nonzero pixels.
"""

import itertools
import json

import numpy as np

import mnist
import peer
from numpy_network import BATCH, LAYERS, LEARNING_RATE, Network


def main():
    parser = peer.arguments(repeats=3)
    parser.add_argument("--images", type=int, default=60_000)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--learning-rate", type=float, default=LEARNING_RATE)
    options = parser.parse_args()
    generator = np.random.default_rng(0)
    dataset, images, labels = mnist.load(options.images, generator)
    targets = np.eye(LAYERS[-1], dtype=np.float32)[labels]

    network = Network(generator, options.batch, options.learning_rate)
    seconds = {"NumPy": peer.measure(options.repeats, lambda: network.train(images, targets, generator))}
    accuracy = {"NumPy": network.accuracy(images, labels)}
    names, absent = [peer.numpy_name()], peer.Absent()

    def run_torch():
        import torch

        seconds["PyTorch"], accuracy["PyTorch"] = time_torch(torch, options, images, labels, targets)
        names.append(f"PyTorch {torch.__version__}")

    absent.attempt(["PyTorch"], "torch", run_torch)

    print(
        json.dumps(
            {
                "peer": ", ".join(names),
                "seconds": seconds,
                "missing": absent.missing,
                "failed": absent.failed,
                "dataset": dataset,
                "images": len(images),
                "accuracy": accuracy,
            }
        )
    )


def time_torch(torch, options, images, labels, targets):
    """Times the same epoch with autograd and torch.optim.SGD on the CPU."""
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    images, targets = torch.from_numpy(images), torch.from_numpy(targets)
    modules = [module for shape in itertools.pairwise(LAYERS) for module in (torch.nn.Linear(*shape), torch.nn.Sigmoid())]
    network = torch.nn.Sequential(*modules)
    optimizer = torch.optim.SGD(network.parameters(), lr=options.learning_rate)

    def train():
        for chosen in torch.randperm(len(images)).split(options.batch):
            optimizer.zero_grad()
            loss = 0.5 * (network(images[chosen]) - targets[chosen]).square().sum()
            loss.backward()
            optimizer.step()

    seconds = peer.measure(options.repeats, train)
    with torch.no_grad():
        accuracy = float(np.mean(network(images).argmax(dim=1).numpy() == labels))
    return seconds, accuracy


if __name__ == "__main__":
    main()
