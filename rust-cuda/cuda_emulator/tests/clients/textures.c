/* Texture and surface objects, of arrays and of memory, and kernels that use them. */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr, CUobject;
typedef struct opaque *CUcontext, *CUarray, *CUmodule, *CUfunction, *CUstream;
typedef struct { size_t width, height, depth; int format; unsigned channels, flags; } Descriptor3D;
typedef struct { size_t x, y, z, level; int type; const void *host; CUdeviceptr device; CUarray array; void *reserved; size_t pitch, height; } Place3D;
typedef struct { Place3D source, destination; size_t width, height, depth; } Copy3D;
typedef struct {
    int kind;
    union {
        struct { CUarray array; } array;
        struct { CUdeviceptr address; int format; unsigned channels; size_t bytes; } linear;
        struct { CUdeviceptr address; int format; unsigned channels; size_t width, height, pitch; } pitched;
        int reserved[32];
    } of;
    unsigned flags;
} Resource;
typedef struct { int modes[3], filter; unsigned flags, anisotropy; int mipmap_filter; float bias, least, most, border[4]; int reserved[12]; } Sampler;
typedef struct { int format; size_t width, height, depth; unsigned levels[2], layers[2], reserved[16]; } View;

CUresult cuInit(unsigned), cuCtxCreate_v2(CUcontext *, unsigned, CUdevice), cuCtxDestroy_v2(CUcontext), cuMemAlloc_v2(CUdeviceptr *, size_t), cuMemAllocManaged(CUdeviceptr *, size_t, unsigned);
CUresult cuMemFree_v2(CUdeviceptr), cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t), cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
CUresult cuArray3DCreate_v2(CUarray *, const Descriptor3D *), cuArrayDestroy(CUarray), cuMemcpy3D_v2(const Copy3D *);
CUresult cuTexObjectCreate(CUobject *, const Resource *, const Sampler *, const View *), cuTexObjectDestroy(CUobject), cuTexObjectGetResourceDesc(Resource *, CUobject);
CUresult cuTexObjectGetTextureDesc(Sampler *, CUobject), cuTexObjectGetResourceViewDesc(View *, CUobject);
CUresult cuSurfObjectCreate(CUobject *, const Resource *), cuSurfObjectDestroy(CUobject), cuSurfObjectGetResourceDesc(Resource *, CUobject);
CUresult cuModuleLoadData(CUmodule *, const void *), cuModuleGetFunction(CUfunction *, CUmodule, const char *), cuCtxSynchronize(void);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **);

#define EXPECT(result, call) do { CUresult got = call; if (got != (result)) { printf("line %d: %s is %d, not %d\n", __LINE__, #call, got, result); exit(1); } } while (0)
#define CHECK(condition) if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); exit(1); }

enum { HOST = 1, DEVICE, ARRAY };
enum { U8 = 1, S16 = 9, FLOAT = 0x20 };
enum { LAYERED = 1, SURFACE = 2, CUBEMAP = 4 };
enum { OF_ARRAY, OF_MIPMAPS, OF_LINEAR, OF_PITCHED };
enum { WRAP, CLAMP, MIRROR, BORDER };
enum { AS_INTEGER = 1, NORMALIZED = 2, SEAMLESS = 0x40 };

#define KERNEL(name, load, instruction) \
    ".visible .entry " name "(.param .u64 t, .param .u64 o, .param .f32 x, .param .f32 y, .param .u32 z)\n{\n" \
    ".reg .f32 %f<6>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<4>;\n" \
    "ld.param.u64 %rd0, [t];\nld.param.u64 %rd1, [o];\nld.param.f32 %f0, [x];\nld.param.f32 %f1, [y];\nld.param.u32 %r0, [z];\n" \
    load instruction "\nst.global.v4.b32 [%rd1], {%r4, %r5, %r6, %r7};\nret;\n}\n"
#define TO "{%r4, %r5, %r6, %r7}, "

