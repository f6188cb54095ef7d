/*
 * The decoder of CUPTI's records: CUPTI's version (4 bytes), pairs of a kind and its record's size (1 and 2 bytes; kind
 * 0 ends them), whether the chunk is done (1 byte), then the chunk's bytes.
 */
#include "tests/fuzz/fuzz.h"

#include "trace/spool/cupti.h"

static void walk(const struct spool_part *part, const uint16_t *sizes)
{
    struct cupti_walk walk;
    struct event event;
    size_t records = 0;
    cupti_walk_begin(&walk, part, part->data, sizes);
    while (cupti_walk_next(&walk)) {
        FUZZ_HOLDS((const uint8_t *)walk.record + walk.bytes <= part->data + part->size);
        FUZZ_HOLDS(((uintptr_t)walk.record - (uintptr_t)part->data) % 8 == 0);
        cupti_decode(&event, &walk);
        fuzz_touch(&event, sizeof(event));
        FUZZ_HOLDS(cupti_kind_decoded(walk.kind) || event.type == EVENT_TYPE_NONE);
        FUZZ_HOLDS(++records <= part->size / 8);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    struct spool_header header = {.cupti_version = (uint32_t)fuzz_number(&bytes, 4)};
    uint16_t sizes[SPOOL_CUPTI_KINDS];
    for (uint64_t kind; (kind = fuzz_number(&bytes, 1)) != 0;)
        header.record_bytes[kind % SPOOL_CUPTI_KINDS] = (uint16_t)fuzz_number(&bytes, 2);
    cupti_record_sizes(sizes, &header);
    struct spool_part part = {.type = SPOOL_CUPTI, .size = SIZE_MAX};
    part.state = fuzz_number(&bytes, 1) & 1 ? SPOOL_DONE : SPOOL_IN_USE;
    uint8_t *copy = fuzz_copy(&bytes, &part.size);
    part.data = copy;
    walk(&part, sizes);
    free(copy);
    return 0;
}
