/*
 * CUDA calls of our own on the program's thread: told to no callback, and not shown in the trace.
 *
 *     struct tracing_suppressed aside;
 *     if (tracing_suppress(&aside)) { ...call CUDA...; tracing_resume(&aside); }
 */
#ifndef GPUTRACE_AGENT_DISPATCH_TRACING_SUPPRESSED_H
#define GPUTRACE_AGENT_DISPATCH_TRACING_SUPPRESSED_H

#include <stdbool.h>
#include <stdint.h>

struct epoch_reader;

struct tracing_suppressed {
    struct epoch_reader *reader;
    uint64_t began; /* ns of CLOCK_REALTIME */
    bool within;    /* a client's callback, or another one of these: what happens is aside as it is */
};

/* False: no memory; then nothing is to be called, and not ended. */
bool tracing_suppress(struct tracing_suppressed *aside);
void tracing_resume(const struct tracing_suppressed *aside);

/* Whether this thread is in a callback of a client's. */
bool tracing_is_suppressed(void);

#endif
