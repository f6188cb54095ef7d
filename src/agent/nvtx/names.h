/*
 * Names of what is not NVTX's own: of threads and of CUDA's objects.
 */
#ifndef GPUTRACE_AGENT_NVTX_NAMES_H
#define GPUTRACE_AGENT_NVTX_NAMES_H

#include <stdint.h>

#include "agent/dispatch/events.h"

/* THREAD: gettid(). */
void nvtx_name_thread(uint32_t thread, struct gputrace_text name);

void nvtx_name_object(enum spool_nvtx_object what, uint64_t object, struct gputrace_text name);

#endif