static const char *const PTX =
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    KERNEL("linear", "", "tex.1d.v4.s32.s32 " TO "[%rd0, {%r0}];")
    KERNEL("plane", "", "tex.2d.v4.f32.f32 " TO "[%rd0, {%f0, %f1}];")
    KERNEL("volume", "cvt.rn.f32.u32 %f2, %r0;\n", "tex.3d.v4.f32.f32 " TO "[%rd0, {%f0, %f1, %f2, %f2}];")
    KERNEL("layer", "", "tex.a2d.v4.f32.f32 " TO "[%rd0, {%r0, %f0, %f1, %f1}];")
    /* Doubles a word of a surface of layers; its x is in bytes. */
    KERNEL("doubles", "cvt.rzi.s32.f32 %r1, %f0;\ncvt.rzi.s32.f32 %r2, %f1;\n",
           "suld.b.a2d.b32.trap {%r4}, [%rd0, {%r0, %r1, %r2, %r2}];\nmov.b32 %f3, %r4;\nadd.f32 %f3, %f3, %f3;\nmov.b32 %r4, %f3;\n"
           "sust.b.a2d.b32.trap [%rd0, {%r0, %r1, %r2, %r2}], {%r4};\nmov.b32 %r5, 0;\nmov.b32 %r6, 0;\nmov.b32 %r7, 0;");

static CUmodule module;
static CUdeviceptr output;
static union { float f[4]; int i[4]; } result;

