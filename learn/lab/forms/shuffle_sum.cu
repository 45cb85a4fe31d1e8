#define ALL_LANES 0xFFFFFFFF

extern "C" __global__ void shuffle_sum(const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? x[i] : 0;
    for (int delta = 16; delta > 0; delta /= 2) {
        value += __shfl_down_sync(ALL_LANES, value, delta);
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = value;
    }
}
