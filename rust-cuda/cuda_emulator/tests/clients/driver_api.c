/* A program on CUDA's driver API, with declarations of its own: what it uses of cuda.h. */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct opaque *CUcontext, *CUmodule, *CUfunction, *CUstream, *CUevent, *CUgraph, *CUgraphExec, *CUlibrary, *CUkernel;

CUresult cuInit(unsigned), cuDeviceGet(CUdevice *, int), cuDeviceGetName(char *, int, CUdevice);
CUresult cuCtxCreate_v2(CUcontext *, unsigned, CUdevice), cuCtxDestroy_v2(CUcontext), cuCtxSetCurrent(CUcontext), cuCtxSynchronize(void);
CUresult cuModuleLoadDataEx(CUmodule *, const void *, unsigned, int *, void **), cuModuleUnload(CUmodule);
CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *), cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule, const char *);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t), cuMemFree_v2(CUdeviceptr), cuMemAllocHost_v2(void **, size_t), cuMemFreeHost(void *);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t), cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t), cuMemcpyDtoD_v2(CUdeviceptr, CUdeviceptr, size_t);
CUresult cuMemsetD32_v2(CUdeviceptr, unsigned, size_t), cuMemcpy(CUdeviceptr, CUdeviceptr, size_t);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **);
CUresult cuStreamCreate(CUstream *, unsigned), cuStreamSynchronize(CUstream), cuStreamDestroy_v2(CUstream);
CUresult cuStreamBeginCapture_v2(CUstream, int), cuStreamEndCapture(CUstream, CUgraph *), cuStreamWaitEvent(CUstream, CUevent, unsigned);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *, CUgraph, unsigned long long), cuGraphLaunch(CUgraphExec, CUstream), cuGraphGetNodes(CUgraph, void **, size_t *);
CUresult cuEventCreate(CUevent *, unsigned), cuEventRecord(CUevent, CUstream), cuEventElapsedTime(float *, CUevent, CUevent), cuEventQuery(CUevent);
CUresult cuFuncGetAttribute(int *, int, CUfunction), cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, CUfunction, int, size_t);
CUresult cuLibraryLoadData(CUlibrary *, const void *, int *, void **, unsigned, int *, void **, unsigned), cuLibraryGetKernel(CUkernel *, CUlibrary, const char *), cuLibraryUnload(CUlibrary);
CUresult cuGetProcAddress_v2(const char *, void **, int, unsigned long long, int *), cuGetErrorName(CUresult, const char **), cuGetExportTable(const void **, const char *);
typedef struct {
    CUfunction function; unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared; void **parameters, **extra; CUkernel kernel; CUcontext context;
} KernelNode;
typedef struct { CUdeviceptr address; size_t pitch; unsigned value, element; size_t width, height; } FillNode;
typedef struct { void (*function)(void *); void *data; } HostNode;
typedef struct {
    size_t x, y, z, level; int type; const void *host; CUdeviceptr device; void *array, *reserved; size_t pitch, rows;
} Place3D;
typedef struct { Place3D source, destination; size_t width, height, depth; } Copy3D;
CUresult cuGraphCreate(CUgraph *, unsigned), cuGraphDestroy(CUgraph), cuGraphNodeGetType(void *, int *);
CUresult cuGraphAddKernelNode_v2(void **, CUgraph, void *const *, size_t, const KernelNode *), cuGraphAddEmptyNode(void **, CUgraph, void *const *, size_t);
CUresult cuGraphAddMemsetNode(void **, CUgraph, void *const *, size_t, const FillNode *, CUcontext), cuGraphAddHostNode(void **, CUgraph, void *const *, size_t, const HostNode *);
CUresult cuGraphAddMemcpyNode(void **, CUgraph, void *const *, size_t, const Copy3D *, CUcontext), cuGraphAddDependencies(CUgraph, void *const *, void *const *, size_t);
CUresult cuGraphAddKernelNode(void **, CUgraph, void *const *, size_t, const KernelNode *);
CUresult cuGraphKernelNodeGetParams(void *, KernelNode *), cuGraphKernelNodeGetParams_v2(void *, KernelNode *), cuGraphMemcpyNodeGetParams(void *, Copy3D *);
CUresult cuGraphMemsetNodeGetParams(void *, FillNode *), cuGraphHostNodeGetParams(void *, HostNode *);
CUresult cuGraphKernelNodeSetParams(void *, const KernelNode *), cuGraphKernelNodeSetParams_v2(void *, const KernelNode *), cuGraphMemcpyNodeSetParams(void *, const Copy3D *);
CUresult cuGraphMemsetNodeSetParams(void *, const FillNode *), cuGraphHostNodeSetParams(void *, const HostNode *);
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec, void *, const KernelNode *), cuGraphExecKernelNodeSetParams_v2(CUgraphExec, void *, const KernelNode *);
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec, void *, const Copy3D *, CUcontext), cuGraphExecMemsetNodeSetParams(CUgraphExec, void *, const FillNode *, CUcontext);
CUresult cuGraphExecHostNodeSetParams(CUgraphExec, void *, const HostNode *), cuGraphExecDestroy(CUgraphExec);
typedef struct { int result; void *node, *from; } UpdateResult;
CUresult cuGraphExecUpdate(CUgraphExec, CUgraph, void **, int *), cuGraphExecUpdate_v2(CUgraphExec, CUgraph, UpdateResult *);
CUresult cuLaunchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **);
typedef struct { int type, id; } Location;
typedef struct { Location location; int flags; } PoolAccess;
typedef struct { int order; Location source, destination; unsigned flags; } CopyAttributes;
CUresult cuMemcpyBatchAsync(const CUdeviceptr *, const CUdeviceptr *, const size_t *, size_t, const CopyAttributes *, const size_t *, size_t, size_t *, CUstream);
CUresult cuMemcpyBatchAsync_v2(const CUdeviceptr *, const CUdeviceptr *, const size_t *, size_t, const CopyAttributes *, const size_t *, size_t, CUstream);
CUresult cuMemcpyBatchAsync_v2_ptsz(const CUdeviceptr *, const CUdeviceptr *, const size_t *, size_t, const CopyAttributes *, const size_t *, size_t, CUstream);
CUresult cuMemcpyWithAttributesAsync(CUdeviceptr, CUdeviceptr, size_t, const CopyAttributes *, CUstream);
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned), cuCtxDisablePeerAccess(CUcontext), cuDeviceCanAccessPeer(int *, CUdevice, CUdevice);
CUresult cuDeviceGetP2PAttribute(int *, int, CUdevice, CUdevice), cuMemcpyPeer(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t);
typedef struct { int threads, block[3], grid[3], shared, constant, warp, pitch, registers, clock, alignment; } DeviceProperties;
CUresult cuDeviceGetProperties(DeviceProperties *, CUdevice), cuDeviceGetExecAffinitySupport(int *, int, CUdevice);
CUresult cuMemcpyAsync(CUdeviceptr, CUdeviceptr, size_t, CUstream);
CUresult cuMipmappedArrayCreate(void *, void *, unsigned), cuLaunchHostFunc(CUstream, void (*)(void *), void *);

typedef struct {
    size_t source_x, source_y; int source_type; const void *source_host; CUdeviceptr source_device; void *source_array; size_t source_pitch;
    size_t x, y; int type; void *host; CUdeviceptr device; void *array; size_t pitch;
    size_t width, height;
} Copy2D;
CUresult cuMemcpy2D_v2(const Copy2D *);
typedef struct opaque *CUmemoryPool;
typedef struct { int allocation_type, handle_types; Location location; void *attributes; size_t max; unsigned short usage; char reserved[54]; } PoolProperties;
typedef struct { PoolProperties pool; void *access; size_t access_count, bytes; CUdeviceptr address; } AllocateNode;
CUresult cuGraphAddMemAllocNode(void **, CUgraph, void *const *, size_t, AllocateNode *), cuGraphAddMemFreeNode(void **, CUgraph, void *const *, size_t, CUdeviceptr);
CUresult cuGraphMemAllocNodeGetParams(void *, AllocateNode *), cuGraphMemFreeNodeGetParams(void *, CUdeviceptr *), cuGraphClone(CUgraph *, CUgraph);
CUresult cuDeviceGetGraphMemAttribute(CUdevice, int, void *), cuDeviceSetGraphMemAttribute(CUdevice, int, void *), cuDeviceGraphMemTrim(CUdevice);
CUresult cuMemAllocAsync(CUdeviceptr *, size_t, CUstream);
CUresult cuMemPoolCreate(CUmemoryPool *, const PoolProperties *), cuMemPoolDestroy(CUmemoryPool), cuMemPoolGetAttribute(CUmemoryPool, int, void *);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *, size_t, CUmemoryPool, CUstream), cuMemFreeAsync(CUdeviceptr, CUstream);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *, CUdevice), cuMemGetDefaultMemPool(CUmemoryPool *, const Location *, int), cuMemGetMemPool(CUmemoryPool *, const Location *, int), cuMemPoolSetAccess(CUmemoryPool, const PoolAccess *, size_t);
CUresult cuMemPoolGetAccess(int *, CUmemoryPool, const Location *), cuPointerGetAttribute(void *, int, CUdeviceptr);

