"""Times normalizing, weighting and activating greyscale values in NumPy: in three passes, and as one expression."""

import json

import numpy as np

import peer

parser = peer.arguments(repeats=20)
parser.add_argument("-n", "--number", type=int, default=1_000_000)
options = parser.parse_args()
generator = np.random.default_rng(0)
values = np.floor(generator.uniform(0, 255, options.number)).astype(np.float32)
weights = generator.normal(0.5, 0.1, options.number).astype(np.float32)


def three_passes():
    """The exercise's formulas, one pass per step."""
    normalized = values / 255
    weighed = normalized * weights
    return (np.exp(weighed) - np.exp(-weighed)) / (np.exp(weighed) + np.exp(-weighed))


def tanh():
    """One expression with NumPy's tanh."""
    return np.tanh(values / 255 * weights)


assert three_passes().dtype == tanh().dtype == np.float32
assert np.allclose(three_passes(), tanh(), rtol=0, atol=1e-6)

# NumPy computes element-wise functions on one thread for any --threads.
seconds = {
    "NumPy three passes": peer.measure(options.repeats, three_passes),
    "NumPy tanh": peer.measure(options.repeats, tanh),
}
print(json.dumps({"peer": peer.numpy_name(), "seconds": seconds}))
