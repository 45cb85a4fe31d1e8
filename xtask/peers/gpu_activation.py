"""Times the activation exercise on a GPU in CuPy, Numba and PyTorch: in three steps, and fused.

Greyscale values are normalized, weighted and activated. All data is on the GPU. For comparison it times a device-to-device copy of the same number of values.
"""

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
sets = range(gpu_peer.sets_beyond_cache(options, 3 * values.nbytes))


def time(group, label, events, works, to_host):
    """Times with arrays in memory and in the L2 cache."""
    gpu_peer.require_close(f"{label}, {group}", to_host(works[0]()), expected, 2e-6)
    report.time(group, label, gpu_peer.measure_kernel(options.repeats, events, *works))
    report.time(f"{group} in L2", label, gpu_peer.measure_kernel(options.repeats, events, works[0]))


def time_copy(label, events, copies):
    measurement = gpu_peer.measure_kernel(options.repeats, events, *copies)
    report.time("copy", label, measurement)
    # Each value is read and written: 4 + 4 bytes.
    report.facts.setdefault("copy_bytes_per_second", {})[label] = 8 * options.number / measurement["min"]


def of_each(arrays, work):
    """A function for each set of arrays that calls work with it."""
    return [lambda of_set=of_set: work(*of_set) for of_set in arrays]


def time_cupy():
    import cupy as cp

    events = gpu_peer.CuPyEvents(cp)
    arrays = [(cp.array(values), cp.array(weights), cp.empty(options.number, np.float32)) for _ in sets]
    fused = cp.ElementwiseKernel("float32 x, float32 w", "float32 y", "y = tanhf(x / 255.0f * w)", "activate")

    def three_steps(x, w, out):
        normalized = x / np.float32(255)
        weighed = normalized * w
        return cp.tanh(weighed)

    time("three steps", "CuPy", events, of_each(arrays, three_steps), cp.asnumpy)
    time("fused", "CuPy", events, of_each(arrays, fused), cp.asnumpy)
    time_copy("CuPy", events, of_each(arrays, lambda x, _, out: cp.copyto(out, x)))
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

    events = gpu_peer.NumbaEvents(cuda)

    def array():
        return cuda.device_array(options.number, np.float32)

    arrays = [(cuda.to_device(values), cuda.to_device(weights), array(), array(), array()) for _ in sets]

    def three_steps(x, w, normalized, weighed, out):
        normalize(x, out=normalized)
        weigh(normalized, w, out=weighed)
        activate(weighed, out=out)
        return out

    def in_one(x, w, normalized, weighed, out):
        fused(x, w, out=out)
        return out

    def to_host(array):
        return array.copy_to_host()

    time("three steps", "Numba", events, of_each(arrays, three_steps), to_host)
    time("fused", "Numba", events, of_each(arrays, in_one), to_host)
    report.names.append(f"Numba {numba.__version__}")


def time_torch():
    import torch

    events = gpu_peer.TorchEvents(torch)

    def on_gpu(array):
        return torch.from_numpy(array).cuda()

    arrays = [(on_gpu(values), on_gpu(weights), torch.empty(options.number, device="cuda")) for _ in sets]

    def three_steps(x, w, out):
        normalized = x / 255
        weighed = normalized * w
        return torch.tanh(weighed)

    def to_host(tensor):
        return tensor.cpu().numpy()

    def time_compiled():
        compiled = torch.compile(three_steps)
        time("fused", "PyTorch compiled", events, of_each(arrays, compiled), to_host)

    time("three steps", "PyTorch", events, of_each(arrays, three_steps), to_host)
    time_copy("PyTorch", events, of_each(arrays, lambda x, _, out: out.copy_(x)))
    report.names.append(f"PyTorch {torch.__version__}")
    report.attempt("PyTorch compiled", time_compiled)


for label, work in {"CuPy": time_cupy, "Numba": time_numba, "PyTorch": time_torch}.items():
    report.attempt(label, work)
report.print()
