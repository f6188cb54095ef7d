/*
 * NVTX's extensions define schemas, scopes, clocks and counters once and refer to them later. A definition is published
 * at once, and kept to be published again in a forked child, whose spool needs it, too.
 *
 * Events and counters may be timed by the program's own clocks, for which the program passes functions, and by clocks
 * of the system. From time to time each clock is read together with the trace's clock.
 */
#ifndef GPUTRACE_AGENT_NVTX_DEFINITIONS_H
#define GPUTRACE_AGENT_NVTX_DEFINITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/dispatch/registry.h"
#include "agent/nvtx/domains.h"
#include "common/payload.h"

/* Makes an extension record from the struct at STRUCT_AT. Further designated initialisers may follow. */
#define NVTX_RECORD(name, struct_at, ...) \
    (&(struct gputrace_nvtx_extension){   \
        .type = SPOOL_RECORD_NVTX_##name, .bytes = sizeof(*(struct_at)), .record = (struct_at), __VA_ARGS__})

/* Publishes a record, with the present time if it has none. Not written while recording is off unless `always` is set.
 */
void nvtx_publish(struct gputrace_nvtx_extension *what);

/* Publishes a record even while recording is off, and again in forked children. */
void nvtx_define(struct gputrace_nvtx_extension *what);

/* In a forked child that records: publishes all definitions again, for its own spool. */
void nvtx_definitions_republish(void);

/* Returns a unique number for a definition. */
uint32_t nvtx_definition_number(void);

/* Returns the id of a definition: the program's own CHOSEN if it lies in NVTX's range for such ids, else a new one. */
uint64_t nvtx_definition_id(uint64_t chosen);

/* Adds ITEM to a list that only grows and that other threads read without a lock. */
#define NVTX_LIST_PUSH(first, item)                                \
    do {                                                           \
        (item)->next = __atomic_load_n((first), __ATOMIC_RELAXED); \
    } while (!__atomic_compare_exchange_n((first), &(item)->next, (item), true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))

/* Definitions by domain and id, in tables that only grow and are read without a lock. */
struct nvtx_known {
    uint64_t id;
    uint32_t domain;
    struct nvtx_known *next;
};
#define NVTX_KNOWN_BUCKETS 4096u /* many, because a program may register one schema after the other */
struct nvtx_known_table {
    struct nvtx_known *buckets[NVTX_KNOWN_BUCKETS];
};
void nvtx_known_add(struct nvtx_known_table *table, struct nvtx_known *known);
/* Returns the latest definition with this id, or NULL if there is none. */
struct nvtx_known *nvtx_known_find(struct nvtx_known_table *table, uint32_t domain, uint64_t id);

/* Returns the schema that was registered last with this id in the domain with this number, or NULL if there is none. A
 * schema is never changed nor freed. Names and descriptions are published and not kept. */
const struct payload_schema *nvtx_schema_find(uint32_t domain, uint64_t id);

/* Defines the semantics (unit, limits, scope, clock) of a list, for entry INDEX of the schema with the number OF, or
 * for the counter with that number, as WHAT says. */
enum { NVTX_SEMANTICS_OF_ENTRY = 0, NVTX_SEMANTICS_OF_COUNTER = 1 };
void nvtx_semantics_define(const nvtxSemanticsHeader_t *first, uint16_t what, uint32_t of, uint32_t index);

/* Notes that the program uses this clock: an NVTX_TIMESTAMP_TYPE_… or the id of a time domain. */
void nvtx_clock_used(uint64_t id);

/* Reads all clocks that were not read for a while. Called when the program passes times. */
void nvtx_clocks_read(void);

/* At the end of the process: reads all clocks that can still be read. */
void nvtx_clocks_finish(void);

#endif
