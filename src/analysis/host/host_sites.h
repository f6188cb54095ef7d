/*
 * What threads did at the sites of samples (host_samples.h), in words: a stack says what (host_words.h: "read()",
 * "garbage collection") and which code of the program that was done for. Sites with the same answer are one doing:
 * "read() in load_batch (train.c:41)"; lines of one function are not distinguished.
 */
#ifndef GPUTRACE_ANALYSIS_HOST_HOST_SITES_H
#define GPUTRACE_ANALYSIS_HOST_HOST_SITES_H

#include <stdint.h>

#include "common/array.h"
#include "common/dense_map.h"
#include "common/map.h"
#include "analysis/host/host_words.h"

struct buffer;
struct trace;
struct trace_frame;

struct host_doing {
    uint64_t kind;           /* enum host_kind */
    uint32_t words;          /* of host_sites.words; EVENT_NO_TEXT: what is said is the function */
    uint32_t function, file; /* of trace.strings: the program's; EVENT_NO_TEXT: not known */
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
    uint32_t frame; /* index in trace.frames of the program's; EVENT_NO_TEXT: not known */
};

/* After trace_finish(). Returns 0, or -1: no memory. */
int host_sites_make(struct host_sites *sites, const struct trace *trace);
void host_sites_release(struct host_sites *sites);

static inline const struct host_doing *host_sites_doing(const struct host_sites *sites, uint32_t doing)
{
    return dense_map_row(&sites->doings, doing);
}

/* The number of what a thread did in STATE: its site's doing, or "waiting for a processor" and the like there.
 * EVENT_NO_TEXT: no memory. */
struct host_state;
uint32_t host_sites_of_state(struct host_sites *sites, const struct host_state *state);

/* Writes "read() in load_batch (train.c:41)". FRAME: where in the function; EVENT_NO_TEXT: not known. */
void host_sites_write(struct buffer *out, const struct host_sites *sites, const struct trace *trace, uint32_t doing,
                      uint32_t frame);

#endif
