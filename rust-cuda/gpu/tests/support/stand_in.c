/* A stand-in for libcuda.so.1 whose device memory is the host's. It runs the kernels of support/mod.rs, and logs its
 * calls, one per line, to the file named by the environment variable STAND_IN_LOG.
 *
 * The emulated driver has no log of calls and none of the faults below, such as a device that is lost after n launches; what it serves
 * is tested in on_a_gpu.rs.
 *
 * Macros (-D) set the properties of the device:
 *   DEVICES=n                    number of devices
 *   MAJOR=n, MINOR=n             compute capability
 *   DRIVER=n                     version of CUDA, 1000 * major + 10 * minor
 *   DEPENDENT_GRAPHS=0           no graphs with dependent launches
 *   LAUNCH_RESULT=n              result of cuLaunchKernel
 *   LOOK_UP_RESULT=n             result of cuModuleGetFunction
 *   MULTIPROCESSORS=n, RESIDENT=n   number of multiprocessors, and max. resident blocks on each
 *   COOPERATIVE=0                no support of cooperative launches
 *   STATIC_SHARED=n              static shared memory of each kernel in bytes
 *   SHARED=n                     max. shared memory per block in bytes
 *   MEMORY=n                     device memory in bytes
 *   CLUSTER=n, CLUSTER_RESULT=n  max. blocks of a cluster, and the result of a query of more
 *   EVENT=n                      milliseconds between two events
 *   CAPTURE_LIMIT=n              max. number of captured launches; the next one and the end of the capture fail
 *   END_CAPTURE_RESULT=n, INSTANTIATE_RESULT=n   results of these functions
 *   GRAPH_LAUNCHES=n             number of graph launches that succeed
 *
 * Environment variables inject faults after a number of calls. A graph launch counts as one launch, a captured launch
 * does not count:
 *   STAND_IN_ALLOCATIONS=n       number of allocations that succeed
 *   STAND_IN_COPIES=n            number of copies that succeed; the next one fails with a sticky error
 *   STAND_IN_LAUNCHES=n          number of launches that succeed; the next one causes a sticky error
 *   STAND_IN_FINITE_LAUNCHES=n   number of launches with finite results; after the next one every copy from the device
 *                                is NaN
 */
#include <limits.h>
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
#ifndef DRIVER
#define DRIVER 13000
#endif
#ifndef DEPENDENT_GRAPHS
#define DEPENDENT_GRAPHS 1
#endif
#ifndef LAUNCH_RESULT
#define LAUNCH_RESULT 0
#endif
#ifndef LOOK_UP_RESULT
#define LOOK_UP_RESULT 0
#endif
#ifndef MULTIPROCESSORS
#define MULTIPROCESSORS 4
#endif
#ifndef RESIDENT
#define RESIDENT 2
#endif
#ifndef COOPERATIVE
#define COOPERATIVE 1
#endif
#ifndef STATIC_SHARED
#define STATIC_SHARED 0
#endif
#ifndef SHARED
#define SHARED (99 * 1024)
#endif
#ifndef MEMORY
#define MEMORY (1 << 20)
#endif
#ifndef CAPTURE_LIMIT
#define CAPTURE_LIMIT 16
#endif
#ifndef END_CAPTURE_RESULT
#define END_CAPTURE_RESULT 0
#endif
#ifndef INSTANTIATE_RESULT
#define INSTANTIATE_RESULT 0
#endif
#ifndef GRAPH_LAUNCHES
#define GRAPH_LAUNCHES 1000
#endif

enum {
    SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_CONTEXT = 201, INVALID_PTX = 218,
    NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, LAUNCH_FAILED = 719,
    CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901, INVALID_CLUSTER_SIZE = 912
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

/* The value of an environment variable; ULONG_MAX, which no counter reaches, if it is not set. */
static unsigned long limit(const char *name) {
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 10) : ULONG_MAX;
}

/* Devices and contexts. */

