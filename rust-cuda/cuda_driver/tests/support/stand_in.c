/* A stand-in for libcuda.so.1 with a few functions, whose "device memory" is the host's.
 *
 * Macros (-D) set its properties and inject failures:
 *   VERSION=n          version of cuDriverGetVersion; 13000 is CUDA 13.0
 *   INIT_RESULT=n      result of cuInit
 *   DEVICES=n          number of devices
 *   ATTRIBUTE_RESULT=n result of cuDeviceGetAttribute
 *   NO_LAUNCH          cuLaunchKernel is missing
 *   NO_GRAPHS          the functions for graphs are missing
 *   NO_CLUSTERS        cuOccupancyMaxActiveClusters is missing
 *   MUTE               the driver has no name and no description of any error
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef VERSION
#define VERSION 13000
#endif
#ifndef INIT_RESULT
#define INIT_RESULT 0
#endif
#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef ATTRIBUTE_RESULT
#define ATTRIBUTE_RESULT 0
#endif

enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101, INVALID_PTX = 218, NOT_FOUND = 500 };
typedef int CUresult;
typedef unsigned long long CUdeviceptr;

/* Devices. */

CUresult cuDriverGetVersion(int *version) { *version = VERSION; return SUCCESS; }
CUresult cuInit(unsigned flags) { return flags == 0 ? INIT_RESULT : INVALID_VALUE; }
CUresult cuDeviceGetCount(int *count) { *count = DEVICES; return SUCCESS; }

CUresult cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal < DEVICES ? SUCCESS : INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int length, int device) {
    snprintf(name, length, "Stand-in %d", device);
    return SUCCESS;
}

/* An attribute's value is 1000 · device + attribute. */
CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = 1000 * device + attribute;
    return ATTRIBUTE_RESULT;
}

CUresult cuDevicePrimaryCtxRetain(void **context, int device) { (void)device; *context = "context"; return SUCCESS; }
CUresult cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return SUCCESS; }
CUresult cuCtxSetCurrent(void *context) { return strcmp(context, "context") == 0 ? SUCCESS : INVALID_VALUE; }

/* Errors. */

#ifdef MUTE
CUresult cuGetErrorName(int error, const char **name) { (void)error; *name = NULL; return INVALID_VALUE; }
CUresult cuGetErrorString(int error, const char **text) { (void)error; *text = NULL; return INVALID_VALUE; }
#else
CUresult cuGetErrorName(int error, const char **name) {
    *name = error == 46 ? "CUDA_ERROR_DEVICE_UNAVAILABLE" : "CUDA_ERROR_OF_THE_STAND_IN";
    return SUCCESS;
}
CUresult cuGetErrorString(int error, const char **text) {
    (void)error;
    *text = "words of the stand-in";
    return SUCCESS;
}
#endif

/* Modules. Every one has a kernel `scale`, unless its text has the word "broken". */

CUresult cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
    char *log = NULL;
    size_t log_size = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == 5) log = values[i];              /* CU_JIT_ERROR_LOG_BUFFER */
        if (options[i] == 6) log_size = (size_t)values[i]; /* CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES */
    }
    if (strstr(image, "broken")) {
        if (log) snprintf(log, log_size, "ptxas: line 1 is broken");
        return INVALID_PTX;
    }
    *module = "module";
    return SUCCESS;
}

CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
    (void)module;
    *function = "scale";
    return strcmp(name, "scale") == 0 ? SUCCESS : NOT_FOUND;
}

CUresult cuModuleUnload(void *module) { (void)module; return SUCCESS; }

/* Memory. */

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) { *pointer = (CUdeviceptr)malloc(bytes); return SUCCESS; }
CUresult cuMemFree_v2(CUdeviceptr pointer) { free((void *)pointer); return SUCCESS; }
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    memcpy((void *)to, from, bytes);
    return SUCCESS;
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) { memcpy(to, (void *)from, bytes); return SUCCESS; }

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    *pointer = malloc(bytes);
    memset(*pointer, (int)flags, bytes);
    return SUCCESS;
}
CUresult cuMemFreeHost(void *pointer) { free(pointer); return SUCCESS; }

