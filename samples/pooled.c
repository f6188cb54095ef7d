/*
 * pooled: memory from gputrace's own allocator, gputrace/allocator.h: in streams, across streams, within a limit, in
 * graphs, in private pools.
 *
 * A correct trace holds one counter, "Memory in use: Pool", that rises and falls by the bytes below and ends at 0:
 * every allocation is a cuMemAllocFromPoolAsync, every free a cuMemFreeAsync. Memory that a capture takes is not a node
 * of the graph, and goes when the graph has gone. What the allocator says of itself at the end is the same as this
 * statement; the program fails if it is not. It needs no gputrace to run: it is linked with libgputrace-allocator.so.
 */
#include <cuda.h>
#include <gputrace/allocator.h>
#include <unistd.h>

#include "statement.h"

enum { DEVICE = 0, BLOCKS = 16, LAUNCHES = 3 };
static const size_t bytes = 1 << 20;

static struct gputrace_allocator_stats stats(void)
{
    struct gputrace_allocator_stats stats;
    if (gputrace_allocator_stats(DEVICE, &stats) != 0) {
        fprintf(stderr, "the allocator does not know device %d\n", (int)DEVICE);
        exit(1);
    }
    return stats;
}

static CUdeviceptr take(size_t size, CUstream stream)
{
    void *pointer = gputrace_malloc(size, DEVICE, stream);
    if (!pointer) {
        fprintf(stderr, "no memory: %zu bytes\n", size);
        exit(1);
    }
    state("api cuMemAllocFromPoolAsync");
    did_allocate("Pool", size);
    return (CUdeviceptr)(uintptr_t)pointer;
}

static void give(CUdeviceptr pointer, size_t size, CUstream stream)
{
    gputrace_free((void *)(uintptr_t)pointer, size, DEVICE, stream);
    state("api cuMemFreeAsync");
    did_release("Pool", size);
}

static void must_hold(CUdeviceptr pointer, size_t size, unsigned char value, CUstream stream)
{
    unsigned char *host = malloc(size);
    if (!host)
        exit(1);
    CALL(cuMemcpyDtoHAsync(host, pointer, size, stream));
    did_copy("DtoH", size);
    CALL(cuStreamSynchronize(stream));
    did_wait("Stream Sync");
    for (size_t i = 0; i < size; i++) {
        if (host[i] != value) {
            fprintf(stderr, "byte %zu is %u, not %u\n", i, host[i], value);
            exit(1);
        }
    }
    free(host);
}

static void set(CUdeviceptr pointer, size_t size, unsigned char value, CUstream stream)
{
    CALL(cuMemsetD8Async(pointer, value, size, stream));
    did_set(size);
}

/* Many sizes, and none of them disturbs another. */
static void in_one_stream(CUstream stream)
{
    CUdeviceptr blocks[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++) {
        blocks[i] = take(bytes / (i + 1), stream);
        set(blocks[i], bytes / (i + 1), (unsigned char)(i + 1), stream);
    }
    for (unsigned i = 0; i < BLOCKS; i += 5)
        must_hold(blocks[i], bytes / (i + 1), (unsigned char)(i + 1), stream);
    for (unsigned i = 0; i < BLOCKS; i++)
        give(blocks[i], bytes / (i + 1), stream);
}

/* Allocated and freed in one stream, used in another in between. */
static void across_streams(CUstream stream, CUstream other)
{
    CUdeviceptr block = take(bytes, stream);
    set(block, bytes, 1, stream);
    CALL(cuStreamSynchronize(stream));
    did_wait("Stream Sync");
    set(block, bytes, 2, other);
    gputrace_allocator_record_stream((void *)(uintptr_t)block, other);
    give(block, bytes, stream); /* when both are through */
    block = take(bytes, stream);
    set(block, bytes, 3, stream);
    must_hold(block, bytes, 3, stream);
    give(block, bytes, stream);
}

struct spare {
    CUdeviceptr block;
    CUstream stream;
};

static int give_spare(void *data, int device, size_t size, size_t held)
{
    struct spare *spare = data;
    printf("device %d has no %zu bytes beside %zu\n", device, size, held);
    if (!spare->block)
        return 0;
    give(spare->block, bytes, spare->stream);
    spare->block = 0;
    return 1;
}