CUresult cuDriverGetVersion(int *version) { *version = DRIVER; return SUCCESS; }
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
    switch (attribute) {
    case 8: *value = SHARED < 48 * 1024 ? SHARED : 48 * 1024; break;
    case 16: *value = MULTIPROCESSORS; break;
    case 38: *value = 1000; break; /* bytes of the L2 cache */
    case 75: *value = MAJOR; break;
    case 76: *value = MINOR; break;
    case 95: *value = COOPERATIVE; break;
    case 97: *value = SHARED; break;
    default: return INVALID_VALUE;
    }
    return SUCCESS;
}

static size_t used = 0;
CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = MEMORY; return SUCCESS; }

/* A device's primary context, the one that is current in this thread, and the number of its uses. */
static struct context { int retained; } contexts[DEVICES + 1];
static _Thread_local struct context *current = NULL;
/* The sticky error, which every later call returns. */
static CUresult failure = SUCCESS;
#define CHECK() do { if (!current) return INVALID_CONTEXT; if (failure) return failure; } while (0)
/* As CHECK, for something that belongs to a context, which must be the current one. */
#define CHECK_OWNER(owner) do { if (!current || (owner) != current) return INVALID_CONTEXT; CHECK(); } while (0)

CUresult cuDevicePrimaryCtxRetain(void **context, int device) {
    contexts[device].retained++;
    *context = &contexts[device];
    return SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(int device) {
    if (--contexts[device].retained == 0 && current == &contexts[device]) current = NULL;
    note("release context");
    return SUCCESS;
}
CUresult cuCtxSetCurrent(struct context *context) {
    int exists = context >= contexts && context < contexts + DEVICES;
    if (exists) current = context;
    return exists ? SUCCESS : INVALID_VALUE;
}
CUresult cuCtxSynchronize(void) { CHECK(); note("synchronize"); return SUCCESS; }

CUresult cuGetErrorName(int error, const char **name) { (void)error; *name = "CUDA_ERROR"; return SUCCESS; }
CUresult cuGetErrorString(int error, const char **text) {
    *text = error == ILLEGAL_ADDRESS ? "illegal address"
            : error == LAUNCH_FAILED ? "unspecified launch failure"
            : error == INVALID_PTX   ? "invalid PTX"
            : error == INVALID_CLUSTER_SIZE ? "invalid cluster size"
                                     : "some error";
    return SUCCESS;
}

/* Modules. A text with the word "wrong" does not compile; during a capture none is loaded. */

static size_t capturing = 0; /* the stream */
CUresult cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
    CHECK();
    if (capturing) return CAPTURE_UNSUPPORTED;
    int lines = 0;
    char *errors = NULL, *information = NULL;
    size_t errors_size = 0, information_size = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == 3) information = values[i];
        if (options[i] == 4) information_size = (size_t)values[i];
        if (options[i] == 5) errors = values[i];
        if (options[i] == 6) errors_size = (size_t)values[i];
        if (options[i] == 13) lines = (size_t)values[i] == 1;
    }
    /* The names of its entries. */
    char names[200] = "";
    for (const char *entry = image; (entry = strstr(entry, ".entry ")); ) {
        entry += strlen(".entry ");
        snprintf(names + strlen(names), sizeof names - strlen(names), " %.*s", (int)strcspn(entry, "("), entry);
    }
    note("load%s%s", names, lines ? "" : " without lines");
    if (strstr(image, "wrong")) {
        snprintf(errors, errors_size, "ptxas application ptx input, line 2; error : wrong\n");
        snprintf(information, information_size, "information about it");
        return INVALID_PTX;
    }
    *module = strdup(image);
    return SUCCESS;
}
/* A function's handle is its name, the same in every module. Handles live as long as the process. */
CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
    CHECK();
    note("look up %s", name);
    if (LOOK_UP_RESULT) return LOOK_UP_RESULT;
    if (!strstr(module, name)) return NOT_FOUND;
    static char *handles[64];
    unsigned i = 0;
    while (handles[i] && strcmp(handles[i], name) != 0) {
        if (++i == 64) return OUT_OF_MEMORY;
    }
    if (!handles[i]) handles[i] = strdup(name);
    *function = handles[i];
    return SUCCESS;
}
/* Static shared memory, and the limit of the dynamic part. */
CUresult cuFuncGetAttribute(int *value, int attribute, const char *function) {
    (void)function;
    CHECK();
    *value = STATIC_SHARED;
    return attribute == 1 ? SUCCESS : INVALID_VALUE;
}
static unsigned allowed = 48 * 1024 - STATIC_SHARED;
CUresult cuFuncSetAttribute(const char *function, int attribute, int value) {
    CHECK();
    note("allow %s %d%s", function, value, attribute == 14 ? " for clusters" : "");
    if (attribute == 8) allowed = value;
    if (attribute == 14) return value == 1 ? SUCCESS : INVALID_VALUE; /* clusters of any size */
    return attribute == 8 && value + STATIC_SHARED <= SHARED ? SUCCESS : INVALID_VALUE;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const char *function, int threads, size_t shared) {
    CHECK();
    note("occupancy %s %d %zu", function, threads, shared);
    *blocks = RESIDENT;
    return SUCCESS;
}
CUresult cuModuleUnload(void *module) {
    free(module);
    note("unload module%s", current ? "" : " without a context");
    return failure;
}

