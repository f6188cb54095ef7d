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
 * MEMORY comes from a pool of the driver's for each device (cuMemPoolCreate), in the order of a stream: it may be used
 * by work that is put into STREAM after gputrace_malloc(), and is given to others when the work before gputrace_free()
 * in the stream that this names is done. The host never waits. What pools have taken from the device they keep, until
 * gputrace_allocator_trim(). Each stream given to gputrace_malloc() must live until the memory is freed. A default
 * stream is that of the context that is current, or NULL for the legacy one of DEVICE where none is current; then the
 * device's primary context is made current, as CUDA's runtime does.
 *
 * GRAPHS. While STREAM is being captured, memory is not a node of the graph: it is taken outside of the capture, there
 * at once, and held by the graph and all that is instantiated of it, so a graph can be launched as often as one likes,
 * also when the program has freed the memory since; it goes when the program has freed it and the graphs are gone. What
 * is freed in the capture's stream is used again by the same capture. Taking it may wait for the driver, once.
 *
 * FAILURE. gputrace_malloc() gives NULL when there is no memory, or no more within the fraction that
 * gputrace_allocator_set_fraction() allows; before, memory that pools do not use is given back, and those who
 * registered with gputrace_allocator_on_failure() are asked for help. PyTorch does not look whether it got NULL, so it
 * takes gputrace_torch_malloc().
 *
 * All functions may be called from any thread at any time. None locks while it calls CUDA, so callbacks of gputrace's
 * (callbacks.h) may call them. In a forked child, where CUDA does not work, they do nothing. See gputrace-allocator(3).
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

/* SIZE bytes on DEVICE for work in STREAM, aligned to 256 bytes or more; their content is not defined. NULL: none; also
 * for SIZE 0, which is no failure. */
GPUTRACE_ALLOCATOR_API void *gputrace_malloc(size_t size, int device, struct CUstream_st *stream);

/* Frees POINTER when the work in STREAM so far is done, and that in the streams recorded for it. Usually STREAM is the
 * one it was allocated for; if it is not, the work in that one must be done before. NULL is ignored; pointers that are
 * not, or no longer, allocated are ignored and counted. What SIZE and DEVICE are is known here: they are not looked
 * at, and may be 0. */
GPUTRACE_ALLOCATOR_API void gputrace_free(void *pointer, size_t size, int device, struct CUstream_st *stream);

/* gputrace_malloc() for C++ programs that do not expect NULL: throws instead. In a process with PyTorch that is its own
 * error, in Python a RuntimeError "CUDA out of memory …"; elsewhere std::bad_alloc. In one without C++'s library,
 * or with that linked into the program (-static-libstdc++), NULL. */
GPUTRACE_ALLOCATOR_API void *gputrace_torch_malloc(size_t size, int device, struct CUstream_st *stream);

/* POINTER is used by work in STREAM as well: its gputrace_free() waits for what is in STREAM by then. STREAM must live
 * until then. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_record_stream(void *pointer, struct CUstream_st *stream);

/* The beginning of the allocation that POINTER lies in, and in *SIZE, which may be NULL, its bytes. NULL and 0: none.
 */
GPUTRACE_ALLOCATOR_API void *gputrace_allocator_base(void *pointer, size_t *size);

/* Gives memory that pools hold and nobody uses back to the devices. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_trim(void);

/* Makes ready what else the first allocation would: finds the driver. DEVICES is not looked at. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_init(int devices);

/* --- limits; each gives 0, or -1: there is no such device, or the argument is none --- */

/* The program may hold FRACTION (0 … 1) of all memory of DEVICE; beyond it, allocations fail. 1 and more: no limit but
 * the device's. What is allocated already stays. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_set_fraction(double fraction, int device);

/* Pools of DEVICE keep so many bytes that are not in use when the host waits for work; the rest goes back to the
 * device. UINT64_MAX, all of it, is the default. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_set_release_threshold(int device, uint64_t bytes);

/* Kernels on PEER may use memory of DEVICE, now and in future; for copies there is no need. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_enable_peer(int device, int peer);

/* --- private pools --- */

/* Names a private pool, as PyTorch's MempoolId_t does. Both 0 is no pool. */
struct gputrace_pool_id {
    uint64_t first, second;
};

