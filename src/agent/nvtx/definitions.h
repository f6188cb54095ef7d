/*
 * What NVTX extensions define once and refer to later, and the clocks that events and counters are timed by.
 */
#ifndef GPUTRACE_AGENT_NVTX_DEFINITIONS_H
#define GPUTRACE_AGENT_NVTX_DEFINITIONS_H

#include <stdint.h>

#include "agent/dispatch/registry.h"

/*
 * What NVTX's extensions define once and refer to later: schemas, scopes, clocks, counters. It is published
 * at once, and kept to be published again in a forked child, whose spool needs it too.
 */

/* An extension record of a struct that is at hand: the rest may follow as designated initialisers. */
#define NVTX_RECORD(name, struct_at, ...) \
    (&(struct gputrace_nvtx_extension){   \
        .type = SPOOL_RECORD_NVTX_##name, .bytes = sizeof(*(struct_at)), .record = (struct_at), __VA_ARGS__})

/* Publishes it, now when it has no time, while recording is on or always. */
void nvtx_publish(struct gputrace_nvtx_extension *what);

/* Publishes it always, and again in forked children. */
void nvtx_define(struct gputrace_nvtx_extension *what);

/* In a forked child that records. */
void nvtx_definitions_republish(void);

/* A number that nothing else that was defined has. */
uint32_t nvtx_definition_number(void);

/* The id of something that was defined: the program's own CHOSEN where it lies in NVTX's range for these, else a new
 * one in the range for ours, which nothing else has. */
uint64_t nvtx_definition_id(uint64_t chosen);

/*
 * Clocks of the program that events and counters are timed by: its own, which it hands over as functions, and those
 * of the system. To bring them onto the trace's clock each is read beside it from time to time.
 */

/* Something is timed by this clock: an NVTX_TIMESTAMP_TYPE_… or the id of a time domain. */
void nvtx_clock_used(uint64_t id);

/* Reads all clocks that were not read for a while; called where times of theirs are handed over. */
void nvtx_clocks_read(void);

/* The process ends: reads all that can still be read. */
void nvtx_clocks_finish(void);

#endif
