/*
 * The walk over the library's own records, and their decoder: the input is a chunk's bytes.
 */
#include "tests/fuzz/fuzz.h"

#include "trace/spool/agent_records.h"

static void see(const struct agent_walk *walk, const struct spool_part *part)
{
    struct event event;
    struct agent_walk again;
    const uint8_t *end = part->data + part->size;
    FUZZ_HOLDS((const uint8_t *)walk->record + walk->record->bytes <= end);
    FUZZ_HOLDS(!walk->text || (const uint8_t *)walk->text + walk->length <= end);
    agent_decode(&event, walk, 7);
    FUZZ_HOLDS(event.record == walk->record && event.text_length == walk->length);
    fuzz_touch(event.text, event.text_length);
    agent_walk_at(&again, walk->record);
    FUZZ_HOLDS(again.text == walk->text && again.length == walk->length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    struct spool_part part = {.type = SPOOL_RECORDS, .state = SPOOL_IN_USE, .size = size};
    struct agent_walk walk;
    uint8_t *copy = fuzz_copy(&bytes, &part.size);
    part.data = copy;
    agent_walk_begin(&walk, &part);
    while (agent_walk_next(&walk))
        see(&walk, &part);
    free(copy);
    return 0;
}
