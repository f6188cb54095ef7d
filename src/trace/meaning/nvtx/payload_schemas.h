/*
 * Payloads of NVTX events: the schemas that describe them, put together from the records of their entries, and the
 * copies of the program's memory that they lie in. Records may be read in any order, so they are collected first.
 * common/payload.h says how one walks over a payload.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_PAYLOAD_SCHEMAS_H
#define GPUTRACE_TRACE_MEANING_NVTX_PAYLOAD_SCHEMAS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/payload.h"
#include "common/spool_records.h"
#include "trace/spool/event_record.h"

struct nvtx_text {
    const char *text; /* in the spool, of LENGTH bytes; NULL: there is none */
    uint32_t length;
};

static inline struct nvtx_text nvtx_text_of(const char *text, uint32_t length)
{
    return (struct nvtx_text){length ? text : NULL, length};
}

/* A key for what has an id in a domain. Different ones may have the same key: a find compares id and domain again. */
static inline uint64_t payload_key(uint32_t domain, uint64_t id)
{
    return id + domain * UINT64_C(0x9e3779b97f4a7c15);
}

/* --- schemas --- */

struct payload_entry_words {
    struct nvtx_text name, description;
    const struct spool_nvtx_semantics *semantics; /* NULL: nothing beyond its type */
};

struct payload_described {
    struct payload_schema layout; /* first: a pointer to it is one to the whole */
    const struct spool_nvtx_schema *record;
    struct nvtx_text name;
    struct payload_entry *entries;
    struct payload_entry_words *words; /* of each entry */
};

struct payload_schemas {
    ARRAY(struct payload_described) items; /* once closed: by number */
    ARRAY(const struct spool_nvtx_entry *) entries;
    ARRAY(const struct spool_nvtx_semantics *) semantics; /* of entries */
    struct map by_id;                                     /* domain and id -> index + 1 of the latest */
};

/* A record of a schema. Returns 0, or -1 after error(). */
int payload_schemas_index(struct payload_schemas *schemas, const struct event *event);
/* After the last: puts them together. Returns 0, or -1 after error(). */
int payload_schemas_close(struct payload_schemas *schemas);
/* NULL: there is none of this id in the domain. */
const struct payload_described *payload_schemas_find(const struct payload_schemas *schemas, uint32_t domain,
                                                     uint64_t id);
/* The two texts of a record: the name has NAME_LENGTH bytes of LENGTH. */
void payload_split_text(const char *text, uint32_t length, uint32_t name_length, struct nvtx_text *name,
                        struct nvtx_text *description);

/* --- copies of the program's memory --- */

struct payload_copy {
    const struct spool_nvtx_piece *record;
    uint64_t number; /* of its payload */
    uint64_t order;  /* in which it was read */
};

struct payload_copies {
    FILE_VECTOR(struct payload_copy) items; /* once closed: by number and order */
    uint64_t lost;                          /* that the agent did not copy */
};

int payload_copies_index(struct payload_copies *copies, const struct event *event);
/* After the last, before any is asked for. Returns 0, or -1 after error(). */
int payload_copies_close(struct payload_copies *copies);

/* The first copy of a payload, and the one after; NULL: there is none. */
const struct payload_copy *payload_copies_first(const struct payload_copies *copies, uint64_t number);
const struct payload_copy *payload_copies_next(const struct payload_copies *copies, const struct payload_copy *copy);
/* The bytes that lay at ADDRESS, *SIZE of them; NULL: they were not recorded. */
const uint8_t *payload_copies_at(const struct payload_copies *copies, uint64_t number, uint64_t address,
                                 uint64_t *size);
/* The text of the registered string with this handle, in the same way. */
const uint8_t *payload_copies_string(const struct payload_copies *copies, uint64_t number, uint64_t handle,
                                     uint64_t *size);

/* --- values --- */

#define PAYLOAD_SERIES_MAX 32 /* values of one counter group; further ones are not shown */

#endif
