/*
 * The recorder: a subscriber that writes what it hears into the spool.
 *
 * Names, contexts, streams and memory are always kept, for the trace cannot be read without them; NVTX events only
 * while recording is on.
 */
#ifndef GPUTRACE_INJECTED_RECORD_RECORDER_H
#define GPUTRACE_INJECTED_RECORD_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/spool.h"

/* Subscribes to what TRACE_BITS ask for. Gives 0, or -1: no memory. */
int recorder_subscribe(uint64_t trace_bits);

/* Recording goes on or off; REASON is written beside it. */
void recorder_switch(bool on, const char *reason);

/* A word to the user that belongs in the trace. */
void recorder_note(uint16_t flags, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
