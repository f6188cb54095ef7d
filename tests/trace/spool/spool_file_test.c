#include "tests/unit.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/log.h"
#include "tests/trace/meaning/make_spool.h"
#include "trace/spool/agent_records.h"
#include "trace/spool/spool_directory.h"
#include "trace/spool/spool_file.h"

static char path[512];

static int set_up(void **state)
{
    *state = (void *)unit_directory();
    snprintf(path, sizeof(path), "%s/1-0.spool", (const char *)*state);
    return 0;
}

static int tear_down(void **state)
{
    unit_remove(*state);
    return 0;
}

static void chunk(struct make_spool *spool, enum spool_chunk_type type, uint64_t sequence, enum spool_chunk_state state)
{
    make_spool_chunk(spool, type, 77);
    make_spool_chunk_header(spool)->sequence = sequence;
    make_spool_bytes(spool, 40);
    make_spool_done(spool, state);
}

static int open_made(struct make_spool *spool, struct spool_file *file)
{
    make_spool_save_as(spool, path);
    make_spool_release(spool);
    return spool_file_open(file, path, NULL);
}

UNIT_TEST_WITH(test_chunks_come_in_order_of_their_sequence, set_up, tear_down)
{
    struct make_spool spool;
    struct spool_file file;
    make_spool_init(&spool, 1, 130001);
    chunk(&spool, SPOOL_RECORDS, 30, SPOOL_IN_USE);
    chunk(&spool, SPOOL_FREE, 40, SPOOL_READY);
    chunk(&spool, SPOOL_CUPTI, 10, SPOOL_DONE);
    chunk(&spool, SPOOL_CUPTI, 20, SPOOL_IN_USE);
    assert_int_equal(open_made(&spool, &file), 0);
    assert_int_equal(file.parts.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(file.parts.items[i].sequence, 10 * (i + 1));
    assert_int_equal(file.parts.items[2].type, SPOOL_RECORDS);
    assert_int_equal(file.parts.items[2].thread, 77);
    assert_int_equal(file.damaged, 0);
    spool_file_close(&file);
}

UNIT_TEST_WITH(test_only_a_chunk_that_cupti_still_owns_is_read_to_its_end, set_up, tear_down)
{
    struct make_spool spool;
    struct spool_file file;
    make_spool_init(&spool, 1, 130001);
    spool.space = 1000;
    chunk(&spool, SPOOL_CUPTI, 1, SPOOL_IN_USE);
    chunk(&spool, SPOOL_CUPTI, 2, SPOOL_DONE);
    chunk(&spool, SPOOL_RECORDS, 3, SPOOL_IN_USE);
    assert_int_equal(open_made(&spool, &file), 0);
    assert_true(file.parts.items[0].size >= 1040);
    assert_int_equal(file.parts.items[1].size, 40);
    assert_int_equal(file.parts.items[2].size, 40);
    spool_file_close(&file);
}

UNIT_TEST_WITH(test_what_is_cut_off_while_it_is_read_reads_as_zeros, set_up, tear_down)
{
    struct make_spool spool;
    struct spool_file file;
    struct spool_scratch scratch = {0};
    make_spool_init(&spool, 4711, 130001);
    make_spool_chunk(&spool, SPOOL_CUPTI, 77);
    memset(make_spool_bytes(&spool, 64 * 1024), 'x', 64 * 1024);
    make_spool_done(&spool, SPOOL_DONE);
    assert_int_equal(open_made(&spool, &file), 0);
    assert_int_equal(truncate(path, SPOOL_HEADER_BYTES + 64 + 4096), 0);
    const uint8_t *data = spool_part_data(&file.parts.items[0], &scratch);
    for (size_t i = 0; i < 64 * 1024; i++)
        assert_int_equal(data[i], i < 4096 ? 'x' : 0);
    spool_scratch_release(&scratch);
    unit_stderr_begin();
    spool_file_close(&file);
    assert_contains(unit_stderr_end(), "the spool of process 4711 became shorter while it was read");
}

static void put_record(struct make_spool *spool, char letter)
{
    struct spool_record *record = make_spool_bytes(spool, 64);
    *record = (struct spool_record){.type = SPOOL_RECORD_EVENT_RECORD, .bytes = 64};
    memset(record + 1, letter, 64 - sizeof(*record));
}

UNIT_TEST_WITH(test_own_records_stay_as_they_were_when_it_was_opened, set_up, tear_down)
{
    enum { RECORDS = 4000 }; /* more than what has memory of its own size */
    struct make_spool spool;
    struct spool_file file;
    struct agent_walk walk;
    make_spool_init(&spool, 1, 130001);
    make_spool_chunk(&spool, SPOOL_RECORDS, 77);
    for (int i = 0; i < RECORDS; i++)
        put_record(&spool, 'x');
    make_spool_done(&spool, SPOOL_IN_USE);
    size_t size = spool.size - SPOOL_HEADER_BYTES;
    assert_int_equal(open_made(&spool, &file), 0);
    char *other = malloc(size);
    memset(other, 0xff, size);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, other, size, SPOOL_HEADER_BYTES), size);
    close(fd);
    free(other);
    int count = 0;
    agent_walk_begin(&walk, &file.parts.items[0]);
    while (agent_walk_next(&walk))
        count += walk.record->type == SPOOL_RECORD_EVENT_RECORD && ((const char *)walk.record)[63] == 'x';
    assert_int_equal(count, RECORDS);
    assert_int_equal(walk.damaged, 0);
    spool_file_close(&file);
}

