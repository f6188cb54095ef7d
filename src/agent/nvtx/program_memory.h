/*
 * The program's memory. A pointer in a payload may be wrong, and it may be a device's: memory behind it is read only
 * where it can be. The kernel is asked for each page, which costs a system call, so memory that the program vouches for
 * is not asked about. A page that another thread unmaps meanwhile is the program's own race.
 */
#ifndef GPUTRACE_AGENT_NVTX_PROGRAM_MEMORY_H
#define GPUTRACE_AGENT_NVTX_PROGRAM_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Returns how many of SIZE bytes at AT can be read. */
size_t program_readable(uint64_t at, size_t size);

/* Characters of WIDTH bytes (1, 2, 4) before the first that is zero, where they can be read, and within SIZE bytes. */
size_t program_text_length(uint64_t at, size_t width, size_t size);

#endif
