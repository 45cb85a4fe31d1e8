"""Times the activation exercise on a GPU in CuPy, Numba and PyTorch: in three steps, and fused.

Greyscale values are normalized, weighted and activated. All data is on the GPU. Each step writes into an array allocated in advance,
as ours does: an intermediate of the three steps comes from memory, not from a recently freed array in the L2 cache.
"""

import functools

import gpu_peer

report = gpu_peer.Report()
np, peer = gpu_peer.import_numpy(report)
parser = gpu_peer.arguments(peer, repeats=20)
parser.add_argument("-n", "--number", type=int, default=1_000_000)
options = parser.parse_args()

generator = np.random.default_rng(0)
values = generator.integers(0, 255, options.number, dtype=np.uint8).astype(np.float32)
weights = generator.standard_normal(options.number, dtype=np.float32) * np.float32(0.1) + np.float32(0.5)
expected = np.tanh(values / np.float32(255) * weights)
# Copied to arrays for results: a result that is not written is not close to the expected one.
nothing = np.full_like(values, np.nan)
ARRAYS = {"three steps": [values, weights, nothing, nothing, nothing], "fused": [values, weights, nothing]}


def time(group, label, events, work, to_gpu, to_host):
    """Times work on the group's arrays, of which the last is the result, in memory and in the L2 cache."""
    sets = gpu_peer.sets_beyond_cache(options, events, to_gpu, *ARRAYS[group])
    works = [functools.partial(work, *arrays) for arrays in sets]
    works[0]()
    gpu_peer.require_close(f"{label}, {group}", to_host(sets[0][-1]), expected, 2e-6)
    report.time(group, label, gpu_peer.measure_kernel(options.repeats, events, *works))
    report.time(f"{group} in L2", label, gpu_peer.measure_kernel(options.repeats, events, works[0]))


def time_cupy():
    import cupy as cp

    events = gpu_peer.CuPyEvents(cp)
    white = np.float32(255)
    fused = cp.ElementwiseKernel("float32 x, float32 w", "float32 y", "y = tanhf(x / 255.0f * w)", "activate")

    def three_steps(x, w, normalized, weighed, out):
        cp.divide(x, white, out=normalized)
        cp.multiply(normalized, w, out=weighed)
        cp.tanh(weighed, out=out)

    time("three steps", "CuPy", events, three_steps, cp.array, cp.asnumpy)
    time("fused", "CuPy", events, fused, cp.array, cp.asnumpy)
    report.names.append(f"CuPy {cp.__version__}")


def time_numba():
    import math

    numba, cuda = gpu_peer.import_numba()

    # The three functions as written in NVIDIA's course.
    @numba.vectorize(["float32(float32)"], target="cuda")
    def normalize(grayscales):
        return grayscales / 255

    @numba.vectorize(["float32(float32, float32)"], target="cuda")
    def weigh(values, weights):
        return values * weights

    @numba.vectorize(["float32(float32)"], target="cuda")
    def activate(values):
        return (math.exp(values) - math.exp(-values)) / (math.exp(values) + math.exp(-values))

    @numba.vectorize(["float32(float32, float32)"], target="cuda")
    def fused(values, weights):
        return math.tanh(values / np.float32(255) * weights)

    def three_steps(x, w, normalized, weighed, out):
        normalize(x, out=normalized)
        weigh(normalized, w, out=weighed)
        activate(weighed, out=out)

    def to_host(array):
        return array.copy_to_host()

    events = gpu_peer.NumbaEvents(cuda)
    time("three steps", "Numba", events, three_steps, cuda.to_device, to_host)
    time("fused", "Numba", events, lambda x, w, out: fused(x, w, out=out), cuda.to_device, to_host)
    report.names.append(f"Numba {numba.__version__}")


def time_torch():
    import torch

    events = gpu_peer.TorchEvents(torch)

    def to_gpu(array):
        return torch.from_numpy(array).cuda()

    def to_host(tensor):
        return tensor.cpu().numpy()

    def three_steps(x, w, normalized, weighed, out):
        torch.div(x, 255, out=normalized)
        torch.mul(normalized, w, out=weighed)
        torch.tanh(weighed, out=out)

    def time_compiled():
        # Compiled to one kernel that writes into out, without a copy.
        @torch.compile(fullgraph=True)
        def fused(x, w, out):
            torch.tanh(x / 255 * w, out=out)

        time("fused", "PyTorch compiled", events, fused, to_gpu, to_host)

    time("three steps", "PyTorch", events, three_steps, to_gpu, to_host)
    report.names.append(f"PyTorch {torch.__version__}")
    report.attempt("PyTorch compiled", time_compiled)


for label, work in {"CuPy": time_cupy, "Numba": time_numba, "PyTorch": time_torch}.items():
    report.attempt(label, work)
report.print()
