/*
 * Reading ahead: whatever a file of several blocks holds, and however many threads read it, the events are those that
 * one thread reads, in their order.
 */
#include "tests/analysis/trace_file.h"

#include <inttypes.h>

#include "common/map.h"
#include "common/buffer.h"
#include "trace/gzip/gzip.h"
#include "trace/fields_receiver.h"
#include "trace/json/reader.h"
#include "analysis/report.h"

static void save(const struct buffer *text)
{
    save_bytes(text->data, text->length);
}

/* --- what a reader sees, as a hash and some counts --- */

struct seen {
    const struct interner *strings;
    uint64_t events, hash, metadata;
};

static void mix(struct seen *seen, const void *bytes, size_t size)
{
    seen->hash = seen->hash * 31 + hash_bytes(bytes, size);
}

static int take_event(void *context, struct event_fields *event)
{
    struct seen *seen = context;
    seen->events++;
    mix(seen, &event->start, sizeof(event->start));
    mix(seen, &event->duration, sizeof(event->duration));
    mix(seen, &event->correlation, sizeof(event->correlation));
    for (int i = 0; i < 2; i++) {
        uint32_t text = i ? event_range(event)->domain : event->name;
        if (text != EVENT_NO_TEXT)
            mix(seen, interned(seen->strings, text), strlen(interned(seen->strings, text)));
    }
    if (event_id_is_text(event->process))
        mix(seen, interned(seen->strings, (uint32_t)event_id_value(event->process)), 1);
    return 0;
}

static int take_metadata(void *context, const char *key, const struct cJSON *value)
{
    struct seen *seen = context;
    seen->metadata++;
    assert_non_null(value);
    mix(seen, key, strlen(key));
    return 0;
}

static int take_text(void *context, struct json_text event)
{
    struct seen *seen = context;
    struct json_fault fault;
    seen->events++;
    assert_true(json_check(event.at, event.length, &fault));
    mix(seen, event.at, event.length);
    return 0;
}

static int take_metadata_text(void *context, const char *key, struct json_text value)
{
    struct seen *seen = context;
    seen->metadata++;
    mix(seen, key, strlen(key));
    mix(seen, value.at, value.length);
    return 0;
}

static int read_with(unsigned workers, bool texts, struct seen *seen, char message[256])
{
    struct interner strings = {0};
    const struct fields_receiver receiver = {.context = seen, .event = take_event, .metadata = take_metadata};
    const struct json_texts all_texts = {.context = seen, .event = take_text, .metadata = take_metadata_text};
    *seen = (struct seen){.strings = &strings};
    unit_stderr_begin();
    int status =
        texts ? json_read_texts(path, &all_texts, workers) : json_read_fields(path, &strings, &receiver, workers);
    snprintf(message, 256, "%.255s", unit_stderr_end());
    interner_release(&strings);
    seen->strings = NULL;
    return status;
}

static struct seen read_with_threads(bool texts, int expected, char message[256])
{
    static const unsigned workers[] = {1, 2, 7};
    struct seen first;
    assert_int_equal(read_with(workers[0], texts, &first, message), expected);
    for (size_t i = 1; i < sizeof(workers) / sizeof(*workers); i++) {
        struct seen seen;
        char other[256];
        assert_int_equal(read_with(workers[i], texts, &seen, other), expected);
        assert_int_equal(seen.events, first.events);
        assert_int_equal(seen.hash, first.hash);
        assert_int_equal(seen.metadata, first.metadata);
        assert_string_equal(other, message);
    }
    return first;
}

/* Reads the file with some numbers of threads, as events and as their texts; gives what all have seen of the events. */
static struct seen read_alike(int expected, char message[256])
{
    char other[256];
    struct seen events = read_with_threads(false, expected, message);
    struct seen texts = read_with_threads(true, expected, other);
    assert_string_equal(other, message);
    assert_true(texts.events >= events.events); /* flows are among them */
    assert_int_equal(texts.metadata, events.metadata);
    return events;
}

/* --- files --- */

