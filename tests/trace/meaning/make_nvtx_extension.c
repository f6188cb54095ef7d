#include "tests/trace/meaning/make_nvtx_extension.h"

#include <string.h>

void make_extension(struct make_spool *spool, uint16_t type, uint16_t flags, uint64_t time, const void *record,
                    size_t size, const void *text, size_t length)
{
    const struct spool_record *from = record;
    char text_of_four[4] = "";
    struct spool_record *made = make_own(spool, type, time, size, sizeof(text_of_four), text, length);
    memcpy(made + 1, from + 1, size - sizeof(*from) - sizeof(uint32_t) - sizeof(text_of_four));
    made->flags = flags;
    uint32_t count = (uint32_t)length;
    char *tail = (char *)made + size - sizeof(uint32_t) - sizeof(text_of_four);
    memcpy(tail, &count, sizeof(count));
    if (length > 0)
        memcpy(tail + sizeof(count), text, length);
}

void make_schema(struct make_spool *spool, uint32_t number, enum payload_schema_kind kind, uint64_t flags,
                 uint64_t size, const char *name, const struct make_entry *entries, size_t count)
{
    MAKE_EXTENSION(spool, NVTX_SCHEMA, spool_nvtx_schema, 0, 0, name, strlen(name), .id = make_schema_id(number),
                   .flags = flags, .size = size, .number = number, .kind = kind, .entries = (uint32_t)count);
    for (uint32_t i = 0; i < count; i++) {
        const char *text = entries[i].name ? entries[i].name : "";
        MAKE_EXTENSION(spool, NVTX_ENTRY, spool_nvtx_entry, 0, 0, text, strlen(text), .flags = entries[i].flags,
                       .type = entries[i].type, .detail = entries[i].detail, .offset = entries[i].offset,
                       .schema = number, .index = i, .name_length = (uint32_t)strlen(text));
    }
}

void make_payload(struct make_spool *spool, uint64_t number, uint32_t index, uint64_t schema, uint64_t address,
                  const void *bytes, size_t size)
{
    MAKE_EXTENSION(spool, NVTX_PIECE, spool_nvtx_piece, SPOOL_NVTX_PIECE_PAYLOAD, 0, bytes, size, .number = number,
                   .address = address, .schema = schema, .size = size, .index = index);
}

void make_pointed(struct make_spool *spool, uint64_t number, uint16_t kind, uint64_t address, const void *bytes,
                  size_t size)
{
    MAKE_EXTENSION(spool, NVTX_PIECE, spool_nvtx_piece, kind, 0, bytes, size, .number = number, .address = address,
                   .size = size);
}
