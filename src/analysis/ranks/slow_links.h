/*
 * Hosts and ranks with a slower link: all operations with them take longer, from when the last rank has entered, than
 * equal operations (kind, size, ranks, number of hosts) of other groups. If every group has the host, or two hosts are
 * in the same groups, it cannot be known which link is slow, and none is named.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_SLOW_LINKS_H
#define GPUTRACE_ANALYSIS_RANKS_SLOW_LINKS_H

#include <stdint.h>

#include "common/array.h"
#include "analysis/ranks/ranks.h"

/* Kinds of operations that lose less than this part (an eighth) of what the worst one loses are ignored. */
#define SLOW_LINK_PART 8
#define SLOW_LINKS_MOST 8 /* hosts, and ranks */

struct slow_link {
    uint32_t rank;  /* index of ranks.items: the only rank, or the first of the host, whose operations are slow */
    uint32_t host;  /* text; EVENT_NO_TEXT: it is the link of the rank */
    uint32_t ranks; /* ranks of the host with slow operations */
    int64_t cost;   /* ns that these operations took longer, on the rank that lost most */
    uint64_t kind;  /* the kind of operation that lost most: enum collective_kind */
    int64_t bytes, group_size;
    int64_t count, other_count; /* operations of this kind with the link, and without it */
    double time, other_time;    /* ns that one takes with the link, and without it */
};

/* All zero is empty. */
struct slow_links {
    ARRAY(struct slow_link) items;
};

/* Finds slow links. Operations are slow that take at least TIMES the time of a typical equal one. Groups with less than
 * LEAST operations do not count. Returns 0, or -1: no memory. */
int slow_links_find(struct slow_links *links, const struct ranks *ranks, double times, int64_t least);

#endif