static const char *const PTX =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .u32 calls = 0;\n.visible .const .u32 step = 1;\n"
    ".visible .entry add(.param .u64 p, .param .u32 n)\n{\n"
    ".reg .pred %p1;\n.reg .b32 %r<6>;\n.reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"
    "mad.lo.u32 %r2, %r2, %r3, %r4;\nsetp.ge.u32 %p1, %r2, %r1;\n@%p1 ret;\n"
    "cvta.to.global.u64 %rd1, %rd1;\nmul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd3, %rd1, %rd2;\n"
    "ld.global.u32 %r4, [%rd3];\nld.const.u32 %r5, [step];\nadd.u32 %r4, %r4, %r5;\nst.global.u32 [%rd3], %r4;\n"
    "red.global.add.u32 [calls], 1;\nret;\n}\n"
    ".visible .entry far(.param .u64 p)\n{\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nst.global.u32 [%rd1+4096], 1;\nret;\n}\n"
    ".visible .entry stops()\n{\ntrap;\n}\n";

#define EXPECT(code, call) expect(__LINE__, #call, code, call)
static void expect(int line, const char *call, CUresult expected, CUresult found) {
    if (expected != found) {
        const char *name = "?";
        cuGetErrorName(found, &name);
        printf("line %d: %s returned %d (%s), not %d\n", line, call, found, name, expected);
        exit(1);
    }
}
#define CHECK(condition) if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); exit(1); }

enum { N = 1000 };
static CUcontext context;
static CUfunction add;

static void add_on(CUdeviceptr values, unsigned n, CUstream stream) {
    void *parameters[] = {&values, &n};
    EXPECT(0, cuLaunchKernel(add, (N + 127) / 128, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
}

/* Launches a graph, and waits for it. */
static CUresult run_graph(CUgraphExec executable, CUstream stream) {
    CUresult launched = cuGraphLaunch(executable, stream);
    return launched ? launched : cuStreamSynchronize(stream);
}

/* Each thread of the host has memory of its own. */
static void *work(void *unused) {
    CUdeviceptr values;
    unsigned result[N];
    EXPECT(0, cuCtxSetCurrent(context));
    EXPECT(0, cuMemAlloc_v2(&values, sizeof result));
    EXPECT(0, cuMemsetD32_v2(values, 7, N));
    for (int i = 0; i < 20; i++) add_on(values, N, NULL);
    EXPECT(0, cuMemcpyDtoH_v2(result, values, sizeof result));
    for (int i = 0; i < N; i++) CHECK(result[i] == 27);
    EXPECT(0, cuMemFree_v2(values));
    return unused;
}

static void count_call(void *calls) { ++*(int *)calls; }

/* A function of a context of its own. */
static CUfunction function_of(CUcontext *owner, CUmodule *module) {
    CUfunction function;
    EXPECT(0, cuCtxCreate_v2(owner, 0, 0));
    EXPECT(0, cuModuleLoadDataEx(module, PTX, 0, NULL, NULL));
    EXPECT(0, cuModuleGetFunction(&function, *module, "add"));
    EXPECT(0, cuCtxSetCurrent(context));
    return function;
}

/* New parameters of nodes: an executable graph has its own, and handles of the graph's nodes name its nodes. */
static void new_parameters(CUdeviceptr values, CUdeviceptr other, CUstream stream) {
    unsigned result[N] = {0}, second[N] = {0}, n = N, fewer = 10;
    int calls = 0, more_calls = 0;
    void *parameters[] = {&values, &n}, *nodes[4], *late, *foreign;
    CUgraph graph, other_graph;
    CUgraphExec executable, fresh;
    KernelNode launch = {.function = add, .grid_x = 8, .grid_y = 1, .grid_z = 1, .block_x = 128, .block_y = 1, .block_z = 1, .parameters = parameters};
    FillNode fill = {.address = values, .element = 4, .width = N, .height = 1, .value = 1};
    Copy3D copy = {.source = {.type = 2, .device = values}, .destination = {.type = 1, .host = result}, .width = sizeof result, .height = 1, .depth = 1};
    HostNode call = {count_call, &calls};
    EXPECT(0, cuGraphCreate(&graph, 0));
    EXPECT(0, cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &fill, context));
    EXPECT(0, cuGraphAddKernelNode_v2(&nodes[1], graph, nodes, 1, &launch));
    EXPECT(0, cuGraphAddMemcpyNode(&nodes[2], graph, nodes + 1, 1, &copy, context));
    EXPECT(0, cuGraphAddHostNode(&nodes[3], graph, nodes + 2, 1, &call));
    EXPECT(1, cuGraphAddEmptyNode(&late, graph, (void *[]){nodes[0], nodes[0]}, 2));
    EXPECT(1, cuGraphAddDependencies(graph, nodes, nodes + 1, 1));
    EXPECT(0, cuGraphInstantiateWithFlags(&executable, graph, 0));
    EXPECT(0, cuGraphAddHostNode(&late, graph, NULL, 0, &call));

    fewer = 10;
    parameters[1] = &fewer;
    EXPECT(0, cuGraphExecKernelNodeSetParams_v2(executable, nodes[1], &launch));
    fill.value = 7;
    EXPECT(0, cuGraphExecMemsetNodeSetParams(executable, nodes[0], &fill, context));
    copy.destination.host = second;
    EXPECT(0, cuGraphExecMemcpyNodeSetParams(executable, nodes[2], &copy, context));
    call.data = &more_calls;
    EXPECT(0, cuGraphExecHostNodeSetParams(executable, nodes[3], &call));
    fewer = N;
    EXPECT(0, run_graph(executable, stream));
    for (unsigned i = 0; i < N; i++) CHECK(result[i] == 0 && second[i] == 7 + (i < 10));
    CHECK(calls == 0 && more_calls == 1);
    EXPECT(0, cuGraphInstantiateWithFlags(&fresh, graph, 0));
    EXPECT(0, run_graph(fresh, stream));
    for (unsigned i = 0; i < N; i++) CHECK(result[i] == 2);
    CHECK(calls == 2 && more_calls == 1);

    /* What a node has, and new parameters of it, which an executable graph of before does not get. */
    EXPECT(0, cuGraphKernelNodeGetParams_v2(nodes[1], &launch));
    CHECK(launch.function == add && launch.context == context && *(CUdeviceptr *)launch.parameters[0] == values && *(unsigned *)launch.parameters[1] == N);
    launch.grid_x = 1;
    EXPECT(0, cuGraphKernelNodeSetParams_v2(nodes[1], &launch));
    EXPECT(0, cuGraphMemsetNodeGetParams(nodes[0], &fill));
    CHECK(fill.address == values && fill.value == 1 && fill.element == 4 && fill.width == N && fill.height == 1);
    fill.value = 3;
    EXPECT(0, cuGraphMemsetNodeSetParams(nodes[0], &fill));
    EXPECT(0, cuGraphMemcpyNodeGetParams(nodes[2], &copy));
    CHECK(copy.source.type == 2 && copy.source.device == values && copy.destination.type == 1 && copy.destination.host == result);
    CHECK(copy.width == sizeof result && copy.height == 1 && copy.depth == 1);
    copy.destination.host = second;
    EXPECT(0, cuGraphMemcpyNodeSetParams(nodes[2], &copy));
    EXPECT(0, cuGraphHostNodeGetParams(nodes[3], &call));
    CHECK(call.function == count_call && call.data == &calls);
    call.data = &more_calls;
    EXPECT(0, cuGraphHostNodeSetParams(nodes[3], &call));
    EXPECT(0, run_graph(fresh, stream));
    CHECK(result[500] == 2 && second[500] == 7 && more_calls == 1);
    EXPECT(0, cuGraphExecDestroy(fresh));
    EXPECT(0, cuGraphInstantiateWithFlags(&fresh, graph, 0));
    EXPECT(0, run_graph(fresh, stream));
    CHECK(second[127] == 4 && second[128] == 3 && more_calls == 2);

    /* A grid without blocks, by the older structure too: an error where it is launched. */
    parameters[1] = &n;
    launch = (KernelNode){.function = add, .grid_x = 0, .grid_y = 1, .grid_z = 1, .block_x = 128, .block_y = 1, .block_z = 1, .parameters = parameters};
    EXPECT(0, cuGraphExecKernelNodeSetParams(executable, nodes[1], &launch));
    EXPECT(1, cuGraphLaunch(executable, stream));
    CHECK(more_calls == 2);
    launch.grid_x = 8;
    EXPECT(0, cuGraphExecKernelNodeSetParams(executable, nodes[1], &launch));
    EXPECT(0, run_graph(executable, stream));
    CHECK(second[N - 1] == 8 && more_calls == 3);
    EXPECT(0, cuGraphKernelNodeSetParams(nodes[1], &launch));
    KernelNode old_structure;
    EXPECT(0, cuGraphKernelNodeGetParams(nodes[1], &old_structure));
    CHECK(old_structure.grid_x == 8 && old_structure.function == add);

    /* Nodes of other kinds, of another graph, later ones, and handles that are wrong. */
    EXPECT(0, cuGraphCreate(&other_graph, 0));
    EXPECT(0, cuGraphAddKernelNode_v2(&foreign, other_graph, NULL, 0, &launch));
    void *wrong[] = {nodes[0], foreign, late, NULL, (void *)16, executable, graph};
    for (int i = 0; i < 7; i++) EXPECT(1, cuGraphExecKernelNodeSetParams_v2(executable, wrong[i], &launch));
    EXPECT(1, cuGraphExecMemcpyNodeSetParams(executable, nodes[0], &copy, context));
    EXPECT(1, cuGraphExecMemsetNodeSetParams(executable, nodes[1], &fill, context));
    EXPECT(1, cuGraphExecHostNodeSetParams(executable, nodes[1], &call));
    EXPECT(1, cuGraphExecHostNodeSetParams(executable, late, &call));
    EXPECT(1, cuGraphMemcpyNodeGetParams(nodes[0], &copy));
    EXPECT(1, cuGraphMemsetNodeSetParams(nodes[1], &fill));
    EXPECT(400, cuGraphExecKernelNodeSetParams_v2(NULL, nodes[1], &launch));
    EXPECT(400, cuGraphExecKernelNodeSetParams_v2((CUgraphExec)graph, nodes[1], &launch));
    EXPECT(1, cuGraphExecKernelNodeSetParams_v2(executable, nodes[1], NULL));
    EXPECT(1, cuGraphExecMemcpyNodeSetParams(executable, nodes[2], NULL, context));
    EXPECT(1, cuGraphExecMemsetNodeSetParams(executable, nodes[0], NULL, context));
    EXPECT(1, cuGraphExecHostNodeSetParams(executable, nodes[3], NULL));
    EXPECT(1, cuGraphExecHostNodeSetParams(executable, nodes[3], &(HostNode){NULL, NULL}));

    /* Parameters that an executable graph cannot get. */
    KernelNode wide = launch;
    wide.block_x = 2048;
    EXPECT(1, cuGraphExecKernelNodeSetParams_v2(executable, nodes[1], &wide));
    CUcontext second_context;
    CUmodule second_module;
    wide = launch;
    wide.function = function_of(&second_context, &second_module);
    EXPECT(1, cuGraphExecKernelNodeSetParams_v2(executable, nodes[1], &wide));
    EXPECT(0, cuCtxDestroy_v2(second_context));
    EXPECT(400, cuGraphExecKernelNodeSetParams_v2(executable, nodes[1], &wide));
    Copy3D rows = copy, empty = copy, from_host = copy;
    rows.height = 2;
    empty.width = 0;
    from_host.source = (Place3D){.type = 1, .host = result};
    EXPECT(1, cuGraphExecMemcpyNodeSetParams(executable, nodes[2], &rows, context));
    EXPECT(1, cuGraphExecMemcpyNodeSetParams(executable, nodes[2], &empty, context));
    EXPECT(1, cuGraphExecMemcpyNodeSetParams(executable, nodes[2], &from_host, context));
    copy.source.device = other;
    EXPECT(0, cuGraphExecMemcpyNodeSetParams(executable, nodes[2], &copy, context));
    FillNode fill_rows = fill;
    fill_rows.height = 2;
    EXPECT(1, cuGraphExecMemsetNodeSetParams(executable, nodes[0], &fill_rows, context));
    fill_rows.height = fill_rows.width = 0;
    EXPECT(1, cuGraphExecMemsetNodeSetParams(executable, nodes[0], &fill_rows, context));

    EXPECT(0, cuGraphDestroy(other_graph));
    EXPECT(0, cuGraphDestroy(graph));
    EXPECT(1, cuGraphExecKernelNodeSetParams_v2(executable, nodes[1], &launch));
    EXPECT(0, run_graph(executable, stream));
    EXPECT(0, cuGraphExecDestroy(executable));
    EXPECT(400, cuGraphExecHostNodeSetParams(executable, nodes[3], &call));
    EXPECT(400, cuGraphLaunch(executable, stream));
}

/* A graph of a fill and two launches, of `add` and of `second`. The launches depend on as many of the nodes before them as `after` says. */
static CUgraph three_nodes(CUfunction second, CUdeviceptr values, unsigned value, const int *after, void **nodes) {
    CUgraph graph;
    void *parameters[] = {&values, &(unsigned){N}};
    KernelNode launch = {.function = add, .grid_x = 8, .grid_y = 1, .grid_z = 1, .block_x = 128, .block_y = 1, .block_z = 1, .parameters = parameters};
    FillNode fill = {.address = values, .element = 4, .width = N, .height = 1, .value = value};
    EXPECT(0, cuGraphCreate(&graph, 0));
    EXPECT(0, cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &fill, context));
    EXPECT(0, cuGraphAddKernelNode_v2(&nodes[1], graph, nodes, after[0], &launch));
    launch.function = second;
    EXPECT(0, cuGraphAddKernelNode_v2(&nodes[2], graph, nodes + 2 - after[1], after[1], &launch));
    return graph;
}

