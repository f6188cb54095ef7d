
#include "tests/unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "agent/spool/chunk_pool.h"
#include "agent/spool/writer.h"
#include "tests/agent/spool/test_spool.h"

UNIT_FIXTURE(open_spool)
{
    return open_test_spool(0);
}

static void write_memory(uint64_t address)
{
    struct spool_memory *record = writer_begin(SPOOL_RECORD_MEMORY, sizeof(*record), 1);
    assert_non_null(record);
    record->address = address;
    record->thread = writer_thread();
    writer_commit(&record->head);
}

UNIT_TEST(a_record_is_seen_when_it_is_committed)
{
    struct spool_memory *record = writer_begin(SPOOL_RECORD_MEMORY, sizeof(*record), 1);
    record->address = 42;
    struct reading before = read_spool(directory, getpid());
    assert_int_equal(count_records(&before, SPOOL_RECORD_MEMORY), 0);
    writer_commit(&record->head);
    struct reading after = read_spool(directory, getpid());
    const struct spool_memory *seen = find_record(&after, SPOOL_RECORD_MEMORY, 0);
    assert_non_null(seen);
    assert_int_equal(seen->address, 42);
    assert_int_equal(seen->head.bytes, sizeof(*seen));
}

UNIT_TEST(the_first_record_of_a_thread_is_its_name)
{
    struct reading reading = read_spool(directory, getpid());
    const struct spool_thread_name *name = find_record(&reading, SPOOL_RECORD_THREAD_NAME, 0);
    assert_non_null(name);
    assert_int_equal(name->thread, gettid());
    assert_int_equal(name->length, strlen("writer_test"));
    assert_memory_equal(name->text, "writer_test", name->length);
}

/* Before there are many records, all of which it counts. */
UNIT_TEST(a_child_that_was_not_announced_writes_nothing_and_is_counted)
{
    fork_watch_count(&spool_file_header()->unannounced);
    struct spool_memory *begun = writer_begin(SPOOL_RECORD_MEMORY, sizeof(*begun), 1);
    begun->address = 45;
    writer_commit(&begun->head);
    struct reading before = read_spool(directory, getpid());
    fflush(NULL);
    pid_t child = fork(); /* no handler of pthread_atfork() is set here */
    if (child == 0) {
        bool refused = true;
        for (int i = 0; i < 10; i++)
            refused = refused && !writer_begin(SPOOL_RECORD_MEMORY, sizeof(*begun), 1);
        refused = refused && !take_chunk(SPOOL_CUPTI);
        _exit(refused ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(spool_file_header()->unannounced, 10);
    struct reading after = read_spool(directory, getpid());
    assert_int_equal(count_records(&after, SPOOL_RECORD_MEMORY), count_records(&before, SPOOL_RECORD_MEMORY));
}

enum { THREADS = 8, RECORDS = 20000 };

static void *write_many(void *number)
{
    for (uint64_t i = 0; i < RECORDS; i++)
        write_memory((uintptr_t)number * RECORDS + i);
    return NULL;
}

UNIT_TEST(threads_lose_nothing_and_keep_their_order)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, write_many, (void *)(i + 1));
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    struct reading reading = read_spool(directory, getpid());
    uint64_t next[THREADS + 1] = {0};
    const struct spool_chunk *chunk;
    uint64_t last = 0;
    unsigned total = 0;
    for (;;) {
        const struct spool_chunk *best = NULL;
        for (chunk = NULL; (chunk = next_chunk(&reading, chunk));)
            if (chunk->type == SPOOL_RECORDS && chunk->sequence > last && (!best || chunk->sequence < best->sequence))
                best = chunk;
        if (!best)
            break;
        last = best->sequence;
        for (const char *at = (const char *)(best + 1), *end = at + best->used; at < end;) {
            const struct spool_memory *record = (const struct spool_memory *)at;
            at += record->head.bytes;
            if (record->head.type != SPOOL_RECORD_MEMORY || record->address < RECORDS)
                continue;
            uint64_t number = record->address / RECORDS;
            assert_int_equal(record->address % RECORDS, next[number]++);
            total++;
        }
    }
    assert_int_equal(total, THREADS * RECORDS);
}

static void *write_one(void *number)
{
    write_memory((uintptr_t)number);
    return NULL;
}

UNIT_TEST(threads_with_few_records_take_little_space)
{
    enum { COUNT = 2000 };
    struct reading before = read_spool(directory, getpid());
    for (uintptr_t i = 0; i < COUNT; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, write_one, (void *)(i + 1)), 0);
        pthread_join(thread, NULL);
    }
    struct reading after = read_spool(directory, getpid());
    assert_true(after.end - before.end <= 18 * SPOOL_SEGMENT_BYTES); /* that our thread keeps ready, and 1 MB */
    munmap(before.data, before.size);
    munmap(after.data, after.size);
}

static void *write_until_a_large_chunk(void *unused)
{
    write_memory(1);
    const struct spool_chunk *first = this_writer.chunk;
    assert_true(first->bytes <= 4096);
    for (unsigned i = 0; i < 400; i++) /* 28 KiB */
        write_memory(1);
    assert_ptr_not_equal(this_writer.chunk, first);
    assert_in_range(this_writer.chunk->bytes, RECORDS_CHUNK_BYTES / 4, RECORDS_CHUNK_BYTES);
    return unused;
}

