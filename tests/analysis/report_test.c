#include "tests/unit.h"

#include <fcntl.h>

#include "common/buffer.h"
#include "analysis/report.h"

/* Tests run at the top of the project. */
#define SMALL "tests/data/report/small.json"
#define COMPILATION "tests/data/report/compilation.json"
#define MEMORY "tests/data/report/memory.json"
#define ERRORS "tests/data/report/errors.json"
#define PYTORCH "tests/data/report/pytorch-memory.json"

static const char *folder;
static char path[300];

/* What the tests change. */
struct sample {
    char bytes[32 * 1024];
    size_t size;
};
static struct sample small, compilation, memory, pytorch, errors;
static const struct sample *const samples[] = {&small, &compilation, &memory, &pytorch, &errors};
#define SAMPLES (sizeof(samples) / sizeof(*samples))

static void read_sample(const char *name, struct sample *sample)
{
    int fd = open(name, O_RDONLY);
    ssize_t size = fd < 0 ? -1 : read(fd, sample->bytes, sizeof(sample->bytes));
    assert_true(size > 0 && (size_t)size < sizeof(sample->bytes));
    sample->size = (size_t)size;
    close(fd);
}

UNIT_FIXTURE(begin)
{
    folder = unit_directory();
    snprintf(path, sizeof(path), "%s/trace.json", folder);
    read_sample(SMALL, &small);
    read_sample(COMPILATION, &compilation);
    read_sample(MEMORY, &memory);
    read_sample(PYTORCH, &pytorch);
    read_sample(ERRORS, &errors);
    return 0;
}

UNIT_FIXTURE(end)
{
    unit_remove(folder);
    return 0;
}

/* The report of SIZE bytes, and its length; what is printed is passed over unless it is an error without the file's
 * name. */
static int report_bytes(const char *bytes, size_t size, const struct report_options *options, size_t *length)
{
    const char *const paths[] = {path};
    struct buffer out;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
    buffer_init_memory(&out);
    unit_stderr_begin();
    int status = report_files(options, paths, 1, &out);
    const char *message = unit_stderr_end();
    *length = out.length;
    buffer_release(&out);
    if (status < 0)
        assert_contains(message, path);
    return status;
}

UNIT_TEST(every_format_reports_the_small_trace)
{
    for (int format = REPORT_TABLE; format <= REPORT_MARKDOWN; format++) {
        struct report_options options = {.format = (enum report_format)format};
        size_t length;
        assert_int_equal(report_bytes(small.bytes, small.size, &options, &length), 0);
        assert_true(length > 3000);
    }
}

/* One that is cut off before its first event has ended is refused. Any longer one is read to its end. */
UNIT_TEST(a_trace_cut_anywhere_is_read_from_its_first_event_on)
{
    struct report_options options = {0};
    size_t refused = 0, read = 0;
    for (size_t size = 0; size < small.size - 3; size += 7) {
        size_t length;
        int status = report_bytes(small.bytes, size, &options, &length);
        assert_int_equal(status, read > 0 ? 0 : status);
        assert_true(status == 0 ? length > 0 : length == 0);
        refused += status != 0;
        read += status == 0;
    }
    assert_true(refused > 0 && read > refused);
}

