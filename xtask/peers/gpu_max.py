"""Times the element-wise maximum of two 1000×1000 matrices of integers 0…255 on a GPU in CuPy, Numba and PyTorch."""

import gpu_peer

report = gpu_peer.Report()
np, peer = gpu_peer.import_numpy(report)
options = gpu_peer.arguments(peer, repeats=20).parse_args()
generator = np.random.default_rng(0)
a, b = generator.integers(0, 256, size=(2, 1000, 1000), dtype=np.int32)
expected = np.maximum(a, b)
sets = range(gpu_peer.sets_beyond_cache(options, 3 * a.nbytes))


def time_both(label, events, kernels, whole, result):
    """Times the kernel alone with GPU events, with arrays in memory and in the L2 cache, and the whole with its copies."""
    kernels[0]()
    gpu_peer.require_close("the kernel's result", result(), expected, 0)
    gpu_peer.require_close("the whole's result", whole(), expected, 0)
    report.time("kernel", label, gpu_peer.measure_kernel(options.repeats, events, *kernels))
    report.time("kernel in L2", label, gpu_peer.measure_kernel(options.repeats, events, kernels[0]))
    report.time("with copies", label, peer.measure(options.repeats, whole))


def time_cupy():
    import cupy as cp

    arrays = [(cp.array(a), cp.array(b), cp.empty(a.shape, a.dtype)) for _ in sets]
    out = arrays[0][2]
    time_both(
        "CuPy",
        gpu_peer.CuPyEvents(cp),
        kernels=[lambda of_set=of_set: cp.maximum(*of_set) for of_set in arrays],
        whole=lambda: cp.asnumpy(cp.maximum(cp.asarray(a), cp.asarray(b))),
        result=lambda: cp.asnumpy(out),
    )
    report.names.append(f"CuPy {cp.__version__}")


def time_numba():
    numba, cuda = gpu_peer.import_numba()

    @cuda.jit
    def maximum(a, b, out):
        index = cuda.grid(1)
        if index < out.size:
            out[index] = max(a[index], b[index])

    flat_a, flat_b = a.ravel(), b.ravel()
    arrays = [(cuda.to_device(flat_a), cuda.to_device(flat_b), cuda.device_array(a.size, np.int32)) for _ in sets]
    out = arrays[0][2]

    def whole():
        result = cuda.device_array(a.size, np.int32)
        maximum[1000, 1000](cuda.to_device(flat_a), cuda.to_device(flat_b), result)
        return result.copy_to_host().reshape(a.shape)

    time_both(
        "Numba",
        gpu_peer.NumbaEvents(cuda),
        kernels=[lambda of_set=of_set: maximum[1000, 1000](*of_set) for of_set in arrays],
        whole=whole,
        result=lambda: out.copy_to_host().reshape(a.shape),
    )
    report.names.append(f"Numba {numba.__version__}")


def time_torch():
    import torch

    def on_gpu(matrix):
        return torch.from_numpy(matrix).cuda()

    arrays = [(on_gpu(a), on_gpu(b), torch.empty(a.shape, dtype=torch.int32, device="cuda")) for _ in sets]
    out = arrays[0][2]
    time_both(
        "PyTorch",
        gpu_peer.TorchEvents(torch),
        kernels=[lambda of_set=of_set: torch.maximum(*of_set[:2], out=of_set[2]) for of_set in arrays],
        whole=lambda: torch.maximum(torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()).cpu().numpy(),
        result=lambda: out.cpu().numpy(),
    )
    report.names.append(f"PyTorch {torch.__version__}")


for label, time in {"CuPy": time_cupy, "Numba": time_numba, "PyTorch": time_torch}.items():
    report.attempt(label, time)
report.print()
