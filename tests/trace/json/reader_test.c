#include "tests/analysis/trace_file.h"

#include <zlib.h>

#include "common/map.h"
#include "trace/fields_receiver.h"
#include "trace/json/reader.h"

struct seen {
    size_t events, metadata;
    int64_t duration;
    char keys[256];
};

static int take_event(void *context, struct event_fields *event)
{
    struct seen *seen = context;
    seen->events++;
    seen->duration += event->duration;
    return 0;
}

static int take_metadata(void *context, const char *key, const struct cJSON *value)
{
    struct seen *seen = context;
    assert_non_null(value);
    seen->metadata++;
    if (strlen(seen->keys) + strlen(key) + 2 < sizeof(seen->keys))
        strcat(strcat(seen->keys, key), " ");
    return 0;
}

static int read_path(const char *name, struct seen *seen)
{
    struct interner strings = {0};
    struct fields_receiver receiver = {.context = seen, .event = take_event, .metadata = take_metadata};
    *seen = (struct seen){0};
    int status = json_read_fields(name, &strings, &receiver, 0);
    interner_release(&strings);
    return status;
}

/* Reads TEXT as a file; what is printed goes to MESSAGE. */
static int read_text(const char *text, size_t size, struct seen *seen, const char **message)
{
    save_bytes(text, size);
    unit_stderr_begin();
    int status = read_path(path, seen);
    *message = unit_stderr_end();
    return status;
}

#define EVENT(duration) \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"a}]{[\\\"\\u0041\", \"ts\": 1.000, \"dur\": " duration "}"

static const char object[] = "{\n  \"schemaVersion\": 1, \"s\": \"}\", \"list\": [{}, []],\n"
                             "  \"traceEvents\": [\n" EVENT("1.5") ",\n" EVENT("2") "\n],\n\"traceName\": \"x\"}\n";
static const char array[] = "[" EVENT("1.5") "," EVENT("2") "\n]\n";

UNIT_TEST(both_forms_are_read)
{
    struct seen seen;
    const char *message;
    assert_int_equal(read_text(object, strlen(object), &seen, &message), 0);
    assert_int_equal(seen.events, 2);
    assert_int_equal(seen.duration, 3500);
    assert_string_equal(seen.keys, "schemaVersion s list traceName ");
    assert_string_equal(message, "");
    assert_int_equal(read_text(array, strlen(array), &seen, &message), 0);
    assert_int_equal(seen.duration, 3500);
    assert_string_equal(message, "");
}

UNIT_TEST(empty_traces_and_a_byte_order_mark_are_fine)
{
    const char *const texts[] = {"[]", "{\"traceEvents\":[]}", " \n[\n]\n", "\xef\xbb\xbf[]", "[{\"ph\":\"M\"},]"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct seen seen;
        const char *message;
        assert_int_equal(read_text(texts[i], strlen(texts[i]), &seen, &message), 0);
        assert_string_equal(message, "");
    }
}

/* An array may end anywhere; every event that is whole is read, and the missing part is reported. */
UNIT_TEST(an_array_cut_anywhere_gives_its_whole_events)
{
    const size_t first = 1 + strlen(EVENT("1.5")), second = first + 1 + strlen(EVENT("2"));
    for (size_t size = 1; size < strlen(array); size++) {
        struct seen seen;
        const char *message;
        assert_int_equal(read_text(array, size, &seen, &message), 0);
        assert_int_equal(seen.events, (size >= first) + (size >= second));
        if (size < strlen(array) - 1)
            assert_contains(message, "cut off");
    }
}

/* An object that is cut before its first event is whole is an error that says where and what is missing. Later it gives
 * its whole events. */
UNIT_TEST(an_object_cut_anywhere_gives_its_whole_events_or_an_error)
{
    const size_t first = (size_t)(strstr(object, ",\n{") - object),
                 second = (size_t)(strstr(object, "\n],\n") - object);
    for (size_t size = 0; size < strlen(object) - 1; size++) {
        struct seen seen;
        const char *message;
        char place[64];
        assert_int_equal(read_text(object, size, &seen, &message), size < first ? -1 : 0);
        assert_int_equal(seen.events, (size >= first) + (size >= second));
        snprintf(place, sizeof(place),
                 size < first ? "(byte %zu): the file ends here: expected " : "is cut off at byte %zu", size);
        assert_contains(message, path);
        assert_contains(message, place);
    }
}

