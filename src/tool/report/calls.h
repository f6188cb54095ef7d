/*
 * The API calls of a trace by correlation id, to find which call started some GPU work, or waited for it.
 */
#ifndef GPUTRACE_TOOL_REPORT_CALLS_H
#define GPUTRACE_TOOL_REPORT_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

struct call {
    uint32_t correlation;
    uint32_t name;    /* of trace.strings */
    uint32_t thread;  /* index in trace.threads */
    uint32_t process; /* index in trace.processes */
    int64_t start, end;
};

struct calls {
    ARRAY(struct call) items;
};

void calls_release(struct calls *calls);

/* Gives 0, or -1: no memory. */
int calls_add(struct calls *calls, const struct call *call);

/* After the last calls_add(): by correlation, process and start, an outer call before those within it. */
void calls_sort(struct calls *calls);

/* Whether the call at INDEX is not within another one of its correlation id, as the driver's call is within the
 * runtime's. */
bool calls_is_outermost(const struct calls *calls, size_t index);

/* The outermost call of CORRELATION; when several processes use that id, the last that started by TIME. NULL: none. */
const struct call *calls_find(const struct calls *calls, int64_t correlation, int64_t time);

#endif
