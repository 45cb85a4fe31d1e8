/* What nvcc makes of a program on the runtime library, and calls of the library. */

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int cudaError_t;
typedef struct { unsigned x, y, z; } dim3;
typedef struct opaque *cudaStream_t, *cudaEvent_t, *cudaGraph_t, *cudaGraphNode_t, *cudaGraphExec_t, *cudaMemPool_t, *CUcontext, *CUfunction, *CUmodule;
typedef struct { void *ptr; size_t pitch, xsize, ysize; } cudaPitchedPtr;
typedef struct { size_t width, height, depth; } cudaExtent;
typedef struct { size_t x, y, z; } cudaPos;
typedef struct { void *srcArray; cudaPos srcPos; cudaPitchedPtr srcPtr; void *dstArray; cudaPos dstPos; cudaPitchedPtr dstPtr; cudaExtent extent; int kind; } cudaMemcpy3DParms;
typedef struct { int x, y, z, w, f; } cudaChannelFormatDesc;
typedef struct { int kind; unsigned long long words[7]; } cudaResourceDesc;
typedef struct { int address[3], filter, read_mode, srgb; float border[4]; int normalized; unsigned anisotropy; int mipmap_filter; float levels[3]; int trilinear, seamless; } cudaTextureDesc;
typedef struct { int type, device; void *devicePointer, *hostPointer; } cudaPointerAttributes;
typedef struct { size_t shared, constants, local; int threads, registers, ptx, binary, cache, dynamic_shared, others[24]; } cudaFuncAttributes;
typedef struct { dim3 grid, block; size_t shared; cudaStream_t stream; const void *attributes; unsigned count; } cudaLaunchConfig_t;
typedef struct { void *func; dim3 grid, block; unsigned shared; void **parameters, **extra; } cudaKernelNodeParams;
typedef struct { void *dst; size_t pitch; unsigned value, element; size_t width, height; } cudaMemsetParams;

