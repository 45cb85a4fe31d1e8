"""Trains the homework's network in NumPy to a validation accuracy, and measures its accuracy on the test images.

The time runs from the end of the imports to the test accuracy, and includes reading MNIST's files from MNIST_DIR. The first
50,000 images are for training, shuffled each epoch, and the other 10,000 for validation.
"""

import json
import os
import time

import numpy as np

import mnist
import peer
from numpy_network import LAYERS, Network

TRAINING_IMAGES, ALL_IMAGES, TEST_IMAGES = 50_000, 60_000, 10_000
# Number of images between two measurements of the validation accuracy.
CHECK_EVERY = 25_000
MAX_EPOCHS = 20


def main():
    parser = peer.arguments(repeats=1)
    parser.add_argument("--stop-at", type=float, required=True, help="validation accuracy in percent at which the training stops")
    parser.add_argument("--target", type=float, required=True, help="required test accuracy in percent")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = os.environ.get("MNIST_DIR")
    if not folder:
        raise SystemExit("MNIST_DIR does not name the folder of MNIST's four files")

    start = time.perf_counter()
    images, labels = mnist.read(folder, mnist.TRAINING, 0, ALL_IMAGES)
    validation = images[TRAINING_IMAGES:], labels[TRAINING_IMAGES:]
    generator = np.random.default_rng(options.seed)
    network = Network(generator)
    seen, accuracy = train(network, images[:TRAINING_IMAGES], labels[:TRAINING_IMAGES], validation, generator, options.stop_at)
    test_accuracy = network.accuracy(*mnist.read(folder, mnist.TEST, 0, TEST_IMAGES))
    seconds = time.perf_counter() - start

    if 100 * test_accuracy < options.target:
        raise SystemExit(f"the test accuracy is {100 * test_accuracy:.2f} % after {seen} images, below {options.target} %")
    facts = {"images_seen": seen, "validation_accuracy": accuracy, "test_accuracy": test_accuracy}
    measured = {"min": seconds, "median": seconds, "repeats": 1}
    print(json.dumps({"peer": peer.numpy_name(), "seconds": {"NumPy without imports": measured}, **facts}))


def train(network, images, labels, validation, generator, stop_at):
    """Trains to the target or the last epoch; returns the number of images seen and the last validation accuracy."""
    targets = np.eye(LAYERS[-1], dtype=np.float32)[labels]
    seen, accuracy = 0, 0.0
    for _ in range(MAX_EPOCHS):
        order = generator.permutation(len(images))
        for first in range(0, len(order), CHECK_EVERY):
            part = order[first : first + CHECK_EVERY]
            network.train_in_order(images, targets, part)
            seen += len(part)
            accuracy = network.accuracy(*validation)
            if 100 * accuracy >= stop_at:
                return seen, accuracy
    return seen, accuracy


if __name__ == "__main__":
    main()
