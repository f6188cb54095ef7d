/*
 * Words for CUPTI's kinds of copies and memory, as traces write them: "HtoD", "Pinned". Unknown numbers give "Unknown".
 */
#ifndef GPUTRACE_TRACE_SPOOL_MEMORY_NAMES_H
#define GPUTRACE_TRACE_SPOOL_MEMORY_NAMES_H

const char *copy_kind_name(unsigned kind);
const char *memory_kind_name(unsigned kind);

#endif
