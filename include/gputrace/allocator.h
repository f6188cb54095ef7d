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
 * STREAM after gputrace_malloc() may use it. It can be allocated again when the work that the stream of gputrace_free()
 * had by then is done. The host never waits. Pools keep what they have reserved of the device until
 * gputrace_allocator_trim(). A stream given to gputrace_malloc() must live until the memory is freed. A default stream
 * is that of the current context. If no context is current, NULL is the legacy default stream of DEVICE, and the
 * device's primary context becomes current, as with CUDA's runtime.
 *
 * GRAPHS. While STREAM is being captured, an allocation does not become a node of the graph. The memory is allocated
 * outside of the capture, is there at once, and is held by the graph and by all graphs that are instantiated of it. So
 * a graph can be launched any number of times, even after the program has freed the memory. The memory is released when
 * the program has freed it and the graphs are gone. The same capture uses again what is freed in its stream. Such an
 * allocation may wait for the driver, once.
 *
 * FAILURE. gputrace_malloc() returns NULL when memory is exhausted, or no more within the fraction that
 * gputrace_allocator_set_fraction() allows. Before it fails it releases memory that pools do not use, and calls the
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

/* Returns SIZE bytes on DEVICE for work in STREAM, aligned to 256 bytes or more, with undefined content. NULL: there is
 * no memory, or SIZE is 0, which is not counted as a failure. */
GPUTRACE_ALLOCATOR_API void *gputrace_malloc(size_t size, int device, struct CUstream_st *stream);

/* Frees POINTER when the work is done that STREAM and the streams recorded for POINTER have by now. Usually STREAM is
 * the one that the memory was allocated for; if it is another one, the caller orders it after that one. NULL is
 * ignored. Pointers that are not allocated are ignored and counted. SIZE and DEVICE are ignored, because they are
 * known. */
GPUTRACE_ALLOCATOR_API void gputrace_free(void *pointer, size_t size, int device, struct CUstream_st *stream);

/* gputrace_malloc() for C++ programs that do not expect NULL: it throws instead. In a process with PyTorch it throws
 * PyTorch's own exception, in Python a RuntimeError "CUDA out of memory …"; elsewhere std::bad_alloc. Without C++'s
 * library, or with that linked into the program (-static-libstdc++), it returns NULL. */
GPUTRACE_ALLOCATOR_API void *gputrace_torch_malloc(size_t size, int device, struct CUstream_st *stream);

/* Work in STREAM uses POINTER as well: gputrace_free() orders the free after the work that STREAM has by then. STREAM
 * must live until then. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_record_stream(void *pointer, struct CUstream_st *stream);

/* Returns the beginning of the allocation that POINTER lies in, and its bytes in *SIZE, which may be NULL. NULL and 0:
 * POINTER lies in none. */
GPUTRACE_ALLOCATOR_API void *gputrace_allocator_base(void *pointer, size_t *size);

/* Returns unused memory of the pools to the devices. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_trim(void);

/* Finds the driver, which otherwise the first allocation does. DEVICES is ignored. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_init(int devices);

/* --- limits; each returns 0, or -1: the device does not exist, or the argument is not valid --- */

/* The program may hold FRACTION (0 … 1) of all memory of DEVICE; beyond it, allocations fail. 1 and more: no limit but
 * the device's. Existing allocations stay. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_set_fraction(double fraction, int device);

/* When the host waits for work, pools of DEVICE keep at most so many unused bytes; the rest goes back to the device.
 * UINT64_MAX, all of it, is the default. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_set_release_threshold(int device, uint64_t bytes);

/* Kernels on PEER may use memory of DEVICE, existing and future. Copies do not need it. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_enable_peer(int device, int peer);

/* --- private pools --- */

/* Names a private pool, as PyTorch's MempoolId_t does. Both 0 is no pool. */
struct gputrace_pool_id {
    uint64_t first, second;
};

/* Until gputrace_allocator_end_pool(), allocations of DEVICE come from POOL, which is created if it does not exist:
 * those of this thread, and those for a stream that is being captured. Captures that allocate from one pool use again
 * what earlier captures have freed: launch their graphs in the order of the captures, not at the same time. FILTER is
 * ignored: PyTorch passes a std::function by value, for which the ABI of x86-64 passes a pointer to an object that the
 * caller destroys. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_begin_pool(int device, struct gputrace_pool_id pool, void *filter);
GPUTRACE_ALLOCATOR_API void gputrace_allocator_end_pool(int device, struct gputrace_pool_id pool);
/* After as many calls as there were of gputrace_allocator_begin_pool(), the pool goes with the last of its memory. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_release_pool(int device, struct gputrace_pool_id pool);

/* --- statistics --- */

