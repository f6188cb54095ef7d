/*
 * Whether a stream is being captured into a graph: what is put into it then is not done, now or by that call.
 *
 * A stream also comes into a capture by waiting for an event of it, so it is the driver who is asked; but only while
 * some capture goes on. The rows that tell of captures serve those kinds, too, whose callers ask here.
 */
#ifndef GPUTRACE_INJECTED_COLLECT_CAPTURES_H
#define GPUTRACE_INJECTED_COLLECT_CAPTURES_H

#include <cuda.h>
#include <stdbool.h>

/* Finds the driver's function that is asked. Takes the dynamic loader's lock. */
void captures_init(void);

/* A capture began; one has ended. */
void captures_begin(void);
void captures_end(void);

/* Whether STREAM, as driver_call_stream() gives it, of a call that was done, is captured. */
extern unsigned captures_going_on;
bool captures_ask(CUstream stream);
static inline bool captures_hold(CUstream stream)
{
    return __atomic_load_n(&captures_going_on, __ATOMIC_RELAXED) != 0 && captures_ask(stream);
}

/* In a forked child. */
void captures_leave(void);

/* For tests: this instead of the driver's. */
void captures_replace_driver(CUresult (*is_capturing)(CUstream stream, CUstreamCaptureStatus *status));

#endif
