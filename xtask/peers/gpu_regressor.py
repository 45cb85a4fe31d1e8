"""Times the training steps of regression-studio's default network on a GPU in PyTorch and CuPy.

numpy_regressor.py describes the network and the data, 560,000 rows of 8 random features, which are on the GPU.
A time is that of a part of an epoch with its permutation, divided by the number of steps.

- PyTorch eager: every operation is a launch. The optimizer is Adam(fused=True), one kernel for all parameters.
- PyTorch CUDA graphs: the same steps with Adam(fused=True, capturable=True), many in a graph.
- PyTorch compiled: torch.compile compiles the whole step at once, its batch, gradients and Adam included; many steps in a graph.
- one kernel per product (CuPy): each matrix product is a launch of a simple CUDA kernel, and so are activations, deltas and updates.
  It is timed as separate launches and as a CUDA graph of many steps.
"""

import itertools
import time

import gpu_peer

# Steps compared with NumPy's in double precision: several graphs of many steps, and some of one.
CHECKED_STEPS = 3 * gpu_peer.STEPS_OF_GRAPH + 3
# Largest difference of a parameter after these steps, each of which changes it by up to 0.003.
TOLERANCE = 1e-4

report = gpu_peer.Report()
np, peer = gpu_peer.import_numpy(report)
import numpy_regressor
from numpy_regressor import BATCH, EPSILON, LAYERS, LEARNING_RATE, MEAN_DECAY, ROWS, SQUARES_DECAY

parser = gpu_peer.arguments(peer, repeats=3)
parser.add_argument("--steps", type=int, default=2000, help="steps of an epoch that are timed, at most 4375")
parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu is for testing this script")
options = parser.parse_args()

generator = np.random.default_rng(0)
x, y = numpy_regressor.random_data(generator)
initial = numpy_regressor.initial_parameters(generator)
order = generator.permutation(ROWS)
expected = numpy_regressor.trained(initial, x, y, order, CHECKED_STEPS)


def time_one(label, way, *arguments):
    training = way(*arguments)
    training.reset()
    training.run(training.to_device(order), CHECKED_STEPS)
    for name, result, value in zip(["weights", "biases"] * len(LAYERS), training.to_host(), expected):
        gpu_peer.require_close(name, result, value, TOLERANCE)
    training.run(training.permutation(), CHECKED_STEPS)
    seconds = []
    for _ in range(options.repeats):
        training.synchronize()
        start = time.perf_counter()
        training.run(training.permutation(), options.steps)
        training.synchronize()
        seconds.append((time.perf_counter() - start) / options.steps)
    report.time("step", label, gpu_peer.summary(seconds))


class Torch:
    """Common part of the ways in PyTorch. The subclass has the parameters, in the order of `initial`, and Adam's state."""

    def __init__(self, torch):
        self.torch, self.x, self.y = torch, torch.from_numpy(x).to(options.device), torch.from_numpy(y).to(options.device)

    def to_device(self, array):
        return self.torch.from_numpy(array).to(options.device)

    def permutation(self):
        return self.torch.randperm(ROWS, device=options.device)

    def reset(self):
        with self.torch.no_grad():
            for parameter, value in zip(self.parameters, initial):
                parameter.copy_(self.torch.from_numpy(value))
            for tensor in self.state():
                tensor.zero_()

    def to_host(self):
        return [parameter.detach().cpu().numpy() for parameter in self.parameters]

    def synchronize(self):
        if options.device == "cuda":
            self.torch.cuda.synchronize()


class Eager(Torch):
    def __init__(self, torch, is_captured=False):
        super().__init__(torch)
        linear = [torch.nn.Linear(*shape) for shape in itertools.pairwise(LAYERS)]
        modules = [module for layer in linear for module in (layer, torch.nn.ReLU())][:-1]
        self.network = torch.nn.Sequential(*modules).to(options.device)
        self.parameters = list(self.network.parameters())
        decays = MEAN_DECAY, SQUARES_DECAY
        self.optimizer = torch.optim.Adam(self.parameters, LEARNING_RATE, decays, EPSILON, fused=True, capturable=is_captured)

    def state(self):
        return [tensor for state in self.optimizer.state.values() for tensor in state.values()]

    def step(self, chosen):
        x, y = self.x.index_select(0, chosen), self.y.index_select(0, chosen)
        self.optimizer.zero_grad(set_to_none=True)
        loss = 0.5 * (self.network(x) - y).square().mean()
        loss.backward()
        self.optimizer.step()

    def run(self, order, steps):
        for chosen in order[: steps * BATCH].split(BATCH):
            self.step(chosen)


class Graphs(Eager):
    def __init__(self, torch):
        super().__init__(torch, is_captured=options.device == "cuda")
        self.run = gpu_peer.StepGraphs(torch, self.step, ROWS, BATCH, options.device).run


class Compiled(Torch):
    """All parameters are views of one tensor: Adam is one element-wise expression."""

    def __init__(self, torch):
        super().__init__(torch)
        self.sizes, self.shapes = [array.size for array in initial], [array.shape for array in initial]
        self.all, self.means, self.squares = (torch.zeros(sum(self.sizes), device=options.device) for _ in range(3))
        self.count = torch.zeros(1, device=options.device)
        self.parameters = self.split(self.all)
        self.run = gpu_peer.StepGraphs(torch, self.step, ROWS, BATCH, options.device, is_compiled=True).run

    def split(self, all_parameters):
        return [part.view(shape) for part, shape in zip(all_parameters.split(self.sizes), self.shapes)]

    def state(self):
        return self.means, self.squares, self.count

    def loss(self, all_parameters, x, y):
        parameters = self.split(all_parameters)
        for weights, biases in zip(parameters[:-2:2], parameters[1:-2:2]):
            x = self.torch.nn.functional.linear(x, weights, biases).relu()
        return 0.5 * (self.torch.nn.functional.linear(x, *parameters[-2:]) - y).square().mean()

    def step(self, chosen):
        x, y = self.x.index_select(0, chosen), self.y.index_select(0, chosen)
        gradient = self.torch.func.grad(self.loss)(self.all, x, y)
        self.count += 1
        self.means.lerp_(gradient, 1 - MEAN_DECAY)
        self.squares.lerp_(gradient.square(), 1 - SQUARES_DECAY)
        corrected = self.means / (1 - MEAN_DECAY**self.count)
        root = (self.squares / (1 - SQUARES_DECAY**self.count)).sqrt()
        self.all -= LEARNING_RATE * corrected / (root + EPSILON)


def time_cupy():
    import cupy as cp
    from cupy_regressor import OneKernelPerProduct

    cp.cuda.Device().synchronize()
    report.names.append(f"CuPy {cp.__version__}")
    for label, is_captured in {"one kernel per product": False, "one kernel per product, CUDA graph": True}.items():
        report.attempt(f"{label} (CuPy)", time_one, f"{label} (CuPy)", OneKernelPerProduct, cp, x, y, initial, is_captured)


def time_torch():
    import torch

    if options.device == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("PyTorch has no usable GPU")
    report.names.append(f"PyTorch {torch.__version__}")
    # The compiler takes longest: a script killed at its time limit has lost only its time.
    for label, way in {"eager": Eager, "CUDA graphs": Graphs, "compiled": Compiled}.items():
        report.attempt(f"PyTorch {label}", time_one, f"PyTorch {label}", way, torch)


for label, work in {"CuPy": time_cupy, "PyTorch": time_torch}.items():
    report.attempt(label, work)
report.print()
