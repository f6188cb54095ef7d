/* Lost parts of a spool end nothing, and are reported. */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/main/crash_handler.h"
#include "agent/spool/chunk_pool.h"
#include "agent/spool/recorder.h"
#include "agent/spool/writer.h"
#include "common/settings.h"
#include "tests/agent/main/dying.h"
#include "tests/agent/spool_reading.h"
#include "tests/unit.h"

static void shorten_spool(off_t size)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%d-0.spool", dying_directory(), getpid());
    if (truncate(path, size) != 0)
        _exit(10);
}

/* Waits until the thread of ours that makes the file longer has ended. */
static void end_growing(void)
{
    const uint32_t *ours = spool_file_header()->own_threads;
    chunk_pool_end();
    for (size_t i = 0; i < SPOOL_OWN_THREADS && ours[i] != 0; i++) {
        char task[64];
        snprintf(task, sizeof(task), "/proc/self/task/%u", ours[i]);
        while (access(task, F_OK) == 0)
            sched_yield();
    }
}

/* So that nobody makes the file longer again. There is space for chunks of both sorts in it. */
static void let_nothing_grow(void)
{
    chunk_done(chunk_get(SPOOL_CUPTI, CUPTI_CHUNK_BYTES_MIN, SPOOL_SEGMENT_BYTES), 0);
    end_growing();
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, RLIM_INFINITY});
}

static void write_beyond_the_end_of_the_spool(void)
{
    struct spool_chunk *chunk = chunk_get(SPOOL_CUPTI, CUPTI_CHUNK_BYTES_MIN, SPOOL_SEGMENT_BYTES);
    volatile char *data = chunk_data(chunk);
    uint64_t space = chunk_space(chunk);
    shorten_spool(SPOOL_HEADER_BYTES);
    for (uint64_t i = 0; i < space; i++)
        data[i] = 2;
    bool there = data[0] == 2 && data[space - 1] == 2;
    bool counted = __atomic_load_n(&spool_file_header()->losses.no_space, __ATOMIC_RELAXED) >= 1;
    _exit(there && counted ? 6 : 7);
}

UNIT_TEST_WITH(a_spool_that_was_made_shorter_ends_nothing_and_is_counted, dying_begin, dying_end)
{
    assert_int_equal(dies(let_nothing_grow, write_beyond_the_end_of_the_spool),
                     6 << 8); /* the status of an exit with 6 */
}

#define RECORDS 500

/* Half of them after the segment, and the header, became memory of this process, as where the file system has no space
 * for what is written of a page again. */
static void record_apart(void)
{
    for (unsigned i = 0; i < RECORDS; i++) {
        if (i == RECORDS / 2 &&
            (spool_file_rescue(chunk_get(SPOOL_RECORDS, RECORDS_CHUNK_BYTES, RECORDS_CHUNK_BYTES)) != 0 ||
             spool_file_rescue(spool_file_header()) != 0))
            _exit(8);
        recorder_note(0, "%u", i);
    }
    spool_file_header()->losses.no_space = 1; /* as the handler of SIGBUS counts */
    spool_file_save();
    spool_file_header()->state = SPOOL_FINISHED;
    spool_file_save_header();
}

static void exit_with_records(void)
{
    record_apart();
    _exit(spool_file_header()->losses.no_space == 0 ? 6 : 7);
}

UNIT_TEST_WITH(what_came_into_parts_that_had_no_space_is_in_the_file_at_the_end, dying_begin, dying_end)
{
    assert_int_equal(dies(NULL, exit_with_records), 6 << 8); /* the status of an exit with 6 */
    struct reading reading = read_spool(dying_directory(), dying_child());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_NOTE), RECORDS);
    assert_int_equal(((const struct spool_header *)(const void *)reading.data)->state, SPOOL_FINISHED);
}

static void exit_without_space(void)
{
    record_apart();
    _exit(spool_file_header()->losses.no_space == RECORDS / 2 ? 6 : 7);
}

UNIT_TEST_WITH(where_there_is_still_none_each_is_counted, dying_begin, dying_end)
{
    assert_int_equal(dies(let_nothing_grow, exit_without_space), 6 << 8); /* the status of an exit with 6 */
    struct reading reading = read_spool(dying_directory(), dying_child());
    assert_int_equal(count_records(&reading, SPOOL_RECORD_NOTE), RECORDS / 2);
}

static void write_into_the_header_that_is_gone(void)
{
    shorten_spool(0);
    spool_file_header()->clock_count = 5;
    _exit(spool_file_header()->clock_count == 5 ? 6 : 7);
}

UNIT_TEST_WITH(nor_does_a_header_that_is_gone, dying_begin, dying_end)
{
    assert_int_equal(dies(end_growing, write_into_the_header_that_is_gone), 6 << 8); /* the status of an exit with 6 */
}

static void lose_the_header(void)
{
    shorten_spool(0);
    spool_file_header()->clock_count = 5;
}

static void lose_the_header_and_that_of_a_forked_child(void)
{
    lose_the_header();
    pid_t grandchild = fork();
    if (grandchild == 0) {
        crash_handler_atfork_child();
        chunks_atfork_child();
        if (chunks_open(dying_directory(), TRACE_DEFAULT) != 0)
            _exit(9);
        end_growing();
        crash_handler_install_for_spool();
        lose_the_header();
        lose_the_header();
        _exit(6);
    }
    int status;
    waitpid(grandchild, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 8);
}

UNIT_TEST_WITH(each_process_says_once_that_a_part_of_its_spool_is_gone, dying_begin, dying_end)
{
    static const char words[] = "a part of the spool cannot be written";
    unit_stderr_begin();
    int status = dies(end_growing, lose_the_header_and_that_of_a_forked_child);
    const char *first = strstr(unit_stderr_end(), words);
    const char *second = first ? strstr(first + 1, words) : NULL;
    assert_int_equal(status, 6 << 8); /* the status of an exit with 6 */
    assert_non_null(second);
    assert_null(strstr(second + 1, words));
}

UNIT_MAIN(NULL, NULL)
