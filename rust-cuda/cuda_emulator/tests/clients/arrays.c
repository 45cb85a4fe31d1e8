/* CUDA arrays, and copies of one, two and three dimensions to and from them. */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct opaque *CUcontext, *CUarray, *CUstream, *CUgraph, *CUgraphExec;
typedef struct { size_t width, height; int format; unsigned channels; } Descriptor;
typedef struct { size_t width, height, depth; int format; unsigned channels, flags; } Descriptor3D;
typedef struct { size_t x, y; int type; const void *host; CUdeviceptr device; CUarray array; size_t pitch; } Place2D;
typedef struct { Place2D source, destination; size_t width, height; } Copy2D;
typedef struct { size_t x, y, z, level; int type; const void *host; CUdeviceptr device; CUarray array; void *reserved; size_t pitch, height; } Place3D;
typedef struct { Place3D source, destination; size_t width, height, depth; } Copy3D;

CUresult cuInit(unsigned), cuCtxCreate_v2(CUcontext *, unsigned, CUdevice), cuCtxDestroy_v2(CUcontext), cuMemAlloc_v2(CUdeviceptr *, size_t), cuMemFree_v2(CUdeviceptr);
CUresult cuMemGetInfo_v2(size_t *, size_t *), cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t), cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t), cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
CUresult cuArrayCreate_v2(CUarray *, const Descriptor *), cuArray3DCreate_v2(CUarray *, const Descriptor3D *), cuArrayDestroy(CUarray);
CUresult cuArrayGetDescriptor_v2(Descriptor *, CUarray), cuArray3DGetDescriptor_v2(Descriptor3D *, CUarray), cuDeviceGetTexture1DLinearMaxWidth(size_t *, int, unsigned, CUdevice);
CUresult cuMemcpyHtoA_v2(CUarray, size_t, const void *, size_t), cuMemcpyAtoH_v2(void *, CUarray, size_t, size_t), cuMemcpyDtoA_v2(CUarray, size_t, CUdeviceptr, size_t);
CUresult cuMemcpyAtoD_v2(CUdeviceptr, CUarray, size_t, size_t), cuMemcpyAtoA_v2(CUarray, size_t, CUarray, size_t, size_t);
CUresult cuMemcpyHtoAAsync_v2(CUarray, size_t, const void *, size_t, CUstream), cuMemcpyAtoHAsync_v2(void *, CUarray, size_t, size_t, CUstream);
CUresult cuMemcpy2D_v2(const Copy2D *), cuMemcpy2DUnaligned_v2(const Copy2D *), cuMemcpy2DAsync_v2(const Copy2D *, CUstream), cuMemcpy3D_v2(const Copy3D *), cuMemcpy3DAsync_v2(const Copy3D *, CUstream);
CUresult cuStreamCreate(CUstream *, unsigned), cuStreamSynchronize(CUstream), cuStreamBeginCapture_v2(CUstream, int), cuStreamEndCapture(CUstream, CUgraph *), cuGraphInstantiateWithFlags(CUgraphExec *, CUgraph, unsigned long long);
CUresult cuGraphLaunch(CUgraphExec, CUstream), cuGraphGetNodes(CUgraph, struct opaque **, size_t *), cuGraphMemcpyNodeGetParams(struct opaque *, Copy3D *);

#define EXPECT(result, call) do { CUresult got = call; if (got != (result)) { printf("line %d: %s is %d, not %d\n", __LINE__, #call, got, result); exit(1); } } while (0)
#define CHECK(condition) if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); exit(1); }

enum { HOST = 1, DEVICE, ARRAY };
enum { U8 = 1, U16 = 2, FLOAT = 0x20 };
enum { LAYERED = 1, SURFACE = 2, CUBEMAP = 4, GATHER = 8, SPARSE = 0x40 };

static CUstream stream;

