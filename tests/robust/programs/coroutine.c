/* Launches from a coroutine whose stack is of so many KiB, between two pages that may not be touched: coroutine KIB */
#include "gpu.h"

#include <sys/mman.h>
#include <ucontext.h>

#define PAGE 4096
#define ROUNDS 20

static ucontext_t outside, coroutine;

static void work(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        CUdeviceptr memory;
        nvtxRangePushA("round");
        MUST(cuMemAlloc(&memory, GPU_BYTES));
        MUST(cuMemsetD8(memory, 1, GPU_BYTES));
        MUST(cuMemFree(memory));
        nvtxRangePop();
        swapcontext(&coroutine, &outside);
    }
}

int main(int count, char **arguments)
{
    size_t bytes = (size_t)(count > 1 ? atoi(arguments[1]) : 8) * 1024;
    char *stack = mmap(NULL, bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    gpu_start();
    gpu_work(1);
    if (stack == MAP_FAILED || mprotect(stack + PAGE, bytes, PROT_READ | PROT_WRITE) != 0 ||
        getcontext(&coroutine) != 0)
        return 8;
    coroutine.uc_stack.ss_sp = stack + PAGE;
    coroutine.uc_stack.ss_size = bytes;
    coroutine.uc_link = &outside;
    makecontext(&coroutine, work, 0);
    for (unsigned i = 0; i < ROUNDS; i++)
        swapcontext(&outside, &coroutine);
    puts("done");
    return 0;
}
