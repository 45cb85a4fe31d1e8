"""Compiles this folder's kernels to PTX with an installed compiler.

    python compile.py nvrtc FILE.cu ARCHITECTURE [OPTION …]
    python compile.py numba ARCHITECTURE OPTIMISATION
    python compile.py triton ARCHITECTURE

writes the PTX to standard output. Exit status 3: the compiler is not installed; standard error names the missing part.
"""

import ctypes
import glob
import importlib.util
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))


def missing(message):
    print(message, file=sys.stderr)
    sys.exit(3)


def nvidia(*patterns):
    """The first file in NVIDIA's packages that matches one of the patterns."""
    for folder in sys.path:
        for pattern in patterns:
            for found in sorted(glob.glob(os.path.join(folder, "nvidia", pattern))):
                return found
    return None


def nvrtc(source, architecture, *options):
    library = nvidia("cuda_nvrtc/lib/libnvrtc.so.*", "cu*/lib/libnvrtc.so.*")
    if library is None:
        missing("no NVRTC: pip install nvidia-cuda-nvrtc-cu12")
    headers = [nvidia("cuda_runtime/include", "cu*/include"), nvidia("cuda_cccl/include", "cu*/include/cccl")]
    library = ctypes.CDLL(library)
    program = ctypes.c_void_p()
    path = os.path.join(FOLDER, source)
    with open(path, encoding="utf-8") as file:
        text = file.read().encode()
    if library.nvrtcCreateProgram(ctypes.byref(program), text, source.encode(), 0, None, None) != 0:
        sys.exit("NVRTC cannot create a program")
    if None in headers and b"cooperative_groups.h" in text:
        missing("no CUDA headers: pip install nvidia-cuda-runtime-cu12 nvidia-cuda-cccl-cu12")
    options = [f"--gpu-architecture=compute_{architecture}", f"-I{FOLDER}", *options]
    options += [f"-I{folder}" for folder in headers if folder]
    arguments = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    failed = library.nvrtcCompileProgram(program, len(options), arguments)
    size = ctypes.c_size_t()
    read = ("ProgramLogSize", "ProgramLog") if failed else ("PTXSize", "PTX")
    getattr(library, "nvrtcGet" + read[0])(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(library, "nvrtcGet" + read[1])(program, buffer)
    if failed:
        sys.exit(buffer.value.decode())
    return buffer.value.decode()


def numba(architecture, optimisation):
    if importlib.util.find_spec("numba_cuda") is None or importlib.util.find_spec("numba") is None:
        missing("no Numba: pip install numba numba-cuda nvidia-cuda-nvcc-cu12 nvidia-cuda-nvrtc-cu12")
    library = nvidia("cuda_nvcc/nvvm", "cu*/nvvm")
    if library is None:
        missing("no libNVVM: pip install nvidia-cuda-nvcc-cu12")
    os.environ.setdefault("CUDA_HOME", os.path.dirname(library))
    import kernels_numba

    return kernels_numba.compile(int(architecture), optimisation)


def triton(architecture):
    if importlib.util.find_spec("triton") is None:
        missing("no Triton: pip install triton")
    import kernels_triton

    return kernels_triton.compile(int(architecture))


if __name__ == "__main__":
    sys.path.insert(0, FOLDER)
    print({"nvrtc": nvrtc, "numba": numba, "triton": triton}[sys.argv[1]](*sys.argv[2:]))