static void of_one_dimension(void) {
    unsigned short row[7] = {1, 2, 3, 4, 5, 6, 7}, back[7] = {0};
    CUarray one, other;
    Descriptor descriptor = {.width = 7, .format = U16, .channels = 1};
    EXPECT(0, cuArrayCreate_v2(&one, &descriptor));
    EXPECT(0, cuArrayCreate_v2(&other, &descriptor));
    EXPECT(0, cuMemcpyHtoA_v2(one, 0, row, sizeof row));
    EXPECT(0, cuMemcpyAtoA_v2(other, 4, one, 2, 6));
    EXPECT(0, cuMemcpyAtoH_v2(back, other, 4, 6));
    CHECK(back[0] == 2 && back[1] == 3 && back[2] == 4 && back[3] == 0);
    EXPECT(1, cuMemcpyHtoA_v2(one, 2, row, sizeof row));
    EXPECT(1, cuMemcpyAtoH_v2(back, one, 14, 1));
    EXPECT(0, cuMemcpyAtoH_v2(back, one, 14, 0));
    EXPECT(1, cuMemcpyHtoA_v2(one, (size_t)-2, row, 4));
    CUdeviceptr linear;
    EXPECT(0, cuMemAlloc_v2(&linear, 14));
    EXPECT(0, cuMemcpyAtoD_v2(linear, one, 0, 14));
    EXPECT(0, cuMemcpyDtoA_v2(other, 0, linear + 8, 4));
    EXPECT(0, cuMemcpyAtoHAsync_v2(back, other, 0, 8, stream));
    CHECK(back[0] == 5 && back[1] == 6 && back[2] == 2 && back[3] == 3);
    EXPECT(0, cuMemcpyHtoAAsync_v2(one, 0, back, 2, stream));
    EXPECT(0, cuMemFree_v2(linear));
    EXPECT(0, cuArrayDestroy(other));
    EXPECT(400, cuArrayDestroy(other));
    EXPECT(400, cuMemcpyAtoH_v2(back, other, 0, 2));
    EXPECT(0, cuArrayDestroy(one));
}

static void of_two_dimensions(void) {
    enum { W = 5, H = 3, PITCH = 7 };
    float source[H][PITCH], back[H][PITCH];
    for (int y = 0; y < H; y++) for (int x = 0; x < PITCH; x++) source[y][x] = 10 * y + x, back[y][x] = -1;
    CUarray array, other;
    Descriptor descriptor = {.width = W, .height = H, .format = FLOAT, .channels = 1}, found;
    EXPECT(0, cuArrayCreate_v2(&array, &descriptor));
    EXPECT(0, cuArrayCreate_v2(&other, &descriptor));
    EXPECT(0, cuArrayGetDescriptor_v2(&found, array));
    CHECK(found.width == W && found.height == H && found.format == FLOAT && found.channels == 1);
    Copy2D in = {{.type = HOST, .host = source, .pitch = PITCH * 4}, {.type = ARRAY, .array = array}, W * 4, H};
    EXPECT(0, cuMemcpy2D_v2(&in));
    /* A part of it, to another array, to a device's memory and back. */
    Copy2D between = {{.x = 4, .y = 1, .type = ARRAY, .array = array}, {.x = 8, .y = 0, .type = ARRAY, .array = other}, 12, 2};
    EXPECT(0, cuMemcpy2DAsync_v2(&between, stream));
    CUdeviceptr linear;
    EXPECT(0, cuMemAlloc_v2(&linear, 256));
    EXPECT(0, cuMemsetD8_v2(linear, 0, 256));
    Copy2D to_device = {{.x = 8, .type = ARRAY, .array = other}, {.x = 4, .y = 1, .type = DEVICE, .device = linear, .pitch = 32}, 12, 2};
    EXPECT(0, cuMemcpy2DUnaligned_v2(&to_device));
    float words[64];
    EXPECT(0, cuMemcpyDtoH_v2(words, linear, 256));
    for (int y = 0; y < 2; y++) for (int x = 0; x < 3; x++) CHECK(words[8 * (y + 1) + 1 + x] == 10 * (y + 1) + 1 + x);
    CHECK(words[8] == 0 && words[12] == 0 && words[0] == 0);
    Copy2D out = {{.type = ARRAY, .array = array}, {.type = HOST, .host = back, .pitch = PITCH * 4}, W * 4, H};
    EXPECT(0, cuMemcpy2D_v2(&out));
    for (int y = 0; y < H; y++) for (int x = 0; x < PITCH; x++) CHECK(back[y][x] == (x < W ? 10 * y + x : -1));
    /* What is not within fails as a whole. */
    out.source.x = 4;
    EXPECT(1, cuMemcpy2D_v2(&out));
    out.source.x = 0, out.height = H + 1;
    EXPECT(1, cuMemcpy2D_v2(&out));
    out.height = 1, out.source.array = (CUarray)77;
    EXPECT(400, cuMemcpy2D_v2(&out));
    out.source.type = 9;
    EXPECT(1, cuMemcpy2D_v2(&out));
    EXPECT(0, cuMemFree_v2(linear));
    EXPECT(0, cuArrayDestroy(array));
    EXPECT(0, cuArrayDestroy(other));
}

