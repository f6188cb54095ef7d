/*
 * allocator.h: memory of the GPU from gputrace's own allocator, which keeps account of it.
 *
 * For PyTorch, as its pluggable allocator:
 *
 *     memory = torch.cuda.memory
 *     memory.change_current_allocator(memory.CUDAPluggableAllocator(LIBRARY, "gputrace_torch_malloc", "gputrace_free"))
 *
 * with LIBRARY the path of libgputrace-allocator.so; samples/train.py shows the rest. For C and C++:
 *
 *     #include <gputrace/allocator.h>            $ cc program.c -lgputrace-allocator
 *
 *     float *data = gputrace_malloc(bytes, device, stream);
 *     kernel<<<blocks, threads, 0, stream>>>(data);
 *     gputrace_free(data, bytes, device, stream);
 *
 * The library is separate from libgputrace.so, which traces, and works in any program, under `gputrace run` or not.
 * Under it the trace and the report show each allocation as "Pool" memory, because every one is a call of the driver.
 * CUDA is not linked: the first call looks for the driver.
 *
 * MEMORY comes from one pool of the driver's per device (cuMemPoolCreate), in stream order. Work that is put into
 * STREAM after gputrace_malloc() may use it. It can be allocated again once the work is done that the stream of
 * gputrace_free() had at that call. The host never waits. Pools keep what they have reserved of the device until
 * gputrace_allocator_trim(). A stream given to gputrace_malloc() must live until the memory is freed. A default stream
 * belongs to the current context. If no context is current, NULL is the legacy default stream of DEVICE, and the
 * device's primary context becomes current, as with CUDA's runtime.
 *
 * GRAPHS. While STREAM is being captured, an allocation does not become a node of the graph. The memory is allocated
 * outside of the capture, exists at once, and is held by the graph and by all graphs that are instantiated from it. So
 * a graph can be launched any number of times, even after the program has freed the memory. The memory is released when
 * the program has freed it and the graphs are gone. A capture reuses memory that is freed in its stream. Such an
 * allocation may wait for the driver, once.
 *
 * FAILURE. gputrace_malloc() returns NULL when memory is exhausted, or when it would exceed the fraction that
 * gputrace_allocator_set_fraction() allows. Before it fails, it releases memory that pools do not use, and calls the
 * functions registered with gputrace_allocator_on_failure(). PyTorch does not check for NULL, so it uses
 * gputrace_torch_malloc().
 *
 * All functions may be called from any thread at any time. None holds a lock while it calls CUDA, so gputrace's
 * callbacks (callbacks.h) may call them. In a forked child, where CUDA does not work, they do nothing. See
 * gputrace-allocator(3).
 *
 * C99 and later, C++11 and later; Linux on x86-64.
 */
#ifndef GPUTRACE_ALLOCATOR_H
#define GPUTRACE_ALLOCATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPUTRACE_ALLOCATOR_API __attribute__((visibility("default")))

struct CUstream_st; /* cudaStream_t and CUstream are pointers to it */

/* --- memory --- */

/* Returns SIZE bytes on DEVICE for work in STREAM, aligned to 256 bytes or more, with undefined content. Returns NULL
 * if there is no memory, or if SIZE is 0, which does not count as a failure. */
GPUTRACE_ALLOCATOR_API void *gputrace_malloc(size_t size, int device, struct CUstream_st *stream);

/* Frees POINTER once all work is done that STREAM and the streams recorded for POINTER have now. STREAM is usually the
 * stream that the memory was allocated for; if it is another stream, the caller orders it after that stream. NULL is
 * ignored. Pointers that are not allocated are ignored and counted. SIZE and DEVICE are ignored: the allocator
 * remembers both. */
GPUTRACE_ALLOCATOR_API void gputrace_free(void *pointer, size_t size, int device, struct CUstream_st *stream);

