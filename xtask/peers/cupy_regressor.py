"""The regressor's training step as simple CUDA kernels, one launch for each matrix product, in CuPy.

As the authors of "GPU Acceleration of Artificial Neural Networks" wrote it, a thread computes one element of a product.
Element-wise kernels compute activations, deltas and updates.
"""

import gpu_peer
import numpy as np
from numpy_regressor import BATCH, EPSILON, LAYERS, LEARNING_RATE, MEAN_DECAY, ROWS, SQUARES_DECAY

# Threads per block.
THREADS = 128
CONSTANTS = f"""
#define BATCH {BATCH}
#define FEATURES {LAYERS[0]}
#define LEARNING_RATE {LEARNING_RATE}
#define MEAN_DECAY {MEAN_DECAY}
#define SQUARES_DECAY {SQUARES_DECAY}
#define EPSILON {EPSILON}
"""
# counters has two elements: where the batch begins in order, and the number of steps taken.
SOURCE = CONSTANTS + """#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void gather(const long long* order, const long long* counters, const float* x, const float* y,
                                  float* batch_x, float* batch_y, int size) {
    int i = INDEX;
    if (i >= size) return;
    long long row = order[counters[0] + i / FEATURES];
    batch_x[i] = x[row * FEATURES + i % FEATURES];
    if (i % FEATURES == 0) batch_y[i / FEATURES] = y[row];
}

// out = a · b, where inner is the number of columns of a. Element (r, c) of a is a[r * a_row + c * a_column], and likewise of b.
extern "C" __global__ void product(const float* a, int a_row, int a_column, const float* b, int b_row, int b_column,
                                   float* out, int inner, int columns, int size) {
    int i = INDEX;
    if (i >= size) return;
    float sum = 0;
    for (int k = 0; k < inner; k++) sum += a[i / columns * a_row + k * a_column] * b[k * b_row + i % columns * b_column];
    out[i] = sum;
}

extern "C" __global__ void activate(float* z, const float* biases, int width, int is_hidden, int size) {
    int i = INDEX;
    if (i >= size) return;
    float sum = z[i] + biases[i % width];
    z[i] = is_hidden ? fmaxf(sum, 0) : sum;
}

extern "C" __global__ void output_delta(const float* a, const float* y, float* delta, int size) {
    int i = INDEX;
    if (i < size) delta[i] = (a[i] - y[i]) / BATCH;
}

extern "C" __global__ void hidden_delta(const float* a, float* delta, int size) {
    int i = INDEX;
    if (i < size && a[i] <= 0) delta[i] = 0;
}

extern "C" __global__ void adam(float* parameter, const float* gradient, float* mean, float* square,
                                const long long* counters, int size) {
    int i = INDEX;
    if (i >= size) return;
    double step = counters[1] + 1;
    float g = gradient[i];
    float m = mean[i] += float(1 - MEAN_DECAY) * (g - mean[i]);
    float v = square[i] += float(1 - SQUARES_DECAY) * (g * g - square[i]);
    float corrected = m / float(1 - pow(MEAN_DECAY, step));
    float root = sqrtf(v / float(1 - pow(SQUARES_DECAY, step)));
    parameter[i] -= float(LEARNING_RATE) * corrected / (root + float(EPSILON));
}

extern "C" __global__ void count(long long* counters, int size) {
    if (INDEX > 0) return;
    counters[0] += BATCH;
    counters[1] += 1;
}
"""


class OneKernelPerProduct:
    """Launches the kernels of a step separately, or many steps as a CUDA graph."""

    def __init__(self, cp, x, y, initial, is_captured):
        self.cp, self.initial, self.launches, self.graph = cp, initial, [], None
        self.x, self.y = cp.asarray(x), cp.asarray(y)
        self.module = cp.RawModule(code=SOURCE)
        self.order, self.counters = cp.arange(ROWS), cp.zeros(2, np.int64)
        self.parameters = [cp.array(array) for array in initial]
        gradients, means, squares = ([cp.zeros_like(array) for array in self.parameters] for _ in range(3))
        self.state = [self.counters, *means, *squares]
        self.list_launches(gradients, means, squares)
        if is_captured:
            # The first launches load the kernels, which a capture cannot.
            self.step()
            self.synchronize()
            with cp.cuda.Stream(non_blocking=True) as stream:
                stream.begin_capture()
                for _ in range(gpu_peer.STEPS_OF_GRAPH):
                    self.step()
                self.graph = stream.end_capture()

    def list_launches(self, gradients, means, squares):
        cp = self.cp
        activations, deltas = ([cp.zeros((BATCH, width), np.float32) for width in LAYERS] for _ in range(2))
        batch_y, ones = cp.zeros((BATCH, 1), np.float32), cp.ones((1, BATCH), np.float32)
        layers = range(len(LAYERS) - 1)
        self.launch("gather", activations[0].size, self.order, self.counters, self.x, self.y, activations[0], batch_y)
        for layer, (weights, biases) in enumerate(zip(self.parameters[::2], self.parameters[1::2])):
            out = activations[layer + 1]
            self.product(activations[layer], weights.T, out)
            self.launch("activate", out.size, out, biases, biases.size, int(layer < layers[-1]))
        self.launch("output_delta", BATCH, activations[-1], batch_y, deltas[-1])
        for layer in reversed(layers):
            delta = deltas[layer + 1]
            self.product(delta.T, activations[layer], gradients[2 * layer])
            self.product(ones, delta, gradients[2 * layer + 1])
            if layer > 0:
                self.product(delta, self.parameters[2 * layer], deltas[layer])
                self.launch("hidden_delta", deltas[layer].size, activations[layer], deltas[layer])
        for arrays in zip(self.parameters, gradients, means, squares):
            self.launch("adam", arrays[0].size, *arrays, self.counters)
        self.launch("count", 1, self.counters)

    def product(self, a, b, out):
        strides = [[stride // a.itemsize for stride in array.strides] for array in (a, b)]
        self.launch("product", out.size, a, *strides[0], b, *strides[1], out, a.shape[1], b.shape[1])

    def launch(self, name, size, *arguments):
        arguments = [np.int32(value) if isinstance(value, int) else value for value in (*arguments, size)]
        self.launches.append((self.module.get_function(name), (-(-size // THREADS),), tuple(arguments)))

    def step(self):
        for kernel, blocks, arguments in self.launches:
            kernel(blocks, (THREADS,), arguments)

    def run(self, order, steps):
        self.order[...] = order
        self.counters[0] = 0
        many, rest = divmod(steps, gpu_peer.STEPS_OF_GRAPH) if self.graph else (0, steps)
        for _ in range(many):
            self.graph.launch()
        for _ in range(rest):
            self.step()

    def to_device(self, array):
        return self.cp.asarray(array)

    def permutation(self):
        return self.cp.random.permutation(ROWS)

    def reset(self):
        for parameter, value in zip(self.parameters, self.initial):
            parameter.set(value)
        for array in self.state:
            array.fill(0)

    def to_host(self):
        return [self.cp.asnumpy(parameter) for parameter in self.parameters]

    def synchronize(self):
        self.cp.cuda.Device().synchronize()
