/*
 * Many NVTX ranges that are open at once, each of a name of its own, with a GPU operation after each start:
 * `open_ranges FORM COUNT [NAMES]`.
 *
 *     start    ranges of start and end that never end
 *     push     pushes without a pop
 *     ended    all are started, then all end, the first first, with an operation after each end
 *     nested   all are pushed, then all popped, with an operation after each pop
 *     across   as ended, but another thread ends them, which has operations of its own
 *
 * NAMES is how many names there are: "range 0", "range 1" … in turn; COUNT without it.
 */
#include <pthread.h>
#include <stdbool.h>

#include "gpu.h"

static unsigned count, names;
static CUdeviceptr memory;
static nvtxRangeId_t *ids;

static const char *name_of(unsigned i)
{
    static char name[32];
    snprintf(name, sizeof(name), "range %u", i % names);
    return name;
}

static void operation(void)
{
    MUST(cuMemsetD8Async(memory, 1, 64, NULL));
}

static void start_all(void)
{
    for (unsigned i = 0; i < count; i++) {
        ids[i] = nvtxRangeStartA(name_of(i));
        operation();
    }
}

static void end_all(void)
{
    for (unsigned i = 0; i < count; i++) {
        nvtxRangeEnd(ids[i]);
        operation();
    }
}

static void push_all(void)
{
    for (unsigned i = 0; i < count; i++) {
        nvtxRangePushA(name_of(i));
        operation();
    }
}

static void pop_all(void)
{
    for (unsigned i = 0; i < count; i++) {
        nvtxRangePop();
        operation();
    }
}

static void *end_elsewhere(void *context)
{
    MUST(cuCtxSetCurrent(context));
    operation();
    end_all();
    return NULL;
}

int main(int argc, char **argv)
{
    const char *form = argc > 2 ? argv[1] : "";
    pthread_t thread;
    count = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    names = argc > 3 ? (unsigned)atoi(argv[3]) : count;
    ids = calloc(count + 1, sizeof(*ids));
    if (!ids || names == 0)
        return 8;
    CUcontext context = gpu_start();
    MUST(cuMemAlloc(&memory, 64));
    bool pushed = strcmp(form, "push") == 0 || strcmp(form, "nested") == 0;
    if (pushed)
        push_all();
    else
        start_all();
    if (strcmp(form, "nested") == 0)
        pop_all();
    if (strcmp(form, "ended") == 0)
        end_all();
    if (strcmp(form, "across") == 0 &&
        (pthread_create(&thread, NULL, end_elsewhere, context) != 0 || pthread_join(thread, NULL) != 0))
        return 8;
    MUST(cuCtxSynchronize());
    free(ids);
    return 0;
}