/* Clusters, of at most CLUSTER blocks: the result of a larger one's query is CLUSTER_RESULT. */
#ifndef CLUSTER
#define CLUSTER 16
#endif
#ifndef CLUSTER_RESULT
#define CLUSTER_RESULT INVALID_CLUSTER_SIZE
#endif
CUresult cuOccupancyMaxActiveClusters(int *count, const char *function, const unsigned *config) {
    CHECK();
    note("clusters %s grid %u", function, config[0]);
    *count = 3;
    return config[0] <= CLUSTER ? SUCCESS : CLUSTER_RESULT;
}

/* Memory. */

static struct allocation { char *memory; size_t bytes; struct context *context; } allocations[4096];
/* The allocation that has the address; NULL if there is none. */
static struct allocation *find(CUdeviceptr address) {
    for (struct allocation *one = allocations; one < allocations + 4096; one++) {
        if (one->memory && (char *)address >= one->memory && (char *)address < one->memory + one->bytes) return one;
    }
    return NULL;
}
CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
    CHECK();
    static unsigned long count = 0;
    struct allocation *one = allocations;
    while (one < allocations + 4096 && one->memory) one++;
    if (bytes > MEMORY - used || one == allocations + 4096 || count++ >= limit("STAND_IN_ALLOCATIONS")) return OUT_OF_MEMORY;
    *one = (struct allocation){malloc(bytes), bytes, current};
    memset(one->memory, 0xEE, bytes);
    used += bytes;
    *pointer = (CUdeviceptr)one->memory;
    note("allocate %zu bytes", bytes);
    return SUCCESS;
}
/* Asynchronous copies run as late as CUDA allows: when a call waits for them, or later work in a stream runs. */
static struct { char *to; const char *from; size_t bytes; int is_nan; } pending[64];
static unsigned queued = 0, done = 0;
static void run_pending(unsigned until) {
    for (; done < until; done++) {
        memcpy(pending[done % 64].to, pending[done % 64].from, pending[done % 64].bytes);
        if (pending[done % 64].is_nan) memset(pending[done % 64].to, 0xFF, pending[done % 64].bytes);
    }
}
static void queue_copy(void *to, const void *from, size_t bytes, int is_nan) {
    if (queued - done == 64) run_pending(done + 1);
    pending[queued % 64].to = to;
    pending[queued % 64].from = from;
    pending[queued % 64].bytes = bytes;
    pending[queued++ % 64].is_nan = is_nan;
}
CUresult cuMemFree_v2(CUdeviceptr pointer) {
    run_pending(queued);
    struct allocation *one = find(pointer);
    int is_elsewhere = one->context != current;
    used -= one->bytes;
    free(one->memory);
    one->memory = NULL;
    note("free%s", is_elsewhere ? " in another context" : "");
    return is_elsewhere ? INVALID_CONTEXT : failure;
}
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    CHECK();
    *free_bytes = MEMORY - used;
    *total = MEMORY;
    return SUCCESS;
}
static unsigned long copies = 0, launches = 0;
static void count_copy(void) { if (copies++ >= limit("STAND_IN_COPIES")) failure = ILLEGAL_ADDRESS; }
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    count_copy();
    CHECK();
    CHECK_OWNER(find(to)->context);
    run_pending(queued);
    note("copy %zu bytes to the device", bytes);
    memcpy((void *)to, from, bytes);
    return SUCCESS;
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    count_copy();
    CHECK();
    CHECK_OWNER(find(from)->context);
    run_pending(queued);
    note("copy %zu bytes from the device", bytes);
    memcpy(to, (void *)from, bytes);
    if (launches > limit("STAND_IN_FINITE_LAUNCHES")) memset(to, 0xFF, bytes);
    return SUCCESS;
}
CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t bytes) {
    CHECK_OWNER(find(to)->context);
    run_pending(queued);
    note("fill %zu bytes", bytes);
    memset((void *)to, value, bytes);
    return SUCCESS;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, size_t stream) {
    count_copy();
    CHECK();
    CHECK_OWNER(find(to)->context);
    note("copy %zu bytes to the device, stream %zu", bytes, stream);
    queue_copy((void *)to, from, bytes, 0);
    return SUCCESS;
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, size_t stream) {
    count_copy();
    CHECK();
    CHECK_OWNER(find(from)->context);
    note("copy %zu bytes from the device, stream %zu", bytes, stream);
    queue_copy(to, (void *)from, bytes, launches > limit("STAND_IN_FINITE_LAUNCHES"));
    return SUCCESS;
}
CUresult cuMemAllocHost_v2(void **pointer, size_t bytes) {
    CHECK();
    note("lock %zu bytes", bytes);
    *pointer = malloc(bytes);
    return SUCCESS;
}
CUresult cuMemFreeHost(void *pointer) {
    for (unsigned i = done; i < queued; i++)
        if (pending[i % 64].to == pointer || pending[i % 64].from == pointer) note("unlock memory in use");
    free(pointer);
    note("unlock");
    return SUCCESS;
}

