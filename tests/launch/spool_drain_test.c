#include "tests/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/trace/meaning/make_spool.h"
#include "trace/meaning/passes/passes.h"
#include "launch/drain.h"
#include "trace/spool/spool_directory.h"
#include "trace/spool/spool_file.h"

enum { SEGMENTS = 3, CALLS = 6000, USED = CALLS * 40 }; /* four chunks to a segment */

static char path[512];
static int fd = -1;
static const bool go_on;
static bool stopped = true;
static struct drain_tools tools;
static struct spool_drain drain;

static void put(const void *data, size_t size, off_t offset)
{
    assert_int_equal(pwrite(fd, data, size, offset), size);
}

/* A spool of SEGMENTS segments of unused space, as a process would have it. */
UNIT_FIXTURE(set_up)
{
    *state = (void *)unit_directory();
    snprintf(path, sizeof(path), "%s/1-0.spool", (const char *)*state);
    struct make_spool spool;
    make_spool_init(&spool, 1, 130001);
    make_spool_header(&spool)->state = SPOOL_OPEN;
    make_spool_header(&spool)->formatted = SPOOL_HEADER_BYTES + SEGMENTS * SPOOL_SEGMENT_BYTES;
    make_spool_save_as(&spool, path);
    make_spool_release(&spool);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(posix_fallocate(fd, 0, SPOOL_HEADER_BYTES + SEGMENTS * SPOOL_SEGMENT_BYTES), 0);
    for (unsigned i = 0; i < SEGMENTS; i++) {
        struct spool_chunk blank = {.magic = SPOOL_CHUNK_MAGIC, .bytes = SPOOL_SEGMENT_BYTES};
        put(&blank, sizeof(blank), (off_t)(SPOOL_HEADER_BYTES + i * SPOOL_SEGMENT_BYTES));
    }
    tools = (struct drain_tools){.stop = &go_on};
    tools.directory = open(*state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tools.data = aligned_alloc(SPOOL_ALIGN, SPOOL_SEGMENT_BYTES);
    assert_int_equal(packer_init(&tools.packer), 0);
    assert_int_equal(spool_drain_init(&drain, "1-0.spool"), 0);
    return 0;
}

UNIT_FIXTURE(tear_down)
{
    spool_drain_release(&drain);
    packer_release(&tools.packer);
    free(tools.data);
    close(tools.directory);
    if (fd >= 0)
        close(fd);
    unit_remove(*state);
    return 0;
}

static off_t offset_of(unsigned segment, unsigned chunk)
{
    return (off_t)(SPOOL_HEADER_BYTES + segment * SPOOL_SEGMENT_BYTES + chunk * (SPOOL_SEGMENT_BYTES / 4));
}

/* The first word of a record of 40 bytes whose ninth word is the test's. */
static uint32_t first_word(uint16_t type)
{
    return type == SPOOL_RECORDS ? SPOOL_RECORD_EVENT_RECORD : 5; /* CUPTI_ACTIVITY_KIND_RUNTIME */
}

/* A quarter of a segment; what follows in it is a chunk that nobody uses. */
static void put_chunk(unsigned segment, unsigned at, uint64_t sequence, enum spool_chunk_type type,
                      enum spool_chunk_state state)
{
    struct spool_chunk chunk = {.magic = SPOOL_CHUNK_MAGIC,
                                .type = (uint16_t)type,
                                .state = (uint16_t)state,
                                .bytes = SPOOL_SEGMENT_BYTES / 4,
                                .used = USED,
                                .sequence = sequence};
    struct spool_chunk rest = {.magic = SPOOL_CHUNK_MAGIC, .bytes = (3 - at) * (SPOOL_SEGMENT_BYTES / 4)};
    uint32_t *words = calloc(CALLS, 40);
    for (uint32_t i = 0; i < CALLS; i++) {
        words[10 * i] = first_word((uint16_t)type);
        words[10 * i + 1] = type == SPOOL_RECORDS ? 40 : 0;
        words[10 * i + 2] = 5000 * i + (uint32_t)random() % 1000;
        words[10 * i + 8] = (uint32_t)sequence;
    }
    if (at < 3)
        put(&rest, sizeof(rest), offset_of(segment, at + 1));
    put(words, USED, offset_of(segment, at) + (off_t)sizeof(chunk));
    put(&chunk, sizeof(chunk), offset_of(segment, at));
    free(words);
}

static struct spool_chunk chunk_at(unsigned segment, unsigned at)
{
    struct spool_chunk chunk;
    assert_int_equal(pread(fd, &chunk, sizeof(chunk), offset_of(segment, at)), sizeof(chunk));
    return chunk;
}

static void leave(unsigned segment, unsigned chunks)
{
    uint32_t none = SPOOL_NO_SEGMENT;
    for (unsigned i = 0; i < chunks; i++)
        put(&none, sizeof(none), offset_of(segment, i) + (off_t)offsetof(struct spool_chunk, segment));
}

/* What a reader finds: chunks of these sequences and no others, each whole. */
static void reads(const uint64_t *sequences, size_t count)
{
    struct spool_file file;
    struct spool_scratch scratch = {0};
    assert_int_equal(spool_file_open(&file, path, NULL), 0);
    assert_int_equal(file.damaged, 0);
    assert_int_equal(file.parts.count, count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t *words = (const void *)spool_part_data(&file.parts.items[i], &scratch);
        assert_non_null(words);
        assert_int_equal(file.parts.items[i].sequence, sequences[i]);
        assert_int_equal(file.parts.items[i].size, USED);
        for (uint32_t call = 0; call < CALLS; call++)
            assert_true(words[10 * call] == first_word(file.parts.items[i].type) &&
                        words[10 * call + 8] == sequences[i]);
    }
    spool_scratch_release(&scratch);
    spool_file_close(&file);
}

static void reads_damaged(void)
{
    struct spool_file file;
    assert_int_equal(spool_file_open(&file, path, NULL), 0);
    assert_int_equal(file.damaged, 1);
    assert_int_equal(file.parts.count, 1);
    spool_file_close(&file);
}

UNIT_TEST_WITH(what_is_done_is_packed_and_given_back, set_up, tear_down)
{
    put_chunk(0, 0, 1, SPOOL_CUPTI, SPOOL_DONE);
    put_chunk(0, 1, 2, SPOOL_CUPTI, SPOOL_DONE);
    put_chunk(1, 0, 3, SPOOL_CUPTI, SPOOL_DONE);
    assert_int_equal(spool_drain_round(&drain, &tools), 3);
    assert_int_equal(chunk_at(0, 0).state, SPOOL_DRAINED);
    assert_int_equal(chunk_at(0, 1).state, SPOOL_DRAINED);
    assert_int_equal(chunk_at(1, 0).state, SPOOL_DRAINED);
    assert_int_equal(chunk_at(0, 2).state, SPOOL_READY);
    assert_true(drain.packed_size < 3 * USED / 5);
    assert_int_equal(spool_drain_round(&drain, &tools), 0);
    reads((uint64_t[]){1, 2, 3}, 3);
}

UNIT_TEST_WITH(what_is_in_use_stays, set_up, tear_down)
{
    put_chunk(0, 0, 1, SPOOL_RECORDS, SPOOL_IN_USE);
    put_chunk(0, 1, 4, SPOOL_RECORDS, SPOOL_DONE);
    put_chunk(1, 0, 2, SPOOL_CUPTI, SPOOL_IN_USE);
    put_chunk(1, 1, 3, SPOOL_CUPTI, SPOOL_DONE);
    assert_int_equal(spool_drain_round(&drain, &tools), 2);
    assert_int_equal(chunk_at(0, 0).state, SPOOL_IN_USE);
    assert_int_equal(chunk_at(0, 1).state, SPOOL_DRAINED);
    assert_int_equal(chunk_at(1, 0).state, SPOOL_IN_USE);
    assert_int_equal(chunk_at(1, 1).state, SPOOL_DRAINED);
    put_chunk(1, 0, 2, SPOOL_CUPTI, SPOOL_DONE);
    assert_int_equal(spool_drain_round(&drain, &tools), 1);
}

UNIT_TEST_WITH(the_librarys_own_are_packed_among_those_of_cupti, set_up, tear_down)
{
    for (uint64_t sequence = 1; sequence < 5; sequence++)
        put_chunk(0, (unsigned)sequence - 1, sequence, SPOOL_RECORDS, SPOOL_DONE);
    put_chunk(1, 0, 6, SPOOL_CUPTI, SPOOL_DONE);
    put_chunk(2, 0, 5, SPOOL_RECORDS, SPOOL_DONE);
    assert_int_equal(spool_drain_round(&drain, &tools), 6);
    assert_true(drain.packed_size < 6 * USED / 5);
    for (unsigned i = 0; i < 4; i++)
        put_chunk(0, i, 7 + i, SPOOL_RECORDS, SPOOL_DONE); /* the segment is used anew */
    reads((uint64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10);
    assert_int_equal(spool_drain_round(&drain, &tools), 4);
    reads((uint64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10);
}

/* The launcher dies before a chunk is marked, or in the midst of its entry. */
UNIT_TEST_WITH(of_the_librarys_own_none_is_lost_or_comes_twice, set_up, tear_down)
{
    put_chunk(0, 0, 1, SPOOL_RECORDS, SPOOL_DONE);
    put_chunk(0, 1, 2, SPOOL_RECORDS, SPOOL_DONE);
    assert_int_equal(spool_drain_round(&drain, &tools), 2);
    put_chunk(0, 1, 2, SPOOL_RECORDS, SPOOL_DONE);
    reads((uint64_t[]){1, 2}, 2);
    uint64_t drained = 1; /* it counts when the entry is whole */
    put(&drained, sizeof(drained), offsetof(struct spool_header, drained));
    int packed = openat(tools.directory, drain.packed_name, O_RDWR | O_CLOEXEC);
    assert_int_equal(ftruncate(packed, (off_t)drain.packed_size - SPOOL_ALIGN), 0);
    close(packed);
    reads((uint64_t[]){1, 2}, 2);
}

UNIT_TEST_WITH(what_is_reported_while_it_runs_is_reported_once, set_up, tear_down)
{
    tools.live = calloc(1, sizeof(*tools.live));
    put_chunk(0, 0, 1, SPOOL_RECORDS, SPOOL_IN_USE);
    spool_drain_round(&drain, &tools);
    assert_int_equal(tools.live->recorded, USED);
    put_chunk(0, 0, 1, SPOOL_RECORDS, SPOOL_DONE);
    put_chunk(0, 1, 2, SPOOL_RECORDS, SPOOL_DONE);
    for (unsigned i = 0; i < 3; i++)
        spool_drain_round(&drain, &tools);
    assert_int_equal(tools.live->recorded, 2 * USED);
    put_chunk(0, 0, 3, SPOOL_RECORDS, SPOOL_IN_USE); /* its space is used anew */
    spool_drain_round(&drain, &tools);
    assert_int_equal(tools.live->recorded, 3 * USED);
    free(tools.live);
    tools.live = NULL;
}

UNIT_TEST_WITH(a_segment_that_is_used_anew_is_drained_anew, set_up, tear_down)
{
    for (uint64_t sequence = 1; sequence < 9; sequence++) {
        put_chunk(0, 0, sequence, SPOOL_CUPTI, SPOOL_IN_USE);
        assert_int_equal(spool_drain_round(&drain, &tools), 0);
        put_chunk(0, 0, sequence, SPOOL_CUPTI, SPOOL_DONE);
        assert_int_equal(spool_drain_round(&drain, &tools), 1);
    }
    reads((uint64_t[]){1, 2, 3, 4, 5, 6, 7, 8}, 8);
}

static uint64_t on_disk(void)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    return (uint64_t)status.st_blocks * 512;
}

UNIT_TEST_WITH(what_the_writer_has_left_becomes_a_hole, set_up, tear_down)
{
    uint64_t before = on_disk();
    put_chunk(0, 0, 1, SPOOL_CUPTI, SPOOL_DONE);
    put_chunk(0, 1, 2, SPOOL_CUPTI, SPOOL_DONE);
    leave(0, 3);
    assert_int_equal(spool_drain_round(&drain, &tools), 2);
    assert_true(on_disk() <= before - SPOOL_SEGMENT_BYTES + 4 * 4096);
    assert_int_equal(drain.open.count, SEGMENTS - 1);
    reads((uint64_t[]){1, 2}, 2);
}

UNIT_TEST_WITH(without_space_what_is_recorded_stays, set_up, tear_down)
{
    struct rlimit unlimited, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
    small = (struct rlimit){.rlim_cur = 5000, .rlim_max = unlimited.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    put_chunk(0, 0, 1, SPOOL_CUPTI, SPOOL_DONE);
    setrlimit(RLIMIT_FSIZE, &small);
    assert_int_equal(spool_drain_round(&drain, &tools), -1);
    setrlimit(RLIMIT_FSIZE, &unlimited);
    assert_true(drain.no_space);
    assert_int_equal(chunk_at(0, 0).state, SPOOL_DONE);
    reads((uint64_t[]){1}, 1);
    assert_int_equal(spool_drain_round(&drain, &tools), 1);
    reads((uint64_t[]){1}, 1);
}

UNIT_TEST_WITH(a_file_that_goes_does_no_harm, set_up, tear_down)
{
    put_chunk(0, 0, 1, SPOOL_CUPTI, SPOOL_DONE);
    assert_int_equal(spool_drain_round(&drain, &tools), 1);
    assert_int_equal(ftruncate(fd, SPOOL_HEADER_BYTES + 100), 0);
    assert_int_equal(spool_drain_round(&drain, &tools), 0);
    unlink(path);
    assert_int_equal(spool_drain_round(&drain, &tools), -1);
}

UNIT_TEST_WITH(a_round_can_be_cut_short, set_up, tear_down)
{
    put_chunk(0, 0, 1, SPOOL_CUPTI, SPOOL_DONE);
    tools.stop = &stopped;
    assert_int_equal(spool_drain_round(&drain, &tools), 0);
    tools.stop = &go_on;
    assert_int_equal(spool_drain_round(&drain, &tools), 1);
}

/* --- processes that have ended --- */

/* The process that wrote the spool is gone: nobody has it open, or mapped. */
static void writer_goes(void)
{
    close(fd);
    fd = -1;
}

static bool is_there(const char *name)
{
    return faccessat(tools.directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static size_t bytes_of(const char *name)
{
    struct stat status;
    assert_int_equal(fstatat(tools.directory, name, &status, 0), 0);
    return (size_t)status.st_size;
}

/* Chunks of COUNT sequences from 1 on, of which the first is CUPTI's. */
static void reads_ended(const char *directory, size_t count)
{
    struct spool_directory spools;
    struct spool_file file;
    struct spool_scratch scratch = {0};
    assert_int_equal(spool_directory_read(&spools, directory), 0);
    assert_int_equal(spools.count, 1);
    assert_int_equal(spools.places[0].ended, 1);
    assert_contains(spools.places[0].path, "/1-0.spool");
    assert_int_equal(spool_file_open_ended(&file, spools.ended_path, 0, NULL), 0);
    assert_int_equal(file.header.pid, 1);
    assert_int_equal(file.damaged, 0);
    assert_int_equal(file.parts.count, count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t *words = (const void *)spool_part_data(&file.parts.items[i], &scratch);
        assert_int_equal(file.parts.items[i].size, USED);
        assert_int_equal(words[10 * (CALLS - 1) + 8], i + 1);
    }
    spool_scratch_release(&scratch);
    spool_file_close(&file);
    spool_directory_release(&spools);
}

UNIT_TEST_WITH(what_a_process_leaves_goes_into_one_file, set_up, tear_down)
{
    put_chunk(0, 0, 1, SPOOL_CUPTI, SPOOL_IN_USE);
    put_chunk(0, 1, 2, SPOOL_RECORDS, SPOOL_DONE);
    put_chunk(1, 0, 3, SPOOL_RECORDS, SPOOL_IN_USE);
    spool_drain_round(&drain, &tools);
    spool_drain_end(&drain, &tools);
    assert_false(drain.over); /* it is still open */
    writer_goes();
    spool_drain_end(&drain, &tools);
    assert_true(drain.over);
    assert_true(drain.removed);
    assert_false(is_there("1-0.spool"));
    assert_false(is_there("1-0.packed"));
    assert_int_equal(bytes_of(SPOOL_ENDED_FILE), tools.ended);
    assert_true(tools.ended < 3 * USED / 5);
    reads_ended(*state, 3);
}

UNIT_TEST_WITH(a_mapping_without_a_descriptor_is_a_process_that_lives, set_up, tear_down)
{
    put_chunk(0, 0, 1, SPOOL_RECORDS, SPOOL_IN_USE);
    void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    uint32_t finished = SPOOL_FINISHED; /* of an exit handler; other threads may be at work */
    put(&finished, sizeof(finished), offsetof(struct spool_header, state));
    writer_goes();
    spool_drain_end(&drain, &tools);
    assert_false(drain.over);
    munmap(map, 4096);
    spool_drain_end(&drain, &tools);
    assert_true(drain.removed);
}

/* More than what goes into the file for all. */
UNIT_TEST_WITH(of_a_large_spool_the_header_stays_beside_what_is_packed, set_up, tear_down)
{
    enum { LARGE = 300000 };
    uint64_t sequences[2 * SEGMENTS];
    uint8_t *noise = malloc(LARGE);
    uint16_t unknown[SPOOL_CUPTI_KINDS] = {0};
    put(unknown, sizeof(unknown), offsetof(struct spool_header, record_bytes));
    for (unsigned i = 0; i < 2 * SEGMENTS; i++) {
        struct spool_chunk chunk = {.magic = SPOOL_CHUNK_MAGIC,
                                    .type = SPOOL_CUPTI,
                                    .state = SPOOL_DONE,
                                    .bytes = SPOOL_SEGMENT_BYTES / 2,
                                    .used = LARGE,
                                    .sequence = sequences[i] = i + 1};
        for (size_t k = 0; k < LARGE; k++)
            noise[k] = (uint8_t)random();
        put(&chunk, sizeof(chunk), offset_of(i / 2, i % 2 * 2));
        put(noise, LARGE, offset_of(i / 2, i % 2 * 2) + (off_t)sizeof(chunk));
    }
    free(noise);
    writer_goes();
    spool_drain_end(&drain, &tools);
    assert_true(drain.over);
    assert_false(drain.removed);
    assert_int_equal(bytes_of("1-0.spool"), SPOOL_HEADER_BYTES);
    assert_true(bytes_of("1-0.packed") > 2 * SEGMENTS * LARGE);
    struct spool_file file;
    assert_int_equal(spool_file_open(&file, path, NULL), 0);
    assert_int_equal(file.damaged, 0);
    assert_int_equal(file.parts.count, 2 * SEGMENTS);
    spool_file_close(&file);
}

UNIT_TEST_WITH(a_damaged_spool_stays_as_it_is, set_up, tear_down)
{
    put_chunk(0, 0, 1, SPOOL_RECORDS, SPOOL_DONE);
    uint32_t magic = 0;
    put(&magic, sizeof(magic), offset_of(1, 0));
    writer_goes();
    spool_drain_end(&drain, &tools);
    assert_true(drain.over);
    assert_false(drain.removed);
    assert_int_equal(bytes_of("1-0.spool"), SPOOL_HEADER_BYTES + SEGMENTS * SPOOL_SEGMENT_BYTES);
    reads_damaged();
}

/* The launcher died in the midst of an entry, or before the spool was removed. */
UNIT_TEST_WITH(an_entry_that_is_cut_is_none, set_up, tear_down)
{
    struct spool_directory spools;
    put_chunk(0, 0, 1, SPOOL_RECORDS, SPOOL_DONE);
    writer_goes();
    spool_drain_end(&drain, &tools);
    int ended = openat(tools.directory, SPOOL_ENDED_FILE, O_RDWR | O_CLOEXEC);
    for (size_t size = tools.ended; size > 0; size -= SPOOL_ALIGN) {
        assert_int_equal(spool_directory_read(&spools, *state), 0);
        assert_int_equal(spools.count, size == tools.ended);
        spool_directory_release(&spools);
        assert_int_equal(ftruncate(ended, (off_t)(size - SPOOL_ALIGN)), 0);
    }
    close(ended);
}

UNIT_TEST_WITH(a_process_whose_files_are_there_still_counts_once, set_up, tear_down)
{
    char command[1200], output[600];
    struct convert_summary summary;
    put_chunk(0, 0, 1, SPOOL_CUPTI, SPOOL_DONE);
    writer_goes();
    spool_drain_round(&drain, &tools);
    snprintf(command, sizeof(command), "cd '%s' && cp 1-0.spool kept", (const char *)*state);
    assert_int_equal(system(command), 0);
    spool_drain_end(&drain, &tools);
    assert_true(drain.removed);
    snprintf(command, sizeof(command), "cd '%s' && cp kept 1-0.spool && cp kept 2-0.spool", (const char *)*state);
    assert_int_equal(system(command), 0);
    snprintf(output, sizeof(output), "%s/trace.json", (const char *)*state);
    struct convert_options options = {.spool_directory = *state, .output = output};
    assert_int_equal(convert_spool(&options, &summary), 0);
    convert_plugins_release(&summary.plugins);
    assert_int_equal(summary.processes, 2); /* the other name is another process */
}

UNIT_MAIN(NULL, NULL)
