/*
 * Ranges on a thread that nest make a forest; one that overlaps another without nesting is no part of it, but of what
 * is around both. Ranges of the same names all the way up are one node.
 */
#ifndef GPUTRACE_ANALYSIS_RANGE_FOREST_H
#define GPUTRACE_ANALYSIS_RANGE_FOREST_H

#include <stdint.h>

#include "common/array.h"
#include "analysis/groups.h"
#include "analysis/range_walk.h"

struct range_node {
    uint32_t parent; /* index + 1; 0: outermost */
    uint32_t depth;  /* 0: outermost */
    uint32_t name, domain;
};

/* All zero is empty. */
struct range_forest {
    struct groups ids;
    ARRAY(struct range_node) nodes;
};

void range_forest_release(struct range_forest *forest);

/* Sets `node` of the range that WALK, of those that nest, has opened last. TAKEN becomes the time that this one took of
 * its parent's own: what no other inner one of that parent had taken. Gives 0, or -1: no memory. */
int range_forest_place(struct range_forest *forest, struct range_walk *walk, int64_t *taken);

struct cell;
struct table;
struct trace;
/* "outer/inner": the names on the way to a node (index + 1, 0: none), of many the innermost. */
struct cell range_forest_path_cell(const struct range_forest *forest, const struct trace *trace, struct table *table,
                                   uint32_t node);

#endif