/* Values of other types and sizes in the place of numbers and texts; run under sanitizers. */
static void report_strange_values(struct report_options *options, int rounds)
{
    static const char *const values[] = {"-1",
                                         "1e999",
                                         "-4611686018427387",
                                         "4611686018427387",
                                         "-1e999",
                                         "9223372036854775807",
                                         "1e18",
                                         "null",
                                         "{}",
                                         "[]",
                                         "\"\"",
                                         "true",
                                         "0.0000001",
                                         "\"x\"",
                                         "1e-999",
                                         "4294967295",
                                         "\"\\u0000\"",
                                         "\"\\ud800\""};
    unsigned seed = 3;
    for (int round = 0; round < rounds; round++) {
        const struct sample *sample = samples[(size_t)round % SAMPLES];
        char text[sizeof(sample->bytes) + 64];
        seed = seed * 1664525 + 1013904223;
        /* from after some ':' to the next ',' or '}' */
        size_t at = (seed >> 8) % sample->size;
        const char *colon = memchr(sample->bytes + at, ':', sample->size - at);
        if (!colon)
            continue;
        size_t start = (size_t)(colon - sample->bytes) + 1, rest = start + strcspn(sample->bytes + start, ",}]\n");
        const char *value = values[(seed >> 24) % (sizeof(values) / sizeof(*values))];
        size_t size = (size_t)snprintf(text, sizeof(text), "%.*s%s%.*s", (int)start, sample->bytes, value,
                                       (int)(sample->size - rest), sample->bytes + rest);
        size_t length;
        options->format = (enum report_format)(round / 4 % 4);
        options->has_snapshot = round / 16 % 2;
        options->names = round % 3 ? REPORT_NAMES_SHORT : REPORT_NAMES_PRETTY;
        options->width = (size_t)(round % 7) * 20;
        options->colour = options->bars = options->ascii = round % 2;
        options->columns = round % 11 ? NULL : round % 2 ? "all" : "name,total";
        report_bytes(text, size, options, &length);
    }
}

UNIT_TEST(strange_values_do_no_harm)
{
    struct report_options options = {.by_grid = true, .by_shape = true, .snapshot = 450000};
    report_strange_values(&options, 2000);
}

UNIT_TEST(strange_values_do_no_harm_to_filters)
{
    const struct filter_options filters[] = {
        {.from = {.text = "25%", .is_share = true, .percent = 25}, .to = {.text = "300us", .ns = 300000}},
        {.range = "step", .kernel = "add|scan"},
        {.range = "step/1", .to = {.text = "60%", .is_share = true, .percent = 60}},
        {.step = {true, 1}, .gpu = {true, 0}},
        {.process = {true, 100}, .thread = {true, 100}},
    };
    for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
        struct report_options options = {.filter = filters[i], .snapshot = 450000, .workers = 1};
        report_strange_values(&options, 150);
    }
}

UNIT_TEST(random_bytes_do_no_harm)
{
    unsigned seed = 5;
    for (int round = 0; round < 2000; round++) {
        const struct sample *sample = samples[(size_t)round % SAMPLES];
        char text[sizeof(sample->bytes)];
        struct report_options options = {.format = (enum report_format)(round / 4 % 4), .top = (size_t)round % 3};
        memcpy(text, sample->bytes, sample->size);
        for (int change = 0; change <= round % 4; change++) {
            seed = seed * 1664525 + 1013904223;
            text[(seed >> 8) % sample->size] = (char)(seed >> 24);
        }
        size_t length;
        report_bytes(text, sample->size, &options, &length);
    }
}

UNIT_TEST(several_traces_are_reported_on_their_own)
{
    const char *const paths[] = {SMALL, SMALL};
    struct report_options options = {.format = REPORT_JSON, .sections = 1u << REPORT_KERNELS};
    struct buffer once, twice;
    buffer_init_memory(&once);
    buffer_init_memory(&twice);
    assert_int_equal(report_files(&options, paths, 1, &once), 0);
    assert_int_equal(report_files(&options, paths, 2, &twice), 0);
    assert_true(twice.length > 2 * once.length);
    buffer_release(&once);
    buffer_release(&twice);
}

/* A trace of several threads, with more of everything than is done without threads: calls come thread by thread, GPU
 * operations neither by correlation id nor by start, and there are ranges, waits, allocations and counters. */
