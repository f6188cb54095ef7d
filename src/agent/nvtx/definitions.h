/*
 * What NVTX's extensions define once and refer to ever after: schemas, scopes, clocks, counters. It is told to the
 * registry at once, and kept to be told again in a forked child, whose spool must hold it too.
 */
#ifndef GPUTRACE_AGENT_NVTX_DEFINITIONS_H
#define GPUTRACE_AGENT_NVTX_DEFINITIONS_H

#include "agent/dispatch/events.h"

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

#endif
