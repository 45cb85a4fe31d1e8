"""Common code of the GPU peers' scripts.

Timing with GPU events, CUDA graphs of training steps, and a report that tolerates missing libraries.
"""

import itertools
import json
import statistics
import sys

WARM_UPS = 3
# Calls below this many seconds are timed several in a row: two events are 0.5 µs apart at best.
SHORT_SECONDS = 20e-6
CALLS_IN_A_ROW = 10
# Cycles of a delay kernel (about 2 ms). Python launches the timed kernels during it, so their time excludes Python's.
WAIT_CYCLES = 4_000_000
# Training steps per graph, enough to make the launch of the graph a small part of its time.
STEPS_OF_GRAPH = 25


class Report:
    """Times by group and peer, the peers' versions, and the reason for each missing peer, as one JSON object.

    The object is printed again, as a line, after each time, so that a script killed at its time limit has lost nothing. The last line counts.
    """

    def __init__(self):
        self.names, self.seconds, self.skipped, self.facts = [], {}, {}, {}

    def time(self, group, label, measurement):
        self.seconds.setdefault(group, {})[label] = measurement
        self.print()

    def attempt(self, label, work, *arguments):
        """Runs work. An exception is reported in one line and does not stop the timing of other peers."""
        try:
            return work(*arguments)
        except (Exception, SystemExit) as error:  # A broken library may raise anything, and even end the script.
            text = " ".join(str(error).split())[:200]
            self.skipped[label] = text if isinstance(error, ImportError) else f"{type(error).__name__}: {text}"
            return None

    def print(self):
        peer = {"peer": ", ".join(self.names), "seconds": self.seconds, "skipped": self.skipped}
        print(json.dumps({**peer, **self.facts}), flush=True)


def import_numpy(report):
    """NumPy and the module peer, which needs it. Without NumPy the script prints its report and ends."""

    def load():
        import numpy

        import peer

        return numpy, peer

    modules = report.attempt("NumPy", load)
    if modules is None:
        report.print()
        sys.exit()
    return modules


def import_numba():
    """Numba and its module cuda."""
    import numpy

    # numba-cuda refers to row_stack, an alias of vstack that NumPy 2.5 removed.
    if not hasattr(numpy, "row_stack"):
        numpy.row_stack = numpy.vstack
    import numba
    from numba import cuda

    return numba, cuda


def arguments(peer, repeats):
    parser = peer.arguments(repeats)
    parser.add_argument("--l2-bytes", type=int, help="size of the GPU's L2 cache; by default each library asks the GPU")
    return parser


def sets_beyond_cache(options, events, to_gpu, *arrays):
    """Copies the arrays to the GPU several times.

    Kernels that use the sets alternately find no array in the L2 cache: all sets together have twice its size.
    """
    l2_bytes = events.l2_bytes() if options.l2_bytes is None else options.l2_bytes
    if l2_bytes <= 0:
        raise ValueError(f"size of the L2 cache must be a positive number, got {l2_bytes}: pass --l2-bytes")
    bytes_of_set = sum(array.nbytes for array in arrays)
    count = max(2, -(-2 * l2_bytes // bytes_of_set))
    return [[to_gpu(array) for array in arrays] for _ in range(count)]


def require_close(name, result, expected, tolerance):
    """Raises ValueError if the result differs from the expected one. Call it before timing a computation."""
    difference = abs(result - expected).max()
    if result.dtype != expected.dtype or not difference <= tolerance:
        raise ValueError(f"{name} is wrong: {result.dtype}, largest difference {difference}")


def summary(seconds):
    return {"min": min(seconds), "median": statistics.median(seconds), "repeats": len(seconds)}


def measure_kernel(repeats, events, *works):
    """Seconds between GPU events before the first and after the last kernel of a call.

    The calls alternate between the given functions, each with its own arrays.
    """
    turns = itertools.cycle(works)
    for _ in range(max(WARM_UPS, len(works))):
        next(turns)()

    def timed(calls):
        events.wait()
        start = events.record()
        results = [next(turns)() for _ in range(calls)]
        seconds = events.seconds(start, events.record()) / calls
        del results
        return seconds

    calls = CALLS_IN_A_ROW if timed(1) < SHORT_SECONDS else 1
    return summary([timed(calls) for _ in range(repeats)])


class CuPyEvents:
    SOURCE = """extern "C" __global__ void wait(long long cycles) {
        long long start = clock64();
        while (clock64() - start < cycles) {}
    }"""

    def __init__(self, cupy):
        self.cuda = cupy.cuda
        self.kernel = cupy.RawKernel(self.SOURCE, "wait")

    def l2_bytes(self):
        return self.cuda.runtime.getDeviceProperties(0)["l2CacheSize"]

    def wait(self):
        self.kernel((1,), (1,), (WAIT_CYCLES,))

    def record(self):
        event = self.cuda.Event()
        event.record()
        return event

    def seconds(self, start, end):
        end.synchronize()
        return self.cuda.get_elapsed_time(start, end) / 1e3


class NumbaEvents:
    def __init__(self, cuda):
        self.cuda = cuda

        @cuda.jit
        def wait(microseconds):
            for _ in range(microseconds):
                cuda.nanosleep(1000)

        self.kernel = wait

    def l2_bytes(self):
        return self.cuda.get_current_device().L2_CACHE_SIZE

    def wait(self):
        self.kernel[1, 1](WAIT_CYCLES // 2000)

    def record(self):
        event = self.cuda.event()
        event.record()
        return event

    def seconds(self, start, end):
        end.synchronize()
        return self.cuda.event_elapsed_time(start, end) / 1e3


class TorchEvents:
    def __init__(self, torch):
        self.cuda = torch.cuda

    def l2_bytes(self):
        return self.cuda.get_device_properties(0).L2_cache_size

    def wait(self):
        self.cuda._sleep(WAIT_CYCLES)

    def record(self):
        event = self.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, start, end):
        end.synchronize()
        return start.elapsed_time(end) / 1e3


class StepGraphs:
    """CUDA graphs of training steps in PyTorch.

    `step` trains on the rows with the given indices. It must discard the gradients of the step before.
    On a CPU the same steps run without graphs.
    """

    def __init__(self, torch, step, rows, batch, device, is_compiled=False):
        self.torch, self.step, self.batch, self.device = torch, step, batch, device
        self.order = torch.arange(rows, device=device)
        self.places = torch.arange(batch, device=device)
        self.first = torch.zeros(1, dtype=torch.int64, device=device)
        self.next_step = torch.compile(self.step_in_order, fullgraph=True) if is_compiled else self.step_in_order
        self.one, self.many = self.capture(1), self.capture(STEPS_OF_GRAPH)

    def step_in_order(self):
        # The device counts where the batch begins, so each replay trains on the next one.
        self.step(self.order.index_select(0, self.first + self.places))
        self.first.add_(self.batch)

    def run(self, order, steps):
        """Trains on the first `steps` batches of the rows in the given order."""
        self.order.copy_(order)
        self.first.zero_()
        many, rest = divmod(steps, STEPS_OF_GRAPH)
        for _ in range(many):
            self.many()
        for _ in range(rest):
            self.one()

    def capture(self, steps):
        def work():
            for _ in range(steps):
                self.next_step()

        self.first.zero_()
        if self.device != "cuda":
            return work
        stream = self.torch.cuda.Stream()
        stream.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(stream):
            work()
        self.torch.cuda.current_stream().wait_stream(stream)
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            work()
        return graph.replay