void *__cudaRegisterFatBinary(const void *), __cudaRegisterFatBinaryEnd(void *), __cudaUnregisterFatBinary(void *);
void __cudaRegisterFunction(void *, const void *, char *, const char *, int, void *, void *, void *, void *, int *);
char __cudaInitModule(void *);
void __cudaRegisterManagedVar(void *, void **, char *, const char *, int, size_t, int, int);
void __cudaRegisterVar(void *, void *, char *, const char *, int, size_t, int, int);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, cudaStream_t);
cudaError_t __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, cudaStream_t *), __cudaGetKernel(void **, const void *);
cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t), cudaLaunchKernelExC(const cudaLaunchConfig_t *, const void *, void **);
cudaError_t cudaLaunchCooperativeKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t cudaGetLastError(void), cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t), *cudaGetErrorString(cudaError_t);
cudaError_t cudaGetDeviceCount(int *), cudaGetDevice(int *), cudaSetDevice(int), cudaDeviceReset(void), cudaDeviceSynchronize(void);
cudaError_t cudaRuntimeGetVersion(int *), cudaDeviceGetAttribute(int *, int, int), cudaGetDeviceProperties(void *, int), cudaGetDeviceProperties_v2(void *, int);
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned), cudaDeviceDisablePeerAccess(int), cudaDeviceCanAccessPeer(int *, int, int);
cudaError_t cudaMalloc(void *, size_t), cudaFree(void *), cudaMallocHost(void *, size_t), cudaFreeHost(void *), cudaMallocManaged(void *, size_t, unsigned);
cudaError_t cudaMallocPitch(void *, size_t *, size_t, size_t), cudaMalloc3D(cudaPitchedPtr *, cudaExtent), cudaMemGetInfo(size_t *, size_t *);
cudaError_t cudaMallocAsync(void *, size_t, cudaStream_t), cudaFreeAsync(void *, cudaStream_t), cudaDeviceGetDefaultMemPool(cudaMemPool_t *, int);
cudaError_t cudaMemcpy(void *, const void *, size_t, int), cudaMemcpyAsync(void *, const void *, size_t, int, cudaStream_t), cudaMemcpyPeer(void *, int, const void *, int, size_t);
cudaError_t cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int), cudaMemcpy3D(const cudaMemcpy3DParms *);
cudaError_t cudaMemset(void *, int, size_t), cudaMemset2D(void *, size_t, int, size_t, size_t), cudaMemset3D(cudaPitchedPtr, int, cudaExtent);
cudaError_t cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int), cudaMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
cudaError_t cudaGetSymbolAddress(void *, const void *), cudaGetSymbolSize(size_t *, const void *), cudaPointerGetAttributes(cudaPointerAttributes *, const void *);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *, const void *), cudaFuncSetAttribute(const void *, int, int), cudaGetFuncBySymbol(CUfunction *, const void *);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
cudaError_t cudaStreamCreate(cudaStream_t *), cudaStreamDestroy(cudaStream_t), cudaStreamSynchronize(cudaStream_t), cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
cudaError_t cudaStreamBeginCapture(cudaStream_t, int), cudaStreamEndCapture(cudaStream_t, cudaGraph_t *), cudaStreamAddCallback(cudaStream_t, void (*)(cudaStream_t, cudaError_t, void *), void *, unsigned);
cudaError_t cudaEventCreate(cudaEvent_t *), cudaEventRecord(cudaEvent_t, cudaStream_t), cudaEventSynchronize(cudaEvent_t), cudaEventElapsedTime(float *, cudaEvent_t, cudaEvent_t), cudaEventDestroy(cudaEvent_t);
cudaError_t cudaGraphCreate(cudaGraph_t *, unsigned), cudaGraphAddKernelNode(cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t, const cudaKernelNodeParams *);
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t, const cudaMemsetParams *), cudaGraphKernelNodeGetParams(cudaGraphNode_t, cudaKernelNodeParams *);
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *, cudaGraph_t, const cudaGraphNode_t *, size_t, void *, const void *, size_t, int);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *, cudaGraph_t, unsigned long long), cudaGraphLaunch(cudaGraphExec_t, cudaStream_t), cudaGraphExecDestroy(cudaGraphExec_t), cudaGraphDestroy(cudaGraph_t);
cudaError_t cudaGraphGetEdges(cudaGraph_t, cudaGraphNode_t *, cudaGraphNode_t *, void *, size_t *), cudaGraphGetRootNodes(cudaGraph_t, cudaGraphNode_t *, size_t *);
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t, cudaGraphNode_t *, void *, size_t *), cudaGraphNodeGetDependentNodes(cudaGraphNode_t, cudaGraphNode_t *, void *, size_t *);
cudaError_t cudaGetDriverEntryPoint(const char *, void **, unsigned long long, int *), cudaGraphicsUnregisterResource(void *);
cudaError_t cudaMallocArray(void *, const cudaChannelFormatDesc *, size_t, size_t, unsigned), cudaFreeArray(void *), cudaArrayGetInfo(cudaChannelFormatDesc *, cudaExtent *, unsigned *, void *);
cudaError_t cudaMemcpy2DToArray(void *, size_t, size_t, const void *, size_t, size_t, size_t, int), cudaMemcpy2DFromArray(void *, size_t, const void *, size_t, size_t, size_t, size_t, int);
cudaError_t cudaMemcpyToArray(void *, size_t, size_t, const void *, size_t, int), cudaMemcpyFromArray(void *, const void *, size_t, size_t, size_t, int);
cudaError_t cudaCreateTextureObject(unsigned long long *, const cudaResourceDesc *, const cudaTextureDesc *, const void *), cudaDestroyTextureObject(unsigned long long);
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc *, unsigned long long), cudaGetTextureObjectResourceDesc(cudaResourceDesc *, unsigned long long);
cudaError_t cudaCreateSurfaceObject(unsigned long long *, const cudaResourceDesc *), cudaDestroySurfaceObject(unsigned long long);
int cuCtxGetCurrent(CUcontext *), cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cudaStream_t, void **, void **);
int cuModuleGetLoadingMode(int *);

enum { TO_DEVICE = 1, TO_HOST, ON_DEVICE, ANY };
enum { INVALID_VALUE = 1, INVALID_CONFIGURATION = 9, INVALID_PITCH = 12, INVALID_SYMBOL = 13, INVALID_KIND = 21, MISSING_CONFIGURATION = 52, INVALID_FUNCTION = 98 };

#define CHECK(condition) if (!(condition)) { printf("line %d: %s (last error %s)\n", __LINE__, #condition, cudaGetErrorName(cudaPeekAtLastError())); exit(1); }
#define OK(call) do { cudaError_t code = (call); if (code) { printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(code)); exit(1); } } while (0)
#define FAILS(code, call) do { cudaError_t found = (call); if (found != (code) || cudaGetLastError() != (code) || cudaGetLastError()) { printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(found)); exit(1); } } while (0)

