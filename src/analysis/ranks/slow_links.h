/*
 * Hosts and ranks with a slower link: all operations with them take longer, from when the last rank has entered, than
 * equal operations (kind, size, ranks, number of hosts) of other groups. Where every group has the host, or two hosts
 * are in the same groups, nobody can know which link is slow, and none is named.
 */
#ifndef GPUTRACE_ANALYSIS_RANKS_SLOW_LINKS_H
#define GPUTRACE_ANALYSIS_RANKS_SLOW_LINKS_H

#include <stdint.h>

#include "common/array.h"
#include "analysis/ranks/ranks.h"

/* Kinds of operations that lose less than this part of what the worst one loses say nothing. */
#define SLOW_LINK_PART 8
#define SLOW_LINKS_MOST 8 /* hosts, and ranks */

struct slow_link {
    uint32_t rank;  /* index of ranks.items: the only rank, or the first of the host, whose operations are slow */
    uint32_t host;  /* text; EVENT_NO_TEXT: it is the link of the rank */
    uint32_t ranks; /* of the host, that have such operations */
    int64_t cost;   /* ns that these took longer, on the rank where it is most */
    uint64_t kind;  /* of the operations that lost most: enum collective_kind … */
    int64_t bytes, group_size;
    int64_t count, other_count; /* … with the link, and others … */
    double time, other_time;    /* … and how long one takes, ns */
};

/* All zero is empty. */
struct slow_links {
    ARRAY(struct slow_link) items;
};

void slow_links_release(struct slow_links *links);

/* Operations are slow from TIMES the time of a typical equal one on. Groups with less than LEAST operations do not
 * count. Returns 0, or -1: no memory. */
int slow_links_find(struct slow_links *links, const struct ranks *ranks, double times, int64_t least);

#endif
