/*
 * Traces are the same, byte for byte, whatever the number of threads that write them.
 */
#include "tests/unit.h"

#include "tests/trace/meaning/trace_reading.h"

enum { PID = 600, LAUNCH = 211, GRAPH = 311, NAME = 0x7000, CHUNKS = 24, LAUNCHES = 1500 /* of a chunk */, NODES = 5 };

/* Kernels that overlap, some of them with the same times, in one chunk and in several. */
static void make_overlap(struct make_spool *spool, uint64_t time, uint32_t correlation)
{
    for (unsigned i = 0; i < 3; i++)
        make_kernel(spool, (struct make_kernel){.name = NAME,
                                                .start = time,
                                                .end = time + 5000 * (i / 2),
                                                .correlation = correlation,
                                                .stream = 9,
                                                .graph = 1,
                                                .node = i});
}

static void make_chunk(struct make_spool *spool, uint32_t pid, uint32_t chunk)
{
    uint32_t before = chunk * LAUNCHES, graph = 900000 + chunk / 2;
    make_spool_chunk(spool, SPOOL_CUPTI, pid);
    for (uint32_t i = before + 1; i <= before + LAUNCHES; i++) {
        uint64_t time = 10000 * (uint64_t)i;
        make_api(spool, (struct make_api){
                            .cbid = LAUNCH, .thread = pid + i % 2, .correlation = i, .start = time, .end = time + 900});
        make_kernel(spool, (struct make_kernel){
                               .name = NAME + i % 3, .start = time + 1000, .end = time + 3000, .correlation = i});
    }
    uint64_t time = 10000 * (uint64_t)(before + 3);
    if (chunk % 2 == 0) /* a graph whose GPU operations are in this chunk and in the next */
        make_api(spool,
                 (struct make_api){
                     .cbid = GRAPH, .thread = pid, .correlation = graph, .start = time - 900, .end = time - 500});
    for (unsigned i = 0; i < NODES; i++)
        make_overlap(spool, 10000 * (uint64_t)(chunk / 2 * 2 * LAUNCHES + 3), graph);
    make_copy(spool,
              (struct make_copy){.start = time, .end = time + 10, .bytes = 100, .kind = 1, .source = 1, .target = 3});
    make_sync(spool, (struct make_sync){.type = 4, .stream = UINT32_MAX, .start = time, .end = time + 10});
    make_spool_done(spool, SPOOL_DONE);
}

static void make_own_chunk(struct make_spool *spool, uint32_t pid, uint32_t chunk)
{
    make_spool_chunk(spool, SPOOL_RECORDS, pid);
    for (uint64_t i = 0; i < LAUNCHES; i++) {
        uint64_t time = 10000 * (chunk * LAUNCHES + i + 1) - 2000;
        make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = time, .text = "step \"of\" many"});
        make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = time + 100, .text = "mark"});
        make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = time + 6000});
        make_nvtx(spool,
                  (struct make_nvtx){
                      .what = i % 2 ? SPOOL_NVTX_END : SPOOL_NVTX_START, .time = time, .range = i / 2, .text = "s"});
    }
    for (uint32_t i = 0; pid != PID && i < LAUNCHES; i += 10) { /* the other process has CUPTI's records of waits */
        uint64_t time = 10000 * (uint64_t)(chunk * LAUNCHES + i + 1) + 2000;
        make_event_record(spool, 0xe000 + i % 3, chunk * LAUNCHES + i, 7);
        make_own_sync(spool, (struct make_own_sync){.kind = 1 + i % 4,
                                                    .start = time,
                                                    .end = time + 12000,
                                                    .correlation = chunk * LAUNCHES + i + 1,
                                                    .event = 0xe000 + i % 3,
                                                    .stream = i % 2 ? 7 : SPOOL_NO_STREAM});
    }
    make_memory(spool, (struct make_memory){.time = 10000 * (uint64_t)chunk * LAUNCHES + 10,
                                            .address = 0x1000 * (chunk + 1),
                                            .size = 4096,
                                            .thread = pid,
                                            .kind = SPOOL_MEMORY_DEVICE,
                                            .operation = SPOOL_MEMORY_ALLOCATE});
    make_spool_done(spool, SPOOL_DONE);
}

static void make_large(const char *directory, uint32_t pid)
{
    struct make_spool spool;
    make_spool_init(&spool, pid, 130001);
    make_spool_chunk(&spool, SPOOL_RECORDS, pid);
    make_pointer_name(&spool, NAME, "_Z6kernelPf");
    make_pointer_name(&spool, NAME + 1, "_Z5otherPf");
    make_launch_name(&spool, 7 * LAUNCHES + 2, "_Z10never_readPf"); /* of NAME + 2, launched in all chunks */
    make_capture(&spool, 900, 1, "the program asked");
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, pid);
    make_device(&spool, 0, 0);
    make_context(&spool, 1, 0);
    make_spool_done(&spool, SPOOL_DONE);
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
        make_chunk(&spool, pid, chunk);
        make_own_chunk(&spool, pid, chunk);
    }
    make_spool_save(&spool, directory);
    make_spool_release(&spool);
}

