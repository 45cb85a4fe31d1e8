// Correct kernels. tests/foreign/cases.rs has the reference of each.
#include "device.h"

#define KERNEL extern "C" __global__ void

__device__ inline int thread_in_grid() { return blockIdx.x * blockDim.x + threadIdx.x; }

KERNEL saxpy(float a, const float *x, float *y, int n) {
    int i = thread_in_grid();
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}

KERNEL add_vectors_of_4(const float4 *x, const float4 *y, float4 *z, int n) {
    for (int i = thread_in_grid(); i < n / 4; i += gridDim.x * blockDim.x) {
        float4 a = x[i], b = y[i];
        float4 c = {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
        z[i] = c;
    }
}

KERNEL sum_of_blocks(const int *x, int *sums, int n) {
    __shared__ int partial[128];
    int sum = 0;
    for (int i = thread_in_grid(); i < n; i += gridDim.x * blockDim.x) sum += x[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

KERNEL maximum_by_shuffles(const int *x, int *largest, int n) {
    int most = -2147483647 - 1;
    for (int i = thread_in_grid(); i < n; i += gridDim.x * blockDim.x) most = x[i] > most ? x[i] : most;
    for (int lane = 16; lane > 0; lane /= 2) {
        int other = __shfl_xor_sync(~0u, most, lane);
        most = other > most ? other : most;
    }
    if (threadIdx.x % 32 == 0) atomicMax(largest, most);
}

KERNEL prefix_sums(const int *x, int *sums, int n) {
    __shared__ int buffers[2][128];
    int t = threadIdx.x, from = 0;
    buffers[0][t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int distance = 1; distance < blockDim.x; distance *= 2) {
        buffers[1 - from][t] = buffers[from][t] + (t >= distance ? buffers[from][t - distance] : 0);
        from = 1 - from;
        __syncthreads();
    }
    if (t < n) sums[t] = buffers[from][t];
}

KERNEL prefix_sums_by_shuffles(const int *x, int *sums) {
    __shared__ int of_warps[4];
    int t = threadIdx.x, lane = t % 32, warp = t / 32, sum = x[t];
    for (int distance = 1; distance < 32; distance *= 2) {
        int other = __shfl_up_sync(~0u, sum, distance);
        if (lane >= distance) sum += other;
    }
    if (lane == 31) of_warps[warp] = sum;
    __syncthreads();
    for (int other = 0; other < warp; other++) sum += of_warps[other];
    sums[t] = sum;
}

KERNEL histogram(const int *x, int *counts, int n) {
    __shared__ int own[16];
    if (threadIdx.x < 16) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = thread_in_grid(); i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i] & 15], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

KERNEL transpose(const float *x, float *y, int rows, int columns) {
    __shared__ float tile[16][17];
    int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
    __syncthreads();
    column = blockIdx.y * 16 + threadIdx.x;
    row = blockIdx.x * 16 + threadIdx.y;
    if (row < columns && column < rows) y[row * rows + column] = tile[threadIdx.x][threadIdx.y];
}

KERNEL matrix_product(const float *a, const float *b, float *c, int n) {
    __shared__ float of_a[8][8], of_b[8][8];
    int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 8) {
        of_a[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0;
        of_b[threadIdx.y][threadIdx.x] = k + threadIdx.y < n && column < n ? b[(k + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < 8; i++) sum += of_a[threadIdx.y][i] * of_b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

KERNEL stencil(const float *x, float *y, int n) {
    __shared__ float tile[66];
    int i = thread_in_grid(), t = threadIdx.x + 1;
    tile[t] = i < n ? x[i] : 0;
    if (threadIdx.x == 0) tile[0] = i > 0 ? x[i - 1] : 0;
    if (threadIdx.x == blockDim.x - 1) tile[t + 1] = i + 1 < n ? x[i + 1] : 0;
    __syncthreads();
    if (i < n) y[i] = (tile[t - 1] + 2 * tile[t] + tile[t + 1]) * 0.25f;
}

__constant__ float filter[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};

KERNEL convolution(const float *x, float *y, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || column >= columns) return;
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            int r = row + dy, c = column + dx;
            if (r >= 0 && r < rows && c >= 0 && c < columns) sum += filter[(dy + 1) * 3 + dx + 1] * x[r * columns + c];
        }
    }
    y[row * columns + column] = sum / 16;
}

KERNEL softmax(const float *x, float *y, int columns) {
    __shared__ float shared[64];
    const float *row = x + blockIdx.x * columns;
    float largest = -3.0e38f;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) largest = fmaxf(largest, row[c]);
    shared[threadIdx.x] = largest;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    largest = shared[0];
    __syncthreads();
    float sum = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += exponential(row[c] - largest);
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        y[blockIdx.x * columns + c] = exponential(row[c] - largest) / shared[0];
    }
}