static void put_kernel(struct buffer *text, unsigned i, const char *name)
{
    buffer_format(
        text,
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s_%u\",\"pid\":%s,\"tid\":7,\"ts\":%u.500,\"dur\":%u.250,"
        "\"args\":{\"stream\":7,\"correlation\":%u,\"domain\":\"d%u\"}}",
        name, i % 50, i % 4 ? "0" : "\"Spans\"", 10 * i, i % 9, i, i % 3);
}

static void put_call(struct buffer *text, unsigned i)
{
    buffer_format(text,
                  "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":4242,\"tid\":4242,"
                  "\"ts\":%u.000,\"dur\":1.5,\"args\":{\"correlation\":%u}}",
                  10 * i - 3, i);
}

#define COUNT 30000u /* launches: some ten blocks */

static void put_launches(struct buffer *text, const char *between, const char *name)
{
    for (unsigned i = 1; i <= COUNT; i++) {
        put_call(text, i);
        buffer_text(text, between);
        put_kernel(text, i, name);
        if (i < COUNT)
            buffer_text(text, between);
    }
}

UNIT_TEST(events_of_all_blocks_come_in_order)
{
    static const char *const betweens[] = {",\n", ",", " , \n\t", ",\n{\"ph\":\"s\",\"id\":3,\"ts\":1,\"args\":{}},\n"};
    char message[256];
    for (size_t i = 0; i < sizeof(betweens) / sizeof(*betweens); i++) {
        struct buffer text;
        buffer_init_memory(&text);
        buffer_text(&text, "{\"schemaVersion\": 1, \"list\": [{\"a\": 1}, {\"b\": 2}], \"traceEvents\": [");
        put_launches(&text, betweens[i], "kernel");
        buffer_text(&text, "\n], \"traceName\": \"x\"}\n");
        save(&text);
        struct seen seen = read_alike(0, message);
        assert_string_equal(message, "");
        assert_int_equal(seen.events, 2 * COUNT);
        assert_int_equal(seen.metadata, 3);
        buffer_release(&text);
    }
}

UNIT_TEST(text_that_looks_like_events_is_not_taken_for_them)
{
    char message[256];
    struct buffer text;
    buffer_init_memory(&text);
    buffer_text(&text, "[");
    put_launches(&text, ",", "},{\\\"ph\\\":\\\"X\\\"},{},\\n{a\\\\");
    buffer_text(&text, "]");
    save(&text);
    assert_int_equal(read_alike(0, message).events, 2 * COUNT);
    assert_string_equal(message, "");
    buffer_release(&text);
}

/* What stands in metadata, or within an event, is not in the array of events. */
UNIT_TEST(events_elsewhere_do_not_count)
{
    char message[256];
    struct buffer text;
    buffer_init_memory(&text);
    buffer_text(&text, "{\"other\": [");
    for (unsigned i = 1; i < 6000; i++) {
        put_kernel(&text, i, "inner");
        buffer_text(&text, ",\n");
    }
    buffer_text(&text, "{}], \"traceEvents\": [{\"ph\":\"i\",\"ts\":1,\"args\":{\"list\":[");
    for (unsigned i = 1; i < 6000; i++) {
        put_kernel(&text, i, "inner");
        buffer_text(&text, ",\n");
    }
    buffer_text(&text, "{}]}},");
    put_launches(&text, ",\n", "kernel");
    buffer_text(&text, "]}");
    save(&text);
    assert_int_equal(read_alike(0, message).events, 2 * COUNT + 1);
    assert_string_equal(message, "");
    buffer_release(&text);
}

/* Puts WRONG in the middle of good events. */
static void put_with(const char *wrong)
{
    struct buffer text;
    buffer_init_memory(&text);
    buffer_text(&text, "[\n");
    put_launches(&text, ",\n", "kernel");
    buffer_text(&text, ",\n");
    buffer_text(&text, wrong);
    put_launches(&text, ",\n", "kernel");
    buffer_text(&text, "\n]");
    save(&text);
    buffer_release(&text);
}