UNIT_TEST(errors_name_file_place_and_what_was_expected)
{
    static const struct {
        const char *text, *place, *expected;
    } wrong[] = {
        {"", "line 1 (byte 0)", "trace-event format"},
        {"hello", "line 1 (byte 0)", "trace-event format"},
        {"\x7f"
         "ELF",
         "line 1 (byte 0): found byte 0x7f", "trace-event format"},
        {"{\n 5", "line 2 (byte 3)", "a key in quotes"},
        {"{\"a\" 5", "(byte 5)", "':' after a key"},
        {"{\"a\": }", "(byte 6)", "a value of the trace's metadata"},
        {"{\"a\": 1 \"b\"", "(byte 8)", "',' or '}'"},
        {"{\"traceEvents\": {}", "(byte 16)", "'[' after \"traceEvents\""},
        {"{\"traceEvents\": [{\"ph\": \"M\"} {", "(byte 29)", "',' or ']' after an event"},
        {"[\n\n{\"ph\" \"M\"}]", "1 event is left out, the first at line 3 (byte 9)", "':' after a key"},
        {"[7]", "1 event is left out, the first at line 1 (byte 1): found 7", "an object"},
        {"[,]", "(byte 1)", "an event or ']'"},
        {"[}]", "(byte 1)", "an event or ']'"},
        {"[] x", "(byte 3)", "nothing after the trace"},
        {"{\"a\": [1, 2]}", "not a trace", "the key \"traceEvents\""},
        {"{\"a\": nope, ", "(byte 6)", "a value of the trace's metadata"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        struct seen seen;
        const char *message;
        assert_int_equal(read_text(wrong[i].text, strlen(wrong[i].text), &seen, &message), -1);
        assert_contains(message, path);
        assert_contains(message, wrong[i].place);
        assert_contains(message, wrong[i].expected);
    }
}

UNIT_TEST(elements_that_are_no_events_are_left_out_with_one_warning)
{
    static const char text[] = "[\n1, {\"ph\": \"M\"}, null, \"x\", [],\n{}, " EVENT("3") "]";
    struct seen seen;
    const char *message;
    assert_int_equal(read_text(text, strlen(text), &seen, &message), 0);
    assert_int_equal(seen.events, 2);
    assert_contains(message, "4 events are left out, the first at line 2 (byte 2): found 1: expected an object");
}

UNIT_TEST(the_warning_has_the_reason_that_most_events_have)
{
    static const char text[] = "[{},\n7,\n{\"ph\":\"X\",\"name\":\"a\",\"ts\":\"x\",\"dur\":1},\n" EVENT(
        "3") ",\n{\"ph\":\"X\",\"name\":\"b\",\"dur\":1}]";
    struct seen seen;
    const char *message;
    assert_int_equal(read_text(text, strlen(text), &seen, &message), 0);
    assert_int_equal(seen.events, 1);
    assert_contains(message,
                    "3 events are left out, 2 of them for one reason, the first at line 3 (byte 34): \"ts\" is \"x\": "
                    "expected a number of microseconds");
    static const char two[] = "[7,\n{\"ph\":\"X\",\"name\":\"a\",\"ts\":\"x\",\"dur\":1},\n" EVENT("3") "]";
    assert_int_equal(read_text(two, strlen(two), &seen, &message), 0);
    assert_contains(message, "2 events are left out, each for another reason, the first at line 1");
}

/* One event that is broken, and where: the others are read. */
UNIT_TEST(a_broken_event_is_left_out_and_the_rest_is_read)
{
    enum { NOT_CLOSED = 4 }; /* of which the error is in the next line */
    static const struct {
        const char *broken, *message;
    } cases[] = {
        {"{\"ph\":\"X\",\"name\":\"say \"x\"\",\"ts\":1,\"dur\":1}", "found x\"\",\"ts\":1,\"dur\":1}"},
        {"{\"ph\":\"X\",\"name\":\"{\"a\": [{\"b\": 1}, {\"c\": 2}]}\",\"ts\":1,\"dur\":1}", "found a\": [{"},
        {"{\"ph\":\"X\",\"name\":\"a\\b\\c\",\"ts\":1,\"dur\":1}", "found \\c\",\"ts\":1,\"dur\":1}"},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"x\":inf,\"l\":[{\"ph\":\"no\"}]}}", "found inf,"},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"args\":{\"x\":1}", "behind the key \"x\": expected"},
        {"{\"ph\":\"X\",\"name\":\"a,\"ts\":1,\"dur\":1}", "found ts\":1"},
        {"{\"ph\":\"X\",\"name\":\"a\",\"ts\":01,\"dur\":1}", "found 1,"},
        {"{\"ph\":\"X\",\"name\":\"a\" \"ts\":1,\"dur\":1}", "expected ',' or '}'"},
        {"nope", "found nope"},
    };
    static const char *const forms[] = {"{\"traceEvents\": [\n%s,\n%s,\n%s\n], \"a\": [1, {\"b\": []}]}",
                                        "[\n%s,\n%s,\n%s\n]\n"};
    for (size_t i = 0; i < 3 * 2 * sizeof(cases) / sizeof(*cases); i++) {
        const char *broken = cases[i / 6].broken, *events[] = {EVENT("1"), EVENT("2"), EVENT("4")};
        char text[1024], place[64];
        struct seen seen;
        const char *message;
        events[i % 3] = broken;
        snprintf(text, sizeof(text), forms[i / 3 % 2], events[0], events[1], events[2]);
        assert_int_equal(read_text(text, strlen(text), &seen, &message), 0);
        assert_int_equal(seen.events, 2);
        assert_int_equal(seen.duration, 7000 - (1000 << i % 3));
        assert_string_equal(seen.keys, i / 3 % 2 ? "" : "a ");
        snprintf(place, sizeof(place), "1 event is left out, at line %zu (byte ", 2 + i % 3 + (i / 6 == NOT_CLOSED));
        assert_contains(message, place);
        assert_contains(message, cases[i / 6].message);
    }
}

