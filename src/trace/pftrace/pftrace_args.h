/*
 * Arguments of events in a .pftrace: as debug annotations of a TrackEvent, or as arguments of GPU work, where those
 * that all launches of a kernel share are kept apart from the others.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_PFTRACE_ARGS_H
#define GPUTRACE_TRACE_PFTRACE_PFTRACE_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buffer.h"
#include "trace/event.h"
#include "trace/pftrace/pftrace_sequence.h"

/* Where the arguments of one event go. */
struct pftrace_put {
    struct pftrace_sequence *sequence;
    struct buffer *body;   /* annotations, or arguments of a launch */
    struct buffer *shared; /* of GPU work: arguments of an interned kernel; NULL: of a TrackEvent */
    struct buffer *text;   /* for texts that must be put together */
    /* what is not put, but told of: */
    uint64_t cbid; /* + 1; of a TrackEvent alone */
    uint64_t correlation;
    bool has_correlation, hold_correlation; /* hold: it is wanted here */
    uint64_t device, context;
};

/* pftrace_args.c. ARGS may be NULL. */
void pftrace_put_args(struct pftrace_put *put, const struct args *args);

/* The argument that was held, after all. */
void pftrace_put_correlation(struct pftrace_put *put, uint64_t correlation);

/* pftrace_args.c: TEXT in valid UTF-8, which may be put into SCRATCH; *LENGTH becomes its. */
const char *pftrace_valid_text(struct buffer *scratch, const char *text, size_t *length);

#endif