static void of_three_dimensions(unsigned flags) {
    enum { W = 3, H = 2, D = 4 };
    unsigned char source[D][H + 1][W][4], back[D][H][W][4];
    memset(back, 0, sizeof back);
    for (int i = 0; i < (int)sizeof source; i++) ((unsigned char *)source)[i] = i;
    CUarray array;
    Descriptor3D descriptor = {.width = W, .height = H, .depth = D, .format = U8, .channels = 4, .flags = flags}, found;
    EXPECT(0, cuArray3DCreate_v2(&array, &descriptor));
    EXPECT(0, cuArray3DGetDescriptor_v2(&found, array));
    CHECK(found.width == W && found.height == H && found.depth == D && found.format == U8 && found.channels == 4 && found.flags == flags);
    Copy3D in = {{.type = HOST, .host = source, .pitch = W * 4, .height = H + 1}, {.type = ARRAY, .array = array}, W * 4, H, D};
    EXPECT(0, cuMemcpy3D_v2(&in));
    Copy3D out = {{.type = ARRAY, .array = array}, {.type = HOST, .host = back, .pitch = W * 4, .height = H}, W * 4, H, D};
    EXPECT(0, cuMemcpy3DAsync_v2(&out, stream));
    for (int z = 0; z < D; z++) CHECK(memcmp(back[z], source[z], sizeof back[z]) == 0);
    /* One plane into another. */
    Copy3D between = {{.z = 1, .type = ARRAY, .array = array}, {.z = 3, .type = ARRAY, .array = array}, W * 4, H, 1};
    EXPECT(0, cuMemcpy3D_v2(&between));
    EXPECT(0, cuMemcpy3D_v2(&out));
    CHECK(memcmp(back[3], source[1], sizeof back[3]) == 0 && memcmp(back[2], source[2], sizeof back[2]) == 0);
    /* From linear memory, and to it. */
    CUdeviceptr linear;
    EXPECT(0, cuMemAlloc_v2(&linear, sizeof source));
    EXPECT(0, cuMemcpyHtoD_v2(linear, source, sizeof source));
    Copy3D one = {{.x = 4, .y = 1, .z = 2, .type = DEVICE, .device = linear, .pitch = W * 4, .height = H + 1}, {.type = ARRAY, .array = array}, 4, 1, 1};
    EXPECT(0, cuMemcpy3D_v2(&one));
    EXPECT(0, cuMemcpy3D_v2(&out));
    CHECK(memcmp(back[0][0][0], source[2][1][1], 4) == 0);
    out.destination.height = 1;
    EXPECT(1, cuMemcpy3D_v2(&out));
    out.destination.height = H, out.source.z = 1;
    EXPECT(1, cuMemcpy3D_v2(&out));
    out.source.z = 0, out.source.level = 1;
    EXPECT(1, cuMemcpy3D_v2(&out));
    EXPECT(0, cuMemFree_v2(linear));
    EXPECT(0, cuArrayDestroy(array));
}

