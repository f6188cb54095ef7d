/*
 * More of make_spool.h: records of NVTX's extensions. Times are ns after MAKE_SPOOL_START, 0 where none matters.
 */
#ifndef GPUTRACE_TESTS_TOOL_CONVERT_MAKE_NVTX_EXTENSION_H
#define GPUTRACE_TESTS_TOOL_CONVERT_MAKE_NVTX_EXTENSION_H

#include "common/payload.h"
#include "tests/trace/meaning/make_spool.h"

/* RECORD is a struct of the type, SIZE bytes, without head, length and text. */
void make_extension(struct make_spool *spool, uint16_t type, uint16_t flags, uint64_t time, const void *record,
                    size_t size, const void *text, size_t length);
#define MAKE_EXTENSION(spool, name, structure, flags, time, text, length, ...)                \
    make_extension(spool, SPOOL_RECORD_##name, flags, time, &(struct structure){__VA_ARGS__}, \
                   sizeof(struct structure), text, length)

struct make_entry {
    const char *name;
    uint64_t type, flags, detail, offset;
};

/* A schema of COUNT entries in domain 0, with NUMBER as its number; its id is make_schema_id(NUMBER). */
void make_schema(struct make_spool *spool, uint32_t number, enum payload_schema_kind kind, uint64_t flags,
                 uint64_t size, const char *name, const struct make_entry *entries, size_t count);
static inline uint64_t make_schema_id(uint32_t number)
{
    return PAYLOAD_FIRST_DYNAMIC + number;
}
#define MAKE_SCHEMA(spool, number, kind, size, entries) \
    make_schema(spool, number, PAYLOAD_##kind, 0, size, "schema", entries, sizeof(entries) / sizeof(*(entries)))

/* Payload INDEX of the event whose payloads have this NUMBER; ADDRESS of it in the program. */
void make_payload(struct make_spool *spool, uint64_t number, uint32_t index, uint64_t schema, uint64_t address,
                  const void *bytes, size_t size);
/* What a pointer led to, or the text of a registered string. */
void make_pointed(struct make_spool *spool, uint64_t number, uint16_t kind, uint64_t address, const void *bytes,
                  size_t size);

#endif
