/* Tensor maps, and a kernel that copies boxes by them. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr, u64;
typedef unsigned u32;
typedef struct opaque *CUcontext, *CUmodule, *CUfunction, *CUstream;
typedef struct { _Alignas(128) u64 opaque[16]; } CUtensorMap;

CUresult cuInit(u32), cuCtxCreate_v2(CUcontext *, u32, CUdevice), cuMemAlloc_v2(CUdeviceptr *, size_t), cuCtxSynchronize(void);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t), cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
CUresult cuModuleLoadData(CUmodule *, const void *), cuModuleGetFunction(CUfunction *, CUmodule, const char *);
CUresult cuLaunchKernel(CUfunction, u32, u32, u32, u32, u32, u32, u32, CUstream, void **, void **);
CUresult cuDeviceGetAttribute(int *, int, CUdevice), cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule, const char *);
CUresult cuTensorMapEncodeTiled(CUtensorMap *, int, u32, void *, const u64 *, const u64 *, const u32 *, const u32 *, int, int, int, int);
CUresult cuTensorMapReplaceAddress(CUtensorMap *, void *);
CUresult cuTensorMapEncodeIm2col(void);

#define EXPECT(result, call) do { CUresult got = call; if (got != (result)) { printf("line %d: %s is %d, not %d\n", __LINE__, #call, got, result); exit(1); } } while (0)
#define CHECK(condition) if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); exit(1); }

enum { UINT8, UINT16, UINT32, FLOAT16 = 6, FLOAT32, U4_ALIGN8 = 13 };
enum { SWIZZLE_NONE, SWIZZLE_32, SWIZZLE_64, SWIZZLE_128, SWIZZLE_128_ATOM_32 };
enum { INVALID_VALUE = 1, NOT_SUPPORTED = 801 };
enum { WIDTH = 40, HEIGHT = 24, BOX = 8, ROWS = 4 };

/* Loads a box of 8 × 4 words at (x, y) by a map, and stores it at (y, x) by another: both by value, by address, or in constant memory. */
#define KERNEL(name, first, second) \
    ".visible .entry " name "(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .u64 p, .param .u32 x, .param .u32 y)\n{\n" \
    ".reg .b32 %r<8>;\n.reg .b64 %d<4>;\n.reg .pred %p;\n.shared .align 128 .b8 tile[128];\n.shared .align 8 .b64 bar;\n" \
    first second \
    "ld.param.u32 %r0, [x];\nld.param.u32 %r1, [y];\nmov.u32 %r2, tile;\nmov.u32 %r3, bar;\n" \
    "mbarrier.init.shared.b64 [%r3], 1;\nmbarrier.arrive.expect_tx.shared.b64 _, [%r3], 128;\n" \
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%d0, {%r0, %r1}], [%r3];\n" \
    "W: mbarrier.try_wait.parity.shared.b64 %p, [%r3], 0;\n@!%p bra W;\n" \
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%d1, {%r1, %r0}], [%r2];\n" \
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nret;\n}\n"

static const char *const PTX =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.const .align 64 .b8 maps[256];\n"
    KERNEL("by_value", "mov.b64 %d0, a;\ncvta.param.u64 %d0, %d0;\n", "mov.b64 %d1, b;\ncvta.param.u64 %d1, %d1;\n")
    KERNEL("by_address", "ld.param.u64 %d0, [p];\n", "add.u64 %d1, %d0, 128;\n")
    KERNEL("constant", "mov.b64 %d0, maps;\ncvta.const.u64 %d0, %d0;\n", "add.u64 %d1, %d0, 128;\n");