/* gputrace_malloc() for C++ programs that do not expect NULL: it throws instead. In a process with PyTorch it throws
 * PyTorch's own exception, in Python a RuntimeError "CUDA out of memory …"; elsewhere std::bad_alloc. Without C++'s
 * library, or with that linked into the program (-static-libstdc++), it returns NULL. */
GPUTRACE_ALLOCATOR_API void *gputrace_torch_malloc(size_t size, int device, struct CUstream_st *stream);

/* Declares that work in STREAM uses POINTER as well: gputrace_free() orders the free after the work that STREAM has at
 * that time. STREAM must live until then. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_record_stream(void *pointer, struct CUstream_st *stream);

/* Returns the beginning of the allocation that contains POINTER, and stores its size in *SIZE unless SIZE is NULL.
 * Returns NULL, and the size 0, if no allocation contains POINTER. */
GPUTRACE_ALLOCATOR_API void *gputrace_allocator_base(void *pointer, size_t *size);

/* Gives unused memory of the pools back to the devices. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_trim(void);

/* Finds the driver now instead of at the first allocation. DEVICES is ignored. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_init(int devices);

/* --- limits; each function returns 0, or -1 if the device does not exist or the argument is not valid --- */

/* Limits the program to FRACTION (0 … 1) of the memory of DEVICE; allocations beyond the limit fail. FRACTION 1 or
 * more sets no limit but the device's. Existing allocations stay. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_set_fraction(double fraction, int device);

/* When the host waits for work, pools of DEVICE keep at most BYTES unused bytes and return the rest to the device. The
 * default, UINT64_MAX, keeps everything. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_set_release_threshold(int device, uint64_t bytes);

/* Lets kernels on PEER use existing and future memory of DEVICE. Copies do not need this. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_enable_peer(int device, int peer);

/* --- private pools --- */

/* The name of a private pool, like PyTorch's MempoolId_t. {0, 0} is no pool. */
struct gputrace_pool_id {
    uint64_t first, second;
};

/* Until gputrace_allocator_end_pool(), allocations of this thread on DEVICE, and allocations for any stream that is
 * being captured, come from POOL, which is created if it does not exist. Captures that allocate from one pool reuse
 * what earlier captures have freed: launch their graphs in the order of the captures, not at the same time. FILTER is
 * ignored: PyTorch passes a std::function by value, for which the ABI of x86-64 passes a pointer to an object that the
 * caller destroys. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_begin_pool(int device, struct gputrace_pool_id pool, void *filter);
GPUTRACE_ALLOCATOR_API void gputrace_allocator_end_pool(int device, struct gputrace_pool_id pool);
/* Undoes one gputrace_allocator_begin_pool(). After the last one, the pool is destroyed with the last of its memory. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_release_pool(int device, struct gputrace_pool_id pool);

/* --- statistics --- */

struct gputrace_allocator_figure {
    uint64_t current;
    uint64_t peak;  /* since the start or the last gputrace_allocator_reset_peak() */
    uint64_t total; /* all that was added since the start or the last gputrace_allocator_reset_accumulated() */
    uint64_t freed; /* all that was subtracted since the start or that reset */
};

struct gputrace_allocator_stats {
    struct gputrace_allocator_figure allocations;     /* allocations that the program has */
    struct gputrace_allocator_figure allocated_bytes; /* bytes of these allocations */
    /* Memory that the driver has allocated and not yet freed: allocated_bytes, and memory that only graphs hold. It
     * equals the report's memory in use of the kind Pool. */
    struct gputrace_allocator_figure held_bytes;
    uint64_t failures;                      /* allocations that returned NULL */
    uint64_t retries;                       /* attempts after memory was released */
    uint64_t unknown_frees;                 /* frees of pointers that were not allocated */
    uint64_t failed_frees;                  /* frees in which the driver failed: the memory is lost */
    uint64_t reserved_bytes, reserved_peak; /* device memory that the pools have reserved */
    uint64_t limit;                         /* limit of held_bytes; UINT64_MAX: none */
    uint64_t device_bytes;                  /* memory of the device */
    uint64_t reserved[8];                   /* 0; for later versions */
};

