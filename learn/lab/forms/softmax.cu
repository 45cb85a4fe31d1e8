#define ROW 8
#define THREADS 4

extern "C" __global__ void softmax(const float *x, float *out, int columns) {
    __shared__ float row[ROW];
    int t = threadIdx.x, first = blockIdx.x * columns;
    for (int column = t; column < columns; column += THREADS) {
        row[column] = x[first + column];
    }
    __syncthreads();
    float largest = row[0];
    for (int column = 1; column < columns; column++) {
        largest = fmaxf(largest, row[column]);
    }
    float sum = 0;
    for (int column = 0; column < columns; column++) {
        sum += expf(row[column] - largest);
    }
    for (int column = t; column < columns; column += THREADS) {
        out[first + column] = expf(row[column] - largest) / sum;
    }
}
