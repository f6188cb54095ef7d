/*
 * Streams that the program made, and has not destroyed: CUPTI also tells of those that CUDA makes for itself, when
 * their context goes.
 */
#ifndef GPUTRACE_AGENT_CUPTI_OWN_STREAMS_H
#define GPUTRACE_AGENT_CUPTI_OWN_STREAMS_H

#include <stdbool.h>

struct CUstream_st;

void own_streams_add(const struct CUstream_st *stream);

/* Whether it was one. */
bool own_streams_remove(const struct CUstream_st *stream);

/* In a forked child: they are the parent's. */
void own_streams_leave(void);

#endif