/* An update of a whole executable graph says which node differs, and how. */
static void updates(CUdeviceptr values, CUdeviceptr other, CUstream stream) {
    unsigned result[N];
    void *nodes[3], *others[3], *node, *added;
    int code;
    UpdateResult found;
    CUgraph graph = three_nodes(add, values, 1, (int[]){1, 1}, nodes), changed;
    CUgraphExec executable;
    EXPECT(0, cuMemsetD32_v2(other, 0, N));
    EXPECT(0, cuGraphInstantiateWithFlags(&executable, graph, 0));
    changed = three_nodes(add, other, 5, (int[]){1, 1}, others);
    EXPECT(0, cuGraphExecUpdate_v2(executable, changed, &found));
    CHECK(found.result == 0 && !found.node && !found.from);
    EXPECT(0, cuGraphDestroy(changed));
    EXPECT(0, run_graph(executable, stream));
    EXPECT(0, cuMemcpyDtoH_v2(result, other, sizeof result));
    CHECK(result[N - 1] == 7);
    EXPECT(0, cuGraphExecUpdate(executable, graph, NULL, NULL));

    /* Another number of nodes, more of them at the end, more dependencies of one, and one of another kind. */
    changed = three_nodes(add, other, 9, (int[]){1, 1}, others);
    EXPECT(0, cuGraphAddEmptyNode(&added, changed, NULL, 0));
    EXPECT(910, cuGraphExecUpdate_v2(executable, changed, &found));
    CHECK(found.result == 2 && !found.node && !found.from);
    EXPECT(0, cuGraphDestroy(changed));
    changed = three_nodes(add, other, 9, (int[]){1, 0}, others);
    EXPECT(910, cuGraphExecUpdate(executable, changed, &node, &code));
    CHECK(code == 2 && node == others[2]);
    EXPECT(0, cuGraphDestroy(changed));
    changed = three_nodes(add, other, 9, (int[]){1, 2}, others);
    EXPECT(910, cuGraphExecUpdate_v2(executable, changed, &found));
    CHECK(found.result == 2 && found.node == others[2] && !found.from);
    EXPECT(0, cuGraphDestroy(changed));
    EXPECT(0, cuGraphCreate(&changed, 0));
    for (int i = 0; i < 3; i++) EXPECT(0, cuGraphAddEmptyNode(&others[i], changed, others + i - (i > 0), i > 0));
    EXPECT(910, cuGraphExecUpdate_v2(executable, changed, &found));
    CHECK(found.result == 3 && found.node == others[0] && !found.from);
    EXPECT(0, cuGraphDestroy(changed));

    /* As many nodes, edges and last nodes, but one node depends on another one. */
    CUgraph diamond, square;
    CUgraphExec of_diamond;
    void *corners[4], *of_square[4];
    EXPECT(0, cuGraphCreate(&diamond, 0));
    EXPECT(0, cuGraphCreate(&square, 0));
    for (int i = 0; i < 4; i++) EXPECT(0, cuGraphAddEmptyNode(&corners[i], diamond, corners + (i == 3), i == 0 ? 0 : i == 3 ? 2 : 1));
    EXPECT(0, cuGraphAddEmptyNode(&of_square[0], square, NULL, 0));
    EXPECT(0, cuGraphAddEmptyNode(&of_square[1], square, NULL, 0));
    EXPECT(0, cuGraphAddEmptyNode(&of_square[2], square, of_square + 1, 1));
    EXPECT(0, cuGraphAddDependencies(square, of_square, of_square + 1, 1));
    EXPECT(0, cuGraphAddEmptyNode(&of_square[3], square, of_square + 1, 2));
    EXPECT(0, cuGraphInstantiateWithFlags(&of_diamond, diamond, 0));
    EXPECT(910, cuGraphExecUpdate_v2(of_diamond, square, &found));
    CHECK(found.result == 2 && found.node == of_square[2] && found.from == of_square[1]);

    /* A function of another context, a cooperative launch, and memory of another context or of the host. */
    CUcontext second;
    CUmodule module;
    CUfunction elsewhere = function_of(&second, &module);
    changed = three_nodes(elsewhere, other, 9, (int[]){1, 1}, others);
    EXPECT(910, cuGraphExecUpdate_v2(executable, changed, &found));
    CHECK(found.result == 7 && found.node == others[2] && !found.from);
    EXPECT(0, cuGraphDestroy(changed));
    EXPECT(0, cuCtxSetCurrent(second));
    CUdeviceptr of_second;
    EXPECT(0, cuMemAlloc_v2(&of_second, sizeof result));
    EXPECT(0, cuCtxSetCurrent(context));
    changed = three_nodes(add, of_second, 9, (int[]){1, 1}, others);
    EXPECT(910, cuGraphExecUpdate_v2(executable, changed, &found));
    CHECK(found.result == 5 && found.node == others[0]);
    EXPECT(0, cuGraphDestroy(changed));
    EXPECT(0, cuCtxDestroy_v2(second));
    CUgraph captured[4];
    void *parameters[] = {&values, &(unsigned){N}};
    CUdeviceptr freed;
    EXPECT(0, cuMemAlloc_v2(&freed, sizeof result));
    for (int i = 0; i < 4; i++) {
        EXPECT(0, cuStreamBeginCapture_v2(stream, 0));
        EXPECT(0, i == 1 ? cuLaunchCooperativeKernel(add, 8, 1, 1, 128, 1, 1, 0, stream, parameters)
                         : cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
        EXPECT(0, cuMemcpyAsync((CUdeviceptr)(uintptr_t)result, i == 2 ? (CUdeviceptr)(uintptr_t)result : i == 0 ? freed : values, 4, stream));
        EXPECT(0, cuStreamEndCapture(stream, &captured[i]));
    }
    CUgraphExec of_capture;
    EXPECT(0, cuGraphInstantiateWithFlags(&of_capture, captured[0], 0));
    EXPECT(910, cuGraphExecUpdate_v2(of_capture, captured[1], &found));
    CHECK(found.result == 8 && found.node);
    EXPECT(910, cuGraphExecUpdate_v2(of_capture, captured[2], &found));
    CHECK(found.result == 5 && found.node);
    EXPECT(0, cuMemFree_v2(freed));
    EXPECT(0, cuGraphExecUpdate_v2(of_capture, captured[3], &found));

    /* Captures with a branch that joins them, and without. */
    CUstream branch;
    CUevent event;
    EXPECT(0, cuStreamCreate(&branch, 1));
    EXPECT(0, cuEventCreate(&event, 0));
    for (int i = 0; i < 3; i++) {
        CUdeviceptr target = i == 0 ? values : other;
        EXPECT(0, cuStreamBeginCapture_v2(stream, 0));
        add_on(target, N, stream);
        if (i < 2) {
            EXPECT(0, cuEventRecord(event, stream));
            EXPECT(0, cuStreamWaitEvent(branch, event, 0));
            add_on(target, 10, branch);
            add_on(target, 20, branch);
        } else {
            add_on(target, 10, stream);
            add_on(target, 20, stream);
        }
        add_on(target, 30, stream);
        if (i < 2) {
            EXPECT(0, cuEventRecord(event, branch));
            EXPECT(0, cuStreamWaitEvent(stream, event, 0));
        }
        add_on(target, 40, stream);
        EXPECT(0, cuStreamEndCapture(stream, &captured[i]));
    }
    EXPECT(0, cuGraphInstantiateWithFlags(&of_capture, captured[0], 0));
    EXPECT(910, cuGraphExecUpdate_v2(of_capture, captured[2], &found));
    CHECK(found.result == 2 && found.node && !found.from);
    EXPECT(0, cuMemsetD32_v2(other, 0, N));
    EXPECT(0, cuGraphExecUpdate_v2(of_capture, captured[1], &found));
    EXPECT(0, cuGraphLaunch(of_capture, stream));
    EXPECT(0, cuMemcpyDtoH_v2(result, other, sizeof result));
    CHECK(result[0] == 5 && result[10] == 4 && result[20] == 3 && result[30] == 2 && result[40] == 1);
    EXPECT(0, cuStreamDestroy_v2(branch));

    /* A failed update changes nothing; handles that are wrong. */
    EXPECT(0, cuMemsetD32_v2(other, 0, N));
    EXPECT(0, cuGraphLaunch(executable, stream));
    EXPECT(0, cuMemcpyDtoH_v2(result, other, sizeof result));
    CHECK(result[0] == 0);
    EXPECT(0, cuMemcpyDtoH_v2(result, values, sizeof result));
    CHECK(result[0] == 3);
    EXPECT(1, cuGraphExecUpdate_v2(executable, graph, NULL));
    EXPECT(400, cuGraphExecUpdate_v2(executable, changed, &found));
    CHECK(found.result == 1 && !found.node);
    EXPECT(400, cuGraphExecUpdate_v2((CUgraphExec)16, graph, &found));
    EXPECT(0, cuGraphExecDestroy(executable));
    EXPECT(400, cuGraphExecUpdate(executable, graph, &node, &code));
    CHECK(code == 1 && !node);
}

/* Copies in a batch, each with an attribute; an error names the copy, or none. */
static void batches(CUdeviceptr values, CUdeviceptr other, CUstream stream) {
    unsigned source[N], result[N];
    for (unsigned i = 0; i < N; i++) source[i] = 3 * i;
    CUdeviceptr host = (CUdeviceptr)(uintptr_t)source, to_host = (CUdeviceptr)(uintptr_t)result;
    CUdeviceptr to[] = {values, values + 40, other}, from[] = {host, host + 400, host};
    size_t bytes[] = {40, 4, 8}, starts[] = {0, 2}, failed = 7;
    CopyAttributes attributes[] = {{.order = 1}, {.order = 3, .flags = 1, .source = {2, 0}}};
    EXPECT(0, cuMemcpyBatchAsync_v2(to, from, bytes, 3, attributes, starts, 2, stream));
    EXPECT(0, cuMemcpyDtoH_v2(result, values, 44));
    CHECK(result[9] == 27 && result[10] == 300);
    EXPECT(0, cuMemcpyDtoH_v2(result, other, 8));
    CHECK(result[1] == 3);
    EXPECT(0, cuMemcpyBatchAsync((CUdeviceptr[]){to_host}, &values, bytes, 1, attributes, starts, 1, &failed, stream));
    CHECK(failed == 7 && result[9] == 27);
    EXPECT(0, cuMemcpyWithAttributesAsync(to_host, other, 4, &(CopyAttributes){.order = 2}, NULL));
    CHECK(result[0] == 0);

    bytes[1] = 1 << 20;
    EXPECT(1, cuMemcpyBatchAsync(to, from, bytes, 3, attributes, starts, 2, &failed, stream));
    CHECK(failed == 1);
    EXPECT(1, cuMemcpyBatchAsync_v2(to, from, bytes, 3, attributes, starts, 2, stream));
    bytes[1] = 4;
    to[2] = 0;
    EXPECT(1, cuMemcpyBatchAsync(to, from, bytes, 3, attributes, starts, 2, &failed, stream));
    CHECK(failed == 2);
    EXPECT(1, cuMemcpyBatchAsync(to, from, bytes, 3, attributes, starts, 2, NULL, stream));
    to[2] = other;
    /* No copies, no attributes, more of them than copies, and wrong ones; null arrays. */
    EXPECT(1, cuMemcpyBatchAsync(to, from, bytes, 0, attributes, starts, 0, &failed, stream));
    CHECK(failed == SIZE_MAX);
    EXPECT(1, cuMemcpyBatchAsync_v2(to, from, bytes, 3, NULL, NULL, 0, stream));
    EXPECT(1, cuMemcpyBatchAsync_v2(to, from, bytes, 1, attributes, starts, 2, stream));
    EXPECT(1, cuMemcpyBatchAsync_v2(to, from, bytes, 2, attributes, starts, 2, stream));
    for (size_t i = 0; i < 3; i++) EXPECT(1, cuMemcpyBatchAsync_v2(to, from, bytes, 3, attributes, (size_t[][2]){{1, 2}, {0, 0}, {2, 1}}[i], 2, stream));
    for (int order = 0; order <= 4; order += 4) EXPECT(1, cuMemcpyBatchAsync_v2(to, from, bytes, 3, &(CopyAttributes){.order = order}, starts, 1, stream));
    EXPECT(1, cuMemcpyBatchAsync_v2(to, from, bytes, 3, &(CopyAttributes){.order = 1, .flags = 2}, starts, 1, stream));
    EXPECT(1, cuMemcpyWithAttributesAsync(values, host, 4, NULL, stream));
    EXPECT(1, cuMemcpyWithAttributesAsync(values, host, 4, &(CopyAttributes){0}, stream));
    EXPECT(1, cuMemcpyBatchAsync_v2(NULL, from, bytes, 3, attributes, starts, 2, stream));
    EXPECT(1, cuMemcpyBatchAsync_v2(to, NULL, bytes, 3, attributes, starts, 2, stream));
    EXPECT(1, cuMemcpyBatchAsync_v2(to, from, NULL, 3, attributes, starts, 2, stream));
    /* The context's default stream, a thread's own, a captured one and none. */
    EXPECT(1, cuMemcpyBatchAsync_v2(to, from, bytes, 3, attributes, starts, 2, NULL));
    EXPECT(1, cuMemcpyBatchAsync_v2(to, from, bytes, 3, attributes, starts, 2, (CUstream)1));
    EXPECT(0, cuMemcpyBatchAsync_v2(to, from, bytes, 3, attributes, starts, 2, (CUstream)2));
    EXPECT(0, cuMemcpyBatchAsync_v2_ptsz(to, from, bytes, 3, attributes, starts, 2, NULL));
    EXPECT(400, cuMemcpyBatchAsync_v2(to, from, bytes, 3, attributes, starts, 2, (CUstream)16));
    CUgraph graph;
    EXPECT(0, cuStreamBeginCapture_v2(stream, 0));
    EXPECT(900, cuMemcpyBatchAsync(to, from, bytes, 3, attributes, starts, 2, &failed, stream));
    EXPECT(0, cuStreamEndCapture(stream, &graph));
}

/* No context has access to the memory of another device, whose kernels and copies alone have it. */
static void peers(void) {
    CUcontext first, second;
    CUdeviceptr of_first, of_second;
    CUmodule module;
    CUfunction function;
    int can = 7;
    EXPECT(201, cuCtxEnablePeerAccess(NULL, 0));
    EXPECT(201, cuCtxDisablePeerAccess(NULL));
    EXPECT(0, cuDeviceCanAccessPeer(&can, 0, 1));
    CHECK(can == 1);
    EXPECT(0, cuDeviceCanAccessPeer(&can, 1, 1));
    CHECK(can == 0);
    EXPECT(101, cuDeviceCanAccessPeer(&can, 0, 2));
    EXPECT(0, cuDeviceGetP2PAttribute(&can, 2, 0, 1));
    CHECK(can == 1);
    EXPECT(0, cuCtxCreate_v2(&second, 0, 1));
    EXPECT(0, cuMemAlloc_v2(&of_second, 4));
    EXPECT(0, cuMemsetD32_v2(of_second, 5, 1));
    EXPECT(0, cuCtxCreate_v2(&first, 0, 0));
    EXPECT(0, cuMemAlloc_v2(&of_first, 4));
    EXPECT(1, cuCtxEnablePeerAccess(second, 1));
    EXPECT(201, cuCtxEnablePeerAccess(first, 0));
    EXPECT(201, cuCtxEnablePeerAccess((CUcontext)16, 0));
    CUcontext same_device;
    EXPECT(0, cuCtxCreate_v2(&same_device, 0, 0));
    EXPECT(217, cuCtxEnablePeerAccess(first, 0));
    EXPECT(0, cuCtxDestroy_v2(same_device));
    EXPECT(0, cuCtxSetCurrent(first));
    EXPECT(0, cuCtxEnablePeerAccess(second, 0));
    EXPECT(704, cuCtxEnablePeerAccess(second, 0));
    EXPECT(0, cuCtxDisablePeerAccess(second));
    EXPECT(705, cuCtxDisablePeerAccess(second));
    EXPECT(201, cuCtxDisablePeerAccess((CUcontext)16));
    EXPECT(201, cuCtxDisablePeerAccess(NULL));
    EXPECT(0, cuMemcpyPeer(of_first, first, of_second, second, 4));
    EXPECT(0, cuModuleLoadDataEx(&module, PTX, 0, NULL, NULL));
    EXPECT(0, cuModuleGetFunction(&function, module, "add"));
    EXPECT(0, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&of_first, &(unsigned){1}}, NULL));
    unsigned value;
    EXPECT(0, cuMemcpyDtoH_v2(&value, of_first, 4));
    CHECK(value == 6);
    /* A node runs in its function's context, wherever the graph is launched, and keeps it. */
    CUmodule second_module;
    CUfunction of_functions[2] = {function};
    EXPECT(0, cuCtxSetCurrent(second));
    EXPECT(0, cuModuleLoadDataEx(&second_module, PTX, 0, NULL, NULL));
    EXPECT(0, cuModuleGetFunction(&of_functions[1], second_module, "add"));
    EXPECT(0, cuCtxSetCurrent(first));
    CUgraph graph;
    CUgraphExec executable;
    KernelNode launches[2];
    void *nodes[2];
    EXPECT(0, cuGraphCreate(&graph, 0));
    for (int i = 0; i < 2; i++) {
        launches[i] = (KernelNode){.function = of_functions[i], .grid_y = 1, .grid_z = 1, .block_x = 1, .block_y = 1, .block_z = 1,
                                   .parameters = (void *[]){i ? &of_second : &of_first, &(unsigned){1}}};
        EXPECT(0, cuGraphAddKernelNode(&nodes[i], graph, nodes, i, &launches[i]));
        launches[i].grid_x = 1;
        launches[i].parameters = NULL;
        EXPECT(1, cuGraphKernelNodeSetParams(nodes[i], &launches[i]));
    }
    EXPECT(0, cuGraphInstantiateWithFlags(&executable, graph, 0));
    EXPECT(1, cuGraphLaunch(executable, NULL));
    launches[0].parameters = (void *[]){&of_first, &(unsigned){1}};
    launches[1].parameters = (void *[]){&of_second, &(unsigned){1}};
    EXPECT(1, cuGraphExecKernelNodeSetParams(executable, nodes[0], &launches[1]));
    EXPECT(0, cuGraphExecKernelNodeSetParams(executable, nodes[0], &launches[0]));
    EXPECT(1, cuGraphLaunch(executable, NULL));
    EXPECT(0, cuGraphExecKernelNodeSetParams(executable, nodes[1], &launches[1]));
    EXPECT(0, cuGraphLaunch(executable, NULL));
    EXPECT(0, cuMemcpyDtoH_v2(&value, of_first, 4));
    CHECK(value == 7);
    EXPECT(0, cuMemcpyDtoH_v2(&value, of_second, 4));
    CHECK(value == 6);
    EXPECT(0, cuCtxSetCurrent(second));
    EXPECT(0, cuCtxSynchronize());
    CUdeviceptr calls;
    EXPECT(0, cuModuleGetGlobal_v2(&calls, NULL, second_module, "calls"));
    EXPECT(0, cuMemcpyDtoH_v2(&value, calls, 4));
    CHECK(value == 1);
    /* A kernel accesses the other device's memory while its context may. */
    EXPECT(0, cuCtxSetCurrent(first));
    EXPECT(0, cuCtxEnablePeerAccess(second, 0));
    for (int i = 0; i < 3; i++)
        EXPECT(0, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){i == 1 ? &of_first : &of_second, &(unsigned){1}}, NULL));
    EXPECT(0, cuCtxSynchronize());
    EXPECT(0, cuMemcpyDtoH_v2(&value, of_second, 4));
    CHECK(value == 8);
    EXPECT(0, cuMemcpyDtoH_v2(&value, of_first, 4));
    CHECK(value == 8);
    EXPECT(0, cuCtxDisablePeerAccess(second));
    EXPECT(0, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&of_second, &(unsigned){1}}, NULL));
    EXPECT(700, cuCtxSynchronize());
    EXPECT(700, cuCtxEnablePeerAccess(second, 0));
    EXPECT(0, cuCtxDestroy_v2(second));
    EXPECT(0, cuCtxDestroy_v2(first));
    printf("all calls returned what they should\n");
}