int main(int count, char **arguments) {
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr from, to, maps;
    CUtensorMap a, b;
    static u32 words[HEIGHT][WIDTH], found[HEIGHT][WIDTH];
    const u64 sizes[2] = {WIDTH, HEIGHT}, strides[1] = {WIDTH * 4};
    const u32 box[2] = {BOX, ROWS}, steps[2] = {1, 1};
    int supported = 0;

    EXPECT(3, cuTensorMapEncodeTiled(&a, UINT32, 2, 0, sizes, strides, box, steps, 0, 0, 0, 0));
    EXPECT(0, cuInit(0));
    EXPECT(0, cuCtxCreate_v2(&context, 0, 0));
    EXPECT(0, cuDeviceGetAttribute(&supported, 127, 0));
    CHECK(supported == 1);
    EXPECT(0, cuMemAlloc_v2(&from, sizeof words));
    EXPECT(0, cuMemAlloc_v2(&to, sizeof words));
    EXPECT(0, cuMemAlloc_v2(&maps, 256));
#define ENCODE(map, type, rank, address, swizzle, interleave, promotion, fill) \
    cuTensorMapEncodeTiled(map, type, rank, (void *)(address), sizes, strides, box, steps, interleave, swizzle, promotion, fill)
    EXPECT(0, ENCODE(&a, UINT32, 2, from, SWIZZLE_NONE, 0, 3, 0));
    EXPECT(0, ENCODE(&b, UINT32, 2, from, SWIZZLE_NONE, 0, 0, 0));
    EXPECT(INVALID_VALUE, cuTensorMapReplaceAddress(&b, (void *)(to + 4)));
    EXPECT(0, cuTensorMapReplaceAddress(&b, (void *)to));
    EXPECT(INVALID_VALUE, ENCODE(0, UINT32, 2, from, SWIZZLE_NONE, 0, 0, 0));
    EXPECT(INVALID_VALUE, ENCODE((CUtensorMap *)((char *)&b + 8), UINT32, 2, from, SWIZZLE_NONE, 0, 0, 0));
    EXPECT(INVALID_VALUE, ENCODE(&b, 16, 2, from, SWIZZLE_NONE, 0, 0, 0));
    EXPECT(INVALID_VALUE, ENCODE(&b, UINT32, 0, from, SWIZZLE_NONE, 0, 0, 0));
    EXPECT(INVALID_VALUE, ENCODE(&b, UINT32, 6, from, SWIZZLE_NONE, 0, 0, 0));
    EXPECT(INVALID_VALUE, ENCODE(&b, UINT32, 2, from + 8, SWIZZLE_NONE, 0, 0, 0));
    EXPECT(INVALID_VALUE, ENCODE(&b, UINT32, 2, from, 7, 0, 0, 0));
    EXPECT(INVALID_VALUE, ENCODE(&b, UINT32, 2, from, SWIZZLE_NONE, 0, 0, 1));
    EXPECT(INVALID_VALUE, ENCODE(&b, UINT8, 2, from, SWIZZLE_NONE, 0, 0, 0));
    EXPECT(NOT_SUPPORTED, ENCODE(&b, UINT32, 2, from, SWIZZLE_NONE, 1, 0, 0));
    EXPECT(NOT_SUPPORTED, ENCODE(&b, U4_ALIGN8, 2, from, SWIZZLE_NONE, 0, 0, 0));
    EXPECT(NOT_SUPPORTED, ENCODE(&b, UINT32, 2, from, SWIZZLE_128_ATOM_32, 0, 0, 0));
    EXPECT(NOT_SUPPORTED, cuTensorMapEncodeIm2col());

    for (int word = 0; word < WIDTH * HEIGHT; ++word) words[word / WIDTH][word % WIDTH] = 7 * word + 1;
    EXPECT(0, cuMemcpyHtoD_v2(from, words, sizeof words));
    EXPECT(0, cuModuleLoadData(&module, PTX));
    EXPECT(0, cuMemcpyHtoD_v2(maps, &a, sizeof a));
    EXPECT(0, cuMemcpyHtoD_v2(maps + 128, &b, sizeof b));
    CUdeviceptr constant;
    size_t bytes;
    EXPECT(0, cuModuleGetGlobal_v2(&constant, &bytes, module, "maps"));
    EXPECT(0, cuMemcpyHtoD_v2(constant, &a, sizeof a));
    EXPECT(0, cuMemcpyHtoD_v2(constant + 128, &b, sizeof b));
    if (count > 1) {
        if (!strcmp(arguments[1], "opaque")) memset(&b, 1, sizeof b);
        if (!strcmp(arguments[1], "large")) {
            const u64 larger[2] = {WIDTH, HEIGHT + 1};
            EXPECT(0, cuTensorMapEncodeTiled(&b, UINT32, 2, (void *)to, larger, strides, box, steps, 0, 0, 0, 0));
        }
    }
    static const char *const names[] = {"by_value", "by_address", "constant"};
    static const int at[][2] = {{0, 0}, {13, 2}, {-3, 5}, {20, -2}, {37, 20}, {100, 3}};
    for (int name = 0; name < 3; ++name) {
        EXPECT(0, cuModuleGetFunction(&function, module, names[name]));
        for (int place = 0; place < 6; ++place) {
            int x = at[place][0], y = at[place][1];
            if (count > 1) { x = 22; y = 0; }
            void *parameters[] = {&a, &b, &maps, &x, &y};
            memset(found, 0xee, sizeof found);
            EXPECT(0, cuMemcpyHtoD_v2(to, found, sizeof found));
            EXPECT(0, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, parameters, 0));
            CUresult result = cuCtxSynchronize();
            if (count > 1) { printf("the result is %d\n", result); return 0; }
            CHECK(result == 0);
            EXPECT(0, cuMemcpyDtoH_v2(found, to, sizeof found));
            for (int word = 0; word < WIDTH * HEIGHT; ++word) {
                int column = word % WIDTH - y, row = word / WIDTH - x;
                u32 expected = 0xeeeeeeee;
                if (column >= 0 && column < BOX && row >= 0 && row < ROWS) {
                    int x_from = x + column, y_from = y + row;
                    int inside = x_from >= 0 && x_from < WIDTH && y_from >= 0 && y_from < HEIGHT;
                    expected = inside ? words[y_from][x_from] : 0;
                }
                CHECK(found[word / WIDTH][word % WIDTH] == expected);
            }
        }
    }
    puts("all boxes are right");
    return 0;
}
