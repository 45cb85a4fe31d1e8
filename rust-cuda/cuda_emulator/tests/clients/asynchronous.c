/* Programs whose results depend on when queued work runs, each without a synchronisation that it needs and with it. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct opaque *CUcontext, *CUmodule, *CUfunction, *CUstream, *CUevent, *CUgraph, *CUgraphExec;

CUresult cuInit(unsigned), cuCtxCreate_v2(CUcontext *, unsigned, CUdevice), cuCtxSynchronize(void), cuCtxDestroy_v2(CUcontext);
CUresult cuModuleLoadData(CUmodule *, const void *), cuModuleGetFunction(CUfunction *, CUmodule, const char *), cuModuleUnload(CUmodule);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t), cuMemFree_v2(CUdeviceptr), cuMemAllocHost_v2(void **, size_t), cuMemFreeHost(void *);
CUresult cuMemAllocAsync(CUdeviceptr *, size_t, CUstream), cuMemFreeAsync(CUdeviceptr, CUstream), cuMemAllocManaged(CUdeviceptr *, size_t, unsigned);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t), cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, CUstream), cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, size_t, CUstream), cuMemsetD32_v2(CUdeviceptr, unsigned, size_t), cuMemsetD32Async(CUdeviceptr, unsigned, size_t, CUstream);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **);
CUresult cuLaunchHostFunc(CUstream, void (*)(void *), void *), cuStreamAddCallback(CUstream, void (*)(CUstream, CUresult, void *), void *, unsigned);
CUresult cuStreamCreate(CUstream *, unsigned), cuStreamSynchronize(CUstream), cuStreamQuery(CUstream), cuStreamDestroy_v2(CUstream), cuStreamWaitEvent(CUstream, CUevent, unsigned);
CUresult cuStreamBeginCapture_v2(CUstream, int), cuStreamEndCapture(CUstream, CUgraph *), cuGraphInstantiateWithFlags(CUgraphExec *, CUgraph, unsigned long long);
CUresult cuGraphLaunch(CUgraphExec, CUstream), cuGraphExecDestroy(CUgraphExec), cuGraphDestroy(CUgraph);
CUresult cuEventCreate(CUevent *, unsigned), cuEventRecord(CUevent, CUstream), cuEventQuery(CUevent), cuEventSynchronize(CUevent), cuEventDestroy_v2(CUevent);
int cudaStreamQuery(CUstream), cudaPeekAtLastError(void);
CUresult cuEventElapsedTime(float *, CUevent, CUevent), cuGetErrorName(CUresult, const char **);

static const char PTX[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry increment(.param .u64 p)\n{\n.reg .b32 %r;\n.reg .b64 %rd;\n"
    "ld.param.u64 %rd, [p];\nld.global.u32 %r, [%rd];\nadd.u32 %r, %r, 1;\nst.global.u32 [%rd], %r;\nret;\n}\n";

#define OK(call) expect(__LINE__, #call, 0, call)
#define EXPECT(code, call) expect(__LINE__, #call, code, call)
#define CHECK(condition) if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); exit(1); }
static void expect(int line, const char *call, CUresult expected, CUresult found) {
    if (expected != found) {
        const char *name = "?";
        cuGetErrorName(found, &name);
        printf("line %d: %s returned %d (%s), not %d\n", line, call, found, name, expected);
        exit(1);
    }
}

enum { NON_BLOCKING = 1, NOT_READY = 600 };
static CUfunction increment;
static CUstream stream, other, blocking;

static void increment_in(CUstream in, CUdeviceptr value) {
    OK(cuLaunchKernel(increment, 1, 1, 1, 1, 1, 1, 0, in, (void *[]){&value}, NULL));
}

static unsigned value_at(CUdeviceptr address) {
    unsigned value;
    OK(cuMemcpyDtoH_v2(&value, address, 4));
    return value;
}

static void append(void *text) { strcat(text, "f"); }
static void append_callback(CUstream of, CUresult result, void *text) {
    CHECK(of == stream && result == 0);
    strcat(text, "c");
}
static void synchronise(void *result) { *(CUresult *)result = cuCtxSynchronize(); }

/* The host changes the source of a copy, after it has waited if the program is correct. Returns what the device gets. */
static unsigned change_source(int is_pinned, int is_correct) {
    static unsigned pageable;
    unsigned *source = &pageable, found;
    CUdeviceptr value;
    if (is_pinned) OK(cuMemAllocHost_v2((void **)&source, 4));
    OK(cuMemAlloc_v2(&value, 4));
    *source = 1;
    OK(cuMemcpyHtoDAsync_v2(value, source, 4, stream));
    if (is_correct) OK(cuStreamSynchronize(stream));
    *source = 2;
    OK(cuStreamSynchronize(stream));
    found = value_at(value);
    OK(cuMemFree_v2(value));
    if (is_pinned) OK(cuMemFreeHost(source));
    return found;
}

