/*
 * going_on WHAT: works (rounds.h), has WHAT happen to it, and goes on where that is possible.
 */
#include "rounds.h"

#include <dlfcn.h>

#define ROUNDS 50u
#define LATE 6000u
#define ILLEGAL_ADDRESS 700 /* of CUDA, from the call that hears of it on */

static void some_rounds(void)
{
    for (unsigned i = 0; i < ROUNDS; i++)
        one_round();
}

/* As cudaDeviceReset(): all that the program has on the device is gone. */
static void reset(void)
{
    MUST(cuStreamSynchronize(work.stream));
    MUST(cuDevicePrimaryCtxReset(0));
    begin_work(false);
}

/* A context of the program's own, in which work goes on when it is destroyed. */
static void destroy(void)
{
    CUcontext primary, own;
    CUdevice device;
    CUdeviceptr memory;
    MUST(cuDeviceGet(&device, 0));
    MUST(cuCtxGetCurrent(&primary));
#if CUDA_VERSION >= 13000
    MUST(cuCtxCreate(&own, NULL, 0, device));
#else
    MUST(cuCtxCreate(&own, 0, device));
#endif
    MUST(cuStreamCreate(&work.stream, CU_STREAM_NON_BLOCKING));
    some_rounds();
    MUST(cuMemAlloc(&memory, 4096));
    count(&done->allocations);
    MUST(cuCtxDestroy(own));
    MUST(cuCtxSetCurrent(primary));
    MUST(cuStreamCreate(&work.stream, CU_STREAM_NON_BLOCKING));
}

/* Another tool detaches CUPTI from the process. */
static void finalize(void)
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    int (*function)(void) = library ? (int (*)(void))dlsym(library, "cuptiFinalize") : NULL;
    if (!function)
        exit(9);
    function();
}

/* A kernel that writes where nothing is: on the simulated GPU, the one that SIMGPU_FAULT_KERNEL says. */
static void fault(void)
{
    static const char text[] =
        ".version 7.0\n.target sm_52\n.address_size 64\n"
        ".visible .entry dying_wild()\n{\n"
        ".reg .u64 %address;\n.reg .u32 %value;\n"
        "mov.u64 %address, 57005;\nmov.u32 %value, 1;\nst.global.u8 [%address], %value;\nret;\n}\n";
    CUmodule module;
    CUfunction wild;
    CUdeviceptr memory;
    MUST(cuModuleLoadData(&module, text));
    MUST(cuModuleGetFunction(&wild, module, "dying_wild"));
    MUST(cuStreamSynchronize(work.stream));
    MUST(cuLaunchKernel(wild, 1, 1, 1, 1, 1, 1, 0, work.stream, NULL, NULL));
    count(&done->launches);
    int heard = (int)cuStreamSynchronize(work.stream);
    int again = (int)cuMemAlloc(&memory, 1024);
    printf("errors %d %d\n", heard, again);
    fflush(stdout);
    if (heard != ILLEGAL_ADDRESS || again != ILLEGAL_ADDRESS)
        exit(8);
}

static void fault_and_exit(void)
{
    fault();
    exit(3);
}

static void fault_and_abort(void)
{
    fault();
    abort();
}

/* More memory than there may be, until somebody kills it for that. The number of MiB is in "held". */
static void grow(void)
{
    const size_t piece = (size_t)1 << 20;
    FILE *held = fopen("held", "w");
    for (unsigned i = 1; held; i++) {
        char *memory = malloc(piece);
        if (!memory)
            exit(7);
        memset(memory, (int)i, piece);
        rewind(held);
        fprintf(held, "%u\n", i);
        fflush(held);
        if (i % 8 == 0)
            one_round();
        if (i > 64)
            usleep(2000);
    }
}

/* A kernel that is got, and launched only when so many others were that nobody waits for it any more. */
static void launch_late(void)
{
    CUfunction late = kernel(KERNELS - 1);
    for (unsigned i = 0; i < LATE; i++)
        MUST(cuLaunchKernel(work.kernels[0], 1, 1, 1, 32, 1, 1, 0, work.stream, NULL, NULL));
    MUST(cuLaunchKernel(late, 1, 1, 1, 32, 1, 1, 0, work.stream, NULL, NULL));
}

/* NVTX as it should not be used: a text longer than is kept, and a pop without a push. */
static void annotate_carelessly(void)
{
    static char text[20000];
    memset(text, 't', sizeof(text) - 1);
    nvtxMarkA(text);
    nvtxRangePop();
}

static const struct {
    const char *name;
    void (*happens)(void);
} whats[] = {
    {"reset", reset},
    {"context", destroy},
    {"finalize", finalize},
    {"fault", fault_and_exit},
    {"fault-abort", fault_and_abort},
    {"grow", grow},
    {"late", launch_late},
    {"careless", annotate_carelessly},
};

int main(int argc, char **argv)
{
    done = open_done();
    begin_work(false);
    some_rounds();
    for (size_t i = 0; i < sizeof(whats) / sizeof(*whats); i++) {
        if (argc < 2 || strcmp(argv[1], whats[i].name) != 0)
            continue;
        whats[i].happens();
        some_rounds();
        MUST(cuStreamSynchronize(work.stream));
        return 6;
    }
    return 9;
}