KERNEL layer_norm(const float *x, float *y, int columns) {
    // One warp per row.
    const float *row = x + blockIdx.x * columns;
    float sum = 0, squares = 0;
    for (int c = threadIdx.x; c < columns; c += 32) sum += row[c];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    float mean = 0;
    __shared__ float both[2];
    if (threadIdx.x == 0) both[0] = sum / columns;
    __syncwarp();
    mean = both[0];
    for (int c = threadIdx.x; c < columns; c += 32) squares += (row[c] - mean) * (row[c] - mean);
    for (int d = 16; d > 0; d /= 2) squares += __shfl_down_sync(~0u, squares, d);
    if (threadIdx.x == 0) both[1] = 1 / sqrtf(squares / columns + 1e-5f);
    __syncwarp();
    for (int c = threadIdx.x; c < columns; c += 32) y[blockIdx.x * columns + c] = (row[c] - mean) * both[1];
}

KERNEL bitonic_sort(int *x) {
    __shared__ int keys[128];
    int t = threadIdx.x;
    keys[t] = x[t];
    __syncthreads();
    for (int size = 2; size <= blockDim.x; size *= 2) {
        for (int distance = size / 2; distance > 0; distance /= 2) {
            int other = t ^ distance;
            if (other > t) {
                bool ascending = (t & size) == 0;
                int a = keys[t], b = keys[other];
                if ((a > b) == ascending) {
                    keys[t] = b;
                    keys[other] = a;
                }
            }
            __syncthreads();
        }
    }
    x[t] = keys[t];
}

KERNEL greatest_common_divisors(const int *a, const int *b, int *c, int n) {
    int i = thread_in_grid();
    if (i >= n) return;
    int x = a[i], y = b[i];
    while (y != 0) {
        int rest = x % y;
        x = y;
        y = rest;
    }
    c[i] = x;
}

KERNEL collatz(int *steps, int n) {
    int i = thread_in_grid();
    if (i >= n) return;
    u64 value = i + 1;
    int count = 0;
    while (value != 1) {
        value = value % 2 == 0 ? value / 2 : 3 * value + 1;
        count++;
    }
    steps[i] = count;
}

KERNEL mandelbrot(int *iterations, int width, int height) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    // Multiples of 1/8 are exact, and so is each value until it escapes.
    float cr = column * 0.125f - 2, ci = row * 0.125f - 1, zr = 0, zi = 0;
    int count = 0;
    while (count < 6 && zr * zr + zi * zi <= 4) {
        float next = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = next;
        count++;
    }
    iterations[row * width + column] = count;
}

KERNEL bits(const int *x, int *counts, int n) {
    int i = thread_in_grid();
    if (i < n) counts[i] = __popc(x[i]) * 10000 + __clz(x[i]) * 100 + (__brev(x[i]) & 63);
}

