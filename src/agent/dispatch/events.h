/*
 * Kinds of events that only the library itself publishes, beside those of include/gputrace/callbacks.h: names and
 * bookkeeping for the recorder.
 *
 * Times are nanoseconds of CLOCK_REALTIME. Texts are UTF-8 as the program passed them, not NUL-terminated, and live as
 * long as the call.
 */
#ifndef GPUTRACE_AGENT_DISPATCH_EVENTS_H
#define GPUTRACE_AGENT_DISPATCH_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <gputrace/callbacks.h>

#include "common/spool.h"
#include "common/spool_records.h"

/* NVTX gave a name to something. Kinds that need no `object` leave it 0. */
enum nvtx_named {
    NVTX_NAMED_DOMAIN,   /* domain */
    NVTX_NAMED_STRING,   /* domain, number */
    NVTX_NAMED_CATEGORY, /* domain, number */
    NVTX_NAMED_THREAD,   /* number: gettid() */
    NVTX_NAMED_OBJECT,   /* object, what */
    NVTX_NAMED_RESOURCE, /* object, domain, resource; also its end */
    NVTX_NAMED_LEFT_OUT, /* domain: the program has it, and it is off */
};
struct gputrace_nvtx_name {
    enum nvtx_named named;
    enum spool_nvtx_object what;
    uint32_t domain;
    uint32_t number;
    uint32_t stream; /* CUPTI's stream id of a stream, where known, else SPOOL_NO_STREAM */
    uint64_t object; /* handle, pointer or number */
    struct {
        uint64_t number;
        uint32_t type; /* as in struct spool_nvtx_resource */
        bool destroyed;
    } resource;
    struct gputrace_text text;
};

/* What this thread did with a synchronisation object of NVTX's. */
struct gputrace_nvtx_sync {
    enum spool_nvtx_what what; /* SPOOL_NVTX_ACQUIRE … SPOOL_NVTX_RELEASE */
    uint64_t object;           /* its number */
    uint64_t time;
};

/* The text behind a pointer in CUPTI's records became known. */
struct gputrace_pointer_name {
    const void *pointer;
    struct gputrace_text text;
    uint64_t since; /* clock_now(): records of before may mean another */
};

/* The name of the kernel that the launch CORRELATION is about to start for the first time. */
struct gputrace_launch_name {
    uint32_t correlation;
    struct gputrace_text text;
};

/* What a function of the program is called. */
struct gputrace_function_name {
    const void *function; /* its handle: CUfunction or CUkernel */
    struct gputrace_text text;
};

/* The call CORRELATION launched an executable graph that has conditional nodes. */
struct gputrace_conditional_launch {
    uint64_t start; /* of the call */
    uint32_t correlation;
    uint32_t graph; /* CUPTI's number */
};

/* A node of a graph was made, copied or changed by the call CORRELATION. */
struct gputrace_graph_node {
    uint32_t correlation;
    uint64_t node;        /* CUPTI's number */
    uint64_t original;    /* of which it is a copy; 0: of none … */
    const void *function; /* … but it launches this */
};

/* This thread was in callbacks of plugins from START to END: calls of CUDA in between are theirs, not the program's. */
struct gputrace_plugin_window {
    uint64_t start, end;
};

/* A driver call begins, or has returned, on this thread. */
struct gputrace_open_call {
    bool returned; /* then only this, THREAD and CORRELATION count */
    uint64_t start;
    uint64_t object; /* what it waits for */
    enum spool_call_object what;
    uint32_t cbid;
    uint32_t correlation;
    uint32_t thread;
};

/* A record of NVTX's extensions as it shall stand in the spool. RECORD is a struct of TYPE (common/spool_nvtx.h) of
 * BYTES bytes, whose head, length and text the recorder fills; its text is TEXT, then MORE, read during the call alone.
 */
struct gputrace_nvtx_extension {
    enum spool_record_type type;
    uint16_t flags;
    bool always; /* also while recording is off: others cannot be read without it */
    uint32_t bytes;
    uint64_t time;
    const void *record;
    struct gputrace_text text, more;
};

/* What a stream-ordered pool of DEVICE holds and lends; see struct spool_pool_level. */
struct gputrace_pool_level {
    uint64_t time;
    uint64_t pool; /* CUmemoryPool */
    uint64_t reserved, used;
    uint64_t reserved_high, used_high;
    uint32_t device;
};

/*
 * Texts as callbacks are given them (struct gputrace_text), of strings that end with a NUL.
 */

/* LENGTH bytes at BYTES; of more than a text can have, the beginning. The bytes stay the caller's. */
static inline struct gputrace_text text_of_bytes(const char *bytes, size_t length)
{
    return (struct gputrace_text){bytes, length > UINT32_MAX ? UINT32_MAX : (uint32_t)length};
}

/* NULL is the empty one. */
static inline struct gputrace_text text_of(const char *terminated)
{
    return text_of_bytes(terminated, terminated ? strlen(terminated) : 0);
}

#endif
