
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "agent/dispatch/registry.h"
#include "agent/spool/chunk_pool.h"
#include "agent/spool/writer.h"
#include "tests/agent/spool/test_spool.h"

UNIT_FIXTURE(open_spool)
{
    return open_test_spool(7);
}

UNIT_TEST(header_tells_who_wrote_it)
{
    struct reading reading = read_spool(directory, getpid());
    const struct spool_header *header = header_of(&reading);
    assert_memory_equal(header->magic, SPOOL_MAGIC, 8);
    assert_int_equal(header->version, SPOOL_VERSION);
    assert_int_equal(header->pid, getpid());
    assert_int_equal(header->parent_pid, getppid());
    assert_int_equal(header->trace_bits, 7);
    assert_int_equal(header->state, SPOOL_OPEN);
    assert_true(header->started > 0);
    assert_string_equal(header->program, "chunks_test");
    struct stat status;
    char path[512];
    snprintf(path, sizeof(path), "%s/%d-0.spool", directory, getpid());
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

UNIT_TEST(cupti_chunks_are_aligned_blank_and_large)
{
    struct spool_chunk *chunk = take_chunk(SPOOL_CUPTI);
    assert_non_null(chunk);
    assert_int_equal((uintptr_t)chunk_data(chunk) % SPOOL_ALIGN, 0);
    assert_true(chunk->bytes >= CUPTI_CHUNK_BYTES_MIN);
    for (uint64_t i = 0; i < chunk_space(chunk); i++)
        assert_int_equal(chunk_data(chunk)[i], 0);
    assert_ptr_equal(chunk_of_data(chunk_data(chunk)), chunk);
    chunk_done(chunk, 0);
}

UNIT_TEST(what_is_not_used_is_handed_out_again)
{
    struct spool_chunk *first = take_chunk(SPOOL_CUPTI);
    memset(chunk_data(first), 'x', 1000);
    chunk_done(first, 1000);
    struct spool_chunk *second = take_chunk(SPOOL_CUPTI);
    assert_ptr_equal(second, (char *)first + 1088); /* a header and 1000 bytes, aligned */
    assert_true(second->sequence > first->sequence);
    assert_int_equal(second->state, SPOOL_IN_USE);
    chunk_done(second, chunk_space(second));
    struct reading reading = read_spool(directory, getpid());
    const struct spool_chunk *chunk = NULL;
    unsigned done = 0;
    while ((chunk = next_chunk(&reading, chunk)))
        done += chunk->type == SPOOL_CUPTI && chunk->state == SPOOL_DONE;
    assert_true(done >= 2);
}

UNIT_TEST(a_record_chunk_is_a_small_piece)
{
    struct spool_chunk *chunk = take_chunk(SPOOL_RECORDS);
    assert_int_equal(chunk->bytes, RECORDS_CHUNK_BYTES);
    assert_int_equal(chunk->thread, gettid());
    chunk_done(chunk, 8);
}

UNIT_TEST(the_stock_never_runs_dry)
{
    enum { COUNT = 200 };
    struct spool_chunk *chunks[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        chunks[i] = take_chunk(SPOOL_CUPTI);
        assert_non_null(chunks[i]);
        for (unsigned before = 0; before < i; before++)
            assert_ptr_not_equal(chunks[before], chunks[i]);
    }
    for (unsigned i = 0; i < COUNT; i++)
        chunk_done(chunks[i], chunk_space(chunks[i]));
}

UNIT_TEST(without_space_there_is_no_chunk_and_no_death)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        chunks_atfork_child();
        struct rlimit limit = {.rlim_cur = 3 << 20, .rlim_max = 3 << 20};
        setrlimit(RLIMIT_FSIZE, &limit);
        int taken = 0;
        if (chunks_open(directory, 0) != 0)
            _exit(100);
        close(STDERR_FILENO);
        while (taken < 50 && take_chunk(SPOOL_CUPTI))
            taken++;
        _exit(taken);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_in_range(WEXITSTATUS(status), 1, 3);
}

UNIT_TEST(a_forked_child_cannot_touch_the_parents_spool)
{
    struct spool_chunk *chunk = take_chunk(SPOOL_CUPTI);
    uint32_t before = fork_generation();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        chunks_atfork_child();
        memset(chunk_data(chunk), 'c', 100); /* as CUPTI would, that knows nothing of fork */
        _exit(fork_generation() == before + 1 && !take_chunk(SPOOL_RECORDS) ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(chunk_data(chunk)[i], 0);
    chunk_done(chunk, 0);
}

static pthread_barrier_t all_have_one;

/* Fills chunks until there are no more; the last one stays in use. */
static void *fill_chunks(void *last)
{
    struct spool_chunk *chunk, *mine = take_chunk(SPOOL_RECORDS);
    assert_non_null(mine);
    memset(chunk_data(mine), 'r', chunk_space(mine));
    pthread_barrier_wait(&all_have_one);
    while ((chunk = take_chunk(SPOOL_RECORDS))) {
        chunk_done(mine, chunk_space(mine));
        memset(chunk_data(chunk), 'r', chunk_space(chunk));
        mine = chunk;
    }
    *(struct spool_chunk **)last = mine;
    return NULL;
}

/* Ends the spool: the last test. */
UNIT_TEST(a_removed_file_is_given_back_while_threads_record)
{
    enum { THREADS = 4, MORE = 50 << 20 };
    pthread_t threads[THREADS];
    struct spool_chunk *last[THREADS];
    struct stat status = {0};
    char path[512];
    snprintf(path, sizeof(path), "%s/%d-0.spool", directory, getpid());
    int fd = open(path, O_RDONLY);
    pthread_barrier_init(&all_have_one, NULL, THREADS + 1);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fill_chunks, &last[i]), 0);
    pthread_barrier_wait(&all_have_one);
    fstat(fd, &status);
    int64_t enough = status.st_size + MORE;
    while (fstat(fd, &status) == 0 && status.st_size < enough)
        usleep(1000);
    assert_false(chunks_end_if_removed());
    assert_int_equal(unlink(path), 0);
    assert_true(chunks_end_if_removed());
    assert_false(chunks_end_if_removed());
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(chunk_data(last[i])[0], 'r');
        chunk_done(last[i], chunk_space(last[i]));
    }
    assert_null(take_chunk(SPOOL_RECORDS));
    assert_null(take_chunk(SPOOL_CUPTI));
    fstat(fd, &status);
    assert_true(status.st_blocks * 512 <= SPOOL_HEADER_BYTES + 3 * (int64_t)SPOOL_SEGMENT_BYTES);
    close(fd);
}

UNIT_MAIN(open_spool, remove_spool)