KERNEL modular_powers(const int *bases, int *powers, int n) {
    int i = thread_in_grid();
    if (i >= n) return;
    u64 result = 1, base = bases[i];
    for (int exponent = i; exponent > 0; exponent /= 2) {
        if (exponent % 2 == 1) result = result * base % 1000000007;
        base = base * base % 1000000007;
    }
    powers[i] = (int)result;
}

KERNEL divisions(const int *a, const int *b, int *c, int n) {
    int i = thread_in_grid();
    if (i >= n) return;
    unsigned x = a[i], y = b[i];
    long long wide = (long long)a[i] * 1000003;
    c[i] = a[i] / b[i] + a[i] % b[i] * 3 + (int)(x / y) * 5 + (int)(x % y) * 7 + (int)(wide / b[i]) * 11;
}

KERNEL double_roots(const double *x, double *y, int n) {
    int i = thread_in_grid();
    if (i >= n) return;
    double root = x[i] > 1 ? x[i] : 1;
    for (int step = 0; step < 40; step++) root = (root + x[i] / root) / 2;
    y[i] = root;
}

KERNEL insertion_sort_of_each(const int *x, int *y, int n) {
    int i = thread_in_grid();
    if (i >= n) return;
    int own[12];
    for (int k = 0; k < 12; k++) own[k] = x[i * 12 + k];
    for (int k = 1; k < 12; k++) {
        int value = own[k], place = k;
        while (place > 0 && own[place - 1] > value) {
            own[place] = own[place - 1];
            place--;
        }
        own[place] = value;
    }
    for (int k = 0; k < 12; k++) y[i * 12 + k] = own[k];
}

KERNEL opcodes(const int *codes, int *results, int n) {
    int i = thread_in_grid();
    if (i >= n) return;
    int r = i;
    switch (codes[i]) {
    case 0: r = r + 17; break;
    case 1: r = r * r - 1; break;
    case 2: r = r << 3; break;
    case 3: r = ~r; break;
    case 4: r = r ^ 0x5a5a; break;
    case 5: r = -r; break;
    case 6: r = r % 13; break;
    case 7: for (int k = 0; k < i % 5; k++) r += k; break;
    default: r = 0;
    }
    results[i] = r;
}

// Four of its bytes are padding.
struct Weighted {
    double weight;
    int index;
};

__device__ __attribute__((noinline)) Weighted heavier(Weighted a, Weighted b) { return a.weight >= b.weight ? a : b; }

KERNEL heaviest(const double *weights, int *index, int n) {
    Weighted best = {weights[0], 0};
    for (int i = 1; i < n; i++) {
        Weighted other;
        other.weight = weights[i];
        other.index = i;
        Weighted copies[2] = {best, other};
        best = heavier(copies[i % 2], copies[1 - i % 2]);
    }
    index[threadIdx.x] = best.index;
}

KERNEL upper_case(const char *text, char *result, int n) {
    int i = thread_in_grid();
    if (i < n) result[i] = text[i] >= 'a' && text[i] <= 'z' ? text[i] - 32 : text[i];
}

KERNEL short_sums(const short *x, short *y, int n) {
    int i = thread_in_grid();
    if (i < n) y[i] = (short)(x[i] * 3 - (i > 0 ? x[i - 1] : (short)0));
}

KERNEL compaction(const int *x, int *kept, int *count, int n) {
    // One warp, in order.
    int lane = threadIdx.x, base = 0;
    for (int start = 0; start < n; start += 32) {
        int i = start + lane;
        bool keep = i < n && x[i] % 3 == 0;
        unsigned all = __ballot_sync(~0u, keep);
        if (keep) kept[base + __popc(all & ((1u << lane) - 1))] = x[i];
        base += __popc(all);
    }
    if (lane == 0) *count = base;
}