/* Streams, numbered from 1. */

enum { MAX_STREAMS = 100000 };
static struct context *stream_contexts[MAX_STREAMS + 1];
CUresult cuStreamCreateWithPriority(size_t *stream, unsigned flags, int priority) {
    static size_t streams = 0;
    CHECK();
    if (flags > 1 || priority != 0 || streams == MAX_STREAMS) return INVALID_VALUE;
    if (flags == 1) note("stream %zu waits for no other", streams + 1);
    *stream = ++streams;
    stream_contexts[streams] = current;
    return SUCCESS;
}

/* Launches. A launch is stored with its parameters, of at most 8 bytes each, so that it can run later and again. */

struct launch { const char *function; char shape[200]; unsigned long long parameters[6]; };
struct graph { unsigned count; struct launch launches[CAPTURE_LIMIT]; };

static int is_invalid = 0;
static struct graph captured;

static void run(const struct launch *launch) {
    run_pending(queued);
    const unsigned long long *parameters = launch->parameters;
    float *first = (float *)parameters[0];
    size_t length = parameters[1];
    if (strcmp(launch->function, "vector_max") == 0) {
        float *second = (float *)parameters[2], *out = (float *)parameters[4];
        size_t second_length = parameters[3], out_length = parameters[5];
        note("%s: %zu %zu %zu %zu %zu %zu", launch->shape, (size_t)first, length, (size_t)second, second_length,
             (size_t)out, out_length);
        for (size_t i = 0; i < out_length; i++) out[i] = first[i] > second[i] ? first[i] : second[i];
    } else if (strcmp(launch->function, "scale") == 0) {
        float factor;
        memcpy(&factor, &parameters[2], sizeof factor);
        unsigned char from = parameters[3];
        note("%s: %zu %zu %g %u", launch->shape, (size_t)first, length, factor, from);
        for (size_t i = from; i < length; i++) first[i] *= factor;
    } else if (strcmp(launch->function, "overrun") == 0) {
        note("%s: %zu %zu", launch->shape, (size_t)first, length);
        failure = ILLEGAL_ADDRESS; /* reported by later calls */
    } else {
        note("%s", launch->shape); /* it is not run */
    }
}