/* x[i] = x[i] * factor + offset, and counts; `far` writes to address 4. */
static const char PTX[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.const .align 4 .f32 factor = 0f40000000;\n.visible .global .align 4 .u32 counter[2];\n"
    ".visible .entry scale(.param .u64 x, .param .f32 offset, .param .u32 n)\n{\n.reg .b64 %a<4>;\n.reg .b32 %r<6>;\n.reg .f32 %f<4>;\n.reg .pred %p;\n"
    "ld.param.u64 %a0, [x];\nld.param.f32 %f0, [offset];\nld.param.u32 %r0, [n];\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "setp.ge.u32 %p, %r4, %r0;\n@%p ret;\nmul.wide.u32 %a1, %r4, 4;\nadd.u64 %a2, %a0, %a1;\nld.global.f32 %f1, [%a2];\nld.const.f32 %f2, [factor];\nfma.rn.f32 %f3, %f1, %f2, %f0;\n"
    "st.global.f32 [%a2], %f3;\natom.global.add.u32 %r5, [counter], 1;\nret;\n}\n"
    ".visible .entry far()\n{\n.reg .b64 %a;\nmov.u64 %a, 4;\nst.global.u32 [%a], 1;\nret;\n}\n";
static const struct { int magic, version; const void *data; void *file; } WRAPPER = {0x466243b1, 1, PTX, NULL};

/* What stands for the kernels and variables in the program. */
static void scale(void) {}
static void far(void) {}
static void unknown(void) {}
static float factor;
static unsigned counter[2];

static void launch(float *x, float offset, unsigned n, dim3 grid, dim3 block, cudaStream_t stream) {
    void *arguments[] = {&x, &offset, &n};
    size_t shared;
    CHECK(__cudaPushCallConfiguration(grid, block, 0, stream) == 0);
    OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    OK(cudaLaunchKernel(scale, grid, block, arguments, shared, stream));
}

static void memory(void) {
    static float host[1000], back[1000];
    float *device, *managed, *pinned, *async;
    for (int i = 0; i < 1000; i++) host[i] = (float)i;
    OK(cudaMalloc(&device, sizeof host));
    OK(cudaMemcpy(device, host, sizeof host, TO_DEVICE));
    launch(device, 0.5f, 999, (dim3){8, 1, 1}, (dim3){128, 1, 1}, NULL);
    OK(cudaMemcpy(back, device, sizeof back, TO_HOST));
    for (int i = 0; i < 1000; i++) CHECK(back[i] == (i < 999 ? 2 * host[i] + 0.5f : host[i]));

    unsigned counted[2];
    size_t bytes;
    void *address;
    OK(cudaMemcpyFromSymbol(counted, counter, 8, 0, TO_HOST));
    CHECK(counted[0] == 999 && counted[1] == 0);
    OK(cudaMemcpyToSymbol(counter, &(unsigned){7}, 4, 4, TO_DEVICE));
    OK(cudaGetSymbolSize(&bytes, counter));
    OK(cudaGetSymbolAddress(&address, counter));
    OK(cudaMemcpy(counted, address, bytes, ANY));
    CHECK(bytes == 8 && counted[0] == 999 && counted[1] == 7);
    OK(cudaMemcpyToSymbol(&factor, &(float){3}, 4, 0, TO_DEVICE));
    FAILS(INVALID_VALUE, cudaMemcpyToSymbol(counter, counted, 8, 1, TO_DEVICE));
    FAILS(INVALID_VALUE, cudaMemcpyToSymbol(counter, counted, 1, (size_t)-1, TO_DEVICE));
    FAILS(INVALID_SYMBOL, cudaMemcpyToSymbol(counted, counted, 8, 0, TO_DEVICE));

    OK(cudaMallocManaged(&managed, 40, 1));
    OK(cudaMallocHost(&pinned, 40));
    OK(cudaMallocAsync(&async, 40, NULL));
    for (int i = 0; i < 10; i++) managed[i] = pinned[i] = 1;
    launch(managed, 0, 10, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL);
    launch(pinned, 1, 10, (dim3){1, 1, 1}, (dim3){32, 1, 1}, NULL);
    OK(cudaDeviceSynchronize());
    CHECK(managed[9] == 3 && pinned[9] == 4);
    cudaPointerAttributes of;
    OK(cudaPointerGetAttributes(&of, device + 3));
    CHECK(of.type == 2 && of.device == 0 && of.devicePointer == device + 3 && !of.hostPointer);
    OK(cudaPointerGetAttributes(&of, managed));
    CHECK(of.type == 3 && of.devicePointer == managed && of.hostPointer == managed);
    OK(cudaPointerGetAttributes(&of, pinned));
    CHECK(of.type == 1 && of.hostPointer == pinned);
    OK(cudaPointerGetAttributes(&of, host));
    CHECK(of.type == 0 && of.device == -2 && !of.devicePointer && of.hostPointer == host);

    size_t pitch;
    char *rows, small[6] = "abcdef";
    OK(cudaMallocPitch(&rows, &pitch, 3, 2));
    OK(cudaMemset2D(rows, pitch, 'x', 3, 2));
    OK(cudaMemcpy2D(rows, pitch, small, 3, 2, 2, TO_DEVICE));
    OK(cudaMemcpy2D(small, 3, rows, pitch, 3, 2, TO_HOST));
    CHECK(memcmp(small, "abxdex", 6) == 0);
    FAILS(INVALID_PITCH, cudaMemcpy2D(rows, 2, small, 3, 3, 2, TO_DEVICE));
    FAILS(INVALID_KIND, cudaMemcpy(rows, small, 3, 5));
    FAILS(INVALID_VALUE, cudaMemcpy(small, rows + 3 * pitch, 3, TO_HOST));
    FAILS(INVALID_VALUE, cudaMemcpy(small, small, 3, TO_DEVICE));
    cudaPitchedPtr box;
    OK(cudaMalloc3D(&box, (cudaExtent){5, 3, 1}));
    OK(cudaMemset3D(box, 'z', (cudaExtent){5, 3, 1}));
    cudaMemcpy3DParms copy = {.srcPtr = box, .srcPos = {1, 1, 0}, .dstPtr = {small, 2, 2, 3}, .extent = {2, 2, 1}, .kind = TO_HOST};
    OK(cudaMemcpy3D(&copy));
    CHECK(memcmp(small, "zzzzex", 6) == 0);
    OK(cudaFree(box.ptr));
    OK(cudaFree(rows));
    OK(cudaFree(managed));
    OK(cudaFreeHost(pinned));
    OK(cudaFreeAsync(async, NULL));
    OK(cudaFree(NULL));
    OK(cudaMalloc(&async, 0));
    CHECK(async == NULL);
    FAILS(INVALID_VALUE, cudaFree(host));
    FAILS(INVALID_VALUE, cudaMalloc(NULL, 4));
    FAILS(2, cudaMalloc(&async, (size_t)1 << 50));
    OK(cudaFree(device));
    FAILS(INVALID_VALUE, cudaFree(device));
}

static void launches(void) {
    float *x;
    int blocks;
    cudaFuncAttributes of;
    CUfunction function;
    OK(cudaMalloc(&x, 64));
    OK(cudaMemset(x, 0, 64));
    dim3 one = {1, 1, 1};
    void *arguments[] = {&x, &(float){1}, &(unsigned){16}};
    FAILS(INVALID_FUNCTION, cudaLaunchKernel(unknown, one, one, arguments, 0, NULL));
    FAILS(INVALID_FUNCTION, cudaLaunchKernel(NULL, one, one, arguments, 0, NULL));
    FAILS(INVALID_CONFIGURATION, cudaLaunchKernel(scale, (dim3){0, 1, 1}, one, arguments, 0, NULL));
    FAILS(INVALID_CONFIGURATION, cudaLaunchKernel(scale, one, (dim3){1025, 1, 1}, arguments, 0, NULL));
    FAILS(INVALID_CONFIGURATION, cudaLaunchKernel(scale, one, (dim3){1, 1, 65}, arguments, 0, NULL));
    FAILS(INVALID_VALUE, cudaLaunchKernel(scale, one, one, arguments, 49153, NULL));
    FAILS(MISSING_CONFIGURATION, __cudaPopCallConfiguration(&one, &one, &(size_t){0}, &(cudaStream_t){0}));
    OK(cudaFuncSetAttribute(scale, 8, 65536));
    OK(cudaLaunchKernel(scale, one, (dim3){16, 1, 1}, arguments, 49153, NULL));
    OK(cudaFuncGetAttributes(&of, scale));
    CHECK(of.threads == 1024 && of.dynamic_shared == 65536 && of.shared == 0 && of.binary == 90 && of.registers > 4);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 1024, 0));
    CHECK(blocks == 2);
    cudaLaunchConfig_t config = {one, {16, 1, 1}, 0, NULL, NULL, 0};
    OK(cudaLaunchKernelExC(&config, scale, arguments));
    OK(cudaLaunchCooperativeKernel(scale, one, (dim3){16, 1, 1}, arguments, 0, NULL));
    OK(cudaGetFuncBySymbol(&function, scale));
    CHECK(cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 0, NULL, arguments, NULL) == 0);
    void *kernel;
    OK(__cudaGetKernel(&kernel, scale));
    OK(cudaLaunchKernel(kernel, one, (dim3){16, 1, 1}, arguments, 0, NULL));
    float result;
    OK(cudaMemcpy(&result, x, 4, TO_HOST));
    /* x is 3 x + 1, five times. */
    CHECK(result == 121);
    OK(cudaFree(x));
}

