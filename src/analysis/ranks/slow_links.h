/*
 * Finds hosts and ranks with a slow link: once the last rank has entered, all operations with them take longer than
 * equal operations (kind, size, ranks, number of hosts) of other groups. No link is named if all groups have the host,
 * or if two hosts are in exactly the same groups, because either may be slow.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_SLOW_LINKS_H
#define GPUTRACE_ANALYSIS_RANKS_SLOW_LINKS_H

#include <stdint.h>

#include "common/array.h"
#include "analysis/ranks/ranks.h"

/* Kinds of operations are ignored if they lose less than an eighth of what the worst kind loses. */
#define SLOW_LINK_PART 8
#define SLOW_LINKS_MOST 8 /* limit of the hosts, and of the ranks */

struct slow_link {
    uint32_t rank;  /* index in ranks.items of the rank, or of the first rank of the host, with slow operations */
    uint32_t host;  /* name of the host; EVENT_NO_TEXT: the link belongs to the rank */
    uint32_t ranks; /* number of ranks of the host with slow operations */
    int64_t cost;   /* lost time of the rank that lost most, ns */
    uint64_t kind;  /* the kind of operation that lost most: enum collective_kind; its size */
    int64_t bytes, group_size;
    int64_t count, other_count; /* number of operations of this kind with and without the link */
    double time, other_time;    /* mean ns of such an operation with and without the link */
};

/* Initialise with zeros; array_release(&links.items) frees it. */
struct slow_links {
    ARRAY(struct slow_link) items;
};

/* Finds slow links. An operation is slow if it takes at least TIMES the time of a typical equal operation. Groups with
 * fewer than LEAST operations do not count. Returns 0, or -1: no memory. */
int slow_links_find(struct slow_links *links, const struct ranks *ranks, double times, int64_t least);

#endif
