/*
 * CUDA calls of our own on the program's thread: told to no callback, and not shown in the trace.
 *
 *     struct aside aside;
 *     if (aside_begin(&aside)) { ...call CUDA...; aside_end(&aside); }
 */
#ifndef GPUTRACE_AGENT_DISPATCH_ASIDE_H
#define GPUTRACE_AGENT_DISPATCH_ASIDE_H

#include <stdbool.h>
#include <stdint.h>

struct reader;

struct aside {
    struct reader *reader;
    uint64_t began; /* ns of CLOCK_REALTIME */
    bool within;    /* a client's callback, or another one of these: what happens is aside as it is */
};

/* False: no memory; then nothing is to be called, and not ended. */
bool aside_begin(struct aside *aside);
void aside_end(const struct aside *aside);

/* Whether this thread is in a callback of a client's. */
bool aside_is_within(void);

#endif