UNIT_TEST(many_broken_events_in_a_row_are_counted)
{
    enum { MANY = 20000 };
    static const char broken[] = "{\"ph\":\"X\",\"name\":\"a \"b\" c\",\"ts\":1,\"dur\":1,\"args\":{\"x\": 1}},\n";
    char *text = malloc(MANY * strlen(broken) + 256), *at = text;
    struct seen seen;
    const char *message;
    at += sprintf(at, "[%s,\n", EVENT("1"));
    for (int i = 0; i < MANY; i++)
        at = stpcpy(at, broken);
    at += sprintf(at, "%s]", EVENT("2"));
    assert_int_equal(read_text(text, (size_t)(at - text), &seen, &message), 0);
    assert_int_equal(seen.duration, 3000);
    assert_contains(message, "20000 events are left out, the first at line 2 (byte ");
    free(text);
}

UNIT_TEST(halves_of_surrogate_pairs_are_read_and_counted)
{
    static const char text[] = "[{\"ph\":\"X\",\"name\":\"a\\ud800b\\udfff\",\"ts\":1,\"dur\":1}]";
    struct seen seen;
    const char *message;
    assert_int_equal(read_text(text, strlen(text), &seen, &message), 0);
    assert_int_equal(seen.events, 1);
    assert_contains(message, "lone surrogates in texts are read as U+FFFD: 2, the first at line 1 (byte 1)");
}

UNIT_TEST(flows_are_passed_over)
{
    static const char text[] = "[{\"ph\":\"s\",\"id\":1,\"ts\":1},{\"ph\" : \"f\",\"id\":1,\"ts\":1}," EVENT("1") "]";
    struct seen seen;
    const char *message;
    assert_int_equal(read_text(text, strlen(text), &seen, &message), 0);
    assert_int_equal(seen.events, 1);
    assert_string_equal(message, "");
}

UNIT_TEST(gzip_of_several_members_is_read)
{
    struct seen seen;
    for (size_t split = 1; split < strlen(object); split += 37) {
        unlink(path);
        const char *const parts[] = {object, object + split};
        const size_t sizes[] = {split, strlen(object) - split};
        for (int i = 0; i < 2; i++) {
            gzFile file = gzopen(path, "ab");
            assert_non_null(file);
            assert_int_equal(gzwrite(file, parts[i], (unsigned)sizes[i]), (int)sizes[i]);
            assert_int_equal(gzclose(file), Z_OK);
        }
        assert_int_equal(read_path(path, &seen), 0);
        assert_int_equal(seen.duration, 3500);
    }
}

