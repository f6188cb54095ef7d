/*
 * Chunks that somebody drains while threads take and give them back, as the launcher does in another process. All tests
 * have one spool, and leave nothing in it that is not drained.
 */

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "agent/spool/segments.h"
#include "agent/spool/writer.h"
#include "tests/agent/spool/test_spool.h"

enum { THREADS = 4, EACH = 300, ALL = THREADS * EACH };

UNIT_FIXTURE(open_spool)
{
    return open_test_spool(7);
}

/* --- the launcher's side --- */

struct drainer {
    pthread_t thread;
    unsigned pause_us;
    bool stop;
    unsigned seen[ALL]; /* how often each number was found in a chunk */
    unsigned drained;
    uint64_t most; /* bytes of the file */
};

/* What a writer's chunk holds: its number, as often as it fits. */
static void see(struct drainer *drainer, const struct spool_chunk *chunk)
{
    const uint64_t *words = (const uint64_t *)(chunk + 1);
    if (chunk->used == 0)
        return;
    for (uint64_t i = 1; i < chunk->used / 8; i++)
        assert_int_equal(words[i], words[0]);
    assert_true(chunk->used >= 8 && words[0] < ALL);
    drainer->seen[words[0]]++;
}

/* Follows the chain in one segment; a writer may make one chunk of it meanwhile. */
static void drain_segment(struct drainer *drainer, char *base)
{
    for (uint64_t at = 0; at < SPOOL_SEGMENT_BYTES;) {
        struct spool_chunk *chunk = (struct spool_chunk *)(base + at);
        if (chunk->magic != SPOOL_CHUNK_MAGIC || chunk->bytes < sizeof(*chunk))
            return;
        if (chunk->type != SPOOL_FREE && __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE) == SPOOL_DONE) {
            see(drainer, chunk);
            drainer->drained++;
            __atomic_store_n(&chunk->state, SPOOL_DRAINED, __ATOMIC_RELEASE);
        }
        at += chunk->bytes;
    }
}

/* A mapping of its own, as in another process. */
static void drain_round(struct drainer *drainer)
{
    struct reading reading = read_spool(directory, getpid());
    drainer->most = reading.end > drainer->most ? reading.end : drainer->most;
    char path[512];
    snprintf(path, sizeof(path), "%s/%d-0.spool", directory, getpid());
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char *data = mmap(NULL, reading.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(data, MAP_FAILED);
    close(fd);
    for (uint64_t at = SPOOL_HEADER_BYTES; at < reading.end; at += SPOOL_SEGMENT_BYTES)
        drain_segment(drainer, data + at);
    munmap(data, reading.size);
    munmap(reading.data, reading.size);
}

static void *drain(void *context)
{
    struct drainer *drainer = context;
    while (!__atomic_load_n(&drainer->stop, __ATOMIC_ACQUIRE)) {
        drain_round(drainer);
        usleep(drainer->pause_us);
    }
    return NULL;
}

static void start(struct drainer *drainer)
{
    assert_int_equal(pthread_create(&drainer->thread, NULL, drain, drainer), 0);
}

static void stop(struct drainer *drainer)
{
    __atomic_store_n(&drainer->stop, true, __ATOMIC_RELEASE);
    pthread_join(drainer->thread, NULL);
}

/* --- the program's side --- */

static bool is_blank(const char *data, uint64_t bytes)
{
    return data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0;
}

static void fill_chunk(enum spool_chunk_type type, uint64_t number, uint64_t used)
{
    struct spool_chunk *chunk = take_chunk(type);
    assert_non_null(chunk);
    assert_true(is_blank(chunk_data(chunk), chunk_space(chunk)));
    used = used < chunk_space(chunk) ? used : chunk_space(chunk);
    used -= used % 8;
    uint64_t *words = (uint64_t *)chunk_data(chunk);
    for (uint64_t i = 0; i < used / 8; i++)
        words[i] = number;
    chunk_done(chunk, used);
}

/* Chunks full, nearly empty and in between, of CUPTI's and of the library's own records. */
static void *write_chunks(void *first)
{
    static const uint64_t sizes[] = {8, 1000, 100000, 500000, 1 << 20, 1 << 20, 600000};
    uint64_t from = (uint64_t)(uintptr_t)first;
    for (uint64_t i = from; i < from + EACH; i++) {
        fill_chunk(i % 3 ? SPOOL_CUPTI : SPOOL_RECORDS, i, sizes[i % 7]);
        if (i % 16 == 0)
            chunk_done(take_chunk(SPOOL_RECORDS), 0);
    }
    return NULL;
}

static void write_all(void)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_chunks, (void *)(i * EACH)), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void every_chunk_was_seen_once(struct drainer *drainer)
{
    drain_round(drainer); /* what is left */
    for (unsigned i = 0; i < ALL; i++)
        assert_int_equal(drainer->seen[i], 1);
    struct reading reading = read_spool(directory, getpid()); /* the chain is whole */
    const struct spool_chunk *chunk = NULL;
    while ((chunk = next_chunk(&reading, chunk)))
        assert_true(chunk->type == SPOOL_FREE || chunk->state != SPOOL_DONE);
    munmap(reading.data, reading.size);
}

