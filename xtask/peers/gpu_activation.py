"""Times the activation exercise on a GPU in CuPy, Numba and PyTorch: in three steps, and fused.

Greyscale values are normalized, weighted and activated. All data is on the GPU. For comparison it times a device-to-device copy of the same number of values.
"""

import gpu_peer

report = gpu_peer.Report()
np, peer = gpu_peer.import_numpy(report)
parser = peer.arguments(repeats=20)
parser.add_argument("-n", "--number", type=int, default=1_000_000)
options = parser.parse_args()

generator = np.random.default_rng(0)
values = generator.integers(0, 255, options.number, dtype=np.uint8).astype(np.float32)
weights = generator.standard_normal(options.number, dtype=np.float32) * np.float32(0.1) + np.float32(0.5)
expected = np.tanh(values / np.float32(255) * weights)


def time(group, label, events, work, to_host):
    gpu_peer.require_close(f"{label}, {group}", to_host(work()), expected, 2e-6)
    report.time(group, label, gpu_peer.measure_kernel(options.repeats, events, work))


def time_copy(label, events, copy):
    measurement = gpu_peer.measure_kernel(options.repeats, events, copy)
    report.time("copy", label, measurement)
    # Each value is read and written: 4 + 4 bytes.
    report.facts.setdefault("copy_bytes_per_second", {})[label] = 8 * options.number / measurement["min"]


def time_cupy():
    import cupy as cp

    events = gpu_peer.CuPyEvents(cp)
    x, w = cp.asarray(values), cp.asarray(weights)
    out = cp.empty_like(x)
    fused = cp.ElementwiseKernel("float32 x, float32 w", "float32 y", "y = tanhf(x / 255.0f * w)", "activate")

    def three_steps():
        normalized = x / np.float32(255)
        weighed = normalized * w
        return cp.tanh(weighed)

    time("three steps", "CuPy", events, three_steps, cp.asnumpy)
    time("fused", "CuPy", events, lambda: fused(x, w, out), cp.asnumpy)
    time_copy("CuPy", events, lambda: cp.copyto(out, x))
    report.names.append(f"CuPy {cp.__version__}")


def time_numba():
    import math

    import numba
    from numba import cuda, vectorize

    # The three functions as written in NVIDIA's course.
    @vectorize(["float32(float32)"], target="cuda")
    def normalize(grayscales):
        return grayscales / 255

    @vectorize(["float32(float32, float32)"], target="cuda")
    def weigh(values, weights):
        return values * weights

    @vectorize(["float32(float32)"], target="cuda")
    def activate(values):
        return (math.exp(values) - math.exp(-values)) / (math.exp(values) + math.exp(-values))

    @vectorize(["float32(float32, float32)"], target="cuda")
    def fused(values, weights):
        return math.tanh(values / np.float32(255) * weights)

    events = gpu_peer.NumbaEvents(cuda)
    x, w = cuda.to_device(values), cuda.to_device(weights)
    normalized, weighed, out = (cuda.device_array_like(x) for _ in range(3))

    def three_steps():
        normalize(x, out=normalized)
        weigh(normalized, w, out=weighed)
        activate(weighed, out=out)
        return out

    def in_one():
        fused(x, w, out=out)
        return out

    def to_host(array):
        return array.copy_to_host()

    time("three steps", "Numba", events, three_steps, to_host)
    time("fused", "Numba", events, in_one, to_host)
    report.names.append(f"Numba {numba.__version__}")


def time_torch():
    import torch

    events = gpu_peer.TorchEvents(torch)
    x, w = torch.from_numpy(values).cuda(), torch.from_numpy(weights).cuda()
    out = torch.empty_like(x)

    def three_steps(x, w):
        normalized = x / 255
        weighed = normalized * w
        return torch.tanh(weighed)

    def to_host(tensor):
        return tensor.cpu().numpy()

    def time_compiled():
        compiled = torch.compile(three_steps)
        time("fused", "PyTorch compiled", events, lambda: compiled(x, w), to_host)

    time("three steps", "PyTorch", events, lambda: three_steps(x, w), to_host)
    time_copy("PyTorch", events, lambda: out.copy_(x))
    report.names.append(f"PyTorch {torch.__version__}")
    report.attempt("PyTorch compiled", time_compiled)


for label, work in {"CuPy": time_cupy, "Numba": time_numba, "PyTorch": time_torch}.items():
    report.attempt(label, work)
report.print()
