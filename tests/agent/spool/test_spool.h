/*
 * The spool of a test program in this space: in a directory of its own, for all of its tests.
 */
#ifndef TESTS_AGENT_SPOOL_TEST_SPOOL_H
#define TESTS_AGENT_SPOOL_TEST_SPOOL_H

#include "agent/spool/chunk_pool.h"
#include "agent/spool/recorder.h"
#include "agent/spool/spool_file.h"
#include "agent/spool/writer.h"
#include "tests/agent/spool_reading.h"

static char *directory;

/* Opens it; returns 0, or -1 with errno set. */
static inline int open_test_spool(uint64_t trace_bits)
{
    directory = new_directory();
    return chunks_open(directory, trace_bits);
}

/* A chunk as CUPTI gets it for its records, or as a thread that writes much gets it. */
static inline struct spool_chunk *take_chunk(enum spool_chunk_type type)
{
    if (type == SPOOL_CUPTI)
        return chunk_get(type, CUPTI_CHUNK_BYTES_MIN, SPOOL_SEGMENT_BYTES);
    return chunk_get(type, RECORDS_CHUNK_BYTES, RECORDS_CHUNK_BYTES);
}

/* For cmocka, when all tests are done. */
static inline int remove_spool(void **state)
{
    (void)state;
    remove_directory(directory);
    return 0;
}

#endif
