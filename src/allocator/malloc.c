/*
 * gputrace_malloc() and gputrace_free(), and how memory is reclaimed when it is exhausted (see
 * include/gputrace/allocator.h). Nothing here needs tracing.
 *
 * gputrace_torch_malloc() is for C++ callers that do not check for NULL. It throws without any C++ code here: PyTorch's
 * own exception if the process has loaded PyTorch, else std::bad_alloc if it has loaded C++'s library. This file is
 * compiled with -fexceptions, because the exception passes through it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <gputrace/allocator.h>
#include <gputrace/callbacks.h>

#include "allocator/heap.h"
#include "allocator/memory.h"
#include "common/clock.h"

#define RETRIES_MAX 8
#define FAILURE_CALLS_MAX 8

/* --- functions of the program that are called when memory is exhausted --- */

struct failure_call {
    gputrace_allocator_failure_fn *call;
    void *data;
};

static struct {
    pthread_mutex_t lock;
    struct failure_call list[FAILURE_CALLS_MAX];
    unsigned count;
} failure_calls = {.lock = PTHREAD_MUTEX_INITIALIZER};

int gputrace_allocator_on_failure(gputrace_allocator_failure_fn *call, void *data)
{
    pthread_mutex_lock(&failure_calls.lock);
    bool fits = call && failure_calls.count < FAILURE_CALLS_MAX;
    if (fits)
        failure_calls.list[failure_calls.count++] = (struct failure_call){call, data};
    pthread_mutex_unlock(&failure_calls.lock);
    return fits ? 0 : -1;
}

int gputrace_allocator_off_failure(gputrace_allocator_failure_fn *call, void *data)
{
    int result = -1;
    pthread_mutex_lock(&failure_calls.lock);
    for (unsigned i = 0; i < failure_calls.count && result != 0; i++) {
        struct failure_call *at = &failure_calls.list[i];
        if (at->call != call || at->data != data)
            continue;
        failure_calls.count--;
        memmove(at, at + 1, (failure_calls.count - i) * sizeof(*at));
        result = 0;
    }
    pthread_mutex_unlock(&failure_calls.lock);
    return result;
}

/* Calls the program's functions. Returns whether one wants the allocation to be tried again. An allocation inside of
 * such a function calls none. No lock is held while they run. */
static bool call_for_help(int device, size_t size, size_t held)
{
    static __thread bool calling;
    struct failure_call list[FAILURE_CALLS_MAX];
    if (calling)
        return false;
    pthread_mutex_lock(&failure_calls.lock);
    unsigned count = failure_calls.count;
    memcpy(list, failure_calls.list, sizeof(list));
    pthread_mutex_unlock(&failure_calls.lock);
    calling = true;
    bool again = false;
    for (unsigned i = 0; i < count && !again; i++)
        again = list[i].call(list[i].data, device, size, held) != 0;
    calling = false;
    return again;
}

/* --- allocation --- */

struct request {
    struct heap *heap;
    size_t size;
    CUstream stream;
    struct capture capture;
    CUresult result; /* result of the last failed attempt */
};

static struct block *allocate_block(struct request *request)
{
    struct heap *heap = request->heap;
    struct block *block = account_request(heap, request->size, request->stream, 0, &request->result);
    if (!block)
        return NULL;
    CUdeviceptr address = 0;
    CUmemoryPool memory = block->pool ? block->pool->memory : heap->memory;
    request->result = heap->gpu.cuda->cuMemAllocFromPoolAsync(&address, request->size, memory, request->stream);
    if (request->result != CUDA_SUCCESS) {
        account_cancel(heap, block);
        return NULL;
    }
    block->address = address;
    return block;
}

static void *attempt(struct request *request)
{
    struct heap *heap = request->heap;
    struct block *block = request->capture.active ? memory_allocate_captured(heap, request->size, request->stream,
                                                                             &request->capture, &request->result)
                                                  : allocate_block(request);
    if (!block)
        return NULL;
    void *pointer = (void *)(uintptr_t)block->address;
    uint64_t now = clock_now();
    heap_lock(heap);
    if (!request->capture.active)
        account_held(heap, block->capacity);
    bool done = account_allocated(heap, block, now);
    heap_unlock(heap);
    if (done)
        return pointer;
    request->result = CUDA_ERROR_OUT_OF_MEMORY;
    block->freed_in = request->stream;
    memory_release(heap, block);
    return NULL;
}

static void trim_pool(struct heap *heap, CUmemoryPool memory, void *unused)
{
    (void)unused;
    heap->gpu.cuda->cuMemPoolTrimTo(memory, 0);
}