/* The launch itself succeeds; later calls report that it has failed. */
static void count_launch(void) { if (launches++ >= limit("STAND_IN_LAUNCHES")) failure = LAUNCH_FAILED; }

static CUresult launch(const char *verb, const char *function, const unsigned shape[7], size_t stream,
                       void **arguments) {
    CHECK_OWNER(stream_contexts[stream]);
    if (strcmp(function, "wait_nanoseconds") == 0) {
        unsigned long long nanoseconds = *(unsigned long long *)arguments[0];
        unsigned long long *elapsed = *(unsigned long long **)arguments[1];
        note("wait %llu stream %zu", nanoseconds, stream);
        elapsed[0] = 2 * nanoseconds; /* cycles, of 2 GHz */
        elapsed[1] = nanoseconds;
        return SUCCESS;
    }
    if (LAUNCH_RESULT) return LAUNCH_RESULT;
    if (shape[6] > allowed) return INVALID_VALUE;
    struct launch launch = {.function = function};
    snprintf(launch.shape, sizeof launch.shape, "%s %s grid %u %u %u block %u %u %u shared %u stream %zu", verb,
             function, shape[0], shape[1], shape[2], shape[3], shape[4], shape[5], shape[6], stream);
    /* Of other kernels the parameters are not known, and not read. */
    unsigned count = strcmp(function, "vector_max") == 0 ? 6
                     : strcmp(function, "scale") == 0    ? 4
                     : strcmp(function, "overrun") == 0  ? 2
                                                         : 0;
    for (unsigned i = 0; i < count; i++) memcpy(&launch.parameters[i], arguments[i], 8);
    if (capturing && stream == capturing) {
        if (captured.count == CAPTURE_LIMIT) {
            is_invalid = 1;
            return CAPTURE_UNSUPPORTED;
        }
        captured.launches[captured.count++] = launch;
    } else {
        run(&launch);
        count_launch();
    }
    return SUCCESS;
}

CUresult cuLaunchKernel(const char *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, size_t stream, void **arguments,
                        void **extra) {
    unsigned shape[] = {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared};
    return extra ? INVALID_VALUE : launch("launch", function, shape, stream, arguments);
}
struct attribute { int id, padding, value, rest[15]; };
struct launch_config { unsigned grid[3], block[3], shared; size_t stream; struct attribute *attributes; unsigned count; };
CUresult cuLaunchKernelEx(const struct launch_config *config, const char *function, void **arguments, void **extra) {
    const unsigned *grid = config->grid, *block = config->block;
    unsigned shape[] = {grid[0], grid[1], grid[2], block[0], block[1], block[2], config->shared};
    if (extra || config->count != 1 || config->attributes->id != 6 || config->attributes->value != 1) return INVALID_VALUE;
    return launch("launch dependent", function, shape, config->stream, arguments);
}
CUresult cuLaunchCooperativeKernel(const char *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                   size_t stream, void **arguments) {
    unsigned shape[] = {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared};
    return launch("launch cooperatively", function, shape, stream, arguments);
}

/* Graphs: the launches captured from a stream. */

