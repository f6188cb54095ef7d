/*
 * Sections that are compressed packets, and those that others wrote: what is read is what is read of plain packets, and
 * a packet that cannot be unpacked is an error after everything that stands before it.
 */
#include "tests/trace/pftrace/pftrace_file.h"
#include "tests/unit.h"

#include "common/map.h"
#include "common/protobuf.h"
#include "trace/gzip/gzip.h"
#include "trace/pftrace/packets.h"
#include "trace/pftrace/fields.h"
#include "trace/pftrace/reader.h"
#include "trace/sink.h"

#define BASE UINT64_C(1700000000000000000)

static struct gzip *gzip;
static struct buffer plain, file, packets;
static char path[] = "/tmp/compressed_test.XXXXXX";

UNIT_FIXTURE(set_up)
{
    gzip = gzip_new(GZIP_STREAMS);
    buffer_init_memory(&plain);
    buffer_init_memory(&file);
    buffer_init_memory(&packets);
    return 0;
}

UNIT_FIXTURE(tear_down)
{
    gzip_free(gzip);
    buffer_release(&plain);
    buffer_release(&file);
    buffer_release(&packets);
    return 0;
}

static void write_call(struct sink *sink, uint64_t i, const char *text, size_t length)
{
    char name[32];
    struct args args = {0};
    struct arg *arg = args_add(&args, ARG_DETAIL, ARG_TYPE_TEXT);
    arg->text = text;
    arg->length = length;
    struct slice slice = {.category = CATEGORY_CUDA_RUNTIME,
                          .name = name_passing(name, (size_t)sprintf(name, "call %d", (int)(i % 50))),
                          .row = {42, 42},
                          .start = BASE + 100 * i,
                          .end = BASE + 100 * i + 10,
                          .args = &args};
    sink->format->slice(sink, &slice);
}

/* The text of the last call has LAST bytes. */
static void write_trace(uint64_t calls, size_t last)
{
    struct sink sink;
    char *text = malloc(last + 64);
    sink_init(&sink, &pftrace, &plain);
    sink.format->begin(&sink, BASE);
    for (uint64_t i = 0; i + 1 < calls; i++)
        write_call(&sink, i, text, (size_t)sprintf(text, "text %d", (int)i * 7));
    memset(text, 'x', last);
    write_call(&sink, calls - 1, text, last);
    sink.format->finish(&sink);
    sink_release(&sink);
    free(text);
    assert_int_equal(plain.failure, 0);
}

static void compress_all(void)
{
    size_t done;
    assert_int_equal(pftrace_compress(gzip, &file, plain.data, plain.length, true, &done), 0);
    assert_int_equal(done, plain.length);
}

struct seen {
    size_t events;
    uint64_t hash;
    int status;
    char message[8192];
};

static void see(struct seen *seen, const struct pftrace_event *event)
{
    uint64_t facts[] = {seen->hash, event->what, event->start, event->end,
                        hash_bytes(event->name, strlen(event->name))};
    seen->hash = hash_bytes(facts, sizeof(facts));
    for (size_t i = 0; i < event->arg_count; i++)
        seen->hash += hash_bytes(event->args[i].text, event->args[i].length);
    seen->events++;
}

