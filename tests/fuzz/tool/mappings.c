/*
 * What a process had mapped: the lines of /proc/PID/maps, after an address to look for (8 bytes).
 */
#include "tests/fuzz/fuzz.h"

#include "symbols/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    uint64_t address = fuzz_number(&bytes, sizeof(address));
    size_t length = bytes.left;
    char *text = (char *)fuzz_copy(&bytes, &length);
    struct mappings mappings = {0};
    struct names names = {0};
    FUZZ_HOLDS(mappings_read(&mappings, &names, text, length) == 0);
    for (size_t i = 0; i < mappings.items.count; i++) {
        const struct mapping *mapping = &mappings.items.items[i];
        FUZZ_HOLDS(mapping->start < mapping->end);
        FUZZ_HOLDS(mapping->offset <= UINT64_MAX - (mapping->end - mapping->start));
        FUZZ_HOLDS(mappings_find(&mappings, mapping->start) != NULL);
        fuzz_touch(mapping->path, strlen(mapping->path));
    }
    const struct mapping *found = mappings_find(&mappings, address);
    FUZZ_HOLDS(!found || (found->start <= address && address < found->end));
    array_release(&mappings.items);
    names_release(&names);
    free(text);
    return 0;
}