/* A graph's own memory: allocated and freed by nodes, and by nodes of a capture. */
static void graph_memory(CUdeviceptr values, CUstream stream) {
    unsigned result[N];
    unsigned long long used;
    AllocateNode asked = {.pool = {.allocation_type = 1, .location = {1, 0}}, .bytes = sizeof result};
    void *nodes[5], *node;
    int type;
    CUgraph graph, other_graph;
    CUgraphExec executable, second;
    CUdeviceptr address;
    EXPECT(0, cuGraphCreate(&graph, 0));
    EXPECT(0, cuGraphAddMemAllocNode(&nodes[0], graph, NULL, 0, &asked));
    CHECK(asked.address);
    EXPECT(1, cuMemsetD32_v2(asked.address, 1, 1));
    FillNode fill = {.address = asked.address, .element = 4, .width = N, .height = 1, .value = 8};
    KernelNode launch = {.function = add, .grid_x = 8, .grid_y = 1, .grid_z = 1, .block_x = 128, .block_y = 1, .block_z = 1,
                         .parameters = (void *[]){&asked.address, &(unsigned){N}}};
    Copy3D copy = {.source = {.type = 2, .device = asked.address}, .destination = {.type = 1, .host = result}, .width = sizeof result, .height = 1, .depth = 1};
    EXPECT(0, cuGraphAddMemsetNode(&nodes[1], graph, nodes, 1, &fill, context));
    EXPECT(0, cuGraphAddKernelNode_v2(&nodes[2], graph, nodes + 1, 1, &launch));
    EXPECT(0, cuGraphAddMemcpyNode(&nodes[3], graph, nodes + 2, 1, &copy, context));
    EXPECT(0, cuGraphAddMemFreeNode(&nodes[4], graph, nodes + 3, 1, asked.address));
    EXPECT(0, cuGraphNodeGetType(nodes[0], &type));
    CHECK(type == 10);
    EXPECT(0, cuGraphNodeGetType(nodes[4], &type));
    CHECK(type == 11);
    AllocateNode found;
    EXPECT(0, cuGraphMemAllocNodeGetParams(nodes[0], &found));
    CHECK(found.address == asked.address && found.bytes == sizeof result && found.pool.location.type == 1);
    EXPECT(0, cuGraphMemFreeNodeGetParams(nodes[4], &address));
    CHECK(address == asked.address);
    EXPECT(1, cuGraphMemFreeNodeGetParams(nodes[0], &address));
    EXPECT(1, cuGraphMemAllocNodeGetParams(nodes[4], &found));
    EXPECT(0, cuGraphInstantiateWithFlags(&executable, graph, 0));
    EXPECT(1, cuGraphInstantiateWithFlags(&second, graph, 0));
    EXPECT(801, cuGraphClone(&other_graph, graph));
    for (int i = 0; i < 3; i++) {
        memset(result, 0, sizeof result);
        EXPECT(0, run_graph(executable, stream));
        CHECK(result[0] == 9 && result[N - 1] == 9);
    }
    EXPECT(1, cuMemFree_v2(asked.address));
    EXPECT(0, cuDeviceGetGraphMemAttribute(0, 0, &used));
    CHECK(used == 0);
    for (int attribute = 1; attribute <= 3; attribute += 2) {
        EXPECT(0, cuDeviceGetGraphMemAttribute(0, attribute, &used));
        CHECK(used == sizeof result);
    }
    EXPECT(1, cuDeviceSetGraphMemAttribute(0, 1, &used));
    used = 0;
    EXPECT(0, cuDeviceSetGraphMemAttribute(0, 1, &used));
    EXPECT(0, cuDeviceGetGraphMemAttribute(0, 1, &used));
    CHECK(used == 0);
    EXPECT(1, cuDeviceGetGraphMemAttribute(0, 4, &used));
    EXPECT(101, cuDeviceGetGraphMemAttribute(7, 0, &used));
    EXPECT(0, cuDeviceGraphMemTrim(0));
    EXPECT(101, cuDeviceGraphMemTrim(7));
    UpdateResult difference;
    EXPECT(910, cuGraphExecUpdate_v2(executable, graph, &difference));
    CHECK(difference.result == 6 && difference.node);
    EXPECT(0, cuGraphExecDestroy(executable));
    EXPECT(0, cuGraphInstantiateWithFlags(&executable, graph, 0));

    /* Wrong addresses, and one that is freed twice. */
    EXPECT(1, cuGraphAddMemFreeNode(&node, graph, NULL, 0, asked.address));
    EXPECT(1, cuGraphAddMemFreeNode(&node, graph, NULL, 0, values));
    EXPECT(1, cuGraphAddMemFreeNode(&node, graph, NULL, 0, 0));
    EXPECT(0, cuGraphCreate(&other_graph, 0));
    EXPECT(1, cuGraphAddMemFreeNode(&node, other_graph, NULL, 0, asked.address));
    EXPECT(1, cuGraphAddMemAllocNode(&node, graph, NULL, 0, NULL));
    AllocateNode wrong = {.pool = {.allocation_type = 1, .location = {1, 0}}};
    EXPECT(1, cuGraphAddMemAllocNode(&node, graph, NULL, 0, &wrong));
    wrong.bytes = 4;
    EXPECT(400, cuGraphAddMemAllocNode(&node, (CUgraph)16, NULL, 0, &wrong));
    EXPECT(1, cuGraphAddMemAllocNode(NULL, graph, NULL, 0, &wrong));
    wrong.pool.location.id = 7;
    EXPECT(101, cuGraphAddMemAllocNode(&node, graph, NULL, 0, &wrong));
    wrong.pool.location.type = 2;
    EXPECT(801, cuGraphAddMemAllocNode(&node, graph, NULL, 0, &wrong));

    /* Memory that outlives the launch: the next one needs it freed, or frees it. A node of another graph may free it. */
    CUgraph lasting;
    CUgraphExec frees, frees_itself;
    AllocateNode kept = {.pool = {.allocation_type = 1, .location = {1, 0}}, .bytes = 8};
    EXPECT(0, cuGraphCreate(&lasting, 0));
    EXPECT(0, cuGraphAddMemAllocNode(&node, lasting, NULL, 0, &kept));
    EXPECT(0, cuGraphInstantiateWithFlags(&executable, lasting, 0));
    EXPECT(0, cuGraphLaunch(executable, stream));
    EXPECT(0, cuMemsetD32_v2(kept.address, 3, 2));
    EXPECT(0, cuDeviceGetGraphMemAttribute(0, 0, &used));
    CHECK(used == 8);
    EXPECT(1, cuGraphLaunch(executable, stream));
    EXPECT(0, cuMemFreeAsync(kept.address, stream));
    EXPECT(0, cuGraphLaunch(executable, stream));
    EXPECT(0, cuGraphAddMemFreeNode(&node, other_graph, NULL, 0, kept.address));
    EXPECT(1, cuGraphAddMemFreeNode(&node, lasting, NULL, 0, kept.address));
    EXPECT(0, cuGraphInstantiateWithFlags(&frees, other_graph, 0));
    EXPECT(0, cuGraphLaunch(frees, stream));
    EXPECT(1, cuMemsetD32_v2(kept.address, 3, 2));
    EXPECT(1, cuGraphLaunch(frees, stream));
    EXPECT(0, cuGraphExecDestroy(executable));
    EXPECT(0, cuGraphInstantiateWithFlags(&frees_itself, lasting, 1));
    for (int i = 0; i < 2; i++) EXPECT(0, cuGraphLaunch(frees_itself, stream));
    EXPECT(0, cuMemFree_v2(kept.address));

    /* A capture of an allocation, of a pool's memory too, and of what frees them. */
    CUdeviceptr captured, of_pool;
    CUmemoryPool pool;
    EXPECT(0, cuMemPoolCreate(&pool, &(PoolProperties){.allocation_type = 1, .location = {1, 0}}));
    EXPECT(0, cuStreamBeginCapture_v2(stream, 0));
    EXPECT(1, cuMemAllocAsync(&captured, 0, stream));
    EXPECT(1, cuMemAllocAsync(NULL, 4, stream));
    EXPECT(0, cuMemAllocAsync(&captured, sizeof result, stream));
    EXPECT(0, cuMemAllocFromPoolAsync(&of_pool, sizeof result, pool, stream));
    EXPECT(400, cuMemAllocFromPoolAsync(&of_pool, 4, (CUmemoryPool)16, stream));
    EXPECT(0, cuMemcpyAsync(captured, values, sizeof result, stream));
    EXPECT(0, cuMemcpyAsync(of_pool, captured, sizeof result, stream));
    add_on(of_pool, N, stream);
    EXPECT(0, cuMemcpyAsync(values, of_pool, sizeof result, stream));
    EXPECT(0, cuMemFreeAsync(captured, stream));
    EXPECT(1, cuMemFreeAsync(captured, stream));
    EXPECT(1, cuMemFreeAsync(values, stream));
    EXPECT(0, cuMemFreeAsync(of_pool, stream));
    EXPECT(0, cuStreamEndCapture(stream, &graph));
    EXPECT(0, cuMemsetD32_v2(values, 4, N));
    EXPECT(0, cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < 2; i++) EXPECT(0, cuGraphLaunch(executable, stream));
    EXPECT(0, cuMemcpyDtoH_v2(result, values, sizeof result));
    CHECK(result[0] == 6 && result[N - 1] == 6);
    EXPECT(0, cuStreamBeginCapture_v2(stream, 0));
    EXPECT(801, cuGraphLaunch(executable, stream));
    EXPECT(0, cuStreamEndCapture(stream, &graph));
}

