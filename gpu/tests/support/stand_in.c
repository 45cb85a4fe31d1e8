/* A stand-in for libcuda.so.1 whose device memory is the host's. It runs the kernels of support/mod.rs, and writes what
 * it is asked for, a line a call, to the file that the environment names in STAND_IN_LOG.
 *
 * Compiled with -D it is another device:
 *   DEVICES=n                    how many devices there are
 *   MAJOR=n, MINOR=n             their compute capability
 *   LAUNCH_RESULT=n              what cuLaunchKernel returns
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef MAJOR
#define MAJOR 8
#endif
#ifndef MINOR
#define MINOR 6
#endif
#ifndef LAUNCH_RESULT
#define LAUNCH_RESULT 0
#endif

enum {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_CONTEXT = 201, INVALID_PTX = 218,
    NOT_FOUND = 500, ILLEGAL_ADDRESS = 700
};
typedef int CUresult;
typedef unsigned long long CUdeviceptr;

static void note(const char *format, ...) {
    const char *path = getenv("STAND_IN_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fputc('\n', file);
    fclose(file);
}

/* Devices and contexts. */

CUresult cuDriverGetVersion(int *version) { *version = 13000; return SUCCESS; }
CUresult cuInit(unsigned flags) { return flags == 0 ? SUCCESS : INVALID_VALUE; }
CUresult cuDeviceGetCount(int *count) { *count = DEVICES; return SUCCESS; }
CUresult cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal < DEVICES ? SUCCESS : NO_DEVICE; }
CUresult cuDeviceGetName(char *name, int length, int device) {
    (void)device;
    snprintf(name, length, "Stand-in");
    return SUCCESS;
}
CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == 75 ? MAJOR : attribute == 76 ? MINOR : 0;
    return SUCCESS;
}

enum { MEMORY = 1 << 20 };
static size_t used = 0;
CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = MEMORY; return SUCCESS; }

static _Thread_local int is_current = 0;
/* What a kernel has done to the device: every later call returns it. */
static CUresult failure = SUCCESS;
#define CHECK() do { if (!is_current) return INVALID_CONTEXT; if (failure) return failure; } while (0)

static int retained = 0;
CUresult cuDevicePrimaryCtxRetain(void **context, int device) {
    (void)device;
    retained++;
    *context = "context";
    return SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    if (--retained == 0) is_current = 0;
    note("release context");
    return SUCCESS;
}
CUresult cuCtxSetCurrent(void *context) {
    is_current = strcmp(context, "context") == 0;
    return is_current ? SUCCESS : INVALID_VALUE;
}
CUresult cuCtxSynchronize(void) { CHECK(); note("synchronize"); return SUCCESS; }

CUresult cuGetErrorName(int error, const char **name) { (void)error; *name = "CUDA_ERROR"; return SUCCESS; }
CUresult cuGetErrorString(int error, const char **text) {
    *text = error == ILLEGAL_ADDRESS ? "illegal address" : error == INVALID_PTX ? "invalid PTX" : "some error";
    return SUCCESS;
}

/* Modules. A text with the word "wrong" is not compiled. A function is its name. */

CUresult cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
    CHECK();
    char *errors = NULL, *information = NULL;
    size_t errors_size = 0, information_size = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == 3) information = values[i];
        if (options[i] == 4) information_size = (size_t)values[i];
        if (options[i] == 5) errors = values[i];
        if (options[i] == 6) errors_size = (size_t)values[i];
    }
    if (strstr(image, "wrong")) {
        snprintf(errors, errors_size, "ptxas application ptx input, line 2; error : wrong\n");
        snprintf(information, information_size, "information about it");
        return INVALID_PTX;
    }
    *module = strdup(image);
    return SUCCESS;
}
CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
    CHECK();
    note("look up %s", name);
    if (!strstr(module, name)) return NOT_FOUND;
    *function = strdup(name);
    return SUCCESS;
}
CUresult cuModuleUnload(void *module) { free(module); note("unload module"); return SUCCESS; }

