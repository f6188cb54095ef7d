/*
 * What plugins, and the program through its host, add to the spool. The number of a client is the registry's: 1 is the
 * program, plugins follow from 2. Texts that are too long are cut, and the loss is counted.
 */
#ifndef GPUTRACE_AGENT_SPOOL_PLUGIN_RECORDS_H
#define GPUTRACE_AGENT_SPOOL_PLUGIN_RECORDS_H

#include <stdint.h>

#include "common/spool_records.h"

/* Once for each client and spool, before any other record of it. */
void plugin_record_client(uint32_t client, const char *name);

/* What the client's callbacks took so far. */
void plugin_record_time(uint32_t client, uint64_t calls, uint64_t ns);

/* A slice, an instant, a counter's value: WHAT is SPOOL_PLUGIN_SLICE …. Texts may be NULL. */
struct plugin_event {
    uint16_t what;
    uint32_t client;
    uint64_t start, end; /* ns; END of a slice alone */
    double value;        /* of a counter */
    const char *name, *detail;
};
void plugin_record_event(const struct plugin_event *event);

/* A line for the user; STACK (0: none) is the number of one that was recorded. */
void plugin_record_line(uint32_t client, uint32_t stack, const char *text);

#endif