UNIT_TEST(its_chunks_become_larger)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_until_a_large_chunk, NULL), 0);
    pthread_join(thread, NULL);
}

static void *write_a_long_text(void *unused)
{
    enum { BYTES = sizeof(struct spool_note) + WRITER_TEXT_MAX };
    for (unsigned i = 0; i < 10; i++) {
        struct spool_note *record = writer_begin(SPOOL_RECORD_NOTE, BYTES, 1);
        assert_non_null(record);
        assert_true((char *)record + BYTES <= (char *)this_writer.chunk + this_writer.chunk->bytes);
        writer_commit(&record->head);
    }
    return unused;
}

UNIT_TEST(a_record_that_is_longer_than_a_small_chunk_has_space)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_a_long_text, NULL), 0);
    pthread_join(thread, NULL);
}

static void interrupt(int signal)
{
    (void)signal;
    assert_null(writer_begin(SPOOL_RECORD_MEMORY, sizeof(struct spool_memory), 1));
}

UNIT_TEST(a_handler_in_the_midst_of_a_record_is_turned_away_and_counted)
{
    signal(SIGUSR1, interrupt);
    uint64_t before = spool_file_header()->losses.nested;
    struct spool_memory *record = writer_begin(SPOOL_RECORD_MEMORY, sizeof(*record), 1);
    raise(SIGUSR1);
    record->address = 43;
    writer_commit(&record->head);
    assert_int_equal(spool_file_header()->losses.nested, before + 1);
    write_memory(44); /* and it goes on */
}

static sigjmp_buf back;

static void leave(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}

/* Begins a record that is never committed. */
static void leave_in_the_midst_of_a_record(void)
{
    signal(SIGUSR1, leave);
    if (sigsetjmp(back, 1) != 0)
        return;
    assert_non_null(writer_begin(SPOOL_RECORD_MEMORY, sizeof(struct spool_memory), 1));
    raise(SIGUSR1);
    fail();
}

UNIT_TEST(a_record_that_a_handler_left_by_siglongjmp_is_abandoned_and_counted)
{
    uint64_t before = spool_file_header()->losses.nested, used = this_writer.chunk->used;
    for (int i = 0; i < 3; i++)
        leave_in_the_midst_of_a_record();
    write_memory(46);
    assert_int_equal(spool_file_header()->losses.nested, before + 3);
    assert_int_equal(this_writer.chunk->used, used + sizeof(struct spool_memory)); /* in the place of those */
}

static __attribute__((noinline)) unsigned records_turned_away_deeper(void)
{
    volatile char deep[8192];
    unsigned turned_away = 0;
    deep[0] = deep[sizeof(deep) - 1] = 0;
    struct spool_memory *record;
    while (!(record = writer_begin(SPOOL_RECORD_MEMORY, sizeof(*record), 1)))
        turned_away++;
    record->address = 47;
    writer_commit(&record->head);
    return turned_away;
}

/* There the thread may be in a handler that returns: what it then commits must not come into another record's place. */
UNIT_TEST(a_thread_that_goes_on_deeper_in_its_stack_takes_another_chunk)
{
    struct spool_chunk *chunk = this_writer.chunk;
    uint64_t before = spool_file_header()->losses.nested, used = chunk->used;
    struct spool_memory *record = writer_begin(SPOOL_RECORD_MEMORY, sizeof(*record), 1);
    assert_int_equal(records_turned_away_deeper(), WRITER_BUDGET - 1);
    assert_ptr_not_equal(this_writer.chunk, chunk);
    uint64_t used_there = this_writer.chunk->used;
    writer_commit(&record->head);
    assert_int_equal(chunk->used, used);
    assert_int_equal(chunk->state, SPOOL_IN_USE); /* so that nobody else writes where the record was begun */
    assert_int_equal(this_writer.chunk->used, used_there);
    assert_int_equal(spool_file_header()->losses.nested, before + WRITER_BUDGET);
    write_memory(48);
    assert_int_equal(this_writer.chunk->used, used_there + sizeof(*record));
}

static void interrupt_twice(int signal)
{
    interrupt(signal);
    interrupt(signal);
}

static __attribute__((noinline)) void be_interrupted(void)
{
    uint64_t before = spool_file_header()->losses.nested;
    struct spool_memory *record = writer_begin(SPOOL_RECORD_MEMORY, sizeof(*record), 1);
    raise(SIGUSR1);
    writer_commit(&record->head);
    assert_int_equal(spool_file_header()->losses.nested, before + 2);
    assert_int_equal(this_writer.begun, 0);
}

/* It may lie above the record's function. */
UNIT_TEST(a_handler_on_another_stack_is_turned_away_too)
{
    static char apart[65536];
    char above[65536];
    void *stacks[] = {apart, above};
    struct sigaction action = {.sa_handler = interrupt_twice, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    for (size_t i = 0; i < 2; i++) {
        sigaltstack(&(stack_t){.ss_sp = stacks[i], .ss_size = sizeof(above)}, NULL);
        be_interrupted();
    }
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
}

UNIT_MAIN(open_spool, remove_spool)
