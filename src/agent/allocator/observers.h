/*
 * Who is asked for help when there is no memory.
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_OBSERVERS_H
#define GPUTRACE_AGENT_ALLOCATOR_OBSERVERS_H

#include <gputrace/allocator.h>
#include <stdbool.h>

/* 0, or -1: there are too many, or it is not there. */
int observers_add(gputrace_allocator_failure_fn *call, void *data);
int observers_remove(gputrace_allocator_failure_fn *call, void *data);

/* Whether one of them wants it tried again. Inside of one, nobody is asked. No lock is held while they run. */
bool observers_ask(int device, size_t size, size_t held);

#endif
