/* What a program may ask about functions, memory and processes. */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int CUresult, CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct opaque *CUcontext, *CUmodule, *CUfunction, *CUstream;

CUresult cuInit(unsigned), cuDeviceGetAttribute(int *, int, CUdevice), cuCtxCreate_v2(CUcontext *, unsigned, CUdevice), cuCtxSynchronize(void);
CUresult cuModuleLoadData(CUmodule *, const void *), cuModuleGetFunction(CUfunction *, CUmodule, const char *), cuFuncGetAttribute(int *, int, CUfunction);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t), cuMemFree_v2(CUdeviceptr), cuMemGetAddressRange_v2(CUdeviceptr *, size_t *, CUdeviceptr);
CUresult cuMemHostAlloc(void **, size_t, unsigned), cuMemHostGetDevicePointer_v2(CUdeviceptr *, void *, unsigned), cuMemFreeHost(void *);
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **);

typedef struct opaque *nvJitLinkHandle;
int nvJitLinkVersion(unsigned *, unsigned *), nvJitLinkCreate(nvJitLinkHandle *, unsigned, const char **), nvJitLinkDestroy(nvJitLinkHandle *);
int nvJitLinkAddData(nvJitLinkHandle, int, const void *, size_t, const char *), nvJitLinkAddFile(nvJitLinkHandle, int, const char *), nvJitLinkComplete(nvJitLinkHandle);
int nvJitLinkGetLinkedCubinSize(nvJitLinkHandle, size_t *), nvJitLinkGetLinkedCubin(nvJitLinkHandle, void *);
int nvJitLinkGetErrorLogSize(nvJitLinkHandle, size_t *), nvJitLinkGetErrorLog(nvJitLinkHandle, char *);

#define CHECK(condition) if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); exit(1); }

/* Twelve sums are live at once, of 64 bits each. */
#define WIDE \
    ".reg .b64 %d<13>;\n.reg .pred %p;\nld.param.u64 %d0, [p];\n" \
    "mov.u64 %d1, %d0;\nmov.u64 %d2, %d0;\nmov.u64 %d3, %d0;\nmov.u64 %d4, %d0;\nmov.u64 %d5, %d0;\nmov.u64 %d6, %d0;\n" \
    "mov.u64 %d7, %d0;\nmov.u64 %d8, %d0;\nmov.u64 %d9, %d0;\nmov.u64 %d10, %d0;\nmov.u64 %d11, %d0;\nmov.u64 %d12, %d0;\n" \
    "setp.ne.u64 %p, %d1, %d2;\n@%p trap;\nsetp.ne.u64 %p, %d3, %d4;\n@%p trap;\nsetp.ne.u64 %p, %d5, %d6;\n@%p trap;\n" \
    "setp.ne.u64 %p, %d7, %d8;\n@%p trap;\nsetp.ne.u64 %p, %d9, %d10;\n@%p trap;\nsetp.ne.u64 %p, %d11, %d12;\n@%p trap;\nret;\n"

static const char *const PTX =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry empty()\n.maxntid 128\n{\nret;\n}\n"
    ".visible .entry shared()\n{\n.shared .align 4 .f32 ten[10];\n.shared .align 1 .b8 byte;\n.shared .align 8 .f64 one;\n"
    ".reg .f64 %d;\nld.shared.f64 %d, [one];\nret;\n}\n"
    ".visible .entry wide(.param .u64 p)\n{\n" WIDE "}\n"
    ".visible .entry narrow(.param .u64 p)\n.maxnreg 24\n{\n" WIDE "}\n";

static CUmodule module;

/* nvJitLink links PTX to what can be loaded, before the driver is initialised too. */
static void *linked(void) {
    static const char *const of_kernel =
        ".version 7.0\n.target sm_70\n.address_size 64\n.extern .func seven();\n.visible .entry joined()\n{\ncall.uni seven;\nret;\n}\n";
    static const char *const of_function = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .func seven()\n{\nret;\n}\n";
    unsigned major, minor;
    nvJitLinkHandle link, none = NULL;
    size_t bytes;
    CHECK(nvJitLinkVersion(&major, &minor) == 0 && major == 12 && minor == 0);
    CHECK(nvJitLinkCreate(&link, 2, (const char *[]){"-arch=sm_90", "-maxrregcount=3"}) == 0);
    CHECK(nvJitLinkComplete(link) == 3);
    CHECK(nvJitLinkAddData(link, 2, of_kernel, strlen(of_kernel), "kernel") == 0);
    /* LTO-IR, and what is no input; the others stay. */
    CHECK(nvJitLinkAddData(link, 3, "BC", 2, "lto") == 8 && nvJitLinkAddData(link, 0, "", 0, "none") == 3);
    CHECK(nvJitLinkAddData(link, 2, "nonsense", 8, "wrong") == 4 && nvJitLinkAddFile(link, 10, "/nowhere/x.ptx") == 3);
    CHECK(nvJitLinkGetErrorLogSize(link, &bytes) == 0 && bytes > 20);
    char *log = malloc(bytes);
    CHECK(nvJitLinkGetErrorLog(link, log) == 0 && strlen(log) + 1 == bytes && strstr(log, "CUDA_ERROR_INVALID_PTX"));
    free(log);
    CHECK(nvJitLinkAddData(link, 10, of_function, strlen(of_function), "function") == 0);
    CHECK(nvJitLinkComplete(link) == 0 && nvJitLinkGetLinkedCubinSize(link, &bytes) == 0);
    void *cubin = malloc(bytes);
    CHECK(nvJitLinkGetLinkedCubin(link, cubin) == 0);
    CHECK(nvJitLinkAddData(link, 2, of_function, strlen(of_function), "again") == 0 && nvJitLinkComplete(link) == 4);
    CHECK(nvJitLinkDestroy(&link) == 0 && link == NULL && nvJitLinkDestroy(&link) == 10 && nvJitLinkDestroy(&none) == 10);
    CHECK(nvJitLinkComplete((nvJitLinkHandle)77) == 10 && nvJitLinkCreate(NULL, 0, NULL) == 3);
    return cubin;
}