static struct seen read_bytes(const char *data, size_t size)
{
    struct seen seen = {0};
    struct interner strings = {0};
    const struct pftrace_event *event;
    strcpy(path + strlen(path) - 6, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    struct pftrace_file reading;
    assert_true(pftrace_file_open(&reading, path, &strings));
    unit_stderr_begin();
    while ((seen.status = pftrace_file_next(&reading, &event)) > 0)
        see(&seen, event);
    snprintf(seen.message, sizeof(seen.message), "%s", unit_stderr_end());
    assert_int_equal(pftrace_left_out(reading.reader), 0);
    pftrace_file_close(&reading);
    interner_release(&strings);
    unlink(path);
    return seen;
}

static void reads_the_same(size_t events)
{
    struct seen expected = read_bytes(plain.data, plain.length), got = read_bytes(file.data, file.length);
    assert_int_equal(expected.events, events);
    assert_int_equal(got.events, events);
    assert_true(got.hash == expected.hash);
    assert_int_equal(got.status, 0);
    assert_string_equal(got.message, "");
}

UNIT_TEST_WITH(test_a_compressed_trace_is_smaller_and_reads_the_same, set_up, tear_down)
{
    write_trace(50000, 10);
    compress_all();
    assert_true(plain.length > 3 << 19); /* several sections */
    assert_true(file.length < plain.length / 2);
    reads_the_same(50000);
}

UNIT_TEST_WITH(test_sections_are_the_same_however_the_bytes_come, set_up, tear_down)
{
    static const size_t steps[] = {7777, 262144, 3000000};
    write_trace(50000, 10);
    compress_all();
    for (size_t i = 0; i < 3; i++) {
        struct buffer out;
        size_t start = 0, done;
        buffer_init_memory(&out);
        for (size_t end = 0; end < plain.length;) {
            end = plain.length - end < steps[i] ? plain.length : end + steps[i];
            assert_int_equal(pftrace_compress(gzip, &out, plain.data + start, end - start, end == plain.length, &done),
                             0);
            start += done;
        }
        assert_int_equal(start, plain.length);
        assert_int_equal(out.length, file.length);
        assert_memory_equal(out.data, file.data, file.length);
        buffer_release(&out);
    }
}

UNIT_TEST_WITH(test_each_section_is_a_run_that_needs_nothing_before_it, set_up, tear_down)
{
    struct packets runs;
    struct packets_run run = {0};
    size_t count = 0, events = 0;
    write_trace(50000, 10);
    compress_all();
    strcpy(path + strlen(path) - 6, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, file.data, file.length) == (ssize_t)file.length);
    close(fd);
    assert_int_equal(packets_open(&runs, path), 0);
    for (; packets_next_run(&runs, &run) == 1; count++) {
        struct interner own = {0};
        const struct pftrace_event *event;
        struct pftrace_reader *reader = pftrace_reader_new(&own);
        assert_true(run.begins && !run.goes_on);
        pftrace_take(reader, &run);
        for (; pftrace_next(reader, &event) == 1; events++)
            assert_int_equal(event->start, 100 * events);
        pftrace_close(reader);
        interner_release(&own);
    }
    assert_int_equal(events, 50000);
    assert_in_range(count, plain.length >> 20, (plain.length >> 19) + 1);
    packets_run_release(&run);
    packets_close(&runs);
    unlink(path);
}

UNIT_TEST_WITH(test_a_section_of_a_large_packet_is_not_compressed, set_up, tear_down)
{
    const size_t large = 2 << 20;
    write_trace(10, large);
    compress_all();
    assert_in_range(file.length, large, plain.length + 16);
    assert_memory_equal(file.data + file.length - large, plain.data + plain.length - large, large);
    reads_the_same(10);
}

/* Adds to FILE a compressed packet that holds PACKETS, as others write it. */
static void add_compressed(void)
{
    size_t packet = protobuf_begin(&file, PB_TRACE_PACKET);
    size_t body = protobuf_begin(&file, PB_PACKET_COMPRESSED_PACKETS);
    assert_int_equal(gzip_stream(gzip, &file, packets.data, packets.length), 0);
    protobuf_end(&file, body);
    protobuf_end(&file, packet);
}

/* The begin of a slice is in another one than its end, then. */
UNIT_TEST_WITH(test_packets_that_others_compressed_are_read, set_up, tear_down)
{
    static const size_t most[] = {1, 2, 7, 1000};
    write_trace(1000, 10);
    for (size_t i = 0; i < 4; i++) {
        size_t at = 0, head, size, count = 0;
        file.length = packets.length = 0;
        while (packets_frame((const uint8_t *)plain.data + at, plain.length - at, &head, &size) > 0) {
            buffer_bytes(&packets, plain.data + at, head + size);
            at += head + size;
            if (++count % most[i] == 0 || at == plain.length) {
                add_compressed();
                packets.length = 0;
            }
        }
        reads_the_same(1000);
    }
}

