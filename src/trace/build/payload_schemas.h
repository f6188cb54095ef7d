/*
 * Payload schemas and enumerations of one process, put together from the records of their entries: what
 * common/payload.h walks by, and what things are called. Texts lie in the spool.
 *
 * Records may be read in any order: they are collected, and put together at the end.
 */
#ifndef GPUTRACE_TRACE_BUILD_PAYLOAD_SCHEMAS_H
#define GPUTRACE_TRACE_BUILD_PAYLOAD_SCHEMAS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/spool/event_record.h"
#include "common/payload.h"
#include "common/spool_records.h"

struct payload_text {
    const char *text; /* NULL: there is none */
    uint32_t length;
};

struct payload_entry_words {
    struct payload_text name, description;
    const struct spool_nvtx_semantics *semantics; /* NULL: nothing beyond its type */
};

struct payload_described {
    struct payload_schema layout; /* first: who has it has this */
    const struct spool_nvtx_schema *record;
    struct payload_text name;
    struct payload_entry *entries;
    struct payload_entry_words *words; /* of each entry */
};

struct payload_schemas {
    ARRAY(struct payload_described) items; /* once closed: by number */
    ARRAY(const struct spool_nvtx_entry *) entries;
    ARRAY(const struct spool_nvtx_semantics *) semantics; /* of entries */
    struct map by_id;                                     /* domain and id -> index + 1 of the latest */
};

void payload_schemas_release(struct payload_schemas *schemas);

/* Remembers a record of a schema, an entry or semantics; others are passed over. Gives 0, or -1 after error(). */
int payload_schemas_see(struct payload_schemas *schemas, const struct event *event);

/* After the last: puts them together. Gives 0, or -1 after error(). */
int payload_schemas_close(struct payload_schemas *schemas);

/* NULL: there is none of this id in the domain. */
const struct payload_described *payload_schemas_find(const struct payload_schemas *schemas, uint32_t domain,
                                                     uint64_t id);

/* The two texts of a record: the first has FIRST bytes of them. */
void payload_split_text(const char *text, uint32_t length, uint32_t first, struct payload_text *name,
                        struct payload_text *rest);

/* A key for what has an id in a domain. Different ones may come to the same: whoever finds one looks again. */
static inline uint64_t payload_key(uint32_t domain, uint64_t id)
{
    return id + domain * UINT64_C(0x9e3779b97f4a7c15);
}

#endif
