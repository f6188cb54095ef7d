/* What is written of NVTX. */
#ifndef GPUTRACE_AGENT_SPOOL_RECORD_NVTX_H
#define GPUTRACE_AGENT_SPOOL_RECORD_NVTX_H

#include <stdint.h>

#include "agent/dispatch/registry.h"
#include "common/spool_records.h"

int record_nvtx_subscribe(void);

/* The registry's shortcut: an NVTX event that happens now and has nothing but a message. */
void record_nvtx_briefly(enum spool_nvtx_what what, uint32_t domain, uint32_t string, struct gputrace_text message);

/* In a forked child: another thread may have held the lock. */
void record_nvtx_atfork_child(void);

#endif
