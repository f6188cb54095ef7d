/*
 * What NVTX events refer to: payload schemas, copies of payloads, scopes.
 */
#ifndef GPUTRACE_TRACE_BUILD_PAYLOAD_SCHEMAS_H
#define GPUTRACE_TRACE_BUILD_PAYLOAD_SCHEMAS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/file_vector.h"
#include "common/map.h"
#include "common/payload.h"
#include "common/spool_records.h"
#include "trace/spool/event_record.h"

/*
 * Payload schemas and enumerations of one process, put together from the records of their entries: what
 * common/payload.h walks by, and what things are called. Texts lie in the spool.
 *
 * Records may be read in any order: they are collected, and put together at the end.
 */

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

/* Remembers a record of a schema, an entry or semantics; others are passed over. Returns 0, or -1 after error(). */
int payload_schemas_index(struct payload_schemas *schemas, const struct event *event);

/* After the last: puts them together. Returns 0, or -1 after error(). */
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

/*
 * Pieces of the program's memory that were recorded with payloads, by the payloads' numbers. Their bytes lie in the
 * spool.
 */

struct payload_copy {
    const struct spool_nvtx_piece *record;
    uint64_t number; /* of its payload */
    uint64_t order;  /* in which it was read */
};

struct payload_copies {
    FILE_VECTOR(struct payload_copy) items; /* once closed: by number and order */
    uint64_t lost;                          /* that the library did not keep */
};

void payload_copies_release(struct payload_copies *pieces);

/* Remembers a record of a piece; others are passed over. Returns 0, or -1 after error(). */
int payload_copies_index(struct payload_copies *pieces, const struct event *event);
/* After the last, before any is asked for. Returns 0, or -1 after error(). */
int payload_copies_close(struct payload_copies *pieces);

/* The first piece of a payload, in their order; NULL: there is none. */
const struct payload_copy *payload_copies_first(const struct payload_copies *pieces, uint64_t number);
static inline const struct payload_copy *payload_copies_next(const struct payload_copies *pieces,
                                                             const struct payload_copy *piece)
{
    const struct payload_copy *next = piece + 1;
    return next < pieces->items.items + pieces->items.count && next->number == piece->number ? next : NULL;
}

/* The bytes that lay at ADDRESS, *SIZE of them; NULL: they were not recorded. */
const uint8_t *payload_copies_at(const struct payload_copies *pieces, uint64_t number, uint64_t address,
                                 uint64_t *size);
/* The text of a registered string with this handle, likewise. */
const uint8_t *payload_copies_string(const struct payload_copies *pieces, uint64_t number, uint64_t handle,
                                     uint64_t *size);

/*
 * NVTX's scopes: where events and counters of a process come from, by paths.
 */

struct buffer;

/* Predefined ones that mean something here. */
enum {
    NVTX_SCOPES_NONE = 0,
    NVTX_SCOPES_ROOT = 1,
    NVTX_SCOPES_PROCESS = 21,
    NVTX_SCOPES_THREAD = 22,
    NVTX_SCOPES_INNERMOST = 31,
};

struct nvtx_scopes {
    ARRAY(const struct spool_nvtx_scope *) items;
    struct map by_id; /* domain and id -> index + 1 */
};

void nvtx_scopes_release(struct nvtx_scopes *scopes);

/* Remembers a record of a scope; others are passed over. Returns 0, or -1 after error(). */
int nvtx_scopes_index(struct nvtx_scopes *scopes, const struct event *event);

/* Writes the path of a scope, "device/queue", as it is; of one that is not known its number, of none nothing. */
void nvtx_scopes_put(const struct nvtx_scopes *scopes, struct buffer *buffer, uint32_t domain, uint64_t id);

#endif