static void called(cudaStream_t stream, cudaError_t error, void *data) {
    CHECK(error == 0 && stream);
    *(int *)data += 1;
}

static void streams_and_graphs(void) {
    float *x, host[4], milliseconds;
    int calls = 0;
    cudaStream_t stream;
    cudaEvent_t start, end;
    cudaGraph_t graph;
    cudaGraphNode_t nodes[3];
    cudaGraphExec_t executable;
    OK(cudaMalloc(&x, 16));
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaEventRecord(start, stream));
    OK(cudaStreamAddCallback(stream, called, &calls, 0));
    OK(cudaEventRecord(end, stream));
    OK(cudaStreamWaitEvent(NULL, end, 0));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&milliseconds, start, end));
    CHECK(calls == 1 && milliseconds >= 0);

    OK(cudaStreamBeginCapture(stream, 0));
    OK(cudaMemcpyAsync(x, host, 16, TO_DEVICE, stream));
    launch(x, 1, 4, (dim3){1, 1, 1}, (dim3){4, 1, 1}, stream);
    OK(cudaMemcpyAsync(host, x, 16, TO_HOST, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    for (int i = 0; i < 4; i++) host[i] = (float)i;
    OK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(host[3] == 3);
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(host[3] == 31);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));

    float *pointer = x, offset = 2;
    unsigned n = 4;
    void *arguments[] = {&pointer, &offset, &n};
    cudaKernelNodeParams node = {scale, {1, 1, 1}, {4, 1, 1}, 0, arguments, NULL}, found;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &(cudaMemsetParams){x, 0, 0x3f800000, 4, 4, 1}));
    OK(cudaGraphAddKernelNode(&nodes[1], graph, nodes, 1, &node));
    OK(cudaGraphAddMemcpyNode1D(&nodes[2], graph, nodes + 1, 1, host, x, 16, TO_HOST));
    cudaGraphNode_t from[4], to[4];
    size_t count = 4;
    int is_twelve, version;
    OK(cudaRuntimeGetVersion(&version));
    is_twelve = version < 13000;
    unsigned long long kinds[4] = {1, 1, 1, 1};
    OK(is_twelve ? cudaGraphGetEdges(graph, from, to, &count, NULL) : cudaGraphGetEdges(graph, from, to, kinds, &count));
    CHECK(count == 2 && from[0] == nodes[0] && to[0] == nodes[1] && from[1] == nodes[1] && to[1] == nodes[2] && from[2] == NULL);
    CHECK(is_twelve || (kinds[0] == 0 && kinds[1] == 0 && kinds[2] == 1));
    OK(cudaGraphGetRootNodes(graph, NULL, &count));
    CHECK(count == 1);
    OK(cudaGraphGetRootNodes(graph, from, &count));
    CHECK(from[0] == nodes[0]);
    count = 3;
    OK(is_twelve ? cudaGraphNodeGetDependencies(nodes[2], from, &count, NULL) : cudaGraphNodeGetDependencies(nodes[2], from, NULL, &count));
    CHECK(count == 1 && from[0] == nodes[1] && from[1] == NULL && from[2] == NULL);
    OK(is_twelve ? cudaGraphNodeGetDependentNodes(nodes[2], NULL, &count, NULL) : cudaGraphNodeGetDependentNodes(nodes[2], NULL, NULL, &count));
    CHECK(count == 0);
    OK(cudaGraphKernelNodeGetParams(nodes[1], &found));
    CHECK(found.func == (void *)scale && found.block.x == 4);
    node.func = unknown;
    FAILS(INVALID_FUNCTION, cudaGraphAddKernelNode(&nodes[1], graph, nodes, 1, &node));
    OK(cudaGraphInstantiate(&executable, graph, 0));
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaStreamSynchronize(stream));
    CHECK(host[0] == 5 && host[3] == 5);
    OK(cudaGraphExecDestroy(executable));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(end));
    OK(cudaStreamDestroy(stream));
    FAILS(400, cudaStreamDestroy(stream));
    OK(cudaFree(x));
}

