/*
 * The map of ranks and steps of a page of HTML.
 */
#ifndef GPUTRACE_ANALYSIS_RENDER_PAGE_RANKS_H
#define GPUTRACE_ANALYSIS_RENDER_PAGE_RANKS_H

#include <stdint.h>

struct page;
struct ranks;

/* Writes the steps of all RANKS, if there are several, and marks those that are later than a typical one by LEAST ns.
 * Returns 0, or -1: no memory. */
int page_ranks(struct page *page, const struct ranks *ranks, int64_t least);

#endif
