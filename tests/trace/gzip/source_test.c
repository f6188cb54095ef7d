/*
 * Whatever a file holds, what is read is what zlib reads of it: the bytes, and what is wrong behind them.
 */
#include "tests/unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include <zlib.h>

#include "common/buffer.h"
#include "trace/gzip/gzip.h"

enum { MEMBERS = 24, TEXT = 40000 /* bytes of noise in a member */ };

static const char *folder;
static char path[300];
static struct gzip *gzip;
static struct buffer file, whole; /* a file of MEMBERS members, and its text */
static size_t starts[MEMBERS + 1];

static void fill_noise(char *text, size_t size, uint64_t number)
{
    for (size_t i = 0; i < size; i++) {
        number = number * UINT64_C(6364136223846793005) + 1442695040888963407u;
        text[i] = "0123456789abcdefghijklmnopqrstuvwxyz{}[],:\" "[(number >> 57) % 44];
    }
}

UNIT_FIXTURE(begin)
{
    static char text[TEXT];
    folder = unit_directory();
    snprintf(path, sizeof(path), "%s/trace.json.gz", folder);
    gzip = gzip_new(GZIP_MEMBERS);
    buffer_init_memory(&file);
    buffer_init_memory(&whole);
    for (size_t i = 0; i < MEMBERS; i++) {
        size_t size = i == 5 ? 0 : TEXT - i;
        fill_noise(text, size, i + 1);
        starts[i] = file.length;
        buffer_bytes(&whole, text, size);
        assert_int_equal(gzip_members(gzip, &file, text, size), 0);
    }
    starts[MEMBERS] = file.length;
    return 0;
}

UNIT_FIXTURE(end)
{
    buffer_release(&file);
    buffer_release(&whole);
    gzip_free(gzip);
    unit_remove(folder);
    return 0;
}

static void save(const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

static void read_with(const char *name, size_t step, struct buffer *text, struct source_failure *failure)
{
    struct source source;
    size_t got;
    *failure = (struct source_failure){0};
    buffer_init_memory(text);
    assert_int_equal(source_open(&source, name), 0);
    do {
        got = source_read(&source, buffer_reserve(text, step), step, failure);
        buffer_advance(text, got);
    } while (got == step);
    source_close(&source);
}

static void read_by_zlib(struct buffer *text, struct source_failure *failure)
{
    enum { STEP = 65536 };
    int got, code;
    gzFile zlib = gzopen(path, "rb");
    assert_non_null(zlib);
    *failure = (struct source_failure){0};
    buffer_init_memory(text);
    while ((got = gzread(zlib, buffer_reserve(text, STEP), STEP)) > 0)
        buffer_advance(text, (size_t)got);
    const char *message = gzerror(zlib, &code), *after = strstr(message, ": ");
    if (code != Z_OK) {
        failure->failed = true;
        failure->cut_off = code == Z_BUF_ERROR;
        snprintf(failure->message, sizeof(failure->message), "%s", after ? after + 2 : message);
    }
    gzclose_r(zlib);
}

/* Reads the file with zlib, and in pieces of some sizes. Returns what all have read: to be released. */
static struct buffer read_alike(struct source_failure *failure)
{
    static const size_t steps[] = {65536, 1000, 1 << 20};
    struct buffer first;
    read_by_zlib(&first, failure);
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        struct buffer text;
        struct source_failure other;
        read_with(path, steps[i], &text, &other);
        size_t common = text.length < first.length ? text.length : first.length;
        /* What was unpacked in the same step as damage is lost. */
        assert_true(text.length == first.length || (failure->failed && !failure->cut_off));
        assert_memory_equal(text.data, first.data, common);
        assert_int_equal(other.failed, failure->failed);
        assert_int_equal(other.cut_off, failure->cut_off);
        assert_int_equal(other.number, failure->number);
        assert_string_equal(other.message, failure->message);
        buffer_release(&text);
    }
    return first;
}

static void expect(const char *text, size_t size, const char *message)
{
    struct source_failure failure;
    struct buffer read = read_alike(&failure);
    if (text) {
        assert_int_equal(read.length, size);
        assert_memory_equal(read.data, text, size);
    }
    assert_int_equal(failure.failed, message != NULL);
    if (message)
        assert_contains(failure.message, message);
    buffer_release(&read);
}

/* --- files --- */

UNIT_TEST(all_members_of_ours_are_read)
{
    save(file.data, file.length);
    expect(whole.data, whole.length, NULL);
}

UNIT_TEST(a_reader_may_end_before_the_file_does)
{
    char bytes[100];
    save(file.data, file.length);
    for (unsigned i = 0; i < 50; i++) {
        struct source source;
        struct source_failure failure = {0};
        assert_int_equal(source_open(&source, path), 0);
        if (i % 2)
            assert_int_equal(source_read(&source, bytes, sizeof(bytes), &failure), sizeof(bytes));
        source_close(&source);
    }
}

