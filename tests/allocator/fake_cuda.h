/*
 * A driver for the allocator that allocates addresses and logs the calls. Each device has its
 * primary context; threads have a current one each. Streams are numbers. An address that was freed is given out again
 * next, as the real driver likes to do.
 *
 * The log is text, one call a line: "alloc 100 from pool 1 in 5", "free 1 in 5", "record in 6", "wait in 5".
 * Only calls that do something are in it. Blocks are named by their number, counted from 1 since fake_cuda_start().
 */
#ifndef TESTS_ALLOCATOR_FAKE_CUDA_H
#define TESTS_ALLOCATOR_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

#include "allocator/gpu.h"

#define FAKE_STREAMS 64
#define FAKE_GRAPHS 64
#define FAKE_DEVICES 64
#define FAKE_DEVICE_BYTES ((size_t)1 << 20)

static inline CUstream fake_stream_of(unsigned number)
{
    return (CUstream)(uintptr_t)number;
}

/* The context of DEVICE that is not the primary one. */
CUcontext fake_other_context(int device);

/* What it answers, instead of doing what it is asked, if not 0. */
extern struct fake_cuda_says {
    CUresult allocate, create_pool, retain_object, record, free;
} fake_cuda_says;

/* Puts it in CUDA's place, with nothing asked yet, all of each device's memory free, no stream captured, this thread
 * without a context. Returns a device that no test has used. */
int fake_cuda_start(void);
/* The text is not kept: for many threads. */
void fake_cuda_quiet(void);

/* What was asked since the last look. */
const char *fake_cuda_asked(void);

CUcontext fake_cuda_current(void);
void fake_cuda_enter(CUcontext context);
CUcontext fake_cuda_primary(int device);

/* Bytes of DEVICE that are given out. */
size_t fake_cuda_bytes(int device);
/* Addresses that were freed without being given out. */
unsigned fake_cuda_wrong_frees(void);
unsigned fake_cuda_pools(void);

/* STREAM is captured into GRAPH (a number) from here on, as capture ID; and no longer. */
void fake_cuda_capture(unsigned stream, uint64_t id, unsigned graph);
void fake_cuda_break_capture(unsigned stream);
void fake_cuda_end_capture(unsigned stream);
/* The legacy default stream waits for one that is captured. */
void fake_cuda_capture_implicit(bool is);

/* Destroys GRAPH, and calls the destructors of its user objects. */
void fake_cuda_destroy_graph(unsigned graph);
unsigned fake_cuda_held_by(unsigned graph);

#endif
