/*
 * Driver calls that allocate or release memory, and how to read their arguments.
 */
#ifndef GPUTRACE_INJECTED_COLLECT_MEMORY_CALLS_H
#define GPUTRACE_INJECTED_COLLECT_MEMORY_CALLS_H

#include <cupti.h>

#include "injected/registry/events.h"

struct memory_call {
    CUpti_CallbackId cbid;
    enum spool_memory_operation operation;
    enum spool_memory_kind kind;
    /* Fills address, size, pool of EVENT from the call's parameters, valid when it has returned. A stream-ordered call
     * leaves its CUstream in *STREAM. The result stands in EVENT already; outputs of failed calls are not read. */
    void (*read)(const void *parameters, struct memory_event *event, CUstream *stream);
};

extern const struct memory_call memory_calls[];
extern const size_t memory_call_count;

/* The row of CBID, or NULL. */
const struct memory_call *memory_call_find(CUpti_CallbackId cbid);

#endif
