/*
 * The first walk (conversion.h), by whose records are read. All give 0, or -1 after error().
 */
#ifndef GPUTRACE_TRACE_BUILD_SURVEY_H
#define GPUTRACE_TRACE_BUILD_SURVEY_H

#include "trace/build/conversion.h"

/* survey_own.c: a record of the library's. */
int see_own(struct conversion *conversion, struct process *process, const struct event *event);
/* survey_cupti.c: all of CUPTI's. UNDECODED counts those that cannot be read. */
int survey_cupti(struct conversion *conversion, struct process *process, uint64_t *undecoded);

/* survey.c: of what both record. */
int see_context(struct process *process, const struct event *event);
int see_sync(struct process *process, const struct event *event);

/* given_names.c: an EVENT_THREAD_NAME; and an EVENT_NVTX_NAME, once all contexts and streams are known. */
int see_thread_name(struct process *process, const struct event *event);
int see_nvtx_name(struct process *process, const struct event *event);

#endif
