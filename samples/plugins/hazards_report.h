/*
 * What was found, told once for each pair of places, and counted.
 *
 * A report is told at once, so that it is there even when the program is killed: an instant in the trace, and two lines
 * with the stacks of both places. That it happened again is told at the end.
 */
#ifndef GPUTRACE_PLUGINS_HAZARDS_REPORT_H
#define GPUTRACE_PLUGINS_HAZARDS_REPORT_H

#include <gputrace/callbacks.h>

#include "hazards_memory.h"

#define REPORTS_MAX 1000 /* kept apart; what more there is is only counted */

struct report {
    struct finding finding;
    uint64_t times;
};

struct reports {
    struct report *list;
    uint32_t count, top; /* of the list; of those that are told in lines */
    uint64_t more;       /* happened, beside those in the list */
    uint64_t start;      /* times are told from here on */
};

/* One thread at a time. */
void reports_add(struct reports *reports, const struct gputrace_host *host, const struct finding *finding);

/* What there was to be judged, for the last words. */
struct judged {
    uint64_t operations, streams;
    uint64_t unjudged;  /* operations behind something that is not seen */
    uint64_t forgotten; /* earlier uses that there was no room for */
    bool incomplete;    /* for want of memory something was not looked at */
};

void reports_end(struct reports *reports, const struct gputrace_host *host, const struct judged *judged);

#endif
