"""What the GPU peers' scripts share: the clock, what they report, and that a library which is missing only skips its times."""

import json
import statistics
import sys

WARM_UPS = 3
# Some 2 ms in which the GPU waits while Python launches what is timed: a kernel's time holds none of Python's.
WAIT_CYCLES = 4_000_000


class Report:
    """Times by what is timed and by peer, the peers' versions, and why a peer is missing: one JSON object."""

    def __init__(self):
        self.names, self.seconds, self.skipped, self.facts = [], {}, {}, {}

    def time(self, group, label, measurement):
        self.seconds.setdefault(group, {})[label] = measurement

    def attempt(self, label, work, *arguments):
        """Runs work. Whatever hinders it is reported in one line and is no error: the other peers are timed all the same."""
        try:
            return work(*arguments)
        except (Exception, SystemExit) as error:  # A broken library may raise anything, and even end the script.
            text = " ".join(str(error).split())[:200]
            self.skipped[label] = text if isinstance(error, ImportError) else f"{type(error).__name__}: {text}"
            return None

    def print(self):
        peer = {"peer": ", ".join(self.names), "seconds": self.seconds, "skipped": self.skipped}
        print(json.dumps({**peer, **self.facts}))


def import_numpy(report):
    """NumPy and the module peer, which needs it. Without NumPy there is nothing to time: ends the script, with its report."""

    def load():
        import numpy

        import peer

        return numpy, peer

    modules = report.attempt("NumPy", load)
    if modules is None:
        report.print()
        sys.exit()
    return modules


def require_close(name, result, expected, tolerance):
    """What computes something else is not timed."""
    difference = abs(result - expected).max()
    if result.dtype != expected.dtype or not difference <= tolerance:
        raise ValueError(f"{name} is wrong: {result.dtype}, largest difference {difference}")


def summary(seconds):
    return {"min": min(seconds), "median": statistics.median(seconds), "repeats": len(seconds)}


def measure_kernel(repeats, events, work):
    """Seconds by the GPU's clock from the start of work's first kernel to the end of its last one."""
    for _ in range(WARM_UPS):
        work()
    seconds = []
    for _ in range(repeats):
        events.wait()
        start = events.record()
        result = work()
        seconds.append(events.seconds(start, events.record()))
        del result
    return summary(seconds)


class CuPyEvents:
    SOURCE = """extern "C" __global__ void wait(long long cycles) {
        long long start = clock64();
        while (clock64() - start < cycles) {}
    }"""

    def __init__(self, cupy):
        self.cuda = cupy.cuda
        self.kernel = cupy.RawKernel(self.SOURCE, "wait")

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

    def wait(self):
        self.cuda._sleep(WAIT_CYCLES)

    def record(self):
        event = self.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, start, end):
        end.synchronize()
        return start.elapsed_time(end) / 1e3
