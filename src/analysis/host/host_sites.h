/*
 * What threads did at the sites of samples (host_samples.h), in words: the stack shows what was done (host_words.h:
 * "read()", "garbage collection") and for which function of the program. Sites with equal answers are one doing, such
 * as "read() in load_batch (train.c:41)"; lines of a function are not distinguished.
 */
#ifndef GPUTRACE_ANALYSIS_HOST_HOST_SITES_H
#define GPUTRACE_ANALYSIS_HOST_HOST_SITES_H

#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/host/host_words.h"

struct buffer;
struct trace;
struct trace_frame;

struct host_doing {
    uint64_t kind;           /* enum host_kind */
    uint32_t words;          /* of host_sites.words; EVENT_NO_TEXT: only the function is known */
    uint32_t function, file; /* of the program, in trace.strings; EVENT_NO_TEXT: not known */
    uint32_t reserved;
};

/* All zero is empty. */
struct host_sites {
    struct interner words;
    struct dense_map doings;             /* struct host_doing */
    ARRAY(struct host_site_doing) sites; /* by their numbers in host_samples */
    struct host_frame_facts *frames;     /* by index in trace.frames */
};

struct host_site_doing {
    uint32_t doing; /* number; EVENT_NO_TEXT: nothing is known */
    uint32_t frame; /* the program's frame: index in trace.frames; EVENT_NO_TEXT: not known */
};

/* Initialises SITES after trace_finish(). Returns 0, or -1: no memory. */
int host_sites_make(struct host_sites *sites, const struct trace *trace);
void host_sites_release(struct host_sites *sites);

static inline const struct host_doing *host_sites_doing(const struct host_sites *sites, uint32_t doing)
{
    return dense_map_row(&sites->doings, doing);
}

struct host_state;
/* The number of what a thread did in STATE: the doing of its site, or "waiting for a processor", "off the processor"
 * there. Returns EVENT_NO_TEXT without memory. */
uint32_t host_sites_of_state(struct host_sites *sites, const struct host_state *state);

/* Writes "read() in load_batch (train.c:41)". FRAME: where in the function; EVENT_NO_TEXT: not known. */
void host_sites_write(struct buffer *out, const struct host_sites *sites, const struct trace *trace, uint32_t doing,
                      uint32_t frame);

#endif
