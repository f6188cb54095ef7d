/*
 * How long GPUs were busy with what was launched in the ranges of each row of a section, in time that does not grow
 * with how many ranges are open at once.
 *
 * Usually few rows are open, and each GPU operation is added to each of them (busy.h). If that would take too many
 * steps, for example because a program never ends its ranges, range_depth.c computes the times instead.
 */
#ifndef GPUTRACE_ANALYSIS_RANGES_RANGE_ROWS_H
#define GPUTRACE_ANALYSIS_RANGES_RANGE_ROWS_H

#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "analysis/base/busy.h"
#include "analysis/base/cover.h"
#include "common/dense_map.h"
#include "analysis/engine/ranges.h"
#include "analysis/engine/section.h"

/* The limit of steps, of about 50 ns: for each operation and range, and a sum for all in addition. */
struct range_rows_limit {
    uint64_t each, all;
};

#define RANGE_ROW_OUTSIDE 0 /* the row of operations in no range */
#define RANGE_ROW_NONE UINT32_MAX

#define RANGE_ROWS_LIMIT ((struct range_rows_limit){64, 1000000})

struct range_rows {
    const struct trace *trace;     /* its ranges, and the operations that were launched in them */
    bool nesting;                  /* ranges that were started and ended are left out */
    struct range_rows_limit limit; /* RANGE_ROWS_LIMIT; tests have less */
    void *context;
    /* The row, from 1 on, of the range that the walk has opened last. RANGE_ROW_NONE: no memory. */
    uint32_t (*row)(void *context, struct range_walk *walk);
    /* The GPU or stream whose busy times are kept apart. NULL: the GPU. */
    uint32_t (*gpu)(void *context, const struct launched_op *op);
    /* NULL, or called for each operation, with whether it is in no range. Returns 0, or -1: no memory. */
    int (*operation)(void *context, const struct launched_op *op, bool outside);
    /* The row of what was captured in a range of this name; RANGE_ROW_NONE: no memory. An operation that was captured
     * in a range is never outside. NULL: captures do not count. */
    uint32_t (*captured)(void *context, uint32_t name);
};

static inline uint32_t range_rows_gpu(const struct range_rows *rows, const struct launched_op *op)
{
    return rows->gpu ? rows->gpu(rows->context, op) : rows->trace->streams.items[op->stream].device;
}

/* The key of rows, or its beginning, that differ in the name of their ranges and in how these were made: by push and
 * pop, or by start and end. Marks and what is in no range have rows too, as has what graphs replay that was captured in
 * ranges of one name, of any domain. */
struct range_kind {
    uint64_t name, domain;
    uint64_t form; /* one of these: */
};
enum { RANGE_NESTED, RANGE_STARTED, RANGE_MARK, RANGE_IN_NONE, RANGE_CAPTURED };

#define RANGE_KIND_OUTSIDE ((struct range_kind){EVENT_NO_TEXT, EVENT_NO_TEXT, RANGE_IN_NONE})
#define RANGE_KIND_CAPTURED(name) ((struct range_kind){(name), EVENT_NO_TEXT, RANGE_CAPTURED})

static inline struct range_kind range_kind_of(const struct range *range)
{
    return (struct range_kind){range->name, range->domain, range->started ? RANGE_STARTED : RANGE_NESTED};
}

/* Columns of such a key, and the functions that fill them. */
#define RANGE_KIND_COLUMNS                                                                         \
    {"kind", "Kind", TYPE_TEXT, 0, fill_range_form, FROM_KEY(range_kind, form), .importance = 48}, \
        {"domain", "Domain", TYPE_TEXT, COLUMN_OPTIONAL, fill_name, FROM_KEY(range_kind, domain)}, \
    {                                                                                              \
        "name", "Name", TYPE_TEXT, 0, fill_range_name, FROM_KEY(range_kind, name)                  \
    }
struct cell fill_range_form(struct report_row *row, const struct column *column);
struct cell fill_range_name(struct report_row *row, const struct column *column);

/* Opens all ranges, and sets and finishes BUSY, which is all zero before. Rows that would still take too many steps are
 * RANGE_BUSY_UNKNOWN, and a warning says how many. Without trace_has_ranges() BUSY stays as it is. Returns 0, or -1: no
 * memory, or after error(). */
int range_rows_gather(const struct range_rows *rows, struct range_busy *busy);

/* The busy time of a row; empty when it is not known. */
struct cell range_rows_cell(const struct range_busy *busy, uint32_t row);

/* --- the forest of ranges that nest on a thread. A range that overlaps another without nesting is not in it. Ranges
 * whose whole paths have the same names are one node --- */

struct range_node {
    uint32_t parent; /* index + 1; 0: outermost */
    uint32_t depth;  /* 0: outermost */
    uint32_t name, domain;
};

/* All zero is empty. */
struct range_forest {
    struct dense_map ids;
    ARRAY(struct range_node) nodes;
};

void range_forest_release(struct range_forest *forest);

/* Sets `node` of the range that WALK, of ranges that nest, has opened last. TAKEN becomes the time by which this range
 * shortens its parent's own time: the part that no earlier inner range covers. Returns 0, or -1: no memory. */
int range_forest_place(struct range_forest *forest, struct range_walk *walk, int64_t *taken);

/* "outer/inner": the names on the way to a node (index + 1, 0: none), of many the innermost. */
struct cell range_forest_path_cell(const struct range_forest *forest, const struct trace *trace, struct table *table,
                                   uint32_t node);

/*
 * --- range_depth.c: how long GPUs were busy with what was launched in rows of ranges, where too many rows are open at
 * once to add each operation to each of them.
 *
 * A row that was open once on one thread, or once on two threads at the same time, is a question about consecutive
 * calls (cover.h), and any number of these is answered. Other rows are sorted by their start, and from one to the next
 * the operations are added and removed that only one of the two has (struct coverage). These are few where each step of
 * several threads leaks a range. A row that takes more steps than the limit is left out.
 */

/* A time in which ranges of a row were open on a thread. */
struct range_depth_span {
    int64_t first, last; /* both belong to it */
    uint32_t row, thread;
};

struct range_depth {
    FILE_VECTOR(struct range_depth_span) spans; /* by thread, then first, while they are gathered */
    FILE_VECTOR(struct cover_operation) operations;
    FILE_VECTOR(struct cover_question) questions;
    FILE_VECTOR(struct range_depth_row) others;
    uint64_t steps; /* that are left for those */
};

/* A row that is not one question. */
struct range_depth_row {
    size_t first, count; /* of its spans, which are sorted by row */
    int64_t earliest;    /* start of these */
    uint32_t row;
};

void range_depth_init(struct range_depth *depth, const char *directory);
void range_depth_release(struct range_depth *depth);

/* ROW has a RANGE open that overlaps none of its own on this thread so far; the last span may still be extended.
 * Returns 0, or -1: no memory. */
int range_depth_span(struct range_depth *depth, uint32_t row, const struct range *range);

/* After the last: adds to BUSY, which is finished. Returns 0, or -1: no memory, or after error(). */
int range_depth_measure(struct range_depth *depth, const struct range_rows *rows, struct range_busy *busy);

#endif
