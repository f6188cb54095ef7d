/*
 * A thread that drains the spools of a run while its programs write them, so that they take little room on the disk,
 * and little is left to read at the end. Once much was packed it is for processors that have nothing better to do: 10
 * nicer than we are. Processes that have ended are packed as a whole, and give their room on the disk back.
 */
#ifndef GPUTRACE_LAUNCH_DRAIN_H
#define GPUTRACE_LAUNCH_DRAIN_H

#include <stdint.h>

#include "launch/live.h"

struct drain;

/* Called by the thread every so often; DISK: bytes that the run takes on the disk. */
struct drain_listener {
    void (*tell)(void *context, const struct live *live, uint64_t disk);
    void *context;
    uint64_t every; /* ns */
};

/* Begins to drain the run directory PATH; all signals are blocked in the thread. LISTENER, which may be NULL, is
 * copied. NULL with errno set: it cannot be done, and nothing is lost by that. */
struct drain *drain_start(const char *path, const struct drain_listener *listener);

/* What was done. */
struct drain_figures {
    uint64_t chunks;
    uint64_t bytes, packed; /* of records, before and after */
    uint64_t processor;     /* ns that it took of one */
};

/* Ends that, as soon as the chunk at hand is packed. What is not drained is in the spools. */
struct drain_figures drain_stop(struct drain *drain);

/* For whoever reads the spools of a run that goes on: nothing of DIRECTORY is drained from now on, until this process
 * ends. Waits for a round to end, two seconds at most. Returns 0, or -1: what is read may be drained meanwhile. */
int drain_hold(const char *directory);

#endif