/* What is in the file ends with a packet that is compressed, and damaged: the rest is read. */
static void is_damaged(size_t good, size_t events)
{
    char words[128];
    struct seen seen = read_bytes(file.data, file.length);
    sprintf(words, "is damaged: the compressed packet at byte %zu cannot be unpacked", good);
    assert_contains(seen.message, words);
    assert_int_equal(seen.status, -1);
    assert_int_equal(seen.events, events);
    file.length = good;
    packets.length = 0;
}

UNIT_TEST_WITH(test_a_packet_that_cannot_be_unpacked_is_an_error, set_up, tear_down)
{
    write_trace(5, 10);
    compress_all();
    size_t good = file.length;
    for (size_t back = 1; back <= 4; back++) { /* bytes of the checksum */
        buffer_text(&packets, "\n\2h\1");      /* a packet of a varint */
        add_compressed();
        file.data[file.length - back] ^= 0x10;
        is_damaged(good, 5);
    }
    buffer_text(&packets, "\n\2h\1no packet");
    add_compressed();
    is_damaged(good, 5);
    buffer_text(&packets, "\n\2h\1\n\5h\1"); /* the second one is longer than what is left */
    add_compressed();
    is_damaged(good, 5);
    buffer_text(&packets, "\22\2h\1"); /* a field that is not a packet */
    add_compressed();
    is_damaged(good, 5);
}

UNIT_TEST_WITH(test_bytes_after_the_stream_are_an_error, set_up, tear_down)
{
    write_trace(5, 10);
    compress_all();
    size_t good = file.length, packet = protobuf_begin(&file, PB_TRACE_PACKET);
    size_t body = protobuf_begin(&file, PB_PACKET_COMPRESSED_PACKETS);
    assert_int_equal(gzip_stream(gzip, &file, "\n\2h\1", 4), 0);
    buffer_char(&file, '\0');
    protobuf_end(&file, body);
    protobuf_end(&file, packet);
    is_damaged(good, 5);
}

UNIT_TEST_WITH(test_a_compressed_packet_holds_no_other, set_up, tear_down)
{
    write_trace(5, 10);
    compress_all();
    size_t good = file.length;
    buffer_bytes(&packets, plain.data, plain.length);
    add_compressed();
    assert_int_equal(read_bytes(file.data, file.length).events, 10);
    packets.length = 0;
    buffer_bytes(&packets, file.data + good, file.length - good);
    file.length = good;
    add_compressed();
    is_damaged(good, 5);
}

UNIT_TEST_WITH(test_what_unpacks_to_too_much_is_an_error, set_up, tear_down)
{
    write_trace(5, 10);
    compress_all();
    size_t good = file.length;
    char *space = buffer_reserve(&packets, PACKET_MOST);
    assert_non_null(space);
    memset(space, 0, PACKET_MOST);
    buffer_advance(&packets, PACKET_MOST);
    add_compressed();
    is_damaged(good, 5);
}

UNIT_TEST_WITH(test_a_file_cut_in_a_compressed_packet_gives_what_is_before_it, set_up, tear_down)
{
    char words[128];
    write_trace(5, 10);
    compress_all();
    size_t good = file.length;
    buffer_bytes(&packets, plain.data, plain.length);
    add_compressed();
    for (size_t length = good + 1; length < file.length; length += 3) {
        struct seen seen = read_bytes(file.data, length);
        sprintf(words, "is cut off at byte %zu", good);
        assert_contains(seen.message, words);
        assert_int_equal(seen.status, 0);
        assert_int_equal(seen.events, 5);
    }
}

UNIT_MAIN(NULL, NULL)