UNIT_TEST(what_is_no_gzip_is_read_as_it_is)
{
    save(whole.data, whole.length);
    expect(whole.data, whole.length, NULL);
    save("", 0);
    expect("", 0, NULL);
    save("\x1f", 1);
    expect("\x1f", 1, NULL);
}

UNIT_TEST(one_member_is_read)
{
    struct buffer one;
    buffer_init_memory(&one);
    assert_int_equal(gzip_members(gzip, &one, whole.data, MEMBER_TEXT_MOST / 2), 0);
    save(one.data, one.length);
    expect(whole.data, MEMBER_TEXT_MOST / 2, NULL);
    buffer_release(&one);
}

UNIT_TEST(what_stands_behind_members_is_passed_over)
{
    static const char *const rests[] = {"x", "\x1f", "trash", "\x1f\x8a", "{\"ph\":\"X\"}"};
    struct buffer more;
    buffer_init_memory(&more);
    for (size_t i = 0; i < sizeof(rests) / sizeof(*rests); i++) {
        more.length = 0;
        buffer_bytes(&more, file.data, file.length);
        buffer_text(&more, rests[i]);
        save(more.data, more.length);
        expect(whole.data, whole.length, NULL);
    }
    more.length = file.length;
    buffer_bytes(&more, "\x1f\x8b\x07", 4); /* no method that gzip knows */
    save(more.data, more.length);
    expect(NULL, 0, "unknown compression method");
    buffer_release(&more);
}

UNIT_TEST(a_file_cut_anywhere_is_reported)
{
    for (size_t cut = file.length - 1; cut > file.length - 60; cut -= 4) {
        save(file.data, cut);
        expect(NULL, 0, "unexpected end of file");
    }
    for (size_t i = 20; i <= 21; i++) {
        for (size_t at = 2; at < 50; at += 6) { /* of one byte nobody can say whose it is */
            save(file.data, starts[i] + at);
            expect(NULL, 0, "unexpected end of file");
        }
        save(file.data, starts[i]);
        expect(NULL, 0, NULL);
    }
}

UNIT_TEST(members_of_others_may_stand_between_ours)
{
    save(file.data, file.length);
    for (int i = 0; i < 2; i++) {
        gzFile other = gzopen(path, "ab");
        assert_int_equal(gzwrite(other, "other", 5), 5);
        assert_int_equal(gzclose(other), Z_OK);
        int fd = open(path, O_WRONLY | O_APPEND);
        assert_int_equal(write(fd, file.data, file.length), (ssize_t)file.length);
        close(fd);
    }
    struct buffer text;
    buffer_init_memory(&text);
    for (int i = 0; i < 3; i++) {
        buffer_bytes(&text, whole.data, whole.length);
        buffer_bytes(&text, "other", i < 2 ? 5 : 0);
    }
    expect(text.data, text.length, NULL);
    buffer_release(&text);
}

/* Members with an extra field of two letters and 16 bits, as bgzip's are. */
static void put_other_fields(struct buffer *out)
{
    static const char field[] = "\6\0BC\2\0\x34\x12";
    for (size_t i = 0; i < MEMBERS; i++) {
        buffer_bytes(out, file.data + starts[i], 10 /* before the extra field */);
        buffer_bytes(out, field, 8);
        buffer_bytes(out, file.data + starts[i] + MEMBER_HEAD_SIZE, starts[i + 1] - starts[i] - MEMBER_HEAD_SIZE);
    }
}

UNIT_TEST(fields_of_others_are_passed_over)
{
    struct buffer others;
    buffer_init_memory(&others);
    put_other_fields(&others);
    save(others.data, others.length);
    expect(whole.data, whole.length, NULL);
    buffer_bytes(&others, file.data, file.length);
    save(others.data, others.length);
    struct source_failure failure;
    struct buffer read = read_alike(&failure);
    assert_int_equal(read.length, 2 * whole.length);
    assert_false(failure.failed);
    buffer_release(&read);
    buffer_release(&others);
}

static void write_size(uint8_t *at, size_t size)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(size >> 8 * i);
}

/* Saves the file with the size that member MEMBER says of itself changed. */
static void save_with_size(size_t member, size_t size)
{
    uint8_t *at = (uint8_t *)file.data + starts[member] + MEMBER_SIZE_AT;
    uint32_t before;
    memcpy(&before, at, sizeof(before));
    write_size(at, size);
    save(file.data, file.length);
    memcpy(at, &before, sizeof(before));
}

UNIT_TEST(wrong_sizes_change_nothing)
{
    const size_t member = 9, right = starts[member + 1] - starts[member];
    const size_t wrong[] = {0,          1,           28,        29,
                            right - 1,  right + 1,   right / 2, starts[member + 2] - starts[member],
                            UINT32_MAX, file.length, 1u << 20,  starts[MEMBERS] - starts[member]};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        save_with_size(member, wrong[i]);
        expect(whole.data, whole.length, NULL);
        save_with_size(0, wrong[i]);
        expect(whole.data, whole.length, NULL);
    }
}

