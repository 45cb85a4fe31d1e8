"""Times X·Xᵀ in NumPy for a matrix X of standard normal values."""

import json

import numpy as np

import peer

parser = peer.arguments(repeats=20)
parser.add_argument("--dtype", choices=["f32", "f64"], default="f32")
parser.add_argument("--size", type=int, nargs=2, default=[784, 128], metavar=("ROWS", "COLUMNS"))
options = parser.parse_args()

generator = np.random.default_rng(0)
x = generator.standard_normal(options.size, dtype={"f32": np.float32, "f64": np.float64}[options.dtype])

# NumPy detects that both operands are the same matrix and calls BLAS's syrk, which computes one triangle only.
seconds = {"NumPy": peer.measure(options.repeats, lambda: x @ x.T)}
print(json.dumps({"peer": peer.numpy_name(), "seconds": seconds}))