/* One stream frees what another one uses: the result of its work. */
static CUresult free_in_other_stream(int is_correct) {
    CUdeviceptr value;
    CUevent used;
    OK(cuEventCreate(&used, 2));
    OK(cuMemAllocAsync(&value, 4, stream));
    OK(cuMemsetD32Async(value, 5, 1, stream));
    OK(cuStreamSynchronize(stream));
    increment_in(other, value);
    OK(cuEventRecord(used, other));
    if (is_correct) OK(cuStreamWaitEvent(stream, used, 0));
    OK(cuMemFreeAsync(value, stream));
    EXPECT(1, cuMemFreeAsync(value, stream));
    OK(cuEventDestroy_v2(used));
    return cuCtxSynchronize();
}

/* A copy in the default stream after a fill in another one. */
static unsigned copy_after_fill(CUstream of_fill, int is_correct) {
    CUdeviceptr value;
    unsigned found;
    OK(cuMemAlloc_v2(&value, 4));
    OK(cuMemsetD32_v2(value, 1, 1));
    OK(cuCtxSynchronize());
    OK(cuMemsetD32Async(value, 2, 1, of_fill));
    if (is_correct) OK(cuStreamSynchronize(of_fill));
    found = value_at(value);
    OK(cuMemFree_v2(value));
    return found;
}

/* What is in order in every run of a program. */
static void in_order(void) {
    CUdeviceptr value, second;
    CUevent event, start;
    unsigned *pinned, pageable = 40;
    char calls[10] = "";
    float milliseconds;
    OK(cuMemAlloc_v2(&value, 4));
    OK(cuMemAlloc_v2(&second, 4));
    OK(cuMemAllocHost_v2((void **)&pinned, 4));
    OK(cuEventCreate(&event, 0));
    OK(cuEventCreate(&start, 0));

    /* Work of a stream, and of a stream that waits for an event of it. */
    OK(cuEventRecord(start, stream));
    OK(cuMemcpyHtoDAsync_v2(value, &pageable, 4, stream));
    pageable = 0;
    increment_in(stream, value);
    OK(cuLaunchHostFunc(stream, append, calls));
    OK(cuStreamAddCallback(stream, append_callback, calls, 0));
    OK(cuLaunchHostFunc(stream, append, calls));
    OK(cuEventRecord(event, stream));
    OK(cuStreamWaitEvent(other, event, 0));
    increment_in(other, value);
    OK(cuMemcpyDtoDAsync_v2(second, value, 4, other));
    OK(cuMemcpyDtoHAsync_v2(pinned, second, 4, other));
    OK(cuStreamSynchronize(other));
    CHECK(*pinned == 42 && strcmp(calls, "fcf") == 0);
    OK(cuEventSynchronize(event));
    OK(cuEventElapsedTime(&milliseconds, start, event));
    CHECK(milliseconds >= 0);

    /* A copy to pageable memory ends before its call does. */
    increment_in(stream, value);
    OK(cuMemcpyDtoHAsync_v2(&pageable, value, 4, stream));
    CHECK(pageable == 43);

    /* A program that asks until the work has ended. */
    increment_in(stream, value);
    OK(cuEventRecord(event, stream));
    CUresult state;
    int questions = 0;
    while ((state = cuEventQuery(event)) == NOT_READY) CHECK(++questions < 100);
    CHECK(state == 0);
    increment_in(stream, value);
    increment_in(stream, value);
    while ((state = cuStreamQuery(stream)) == NOT_READY) CHECK(++questions < 200);
    CHECK(state == 0 && value_at(value) == 46);
    OK(cuLaunchHostFunc(stream, append, (char[10]){""}));
    while ((state = cudaStreamQuery(stream)) == NOT_READY) CHECK(++questions < 300);
    CHECK(state == 0 && cudaPeekAtLastError() == 0);

    /* The default stream and blocking ones. */
    OK(cuMemsetD32_v2(value, 7, 1));
    increment_in(blocking, value);
    increment_in(NULL, value);
    increment_in(blocking, value);
    increment_in(NULL, value);
    increment_in((CUstream)2, value);
    OK(cuStreamSynchronize((CUstream)2));
    CHECK(value_at(value) == 12);

    /* Launches of a graph, in two streams; a stream that is destroyed with work in it. */
    CUgraph graph;
    CUgraphExec executable;
    OK(cuStreamBeginCapture_v2(stream, 0));
    increment_in(stream, value);
    OK(cuLaunchHostFunc(stream, append, calls));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    OK(cuGraphDestroy(graph));
    OK(cuCtxSynchronize());
    CUstream brief;
    OK(cuStreamCreate(&brief, NON_BLOCKING));
    for (int i = 0; i < 3; i++) OK(cuGraphLaunch(executable, i == 1 ? brief : stream));
    OK(cuStreamDestroy_v2(brief));
    OK(cuGraphExecDestroy(executable));
    OK(cuCtxSynchronize());
    CHECK(value_at(value) == 15 && strcmp(calls, "fcffff") == 0);

    /* A function of the host waits for no work. */
    CUresult of_wait = 0;
    OK(cuLaunchHostFunc(stream, synchronise, &of_wait));
    OK(cuStreamSynchronize(stream));
    OK(cuLaunchHostFunc(stream, synchronise, &of_wait));
    OK(cuLaunchHostFunc(stream, append, calls));
    OK(cuCtxSynchronize());
    CHECK(of_wait == 0 || of_wait == 800);

    /* Wrong arguments are errors of the call. */
    EXPECT(1, cuMemcpyHtoDAsync_v2(value, pinned, 8, stream));
    EXPECT(1, cuMemcpyHtoDAsync_v2(value + 4096, &pageable, 4, stream));
    EXPECT(1, cuMemcpyHtoDAsync_v2(value, NULL, 4, stream));
    EXPECT(1, cuMemsetD32Async(value + 2, 0, 1, stream));
    EXPECT(1, cuMemsetD32Async(value, 0, 3, stream));
    EXPECT(1, cuLaunchHostFunc(stream, NULL, NULL));
    EXPECT(1, cuStreamAddCallback(stream, NULL, NULL, 0));

    /* What frees waits, or is in the stream's order. */
    unsigned *shared;
    CUdeviceptr managed;
    OK(cuMemAllocManaged(&managed, 4, 1));
    shared = (unsigned *)(uintptr_t)managed;
    *shared = 1;
    increment_in(stream, managed);
    increment_in(other, second);
    OK(cuMemcpyHtoDAsync_v2(value, pinned, 4, other));
    OK(cuMemFree_v2(managed));
    increment_in(stream, second);
    OK(cuMemcpyDtoHAsync_v2(pinned, second, 4, stream));
    OK(cuMemFreeHost(pinned));
    increment_in(stream, second);
    OK(cuMemFreeAsync(second, stream));
    EXPECT(1, cuMemFree_v2(second));
    increment_in(stream, value);
    OK(cuMemFree_v2(value));
    OK(cuCtxSynchronize());
}

