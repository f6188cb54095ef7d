/*
 * How long GPUs were busy with the operations that were launched in the ranges of each row of a section. The run time
 * does not grow with the number of ranges that are open at once.
 *
 * Usually few rows are open, and each GPU operation is added to all of them (busy.h). If that would take too many
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

#define RANGE_ROW_OUTSIDE 0 /* the row of operations outside of ranges */
#define RANGE_ROW_NONE UINT32_MAX

/* The limit of steps: `each` for every operation and range, plus `all`. A step adds an operation to a row. */
struct range_rows_limit {
    uint64_t each, all;
};
#define RANGE_ROWS_LIMIT ((struct range_rows_limit){64, 1000000})

struct range_rows {
    const struct trace *trace;     /* the source of ranges and launched_ops */
    bool nesting;                  /* ranges by start and end are left out */
    struct range_rows_limit limit; /* RANGE_ROWS_LIMIT, except in tests */
    void *context;
    /* Returns the row, from 1 on, of the range that WALK opened last, or RANGE_ROW_NONE without memory. */
    uint32_t (*row)(void *context, struct range_walk *walk);
    /* Returns the number of the GPU or stream whose busy time OP belongs to. NULL: the index of the GPU. */
    uint32_t (*gpu)(void *context, const struct launched_op *op);
    /* Called for each operation; OUTSIDE: it is in no range. Returns 0, or -1: no memory. May be NULL. */
    int (*operation)(void *context, const struct launched_op *op, bool outside);
    /* Returns the row of operations that were captured in a range of this name, or RANGE_ROW_NONE without memory.
     * Captured operations are never outside. NULL: captures are ignored. */
    uint32_t (*captured)(void *context, uint32_t name);
};

/* The key of a row, or the beginning of its key: name, domain and form of its ranges. Marks have rows, too, as have
 * operations outside of ranges, and operations of graphs that were captured in ranges of one name (of any domain). */
struct range_kind {
    uint64_t name, domain;
    uint64_t form; /* RANGE_NESTED to RANGE_CAPTURED */
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

/* Opens all ranges, and fills and finishes BUSY, which must be all zero. Rows that lack an operation become
 * RANGE_BUSY_UNKNOWN, and a warning prints their number. If trace_has_ranges() is false, BUSY is not changed. Returns
 * 0, or -1: no memory, or after error(). */
int range_rows_gather(const struct range_rows *rows, struct range_busy *busy);

/* Returns a cell with the busy time of a row, which is empty if the time is not known. */
struct cell range_rows_cell(const struct range_busy *busy, uint32_t row);

/* --- the forest of ranges that nest on a thread. It lacks ranges by start and end. Ranges whose whole paths have the
 * same names share a node --- */

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

/* Sets `node` of the range that WALK, which must be of nesting ranges, opened last. Sets *TAKEN to the ns by which that
 * range shortens its parent's own time: its part that no earlier inner range covers. Returns 0, or -1: no memory. */
int range_forest_place(struct range_forest *forest, struct range_walk *walk, int64_t *taken);

/* Returns a cell with the names on the path to NODE (index + 1; 0: none), such as "outer/inner". Of a long path, only
 * the innermost names are shown. */
struct cell range_forest_path_cell(const struct range_forest *forest, const struct trace *trace, struct table *table,
                                   uint32_t node);

#endif
