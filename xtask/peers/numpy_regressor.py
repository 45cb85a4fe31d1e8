"""regression-studio's default network and random data for it, common to the regressor's scripts, and its training steps in NumPy.

8-32-16-1, ReLU in the hidden layers, half the squared error, averaged over a batch, and Adam without weight decay.
Parameters are the weights, fan_out × fan_in, and the biases of each layer.
"""

import itertools

import numpy as np

LAYERS = [8, 32, 16, 1]
ROWS = 560_000
BATCH = 128
LEARNING_RATE, MEAN_DECAY, SQUARES_DECAY, EPSILON = 0.003, 0.9, 0.999, 1e-8


def random_data(generator):
    """Inputs and targets, one sample per row."""
    x = generator.standard_normal((ROWS, LAYERS[0]), dtype=np.float32)
    return x, np.tanh(x @ generator.standard_normal((LAYERS[0], 1), dtype=np.float32))


def initial_parameters(generator):
    """Weights uniform in ±1/√fan_in, biases 0."""
    parameters = []
    for fan_in, fan_out in itertools.pairwise(LAYERS):
        weights = generator.uniform(-(fan_in**-0.5), fan_in**-0.5, (fan_out, fan_in))
        parameters += [weights.astype(np.float32), np.zeros(fan_out, np.float32)]
    return parameters


def trained(initial, x, y, order, steps):
    """The parameters after steps on the first batches of the rows in the given order, computed in double precision."""
    parameters = [array.astype(np.float64) for array in initial]
    means, squares = ([np.zeros_like(array) for array in parameters] for _ in range(2))
    for step in range(steps):
        chosen = order[step * BATCH : (step + 1) * BATCH]
        activations = [x[chosen].astype(np.float64)]
        for weights, biases in zip(parameters[::2], parameters[1::2]):
            z = activations[-1] @ weights.T + biases
            activations.append(np.maximum(z, 0))
        delta, gradients = (z - y[chosen]) / BATCH, []
        for layer in reversed(range(len(LAYERS) - 1)):
            gradients[:0] = [delta.T @ activations[layer], delta.sum(axis=0)]
            delta = delta @ parameters[2 * layer] * (activations[layer] > 0)
        for parameter, gradient, mean, square in zip(parameters, gradients, means, squares):
            mean += (1 - MEAN_DECAY) * (gradient - mean)
            square += (1 - SQUARES_DECAY) * (gradient**2 - square)
            corrected = mean / (1 - MEAN_DECAY ** (step + 1))
            root = np.sqrt(square / (1 - SQUARES_DECAY ** (step + 1)))
            parameter -= LEARNING_RATE * corrected / (root + EPSILON)
    return [parameter.astype(np.float32) for parameter in parameters]