/* Memory. Its size lies before it. */

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
    CHECK();
    if (bytes > MEMORY - used) return OUT_OF_MEMORY;
    char *memory = malloc(bytes + 64);
    *(size_t *)memory = bytes;
    memset(memory + 64, 0xEE, bytes);
    used += bytes;
    *pointer = (CUdeviceptr)(memory + 64);
    return SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr pointer) {
    char *memory = (char *)pointer - 64;
    used -= *(size_t *)memory;
    free(memory);
    note("free");
    return SUCCESS;
}
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    CHECK();
    *free_bytes = MEMORY - used;
    *total = MEMORY;
    return SUCCESS;
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    CHECK();
    memcpy((void *)to, from, bytes);
    return SUCCESS;
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    CHECK();
    memcpy(to, (void *)from, bytes);
    return SUCCESS;
}
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes) {
    CHECK();
    memset((void *)to, value, bytes);
    return SUCCESS;
}
CUresult cuMemAllocHost_v2(void **pointer, size_t bytes) {
    CHECK();
    note("lock %zu bytes", bytes);
    *pointer = malloc(bytes);
    return SUCCESS;
}
CUresult cuMemFreeHost(void *pointer) { free(pointer); note("unlock"); return SUCCESS; }

/* Launches. */

CUresult cuLaunchKernel(const char *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments,
                        void **extra) {
    CHECK();
    if (extra) return INVALID_VALUE;
    if (LAUNCH_RESULT) return LAUNCH_RESULT;
    char shape[200];
    snprintf(shape, sizeof shape, "launch %s grid %u %u %u block %u %u %u shared %u stream %zu", function, grid_x,
             grid_y, grid_z, block_x, block_y, block_z, shared_bytes, (size_t)stream);
    float *first = *(float **)arguments[0];
    size_t length = *(size_t *)arguments[1];
    if (strcmp(function, "vector_max") == 0) {
        float *second = *(float **)arguments[2], *out = *(float **)arguments[4];
        size_t second_length = *(size_t *)arguments[3], out_length = *(size_t *)arguments[5];
        note("%s: %zu %zu %zu %zu %zu %zu", shape, (size_t)first, length, (size_t)second, second_length, (size_t)out,
             out_length);
        for (size_t i = 0; i < out_length; i++) out[i] = first[i] > second[i] ? first[i] : second[i];
    } else if (strcmp(function, "scale") == 0) {
        float factor = *(float *)arguments[2];
        unsigned char from = *(unsigned char *)arguments[3];
        note("%s: %zu %zu %g %u", shape, (size_t)first, length, factor, from);
        for (size_t i = from; i < length; i++) first[i] *= factor;
    } else if (strcmp(function, "overrun") == 0) {
        note("%s: %zu %zu", shape, (size_t)first, length);
        failure = ILLEGAL_ADDRESS; /* of the calls that follow */
    }
    return SUCCESS;
}

/* Streams and events. */

CUresult cuStreamCreateWithPriority(size_t *stream, unsigned flags, int priority) {
    static size_t streams = 0;
    CHECK();
    if (flags != 0 || priority != 0) return INVALID_VALUE;
    *stream = ++streams;
    return SUCCESS;
}
CUresult cuStreamSynchronize(size_t stream) { CHECK(); note("synchronize stream %zu", stream); return SUCCESS; }
CUresult cuStreamDestroy_v2(size_t stream) { note("destroy stream %zu", stream); return SUCCESS; }

CUresult cuEventCreate(void **event, unsigned flags) {
    CHECK();
    *event = calloc(1, sizeof(float));
    return flags == 0 ? SUCCESS : INVALID_VALUE;
}
/* Each event is recorded 1.5 ms after the one before. */
CUresult cuEventRecord(float *event, size_t stream) {
    static float now = 10;
    CHECK();
    note("record stream %zu", stream);
    *event = now += 1.5f;
    return SUCCESS;
}
CUresult cuEventElapsedTime(float *milliseconds, float *start, float *end) {
    CHECK();
    *milliseconds = *end - *start;
    return SUCCESS;
}
CUresult cuEventDestroy_v2(void *event) { free(event); return SUCCESS; }
