/*
 * CUPTI's callbacks, by cbid and only for calls whose arguments somebody wants: memory, contexts, streams, profiler
 * control.
 *
 * One driver call stands for every version of it and for the runtime call around it, since each runtime call calls the
 * driver with the same correlation id.
 */
#ifndef GPUTRACE_INJECTED_COLLECT_CUPTI_CALLBACKS_H
#define GPUTRACE_INJECTED_COLLECT_CUPTI_CALLBACKS_H

#include <stddef.h>
#include <stdint.h>

struct cupti;

/* Subscribes and enables the callbacks of every registry kind that is wanted. Gives 0, or -1 with WHY filled: another
 * profiler has CUPTI. */
int cupti_callbacks_init(const struct cupti *cupti, char *why, size_t size);

/* CUPTI's id of a stream of the program (CUstream or cudaStream_t as an integer) in its context, or SPOOL_NO_STREAM. */
uint32_t cupti_stream_id(uint64_t context, uint64_t stream);

#endif