/* A file of a terabyte that has nothing on the disk. */
UNIT_TEST_WITH(test_chunks_of_nothing_take_no_memory, set_up, tear_down)
{
    struct make_spool spool;
    struct spool_file file;
    struct agent_walk walk;
    make_spool_init(&spool, 1, 130001);
    make_spool_chunk(&spool, SPOOL_RECORDS, 77);
    make_spool_done(&spool, SPOOL_IN_USE);
    struct spool_chunk *chunk = (struct spool_chunk *)(void *)(spool.data + SPOOL_HEADER_BYTES);
    make_spool_header(&spool)->formatted = (uint64_t)1 << 40;
    chunk->bytes = ((uint64_t)1 << 40) - SPOOL_HEADER_BYTES;
    chunk->used = chunk->bytes - sizeof(*chunk);
    make_spool_save_as(&spool, path);
    make_spool_release(&spool);
    assert_int_equal(truncate(path, (off_t)1 << 40), 0);
    assert_int_equal(spool_file_open(&file, path, NULL), 0);
    assert_int_equal(file.damaged, 1);
    agent_walk_begin(&walk, &file.parts.items[0]);
    assert_false(agent_walk_next(&walk));
    assert_int_equal(walk.damaged, 1);
    assert_int_equal(file.parts.items[0].size, sizeof(struct spool_record));
    spool_file_close(&file);
}

UNIT_TEST_WITH(test_what_is_no_file_is_left_out_at_once, set_up, tear_down)
{
    struct spool_file file;
    assert_int_equal(mkfifo(path, 0600), 0);
    unit_stderr_begin();
    assert_int_equal(spool_file_open(&file, path, NULL), 1);
    assert_contains(unit_stderr_end(), "is not a regular file and is left out");
}

UNIT_TEST_WITH(test_other_versions_say_whose_they_are, set_up, tear_down)
{
    struct make_spool spool;
    struct spool_file file;
    make_spool_init(&spool, 1, 130001);
    make_spool_header(&spool)->version = SPOOL_VERSION + 1;
    unit_stderr_begin();
    assert_int_equal(open_made(&spool, &file), 1);
    assert_contains(unit_stderr_end(), "by a newer gputrace than this");
    make_spool_init(&spool, 1, 130001);
    make_spool_header(&spool)->version = 0;
    unit_stderr_begin();
    assert_int_equal(open_made(&spool, &file), 1);
    assert_contains(unit_stderr_end(), "by an older gputrace than this");
}

UNIT_TEST_WITH(test_a_size_beyond_the_chunk_is_not_believed, set_up, tear_down)
{
    struct make_spool spool;
    struct spool_file file;
    make_spool_init(&spool, 1, 130001);
    chunk(&spool, SPOOL_RECORDS, 1, SPOOL_DONE);
    struct spool_chunk *first = (struct spool_chunk *)(void *)(spool.data + SPOOL_HEADER_BYTES);
    first->used = UINT64_MAX - 7;
    assert_int_equal(open_made(&spool, &file), 0);
    assert_int_equal(file.parts.items[0].size, 64);
    assert_int_equal(file.damaged, 1);
    spool_file_close(&file);
}

