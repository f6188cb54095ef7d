/*
 * The driver calls that a thread is in, as far as their callbacks are on: what is known of them from their begin.
 */
#ifndef GPUTRACE_AGENT_CUPTI_OPEN_CALLS_H
#define GPUTRACE_AGENT_CUPTI_OPEN_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct driver_call;

struct open_call {
    const struct driver_call *row; /* NULL: none */
    const void *params;
    uint64_t start;
    uint32_t correlation;
    bool in_phase; /* of compilation, which ends when the call returns */
    bool told;     /* a resource callback told what it does */
};

/* Calls within calls that both have callbacks are rare. One whose callback was switched off while it went on never
 * returns here: it is overwritten in the end. */
#define OPEN_CALLS_DEPTH 4u

/* Of one thread; zero: none. */
struct open_calls {
    unsigned next;
    struct open_call calls[OPEN_CALLS_DEPTH];
};

static inline struct open_call *open_call_back(struct open_calls *open, unsigned back)
{
    return &open->calls[(open->next - back) % OPEN_CALLS_DEPTH];
}

/* A call begins, at START. */
static inline struct open_call *open_call_push(struct open_calls *open, const struct driver_call *row,
                                               const void *params, uint32_t correlation, uint64_t start)
{
    struct open_call *call = open_call_back(open, 0);
    open->next++;
    *call = (struct open_call){.row = row, .params = params, .start = start, .correlation = correlation};
    return call;
}

/* It returns. Gives what was known of it, until the next one begins; NULL: nothing, for its callback was switched on
 * only in between. */
static inline struct open_call *open_call_pop(struct open_calls *open, const struct driver_call *row,
                                              uint32_t correlation)
{
    for (unsigned back = 1; back <= OPEN_CALLS_DEPTH; back++) {
        struct open_call *call = open_call_back(open, back);
        if (call->row != row || call->correlation != correlation)
            continue;
        call->row = NULL;
        open->next -= back;
        return call;
    }
    return NULL;
}

/* The innermost; NULL: none. Valid until it returns. */
static inline struct open_call *open_calls_innermost(struct open_calls *open)
{
    struct open_call *call = open_call_back(open, 1);
    return call->row ? call : NULL;
}

#endif
