"""Input of the network scripts: MNIST's files, or synthetic images of the same sparsity."""

import gzip
import os
import pathlib

import numpy as np

PIXELS = 784
TRAINING, TEST = "train", "t10k"


def load(count, generator):
    """The name of the data, the pixels of count images as count × 784 values 0…1, and the labels.

    MNIST's training images if MNIST_DIR names its folder, else synthetic ones with the same share of nonzero pixels.
    """
    folder = os.environ.get("MNIST_DIR")
    if folder:
        return "MNIST", *read(folder, TRAINING, 0, count)
    prototypes = generator.random((10, PIXELS)) < 0.19
    labels = generator.integers(0, 10, size=count)
    images = generator.random((count, PIXELS), dtype=np.float32)
    images *= prototypes[labels]
    return "synthetic", images, labels


def read(folder, part, first, last):
    """Images first … last − 1 of a part as rows of values 0…1, and their labels."""
    pixels = read_idx(folder, f"{part}-images-idx3-ubyte", header=16).reshape(-1, PIXELS)[first:last]
    images = pixels.astype(np.float32)
    images /= np.float32(255)
    return images, read_idx(folder, f"{part}-labels-idx1-ubyte", header=8)[first:last]


def read_idx(folder, name, header):
    path = pathlib.Path(folder, name)
    content = path.read_bytes() if path.exists() else gzip.decompress(path.with_name(f"{name}.gz").read_bytes())
    return np.frombuffer(content, dtype=np.uint8, offset=header)
