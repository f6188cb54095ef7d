/*
 * Errors after which nothing of CUDA's can be used any more, by the process that first heard of one. Every later call
 * gives the same error, and none of them is where the fault is: the first is next to it.
 */
#ifndef GPUTRACE_ANALYSIS_FIRST_ERRORS_H
#define GPUTRACE_ANALYSIS_FIRST_ERRORS_H

#include <stdbool.h>

#include "common/array.h"
#include "trace/trace_event.h"
#include "analysis/groups.h"

struct first_error {
    event_id process, thread;
    uint32_t name; /* of the call */
    int64_t start, duration, code;
    bool of_runtime; /* else the driver's */
};

struct first_errors {
    struct groups ids;
    ARRAY(struct first_error) items; /* one for each process */
};

void first_errors_release(struct first_errors *errors);

/* EVENT is a call of CUDA's. Gives 0, or -1: no memory. */
int first_errors_see(struct first_errors *errors, const struct trace_event *event);

/* What CODE, of CUDA's driver or runtime, says; NULL: it is not such an error. */
const char *first_error_words(int64_t code);

#endif
