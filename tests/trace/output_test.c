#include "tests/unit.h"

#include <stdbool.h>
#include <sys/stat.h>

#include <zlib.h>

#include "common/protobuf.h"
#include "trace/pftrace/packets.h"
#include "trace/output.h"

static char path[512];

static int set_up(void **state)
{
    *state = (void *)unit_directory();
    return 0;
}

static int tear_down(void **state)
{
    unit_remove(*state);
    return 0;
}

static void name_it(void **state, const char *name)
{
    snprintf(path, sizeof(path), "%s/%s", (const char *)*state, name);
}

static bool exists(void)
{
    struct stat status;
    return stat(path, &status) == 0;
}

static size_t files_in(const char *directory)
{
    char command[600], answer[32] = "";
    snprintf(command, sizeof(command), "ls -A '%s' | wc -l", directory);
    FILE *pipe = popen(command, "r");
    assert_non_null(fgets(answer, sizeof(answer), pipe));
    pclose(pipe);
    return strtoul(answer, NULL, 10);
}

UNIT_TEST_WITH(test_a_file_appears_when_it_is_whole, set_up, tear_down)
{
    struct output output;
    uint64_t bytes;
    name_it(state, "trace.json");
    assert_int_equal(output_open(&output, path), 0);
    buffer_text(&output.buffer, "hello");
    assert_false(exists());
    assert_int_equal(output_commit(&output, &bytes), 0);
    assert_true(exists());
    assert_int_equal(bytes, 5);
    assert_int_equal(files_in(*state), 1);
}

UNIT_TEST_WITH(test_links_are_neither_followed_nor_replaced, set_up, tear_down)
{
    struct output output;
    struct stat status;
    char victim[600], nowhere[600];
    name_it(state, "trace.json");
    snprintf(victim, sizeof(victim), "%s/victim", (const char *)*state);
    snprintf(nowhere, sizeof(nowhere), "%s/nowhere", (const char *)*state);
    unit_write_file(victim, "precious");
    const char *const targets[] = {victim, nowhere, "/proc/self/fd/1"};
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        assert_int_equal(symlink(targets[i], path), 0);
        unit_stderr_begin();
        assert_int_equal(output_open(&output, path), -1);
        assert_contains(unit_stderr_end(), "it is a symbolic link");
        assert_int_equal(lstat(path, &status), 0);
        assert_true(S_ISLNK(status.st_mode));
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(stat(victim, &status), 0);
    assert_int_equal(status.st_size, strlen("precious"));
    assert_int_not_equal(access(nowhere, F_OK), 0);
}

UNIT_TEST_WITH(test_a_link_that_comes_while_it_is_written_stays, set_up, tear_down)
{
    struct output output;
    uint64_t bytes;
    struct stat status;
    name_it(state, "trace.json");
    assert_int_equal(output_open(&output, path), 0);
    assert_int_equal(symlink("/dev/null", path), 0);
    unit_stderr_begin();
    assert_int_equal(output_commit(&output, &bytes), -1);
    assert_contains(unit_stderr_end(), "not a regular file");
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(files_in(*state), 1);
}

