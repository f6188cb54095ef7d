/*
 * Which streams are being captured into graphs: what is put into one then is not done, now or by that call.
 *
 * A stream also comes into a capture by waiting for an event of it, so it is the driver who is asked; but only while
 * some capture goes on. These are counted, for which the rows that tell of captures serve CAPTURES_KINDS, too; and
 * while there are any, launches have callbacks where nodes of graphs are wanted (graph_nodes.h).
 */
#ifndef GPUTRACE_AGENT_CUPTI_STREAMS_H
#define GPUTRACE_AGENT_CUPTI_STREAMS_H

#include <cuda.h>
#include <stdbool.h>

#include "agent/dispatch/registry.h"

/* The kinds whose callers ask here. */
#define CAPTURES_KINDS (REGISTRY_BIT(event_record) | REGISTRY_BIT(event_wait) | REGISTRY_BIT(graph_node))

/* Finds the driver's function that is asked. Takes the dynamic loader's lock. */
void captures_init(void);

/* A capture began; one has ended. */
void captures_begin(void);
void captures_end(void);

/* Whether any goes on. */
extern unsigned captures_going_on;
static inline bool captures_go_on(void)
{
    return __atomic_load_n(&captures_going_on, __ATOMIC_RELAXED) != 0;
}

/* Whether STREAM, as driver_call_stream() gives it, of a call that was done, is captured. */
bool captures_ask(CUstream stream);
static inline bool captures_hold(CUstream stream)
{
    return captures_go_on() && captures_ask(stream);
}

/* Nobody asks any more, and ends may not be heard. */
void captures_forget(void);

/* In a forked child. */
void captures_atfork_child(void);

/* For tests: this instead of the driver's. */
void captures_replace_driver(CUresult (*is_capturing)(CUstream stream, CUstreamCaptureStatus *status));

/* --- own streams --- */

/*
 * Streams that the program made, and has not destroyed: CUPTI also tells of those that CUDA makes for itself, when
 * their context goes.
 */

struct CUstream_st;

void own_streams_add(const struct CUstream_st *stream);

/* Whether it was one. */
bool own_streams_remove(const struct CUstream_st *stream);

/* In a forked child: they are the parent's. */
void own_streams_atfork_child(void);

#endif