static void trim(struct heap *heap)
{
    struct gpu_relaxed relaxed = gpu_relax(heap->gpu.cuda);
    memory_release_pending(heap);
    heap_each_pool(heap, trim_pool, NULL);
    gpu_unrelax(&relaxed);
}

/* Frees memory for another attempt. Returns false if there is no point in one. Unused memory of other pools, and memory
 * that the stream has yet to free, is not available to the device before. */
static bool reclaim(const struct request *request, unsigned tries)
{
    struct heap *heap = request->heap;
    bool limit = request->result == ACCOUNT_LIMIT;
    if (!(limit || request->result == CUDA_ERROR_OUT_OF_MEMORY) || tries == RETRIES_MAX)
        return false;
    if (tries == 0 && !limit) {
        if (!request->capture.active)
            heap->gpu.cuda->cuStreamSynchronize(request->stream);
        trim(heap);
        return true;
    }
    heap_lock(heap);
    uint64_t held = heap->stats.held_bytes.current;
    heap_unlock(heap);
    return call_for_help(heap->gpu.device, request->size, held);
}

/* Publishes a failure at the heap's limit: the driver is not asked then, so no CUDA call shows it in the trace. */
static void publish_failure(const struct request *request, uint64_t start)
{
    const struct gputrace_host *host = request->result == ACCOUNT_LIMIT ? gpu_host() : NULL;
    if (!host)
        return;
    gputrace_allocation_failed(host, &(struct gputrace_memory_allocation_failure){
                                         .call = {.start = start,
                                                  .end = clock_now(),
                                                  .function = "gputrace_malloc",
                                                  .context = request->heap->gpu.context,
                                                  .device = (uint32_t)request->heap->gpu.device,
                                                  .thread = heap_thread(),
                                                  .result = CUDA_ERROR_OUT_OF_MEMORY},
                                         .bytes = request->size,
                                         .pool = (uint64_t)(uintptr_t)request->heap->memory,
                                         .stream = request->stream,
                                         .stream_id = GPUTRACE_NO_STREAM,
                                         .kind = GPUTRACE_MEMORY_POOL,
                                     });
}

static void *try_again(struct request *request)
{
    struct heap *heap = request->heap;
    uint64_t start = clock_now();
    void *pointer = NULL;
    for (unsigned tries = 0; !pointer && reclaim(request, tries); tries++) {
        heap_lock(heap);
        heap->stats.retries++;
        heap_unlock(heap);
        pointer = attempt(request);
    }
    if (pointer)
        return pointer;
    heap_lock(heap);
    account_failed(heap, request->size, request->stream);
    heap_unlock(heap);
    publish_failure(request, start);
    return NULL;
}

void *gputrace_malloc(size_t size, int device, struct CUstream_st *stream)
{
    int saved = errno;
    void *pointer = NULL;
    struct heap *heap = size ? heap_of(device) : NULL;
    struct gpu_scope scope;
    if (heap && gpu_enter(&heap->gpu, &scope)) {
        struct request request = {
            .heap = heap, .size = size, .stream = stream, .capture = gpu_capture(&heap->gpu, stream)};
        if (!request.capture.active) /* pending blocks wait for the end of the capture anyway */
            memory_release_pending(heap);
        pointer = attempt(&request);
        if (!pointer)
            pointer = try_again(&request);
        gpu_leave(&heap->gpu, &scope);
    }
    errno = saved;
    return pointer;
}

/* --- free --- */

/* Returns true if HEAP had POINTER in use, or if CUDA is gone, as at the end of the process. */
static bool enter_and_free(struct heap *heap, const void *pointer, CUstream stream)
{
    struct gpu_scope scope;
    if (!gpu_enter(&heap->gpu, &scope))
        return true;
    const struct capture capture = gpu_capture(&heap->gpu, stream);
    bool found = memory_free(heap, pointer, stream, &capture);
    if (!capture.active)
        memory_release_pending(heap);
    gpu_leave(&heap->gpu, &scope);
    return found;
}

static void count_unknown(int device)
{
    struct heap *heap = heap_known(device);
    for (int i = 0; !heap && i < HEAPS_MAX; i++)
        heap = heap_known(i);
    if (!heap)
        return;
    heap_lock(heap);
    heap->stats.unknown_frees++;
    heap_unlock(heap);
}