/* A .gz that is cut gives what can be unpacked of it, or an error where that is no event. */
UNIT_TEST(gzip_cut_anywhere_gives_its_whole_events_or_an_error)
{
    static char text[40000], bytes[40000];
    char *at = text + sprintf(text, "{\"traceEvents\": [%s", EVENT("1"));
    for (unsigned i = 0, value = 7; i < 250; i++) { /* which does not pack well */
        at += sprintf(at, ",\n{\"ph\":\"X\",\"name\":\"k%08x\",\"ts\":1,\"dur\":1}", value);
        value = value * 1664525 + 1013904223;
    }
    strcpy(at, "]}");
    gzFile file = gzopen(path, "wb");
    assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), (int)strlen(text));
    assert_int_equal(gzclose(file), Z_OK);
    int fd = open(path, O_RDONLY);
    ssize_t size = read(fd, bytes, sizeof(bytes));
    close(fd);
    size_t most = 0;
    for (ssize_t cut = 3; cut < size; cut += 7) {
        struct seen seen;
        const char *message;
        int status = read_text(bytes, (size_t)cut, &seen, &message);
        assert_int_equal(status, seen.events > 0 ? 0 : -1);
        assert_contains(message, seen.events > 0 ? "is cut off at byte" : path);
        assert_true(seen.events >= most);
        most = seen.events;
    }
    assert_int_equal(most, 251);
}

UNIT_TEST(what_cannot_be_opened_is_reported)
{
    struct seen seen;
    char missing[400];
    snprintf(missing, sizeof(missing), "%s/missing", folder);
    unit_stderr_begin();
    int absent = read_path(missing, &seen), directory = read_path(folder, &seen);
    const char *message = unit_stderr_end();
    assert_int_equal(absent, -1);
    assert_int_equal(directory, -1);
    assert_contains(message, "missing': No such file");
    assert_contains(message, "is a directory");
}

/* A file of one long something: SIZE bytes of FILL after HEAD. */
static int read_long(const char *head, char fill, size_t size, const char *tail, const char **message)
{
    struct seen seen;
    char *text = malloc(strlen(head) + size + strlen(tail) + 1);
    assert_non_null(text);
    strcpy(text, head);
    memset(text + strlen(head), fill, size);
    strcpy(text + strlen(head) + size, tail);
    int status = read_text(text, strlen(head) + size + strlen(tail), &seen, message);
    free(text);
    return status;
}

#define MIB ((size_t)1024 * 1024)

UNIT_TEST(a_large_event_is_read_and_a_huge_one_refused)
{
    const char *message;
    assert_int_equal(read_long("[{\"ph\":\"M\",\"name\":\"", 'x', 5 * MIB, "\"}]", &message), 0);
    assert_string_equal(message, "");
    assert_int_equal(read_long("[\n{\"ph\":\"M\",\"name\":\"", 'x', 40 * MIB, "\"}]", &message), -1);
    assert_contains(message, "line 2 (byte 2): a value of more than 16 MiB");
    assert_int_equal(read_long("[", ' ', 40 * MIB, "]", &message), 0);
}

UNIT_TEST(huge_nesting_is_refused)
{
    const char *message;
    assert_int_equal(read_long("[{\"ph\":\"M\",\"a\":", '[', 8 * MIB, "", &message), 0); /* cut off */
    assert_int_equal(read_long("[", '[', 40 * MIB, "", &message), -1);
    char nested[4096] = "[{\"ph\":\"M\",\"a\":";
    size_t length = strlen(nested);
    memset(nested + length, '[', 1500);
    memset(nested + length + 1500, ']', 1500);
    strcpy(nested + length + 3000, "}]");
    struct seen seen;
    assert_int_equal(read_text(nested, strlen(nested), &seen, &message), -1);
    assert_contains(message, "not JSON");
}

/* Whatever a file holds: it is read or refused, and memory stays whole (run under sanitizers). */
UNIT_TEST(random_changes_do_no_harm)
{
    static const char bytes[] = "{}[]\",:\\0159.-eEtrufnl \n\t\x80\xff";
    unsigned seed = 20;
    for (int round = 0; round < 6000; round++) {
        char text[sizeof(object)];
        memcpy(text, round % 2 ? object : array, round % 2 ? sizeof(object) : sizeof(array));
        size_t size = strlen(text);
        for (int change = 0; change <= round % 5; change++) {
            seed = seed * 1664525 + 1013904223;
            text[(seed >> 8) % size] = bytes[(seed >> 20) % sizeof(bytes)];
        }
        struct seen seen;
        const char *message;
        int status = read_text(text, size, &seen, &message);
        assert_true(status == 0 || strstr(message, path));
        assert_true(seen.events <= 3);
    }
}

UNIT_MAIN(begin_folder, end_folder)
