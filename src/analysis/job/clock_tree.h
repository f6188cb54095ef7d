/*
 * The shortest ways from host 0 to all others over pairs of hosts.
 */
#ifndef GPUTRACE_ANALYSIS_JOB_CLOCK_TREE_H
#define GPUTRACE_ANALYSIS_JOB_CLOCK_TREE_H

#include <stddef.h>
#include <stdint.h>

struct clock_edge {
    uint32_t a, b; /* hosts */
    uint32_t pair; /* the caller's */
    double length; /* not below 0 */
};

struct clock_join {
    uint32_t host, through;
    uint32_t pair; /* of the edge from THROUGH to HOST */
};

/* JOINS has space for each host; *JOINED of it are set: one for each host that can be reached but host 0, each after
 * that which it is joined THROUGH. Equal lengths are decided by the numbers of hosts. Returns 0, or -1: no memory. */
int clock_tree_make(const struct clock_edge *edges, size_t count, uint32_t hosts, struct clock_join *joins,
                    size_t *joined);

#endif