/* --- what shall hold --- */

UNIT_TEST(what_is_drained_at_once_is_used_again)
{
    struct drainer *drainer = calloc(1, sizeof(*drainer));
    for (uint64_t i = 0; i < ALL; i++) {
        fill_chunk(SPOOL_CUPTI, i, 1 << 20);
        drain_round(drainer);
    }
    every_chunk_was_seen_once(drainer);
    assert_true(drainer->most <= SPOOL_HEADER_BYTES + 40 * SPOOL_SEGMENT_BYTES);
    free(drainer);
}

/* ALL of them take 75 segments. */
UNIT_TEST(so_is_what_the_library_records_itself)
{
    struct drainer *drainer = calloc(1, sizeof(*drainer));
    struct reading before = read_spool(directory, getpid());
    for (uint64_t i = 0; i < ALL; i++) {
        fill_chunk(SPOOL_RECORDS, i, 1 << 20);
        drain_round(drainer);
    }
    every_chunk_was_seen_once(drainer);
    assert_true(drainer->most <= before.end + 20 * SPOOL_SEGMENT_BYTES);
    munmap(before.data, before.size);
    free(drainer);
}

UNIT_TEST(nothing_is_lost_and_nothing_comes_twice)
{
    static const unsigned pauses[] = {0, 500, 20000};
    for (unsigned i = 0; i < sizeof(pauses) / sizeof(*pauses); i++) {
        struct drainer *drainer = calloc(1, sizeof(*drainer));
        drainer->pause_us = pauses[i];
        start(drainer);
        write_all();
        stop(drainer);
        every_chunk_was_seen_once(drainer);
        free(drainer);
    }
}

static unsigned mapped_segments(void)
{
    unsigned count = 0;
    char *line = NULL;
    size_t space = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (getline(&line, &space, maps) > 0) {
        unsigned long from, to;
        if (strstr(line, "-0.spool") && sscanf(line, "%lx-%lx", &from, &to) == 2)
            count += (unsigned)((to - from) / SPOOL_SEGMENT_BYTES);
    }
    free(line);
    fclose(maps);
    return count;
}

UNIT_TEST(what_nobody_drains_stays_in_the_file_and_not_in_memory)
{
    struct drainer *drainer = calloc(1, sizeof(*drainer));
    for (uint64_t i = 0; i < ALL / 4; i++)
        fill_chunk(SPOOL_CUPTI, i, 1 << 20);
    assert_true(mapped_segments() <= SEGMENTS_MAPPED_KEPT + 20);
    unsigned left = 0;
    struct reading reading = read_spool(directory, getpid());
    const struct spool_chunk *chunk = NULL;
    while ((chunk = next_chunk(&reading, chunk)))
        left += chunk->segment == SPOOL_NO_SEGMENT;
    assert_true(left >= ALL / 4 - SEGMENTS_MAPPED_KEPT - 20);
    munmap(reading.data, reading.size);
    drain_round(drainer);
    for (unsigned i = 0; i < ALL / 4; i++)
        assert_int_equal(drainer->seen[i], 1);
    free(drainer);
}

UNIT_TEST(own_records_are_not_between_those_of_cupti)
{
    struct spool_chunk *cupti = take_chunk(SPOOL_CUPTI), *records = take_chunk(SPOOL_RECORDS);
    for (unsigned i = 0; i < 20; i++) { /* rests of both are there to be chosen */
        chunk_done(cupti, 1000);
        chunk_done(records, 1000);
        cupti = take_chunk(SPOOL_CUPTI);
        records = take_chunk(SPOOL_RECORDS);
    }
    chunk_done(cupti, 8);
    chunk_done(records, 8);
    struct reading reading = read_spool(directory, getpid());
    const struct spool_chunk *chunk = NULL;
    uint16_t *types = calloc(reading.size / SPOOL_SEGMENT_BYTES, sizeof(*types));
    while ((chunk = next_chunk(&reading, chunk))) {
        uint64_t segment = (uint64_t)((const char *)chunk - reading.data - SPOOL_HEADER_BYTES) / SPOOL_SEGMENT_BYTES;
        if (chunk->type == SPOOL_FREE)
            continue;
        assert_true(types[segment] == 0 || types[segment] == chunk->type);
        types[segment] = chunk->type;
    }
    munmap(reading.data, reading.size);
    free(types);
}

UNIT_MAIN(open_spool, remove_spool)