/* Launches. The kernel `scale(float *data, size_t length, float factor)` has a thread for each element. While a
 * stream is being captured, a launch is stored for the graph instead. */

struct launch { float *data; size_t length; float factor; };
static struct launch captured;
static int capturing = 0;

static void run(struct launch launch) {
    for (size_t i = 0; i < launch.length; i++) launch.data[i] *= launch.factor;
}

static CUresult launch_scale(const void *function, unsigned grid, unsigned block, void **arguments) {
    struct launch launch = { *(float **)arguments[0], *(size_t *)arguments[1], *(float *)arguments[2] };
    if (strcmp(function, "scale") != 0 || (size_t)grid * block < launch.length) return INVALID_VALUE;
    if (capturing) captured = launch;
    else run(launch);
    return SUCCESS;
}

/* Only attribute 14, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, can be set, to 1. */
CUresult cuFuncSetAttribute(void *function, int attribute, int value) {
    return function && attribute == 14 && value == 1 ? SUCCESS : INVALID_VALUE;
}

#ifndef NO_CLUSTERS
/* The layout is that of NVIDIA's cuda.h. */
typedef struct {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void *stream, *attributes;
    unsigned attribute_count;
} CUlaunchConfig;

/* The sum of the fields, each of another weight. */
CUresult cuOccupancyMaxActiveClusters(int *count, void *function, const CUlaunchConfig *config) {
    if (!function || config->stream || config->attributes || config->attribute_count) return INVALID_VALUE;
    *count = config->grid_x + 10 * config->grid_y + 100 * config->grid_z + 1000 * config->block_x +
             100000 * config->block_y + 1000000 * config->block_z + 10000000 * config->shared_bytes;
    return SUCCESS;
}
#endif

#ifndef NO_LAUNCH
CUresult cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments,
                        void **extra) {
    (void)shared_bytes, (void)stream;
    if (grid_y * grid_z * block_y * block_z != 1 || extra) return INVALID_VALUE;
    return launch_scale(function, grid_x, block_x, arguments);
}
#endif

CUresult cuLaunchCooperativeKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,
                                   void **arguments) {
    (void)shared_bytes, (void)stream;
    if (grid_y * grid_z * block_y * block_z != 1) return INVALID_VALUE;
    return launch_scale(function, grid_x, block_x, arguments);
}

/* Streams and events. */

CUresult cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    (void)flags, (void)priority;
    *stream = "stream";
    return SUCCESS;
}
CUresult cuStreamSynchronize(void *stream) { (void)stream; return SUCCESS; }
CUresult cuStreamDestroy_v2(void *stream) { (void)stream; return SUCCESS; }

CUresult cuEventCreate(void **event, unsigned flags) { (void)flags; *event = "event"; return SUCCESS; }
CUresult cuEventRecord(void *event, void *stream) { (void)event, (void)stream; return SUCCESS; }
CUresult cuEventSynchronize(void *event) { (void)event; return SUCCESS; }
CUresult cuEventElapsedTime(float *milliseconds, void *start, void *end) {
    (void)start, (void)end;
    *milliseconds = 1.5f;
    return SUCCESS;
}
CUresult cuEventDestroy_v2(void *event) { (void)event; return SUCCESS; }

/* Graphs of one launch. */

#ifndef NO_GRAPHS
CUresult cuStreamBeginCapture_v2(void *stream, int mode) { (void)stream, (void)mode; capturing = 1; return SUCCESS; }
CUresult cuStreamEndCapture(void *stream, void **graph) {
    (void)stream;
    capturing = 0;
    *graph = &captured;
    return SUCCESS;
}
CUresult cuGraphInstantiate_v2(void **executable, void *graph, void **error_node, char *log, size_t log_size) {
    (void)error_node, (void)log, (void)log_size;
    *executable = graph;
    return SUCCESS;
}
CUresult cuGraphLaunch(void *executable, void *stream) {
    (void)stream;
    run(*(struct launch *)executable);
    return SUCCESS;
}
CUresult cuGraphExecDestroy(void *executable) { (void)executable; return SUCCESS; }
CUresult cuGraphDestroy(void *graph) { (void)graph; return SUCCESS; }
#endif