struct bytes {
    char *data;
    size_t size;
};

static struct bytes read_all(const char *path)
{
    struct bytes bytes = {0};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    bytes.size = (size_t)ftell(file);
    rewind(file);
    bytes.data = malloc(bytes.size);
    assert_int_equal(fread(bytes.data, 1, bytes.size, file), bytes.size);
    fclose(file);
    return bytes;
}

static struct bytes convert(const char *directory, const char *name, unsigned workers, struct convert_summary *summary)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    struct convert_options options = {.spool_directory = directory, .output = path, .workers = workers};
    assert_int_equal(convert_spool(&options, summary), 0);
    convert_plugins_release(&summary->plugins);
    struct bytes bytes = read_all(path);
    unlink(path);
    return bytes;
}

static void same_for_all_workers(const char *directory, const char *name)
{
    struct convert_summary first, summary;
    struct bytes wanted = convert(directory, name, 1, &first);
    assert_true(wanted.size > (size_t)1 << 20 || strstr(name, ".gz"));
    for (unsigned workers = 2; workers <= 7; workers += workers == 3 ? 4 : 1) {
        struct bytes got = convert(directory, name, workers, &summary);
        assert_int_equal(got.size, wanted.size);
        assert_memory_equal(got.data, wanted.data, wanted.size);
        assert_int_equal(summary.events, first.events);
        assert_int_equal(summary.kernels, first.kernels);
        free(got.data);
    }
    free(wanted.data);
}

UNIT_TEST(test_any_number_of_threads_writes_the_same_file)
{
    const char *directory = unit_directory();
    make_large(directory, PID);
    same_for_all_workers(directory, "trace.json");
    same_for_all_workers(directory, "trace.json.gz");
    make_large(directory, PID + 50);
    same_for_all_workers(directory, "trace.json");
    unit_remove(directory);
}

/* Events whose line begins with HEAD; their ids go to IDS unless it is NULL. */
static size_t count(const struct bytes *trace, const char *head, uint32_t *ids)
{
    size_t found = 0, length = strlen(head);
    const char *end = trace->data + trace->size;
    for (const char *line = trace->data; line && line + length < end; line = memchr(line, '\n', (size_t)(end - line))) {
        line += *line == '\n';
        if (memcmp(line, head, length) != 0)
            continue;
        if (ids)
            ids[found] = (uint32_t)strtoul(line + length, NULL, 10);
        found++;
    }
    return found;
}

static int ascending(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

enum { KERNELS = CHUNKS * (LAUNCHES + 3 * NODES), WORKS = KERNELS };

static void check_flows(const struct bytes *trace)
{
    static uint32_t tails[2 * WORKS], heads[2 * WORKS];
    assert_int_equal(count(trace, "{\"ph\":\"s\",\"id\":", tails), WORKS);
    assert_int_equal(count(trace, "{\"ph\":\"f\",\"id\":", heads), WORKS);
    qsort(tails, WORKS, sizeof(*tails), ascending);
    qsort(heads, WORKS, sizeof(*heads), ascending);
    assert_memory_equal(tails, heads, WORKS * sizeof(*tails));
    for (size_t i = 1; i < WORKS; i++)
        assert_true(tails[i] != tails[i - 1]);
}

UNIT_TEST(test_what_several_threads_write_is_whole)
{
    const char *directory = unit_directory();
    struct convert_summary summary;
    make_large(directory, PID);
    struct bytes trace = convert(directory, "trace.json", 4, &summary);
    cJSON *json = cJSON_ParseWithLength(trace.data, trace.size);
    assert_non_null(json);
    cJSON_Delete(json);
    assert_int_equal(summary.kernels, KERNELS);
    assert_int_equal(count(&trace, "{\"ph\":\"X\",\"cat\":\"kernel\"", NULL), KERNELS);
    assert_int_equal(count(&trace, "{\"ph\":\"X\",\"cat\":\"cuda_runtime\"", NULL), CHUNKS * LAUNCHES + CHUNKS / 2);
    assert_int_equal(count(&trace, "{\"ph\":\"X\",\"cat\":\"user_annotation\"", NULL), CHUNKS * LAUNCHES);
    assert_int_equal(count(&trace, "{\"ph\":\"i\",\"cat\":\"user_annotation\"", NULL), CHUNKS * LAUNCHES);
    assert_int_equal(count(&trace, "{\"ph\":\"i\",\"cat\":\"memory\"", NULL), CHUNKS);
    check_flows(&trace);
    free(trace.data);
    unit_remove(directory);
}

UNIT_TEST(test_a_full_disk_ends_all_threads)
{
    const char *directory = unit_directory();
    make_large(directory, PID);
    for (unsigned workers = 1; workers <= 4; workers += 3) {
        struct convert_options options = {.spool_directory = directory, .output = "/dev/full", .workers = workers};
        struct convert_summary summary;
        unit_stderr_begin();
        int result = convert_spool(&options, &summary);
        assert_contains(unit_stderr_end(), "cannot write '/dev/full': No space left on device");
        assert_int_equal(result, -1);
    }
    unit_remove(directory);
}

UNIT_MAIN(NULL, NULL)
