/*
 * Work in rounds, each a launch in an NVTX range, some with an allocation. The file "done" counts what had returned:
 * three numbers of 64 bits, launches, allocations and NVTX ranges, stored after each.
 *
 * Every SAME launches comes a kernel that was not launched before.
 */
#ifndef TESTS_ROBUST_PROGRAMS_ROUNDS_H
#define TESTS_ROBUST_PROGRAMS_ROUNDS_H

#include "gpu.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define KERNELS 64u
#define SAME 10u

static struct done {
    uint64_t launches, allocations, ranges;
} *done;

static struct work {
    CUstream stream;
    CUlibrary library;
    CUmodule module;
    CUfunction kernels[KERNELS];
    unsigned next;
} work;

static inline void count(uint64_t *counter)
{
    __atomic_add_fetch(counter, 1, __ATOMIC_RELEASE);
}

static inline struct done *open_done(void)
{
    int fd = open("done", O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct done)) != 0)
        exit(8);
    void *at = mmap(NULL, sizeof(struct done), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        exit(8);
    close(fd);
    return at;
}

static inline void load(bool module)
{
    static char text[KERNELS * 64 + 128];
    size_t used = (size_t)snprintf(text, sizeof(text), ".version 7.0\n.target sm_52\n.address_size 64\n");
    for (unsigned i = 0; i < KERNELS; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, ".visible .entry dying_%u()\n{\nret;\n}\n", i);
    if (module)
        MUST(cuModuleLoadData(&work.module, text));
    else
        MUST(cuLibraryLoadData(&work.library, text, NULL, NULL, 0, NULL, NULL, 0));
}

/* With a context that is current; also once more, when the one before is gone. */
static inline void begin_work(bool module)
{
    gpu_start();
    memset(work.kernels, 0, sizeof(work.kernels));
    MUST(cuStreamCreate(&work.stream, CU_STREAM_NON_BLOCKING));
    load(module);
}

static inline CUfunction kernel(unsigned i)
{
    char name[32];
    CUkernel got;
    snprintf(name, sizeof(name), "dying_%u", i);
    if (work.kernels[i])
        return work.kernels[i];
    if (work.module) {
        MUST(cuModuleGetFunction(&work.kernels[i], work.module, name));
    } else {
        MUST(cuLibraryGetKernel(&got, work.library, name));
        work.kernels[i] = (CUfunction)got;
    }
    return work.kernels[i];
}

static inline void get_all(void)
{
    for (unsigned i = 0; i < KERNELS; i++)
        kernel(i);
    usleep(150000);
}

static inline void launch(void)
{
    MUST(cuLaunchKernel(kernel(work.next++ / SAME % KERNELS), 1, 1, 1, 32, 1, 1, 0, work.stream, NULL, NULL));
    count(&done->launches);
}

static inline void one_round(void)
{
    CUdeviceptr memory;
    nvtxRangePushA("round");
    launch();
    if (work.next % SAME == 0) {
        MUST(cuMemAlloc(&memory, 1024));
        count(&done->allocations);
    }
    nvtxRangePop();
    count(&done->ranges);
}

#endif