UNIT_TEST_WITH(test_a_chunk_that_leads_nowhere_ends_the_list, set_up, tear_down)
{
    static const uint64_t lies[] = {0, 8, 63, 96, UINT64_MAX - 63};
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        struct make_spool spool;
        struct spool_file file;
        make_spool_init(&spool, 1, 130001);
        chunk(&spool, SPOOL_RECORDS, 1, SPOOL_DONE);
        size_t second = spool.size;
        chunk(&spool, SPOOL_RECORDS, 2, SPOOL_DONE);
        chunk(&spool, SPOOL_RECORDS, 3, SPOOL_DONE);
        ((struct spool_chunk *)(void *)(spool.data + second))->bytes = lies[i];
        assert_int_equal(open_made(&spool, &file), 0);
        assert_true(file.parts.count <= 2); /* one too long holds what the file has */
        if (i + 1 < sizeof(lies) / sizeof(*lies))
            assert_int_equal(file.damaged, 1);
        spool_file_close(&file);
    }
}

UNIT_TEST_WITH(test_what_is_not_formatted_is_not_read, set_up, tear_down)
{
    struct make_spool spool;
    struct spool_file file;
    make_spool_init(&spool, 1, 130001);
    chunk(&spool, SPOOL_RECORDS, 1, SPOOL_DONE);
    uint64_t formatted = spool.size;
    chunk(&spool, SPOOL_RECORDS, 2, SPOOL_DONE);
    make_spool_header(&spool)->formatted = formatted;
    assert_int_equal(open_made(&spool, &file), 0);
    assert_int_equal(file.parts.count, 1);
    assert_int_equal(file.damaged, 0);
    spool_file_close(&file);
}

UNIT_TEST_WITH(test_other_files_are_left_out_with_a_word, set_up, tear_down)
{
    struct make_spool spool;
    struct spool_file file;
    make_spool_init(&spool, 1, 130001);
    make_spool_header(&spool)->magic[3] = 'X';
    unit_stderr_begin();
    assert_int_equal(open_made(&spool, &file), 1);
    assert_contains(unit_stderr_end(), "not a spool file");
    make_spool_init(&spool, 1, 130001);
    make_spool_header(&spool)->version = 99;
    unit_stderr_begin();
    assert_int_equal(open_made(&spool, &file), 1);
    assert_contains(unit_stderr_end(), "version 99");
    assert_int_equal(spool_file_open(&file, "/dev/null", NULL), 1);
}

UNIT_TEST_WITH(test_texts_of_the_header_always_end, set_up, tear_down)
{
    struct make_spool spool;
    struct spool_file file;
    make_spool_init(&spool, 1, 130001);
    memset(make_spool_header(&spool)->program, 'p', sizeof(make_spool_header(&spool)->program));
    memset(make_spool_header(&spool)->command, 'c', sizeof(make_spool_header(&spool)->command));
    assert_int_equal(open_made(&spool, &file), 0);
    assert_int_equal(strlen(file.header.program), sizeof(file.header.program) - 1);
    assert_int_equal(strlen(file.header.command), sizeof(file.header.command) - 1);
    spool_file_close(&file);
}

UNIT_TEST_WITH(test_a_directory_lists_its_spools_by_number, set_up, tear_down)
{
    struct spool_directory directory;
    static const char *const names[] = {"10-0.spool",   "9-1.spool", "9-0.spool",
                                        "session.json", ".spool",    "x.spool.tmp"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        snprintf(path, sizeof(path), "%s/%s", (const char *)*state, names[i]);
        unit_write_file(path, "");
    }
    assert_int_equal(spool_directory_read(&directory, *state), 0);
    assert_int_equal(directory.count, 3);
    assert_contains(directory.places[0].path, "/9-0.spool");
    assert_contains(directory.places[1].path, "/9-1.spool");
    assert_contains(directory.places[2].path, "/10-0.spool");
    spool_directory_release(&directory);
}

UNIT_MAIN(NULL, NULL)
