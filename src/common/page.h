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

#endif
