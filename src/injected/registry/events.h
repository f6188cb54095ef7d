/*
 * What collectors tell and subscribers hear: one struct for each kind of happening.
 *
 * Times are nanoseconds of CLOCK_REALTIME. Handles are the program's own, as integers. Texts are UTF-8 as the program
 * gave them, not NUL-terminated, and live as long as the call.
 */
#ifndef GPUTRACE_INJECTED_REGISTRY_EVENTS_H
#define GPUTRACE_INJECTED_REGISTRY_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/spool.h"

struct text {
    const char *bytes;
    uint32_t length;
};

/* An allocation or a release of memory has returned, done or failed. */
struct memory_event {
    uint64_t time;
    uint64_t address;
    uint64_t size;    /* bytes; 0 of a release */
    uint64_t pool;    /* CUmemoryPool, 0: none or the default one */
    uint32_t device;  /* SPOOL_NO_DEVICE for host memory */
    uint32_t context; /* CUPTI's context id */
    uint32_t stream;  /* CUPTI's stream id, SPOOL_NO_STREAM when the call has none */
    uint32_t correlation;
    int32_t result; /* CUresult */
    enum spool_memory_operation operation;
    enum spool_memory_kind kind;
};

/* A context was made, or is about to go. */
struct context_event {
    uint64_t time;
    uint64_t handle;
    uint32_t context;
    uint32_t device;
    bool destroyed;
};

/* A stream was made, or is about to go. */
struct stream_event {
    uint64_t time;
    uint64_t handle;
    uint32_t context;
    uint32_t stream;
    uint32_t stream_flags;
    int32_t priority;
    bool destroyed;
};

/* The program called cu(da)ProfilerStart or Stop. */
struct profiler_event {
    bool start;
};

/* An NVTX range was opened or closed, or a mark set, by this thread. */
struct nvtx_event {
    uint64_t time;
    uint64_t range;   /* of start and end */
    uint64_t payload; /* bits of the value */
    uint32_t domain;
    uint32_t category;
    uint32_t color;
    uint32_t string; /* of a registered message; `message` is its text too */
    uint16_t color_type;
    uint16_t payload_type;
    enum spool_nvtx_what what;
    struct text message;
};

/* NVTX gave a name to something. Kinds that need no `object` leave it 0. */
enum nvtx_named {
    NVTX_NAMED_DOMAIN,   /* domain */
    NVTX_NAMED_STRING,   /* domain, number */
    NVTX_NAMED_CATEGORY, /* domain, number */
    NVTX_NAMED_THREAD,   /* number: gettid() */
    NVTX_NAMED_OBJECT,   /* object, what */
};
struct nvtx_name_event {
    enum nvtx_named named;
    enum spool_nvtx_object what;
    uint32_t domain;
    uint32_t number;
    uint32_t stream; /* CUPTI's stream id of a stream, where known, else SPOOL_NO_STREAM */
    uint64_t object;
    struct text text;
};

/* The text behind a pointer in CUPTI's records became known. */
struct pointer_name_event {
    const void *pointer;
    struct text text;
};

#endif