/* The versions of cudaDeviceProp differ in their size; `major` is at 360 in each. */
static void devices(int version) {
    static unsigned char properties[2048];
    int value, count, device;
    size_t free, total;
    int is_twelve = version < 13000;
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 2);
    OK(cudaDeviceGetAttribute(&value, 75, 1));
    CHECK(value == 7);
    for (int i = 0; i < 2; i++) {
        size_t bytes = i ? 1032 : is_twelve ? 712 : 1008;
        memset(properties, 0xee, sizeof properties);
        OK((i ? cudaGetDeviceProperties_v2 : cudaGetDeviceProperties)(properties, 1));
        CHECK(properties[bytes] == 0xee && properties[bytes - 1] != 0xee);
        CHECK(strncmp((char *)properties, "CUDA emulator (sm_75", 20) == 0);
        int at[2];
        memcpy(at, properties + 360, 8);
        CHECK(at[0] == 7 && at[1] == 5);
    }
    OK(cudaMemGetInfo(&free, &total));
    CHECK(free <= total && total > 1 << 20);

    float *own, *other, host[4] = {1, 2, 3, 4};
    OK(cudaMalloc(&own, 16));
    OK(cudaMemcpy(own, host, 16, TO_DEVICE));
    FAILS(101, cudaSetDevice(2));
    FAILS(101, cudaSetDevice(-1));
    OK(cudaSetDevice(1));
    OK(cudaGetDevice(&device));
    CHECK(device == 1);
    OK(cudaMalloc(&other, 16));
    OK(cudaMemcpyPeer(other, 1, own, 0, 16));
    launch(other, 0, 4, (dim3){1, 1, 1}, (dim3){4, 1, 1}, NULL);
    OK(cudaMemcpy(host, other, 16, TO_HOST));
    /* This device has its own constants. */
    CHECK(host[3] == 8);
    OK(cudaDeviceCanAccessPeer(&value, 1, 0));
    CHECK(value == 1);
    OK(cudaDeviceEnablePeerAccess(0, 0));
    FAILS(704, cudaDeviceEnablePeerAccess(0, 0));
    FAILS(101, cudaDeviceEnablePeerAccess(1, 0));
    launch(own, 0, 4, (dim3){1, 1, 1}, (dim3){4, 1, 1}, NULL);
    OK(cudaMemcpy(host, own, 16, ANY));
    CHECK(host[3] == 8);
    OK(cudaDeviceDisablePeerAccess(0));
    OK(cudaDeviceReset());
    FAILS(INVALID_VALUE, cudaFree(other));
    OK(cudaSetDevice(0));
    OK(cudaFree(own));
}

