/* Many threads at once: no memory is lost or given twice, and the statistics are right in the end. */
#include "tests/unit.h"

#include <pthread.h>

#include <gputrace/allocator.h>

#include "tests/allocator/fake_cuda.h"

enum { THREADS = 8, ROUNDS = 3000, SHARED = 32, GRAPHS = 40 };

static int device;
static void *shared[SHARED]; /* allocated by one thread, freed by another */
static unsigned overlaps;

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

/* Two threads have the same memory: each writes its name into the place of the other. */
static struct owner {
    unsigned owner;
} owners[65536];

static void own(const void *pointer, unsigned who)
{
    struct owner *place = &owners[((uintptr_t)pointer >> 20) % 65536];
    if (__atomic_exchange_n(&place->owner, who, __ATOMIC_RELAXED) != 0)
        __atomic_add_fetch(&overlaps, 1, __ATOMIC_RELAXED);
}

static void disown(const void *pointer)
{
    struct owner *place = &owners[((uintptr_t)pointer >> 20) % 65536];
    if (__atomic_exchange_n(&place->owner, 0, __ATOMIC_RELAXED) == 0)
        __atomic_add_fetch(&overlaps, 1, __ATOMIC_RELAXED);
}

static void give(void *pointer, unsigned stream)
{
    if (!pointer)
        return;
    disown(pointer);
    gputrace_free(pointer, 0, device, fake_stream_of(stream));
}

static int look(void *data, const struct gputrace_allocator_allocation *allocation)
{
    ++*(unsigned *)data;
    return allocation->bytes == 0;
}

static void ask_around(unsigned *seed)
{
    struct gputrace_allocator_stats stats;
    struct gputrace_allocator_event events[16];
    unsigned seen = 0;
    switch (next(seed) % 64) {
    case 0: gputrace_allocator_stats(device, &stats); break;
    case 1: gputrace_allocator_snapshot(device, look, &seen); break;
    case 2: gputrace_allocator_history_read(device, events, 16); break;
    case 3: gputrace_allocator_trim(); break;
    case 4: gputrace_allocator_reset_peak(device); break;
    case 5: gputrace_allocator_history(device, next(seed) % 100); break;
    default: break;
    }
}

static void *allocate_and_free(void *number)
{
    unsigned who = (unsigned)(uintptr_t)number, seed = who, stream = 5 + who;
    for (unsigned i = 0; i < ROUNDS; i++) {
        void *pointer = gputrace_malloc(1 + next(&seed) % 100, device, fake_stream_of(stream));
        if (!pointer)
            continue;
        own(pointer, who);
        if (next(&seed) % 8 == 0)
            gputrace_allocator_record_stream(pointer, fake_stream_of(5 + next(&seed) % THREADS));
        void **place = &shared[next(&seed) % SHARED];
        give(__atomic_exchange_n(place, pointer, __ATOMIC_ACQ_REL), stream);
        ask_around(&seed);
    }
    return NULL;
}

/* Graphs are captured, take memory, free some of it, go; other threads' streams are not captured. */
static void *capture_graphs(void *unused)
{
    (void)unused;
    const unsigned stream = 30;
    for (unsigned graph = 1; graph < GRAPHS; graph++) {
        struct gputrace_pool_id pool = {graph % 4, 0};
        void *pointers[8];
        gputrace_allocator_begin_pool(device, pool, NULL);
        fake_cuda_capture(stream, graph, graph);
        for (unsigned i = 0; i < 8; i++) {
            pointers[i] = gputrace_malloc(50, device, fake_stream_of(stream));
            own(pointers[i], 100);
            if (i % 3 == 0) {
                give(pointers[i], stream);
                pointers[i] = NULL;
            }
        }
        fake_cuda_end_capture(stream);
        gputrace_allocator_end_pool(device, pool);
        gputrace_allocator_release_pool(device, pool);
        for (unsigned i = 0; i < 8; i++)
            give(pointers[i], stream);
        fake_cuda_destroy_graph(graph);
    }
    return NULL;
}

UNIT_TEST(threads_do_not_disturb_each_other)
{
    pthread_t threads[THREADS + 1];
    struct gputrace_allocator_stats stats;
    device = fake_cuda_start();
    fake_cuda_quiet();
    gputrace_allocator_set_fraction(0.5, device);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_free, (void *)(i + 1)), 0);
    assert_int_equal(pthread_create(&threads[THREADS], NULL, capture_graphs, NULL), 0);
    for (unsigned i = 0; i <= THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < SHARED; i++)
        give(shared[i], 5);
    gputrace_allocator_trim();
    assert_int_equal(overlaps, 0);
    assert_int_equal(gputrace_allocator_stats(device, &stats), 0);
    assert_int_equal(stats.allocations.current, 0);
    assert_int_equal(stats.allocated_bytes.current, 0);
    assert_int_equal(stats.held_bytes.current, 0);
    assert_int_equal(stats.allocations.total, stats.allocations.freed);
    assert_int_equal(stats.allocations.total, THREADS * ROUNDS + (GRAPHS - 1) * 8);
    assert_int_equal(stats.allocated_bytes.total, stats.allocated_bytes.freed);
    assert_int_equal(stats.unknown_frees, 0);
    assert_int_equal(stats.failed_frees, 0);
    assert_int_equal(fake_cuda_bytes(device), 0);
    assert_int_equal(fake_cuda_wrong_frees(), 0);
    assert_int_equal(fake_cuda_pools(), 1);
}

/* The first use of a device, by all of them at once, makes one heap. */
static void *take_one(void *unused)
{
    (void)unused;
    return gputrace_malloc(10, device, fake_stream_of(5));
}

UNIT_TEST(threads_that_begin_together_share_a_heap)
{
    for (int round = 0; round < 20; round++) {
        pthread_t threads[THREADS];
        struct gputrace_allocator_stats stats;
        device = fake_cuda_start();
        for (unsigned i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, take_one, NULL), 0);
        for (unsigned i = 0; i < THREADS; i++) {
            void *pointer;
            pthread_join(threads[i], &pointer);
            gputrace_free(pointer, 10, device, fake_stream_of(5));
        }
        assert_int_equal(gputrace_allocator_stats(device, &stats), 0);
        assert_int_equal(stats.allocations.total, THREADS);
        assert_int_equal(stats.allocations.freed, THREADS);
        assert_int_equal(fake_cuda_pools(), 1);
    }
}

UNIT_MAIN(NULL, NULL)
