/*
 * The driver calls that this thread is in, as far as their callbacks are on: what is known of them from their begin.
 */
#ifndef GPUTRACE_INJECTED_COLLECT_CALLS_OPEN_H
#define GPUTRACE_INJECTED_COLLECT_CALLS_OPEN_H

#include <stdbool.h>
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

/* A call begins. */
struct open_call *open_call_push(const struct driver_call *row, const void *params, uint32_t correlation);

/* It returns: what was known of it, which is not, when its callback was switched on only in between: then a row of
 * NULL. */
struct open_call open_call_pop(const struct driver_call *row, uint32_t correlation);

/* The innermost; NULL: none. Valid until it returns. */
struct open_call *open_call_current(void);

#endif