static int attribute(const char *name, int which) {
    CUfunction function;
    int value;
    CHECK(cuModuleGetFunction(&function, module, name) == 0);
    CHECK(cuFuncGetAttribute(&value, which, function) == 0);
    return value;
}

int main(void) {
    CUcontext context;
    int multiprocessors;
    void *cubin = linked();
    CHECK(cuInit(0) == 0 && cuCtxCreate_v2(&context, 0, 0) == 0 && cuModuleLoadData(&module, PTX) == 0);
    CHECK(cuDeviceGetAttribute(&multiprocessors, 16, 0) == 0 && multiprocessors == 132);

    /* The variables follow each other, each aligned: 40 bytes, 1, 7 between, 8. */
    CHECK(attribute("empty", 1) == 0 && attribute("shared", 1) == 56);
    /* The PTX is for sm_70, and compiled for the device. */
    CHECK(attribute("empty", 5) == 70 && attribute("empty", 6) == 90);
    /* At least two for each value, and no more than .maxnreg. */
    CHECK(attribute("empty", 4) < 10);
    CHECK(attribute("wide", 4) >= 24 && attribute("wide", 4) < 40);
    CHECK(attribute("narrow", 4) == 24);
    CUfunction empty;
    CHECK(cuModuleGetFunction(&empty, module, "empty") == 0);
    CHECK(cuLaunchKernel(empty, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL) == 0);
    CHECK(cuLaunchKernel(empty, 1, 1, 1, 129, 1, 1, 0, NULL, NULL, NULL) == 1);

    CUmodule of_link;
    CHECK(cuModuleLoadData(&of_link, cubin) == 0 && cuModuleGetFunction(&empty, of_link, "joined") == 0);
    CHECK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == 0);
    int registers;
    CHECK(cuFuncGetAttribute(&registers, 4, empty) == 0 && registers == 3);
    free(cubin);

    /* Small blocks begin at multiples of 256 bytes, those of a MiB and more at multiples of 2 MiB. A block takes memory where it is used. */
    static const size_t sizes[] = {1, 255, 257, 1 << 20, 3, (1 << 20) - 1, (5 << 20) + 1, (size_t)4 << 30, 7};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    CUdeviceptr blocks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        CHECK(cuMemAlloc_v2(&blocks[i], sizes[i]) == 0);
        CHECK(blocks[i] % (sizes[i] >= 1 << 20 ? 2 << 20 : 256) == 0);
        for (int j = 0; j < i; j++) CHECK(blocks[j] + sizes[j] <= blocks[i]);
    }

    CUdeviceptr base;
    size_t bytes;
    CHECK(cuMemGetAddressRange_v2(&base, &bytes, blocks[3] + 1000) == 0 && base == blocks[3] && bytes == sizes[3]);
    CHECK(cuMemGetAddressRange_v2(&base, &bytes, blocks[0] + 1) == 500);
    for (int i = 0; i < COUNT; i++) CHECK(cuMemFree_v2(blocks[i]) == 0);
    void *host;
    CUdeviceptr mapped;
    CHECK(cuMemHostAlloc(&host, 40, 2) == 0 && cuMemHostGetDevicePointer_v2(&mapped, host, 0) == 0);
    CHECK(cuMemGetAddressRange_v2(&base, &bytes, mapped + 39) == 0 && base == mapped && bytes == 40);
    CHECK(cuMemFreeHost(host) == 0);

    /* A fork of a process that has initialised the driver cannot use it, nor initialise it again; its parent goes on. */
    pid_t child = fork();
    if (child == 0) _exit(cuCtxSynchronize() == 3 && cuMemAlloc_v2(&base, 4) == 3 && cuInit(0) == 3 ? 7 : 8);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK(cuCtxSynchronize() == 0 && cuMemAlloc_v2(&base, 4) == 0 && cuMemFree_v2(base) == 0);
    printf("all answers are right\n");
    return 0;
}