CUresult cuStreamBeginCapture_v2(size_t stream, int mode) {
    CHECK();
    note("begin capture stream %zu mode %d", stream, mode);
    if (capturing) return INVALID_VALUE;
    capturing = stream;
    captured.count = 0;
    is_invalid = 0;
    return SUCCESS;
}
CUresult cuStreamEndCapture(size_t stream, struct graph **graph) {
    CHECK();
    note("end capture stream %zu", stream);
    if (stream != capturing) return INVALID_VALUE;
    capturing = 0;
    if (is_invalid) return CAPTURE_INVALIDATED;
    if (END_CAPTURE_RESULT) return END_CAPTURE_RESULT;
    *graph = malloc(sizeof captured);
    **graph = captured;
    return SUCCESS;
}
CUresult cuGraphDestroy(struct graph *graph) { free(graph); note("destroy graph"); return SUCCESS; }
CUresult cuGraphInstantiate_v2(struct graph **executable, struct graph *graph, void **node, char *log, size_t size) {
    CHECK();
    if (node || log || size) return INVALID_VALUE;
    if (INSTANTIATE_RESULT) return INSTANTIATE_RESULT;
    for (unsigned i = 0; i < graph->count; i++)
        if (!DEPENDENT_GRAPHS && strncmp(graph->launches[i].shape, "launch dependent", 16) == 0) return CAPTURE_UNSUPPORTED;
    note("instantiate %u launches", graph->count);
    *executable = malloc(sizeof *graph);
    **executable = *graph;
    return SUCCESS;
}
CUresult cuGraphLaunch(struct graph *executable, size_t stream) {
    static unsigned graph_launches = 0;
    CHECK_OWNER(stream_contexts[stream]);
    if (graph_launches++ == GRAPH_LAUNCHES) return OUT_OF_MEMORY;
    note("launch graph stream %zu", stream);
    for (unsigned i = 0; i < executable->count; i++) run(&executable->launches[i]);
    count_launch();
    return SUCCESS;
}
CUresult cuGraphExecDestroy(struct graph *executable) { free(executable); note("destroy executable"); return failure; }

/* Waiting and events. */

CUresult cuStreamSynchronize(size_t stream) {
    run_pending(queued);
    CHECK_OWNER(stream_contexts[stream]);
    note("synchronize stream %zu", stream);
    return SUCCESS;
}
CUresult cuStreamDestroy_v2(size_t stream) {
    note("destroy stream %zu%s", stream, stream_contexts[stream] == current ? "" : " in another context");
    return failure;
}

struct event { float time; unsigned copies; size_t stream; };
CUresult cuEventCreate(struct event **event, unsigned flags) {
    CHECK();
    *event = calloc(1, sizeof **event);
    return flags == 0 || flags == 2 /* without time */ ? SUCCESS : INVALID_VALUE;
}
/* Runs the copies before the event; none if it was never recorded. */
CUresult cuEventSynchronize(const struct event *event) {
    CHECK();
    if (event->copies > done) note("wait for %u copies", event->copies - done);
    run_pending(event->copies);
    return SUCCESS;
}
/* Each event is recorded EVENT milliseconds after the previous one. */
#ifndef EVENT
#define EVENT 1.5f
#endif
CUresult cuEventRecord(struct event *event, size_t stream) {
    static float now = 0;
    CHECK_OWNER(stream_contexts[stream]);
    note("record stream %zu", stream);
    event->time = now += EVENT;
    event->copies = queued;
    event->stream = stream;
    return SUCCESS;
}
CUresult cuStreamWaitEvent(size_t stream, const struct event *event, unsigned flags) {
    CHECK_OWNER(stream_contexts[stream]);
    note("stream %zu waits for stream %zu", stream, event->stream);
    return flags == 0 ? SUCCESS : INVALID_VALUE;
}
CUresult cuEventElapsedTime(float *milliseconds, struct event *start, struct event *end) {
    CHECK();
    *milliseconds = end->time - start->time;
    return SUCCESS;
}
CUresult cuEventDestroy_v2(void *event) { free(event); return SUCCESS; }
