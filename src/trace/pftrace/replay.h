/*
 * An event of a .pftrace as calls of a writer.
 */
#ifndef GPUTRACE_TRACE_PFTRACE_REPLAY_H
#define GPUTRACE_TRACE_PFTRACE_REPLAY_H

#include <stdint.h>

#include "common/buffer.h"
#include "trace/event.h"
#include "trace/pftrace/reader.h"

struct writer;

struct pftrace_replay {
    struct writer *writer;
    uint64_t base; /* ns of CLOCK_REALTIME: what the events' times count from */
    /* texts that must be put together; a failure of one is a failure of all */
    struct buffer members, category, clean;
    struct counter_values values; /* of the counter at hand */
    uint64_t left_out;            /* metadata that is not JSON */
};

void pftrace_replay_init(struct pftrace_replay *replay, struct writer *writer);
void pftrace_replay_release(struct pftrace_replay *replay);

/* Writes one; metadata as well. */
void pftrace_replay_event(struct pftrace_replay *replay, const struct pftrace_event *event);

/* Writes the trace in the file PATH with WRITER, and finishes it. Returns 0, or -1 after error(). */
int replay_pftrace(const char *path, struct writer *writer);

#endif