static void captured(void) {
    enum { W = 3, H = 2 };
    unsigned char source[H][W] = {{1, 2, 3}, {4, 5, 6}}, back[H][W] = {0};
    CUarray array;
    EXPECT(0, cuArrayCreate_v2(&array, &(Descriptor){.width = W, .height = H, .format = U8, .channels = 1}));
    Copy2D in = {{.type = HOST, .host = source, .pitch = W}, {.type = ARRAY, .array = array}, W, H};
    Copy2D out = {{.y = 1, .type = ARRAY, .array = array}, {.type = HOST, .host = back, .pitch = W}, W, 1};
    CUgraph graph;
    CUgraphExec executable;
    EXPECT(0, cuStreamBeginCapture_v2(stream, 0));
    EXPECT(0, cuMemcpy2DAsync_v2(&in, stream));
    EXPECT(0, cuMemcpy2DAsync_v2(&out, stream));
    EXPECT(0, cuStreamEndCapture(stream, &graph));
    struct opaque *nodes[2];
    size_t count = 2;
    Copy3D parameters;
    EXPECT(0, cuGraphGetNodes(graph, nodes, &count));
    EXPECT(0, cuGraphMemcpyNodeGetParams(nodes[1], &parameters));
    CHECK(parameters.source.type == ARRAY && parameters.source.array == array && parameters.source.y == 1 && parameters.width == W);
    EXPECT(0, cuGraphInstantiateWithFlags(&executable, graph, 0));
    CHECK(back[0][0] == 0);
    EXPECT(0, cuGraphLaunch(executable, stream));
    EXPECT(0, cuStreamSynchronize(stream));
    CHECK(memcmp(back[0], source[1], W) == 0);
    EXPECT(0, cuArrayDestroy(array));
    EXPECT(400, cuGraphLaunch(executable, stream));
}

static void wrong_descriptors(void) {
    CUarray array;
    static const struct { CUresult result; Descriptor3D descriptor; } cases[] = {
        {0, {4, 4, 6, U8, 1, CUBEMAP}},        {0, {4, 4, 12, U8, 1, CUBEMAP | LAYERED}}, {0, {4, 0, 3, U8, 1, LAYERED}},
        {0, {4, 4, 0, U8, 4, GATHER}},         {0, {4, 4, 4, U8, 2, SURFACE}},           {1, {0, 0, 0, U8, 1, 0}},
        {1, {4, 4, 0, U8, 3, 0}},              {1, {4, 4, 0, 77, 1, 0}},                 {1, {4, 5, 6, U8, 1, CUBEMAP}},
        {1, {4, 4, 5, U8, 1, CUBEMAP}},        {1, {4, 0, 4, U8, 1, 0}},                 {1, {4, 4, 0, U8, 1, LAYERED}},
        {1, {1 << 18, 4, 0, U8, 1, 0}},        {1, {4, 4, 0, U8, 1, 0x4000}},            {801, {4, 4, 0, U8, 1, SPARSE}},
        {801, {4, 4, 0, 0xc0, 1, 0}},          {1, {(size_t)-1, (size_t)-1, (size_t)-1, FLOAT, 4, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CUresult found = cuArray3DCreate_v2(&array, &cases[i].descriptor);
        if (found != cases[i].result) printf("case %zu is %d\n", i, found), exit(1);
        if (found == 0) EXPECT(0, cuArrayDestroy(array));
    }
    EXPECT(1, cuArrayCreate_v2(NULL, NULL));
    EXPECT(1, cuArrayCreate_v2(&array, NULL));
    EXPECT(400, cuArrayGetDescriptor_v2(&(Descriptor){0}, (CUarray)16));
    size_t width;
    EXPECT(0, cuDeviceGetTexture1DLinearMaxWidth(&width, FLOAT, 4, 0));
    CHECK(width == 1 << 28);
}

int main(void) {
    CUcontext context, other;
    size_t before, after, total;
    EXPECT(0, cuInit(0));
    EXPECT(0, cuCtxCreate_v2(&context, 0, 0));
    EXPECT(0, cuStreamCreate(&stream, 0));
    EXPECT(0, cuMemGetInfo_v2(&before, &total));
    of_one_dimension();
    of_two_dimensions();
    of_three_dimensions(0);
    of_three_dimensions(LAYERED | SURFACE);
    captured();
    wrong_descriptors();
    /* An array ends with its context. */
    CUarray array;
    EXPECT(0, cuCtxCreate_v2(&other, 0, 0));
    EXPECT(0, cuArrayCreate_v2(&array, &(Descriptor){.width = 1000, .format = FLOAT, .channels = 1}));
    EXPECT(0, cuMemGetInfo_v2(&after, &total));
    CHECK(after <= before - 4000);
    EXPECT(0, cuCtxDestroy_v2(other));
    EXPECT(400, cuArrayDestroy(array));
    EXPECT(0, cuMemGetInfo_v2(&after, &total));
    CHECK(after == before);
    printf("all copies are right\n");
    return 0;
}
