/* A stand-in for libcuda.so.1 with a few functions, for what the emulated driver cannot be: broken, too old or too new, without a device or
 * without a function.
 *
 * Macros (-D) set its properties and inject failures:
 *   VERSION=n          version of cuDriverGetVersion; 13000 is CUDA 13.0
 *   INIT_RESULT=n      result of cuInit
 *   DEVICES=n          number of devices
 *   ATTRIBUTE_RESULT=n result of cuDeviceGetAttribute
 *   NO_LAUNCH          cuLaunchKernel is missing
 *   NO_CLUSTERS        cuOccupancyMaxActiveClusters is missing
 *   MUTE               the driver has no name and no description of any error
 */
#include <stddef.h>
#include <stdio.h>
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

enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101, NOT_FOUND = 500 };
typedef int CUresult;

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

/* Modules. Every one has a kernel `scale`. */

CUresult cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
    (void)image, (void)count, (void)options, (void)values;
    *module = "module";
    return SUCCESS;
}

CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
    (void)module;
    *function = "scale";
    return strcmp(name, "scale") == 0 ? SUCCESS : NOT_FOUND;
}

CUresult cuModuleUnload(void *module) { (void)module; return SUCCESS; }

/* Clusters. */

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

/* Functions that a usable driver has, and that no test here calls. */

#define UNUSED(name) CUresult name(void) { return INVALID_VALUE; }
UNUSED(cuMemAlloc_v2) UNUSED(cuMemFree_v2) UNUSED(cuMemcpyHtoD_v2) UNUSED(cuMemcpyDtoH_v2)
UNUSED(cuStreamCreateWithPriority) UNUSED(cuStreamSynchronize) UNUSED(cuStreamDestroy_v2)
UNUSED(cuEventCreate) UNUSED(cuEventRecord) UNUSED(cuEventElapsedTime) UNUSED(cuEventDestroy_v2)
#ifndef NO_LAUNCH
UNUSED(cuLaunchKernel)
#endif
