/*
 * What a mapped file loses while it is read: somebody makes it shorter, or the disk does not give it back. Reading such
 * a page is a SIGBUS; here it becomes a page of zeros, which is no record, and is counted.
 */
#ifndef GPUTRACE_TOOL_SPOOL_LOST_PAGES_H
#define GPUTRACE_TOOL_SPOOL_LOST_PAGES_H

#include <stddef.h>
#include <stdint.h>

struct lost_pages {
    uintptr_t start, end;    /* of the mapping */
    uint64_t volatile count; /* of pages that are zeros now */
    struct lost_pages *next;
};

/* Watches SIZE bytes at MAP until lost_pages_leave(); LOST stays where it is until then. By one thread at a time. */
void lost_pages_watch(struct lost_pages *lost, const void *map, size_t size);
/* Also of one that watches nothing. Before the memory is unmapped. */
void lost_pages_leave(struct lost_pages *lost);

#endif
