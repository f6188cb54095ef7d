/*
 * The order of memory in the spool: a reader that finds a record or a finished chunk finds its bytes, too, and a writer
 * that uses a drained chunk again comes after the reader. Both sides use one mapping, so that the sanitizer of threads
 * sees each access: with it, a store or load that lacks its order is reported on any processor. Pointers are handed over
 * without any order, which only the spool's own fields give.
 */

#include <pthread.h>
#include <sched.h>

#include "tests/agent/spool/test_spool.h"

enum { RECORDS = 3000, CHUNKS = 600, WORDS = 64 };

UNIT_FIXTURE(open_spool)
{
    return open_test_spool(7);
}

/* What one thread tells the other, without order. */
static struct spool_chunk *told;

static void tell(struct spool_chunk *chunk)
{
    __atomic_store_n(&told, chunk, __ATOMIC_RELAXED);
}

static struct spool_chunk *wait_until_told(bool any)
{
    struct spool_chunk *chunk;
    while (!(chunk = __atomic_load_n(&told, __ATOMIC_RELAXED)) == any)
        sched_yield();
    return chunk;
}

/* --- records of a chunk in use --- */

struct numbered {
    struct spool_record head;
    uint64_t words[WORDS];
};

static void *write_records(void *unused)
{
    struct spool_chunk *last = NULL;
    for (uint64_t number = 0; number < RECORDS; number++) {
        struct numbered *record = writer_begin(SPOOL_RECORD_MEMORY, sizeof(*record), number);
        assert_non_null(record);
        for (unsigned i = 0; i < WORDS; i++)
            record->words[i] = number;
        if (writer_mine()->chunk != last) {
            if (last)
                wait_until_told(false);
            tell(last = writer_mine()->chunk);
        }
        writer_commit(&record->head);
    }
    return unused;
}

/* Reads a chunk up to where its records end, again and again, until it is done. Returns how many it had. */
static uint64_t read_records(struct spool_chunk *chunk, uint64_t first)
{
    uint64_t at = 0, count = 0;
    for (bool done = false; !done;) {
        done = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE) == SPOOL_DONE || first + count == RECORDS;
        uint64_t used = __atomic_load_n(&chunk->used, __ATOMIC_ACQUIRE);
        while (at < used) {
            const struct spool_record *head = (const struct spool_record *)(const void *)(chunk_data(chunk) + at);
            if (head->type == SPOOL_RECORD_MEMORY) {
                const struct numbered *record = (const struct numbered *)(const void *)head;
                for (unsigned i = 0; i < WORDS; i++)
                    assert_int_equal(record->words[i], first + count);
                count++;
            }
            at += head->bytes;
        }
    }
    return count;
}

UNIT_TEST(a_record_is_whole_when_its_chunk_says_so)
{
    pthread_t writer;
    uint64_t seen = 0;
    assert_int_equal(pthread_create(&writer, NULL, write_records, NULL), 0);
    while (seen < RECORDS) {
        seen += read_records(wait_until_told(true), seen);
        tell(NULL);
    }
    pthread_join(writer, NULL);
}

/* --- chunks that are drained and used again --- */

static void *drain_chunks(void *unused)
{
    for (uint64_t number = 0; number < CHUNKS; number++) {
        struct spool_chunk *chunk = wait_until_told(true);
        while (__atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE) != SPOOL_DONE)
            sched_yield();
        const uint64_t *words = (const uint64_t *)(const void *)chunk_data(chunk);
        for (uint64_t i = 0; i < chunk->used / 8; i++)
            assert_int_equal(words[i], number);
        __atomic_store_n(&chunk->state, SPOOL_DRAINED, __ATOMIC_RELEASE);
        tell(NULL);
    }
    return unused;
}

UNIT_TEST(a_chunk_is_used_again_after_its_reader)
{
    pthread_t reader;
    struct spool_chunk *seen[CHUNKS];
    unsigned again = 0;
    assert_int_equal(pthread_create(&reader, NULL, drain_chunks, NULL), 0);
    for (uint64_t number = 0; number < CHUNKS; number++) {
        struct spool_chunk *chunk = take_chunk(SPOOL_CUPTI);
        assert_non_null(chunk);
        uint64_t *words = (uint64_t *)(void *)chunk_data(chunk), count = (chunk_space(chunk) / 8) / (1 + number % 3);
        for (uint64_t i = 0; i < count; i++)
            words[i] = number;
        seen[number] = chunk;
        for (uint64_t i = 0; i < number; i++)
            again += seen[i] == chunk;
        tell(chunk);
        chunk_done(chunk, count * 8);
        wait_until_told(false);
    }
    pthread_join(reader, NULL);
    assert_true(again > CHUNKS / 4);
}

UNIT_MAIN(open_spool, remove_spool)
