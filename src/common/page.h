/*
 * The size of a page of memory: 4 KiB on most machines, up to 64 KiB on others. It must not be a constant: what is
 * mapped must begin at a multiple of it in the file, and a loop that touches every page goes by it.
 */
#ifndef GPUTRACE_COMMON_PAGE_H
#define GPUTRACE_COMMON_PAGE_H

#include <stddef.h>
#include <unistd.h>

/* Bytes, a power of two. Async-signal-safe. */
static inline size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/*
 * Memory that will be used from end to end, in large pages where the system has them: the first touch of each small one
 * takes a microsecond.
 */

/* SIZE bytes, to be freed with free(). NULL: no memory. */
void *large_alloc(size_t size);

#endif
