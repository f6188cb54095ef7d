/*
 * Small all-reduces of several GPUs of one process, as nccl-tests does them (all_reduce_perf -g GPUS): what is measured
 * by tests/bench/small_collectives.
 *
 *     small_collectives LIBNCCL GPUS
 *
 * It makes a communicator with ncclCommInitAll() and prints `ready`. Then each line of standard input asks for COUNT
 * all-reduces of BYTES, in place, one group for each; they are enqueued one after another and waited for at the end.
 * The answer is two numbers, microseconds of each all-reduce: in all, and till the last was enqueued.
 */
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GPUS_MOST = 16, WARM_UP = 20, FLOAT = 7, SUM = 0 };
#define BYTES_MOST ((size_t)64 << 20)

/* The functions of NCCL 2, whose header need not be there. */
static struct {
    int (*init)(void **communicators, int count, const int *devices);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*all_reduce)(const void *from, void *to, size_t count, int type, int op, void *communicator, cudaStream_t);
} nccl;

static struct {
    int count;
    void *communicators[GPUS_MOST], *buffers[GPUS_MOST];
    cudaStream_t streams[GPUS_MOST];
} gpus;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "small_collectives: %s: %s\n", what, why);
    exit(1);
}

static void must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        fail(what, cudaGetErrorString(error));
}
#define MUST(call) must(call, #call)

static void must_nccl(int result, const char *what)
{
    char why[32];
    snprintf(why, sizeof(why), "NCCL's error %d", result);
    if (result != 0)
        fail(what, why);
}
#define MUST_NCCL(call) must_nccl(call, #call)

static void load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail(path, dlerror());
    const struct {
        const char *name;
        void *place;
    } functions[] = {{"ncclCommInitAll", &nccl.init},
                     {"ncclGroupStart", &nccl.group_start},
                     {"ncclGroupEnd", &nccl.group_end},
                     {"ncclAllReduce", &nccl.all_reduce}};
    for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
        void *found = dlsym(library, functions[i].name);
        if (!found)
            fail(path, dlerror());
        memcpy(functions[i].place, &found, sizeof(found));
    }
}

static void start(void)
{
    for (int i = 0; i < gpus.count; i++) {
        MUST(cudaSetDevice(i));
        MUST(cudaMalloc(&gpus.buffers[i], BYTES_MOST));
        MUST(cudaMemset(gpus.buffers[i], 0, BYTES_MOST));
        MUST(cudaStreamCreateWithFlags(&gpus.streams[i], cudaStreamNonBlocking));
    }
    MUST_NCCL(nccl.init(gpus.communicators, gpus.count, NULL));
}

static void enqueue(size_t bytes, int count)
{
    for (int i = 0; i < count; i++) {
        MUST_NCCL(nccl.group_start());
        for (int gpu = 0; gpu < gpus.count; gpu++)
            MUST_NCCL(nccl.all_reduce(gpus.buffers[gpu], gpus.buffers[gpu], bytes / 4, FLOAT, SUM,
                                      gpus.communicators[gpu], gpus.streams[gpu]));
        MUST_NCCL(nccl.group_end());
    }
}

static void wait_for_all(void)
{
    for (int gpu = 0; gpu < gpus.count; gpu++)
        MUST(cudaStreamSynchronize(gpus.streams[gpu]));
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void answer(size_t bytes, int count)
{
    enqueue(bytes, WARM_UP);
    wait_for_all();
    double begun = now_us();
    enqueue(bytes, count);
    double enqueued = now_us();
    wait_for_all();
    printf("%.4f %.4f\n", (now_us() - begun) / count, (enqueued - begun) / count);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char line[128];
    int count;
    size_t bytes;
    if (argc != 3 || (gpus.count = atoi(argv[2])) < 1 || gpus.count > GPUS_MOST)
        fail("usage", "small_collectives LIBNCCL GPUS");
    load(argv[1]);
    start();
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        if (sscanf(line, "%zu %d", &bytes, &count) != 2 || bytes > BYTES_MOST || count < 1)
            fail("it is not BYTES COUNT", line);
        answer(bytes, count);
    }
    return 0;
}
