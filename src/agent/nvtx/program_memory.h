/*
 * The program's memory where a pointer of the program says that there is some: looked at only where it can be read.
 *
 * A pointer in a payload may be wrong, and what is behind it may be a device's. Whether a page can be read is asked of
 * the kernel, which costs a system call for each, so what the program itself vouches for is not asked about. A page
 * that another thread unmaps meanwhile is the program's own race.
 */
#ifndef GPUTRACE_AGENT_NVTX_PROGRAM_MEMORY_H
#define GPUTRACE_AGENT_NVTX_PROGRAM_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* How many of SIZE bytes at AT can be read. */
size_t program_readable(uint64_t at, size_t size);

/* Characters of WIDTH bytes (1, 2, 4) before the first that is zero, where that can be read, and within SIZE bytes. */
size_t program_text_length(uint64_t at, size_t width, size_t size);

#endif