int main(int count, char **arguments) {
    CUcontext context;
    CUmodule module;
    const char *how = count > 1 ? arguments[1] : "";
    OK(cuInit(0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuModuleLoadData(&module, PTX));
    OK(cuModuleGetFunction(&increment, module, "increment"));
    OK(cuStreamCreate(&stream, NON_BLOCKING));
    OK(cuStreamCreate(&other, NON_BLOCKING));
    OK(cuStreamCreate(&blocking, 0));
    if (strcmp(how, "pinned") == 0) {
        printf("the device has %u\n", change_source(1, 0));
    } else if (strcmp(how, "freed") == 0) {
        printf("the result is %d\n", free_in_other_stream(0));
    } else if (strcmp(how, "default") == 0) {
        printf("the host has %u\n", copy_after_fill(stream, 0));
    } else if (strcmp(how, "freed-copy") == 0) {
        /* The same of a copy. */
        CUdeviceptr value, second;
        OK(cuMemAlloc_v2(&second, 4));
        OK(cuMemAllocAsync(&value, 4, stream));
        OK(cuMemsetD32Async(value, 5, 1, stream));
        OK(cuStreamSynchronize(stream));
        OK(cuMemcpyDtoDAsync_v2(second, value, 4, other));
        OK(cuMemFreeAsync(value, stream));
        CUresult result = cuCtxSynchronize();
        printf("the result is %d, then %d\n", result, cuCtxSynchronize());
    } else if (strcmp(how, "exit") == 0) {
        /* The process ends before its work. */
        CUdeviceptr value;
        OK(cuMemAllocAsync(&value, 4, stream));
        OK(cuMemsetD32Async(value, 5, 1, stream));
        increment_in(stream, value + 4096);
        OK(cuMemFreeAsync(value, stream));
    } else {
        CHECK(change_source(1, 1) == 1);
        CHECK(change_source(0, 0) == 1);
        CHECK(free_in_other_stream(1) == 0);
        CHECK(copy_after_fill(stream, 1) == 2);
        CHECK(copy_after_fill(blocking, 0) == 2);
        in_order();
        OK(cuModuleUnload(module));
        OK(cuCtxDestroy_v2(context));
        printf("all results are right\n");
    }
    return 0;
}