static void run(const char *name, CUobject object, float x, float y, int z) {
    CUfunction function;
    void *parameters[] = {&object, &output, &x, &y, &z};
    EXPECT(0, cuModuleGetFunction(&function, module, name));
    EXPECT(0, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    EXPECT(0, cuMemcpyDtoH_v2(&result, output, sizeof result));
}

/* An array of W × H × D floats: 100 z + 10 y + x. */
enum { W = 4, H = 3, D = 2 };
static CUarray numbers(unsigned flags) {
    float values[D][H][W];
    CUarray array;
    for (int z = 0; z < D; z++) for (int y = 0; y < H; y++) for (int x = 0; x < W; x++) values[z][y][x] = 100 * z + 10 * y + x;
    EXPECT(0, cuArray3DCreate_v2(&array, &(Descriptor3D){W, H, D, FLOAT, 1, flags}));
    Copy3D copy = {{.type = HOST, .host = values, .pitch = W * 4, .height = H}, {.type = ARRAY, .array = array}, W * 4, H, D};
    EXPECT(0, cuMemcpy3D_v2(&copy));
    return array;
}

static void of_memory(int is_managed) {
    short values[10];
    CUdeviceptr memory;
    CUobject texture;
    for (int i = 0; i < 10; i++) values[i] = -i;
    EXPECT(0, is_managed ? cuMemAllocManaged(&memory, 512, 1) : cuMemAlloc_v2(&memory, 512));
    EXPECT(0, cuMemcpyHtoD_v2(memory, values, sizeof values));
    Resource resource = {.kind = OF_LINEAR, .of.linear = {memory, S16, 2, sizeof values}}, found;
    Sampler sampler = {.flags = AS_INTEGER}, of_texture;
    EXPECT(0, cuTexObjectCreate(&texture, &resource, &sampler, NULL));
    run("linear", texture, 0, 0, 3);
    CHECK(result.i[0] == -6 && result.i[1] == -7);
    run("linear", texture, 0, 0, 5);
    CHECK(result.i[0] == 0 && result.i[1] == 0);
    EXPECT(0, cuTexObjectGetResourceDesc(&found, texture));
    CHECK(found.kind == OF_LINEAR && found.of.linear.address == memory && found.of.linear.bytes == sizeof values && found.of.linear.channels == 2);
    EXPECT(0, cuTexObjectGetTextureDesc(&of_texture, texture));
    CHECK(memcmp(&of_texture, &sampler, sizeof sampler) == 0);
    EXPECT(1, cuTexObjectGetResourceViewDesc(&(View){0}, texture));
    EXPECT(0, cuTexObjectDestroy(texture));
    EXPECT(400, cuTexObjectDestroy(texture));
    EXPECT(400, cuTexObjectGetResourceDesc(&found, texture));
    /* Rows of a pitch, as floats from -1 to 1. */
    resource = (Resource){.kind = OF_PITCHED, .of.pitched = {memory, S16, 1, 3, 2, 64}};
    EXPECT(0, cuMemcpyHtoD_v2(memory + 64, (short[]){32767, -32768, 0}, 6));
    sampler = (Sampler){.flags = NORMALIZED, .modes = {WRAP, WRAP, WRAP}};
    EXPECT(0, cuTexObjectCreate(&texture, &resource, &sampler, NULL));
    run("plane", texture, 1.1f, 0.8f, 0);
    CHECK(result.f[0] == 1);
    run("plane", texture, -0.5f, -0.4f, 0);
    CHECK(result.f[0] == -1);
    EXPECT(0, cuTexObjectDestroy(texture));
    /* What no texture has. */
    resource.of.pitched.pitch = 40;
    EXPECT(1, cuTexObjectCreate(&texture, &resource, &sampler, NULL));
    resource.of.pitched.pitch = 32, resource.of.pitched.height = 1000;
    EXPECT(1, cuTexObjectCreate(&texture, &resource, &sampler, NULL));
    resource.of.pitched.height = 0;
    EXPECT(1, cuTexObjectCreate(&texture, &resource, &sampler, NULL));
    resource = (Resource){.kind = OF_LINEAR, .of.linear = {memory + 4, S16, 2, 4}};
    EXPECT(1, cuTexObjectCreate(&texture, &resource, &sampler, NULL));
    resource.of.linear.address = memory, resource.of.linear.bytes = 3;
    EXPECT(1, cuTexObjectCreate(&texture, &resource, &sampler, NULL));
    EXPECT(0, cuMemFree_v2(memory));
}

static void of_arrays(void) {
    CUarray volume = numbers(0), layers = numbers(LAYERED | SURFACE);
    CUobject texture, of_layers, surface;
    Resource resource = {.of.array = {volume}}, with_layers = {.of.array = {layers}}, found;
    Sampler linear = {.modes = {CLAMP, CLAMP, CLAMP}, .filter = 1};
    EXPECT(0, cuTexObjectCreate(&texture, &resource, &linear, NULL));
    run("volume", texture, 1.75f, 2, 1);
    CHECK(result.f[0] == 1.25f + 15 + 50);
    EXPECT(0, cuTexObjectDestroy(texture));
    Sampler border = {.modes = {BORDER, BORDER, BORDER}, .border = {7}};
    EXPECT(0, cuTexObjectCreate(&of_layers, &with_layers, &border, NULL));
    run("layer", of_layers, 2.5f, 1.5f, 1);
    CHECK(result.f[0] == 112);
    run("layer", of_layers, 2.5f, 3, 1);
    CHECK(result.f[0] == 7);
    /* A store to the surface is what the next launch fetches. */
    EXPECT(0, cuSurfObjectCreate(&surface, &with_layers));
    run("doubles", surface, 8, 1, 1);
    CHECK(result.f[0] == 224);
    run("layer", of_layers, 2.5f, 1.5f, 1);
    CHECK(result.f[0] == 224);
    run("layer", of_layers, 2.5f, 1.5f, 0);
    CHECK(result.f[0] == 12);
    EXPECT(0, cuSurfObjectGetResourceDesc(&found, surface));
    CHECK(found.kind == OF_ARRAY && found.of.array.array == layers);
    EXPECT(1, cuSurfObjectCreate(&surface, &resource));
    EXPECT(400, cuSurfObjectDestroy(of_layers));
    EXPECT(0, cuSurfObjectDestroy(surface));
    EXPECT(400, cuSurfObjectDestroy(surface));
    /* A view of the whole array. */
    View view = {22, W, H, D, {0, 0}, {0, 1}, {0}}, of_texture;
    EXPECT(0, cuTexObjectCreate(&texture, &with_layers, &border, &view));
    EXPECT(0, cuTexObjectGetResourceViewDesc(&of_texture, texture));
    CHECK(memcmp(&of_texture, &view, sizeof view) == 0);
    EXPECT(0, cuTexObjectDestroy(texture));
    view.width = 2;
    EXPECT(801, cuTexObjectCreate(&texture, &with_layers, &border, &view));
    /* What no texture has. */
    resource.of.array.array = (CUarray)77;
    EXPECT(400, cuTexObjectCreate(&texture, &resource, &linear, NULL));
    resource = (Resource){.kind = OF_MIPMAPS};
    EXPECT(801, cuTexObjectCreate(&texture, &resource, &linear, NULL));
    resource.kind = 9;
    EXPECT(1, cuTexObjectCreate(&texture, &resource, &linear, NULL));
    linear.modes[1] = 4;
    EXPECT(1, cuTexObjectCreate(&texture, &with_layers, &linear, NULL));
    EXPECT(1, cuTexObjectCreate(&texture, &with_layers, NULL, NULL));
    EXPECT(1, cuTexObjectCreate(NULL, &with_layers, &border, NULL));
    CUarray bytes;
    EXPECT(0, cuArray3DCreate_v2(&bytes, &(Descriptor3D){4, 4, 6, U8, 1, CUBEMAP}));
    resource = (Resource){.of.array = {bytes}};
    Sampler filter = {.filter = 1, .flags = AS_INTEGER};
    EXPECT(1, cuTexObjectCreate(&texture, &resource, &filter, NULL));
    filter.flags = SEAMLESS;
    EXPECT(801, cuTexObjectCreate(&texture, &resource, &filter, NULL));
    EXPECT(0, cuArrayDestroy(bytes));
    EXPECT(0, cuArrayDestroy(volume));
    EXPECT(0, cuTexObjectDestroy(of_layers));
    EXPECT(0, cuArrayDestroy(layers));
}

/* With an argument: what is wrong with a launch. */
static void wrong(const char *how) {
    CUarray layers = numbers(LAYERED | SURFACE);
    Resource resource = {.of.array = {layers}};
    Sampler sampler = {0};
    CUobject texture, surface;
    CUfunction function;
    float x = 0, y = 0;
    int z = 1;
    EXPECT(0, cuTexObjectCreate(&texture, &resource, &sampler, NULL));
    EXPECT(0, cuSurfObjectCreate(&surface, &resource));
    const char *name = "layer";
    CUobject object = texture;
    if (strcmp(how, "destroyed") == 0) EXPECT(0, cuTexObjectDestroy(texture));
    if (strcmp(how, "freed") == 0) EXPECT(0, cuArrayDestroy(layers));
    if (strcmp(how, "other") == 0) object = surface;
    if (strcmp(how, "outside") == 0) name = "doubles", object = surface, x = 16;
    void *parameters[] = {&object, &output, &x, &y, &z};
    EXPECT(0, cuModuleGetFunction(&function, module, name));
    EXPECT(0, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    printf("the result is %d\n", cuCtxSynchronize());
}

int main(int count, char **arguments) {
    CUcontext context, other;
    EXPECT(0, cuInit(0));
    EXPECT(0, cuCtxCreate_v2(&context, 0, 0));
    EXPECT(0, cuModuleLoadData(&module, PTX));
    EXPECT(0, cuMemAlloc_v2(&output, 16));
    if (count > 1) {
        wrong(arguments[1]);
        return 0;
    }
    of_memory(0);
    of_memory(1);
    of_arrays();
    /* Objects end with their context. */
    CUarray array;
    CUobject texture;
    EXPECT(0, cuCtxCreate_v2(&other, 0, 0));
    EXPECT(0, cuArray3DCreate_v2(&array, &(Descriptor3D){4, 4, 0, U8, 1, 0}));
    EXPECT(0, cuTexObjectCreate(&texture, &(Resource){.of.array = {array}}, &(Sampler){0}, NULL));
    EXPECT(0, cuCtxDestroy_v2(other));
    EXPECT(400, cuTexObjectDestroy(texture));
    printf("all fetches are right\n");
    return 0;
}