UNIT_TEST(damage_is_reported_where_it_is)
{
    static const struct {
        size_t before_end;
        const char *message;
    } damages[] = {{8, "incorrect data check"}, {4, "incorrect length check"}};
    size_t before = 0;
    for (size_t i = 0; i < 12; i++)
        before += i == 5 ? 0 : TEXT - i;
    for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
        char *at = file.data + starts[12] - damages[i].before_end;
        *at = (char)(*at ^ 1);
        save(file.data, file.length);
        *at = (char)(*at ^ 1);
        expect(NULL, 0, damages[i].message);
        struct source_failure failure;
        struct buffer read;
        read_with(path, 1000, &read, &failure);
        assert_true(read.length >= before - (TEXT - 11) && read.length <= before);
        assert_memory_equal(read.data, whole.data, read.length);
        buffer_release(&read);
    }
}

UNIT_TEST(changed_bytes_do_no_harm)
{
    uint64_t number = 7;
    for (unsigned i = 0; i < 60; i++) {
        number = number * UINT64_C(6364136223846793005) + 1442695040888963407u;
        size_t start = starts[(number >> 40) % MEMBERS];
        char *at = file.data + start + (i % 3 ? (number >> 50) % MEMBER_HEAD_SIZE : (number >> 45) % TEXT);
        char byte = *at;
        *at = (char)(byte ^ (1 << ((number >> 33) & 7)));
        save(file.data, file.length);
        *at = byte;
        struct source_failure failure;
        struct buffer read = read_alike(&failure);
        buffer_release(&read);
    }
}

/* It says truly how long it is, but not how much it becomes. */
UNIT_TEST(a_member_of_much_text_is_not_held)
{
    const size_t size = 5 * (size_t)MEMBER_TEXT_MOST;
    char *zeros = calloc(1, size);
    uint8_t *packed = malloc(size);
    uint8_t field[8] = {'G', 'T', 4};
    gz_header header = {.extra = field, .extra_len = sizeof(field)};
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 1, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
    deflateSetHeader(&stream, &header);
    stream.next_in = (uint8_t *)zeros;
    stream.avail_in = (unsigned)size;
    stream.next_out = packed;
    stream.avail_out = (unsigned)size;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    write_size(packed + MEMBER_SIZE_AT, stream.total_out);
    struct buffer text, all;
    buffer_init_memory(&text);
    buffer_init_memory(&all);
    buffer_bytes(&all, file.data, file.length);
    buffer_bytes(&all, (char *)packed, stream.total_out);
    buffer_bytes(&all, file.data, file.length);
    buffer_bytes(&text, whole.data, whole.length);
    buffer_bytes(&text, zeros, size);
    buffer_bytes(&text, whole.data, whole.length);
    save(all.data, all.length);
    expect(text.data, text.length, NULL);
    deflateEnd(&stream);
    buffer_release(&text);
    buffer_release(&all);
    free(zeros);
    free(packed);
}

/* Something before us has read its beginning. */
UNIT_TEST(standard_input_is_read_from_where_it_is)
{
    int kept = dup(STDIN_FILENO);
    size_t skipped = 0;
    for (size_t i = 0; i < 4; i++)
        skipped += TEXT - i;
    save(file.data, file.length);
    struct source_failure failure;
    struct buffer read;
    int fd = open(path, O_RDONLY);
    assert_int_equal(lseek(fd, (off_t)starts[4], SEEK_SET), starts[4]);
    dup2(fd, STDIN_FILENO);
    close(fd);
    read_with("-", 65536, &read, &failure);
    assert_false(failure.failed);
    assert_int_equal(read.length, whole.length - skipped);
    assert_memory_equal(read.data, whole.data + skipped, read.length);
    buffer_release(&read);
    dup2(kept, STDIN_FILENO);
    close(kept);
}

/* Whoever wrote to a FIFO may be gone when its beginning is looked at again: nothing waits for another one. */
UNIT_TEST(a_fifo_is_looked_at_twice_and_read)
{
    static const char text[] = "[{\"ph\": \"M\"}]";
    char fifo[sizeof(path) + 8], bytes[64];
    struct source_failure failure;
    struct buffer read;
    snprintf(fifo, sizeof(fifo), "%s.fifo", path);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    int writer = open(fifo, O_RDWR);
    assert_int_equal(write(writer, text, strlen(text)), strlen(text));
    assert_int_equal(peek(fifo, bytes, sizeof(bytes)), strlen(text));
    close(writer);
    assert_int_equal(peek(fifo, bytes, sizeof(bytes)), strlen(text));
    read_with(fifo, 65536, &read, &failure);
    assert_int_equal(read.length, strlen(text));
    buffer_release(&read);
    unlink(fifo);
}

UNIT_MAIN(begin, end)
