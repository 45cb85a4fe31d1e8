"""Loads the emulator before the program loads NVRTC: packages of NVIDIA's take a library that is loaded already, and then compile to PTX."""


def load_emulator():
    try:
        import _ctypes

        _ctypes.dlopen("libcuda.so.1", 2)
    except (ImportError, OSError):
        pass


def load_the_one_behind():
    import os
    import sys
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    own = os.path.dirname(os.path.abspath(__file__))
    spec = PathFinder.find_spec("sitecustomize", [path for path in sys.path if os.path.abspath(path) != own])
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


load_emulator()
load_the_one_behind()
