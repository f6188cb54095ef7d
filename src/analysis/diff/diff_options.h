/*
 * What a user may ask of `gputrace diff`.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_DIFF_OPTIONS_H
#define GPUTRACE_ANALYSIS_DIFF_DIFF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/base/options.h"

enum diff_format { DIFF_TABLE, DIFF_CSV, DIFF_JSON, DIFF_MARKDOWN, DIFF_JUNIT, DIFF_HTML };

enum diff_side { BEFORE, AFTER, DIFF_SIDES };

/* A condition of --fail-on: "total>3%", "kernel:sgemm>2us", "finding:pageable-copies". */
struct diff_condition {
    const char *text; /* all of it */
    const char *noun; /* "total", "gpu" or a section's; owned by the condition */
    const char *name; /* of a row, or NULL: any row */
    bool of_percent;  /* the limit is in per cent, else in ns or bytes */
    double limit;     /* of the growth; 0 unless the condition has one */
    char unit;        /* of a limit that is not in per cent: 't' time, 'b' bytes */
};

struct diff_conditions {
    struct diff_condition *items;
    size_t count, capacity;
};

struct diff_options {
    /* For reading: what a report can be asked for. Its sections, format and top are those of the tables here. */
    struct report_options report;
    const char **paths[DIFF_SIDES];
    size_t counts[DIFF_SIDES];
    enum diff_format format;
    bool all; /* rows that did not change, too */
    bool any; /* conditions are met by differences that are not sure, too */
    struct diff_conditions conditions;
};

#endif
