/*
 * A .pftrace tells the report the same however many threads read it, whether it has sections or not, compressed or not,
 * and as much of it as is there.
 */
#include "tests/trace/pftrace/pftrace_file.h"
#include "tests/unit.h"

#include "common/map.h"
#include "common/buffer.h"
#include "trace/pftrace/reader.h"
#include "trace/gzip/gzip.h"
#include "trace/pftrace/packets.h"
#include "trace/fields_receiver.h"
#include "trace/sink.h"

#define BASE UINT64_C(1700000000000000000)

static struct buffer file;
static char path[] = "/tmp/report_pftrace_test.XXXXXX";

/* What was read, in its order. */
struct seen {
    struct interner strings;
    size_t events, metadata;
    uint64_t hash;
    size_t stop_at; /* 0: never */
};

static int take_event(void *context, struct event_fields *event)
{
    struct seen *seen = context;
    const char *name = interned(&seen->strings, event->name);
    uint64_t facts[] = {seen->hash,
                        (uint64_t)event->phase,
                        event->category,
                        hash_bytes(name, strlen(name)),
                        event->process,
                        event->thread,
                        (uint64_t)event->start,
                        (uint64_t)event->duration,
                        (uint64_t)event->correlation,
                        (uint64_t)event_gpu(event)->stream,
                        (uint64_t)event_kernel(event)->grid[2],
                        (uint64_t)event->bytes};
    seen->hash = hash_bytes(facts, sizeof(facts));
    return ++seen->events == seen->stop_at ? -1 : 0;
}

static int take_metadata(void *context, const char *key, const struct cJSON *value)
{
    struct seen *seen = context;
    assert_string_equal(key, "schemaVersion");
    assert_non_null(value);
    seen->metadata++;
    return 0;
}

static int read_file(struct seen *seen, unsigned workers)
{
    struct fields_receiver receiver = {.context = seen, .event = take_event, .metadata = take_metadata};
    *seen = (struct seen){.stop_at = seen->stop_at};
    struct sink *sink = fields_sink_new(&seen->strings, &receiver);
    int status = pftrace_read(path, sink, workers);
    fields_sink_free(sink);
    interner_release(&seen->strings);
    return status;
}

static void put_file(size_t length)
{
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(file.data, 1, length, stream), length);
    assert_int_equal(fclose(stream), 0);
}

static void add_number(struct args *args, enum arg_key key, uint64_t number)
{
    args_add(args, key, ARG_TYPE_U64)->u64 = number;
}

static void write_call(struct sink *sink, uint32_t i)
{
    char name[32];
    struct args args = {0};
    add_number(&args, ARG_CORRELATION, i);
    struct slice slice = {.category = CATEGORY_CUDA_RUNTIME,
                          .name = name_passing(name, (size_t)sprintf(name, "call %u", i % 50)),
                          .row = {42, 42 + i % 3},
                          .start = BASE + 100 * (uint64_t)i,
                          .end = BASE + 100 * (uint64_t)i + 10,
                          .args = &args};
    sink->format->slice(sink, &slice);
    sink->format->flow(sink, &(struct flow){.id = i, .row = slice.row, .time = slice.start});
}

static void write_kernel(struct sink *sink, uint32_t i)
{
    char name[32];
    struct args args = {0};
    add_number(&args, ARG_STREAM, i % 4);
    add_number(&args, ARG_CORRELATION, i);
    int32_t grid[3] = {1, 1, (int32_t)(i % 5)};
    args_size3(&args, ARG_GRID, grid);
    struct slice slice = {.category = CATEGORY_KERNEL,
                          .name = name_passing(name, (size_t)sprintf(name, "kernel %u", i % 70)),
                          .row = {TRACKS_GPU_PID, i % 4},
                          .start = BASE + 100 * (uint64_t)i + 50,
                          .end = BASE + 100 * (uint64_t)i + 90,
                          .args = &args};
    sink->format->slice(sink, &slice);
    sink->format->flow(sink, &(struct flow){.id = i, .ends = true, .row = slice.row, .time = slice.start});
}

static void compress(void)
{
    struct gzip *gzip = gzip_new(GZIP_STREAMS);
    struct buffer packed;
    size_t done;
    buffer_init_memory(&packed);
    assert_int_equal(pftrace_compress(gzip, &packed, file.data, file.length, true, &done), 0);
    buffer_release(&file);
    file = packed;
    gzip_free(gzip);
}

static void write_trace(uint32_t launches)
{
    struct sink sink;
    sink_init(&sink, &pftrace, &file);
    sink.format->metadata(&sink, "schemaVersion", "1", 1);
    sink.format->begin(&sink, BASE);
    for (uint32_t i = 1; i <= launches; i++) {
        write_call(&sink, i);
        write_kernel(&sink, i);
        if (i % 1000 == 0) {
            struct counter counter = {.name = name_passing("bytes", 5), .pid = 42, .time = BASE + i, .bytes = i};
            sink.format->counter(&sink, &counter);
        }
    }
    sink.format->finish(&sink);
    sink_release(&sink);
    assert_int_equal(file.failure, 0);
}

