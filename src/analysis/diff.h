/*
 * `gputrace diff`: what changed from some traces of a program to others, and how sure that is.
 *
 * diff_rows reads the traces, one at a time, and joins the rows of their sections; diff_judge finds out which rows
 * differ; diff_whole what explains the difference of the whole; diff_conditions what --fail-on asks; diff_tables and
 * diff_write write all that.
 */
#ifndef GPUTRACE_ANALYSIS_DIFF_H
#define GPUTRACE_ANALYSIS_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/options.h"

enum diff_format { DIFF_TABLE, DIFF_CSV, DIFF_JSON, DIFF_MARKDOWN, DIFF_JUNIT };

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

/* Adds the condition that TEXT, which stays where it is, describes. Returns 0, or -1 after error(). */
int diff_conditions_add(struct diff_conditions *conditions, const char *text);
void diff_conditions_release(struct diff_conditions *conditions);

struct buffer;

/* Compares the traces, at least one on each side, and writes the result to OUT. Returns 0; 1 if a condition is met; or
 * -1 after error(). */
int diff_files(const struct diff_options *options, struct buffer *out);

#endif
