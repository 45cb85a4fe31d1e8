"""Times the element-wise maximum of two 1000×1000 matrices of integers 0…255 on a GPU in CuPy, Numba and PyTorch."""

import functools

import gpu_peer

report = gpu_peer.Report()
np, peer = gpu_peer.import_numpy(report)
options = gpu_peer.arguments(peer, repeats=20).parse_args()
generator = np.random.default_rng(0)
a, b = generator.integers(0, 256, size=(2, 1000, 1000), dtype=np.int32)
expected = np.maximum(a, b)


def time_both(label, events, kernel, whole, to_gpu, to_host):
    """Times kernel(a, b, out) alone with GPU events, with arrays in memory and in the L2 cache, and the whole with its copies."""
    # No maximum is negative, so an output that is not written is found.
    sets = gpu_peer.sets_beyond_cache(options, events, to_gpu, a, b, np.full_like(a, -1))
    kernels = [functools.partial(kernel, *arrays) for arrays in sets]
    kernels[0]()
    gpu_peer.require_close("the kernel's result", to_host(sets[0][-1]), expected, 0)
    gpu_peer.require_close("the whole's result", whole(), expected, 0)
    report.time("kernel", label, gpu_peer.measure_kernel(options.repeats, events, *kernels))
    report.time("kernel in L2", label, gpu_peer.measure_kernel(options.repeats, events, kernels[0]))
    report.time("with copies", label, peer.measure(options.repeats, whole))


def time_cupy():
    import cupy as cp

    def whole():
        return cp.asnumpy(cp.maximum(cp.asarray(a), cp.asarray(b)))

    time_both("CuPy", gpu_peer.CuPyEvents(cp), cp.maximum, whole, cp.array, cp.asnumpy)
    report.names.append(f"CuPy {cp.__version__}")


def time_numba():
    numba, cuda = gpu_peer.import_numba()

    @cuda.jit
    def maximum(a, b, out):
        index = cuda.grid(1)
        if index < out.size:
            out[index] = max(a[index], b[index])

    def to_gpu(matrix):
        return cuda.to_device(matrix.ravel())

    def to_host(array):
        return array.copy_to_host().reshape(a.shape)

    def whole():
        result = cuda.device_array(a.size, np.int32)
        maximum[1000, 1000](to_gpu(a), to_gpu(b), result)
        return to_host(result)

    time_both("Numba", gpu_peer.NumbaEvents(cuda), maximum[1000, 1000], whole, to_gpu, to_host)
    report.names.append(f"Numba {numba.__version__}")


def time_torch():
    import torch

    def to_gpu(matrix):
        return torch.from_numpy(matrix).cuda()

    def to_host(tensor):
        return tensor.cpu().numpy()

    def maximum(a, b, out):
        torch.maximum(a, b, out=out)

    def whole():
        return to_host(torch.maximum(to_gpu(a), to_gpu(b)))

    time_both("PyTorch", gpu_peer.TorchEvents(torch), maximum, whole, to_gpu, to_host)
    report.names.append(f"PyTorch {torch.__version__}")


for label, time in {"CuPy": time_cupy, "Numba": time_numba, "PyTorch": time_torch}.items():
    report.attempt(label, time)
report.print()
