/*
 * An event as the reader of a .pftrace gives it.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_PFTRACE_EVENT_H
#define GPUTRACE_TRACE_PFTRACE_PFTRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

struct arg;
struct pftrace_kernel;

enum pftrace_what {
    PFTRACE_METADATA, /* name: the key; text: the value, JSON */
    PFTRACE_PROCESS,  /* pid, name, text: label, sort_index, is_gpu */
    PFTRACE_THREAD,   /* pid, tid, name, sort_index */
    PFTRACE_SLICE,    /* pid, tid, category, name, start, end, args, flows */
    PFTRACE_INSTANT,  /* pid, tid, category, name, start, args */
    PFTRACE_ASYNC,    /* pid, tid, end_pid, end_tid, category, name, start, end, id, args */
    PFTRACE_COUNTER,  /* pid, name, start, args: its values */
};

/* Texts that come often are strings of the reader's interner: name, category and the names of arguments are the same
 * pointer whenever they are the same text, and live as long as it does. All else is valid until the next call. */
struct pftrace_event {
    enum pftrace_what what;
    uint32_t pid, tid;
    uint32_t end_pid, end_tid;
    enum category category;
    const char *other_category; /* of CATEGORY_OTHER: its name */
    const char *name;
    size_t name_length;
    const char *text; /* NULL: none */
    size_t length;
    uint64_t start, end; /* ns since pftrace_base() */
    uint64_t id;
    int64_t sort_index;
    uint32_t owner; /* of a GPU's rows: the pid of the process whose work they show */
    bool is_gpu;    /* its rows are those of a GPU */
    bool is_head;   /* the flows end at this slice; else they start there */
    bool one_value; /* of a counter: it has one value, without a name; the argument's type tells bytes from a value */
    uint64_t flow_time; /* as start */
    const uint64_t *flows;
    size_t flow_count;
    /* Arguments: of the event alone, those that it shares with others (NULL: none), and two that are told otherwise.
     * The values of a counter are arguments of ARG_OTHER. */
    const struct arg *args;
    size_t arg_count;
    const struct pftrace_kernel *shared;
    uint64_t cbid; /* + 1; 0: none */
    uint64_t correlation;
    bool has_correlation;
};

#endif