KERNEL last_block_adds_up(const int *x, int *partial, unsigned *arrived, int *sum, int n) {
    // Volatile, since clang 14 moves a read of another element above the barrier.
    __shared__ volatile bool is_last;
    int own = 0;
    for (int i = thread_in_grid(); i < n; i += gridDim.x * blockDim.x) own += x[i];
    for (int lane = 16; lane > 0; lane /= 2) own += __shfl_xor_sync(~0u, own, lane);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = own;
        __threadfence();
        is_last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!is_last) return;
    int all = threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0;
    for (int lane = 16; lane > 0; lane /= 2) all += __shfl_xor_sync(~0u, all, lane);
    if (threadIdx.x == 0) *sum = all;
}

KERNEL game_of_life(const char *now, char *next, int width, int height) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    int neighbours = 0;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            int r = (row + dy + height) % height, c = (column + dx + width) % width;
            if (dx != 0 || dy != 0) neighbours += now[r * width + c];
        }
    }
    next[row * width + column] = neighbours == 3 || (neighbours == 2 && now[row * width + column]);
}

KERNEL binary_search(const int *sorted, const int *keys, int *places, int n, int m) {
    int i = thread_in_grid();
    if (i >= m) return;
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < keys[i]) low = middle + 1;
        else high = middle;
    }
    places[i] = low;
}

KERNEL sparse_product(const int *rows, const int *columns, const float *values, const float *x, float *y, int n) {
    int row = thread_in_grid();
    if (row >= n) return;
    float sum = 0;
    for (int k = rows[row]; k < rows[row + 1]; k++) sum += values[k] * x[columns[k]];
    y[row] = sum;
}

__constant__ int coefficients[5] = {7, -3, 2, 5, -1};

KERNEL polynomial(const int *x, int *y, int n) {
    int i = thread_in_grid();
    if (i >= n) return;
    int value = 0;
    for (int k = 4; k >= 0; k--) value = value * x[i] + coefficients[k];
    y[i] = value;
}

KERNEL reverse_blocks(const int *x, int *y) {
    extern __shared__ int reversed[];
    int i = thread_in_grid();
    reversed[blockDim.x - 1 - threadIdx.x] = x[i];
    __syncthreads();
    y[i] = reversed[threadIdx.x];
}

__device__ __attribute__((noinline)) int ackermann_like(int a, int b, int *depth) {
    *depth += 1;
    return a * 31 + b;
}

KERNEL calls(const int *x, int *y, int n) {
    int i = thread_in_grid();
    if (i >= n) return;
    int depth = 0, value = x[i];
    for (int k = 0; k < i % 4; k++) value = ackermann_like(value, k, &depth);
    y[i] = value + depth * 1000000;
}

KERNEL random_walks(int *ends, int n) {
    int i = thread_in_grid();
    if (i >= n) return;
    unsigned state = i * 747796405u + 2891336453u;
    int place = 0;
    for (int step = 0; step < 50; step++) {
        state = state * 1664525u + 1013904223u;
        place += state >> 31 ? 1 : -1;
    }
    ends[i] = place;
}

KERNEL lock(int *flag, int *value) {
    if (threadIdx.x == 0) {
        while (atomicCAS(flag, 0, 1) != 0) {}
        __threadfence();
        *value = *value * 2 + (int)blockIdx.x % 2;
        __threadfence();
        atomicExch(flag, 0);
    }
}

KERNEL float_atomics(const float *x, float *sum, int n) {
    int i = thread_in_grid();
    if (i < n) atomicAdd(sum, x[i]);
}

KERNEL fast_gelu(const float *x, float *y, int n) {
    int i = thread_in_grid();
    if (i >= n) return;
    float inner = 0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i]);
    // tanh(z) = 1 - 2 / (e^2z + 1), which is right even if e^2z overflows to infinity.
    y[i] = 0.5f * x[i] * (2 - 2 / (exponential(2 * inner) + 1));
}

// Every lane has the warp's sum and writes it.
KERNEL same_value(const int *x, int *sums) {
    __shared__ int sum_of_warp[2];
    int sum = x[threadIdx.x];
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
    sum_of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    sums[threadIdx.x] = sum_of_warp[1 - threadIdx.x / 32];
}
