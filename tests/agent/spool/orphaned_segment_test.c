
#include <stdlib.h>
#include <unistd.h>

#include "agent/spool/segments.h"
#include "common/memory.h"
#include "tests/unit.h"

#define OFFSET SPOOL_HEADER_BYTES
#define OWN 50  /* records in the first chunk, of 32 bytes … */
#define API 300 /* … and CUPTI's in the second, of 40 bytes, which is in use */
#define OWN_CHUNK ((uint64_t)8192)

static uint16_t record_bytes[SPOOL_CUPTI_KINDS] = {[4] = 40};
static char *segment;
static int file;

static struct spool_chunk *chunk_at(uint64_t at)
{
    return (struct spool_chunk *)(void *)(segment + at);
}

UNIT_FIXTURE(begin)
{
    segment = aligned_alloc(SPOOL_ALIGN, SPOOL_SEGMENT_BYTES);
    file = temporary_file_open("/tmp");
    if (!segment || file < 0)
        return -1;
    memset(segment, 0, SPOOL_SEGMENT_BYTES);
    *chunk_at(0) = (struct spool_chunk){.magic = SPOOL_CHUNK_MAGIC,
                                        .type = SPOOL_RECORDS,
                                        .state = SPOOL_IN_USE,
                                        .bytes = OWN_CHUNK,
                                        .used = (uint64_t)OWN * 32,
                                        .sequence = 7};
    *chunk_at(OWN_CHUNK) = (struct spool_chunk){.magic = SPOOL_CHUNK_MAGIC,
                                                .type = SPOOL_CUPTI,
                                                .state = SPOOL_IN_USE,
                                                .bytes = SPOOL_SEGMENT_BYTES - OWN_CHUNK,
                                                .sequence = 8};
    struct spool_record *own = (struct spool_record *)(void *)(chunk_at(0) + 1);
    for (unsigned i = 0; i < OWN; i++)
        own[2 * i] = (struct spool_record){.type = 1, .bytes = 32, .time = i + 1};
    uint32_t *api = (uint32_t *)(void *)(chunk_at(OWN_CHUNK) + 1);
    for (unsigned i = 0; i < API; i++) {
        api[10 * i] = 4;
        api[10 * i + 1] = i + 1;
    }
    return 0;
}

UNIT_FIXTURE(end)
{
    free(segment);
    return close(file);
}

static int64_t missing(void)
{
    return orphaned_segment_missing(file, segment, OFFSET, record_bytes);
}

UNIT_TEST_WITH(where_nothing_is_in_the_file_all_are_missing, begin, end)
{
    assert_int_equal(sizeof(struct spool_record), 16);
    assert_int_equal(missing(), OWN + API);
    assert_int_equal(orphaned_segment_missing(-1, segment, OFFSET, record_bytes), OWN + API);
}

UNIT_TEST_WITH(what_was_written_is_there, begin, end)
{
    assert_int_equal(orphaned_segment_write(file, segment, OFFSET), 0);
    assert_int_equal(missing(), 0);
}

UNIT_TEST_WITH(records_that_came_since_are_missing, begin, end)
{
    assert_int_equal(orphaned_segment_write(file, segment, OFFSET), 0);
    uint32_t *api = (uint32_t *)(void *)(chunk_at(OWN_CHUNK) + 1);
    for (unsigned i = API; i < API + 20; i++)
        api[10 * i] = 4;
    assert_int_equal(missing(), 20);
}

/* As when pages were written from the end on, and the one of the header found no space. */
UNIT_TEST_WITH(records_of_which_no_header_tells_are_missing, begin, end)
{
    struct spool_chunk header = *chunk_at(0);
    assert_int_equal(orphaned_segment_write(file, segment, OFFSET), 0);
    header.used = (uint64_t)(OWN - 9) * 32;
    assert_int_equal(pwrite(file, &header, sizeof(header), OFFSET), sizeof(header));
    assert_int_equal(missing(), 9);
    header.sequence = 3; /* what lay there before */
    assert_int_equal(pwrite(file, &header, sizeof(header), OFFSET), sizeof(header));
    assert_int_equal(missing(), OWN);
}

UNIT_TEST_WITH(damage_ends_the_count, begin, end)
{
    chunk_at(OWN_CHUNK)->bytes = SPOOL_SEGMENT_BYTES;
    assert_int_equal(missing(), OWN);
    chunk_at(0)->bytes = 0;
    assert_int_equal(missing(), 0);
}

UNIT_MAIN(NULL, NULL)