static void write_large_trace(struct buffer *trace)
{
    enum { THREADS = 3, CALLS = 8000 };
    buffer_text(trace, "{\"traceEvents\":[");
    for (int thread = 0; thread < THREADS; thread++)
        for (int i = 0; i < CALLS; i++) {
            int id = i * THREADS + thread + 1, at = 10 * id;
            buffer_format(trace,
                          "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"%s\",\"pid\":1,\"tid\":%d,\"ts\":%d,",
                          i % 10 ? "cudaLaunchKernel" : "cudaStreamSynchronize", thread + 1, at);
            buffer_format(trace, "\"dur\":%d.125,\"args\":{\"correlation\":%d}},", 1 + i % 7, id);
            buffer_format(trace, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"work %d\",\"pid\":0,\"tid\":%d,\"ts\":%d,",
                          i % 10 ? "kernel" : "cuda_sync", i * 13 % 400, thread + 7, at + 500 * (id % 5));
            buffer_format(trace, "\"dur\":%d,\"args\":{\"device\":0,\"context\":1,\"stream\":%d,\"correlation\":%d}},",
                          3 + i % 11, thread + 7, id);
            if (i % 50 == 0)
                buffer_format(trace,
                              "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"range %d\",\"pid\":1,\"tid\":%d,"
                              "\"ts\":%d.5,\"dur\":%d},",
                              i % 3, thread + 1, at - 1, 10 * THREADS * (i % 100 ? 20 : 70));
            if (i % 70 == 0)
                buffer_format(
                    trace,
                    "{\"ph\":\"b\",\"cat\":\"user_annotation\",\"name\":\"task %d\",\"pid\":1,\"tid\":%d,"
                    "\"id\":%d,\"ts\":%d},"
                    "{\"ph\":\"e\",\"cat\":\"user_annotation\",\"name\":\"task\",\"pid\":1,\"tid\":%d,\"id\":%d,"
                    "\"ts\":%d},",
                    i % 4, thread + 1, id, at, THREADS - thread, id, at + 900);
            if (i % 30 == 0)
                buffer_format(trace,
                              "{\"ph\":\"s\",\"cat\":\"fwdbwd\",\"pid\":1,\"tid\":%d,\"id\":%d,\"ts\":%d},"
                              "{\"ph\":\"f\",\"cat\":\"fwdbwd\",\"pid\":1,\"tid\":%d,\"id\":%d,\"ts\":%d},",
                              thread + 1, id, at, 1 + (thread + 1) % THREADS, id, at + 100);
            if (i % 20 == 0)
                buffer_format(trace,
                              "{\"ph\":\"C\",\"name\":\"Memory in use: device\",\"pid\":0,\"tid\":0,\"ts\":%d,"
                              "\"args\":{\"bytes\":%d}},"
                              "{\"ph\":\"i\",\"cat\":\"memory\",\"name\":\"Allocate\",\"pid\":1,\"tid\":1,\"ts\":%d,"
                              "\"args\":{\"kind\":\"device\",\"device\":0,\"bytes\":%d,\"address\":%d}},",
                              at, 512 * (i % 700), at, 512 * (i % 9), 4096 * id);
        }
    buffer_text(trace, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"app\"}}],"
                       "\"deviceProperties\":[{\"id\":0,\"name\":\"GPU\"}]}");
}

UNIT_TEST(the_number_of_threads_changes_nothing)
{
    static const unsigned workers[] = {1, 2, 3, 5, 16};
    const char *const paths[] = {path};
    struct buffer trace, alone, several;
    buffer_init_memory(&trace);
    write_large_trace(&trace);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, trace.data, trace.length), (ssize_t)trace.length);
    close(fd);
    for (int names = REPORT_NAMES_FULL; names <= REPORT_NAMES_PRETTY; names++)
        for (size_t i = 0; i < sizeof(workers) / sizeof(*workers); i++) {
            struct report_options options = {
                .format = REPORT_JSON, .workers = workers[i], .names = (enum report_names)names};
            struct buffer *out = i == 0 ? &alone : &several;
            buffer_init_memory(out);
            assert_int_equal(report_files(&options, paths, 1, out), 0);
            if (i == 0) {
                assert_true(out->length > 20000);
                continue;
            }
            assert_int_equal(several.length, alone.length);
            assert_memory_equal(several.data, alone.data, alone.length);
            buffer_release(&several);
            if (i + 1 == sizeof(workers) / sizeof(*workers))
                buffer_release(&alone);
        }
    buffer_release(&trace);
}

UNIT_MAIN(begin, end)