struct gputrace_allocator_figure {
    uint64_t current;
    uint64_t peak;  /* since the start, or gputrace_allocator_reset_peak() */
    uint64_t total; /* all that was added since the start, or gputrace_allocator_reset_accumulated() */
    uint64_t freed; /* all that was subtracted, likewise */
};

struct gputrace_allocator_stats {
    struct gputrace_allocator_figure allocations;     /* that the program has */
    struct gputrace_allocator_figure allocated_bytes; /* their bytes */
    /* Allocated by the driver and not yet freed: allocated_bytes, and what only graphs hold. The same as the report's
     * memory in use of the kind Pool. */
    struct gputrace_allocator_figure held_bytes;
    uint64_t failures;                      /* allocations that returned NULL */
    uint64_t retries;                       /* attempts after memory was released */
    uint64_t unknown_frees;                 /* of pointers that were not allocated */
    uint64_t failed_frees;                  /* that the driver failed to do: the memory is lost */
    uint64_t reserved_bytes, reserved_peak; /* that the pools have reserved of the device */
    uint64_t limit;                         /* of held_bytes; UINT64_MAX: none */
    uint64_t device_bytes;                  /* that the device has */
    uint64_t reserved[8];                   /* 0; for later versions */
};

struct gputrace_allocator_stream_stats {
    struct CUstream_st *stream; /* that memory was allocated for */
    struct gputrace_allocator_figure allocations, allocated_bytes;
    uint64_t failures;
    uint64_t reserved[4];
};

/* Fills in *STATS. Returns 0, or -1: the device does not exist. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_stats(int device, struct gputrace_allocator_stats *stats);
/* The statistics of one stream of DEVICE; zeros if nothing was allocated for it. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_stream_stats(int device, struct CUstream_st *stream,
                                                           struct gputrace_allocator_stream_stats *stats);
/* Writes the statistics of the first COUNT streams of DEVICE that memory was allocated for at STATS. Returns the number
 * of all such streams. */
GPUTRACE_ALLOCATOR_API size_t gputrace_allocator_streams(int device, struct gputrace_allocator_stream_stats *stats,
                                                         size_t count);
/* The first sets peaks to the current values, the second sets totals and counts of failures, retries and frees to 0. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_reset_peak(int device);
GPUTRACE_ALLOCATOR_API void gputrace_allocator_reset_accumulated(int device);

struct gputrace_allocator_allocation {
    void *pointer;
    size_t bytes;
    struct CUstream_st *stream; /* it was allocated for */
    uint64_t time;              /* CLOCK_REALTIME, ns */
    uint64_t sequence;          /* number of the event on its device, from 1 */
    int32_t device;
    uint32_t thread; /* gettid() */
};

typedef int gputrace_allocator_allocation_fn(void *data, const struct gputrace_allocator_allocation *allocation);

/* Calls EACH for each allocation on DEVICE, or on every device for -1, in the order of allocation, until it returns
 * non-zero. Returns that, else 0; -1 also when the host has no memory or the device does not exist. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_snapshot(int device, gputrace_allocator_allocation_fn *each, void *data);

enum gputrace_allocator_what { GPUTRACE_ALLOCATED = 1, GPUTRACE_FREED = 2, GPUTRACE_FAILED = 3 };

struct gputrace_allocator_event {
    uint64_t time;              /* CLOCK_REALTIME, ns */
    uint64_t sequence;          /* number of the event on its device, from 1 */
    void *pointer;              /* NULL: the allocation failed */
    size_t bytes;               /* of the allocation */
    uint64_t held;              /* held_bytes after the event */
    struct CUstream_st *stream; /* of the call */
    uint32_t what;              /* enum gputrace_allocator_what */
    uint32_t thread;            /* gettid() */
};

/* Keeps the last COUNT events of DEVICE from now on, and forgets those kept before; 0 keeps none. Returns 0, or -1: the
 * host has no memory, or the device does not exist. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_history(int device, size_t count);
/* Writes the last COUNT of the kept events at EVENTS, the oldest first. Returns the number written. */
GPUTRACE_ALLOCATOR_API size_t gputrace_allocator_history_read(int device, struct gputrace_allocator_event *events,
                                                              size_t count);

/* Called when SIZE bytes cannot be allocated on DEVICE, with HELD bytes held, on the allocating thread. It may free
 * memory, and returns non-zero to have the allocation tried again, 8 times at most. An allocation of its own that fails
 * calls no such function. */
typedef int gputrace_allocator_failure_fn(void *data, int device, size_t size, size_t held);

/* Adds CALL, or removes it: the same function with the same data. Returns 0, or -1: there are 8 already, or it was not
 * added. They are called in order until one returns non-zero. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_on_failure(gputrace_allocator_failure_fn *call, void *data);
GPUTRACE_ALLOCATOR_API int gputrace_allocator_off_failure(gputrace_allocator_failure_fn *call, void *data);

#ifdef __cplusplus
}
#endif

#endif