/* From here to the end, allocations of DEVICE come from the pool POOL, which is made if there is none: those of this
 * thread, and those for a stream that is being captured. Captures that allocate from one pool use memory again that an
 * earlier one has freed: they may only be launched in the order of their capture, not at the same time. FILTER is not
 * looked at: PyTorch passes a C++ function there, a std::function by value, which the ABI of x86-64 turns into a
 * pointer, to an object that the caller destroys. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_begin_pool(int device, struct gputrace_pool_id pool, void *filter);
GPUTRACE_ALLOCATOR_API void gputrace_allocator_end_pool(int device, struct gputrace_pool_id pool);
/* To be called as often as the pool was begun: then it goes, with the last of its memory. */
GPUTRACE_ALLOCATOR_API void gputrace_allocator_release_pool(int device, struct gputrace_pool_id pool);

/* --- what is known --- */

struct gputrace_allocator_figure {
    uint64_t current;
    uint64_t peak;  /* since the start, or gputrace_allocator_reset_peak() */
    uint64_t total; /* added in all since the start, or gputrace_allocator_reset_accumulated() */
    uint64_t freed; /* taken away in all, likewise */
};

struct gputrace_allocator_stats {
    struct gputrace_allocator_figure allocations;     /* number of them that the program has */
    struct gputrace_allocator_figure allocated_bytes; /* their bytes */
    /* What the driver was asked for and did not get back: the former, and what graphs still hold. The report's memory
     * in use of the kind Pool is this. */
    struct gputrace_allocator_figure held_bytes;
    uint64_t failures;                      /* allocations that gave NULL */
    uint64_t retries;                       /* attempts after somebody made room */
    uint64_t unknown_frees;                 /* of pointers that were not allocated, or freed before */
    uint64_t failed_frees;                  /* that the driver refused: the memory is lost */
    uint64_t reserved_bytes, reserved_peak; /* that the pools have taken from the device */
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

/* Fills in *STATS. Gives 0, or -1: there is no such device. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_stats(int device, struct gputrace_allocator_stats *stats);
/* Those of one stream of DEVICE; zeros if nothing was allocated for it. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_stream_stats(int device, struct CUstream_st *stream,
                                                           struct gputrace_allocator_stream_stats *stats);
/* All streams of DEVICE that memory was allocated for: writes the first COUNT at STATS, gives how many there are. */
GPUTRACE_ALLOCATOR_API size_t gputrace_allocator_streams(int device, struct gputrace_allocator_stream_stats *stats,
                                                         size_t count);
/* Peaks become what is current; totals, and the numbers of failures and the like, become 0. */
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

/* Calls EACH for what is allocated on DEVICE now, or on every device for -1, in the order of allocation, until it gives
 * non-zero. Gives that, else 0; -1 also when there is no memory for it or no such device. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_snapshot(int device, gputrace_allocator_allocation_fn *each, void *data);

enum gputrace_allocator_what { GPUTRACE_ALLOCATED = 1, GPUTRACE_FREED = 2, GPUTRACE_FAILED = 3 };

struct gputrace_allocator_event {
    uint64_t time;              /* CLOCK_REALTIME, ns */
    uint64_t sequence;          /* number of the event on its device, from 1 */
    void *pointer;              /* NULL: it failed */
    size_t bytes;               /* of the allocation */
    uint64_t held;              /* bytes held after it */
    struct CUstream_st *stream; /* as allocation or free named it */
    uint32_t what;              /* enum gputrace_allocator_what */
    uint32_t thread;            /* gettid() */
};

/* Keeps the last COUNT events of DEVICE from here on; what was kept is forgotten. 0: no longer. Gives 0, or -1: no
 * memory, or no such device. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_history(int device, size_t count);
/* Writes the last COUNT of the events kept at EVENTS, the oldest first. Gives how many were written. */
GPUTRACE_ALLOCATOR_API size_t gputrace_allocator_history_read(int device, struct gputrace_allocator_event *events,
                                                              size_t count);

/* Called when SIZE bytes are not to be had on DEVICE, of which HELD are held, on the thread that asked for them. It may
 * free memory, and gives non-zero if the allocation shall be tried again. An allocation is tried 8 times again at most.
 * What it allocates itself fails without a call. */
typedef int gputrace_allocator_failure_fn(void *data, int device, size_t size, size_t held);

/* Adds CALL, or takes it away: the same function with the same data. Gives 0, or -1: there are 8 already, or it is not
 * there. They are asked in order until one gives non-zero. */
GPUTRACE_ALLOCATOR_API int gputrace_allocator_on_failure(gputrace_allocator_failure_fn *call, void *data);
GPUTRACE_ALLOCATOR_API int gputrace_allocator_off_failure(gputrace_allocator_failure_fn *call, void *data);

#ifdef __cplusplus
}
#endif

#endif