UNIT_TEST_WITH(test_a_link_under_the_temporary_name_is_left_alone, set_up, tear_down)
{
    struct output output;
    uint64_t bytes;
    struct stat status;
    char victim[600], temporary[600];
    name_it(state, "trace.json");
    snprintf(victim, sizeof(victim), "%s/victim", (const char *)*state);
    unit_write_file(victim, "precious");
    snprintf(temporary, sizeof(temporary), "%s.%ld-0.tmp", path, (long)getpid());
    assert_int_equal(symlink(victim, temporary), 0);
    assert_int_equal(output_open(&output, path), 0);
    buffer_text(&output.buffer, "hello");
    assert_int_equal(output_commit(&output, &bytes), 0);
    assert_int_equal(stat(victim, &status), 0);
    assert_int_equal(status.st_size, strlen("precious"));
    assert_int_equal(lstat(path, &status), 0);
    assert_true(S_ISREG(status.st_mode) && status.st_size == 5);
    assert_int_equal(lstat(temporary, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

UNIT_TEST_WITH(test_what_is_discarded_leaves_the_old_file, set_up, tear_down)
{
    struct output output;
    char text[8] = "";
    name_it(state, "trace.json");
    unit_write_file(path, "old");
    assert_int_equal(output_open(&output, path), 0);
    buffer_text(&output.buffer, "new");
    output_discard(&output);
    FILE *file = fopen(path, "r");
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    assert_string_equal(text, "old");
    assert_int_equal(files_in(*state), 1);
}

UNIT_TEST_WITH(test_gz_unpacks_to_what_was_written, set_up, tear_down)
{
    struct output output;
    uint64_t bytes;
    static char line[100001], back[sizeof(line)];
    name_it(state, "trace.json.gz");
    memset(line, 'x', sizeof(line) - 1);
    assert_int_equal(output_open(&output, path), 0);
    for (int i = 0; i < 20; i++)
        buffer_text(&output.buffer, line);
    assert_int_equal(output_commit(&output, &bytes), 0);
    assert_true(bytes < 20000);
    gzFile file = gzopen(path, "rb");
    for (int i = 0; i < 20; i++) {
        assert_int_equal(gzread(file, back, sizeof(line) - 1), sizeof(line) - 1);
        assert_memory_equal(back, line, sizeof(line) - 1);
    }
    assert_int_equal(gzread(file, back, 1), 0);
    assert_false(gzdirect(file));
    gzclose(file);
}

/* A packet that stands alone before them is not. Blocks of threads come between what goes through the buffer. */
UNIT_TEST_WITH(test_sections_of_a_pftrace_are_compressed, set_up, tear_down)
{
    enum { CALLS = 1000 };
    static const char head[] = "\n\2h\1", section[] = "\n\4\xb8\xeb\4\1", packet[] = "\n\6h\2h\2h\2";
    struct output output;
    struct output_block block;
    uint64_t bytes;
    char start[16] = "";
    name_it(state, "trace.pftrace");
    assert_int_equal(output_open(&output, path), 0);
    buffer_text(&output.buffer, head);
    output_block_init(&block);
    for (int i = 0; i < 4; i++) {
        struct buffer *buffer = i % 2 ? &output.buffer : &block.text;
        buffer_text(buffer, section);
        for (int j = 0; j < CALLS; j++)
            buffer_text(buffer, packet);
        if (i % 2)
            continue;
        output_block_pack(&block, output.gzip);
        assert_int_equal(output_put(&output, &block), 0);
        output_block_clear(&block);
    }
    output_block_release(&block);
    assert_int_equal(output_commit(&output, &bytes), 0);
    assert_in_range(bytes, 4 * 20, CALLS);
    FILE *file = fopen(path, "rb");
    assert_int_equal(fread(start, 1, sizeof(start), file), sizeof(start));
    assert_memory_equal(start, head, 4);
    assert_memory_equal(start + 6, section + 2, 4); /* the packet's first field, and the next one is the rest */
    assert_memory_equal(start + 10, "\x92\3", 2);
    fclose(file);
    struct packets packets;
    struct packets_run run = {0};
    struct buffer text;
    buffer_init_memory(&text);
    assert_int_equal(packets_open(&packets, path), 0);
    assert_int_equal(packets_next_run(&packets, &run), 1);
    size_t at = 4, count = 0, frame, size;
    for (; packets_frame(run.bytes + at, run.size - at, &frame, &size) > 0; at += frame + size, count++) {
        struct protobuf_reader message = protobuf_reader(run.bytes + at + frame, size);
        struct protobuf_field field;
        assert_true(protobuf_next(&message, &field) && protobuf_next(&message, &field));
        assert_int_equal(gzip_unpack_stream(&text, field.bytes, field.size, PACKET_MOST), 0);
        assert_int_equal(text.length, CALLS * strlen(packet));
        assert_memory_equal(text.data, packet, strlen(packet));
    }
    assert_int_equal(count, 4);
    assert_int_equal(at, bytes);
    buffer_release(&text);
    packets_run_release(&run);
    packets_close(&packets);
}

UNIT_TEST_WITH(test_a_full_device_is_an_error, set_up, tear_down)
{
    struct output output;
    uint64_t bytes;
    assert_int_equal(output_open(&output, "/dev/full"), 0);
    buffer_text(&output.buffer, "hello");
    unit_stderr_begin();
    int result = output_commit(&output, &bytes);
    assert_contains(unit_stderr_end(), "cannot write '/dev/full': No space left on device");
    assert_int_equal(result, -1);
}

UNIT_TEST_WITH(test_a_name_that_cannot_be_made_is_an_error, set_up, tear_down)
{
    struct output output;
    name_it(state, "missing/trace.json");
    unit_stderr_begin();
    int result = output_open(&output, path);
    assert_contains(unit_stderr_end(), "No such file or directory");
    assert_int_equal(result, -1);
}

UNIT_MAIN(NULL, NULL)
