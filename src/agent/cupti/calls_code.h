/*
 * The kind of an image of code that the program passes to CUDA, from its first bytes.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CALLS_CODE_H
#define GPUTRACE_AGENT_CUPTI_CALLS_CODE_H

#include <gputrace/callbacks.h>

/* IMAGE: as given to cuModuleLoadData, which has no length: text ends with a NUL, a binary is longer than its magic
 * number. NULL is of no known sort. No byte after the one that decides is read. */
enum gputrace_image image_sort(const void *image);

#endif
