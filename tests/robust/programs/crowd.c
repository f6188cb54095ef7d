/*
 * Eight threads that mark, launch, copy, set, allocate, record events and ask, each on a stream of its own, until they
 * are killed. The odd threads' kernels are functions of a module, the even ones' those of a library.
 *
 * Its pid is written to stdout when the threads begin. Nobody who forgot to kill it keeps it for long.
 *
 * The file "done" says what had returned: a count for each thread and sort of thing, in memory that outlives the
 * program, goes up after each call. It is read by tests/bench/kills_check, which knows the sorts by their names:
 *
 *   api NAME       calls of this function of the driver's      ranges   NVTX ranges that were pushed
 *   kernel NAME    launches of this kernel                     marks    NVTX marks
 *   copy HtoD, copy DtoH, set                                  allocate, release   memory, of whatever kind
 */
#include "gpu.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 8
#define KERNELS 32u
#define SAME 12u /* rounds until a kernel comes that its thread has not launched */
#define BYTES 2048u
#define PAUSE_US 4000u
#define LIFE_S 60u

#define CALLS(X)          \
    X(cuStreamCreate)     \
    X(cuEventCreate)      \
    X(cuMemHostAlloc)     \
    X(cuLaunchKernel)     \
    X(cuMemcpyHtoDAsync)  \
    X(cuMemcpyDtoHAsync)  \
    X(cuMemsetD8Async)    \
    X(cuMemAllocAsync)    \
    X(cuMemFreeAsync)     \
    X(cuMemAlloc)         \
    X(cuMemFree)          \
    X(cuEventRecord)      \
    X(cuEventQuery)       \
    X(cuEventSynchronize) \
    X(cuStreamQuery)      \
    X(cuStreamSynchronize)

#define EFFECTS(X)          \
    X(HTOD, "copy HtoD")    \
    X(DTOH, "copy DtoH")    \
    X(SET, "set")           \
    X(ALLOCATE, "allocate") \
    X(RELEASE, "release")   \
    X(RANGES, "ranges")     \
    X(MARKS, "marks")

enum sort {
#define SORT(function) CALL_##function,
    CALLS(SORT)
#undef SORT
#define SORT(sort, name) sort,
        EFFECTS(SORT)
#undef SORT
            LIBRARY_KERNEL,
    MODULE_KERNEL = LIBRARY_KERNEL + KERNELS,
    SORTS = MODULE_KERNEL + KERNELS
};

static struct done {
    uint64_t sorts, threads;
    char names[SORTS][32];
    struct counts {
        uint64_t thread; /* its id, 0 until it is known */
        uint64_t of[SORTS];
    } counts[THREADS];
} *done;

static struct {
    CUcontext context;
    CUlibrary library;
    CUmodule module;
} shared;

struct worker {
    unsigned number, round, seed;
    struct counts *counts;
    CUstream stream;
    CUevent event;
    CUfunction kernels[KERNELS];
    CUdeviceptr memory;
    char *there, *back; /* what is copied from is pinned, what is copied to is for half of the threads */
    char pageable[BYTES];
};

/* --- what had returned --- */

static void count(struct worker *worker, unsigned sort)
{
    __atomic_store_n(&worker->counts->of[sort], worker->counts->of[sort] + 1, __ATOMIC_RELEASE);
}

#define CALL(worker, function, ...)                 \
    do {                                            \
        gpu_must(function(__VA_ARGS__), #function); \
        count(worker, CALL_##function);             \
    } while (0)

static void name_kernel(char *name, size_t space, unsigned sort)
{
    unsigned library = sort < MODULE_KERNEL;
    snprintf(name, space, "crowd_%s_%u", library ? "library" : "module",
             sort - (library ? LIBRARY_KERNEL : MODULE_KERNEL));
}

static void name_sorts(void)
{
#define NAME(function) snprintf(done->names[CALL_##function], sizeof(done->names[0]), "api %s", #function);
    CALLS(NAME)
#undef NAME
#define NAME(sort, name) snprintf(done->names[sort], sizeof(done->names[0]), "%s", name);
    EFFECTS(NAME)
#undef NAME
    for (unsigned sort = LIBRARY_KERNEL; sort < SORTS; sort++) {
        memcpy(done->names[sort], "kernel ", 7);
        name_kernel(done->names[sort] + 7, sizeof(done->names[0]) - 7, sort);
    }
    done->sorts = SORTS;
    done->threads = THREADS;
}

static void open_done(void)
{
    int fd = open("done", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*done)) != 0)
        exit(8);
    done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (done == MAP_FAILED)
        exit(8);
    close(fd);
    name_sorts();
}

/* --- the work --- */

static const char *image(unsigned first)
{
    static char text[KERNELS * 64 + 128];
    size_t used = (size_t)snprintf(text, sizeof(text), ".version 7.0\n.target sm_52\n.address_size 64\n");
    for (unsigned i = 0; i < KERNELS; i++) {
        char name[32];
        name_kernel(name, sizeof(name), first + i);
        used += (size_t)snprintf(text + used, sizeof(text) - used, ".visible .entry %s()\n{\nret;\n}\n", name);
    }
    return text;
}

