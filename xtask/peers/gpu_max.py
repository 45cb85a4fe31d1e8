"""Times the element-wise maximum of two 1000×1000 matrices of integers 0…255 on a GPU in CuPy, Numba and PyTorch."""

import gpu_peer

report = gpu_peer.Report()
np, peer = gpu_peer.import_numpy(report)
options = peer.arguments(repeats=20).parse_args()
generator = np.random.default_rng(0)
a, b = generator.integers(0, 256, size=(2, 1000, 1000), dtype=np.int32)
expected = np.maximum(a, b)


def time_both(label, events, kernel, whole, result):
    """Times the kernel alone with GPU events, on allocated memory, and the whole with its copies."""
    kernel()
    gpu_peer.require_close("the kernel's result", result(), expected, 0)
    gpu_peer.require_close("the whole's result", whole(), expected, 0)
    report.time("kernel", label, gpu_peer.measure_kernel(options.repeats, events, kernel))
    report.time("with copies", label, peer.measure(options.repeats, whole))


def time_cupy():
    import cupy as cp

    on_gpu = cp.asarray(a), cp.asarray(b)
    out = cp.empty_like(on_gpu[0])
    time_both(
        "CuPy",
        gpu_peer.CuPyEvents(cp),
        kernel=lambda: cp.maximum(*on_gpu, out),
        whole=lambda: cp.asnumpy(cp.maximum(cp.asarray(a), cp.asarray(b))),
        result=lambda: cp.asnumpy(out),
    )
    report.names.append(f"CuPy {cp.__version__}")


def time_numba():
    import numba
    from numba import cuda

    @cuda.jit
    def maximum(a, b, out):
        index = cuda.grid(1)
        if index < out.size:
            out[index] = max(a[index], b[index])

    flat_a, flat_b = a.ravel(), b.ravel()
    on_gpu = cuda.to_device(flat_a), cuda.to_device(flat_b)
    out = cuda.device_array_like(on_gpu[0])

    def whole():
        result = cuda.device_array(a.size, np.int32)
        maximum[1000, 1000](cuda.to_device(flat_a), cuda.to_device(flat_b), result)
        return result.copy_to_host().reshape(a.shape)

    time_both(
        "Numba",
        gpu_peer.NumbaEvents(cuda),
        kernel=lambda: maximum[1000, 1000](*on_gpu, out),
        whole=whole,
        result=lambda: out.copy_to_host().reshape(a.shape),
    )
    report.names.append(f"Numba {numba.__version__}")


def time_torch():
    import torch

    on_gpu = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
    out = torch.empty_like(on_gpu[0])
    time_both(
        "PyTorch",
        gpu_peer.TorchEvents(torch),
        kernel=lambda: torch.maximum(*on_gpu, out=out),
        whole=lambda: torch.maximum(torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()).cpu().numpy(),
        result=lambda: out.cpu().numpy(),
    )
    report.names.append(f"PyTorch {torch.__version__}")


for label, time in {"CuPy": time_cupy, "Numba": time_numba, "PyTorch": time_torch}.items():
    report.attempt(label, time)
report.print()
