/*
 * Columns: the first four bytes are the size of what they become, the rest the columns. The rest is also taken for
 * records, of CUPTI's and of the library's own, which come back from columns as they were.
 */
#include "tests/fuzz/fuzz.h"

#include "trace/spool/packing.h"

static void join(const uint8_t *columns, size_t size, size_t becomes)
{
    uint8_t *joined = malloc(becomes + 1);
    if (columns_join(columns, size, joined, becomes))
        fuzz_touch(joined, becomes);
    free(joined);
}

static void split(const uint8_t *data, size_t size, const uint16_t *record_bytes)
{
    uint8_t *columns = malloc(COLUMNS_BYTES_MAX(size)), *again = malloc(size + 1);
    size_t bytes = columns_split(data, size, record_bytes, columns);
    FUZZ_HOLDS(bytes <= COLUMNS_BYTES_MAX(size));
    FUZZ_HOLDS(columns_join(columns, bytes, again, size));
    FUZZ_HOLDS(memcmp(data, again, size) == 0);
    free(columns);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    size_t becomes = (size_t)fuzz_number(&bytes, 4) % (SPOOL_SEGMENT_BYTES + 1), rest = SIZE_MAX;
    uint8_t *copy = fuzz_copy(&bytes, &rest);
    join(copy, rest, becomes);
    uint16_t record_bytes[SPOOL_CUPTI_KINDS] = {0};
    for (unsigned kind = 1; kind < SPOOL_CUPTI_KINDS; kind++)
        record_bytes[kind] = (uint16_t)(8 * kind);
    split(copy, rest, record_bytes);
    split(copy, rest, NULL);
    free(copy);
    return 0;
}
