/*
 * A walk over all of CUPTI's records of a process, by several threads.
 *
 * Each part of the spool is one thread's, which looks at its events and notes what it finds. What depends on those of
 * other parts is left to the one thread that takes what was found, in the order of the parts: first what was noted,
 * then, one by one in their order, the events that were put off. So what comes of it is the same whatever the number of
 * threads.
 */
#ifndef GPUTRACE_TRACE_BUILD_SIFT_H
#define GPUTRACE_TRACE_BUILD_SIFT_H

#include "trace/build/walks.h"

#define SIFT_PUT_OFF 1 /* of look(): this event is to be seen */

struct sift {
    bool all;          /* also what the trace does not show */
    size_t found_size; /* of what is noted of a part, which starts as zeros */
    /* One event. Any number of threads look at once: of the process they change nothing but its launches. Gives 0,
     * SIFT_PUT_OFF, or -1 after error(). */
    int (*look)(struct process *process, void *found, const struct event *event);
    /* What was found in part number process->part, and left as zeros; NULL: nothing is noted. Gives 0, or -1 after
     * error(). While it is called others look. */
    int (*take)(struct conversion *conversion, struct process *process, void *found);
    /* Of what is never taken. */
    void (*release)(void *found);
    /* As take(), for an event that was put off; NULL: none is. */
    event_function see;
};

/* UNDECODED (or NULL) counts what cannot be read. Gives 0, or -1 after error(). */
int process_sift(struct conversion *conversion, struct process *process, const struct sift *sift, uint64_t *undecoded);

#endif