UNIT_FIXTURE(set_up)
{
    strcpy(path + strlen(path) - 6, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    buffer_init_memory(&file);
    return 0;
}

UNIT_FIXTURE(tear_down)
{
    unlink(path);
    buffer_release(&file);
    return 0;
}

static void remove_sections(void)
{
    static const char section[] = "\n\4\xb8\xeb\4\1";
    size_t left = 0, size = sizeof(section) - 1;
    for (size_t at = 0; at < file.length;) {
        if (file.length - at >= size && memcmp(file.data + at, section, size) == 0)
            at += size;
        else
            file.data[left++] = file.data[at++];
    }
    file.length = left;
}

static void same_by_all(struct seen *one)
{
    put_file(file.length);
    assert_int_equal(read_file(one, 1), 0);
    for (unsigned workers = 2; workers <= 8; workers += 3) {
        struct seen several = {0};
        assert_int_equal(read_file(&several, workers), 0);
        assert_int_equal(several.events, one->events);
        assert_int_equal(several.metadata, one->metadata);
        assert_true(several.hash == one->hash);
    }
}

UNIT_TEST_WITH(test_all_numbers_of_threads_tell_the_same, set_up, tear_down)
{
    struct seen with = {0}, without = {0}, compressed = {0};
    write_trace(60000);
    same_by_all(&with);
    assert_int_equal(with.events, 2 * 60000 + 60);
    assert_int_equal(with.metadata, 1);
    remove_sections(); /* sequences are cleared where sections began */
    same_by_all(&without);
    assert_int_equal(without.events, with.events);
    assert_true(without.hash == with.hash);
    file.length = 0;
    write_trace(60000);
    compress();
    same_by_all(&compressed);
    assert_true(compressed.events == with.events && compressed.metadata == 1);
    assert_true(compressed.hash == with.hash);
}

UNIT_TEST_WITH(test_who_takes_may_stop, set_up, tear_down)
{
    struct seen seen = {.stop_at = 70001};
    write_trace(60000);
    put_file(file.length);
    for (unsigned workers = 1; workers <= 4; workers++) {
        assert_int_equal(read_file(&seen, workers), -1);
        assert_int_equal(seen.events, 70001);
    }
}

UNIT_TEST_WITH(test_a_file_may_be_cut_anywhere, set_up, tear_down)
{
    size_t most = 0;
    write_trace(5);
    size_t first = 2 + (size_t)file.data[1]; /* a packet's tag, its length of one byte, and what it holds */
    for (size_t length = 1; length <= file.length; length++) {
        struct seen seen = {0};
        put_file(length);
        unit_stderr_begin();
        int status = read_file(&seen, 2);
        unit_stderr_end();
        assert_int_equal(status, length < first ? -1 : 0);
        assert_true(seen.events >= most);
        most = seen.events;
    }
    assert_int_equal(most, 10);
}

UNIT_TEST_WITH(test_what_is_broken_is_reported_after_what_is_before_it, set_up, tear_down)
{
    struct seen seen = {0};
    write_trace(20000);
    size_t whole = file.length;
    buffer_text(&file, "no packet");
    put_file(file.length);
    for (unsigned workers = 1; workers <= 4; workers += 3) {
        char words[64];
        unit_stderr_begin();
        int status = read_file(&seen, workers);
        sprintf(words, "no packet begins at byte %zu", whole);
        assert_non_null(strstr(unit_stderr_end(), words));
        assert_int_equal(status, -1);
        assert_int_equal(seen.events, 2 * 20000 + 20);
    }
}

UNIT_TEST_WITH(test_a_damaged_compressed_packet_is_reported_after_what_is_before_it, set_up, tear_down)
{
    struct seen seen = {0};
    write_trace(20000);
    compress();
    size_t whole = file.length;
    buffer_text(&file, "\n\x09\xb8\xeb\4\1\x92\3\2no"); /* not a zlib stream */
    put_file(file.length);
    for (unsigned workers = 1; workers <= 4; workers += 3) {
        char words[128];
        unit_stderr_begin();
        int status = read_file(&seen, workers);
        sprintf(words, "is damaged: the compressed packet at byte %zu cannot be unpacked", whole);
        assert_contains(unit_stderr_end(), words);
        assert_int_equal(status, -1);
        assert_int_equal(seen.events, 2 * 20000 + 20);
    }
}

/* From one .pftrace to another no argument becomes text on its way. */
UNIT_TEST_WITH(test_arguments_keep_their_types, set_up, tear_down)
{
    struct sink sink;
    struct args args = {0};
    args_add(&args, ARG_ADDRESS, ARG_TYPE_HEX)->u64 = 0x7f00;
    args_i64(&args, ARG_RETURN_VALUE, 5);
    struct arg *other = args_add(&args, ARG_OTHER, ARG_TYPE_REAL);
    other->real = 2;
    other->other = "other";
    other->other_length = 5;
    struct slice slice = {.category = CATEGORY_CUDA_RUNTIME,
                          .name = name_passing("call", 4),
                          .row = {42, 42},
                          .start = BASE,
                          .end = BASE + 10,
                          .args = &args};
    sink_init(&sink, &pftrace, &file);
    sink.format->begin(&sink, BASE);
    sink.format->slice(&sink, &slice);
    sink.format->finish(&sink);
    sink_release(&sink);
    put_file(file.length);
    file.length = 0;
    sink_init(&sink, &pftrace, &file);
    assert_int_equal(pftrace_read(path, &sink, 1), 0);
    sink_release(&sink);
    put_file(file.length);

    struct interner strings = {0};
    struct pftrace_file reading;
    const struct pftrace_event *event;
    assert_true(pftrace_file_open(&reading, path, &strings));
    do
        assert_int_equal(pftrace_file_next(&reading, &event), 1);
    while (event->what != PFTRACE_SLICE);
    assert_int_equal(event->arg_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(event->args[i].key, args.items[i].key);
        assert_int_equal(event->args[i].type, args.items[i].type);
        assert_int_equal(event->args[i].u64, args.items[i].u64);
    }
    assert_string_equal(event->args[2].other, "other");
    pftrace_file_close(&reading);
    interner_release(&strings);
}

UNIT_MAIN(NULL, NULL)