static CUfunction kernel(struct worker *worker, unsigned i, unsigned sort)
{
    char name[32];
    CUkernel got;
    if (worker->kernels[i])
        return worker->kernels[i];
    name_kernel(name, sizeof(name), sort);
    if (worker->number % 2) {
        MUST(cuModuleGetFunction(&worker->kernels[i], shared.module, name));
    } else {
        MUST(cuLibraryGetKernel(&got, shared.library, name));
        worker->kernels[i] = (CUfunction)got;
    }
    return worker->kernels[i];
}

static void launch(struct worker *worker)
{
    unsigned i = (worker->round / SAME + worker->number) % KERNELS;
    unsigned sort = (worker->number % 2 ? MODULE_KERNEL : LIBRARY_KERNEL) + i;
    CALL(worker, cuLaunchKernel, kernel(worker, i, sort), 1, 1, 1, 32, 1, 1, 0, worker->stream, NULL, NULL);
    count(worker, sort);
}

static void copy_and_set(struct worker *worker)
{
    CALL(worker, cuMemcpyHtoDAsync, worker->memory, worker->there, BYTES, worker->stream);
    count(worker, HTOD);
    CALL(worker, cuMemsetD8Async, worker->memory, 1, BYTES / 2, worker->stream);
    count(worker, SET);
    CALL(worker, cuMemcpyDtoHAsync, worker->back, worker->memory, BYTES, worker->stream);
    count(worker, DTOH);
}

static void allocate_in_stream(struct worker *worker)
{
    CUdeviceptr memory;
    CALL(worker, cuMemAllocAsync, &memory, BYTES, worker->stream);
    count(worker, ALLOCATE);
    launch(worker);
    CALL(worker, cuMemFreeAsync, memory, worker->stream);
    count(worker, RELEASE);
}

static void allocate(struct worker *worker)
{
    CUdeviceptr memory;
    CALL(worker, cuMemAlloc, &memory, BYTES);
    count(worker, ALLOCATE);
    CALL(worker, cuMemFree, memory);
    count(worker, RELEASE);
}

/* What may be answered with "not yet" has returned all the same. */
static void ask(struct worker *worker)
{
    cuEventQuery(worker->event);
    count(worker, CALL_cuEventQuery);
    cuStreamQuery(worker->stream);
    count(worker, CALL_cuStreamQuery);
}

static void wait_for_all(struct worker *worker)
{
    CALL(worker, cuEventSynchronize, worker->event);
    CALL(worker, cuStreamSynchronize, worker->stream);
}

static void one_round(struct worker *worker)
{
    nvtxRangePushA("round");
    count(worker, RANGES);
    launch(worker);
    copy_and_set(worker);
    allocate_in_stream(worker);
    CALL(worker, cuEventRecord, worker->event, worker->stream);
    nvtxMarkA("recorded");
    count(worker, MARKS);
    if (worker->round % 4 == 1)
        ask(worker);
    if (worker->round % 8 == 3)
        allocate(worker);
    if (worker->round % 16 == 7)
        wait_for_all(worker);
    nvtxRangePop();
    worker->round++;
}

static void begin(struct worker *worker)
{
    worker->seed = worker->number;
    worker->counts = &done->counts[worker->number];
    worker->counts->thread = (uint64_t)syscall(SYS_gettid);
    worker->back = worker->pageable;
    MUST(cuCtxSetCurrent(shared.context));
    CALL(worker, cuStreamCreate, &worker->stream, CU_STREAM_NON_BLOCKING);
    CALL(worker, cuEventCreate, &worker->event, CU_EVENT_DISABLE_TIMING);
    CALL(worker, cuMemHostAlloc, (void **)&worker->there, (size_t)BYTES * 2, 0);
    count(worker, ALLOCATE);
    if (worker->number / 2 % 2)
        worker->back = worker->there + BYTES;
    CALL(worker, cuMemAlloc, &worker->memory, BYTES);
    count(worker, ALLOCATE);
}

/* With pauses, for the trace is to be looked at. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    begin(worker);
    for (;;) {
        one_round(worker);
        usleep((unsigned)rand_r(&worker->seed) % PAUSE_US);
    }
    return NULL;
}

int main(void)
{
    static struct worker workers[THREADS];
    pthread_t thread;
    open_done();
    shared.context = gpu_start();
    MUST(cuLibraryLoadData(&shared.library, image(LIBRARY_KERNEL), NULL, NULL, 0, NULL, NULL, 0));
    MUST(cuModuleLoadData(&shared.module, image(MODULE_KERNEL)));
    alarm(LIFE_S);
    if (dprintf(STDOUT_FILENO, "%d\n", (int)getpid()) < 0)
        return 5;
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].number = i;
        if (pthread_create(&thread, NULL, work, &workers[i]) != 0)
            return 7;
    }
    pthread_join(thread, NULL);
    return 6;
}