void gputrace_free(void *pointer, size_t size, int device, struct CUstream_st *stream)
{
    (void)size;
    int saved = errno;
    struct heap *heap = heap_known(device);
    struct block *block;
    if (pointer && (!heap || !enter_and_free(heap, pointer, stream))) {
        heap = heap_lock_owner(pointer, device, &block); /* the caller passed the wrong device */
        if (heap)
            heap_unlock(heap);
        if (!heap || !enter_and_free(heap, pointer, stream))
            count_unknown(device);
    }
    errno = saved;
}

void gputrace_allocator_record_stream(void *pointer, struct CUstream_st *stream)
{
    struct block *block;
    struct heap *heap = pointer ? heap_lock_owner(pointer, 0, &block) : NULL;
    if (!heap)
        return;
    int failed = block_add_stream(block, stream);
    heap_unlock(heap);
    if (failed) /* no memory: the free will not wait for work that STREAM gets later */
        heap->gpu.cuda->cuStreamSynchronize(stream);
}

void gputrace_allocator_trim(void)
{
    for (int i = 0; i < HEAPS_MAX; i++) {
        struct heap *heap = heap_known(i);
        struct gpu_scope scope;
        if (!heap || !gpu_enter(&heap->gpu, &scope))
            continue;
        trim(heap);
        gpu_leave(&heap->gpu, &scope);
    }
}

void gputrace_allocator_init(int devices)
{
    (void)devices;
    cuda_calls();
}

/* --- gputrace_torch_malloc() --- */

/* Functions that throw, by their mangled names, which contain the types of their parameters:
 *      c10::detail::torchCheckFail(char const *function, char const *file, unsigned line, char const *message)
 *      std::__throw_bad_alloc()
 * Python loads extensions with local symbols, so each library is looked up by name. A library that is not loaded is not
 * loaded here. */
#define TORCH_LIBRARY "libc10.so"
#define TORCH_THROW "_ZN3c106detail14torchCheckFailEPKcS2_jS2_"
#define CXX_LIBRARY "libstdc++.so.6"
#define CXX_THROW "_ZSt17__throw_bad_allocv"

typedef void torch_throw_fn(const char *function, const char *file, unsigned line, const char *message);
typedef void cxx_throw_fn(void);

static void *find(const char *library, const char *name)
{
    void *loaded = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    return loaded ? dlsym(loaded, name) : NULL;
}

static void write_bytes(char *text, size_t size, uint64_t bytes)
{
    static const struct {
        unsigned shift;
        const char *unit;
    } units[] = {{30, "GiB"}, {20, "MiB"}, {10, "KiB"}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (bytes >> units[i].shift) {
            snprintf(text, size, "%.2f %s", (double)bytes / (double)(UINT64_C(1) << units[i].shift), units[i].unit);
            return;
        }
    }
    snprintf(text, size, "%u bytes", (unsigned)bytes);
}

/* The message begins like PyTorch's own, because programs look for that text. */
static void write_message(char *text, size_t size, size_t asked, int device)
{
    char wanted[32], held[32], limit[32];
    struct gputrace_allocator_stats stats;
    write_bytes(wanted, sizeof(wanted), asked);
    if (gputrace_allocator_stats(device, &stats) != 0) {
        snprintf(text, size, "CUDA out of memory. gputrace's allocator cannot give %s: there is no device %d", wanted,
                 device);
        return;
    }
    bool limited = stats.limit < stats.device_bytes;
    write_bytes(held, sizeof(held), stats.held_bytes.current);
    write_bytes(limit, sizeof(limit), limited ? stats.limit : stats.device_bytes);
    snprintf(text, size,
             "CUDA out of memory. gputrace's allocator cannot give %s on device %d: it holds %s of the %s that %s",
             wanted, device, held, limit, limited ? "the memory fraction allows" : "the device has");
}

/* Throws an exception. Returns if the process has neither library. */
static void throw_bad_alloc(size_t size, int device)
{
    char message[256];
    void *symbol = find(TORCH_LIBRARY, TORCH_THROW);
    if (symbol) {
        torch_throw_fn *torch_throw;
        memcpy(&torch_throw, &symbol, sizeof(symbol));
        write_message(message, sizeof(message), size, device);
        torch_throw("gputrace_torch_malloc", "libgputrace-allocator.so", 0, message);
    }
    symbol = find(CXX_LIBRARY, CXX_THROW);
    if (symbol) {
        cxx_throw_fn *cxx_throw;
        memcpy(&cxx_throw, &symbol, sizeof(symbol));
        cxx_throw();
    }
}

void *gputrace_torch_malloc(size_t size, int device, struct CUstream_st *stream)
{
    void *pointer = gputrace_malloc(size, device, stream);
    if (!pointer && size > 0)
        throw_bad_alloc(size, device);
    return pointer;
}