static void faults(void) {
    float *x;
    dim3 one = {1, 1, 1};
    OK(cudaMalloc(&x, 4));
    OK(cudaLaunchKernel(far, one, one, NULL, 0, NULL));
    CHECK(cudaGetLastError() == 0);
    CHECK(cudaDeviceSynchronize() == 700 && strcmp(cudaGetErrorString(700), "an illegal memory access was encountered") == 0);
    CHECK(cudaMalloc(&x, 4) == 700 && cudaPeekAtLastError() == 700 && cudaGetLastError() == 700);
    OK(cudaDeviceReset());
    OK(cudaMalloc(&x, 4));
    OK(cudaMemset(x, 0, 4));
    launch(x, 1, 1, one, one, NULL);
    float value;
    OK(cudaMemcpy(&value, x, 4, TO_HOST));
    CHECK(value == 1);
    /* The program's kernels and variables are loaded again, and take no more memory than before. */
    size_t free, free_again, total;
    OK(cudaDeviceReset());
    OK(cudaMemGetInfo(&free, &total));
    CHECK(free == total);
    OK(cudaMemcpyToSymbol(&factor, &(float){3}, 4, 0, TO_DEVICE));
    OK(cudaDeviceReset());
    OK(cudaMemGetInfo(&free_again, &total));
    CHECK(free == free_again);
}

