/*
 * Payloads of NVTX events: the schemas that describe them, assembled from the records of their entries, and copies of
 * the program's memory that hold them. Records may be read in any order, so they are collected first. common/payload.h
 * explains how to walk over a payload.
 */
#ifndef GPUTRACE_TRACE_MEANING_NVTX_PAYLOAD_SCHEMAS_H
#define GPUTRACE_TRACE_MEANING_NVTX_PAYLOAD_SCHEMAS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/payload.h"
#include "common/spool_records.h"
#include "trace/spool/event_record.h"

struct nvtx_text {
    const char *text; /* LENGTH bytes in the spool; NULL: there is no text */
    uint32_t length;
};

static inline struct nvtx_text nvtx_text_of(const char *text, uint32_t length)
{
    return (struct nvtx_text){length ? text : NULL, length};
}

/* A map key for an object with an id in a domain. Keys may collide: a search compares id and domain again. */
static inline uint64_t payload_key(uint32_t domain, uint64_t id)
{
    return id + domain * UINT64_C(0x9e3779b97f4a7c15);
}

/* --- schemas --- */

struct payload_entry_words {
    struct nvtx_text name, description;
    const struct spool_nvtx_semantics *semantics; /* NULL: the entry has only its type */
};

struct payload_described {
    struct payload_schema layout; /* first, so that a pointer to it can be cast to the whole */
    const struct spool_nvtx_schema *record;
    struct nvtx_text name;
    struct payload_entry *entries;
    struct payload_entry_words *words; /* of each entry */
};

struct payload_schemas {
    ARRAY(struct payload_described) items; /* payload_schemas_close() sorts by number */
    ARRAY(const struct spool_nvtx_entry *) entries;
    ARRAY(const struct spool_nvtx_semantics *) semantics; /* of entries */
    struct map by_id;                                     /* domain and id -> index + 1 of the latest schema */
};

/* Adds a record of a schema. Returns 0, or -1 after error(). */
int payload_schemas_index(struct payload_schemas *schemas, const struct event *event);
/* Assembles the schemas, after the last record. Returns 0, or -1 after error(). */
int payload_schemas_close(struct payload_schemas *schemas);
/* Returns NULL if the domain has no schema of this id. */
const struct payload_described *payload_schemas_find(const struct payload_schemas *schemas, uint32_t domain,
                                                     uint64_t id);
/* Splits the text of a record, of LENGTH bytes, into a name of NAME_LENGTH bytes and a description. */
void payload_split_text(const char *text, uint32_t length, uint32_t name_length, struct nvtx_text *name,
                        struct nvtx_text *description);

/* --- copies of the program's memory --- */

struct payload_copy {
    const struct spool_nvtx_piece *record;
    uint64_t number; /* of the payload */
    uint64_t order;  /* of reading */
};

struct payload_copies {
    FILE_VECTOR(struct payload_copy) items; /* payload_copies_close() sorts by number and order */
    uint64_t lost;                          /* how many copies the agent could not make */
};

int payload_copies_index(struct payload_copies *copies, const struct event *event);
/* Sorts the copies, after the last one and before any search. Returns 0, or -1 after error(). */
int payload_copies_close(struct payload_copies *copies);

/* Return the first copy of a payload, and the copy after COPY; NULL if there is none. */
const struct payload_copy *payload_copies_first(const struct payload_copies *copies, uint64_t number);
const struct payload_copy *payload_copies_next(const struct payload_copies *copies, const struct payload_copy *copy);
/* Returns the bytes that were at ADDRESS, and their number in *SIZE; NULL if they were not recorded. */
const uint8_t *payload_copies_at(const struct payload_copies *copies, uint64_t number, uint64_t address,
                                 uint64_t *size);
/* Returns the text of the registered string with this handle, and its bytes in *SIZE; NULL if it was not recorded. */
const uint8_t *payload_copies_string(const struct payload_copies *copies, uint64_t number, uint64_t handle,
                                     uint64_t *size);

/* --- values --- */

#define PAYLOAD_SERIES_MAX 32 /* values of one counter group; further ones are ignored */

#endif