UNIT_TEST(what_is_wrong_is_reported_with_its_place)
{
    char message[256], expected[100];
    static const char *const broken[] = {"{\"ph\": oops},\n", "{\"ph\": \"X\", \"name\": \"a \"b\" c\"},\n", "oops,\n"};
    snprintf(expected, sizeof(expected), "line %u (byte ", 2 * COUNT + 2);
    put_with(",\n");
    assert_int_equal(read_alike(0, message).events, 4 * COUNT);
    assert_contains(message, "places that are not JSON are passed over: 1, the first at ");
    assert_contains(message, expected);
    for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
        put_with(broken[i]);
        assert_int_equal(read_alike(0, message).events, 4 * COUNT);
        assert_contains(message, "1 event is left out");
        assert_contains(message, expected);
    }
    put_with("{\"ph\": 7}, 17, {\"ph\":\"X\",\"ts\":1},\n");
    assert_int_equal(read_alike(0, message).events, 4 * COUNT);
    assert_contains(message, "3 events are left out");
    assert_contains(message, expected);
}

/* An object, an event, a text that reach over many blocks. */
UNIT_TEST(large_values_are_read_over_borders)
{
    char message[256];
    struct buffer text;
    buffer_init_memory(&text);
    buffer_text(&text, "[\n");
    for (unsigned round = 0; round < 3; round++) {
        put_launches(&text, ",\n", "kernel");
        buffer_text(&text, ",{\"ph\":\"i\",\"ts\":1,\"name\":\"");
        for (unsigned i = 0; i < 50000; i++)
            buffer_text(&text, "},{\\\"ph\\\":");
        buffer_text(&text, "\"},\n");
    }
    buffer_text(&text, "]");
    save(&text);
    assert_int_equal(read_alike(0, message).events, 6 * COUNT + 3);
    assert_string_equal(message, "");
    buffer_release(&text);
}

UNIT_TEST(a_cut_file_gives_what_is_whole)
{
    char message[256];
    struct buffer text;
    buffer_init_memory(&text);
    buffer_text(&text, "[");
    put_launches(&text, ",\n", "kernel");
    size_t whole = text.length;
    for (size_t cut = 1; cut < 400; cut += 80) {
        text.length = whole - cut * 997;
        save(&text);
        assert_true(read_alike(0, message).events > 0);
        assert_contains(message, "is cut off at byte");
    }
    buffer_release(&text);
}

static void report_with(unsigned workers, struct buffer *out)
{
    const struct report_options options = {.format = REPORT_JSON, .workers = workers};
    const char *const paths[] = {path};
    buffer_init_memory(out);
    assert_int_equal(report_files(&options, paths, 1, out), 0);
}

UNIT_TEST(reports_are_the_same)
{
    struct buffer text, one, other;
    buffer_init_memory(&text);
    buffer_text(&text, "[");
    put_launches(&text, ",\n", "kernel");
    buffer_text(&text, "]");
    save(&text);
    report_with(1, &one);
    for (unsigned workers = 2; workers <= 7; workers += 5) {
        report_with(workers, &other);
        assert_int_equal(one.length, other.length);
        assert_memory_equal(one.data, other.data, one.length);
        buffer_release(&other);
    }
    buffer_release(&one);
    buffer_release(&text);
}

UNIT_TEST(gzip_that_threads_unpack_is_the_same)
{
    char message[256];
    struct buffer text, packed;
    struct gzip *gzip = gzip_new(GZIP_MEMBERS);
    buffer_init_memory(&text);
    buffer_init_memory(&packed);
    buffer_text(&text, "[");
    put_launches(&text, ",\n", "kernel");
    buffer_text(&text, "]");
    assert_int_equal(gzip_members(gzip, &packed, text.data, text.length), 0);
    assert_true(packed.length > 128 * 1024); /* smaller ones are not worth threads */
    save(&text);
    struct seen plain = read_alike(0, message);
    save(&packed);
    struct seen seen = read_alike(0, message);
    assert_string_equal(message, "");
    assert_int_equal(seen.events, 2 * COUNT);
    assert_int_equal(seen.hash, plain.hash);
    packed.data[packed.length - 1000] ^= 0x55;
    save(&packed);
    read_alike(-1, message);
    assert_contains(message, "is damaged or cut off");
    packed.length -= 1001;
    save(&packed);
    assert_true(read_alike(0, message).events > COUNT);
    assert_contains(message, "is cut off at byte");
    buffer_release(&packed);
    buffer_release(&text);
    gzip_free(gzip);
}

UNIT_MAIN(begin_folder, end_folder)