/* Beyond the limit there is nothing, unless somebody makes space. */
static void within_a_limit(CUstream stream)
{
    struct spare spare = {take(bytes, stream), stream};
    uint64_t total = stats().device_bytes;
    if (gputrace_allocator_set_fraction(1.5 * (double)bytes / (double)total, DEVICE) != 0 ||
        gputrace_allocator_on_failure(give_spare, &spare) != 0) {
        fprintf(stderr, "the allocator takes no limit\n");
        exit(1);
    }
    CUdeviceptr block = take(bytes, stream); /* for which the spare one goes */
    if (gputrace_malloc(bytes, DEVICE, stream)) {
        fprintf(stderr, "there is memory beyond the limit\n");
        exit(1);
    }
    state_range("failed-allocation Pool", 1, 1, true, bytes);
    gputrace_allocator_off_failure(give_spare, &spare);
    gputrace_allocator_set_fraction(1, DEVICE);
    give(block, bytes, stream);
}

/* A graph whose memory was taken, and some of it freed, while it was captured. */
static void in_a_graph(CUstream stream, CUstream other)
{
    CUgraph graph;
    CUgraphExec launchable;
    CALL(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUdeviceptr result = take(bytes, stream), scratch = take(bytes, stream);
    state_count("api cuStreamSynchronize", 2); /* memory for captures is there when the call returns … */
    state_count("api cuStreamCreate", 2);      /* … so it is taken in one stream of its own, and goes in another */
    CALL(cuMemsetD8Async(scratch, 7, bytes, stream));
    CALL(cuMemcpyDtoDAsync(result, scratch, bytes, stream));
    gputrace_free((void *)(uintptr_t)scratch, bytes, DEVICE, stream); /* the graph holds it */
    void *again = gputrace_malloc(bytes, DEVICE, stream);             /* the same memory */
    CALL(cuStreamEndCapture(stream, &graph));
    CALL(cuGraphInstantiateWithFlags(&launchable, graph, 0));
    CALL(cuGraphDestroy(graph));
    for (int i = 0; i < LAUNCHES; i++) {
        set(result, bytes, 1, other);
        CALL(cuGraphLaunch(launchable, other));
        did_set(bytes);
        did_copy("DtoD", bytes);
        must_hold(result, bytes, 7, other);
    }
    CALL(cuGraphExecDestroy(launchable));
    gputrace_free((void *)(uintptr_t)result, bytes, DEVICE, other);
    gputrace_free(again, bytes, DEVICE, other);
    if ((CUdeviceptr)(uintptr_t)again != scratch) {
        fprintf(stderr, "memory that the capture had freed was not used again\n");
        exit(1);
    }
    for (int i = 0; i < 1000 && stats().held_bytes.current > 0; i++) {
        usleep(1000); /* CUDA calls back a little after the graph's end */
        gputrace_allocator_trim();
    }
    for (int i = 0; i < 2; i++) {
        state("api cuMemFreeAsync");
        did_release("Pool", bytes);
    }
}

/* Memory apart from the other. */
static void in_a_private_pool(CUstream stream)
{
    const struct gputrace_pool_id pool = {1, 0};
    gputrace_allocator_begin_pool(DEVICE, pool, NULL);
    CUdeviceptr block = take(bytes, stream);
    gputrace_allocator_end_pool(DEVICE, pool);
    set(block, bytes, 9, stream);
    must_hold(block, bytes, 9, stream);
    gputrace_allocator_release_pool(DEVICE, pool);
    give(block, bytes, stream);
}

/* What the allocator says is what the program did. */
static void compare(void)
{
    const struct gputrace_allocator_figure held = stats().held_bytes;
    const struct statement_memory *memory = statement_memory("Pool");
    printf("allocated %llu bytes in all, %llu at most, %llu now; reserved %llu\n", (unsigned long long)held.total,
           (unsigned long long)held.peak, (unsigned long long)held.current, (unsigned long long)stats().reserved_peak);
    if (held.total != memory->bytes || held.peak != memory->peak || held.current != memory->in_use ||
        held.freed != held.total || stats().failures != 1 || stats().unknown_frees != 0) {
        fprintf(stderr, "the allocator's statistics are not what the program did\n");
        exit(1);
    }
}

int main(void)
{
    CUcontext context;
    CUstream stream, other;
    CHECK(cuInit(0)); /* starts CUDA, and the tracer with it */
    CHECK(cuDevicePrimaryCtxRetain(&context, DEVICE));
    CHECK(cuCtxSetCurrent(context));
    CALL(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CALL(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    in_one_stream(stream);
    across_streams(stream, other);
    within_a_limit(stream);
    in_a_private_pool(stream);
    in_a_graph(stream, other);
    compare();
    CALL(cuStreamDestroy(other));
    CALL(cuStreamDestroy(stream));
    state_count("devices", 1);
    state_count("threads", 1);
    state_count("streams", 2);
    state_print();
    return 0;
}