struct gputrace_allocator_stream_stats {
    struct CUstream_st *stream; /* stream of the allocations */
    struct gputrace_allocator_figure allocations, allocated_bytes;
    uint64_t failures;
    uint64_t reserved[4];
};

/* Fills in *STATS. Returns 0, or -1 if the device does not exist. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_stats(int device, struct gputrace_allocator_stats *stats);
/* Fills in *STATS for one stream of DEVICE, with zeros if nothing was allocated for the stream. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_stream_stats(int device, struct CUstream_st *stream,
                                                           struct gputrace_allocator_stream_stats *stats);
/* Writes statistics at STATS for at most COUNT of the streams of DEVICE for which memory was allocated. Returns the
 * number of all such streams. */
GPUTRACE_ALLOCATOR_API size_t gputrace_allocator_streams(int device, struct gputrace_allocator_stream_stats *stats,
                                                         size_t count);
/* reset_peak sets peaks to the current values; reset_accumulated sets totals and counts of failures, retries and frees
 * to 0. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_reset_peak(int device);
GPUTRACE_ALLOCATOR_API void gputrace_allocator_reset_accumulated(int device);

struct gputrace_allocator_allocation {
    void *pointer;
    size_t bytes;
    struct CUstream_st *stream; /* stream of the allocation */
    uint64_t time;              /* CLOCK_REALTIME, ns */
    uint64_t sequence;          /* number of the event on its device, from 1 */
    int32_t device;
    uint32_t thread; /* gettid() */
};

typedef int gputrace_allocator_allocation_fn(void *data, const struct gputrace_allocator_allocation *allocation);

/* Calls EACH for each allocation on DEVICE, or on every device if DEVICE is -1, in the order of allocation, until EACH
 * returns non-zero. Returns that value, or 0; returns -1 also if the host has no memory or the device does not exist.
 */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_snapshot(int device, gputrace_allocator_allocation_fn *each, void *data);

enum gputrace_allocator_what { GPUTRACE_ALLOCATED = 1, GPUTRACE_FREED = 2, GPUTRACE_FAILED = 3 };

struct gputrace_allocator_event {
    uint64_t time;              /* CLOCK_REALTIME, ns */
    uint64_t sequence;          /* number of the event on its device, from 1 */
    void *pointer;              /* NULL if the allocation failed */
    size_t bytes;               /* of the allocation */
    uint64_t held;              /* held_bytes after the event */
    struct CUstream_st *stream; /* stream of the call */
    uint32_t what;              /* enum gputrace_allocator_what */
    uint32_t thread;            /* gettid() */
};

/* From now on keeps the last COUNT events of DEVICE, and discards the events kept before. COUNT 0 keeps none. Returns
 * 0, or -1 if the host has no memory or the device does not exist. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_history(int device, size_t count);
/* Writes the last COUNT of the kept events at EVENTS, oldest first. Returns the number written. */
GPUTRACE_ALLOCATOR_API size_t gputrace_allocator_history_read(int device, struct gputrace_allocator_event *events,
                                                              size_t count);

/* A function called on the allocating thread when SIZE bytes cannot be allocated on DEVICE while HELD bytes are held.
 * It may free memory, and returns non-zero to have the allocation tried again, 8 times at most. A failure of an
 * allocation that this function makes itself calls no function. */
typedef int gputrace_allocator_failure_fn(void *data, int device, size_t size, size_t held);

/* Adds or removes CALL with DATA. Adding returns -1 if 8 functions are there already; removing returns -1 if CALL was
 * not added with DATA. Both return 0 otherwise. The functions are called in the order of adding until one returns
 * non-zero. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_on_failure(gputrace_allocator_failure_fn *call, void *data);
GPUTRACE_ALLOCATOR_API int gputrace_allocator_off_failure(gputrace_allocator_failure_fn *call, void *data);

#ifdef __cplusplus
}
#endif

#endif