int main(int count, char **arguments) {
    int keeps_going = count > 1 && strcmp(arguments[1], "keep-going") == 0;
    CUdevice device;
    EXPECT(3, cuDeviceGet(&device, 0));
    EXPECT(0, cuInit(0));
    if (count > 1 && strcmp(arguments[1], "peers") == 0) {
        peers();
        return 0;
    }
    EXPECT(0, cuDeviceGet(&device, 0));
    EXPECT(101, cuDeviceGet(&device, 7));
    char name[100];
    EXPECT(0, cuDeviceGetName(name, sizeof name, device));
    CHECK(strncmp(name, "CUDA emulator", 13) == 0);
    DeviceProperties properties;
    EXPECT(0, cuDeviceGetProperties(&properties, device));
    CHECK(properties.threads == 1024 && properties.block[2] == 64 && properties.grid[1] == 65535 && properties.shared == 49152);
    CHECK(properties.warp == 32 && properties.registers == 65536 && properties.alignment == 512);
    EXPECT(1, cuDeviceGetProperties(NULL, device));
    EXPECT(101, cuDeviceGetProperties(&properties, 7));
    int affinity = 7;
    EXPECT(0, cuDeviceGetExecAffinitySupport(&affinity, 0, device));
    CHECK(affinity == 0);
    EXPECT(1, cuDeviceGetExecAffinitySupport(&affinity, 1, device));
    CUdeviceptr values, other;
    EXPECT(201, cuMemAlloc_v2(&values, 4));
    EXPECT(0, cuCtxCreate_v2(&context, 0, device));

    /* Modules: an error has its log. */
    CUmodule module;
    char log[1000];
    int options[] = {5, 6};
    void *option_values[] = {log, (void *)sizeof log};
    EXPECT(218, cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_70\n.address_size 64\n.entry k() { nonsense; }", 2, options, option_values));
    CHECK(strstr(log, "nonsense"));
    EXPECT(200, cuModuleLoadDataEx(&module, "no module", 0, NULL, NULL));
    EXPECT(209, cuModuleLoadDataEx(&module, "\177ELF\2\1\1", 0, NULL, NULL));
    EXPECT(0, cuModuleLoadDataEx(&module, PTX, 0, NULL, NULL));
    EXPECT(500, cuModuleGetFunction(&add, module, "none"));
    EXPECT(0, cuModuleGetFunction(&add, module, "add"));
    EXPECT(400, cuModuleGetFunction(&add, (CUmodule)&log, "add"));
    if (count > 1 && strcmp(arguments[1], "again") == 0) {
        /* Launches without an effect, and a buffer that is not freed. */
        EXPECT(0, cuMemAlloc_v2(&values, 1000));
        for (int i = 0; i < 1000; i++) add_on(values, 0, NULL);
        return 0;
    }
    int value;
    EXPECT(0, cuFuncGetAttribute(&value, 0, add));
    CHECK(value == 1024);
    EXPECT(0, cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, add, 256, 0));
    CHECK(value == 8);

    /* Copies, and pointers that are wrong. */
    unsigned source[N], result[N];
    for (unsigned i = 0; i < N; i++) source[i] = i;
    EXPECT(1, cuMemAlloc_v2(&values, 0));
    EXPECT(2, cuMemAlloc_v2(&values, (size_t)1 << 50));
    EXPECT(0, cuMemAlloc_v2(&values, sizeof source));
    EXPECT(0, cuMemAlloc_v2(&other, sizeof source));
    EXPECT(0, cuMemcpyHtoD_v2(values, source, sizeof source));
    EXPECT(1, cuMemcpyHtoD_v2(values, source, sizeof source + 1));
    EXPECT(1, cuMemcpyHtoD_v2(values + 1, source, sizeof source));
    EXPECT(1, cuMemcpyHtoD_v2(values, NULL, sizeof source));
    EXPECT(1, cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)source, source, sizeof source));
    EXPECT(1, cuMemcpyDtoH_v2((void *)16, values, 4));
    EXPECT(1, cuMemcpyDtoH_v2(result, 0, 4));
    EXPECT(1, cuMemFree_v2(values + 4));
    EXPECT(0, cuMemcpyDtoD_v2(other, values, sizeof source));
    EXPECT(0, cuMemcpy((CUdeviceptr)(uintptr_t)result, other, sizeof source));
    CHECK(memcmp(result, source, sizeof source) == 0);
    Copy2D rectangle = {.source_type = 2, .source_device = values, .source_pitch = 40, .source_x = 4, .source_y = 1,
                        .type = 1, .host = result, .pitch = 8, .width = 8, .height = 3};
    EXPECT(0, cuMemcpy2D_v2(&rectangle));
    unsigned expected[] = {11, 12, 21, 22, 31, 32};
    CHECK(memcmp(result, expected, sizeof expected) == 0);
    rectangle.height = 1000;
    EXPECT(1, cuMemcpy2D_v2(&rectangle));

    /* Launches, by pointers and by a buffer; constants and variables of the module. */
    CUstream stream;
    CUevent start, end;
    EXPECT(0, cuStreamCreate(&stream, 0));
    EXPECT(0, cuEventCreate(&start, 0));
    EXPECT(0, cuEventCreate(&end, 0));
    CUdeviceptr step, calls;
    size_t bytes;
    unsigned two = 2;
    EXPECT(0, cuModuleGetGlobal_v2(&step, &bytes, module, "step"));
    CHECK(bytes == 4);
    EXPECT(0, cuMemcpyHtoD_v2(step, &two, 4));
    EXPECT(0, cuEventRecord(start, stream));
    add_on(values, N, stream);
    EXPECT(0, cuEventRecord(end, stream));
    EXPECT(0, cuStreamSynchronize(stream));
    EXPECT(0, cuEventQuery(end));
    float milliseconds;
    EXPECT(0, cuEventElapsedTime(&milliseconds, start, end));
    CHECK(milliseconds > 0);
    struct { CUdeviceptr values; unsigned n; } buffer = {values, 10};
    size_t size = sizeof buffer;
    void *extra[] = {(void *)1, &buffer, (void *)2, &size, NULL};
    EXPECT(0, cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    EXPECT(1, cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(1, cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, (void **)16, NULL));
    EXPECT(1, cuLaunchKernel(add, 0, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    EXPECT(1, cuLaunchKernel(add, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, extra));
    EXPECT(0, cuMemcpyDtoH_v2(result, values, sizeof result));
    for (unsigned i = 0; i < N; i++) CHECK(result[i] == i + (i < 10 ? 4 : 2));
    EXPECT(0, cuModuleGetGlobal_v2(&calls, NULL, module, "calls"));
    EXPECT(0, cuMemcpyDtoH_v2(&value, calls, 4));
    CHECK(value == N + 10);
    unsigned one = 1;
    EXPECT(0, cuMemcpyHtoD_v2(step, &one, 4));

    /* A graph, whose capture has a branch that joins it, and a call of the host. */
    CUstream branch;
    EXPECT(0, cuStreamCreate(&branch, 1));
    CUgraph graph;
    CUgraphExec executable;
    int host_calls = 0;
    EXPECT(0, cuMemsetD32_v2(values, 0, N));
    EXPECT(0, cuStreamBeginCapture_v2(stream, 0));
    add_on(values, N, stream);
    EXPECT(0, cuEventRecord(start, stream));
    EXPECT(0, cuStreamWaitEvent(branch, start, 0));
    add_on(values, N, branch);
    EXPECT(900, cuStreamSynchronize(branch));
    EXPECT(0, cuEventRecord(end, branch));
    EXPECT(0, cuStreamWaitEvent(stream, end, 0));
    EXPECT(0, cuLaunchHostFunc(stream, count_call, &host_calls));
    EXPECT(903, cuStreamEndCapture(branch, &graph));
    EXPECT(0, cuStreamEndCapture(stream, &graph));
    EXPECT(0, cuMemcpyDtoH_v2(result, values, sizeof result));
    CHECK(result[0] == 0 && host_calls == 0);
    EXPECT(0, cuGraphGetNodes(graph, NULL, &size));
    CHECK(size == 3);
    EXPECT(0, cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < 5; i++) EXPECT(0, cuGraphLaunch(executable, stream));
    EXPECT(0, cuMemcpyDtoH_v2(result, values, sizeof result));
    CHECK(result[N - 1] == 10 && host_calls == 5);
    EXPECT(0, cuStreamBeginCapture_v2(stream, 0));
    EXPECT(0, cuEventRecord(start, stream));
    EXPECT(0, cuStreamWaitEvent(branch, start, 0));
    add_on(values, N, branch);
    EXPECT(904, cuStreamEndCapture(stream, &graph));

    EXPECT(0, cuStreamDestroy_v2(branch));

    /* A graph of added nodes: a fill, two launches whose parameters are read now, a copy to the host, and a call of it. */
    void *nodes[6], *foreign;
    unsigned fewer = 10;
    void *all_of_them[] = {&values, &(unsigned){N}}, *some[] = {&values, &fewer};
    KernelNode launch = {.function = add, .grid_x = 8, .grid_y = 1, .grid_z = 1, .block_x = 128, .block_y = 1, .block_z = 1, .parameters = all_of_them};
    FillNode zero = {.address = values, .element = 4, .width = N, .height = 1, .value = 5};
    HostNode host_call = {count_call, &host_calls};
    Copy3D to_host = {.source = {.type = 2, .device = values}, .destination = {.type = 1, .host = result}, .width = sizeof result, .height = 1, .depth = 1};
    EXPECT(0, cuGraphCreate(&graph, 0));
    EXPECT(0, cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &zero, context));
    EXPECT(0, cuGraphAddKernelNode_v2(&nodes[1], graph, nodes, 1, &launch));
    launch.parameters = some;
    EXPECT(0, cuGraphAddKernelNode_v2(&nodes[2], graph, nodes, 1, &launch));
    fewer = N;
    EXPECT(0, cuGraphAddEmptyNode(&nodes[3], graph, nodes + 1, 2));
    EXPECT(0, cuGraphAddMemcpyNode(&nodes[4], graph, nodes + 3, 1, &to_host, context));
    EXPECT(0, cuGraphAddHostNode(&nodes[5], graph, NULL, 0, &host_call));
    EXPECT(0, cuGraphAddDependencies(graph, nodes + 4, nodes + 5, 1));
    EXPECT(801, cuGraphAddDependencies(graph, nodes + 5, nodes + 4, 1));
    EXPECT(1, cuGraphAddDependencies(graph, nodes, nodes, 1));
    int types[] = {2, 0, 0, 5, 1, 3};
    for (int i = 0; i < 6; i++) {
        EXPECT(0, cuGraphNodeGetType(nodes[i], &value));
        CHECK(value == types[i]);
    }
    zero.address++;
    EXPECT(1, cuGraphAddMemsetNode(&foreign, graph, NULL, 0, &zero, context));
    to_host.depth = 2;
    EXPECT(1, cuGraphAddMemcpyNode(&foreign, graph, NULL, 0, &to_host, context));
    launch.block_x = 2048;
    EXPECT(1, cuGraphAddKernelNode_v2(&foreign, graph, NULL, 0, &launch));
    CUgraph other_graph;
    EXPECT(0, cuGraphCreate(&other_graph, 0));
    EXPECT(0, cuGraphAddEmptyNode(&foreign, other_graph, NULL, 0));
    EXPECT(1, cuGraphAddEmptyNode(&nodes[0], graph, &foreign, 1));
    EXPECT(0, cuGraphDestroy(other_graph));
    EXPECT(0, cuGraphInstantiateWithFlags(&executable, graph, 0));
    EXPECT(0, cuGraphDestroy(graph));
    memset(result, 0, sizeof result);
    for (int i = 0; i < 2; i++) EXPECT(0, run_graph(executable, stream));
    for (unsigned i = 0; i < N; i++) CHECK(result[i] == 5 + 1 + (i < 10));
    CHECK(host_calls == 7);

    new_parameters(values, other, stream);
    updates(values, other, stream);
    batches(values, other, stream);
    graph_memory(values, stream);

    /* Page-locked memory that a kernel uses; libraries; threads. */
    unsigned *pinned;
    EXPECT(0, cuMemAllocHost_v2((void **)&pinned, sizeof source));
    memcpy(pinned, source, sizeof source);
    add_on((CUdeviceptr)(uintptr_t)pinned, N, NULL);
    EXPECT(0, cuCtxSynchronize());
    CHECK(pinned[5] == 6);
    EXPECT(0, cuMemFreeHost(pinned));
    EXPECT(1, cuMemFreeHost(pinned));

    /* Pools: the host uses what a managed one gives it, wherever the pool prefers it to be; a pinned one is a device's. */
    for (int type = 0; type <= 4; type++) {
        PoolProperties managed = {.allocation_type = 2, .location = {type, 0}};
        CUmemoryPool pool;
        EXPECT(0, cuMemPoolCreate(&pool, &managed));
        CUdeviceptr of_pool;
        EXPECT(1, cuMemAllocFromPoolAsync(&of_pool, 0, pool, stream));
        EXPECT(0, cuMemAllocFromPoolAsync(&of_pool, sizeof source, pool, stream));
        EXPECT(0, cuMemPoolDestroy(pool));
        EXPECT(0, cuPointerGetAttribute(&value, 8, of_pool));
        CHECK(value == 1);
        unsigned *of_host = (unsigned *)(uintptr_t)of_pool;
        memcpy(of_host, source, sizeof source);
        add_on(of_pool, N, stream);
        EXPECT(0, cuStreamSynchronize(stream));
        CHECK(of_host[0] == 1 && of_host[N - 1] == N);
        EXPECT(0, cuMemFreeAsync(of_pool, stream));
        EXPECT(1, cuMemFree_v2(of_pool));
        PoolProperties of_type = {.allocation_type = 1, .location = {type, 0}};
        EXPECT(type == 0 ? 1 : 0, cuMemPoolCreate(&pool, &of_type));
        if (type < 2) continue;
        /* Page-locked memory, which is freed as a device's is. */
        CUdeviceptr locked;
        EXPECT(0, cuMemAllocFromPoolAsync(&locked, sizeof source, pool, stream));
        EXPECT(0, cuStreamSynchronize(stream));
        EXPECT(0, cuPointerGetAttribute(&value, 2, locked));
        CHECK(value == 1);
        memcpy((void *)(uintptr_t)locked, source, sizeof source);
        add_on(locked, N, stream);
        EXPECT(0, cuStreamSynchronize(stream));
        CHECK(((unsigned *)(uintptr_t)locked)[N - 1] == N);
        EXPECT(1, cuMemFreeHost((void *)(uintptr_t)locked));
        EXPECT(0, cuMemFreeAsync(locked, stream));
        EXPECT(0, cuMemPoolDestroy(pool));
    }
    CUmemoryPool of_location, of_device;
    EXPECT(0, cuDeviceGetDefaultMemPool(&of_device, 0));
    EXPECT(0, cuMemGetDefaultMemPool(&of_location, &(Location){1, 0}, 1));
    CHECK(of_location == of_device);
    EXPECT(0, cuMemGetMemPool(&of_location, &(Location){2, 0}, 2));
    CHECK(of_location != of_device);
    EXPECT(1, cuMemPoolDestroy(of_location));
    EXPECT(1, cuMemGetMemPool(&of_location, &(Location){0, 0}, 1));
    EXPECT(101, cuMemGetMemPool(&of_location, &(Location){1, 7}, 1));
    EXPECT(0, cuMemPoolSetAccess(of_device, &(PoolAccess){{1, 0}, 3}, 1));
    EXPECT(801, cuMemPoolSetAccess(of_device, &(PoolAccess){{2, 0}, 3}, 1));
    EXPECT(1, cuMemPoolSetAccess(of_device, &(PoolAccess){{1, 0}, 5}, 1));
    CUmemoryPool pools[2];
    EXPECT(0, cuMemPoolCreate(&pools[0], &(PoolProperties){.allocation_type = 1, .location = {1, 0}}));
    EXPECT(0, cuMemPoolCreate(&pools[1], &(PoolProperties){.allocation_type = 2, .location = {1, 0}}));
    for (int of = 0; of < 2; of++) for (int type = 1; type <= 2; type++) {
        EXPECT(0, cuMemPoolGetAccess(&value, pools[of], &(Location){type, 0}));
        CHECK(value == (of == 1 || type == 1 ? 3 : 0));
    }
    unsigned long long used;
    EXPECT(0, cuMemPoolGetAttribute(pools[1], 7, &used));
    CHECK(used == 0);
    EXPECT(101, cuMemPoolCreate(&pools[0], &(PoolProperties){.allocation_type = 2, .location = {1, 7}}));
    EXPECT(1, cuMemPoolCreate(&pools[0], &(PoolProperties){.allocation_type = 2, .location = {5, 0}}));
    EXPECT(1, cuMemPoolCreate(&pools[0], &(PoolProperties){.allocation_type = 0, .location = {1, 0}}));
    EXPECT(1, cuMemPoolCreate(&pools[0], &(PoolProperties){.allocation_type = 3, .location = {1, 0}}));
    EXPECT(1, cuMemPoolCreate(NULL, &(PoolProperties){.allocation_type = 2, .location = {1, 0}}));
    EXPECT(1, cuMemPoolCreate(&pools[0], NULL));
    CUlibrary library;
    CUkernel kernel;
    EXPECT(0, cuLibraryLoadData(&library, PTX, NULL, NULL, 0, NULL, NULL, 0));
    EXPECT(0, cuLibraryGetKernel(&kernel, library, "add"));
    void *parameters[] = {&values, &(unsigned){N}};
    EXPECT(0, cuLaunchKernel((CUfunction)kernel, 8, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
    EXPECT(0, cuLibraryUnload(library));
    EXPECT(400, cuLaunchKernel((CUfunction)kernel, 8, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL));
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);

    /* Look-ups; functions that are missing. */
    void *function;
    int status;
    EXPECT(0, cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &status));
    CHECK(status == 0 && ((CUresult (*)(CUdeviceptr *, size_t))function)(&other, 16) == 0);
    EXPECT(500, cuGetProcAddress_v2("cuNothing", &function, 12000, 0, &status));
    CHECK(status == 1 && function == NULL);
    const void *table;
    EXPECT(500, cuGetExportTable(&table, "0123456789abcdef"));
    EXPECT(801, cuMipmappedArrayCreate(NULL, NULL, 1));
    EXPECT(801, cuMipmappedArrayCreate(NULL, NULL, 1));

    /* A use after free, and a fault: the next call returns it, and every other one in the context, unless the emulator keeps going. */
    EXPECT(0, cuMemFree_v2(values));
    EXPECT(1, cuMemFree_v2(values));
    EXPECT(1, cuMemcpyDtoH_v2(result, values, 4));
    CUfunction beyond;
    EXPECT(0, cuModuleGetFunction(&beyond, module, "far"));
    void *target[] = {&other};
    EXPECT(0, cuLaunchKernel(beyond, 1, 1, 1, 1, 1, 1, 0, NULL, target, NULL));
    EXPECT(keeps_going ? 0 : 700, cuCtxSynchronize());
    EXPECT(keeps_going ? 0 : 700, cuMemAlloc_v2(&values, 4));
    if (keeps_going) {
        CUfunction stops;
        EXPECT(0, cuModuleGetFunction(&stops, module, "stops"));
        EXPECT(0, cuLaunchKernel(stops, 5, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
        EXPECT(0, cuLaunchKernel(beyond, 1, 1, 1, 2, 1, 1, 0, NULL, target, NULL));
        EXPECT(0, cuMemsetD32_v2(values, 4, 1));
        add_on(values, 1, NULL);
        unsigned one;
        EXPECT(0, cuMemcpyDtoH_v2(&one, values, 4));
        CHECK(one == 5);
    }
    EXPECT(0, cuCtxDestroy_v2(context));
    EXPECT(0, cuCtxCreate_v2(&context, 0, device));
    EXPECT(0, cuMemAlloc_v2(&values, 4));
    EXPECT(0, cuCtxDestroy_v2(context));
    EXPECT(201, cuCtxSynchronize());
    printf("all calls returned what they should\n");
    return 0;
}
