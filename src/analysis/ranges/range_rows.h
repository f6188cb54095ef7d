/*
 * How long GPUs were busy with what was launched in the ranges of each row of a section, in time that does not grow
 * with how many ranges are open at once.
 *
 * Usually few rows are open, and each GPU operation is added to each of them (busy.h). If that would take too many
 * steps, for example because a program never ends its ranges, only the rows that were opened last are measured.
 */
#ifndef GPUTRACE_ANALYSIS_RANGES_RANGE_ROWS_H
#define GPUTRACE_ANALYSIS_RANGES_RANGE_ROWS_H

#include <stdint.h>

#include "common/array.h"
#include "analysis/base/busy.h"
#include "common/map.h"
#include "analysis/engine/ranges.h"
#include "analysis/engine/section.h"

#define RANGE_ROW_OUTSIDE 0 /* the row of operations in no range */
#define RANGE_ROW_NONE UINT32_MAX

/* The limit of steps: EACH for every operation and range, and ALL in addition. A step adds an operation to a row. */
struct range_rows_limit {
    uint64_t each, all;
};
#define RANGE_ROWS_LIMIT ((struct range_rows_limit){64, 1000000})

struct range_rows {
    const struct trace *trace;     /* its ranges, and the operations that were launched in them */
    bool nesting;                  /* ranges that were started and ended are left out */
    struct range_rows_limit limit; /* RANGE_ROWS_LIMIT; tests have less */
    void *context;
    /* Returns the row, from 1 on, of the range that the walk has opened last, or RANGE_ROW_NONE without memory. */
    uint32_t (*row)(void *context, struct range_walk *walk);
    /* Returns the number of the GPU or stream that busy times are measured of. NULL: the GPU. */
    uint32_t (*gpu)(void *context, const struct launched_op *op);
    /* Called for each operation, OUTSIDE if it is in no range; may be NULL. Returns 0, or -1: no memory. */
    int (*operation)(void *context, const struct launched_op *op, bool outside);
    /* Returns the row of operations that were captured in a range of this name, or RANGE_ROW_NONE without memory. Such
     * operations are never outside. NULL: captures do not count. */
    uint32_t (*captured)(void *context, uint32_t name);
};

/* The key of a row, or its beginning: the name of its ranges and how they were made, by push and pop or by start and
 * end. Marks have rows, too; so have operations in no range, and operations of graphs that were captured in ranges of
 * one name (of any domain). */
struct range_kind {
    uint64_t name, domain;
    uint64_t form; /* RANGE_NESTED and the like */
};
enum { RANGE_NESTED, RANGE_STARTED, RANGE_MARK, RANGE_IN_NONE, RANGE_CAPTURED };

#define RANGE_KIND_OUTSIDE ((struct range_kind){EVENT_NO_TEXT, EVENT_NO_TEXT, RANGE_IN_NONE})
#define RANGE_KIND_CAPTURED(name) ((struct range_kind){(name), EVENT_NO_TEXT, RANGE_CAPTURED})

static inline struct range_kind range_kind_of(const struct range *range)
{
    return (struct range_kind){range->name, range->domain, range->started ? RANGE_STARTED : RANGE_NESTED};
}

/* The columns of a struct range_kind, and the functions that fill them. */
#define RANGE_KIND_COLUMNS                                                                         \
    {"kind", "Kind", TYPE_TEXT, 0, fill_range_form, FROM_KEY(range_kind, form), .importance = 48}, \
        {"domain", "Domain", TYPE_TEXT, COLUMN_OPTIONAL, fill_name, FROM_KEY(range_kind, domain)}, \
    {                                                                                              \
        "name", "Name", TYPE_TEXT, 0, fill_range_name, FROM_KEY(range_kind, name)                  \
    }
struct cell fill_range_form(struct report_row *row, const struct column *column);
struct cell fill_range_name(struct report_row *row, const struct column *column);

/* Opens all ranges, and sets and finishes BUSY, which is all zero before. Rows to which an operation was not added are
 * RANGE_BUSY_UNKNOWN, and a warning prints their number. Without trace_has_ranges() BUSY is not changed. Returns 0, or
 * -1: no memory, or after error(). */
int range_rows_gather(const struct range_rows *rows, struct range_busy *busy);

/* The busy time of a row; empty if it is not known. */
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

/* Sets `node` of the range that WALK, of ranges that nest, has opened last. Sets *TAKEN to the time by which it
 * shortens its parent's own time: the part that no earlier inner range covers. Returns 0, or -1: no memory. */
int range_forest_place(struct range_forest *forest, struct range_walk *walk, int64_t *taken);

/* "outer/inner": the names on the path to a node (index + 1; 0: none), of a long path only the innermost. */
struct cell range_forest_path_cell(const struct range_forest *forest, const struct trace *trace, struct table *table,
                                   uint32_t node);

#endif
