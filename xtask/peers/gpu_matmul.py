"""Times X·Xᵀ on a GPU in CuPy and PyTorch, both on cuBLAS, for a 784×128 matrix X of standard normal values.

The kernel writes into an array allocated in advance, as ours does.
"""

import gpu_peer

report = gpu_peer.Report()
np, peer = gpu_peer.import_numpy(report)
parser = gpu_peer.arguments(peer, repeats=20)
parser.add_argument("--dtype", choices=["f32", "f64"], default="f32")
options = parser.parse_args()

generator = np.random.default_rng(0)
x = generator.standard_normal((784, 128), dtype={"f32": np.float32, "f64": np.float64}[options.dtype])
expected = x @ x.T
# By default both libraries multiply f32 in full precision; the error of TF32 would be about 1e-2.
tolerance = {"f32": 1e-3, "f64": 1e-11}[options.dtype]


def time_both(label, events, product, to_gpu, to_host):
    """Times the kernels alone with GPU events, and the whole with its copies."""
    on_gpu, out = to_gpu(x), to_gpu(np.full_like(expected, np.nan))

    def kernel():
        product(on_gpu, on_gpu.T, out=out)

    def whole():
        copy = to_gpu(x)
        return to_host(copy @ copy.T)

    kernel()
    gpu_peer.require_close("the kernel's product", to_host(out), expected, tolerance)
    gpu_peer.require_close("the whole's product", whole(), expected, tolerance)
    report.time("kernel", label, gpu_peer.measure_kernel(options.repeats, events, kernel))
    report.time("with copies", label, peer.measure(options.repeats, whole))


def time_cupy():
    import cupy as cp

    time_both("CuPy", gpu_peer.CuPyEvents(cp), cp.matmul, cp.asarray, cp.asnumpy)
    report.names.append(f"CuPy {cp.__version__}")


def time_torch():
    import torch

    def to_gpu(matrix):
        return torch.from_numpy(matrix).cuda()

    time_both("PyTorch", gpu_peer.TorchEvents(torch), torch.mm, to_gpu, lambda product: product.cpu().numpy())
    report.names.append(f"PyTorch {torch.__version__}")


for label, time in {"CuPy": time_cupy, "PyTorch": time_torch}.items():
    report.attempt(label, time)
report.print()