/* The program has a pointer to a managed variable. Host and kernels see the same values. */
static void managed(void) {
    static const char text[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .attribute(.managed) .align 4 .u32 shared[3] = {5, 6};\n"
        ".visible .global .attribute(.unified(1, 2), .managed) .align 8 .u64 other;\n"
        ".visible .entry increment()\n{\n.reg .b32 %r<2>;\nld.global.u32 %r0, [shared+4];\nadd.u32 %r1, %r0, 1;\nst.global.u32 [shared+4], %r1;\nret;\n}\n";
    static const struct { int magic, version; const void *data; void *file; } wrapper = {0x466243b1, 1, text, NULL};
    static unsigned *shared, copy[3];
    static unsigned long long *other;
    cudaPointerAttributes of;
    dim3 one = {1, 1, 1};
#ifdef __SANITIZE_ADDRESS__
    /* The address sanitizer has memory of its own at a device's addresses. */
    return;
#endif
    void *binary = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterManagedVar(binary, (void **)&shared, "shared", "shared", 0, 12, 0, 0);
    __cudaRegisterManagedVar(binary, (void **)&other, "other", "other", 0, 8, 0, 0);
    __cudaRegisterFunction(binary, managed, "increment", "increment", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(binary);
    CHECK(__cudaInitModule(binary) == 1 && shared && other);
    CHECK(shared[0] == 5 && shared[1] == 6 && shared[2] == 0 && *other == 0);
    shared[1] = 20;
    *other = 77;
    OK(cudaLaunchKernel(managed, one, one, NULL, 0, NULL));
    OK(cudaDeviceSynchronize());
    CHECK(shared[1] == 21 && *other == 77);
    OK(cudaMemcpyFromSymbol(copy, &shared, 12, 0, TO_HOST));
    CHECK(copy[0] == 5 && copy[1] == 21);
    OK(cudaMemset(shared, 1, 12));
    CHECK(shared[2] == 0x01010101);
    OK(cudaPointerGetAttributes(&of, shared));
    CHECK(of.type == 3 && of.hostPointer == shared);
    FAILS(INVALID_VALUE, cudaFree(shared));
    __cudaUnregisterFatBinary(binary);
    OK(cudaPointerGetAttributes(&of, shared));
    CHECK(of.type == 0);
}

/* A kernel fetches from a texture of an array, and writes to a surface of another. */
static void images(void) {
    static const char text[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry mirror(.param .u64 from, .param .u64 to)\n{\n.reg .b64 %a<2>;\n.reg .b32 %r<4>;\n.reg .f32 %f<6>;\n"
        "ld.param.u64 %a0, [from];\nld.param.u64 %a1, [to];\nmov.u32 %r0, %tid.x;\ncvt.rn.f32.u32 %f0, %r0;\nadd.f32 %f0, %f0, 0f3f000000;\n"
        "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%a0, {%f0, 0f3fc00000}];\nmov.b32 %r1, %f1;\nshl.b32 %r2, %r0, 2;\nmov.u32 %r3, 0;\n"
        "sust.b.2d.b32.trap [%a1, {%r2, %r3}], {%r1};\nret;\n}\n";
    static const struct { int magic, version; const void *data; void *file; } wrapper = {0x466243b1, 1, text, NULL};
    static float rows[2][5] = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}, back[2][5];
    cudaChannelFormatDesc format = {32, 0, 0, 0, 2}, found;
    void *from, *to;
    cudaExtent extent;
    unsigned flags;
    unsigned long long texture, surface;
    cudaTextureDesc sampler = {.address = {1, 1, 1}}, sampler_found;
    cudaResourceDesc resource = {0}, resource_found;
    dim3 one = {1, 1, 1};
    OK(cudaMallocArray(&from, &format, 5, 2, 0));
    OK(cudaMallocArray(&to, &format, 5, 2, 2));
    FAILS(20, cudaMallocArray(&to, &(cudaChannelFormatDesc){32, 16, 0, 0, 2}, 5, 2, 0));
    OK(cudaArrayGetInfo(&found, &extent, &flags, to));
    CHECK(memcmp(&found, &format, sizeof format) == 0 && extent.width == 5 && extent.height == 2 && extent.depth == 0 && flags == 2);
    OK(cudaMemcpy2DToArray(from, 0, 0, rows, 20, 20, 2, TO_DEVICE));
    OK(cudaMemcpy2DFromArray(back, 20, from, 4, 1, 16, 1, TO_HOST));
    CHECK(back[0][0] == 7 && back[0][3] == 10 && back[0][4] == 0);
    OK(cudaMemcpyToArray(to, 0, 0, rows, 40, TO_DEVICE));
    FAILS(INVALID_VALUE, cudaMemcpy2DToArray(from, 4, 0, rows, 20, 20, 2, TO_DEVICE));
    cudaMemcpy3DParms copy = {.srcArray = from, .srcPos = {1, 0, 0}, .dstArray = to, .dstPos = {0, 0, 0}, .extent = {2, 2, 1}, .kind = ON_DEVICE};
    OK(cudaMemcpy3D(&copy));
    OK(cudaMemcpyFromArray(back, to, 0, 0, 40, TO_HOST));
    CHECK(back[0][0] == 2 && back[0][1] == 3 && back[0][2] == 3 && back[1][0] == 7 && back[1][4] == 10);

    resource.words[0] = (unsigned long long)from;
    OK(cudaCreateTextureObject(&texture, &resource, &sampler, NULL));
    OK(cudaGetTextureObjectTextureDesc(&sampler_found, texture));
    CHECK(memcmp(&sampler, &sampler_found, sizeof sampler) == 0);
    OK(cudaGetTextureObjectResourceDesc(&resource_found, texture));
    CHECK(resource_found.kind == 0 && resource_found.words[0] == (unsigned long long)from);
    FAILS(INVALID_VALUE, cudaCreateSurfaceObject(&surface, &resource));
    resource.words[0] = (unsigned long long)to;
    OK(cudaCreateSurfaceObject(&surface, &resource));
    void *binary = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(binary, images, "mirror", "mirror", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(binary);
    void *arguments[] = {&texture, &surface};
    OK(cudaLaunchKernel(images, one, (dim3){5, 1, 1}, arguments, 0, NULL));
    OK(cudaMemcpy2DFromArray(back, 20, to, 0, 0, 20, 1, TO_HOST));
    CHECK(memcmp(back[0], rows[1], 20) == 0);

    /* Linear and pitched memory, whose descriptions come back as they were. */
    void *memory;
    size_t pitch;
    OK(cudaMallocPitch(&memory, &pitch, 20, 2));
    OK(cudaMemset2D(memory, pitch, 0, 20, 2));
    cudaResourceDesc linear = {2, {(unsigned long long)memory, 32, 0, 2, 20}}, pitched = {3, {(unsigned long long)memory, 16 | 16ull << 32, 0, 1, 5, 2, pitch}};
    OK(cudaDestroyTextureObject(texture));
    OK(cudaCreateTextureObject(&texture, &linear, &sampler, NULL));
    OK(cudaGetTextureObjectResourceDesc(&resource_found, texture));
    CHECK(resource_found.kind == 2 && memcmp(linear.words, resource_found.words, sizeof linear.words) == 0);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaCreateTextureObject(&texture, &pitched, &sampler, NULL));
    OK(cudaGetTextureObjectResourceDesc(&resource_found, texture));
    CHECK(resource_found.kind == 3 && memcmp(pitched.words, resource_found.words, sizeof pitched.words) == 0);
    OK(cudaDestroyTextureObject(texture));
    FAILS(400, cudaDestroyTextureObject(texture));
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaFree(memory));
    OK(cudaFreeArray(from));
    OK(cudaFreeArray(to));
    FAILS(400, cudaFreeArray(to));
    __cudaUnregisterFatBinary(binary);
}

int main(int count, char **arguments) {
    int version;
    OK(cudaRuntimeGetVersion(&version));
    if (count > 1) {
        /* By the name of the library of that version alone. */
        int (*of_name)(int *);
        void *library = dlopen(arguments[1], RTLD_NOW);
        CHECK(library && (of_name = (int (*)(int *))dlsym(library, "cudaRuntimeGetVersion")));
        OK(of_name(&version));
    }
    printf("runtime %d\n", version);
    CHECK(strcmp(cudaGetErrorName(0), "cudaSuccess") == 0 && strcmp(cudaGetErrorName(12345), "unrecognized error code") == 0);

    void *binary = __cudaRegisterFatBinary(&WRAPPER);
    __cudaRegisterFunction(binary, scale, "scale", "scale", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(binary, far, "far", "far", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(binary, &factor, "factor", "factor", 0, 4, 1, 0);
    __cudaRegisterVar(binary, counter, "counter", "counter", 0, 8, 0, 0);
    __cudaRegisterFatBinaryEnd(binary);

    CUcontext context;
    CHECK(cuCtxGetCurrent(&context) == 3);
    OK(cudaFree(NULL));
    CHECK(cuCtxGetCurrent(&context) == 0 && context);
    memory();
    launches();
    streams_and_graphs();
    devices(version);
    faults();
    managed();
    images();

    void *function;
    int status;
    OK(cudaGetDriverEntryPoint("cuModuleGetLoadingMode", &function, 0, &status));
    CHECK(status == 0 && ((int (*)(int *))function)(&status) == 0);
    OK(cudaGetDriverEntryPoint("cuNoSuchFunction", &function, 0, &status));
    CHECK(status == 1 && !function);
    FAILS(801, cudaGraphicsUnregisterResource(NULL));
    __cudaUnregisterFatBinary(binary);
    FAILS(INVALID_FUNCTION, cudaLaunchKernel(scale, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL));
    FAILS(INVALID_SYMBOL, cudaMemcpyFromSymbol(&version, counter, 4, 0, TO_HOST));
    puts("all calls returned what they should");
    return 0;
}
