/*
 * Memory that will be used from end to end, in large pages where the system has them: the first touch of each small one
 * takes a microsecond.
 */
#ifndef GPUTRACE_COMMON_LARGE_H
#define GPUTRACE_COMMON_LARGE_H

#include <stddef.h>

/* SIZE bytes, to be freed with free(). NULL: no memory. */
void *large_alloc(size_t size);

#endif
