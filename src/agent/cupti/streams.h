/*
 * Streams: which are captured into graphs, and which the program has created.
 */
#ifndef GPUTRACE_AGENT_CUPTI_STREAMS_H
#define GPUTRACE_AGENT_CUPTI_STREAMS_H

#include <cuda.h>
#include <stdbool.h>

#include "agent/dispatch/registry.h"

/*
 * Which streams are being captured into graphs. A call on such a stream does nothing now; it adds to the graph.
 *
 * A stream can also join a capture by waiting for one of its events, so the driver is asked; but only while a capture
 * is going on. Captures are counted: the functions that begin and end them have callbacks whenever one of
 * CAPTURES_KINDS is wanted. During a capture launches have callbacks if nodes of graphs are wanted (graphs.h).
 */

/* The kinds that need to know about captures. */
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

/* Whether STREAM, as driver_call_stream() returns it, of a call that was done, is captured. */
bool captures_ask(CUstream stream);
static inline bool captures_hold(CUstream stream)
{
    return captures_go_on() && captures_ask(stream);
}

/* No subscriber needs captures any more, and their ends may not be seen. */
void captures_forget(void);

/* In a forked child. */
void captures_atfork_child(void);

/* For tests: this instead of the driver's. */
void captures_replace_driver(CUresult (*is_capturing)(CUstream stream, CUstreamCaptureStatus *status));

/*
 * Streams that the program created and has not destroyed. CUPTI also reports streams that CUDA created for itself, when
 * their context is destroyed.
 */

struct CUstream_st;

void own_streams_add(const struct CUstream_st *stream);

/* Returns whether it was one of them. */
bool own_streams_remove(const struct CUstream_st *stream);

/* In a forked child: they are the parent's. */
void own_streams_atfork_child(void);

#endif
