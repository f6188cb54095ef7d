/*
 * The door: whole directories, several processes, metadata, outputs, and spools that are cut or damaged.
 */
#include "tests/unit.h"

#include <errno.h>
#include <sys/stat.h>

#include "common/log.h"
#include "tests/trace/meaning/make_plugin.h"
#include "tests/trace/meaning/trace_reading.h"

enum { PID = 500, THREAD = 500, LAUNCH = 211, NAME = 0x7000 };

/* One of nearly everything. */
static void make_small(struct make_spool *spool, uint32_t pid)
{
    make_spool_init(spool, pid, 130001);
    make_spool_chunk(spool, SPOOL_RECORDS, pid);
    make_pointer_name(spool, NAME, "_Z6kernelPf");
    make_pointer_name(spool, NAME + 1, "NVIDIA H200");
    make_thread_name(spool, pid, "main", 0);
    make_note(spool, "a note of this process");
    make_capture(spool, 900, 1, "the program asked");
    make_nvtx_domain(spool, 1, "lib");
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = 950, .domain = 1, .text = "range"});
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = 9000, .domain = 1});
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_START, .time = 950, .range = 7, .text = "started"});
    make_memory(spool, (struct make_memory){.time = 990,
                                            .address = 0x100,
                                            .size = 4096,
                                            .thread = pid,
                                            .kind = SPOOL_MEMORY_DEVICE,
                                            .operation = SPOOL_MEMORY_ALLOCATE});
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, SPOOL_CUPTI, pid);
    make_device(spool, 0, NAME + 1);
    make_context(spool, 1, 0);
    for (uint32_t i = 1; i <= 3; i++) {
        make_api(spool, (struct make_api){
                            .cbid = LAUNCH, .thread = pid, .correlation = i, .start = 1000 * i, .end = 1000 * i + 500});
        make_kernel(spool, (struct make_kernel){
                               .name = NAME, .start = 1000 * i + 600, .end = 1000 * i + 900, .correlation = i});
    }
    make_sync(spool, (struct make_sync){.type = 4, .correlation = 4, .stream = UINT32_MAX, .start = 5000, .end = 6000});
    make_spool_done(spool, SPOOL_DONE);
}

/* And of the rest: compilation, and what a plugin does. */
static void make_everything(struct make_spool *spool)
{
    static const uint64_t addresses[] = {0x401234, 0x402000};
    struct make_phase phase = {
        .time = 6000, .phase = 1, .trigger = SPOOL_TRIGGER_PTX, .thread = PID, .correlation = 5, .function = "load"};
    make_small(spool, PID);
    make_spool_chunk(spool, SPOOL_RECORDS, PID);
    make_phase_start(spool, phase);
    phase.time = 6900;
    make_phase_end(spool, phase);
    make_plugin(spool, 2, "leaks");
    make_plugin_window(spool, 7000, 8000);
    make_plugin_event(spool, (struct make_plugin_event){.what = SPOOL_PLUGIN_SLICE,
                                                        .time = 7000,
                                                        .end = 7500,
                                                        .plugin = 2,
                                                        .thread = PID,
                                                        .name = "alive",
                                                        .detail = "64 bytes"});
    make_plugin_event(spool,
                      (struct make_plugin_event){
                          .what = SPOOL_PLUGIN_COUNTER, .time = 7000, .plugin = 2, .name = "bytes", .value = 64});
    make_mapping(spool, "00401000-00402000 r-xp 00000000 08:01 5 /bin/app");
    make_stack(spool, 1, addresses, 2);
    make_plugin_line(spool, 8000, 2, 1, "a leak");
    make_plugin_time(spool, 8000, 2, 3, 400);
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, SPOOL_CUPTI, PID);
    make_jit(spool, (struct make_jit){.start = 6100, .end = 6200, .entry = 1, .operation = 3, .correlation = 5});
    make_api(spool, (struct make_api){.cbid = LAUNCH, .thread = PID, .correlation = 6, .start = 7100, .end = 7200});
    make_kernel(spool, (struct make_kernel){.name = NAME, .start = 7300, .end = 7400, .correlation = 6});
    make_spool_done(spool, SPOOL_DONE);
}

static const cJSON *member(const struct trace *trace, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(trace->json, key);
}

/* Number 21 is an error of the runtime's and none of the driver's; 4 is another error in each. */
UNIT_TEST(test_what_a_call_returned_is_reported_by_number_and_name)
{
    struct make_spool spool;
    make_spool_begin(&spool, PID, THREAD);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, PID);
    make_api(&spool, (struct make_api){.cbid = LAUNCH, .thread = PID, .start = 1000, .end = 1100, .result = 21});
    make_api(&spool, (struct make_api){.cbid = LAUNCH, .thread = PID, .start = 2000, .end = 2100, .result = 4});
    make_api(&spool, (struct make_api){.cbid = LAUNCH, .thread = PID, .start = 3000, .end = 3100});
    make_api(&spool, (struct make_api){.cbid = 1, .thread = PID, .start = 4000, .end = 4100, .result = 4, .driver = 1});
    make_api(&spool,
             (struct make_api){.cbid = 1, .thread = PID, .start = 5000, .end = 5100, .result = 21, .driver = 1});
    struct trace trace = trace_of_done(&spool);
    const cJSON *first = trace_event(&trace, "X", "cuda_runtime", NULL, 0);
    assert_true(arg_is(first, "return value", 21) && arg_text_is(first, "error", "cudaErrorInvalidMemcpyDirection"));
    assert_true(arg_text_is(trace_event(&trace, "X", "cuda_runtime", NULL, 1), "error", "cudaErrorCudartUnloading"));
    assert_null(event_arg(trace_event(&trace, "X", "cuda_runtime", NULL, 2), "error"));
    assert_true(arg_text_is(trace_event(&trace, "X", "cuda_driver", NULL, 0), "error", "CUDA_ERROR_DEINITIALIZED"));
    const cJSON *nameless = trace_event(&trace, "X", "cuda_driver", NULL, 1);
    assert_true(arg_is(nameless, "return value", 21) && !event_arg(nameless, "error"));
    trace_release(&trace);
}

UNIT_TEST(test_no_spool_at_all_is_a_trace_without_events)
{
    const char *directory = unit_directory();
    struct trace trace = trace_convert(directory);
    assert_int_equal(cJSON_GetArraySize(trace.events), 0);
    assert_int_equal(trace.summary.processes, 0);
    assert_int_equal(trace.summary.bytes, trace.length);
    assert_false(trace.summary.cuda || trace.summary.nvtx);
    trace_release(&trace);
    unit_remove(directory);
}

UNIT_TEST(test_a_directory_that_is_not_there_is_an_error)
{
    struct convert_options options = {.spool_directory = "/nowhere/spool", .output = "/tmp/never.json"};
    struct convert_summary summary;
    unit_stderr_begin();
    int result = convert_spool(&options, &summary);
    assert_contains(unit_stderr_end(), "/nowhere/spool");
    assert_int_equal(result, -1);
}

UNIT_TEST(test_metadata_tells_of_devices_versions_and_the_run)
{
    const char *directory = unit_directory();
    char path[512];
    snprintf(path, sizeof(path), "%s/session.json", directory);
    unit_write_file(path,
                    "{\"version\":\"0.1.0\",\"command\":[\"./app\",\"a b\\n\"],\"host\":\"node1\","
                    "\"started\":1790000000000000000,\"options\":{\"output\":\"x\"},\"rank\":3,\"world_size\":8}");
    struct make_spool spool;
    make_small(&spool, PID);
    make_spool_header(&spool)->losses.cupti_dropped = 5;
    make_spool_header(&spool)->losses.no_space = 2;
    make_spool_header(&spool)->losses.nested = 1;
    make_spool_save(&spool, directory);
    make_spool_release(&spool);
    unit_stderr_begin();
    struct trace trace = trace_convert(directory);
    assert_string_equal(unit_stderr_end(), "gputrace: warning: a note of this process\n");
    const cJSON *device = cJSON_GetArrayItem(member(&trace, "deviceProperties"), 0);
    assert_string_equal(event_text(device, "name"), "NVIDIA H200");
    assert_true(event_number(device, "numSms") == 132 && event_number(device, "maxThreadsPerMultiprocessor") == 2048);
    assert_int_equal(member(&trace, "schemaVersion")->valueint, 1);
    assert_int_equal(member(&trace, "cupti_version")->valueint, 130001);
    assert_int_equal(member(&trace, "cuda_driver_version")->valueint, 13000);
    assert_contains(trace.text, "\"baseTimeNanoseconds\":1790000000000000000,");
    assert_contains(trace.text, "\"rank\": 3");
    const cJSON *own = member(&trace, "gputrace");
    assert_string_equal(event_text(own, "version"), GPUTRACE_VERSION);
    assert_string_equal(event_text(own, "exit"), "exit 0");
    assert_string_equal(cJSON_GetArrayItem(cJSON_GetObjectItem(own, "command"), 1)->valuestring, "a b\n");
    assert_contains(trace.text, "\"started\":1790000000000000000,");
    const cJSON *losses = cJSON_GetObjectItem(own, "losses");
    assert_true(event_number(losses, "cupti_dropped") == 5 && event_number(losses, "spool_dropped") == 3);
    assert_string_equal(event_text(cJSON_GetArrayItem(cJSON_GetObjectItem(own, "notes"), 0), "text"),
                        "a note of this process");
    const cJSON *process = cJSON_GetArrayItem(cJSON_GetObjectItem(own, "processes"), 0);
    assert_string_equal(event_text(process, "command"), "./app --fast");
    trace_release(&trace);
    unit_remove(directory);
}

UNIT_TEST(test_a_session_that_is_no_json_is_no_obstacle)
{
    const char *directory = unit_directory();
    char path[512];
    snprintf(path, sizeof(path), "%s/session.json", directory);
    unit_write_file(path, "{\"version\":");
    unit_stderr_begin();
    struct trace trace = trace_convert(directory);
    assert_contains(unit_stderr_end(), "session.json");
    trace_release(&trace);
    unit_remove(directory);
}

/* Three spools of one number that began in the same tick: two images of a process, and one in another namespace. */
UNIT_TEST(test_processes_of_one_pid_in_two_namespaces_have_their_own_rows)
{
    static const uint64_t namespaces[] = {7, 7, 8};
    const char *directory = unit_directory();
    for (unsigned i = 0; i < 3; i++) {
        struct make_spool spool;
        char path[512];
        make_spool_init(&spool, 600, 130001);
        make_spool_header(&spool)->pid_namespace = namespaces[i];
        make_spool_header(&spool)->process_started = 1000;
        make_spool_chunk(&spool, SPOOL_RECORDS, 600);
        make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 1, .text = "mark"});
        make_spool_done(&spool, SPOOL_DONE);
        snprintf(path, sizeof(path), "%s/600-%u.spool", directory, i);
        make_spool_save_as(&spool, path);
        make_spool_release(&spool);
    }
    struct trace trace = trace_convert(directory);
    double pids[3];
    for (int i = 0; i < 3; i++)
        pids[i] = event_number(trace_event(&trace, "i", NULL, "mark", i), "pid");
    assert_true(pids[0] == pids[1]);
    assert_true(pids[0] != pids[2]);
    trace_release(&trace);
    unit_remove(directory);
}

UNIT_TEST(test_processes_that_share_a_gpu_do_not_mix)
{
    const char *directory = unit_directory();
    log_set_level(LOG_QUIET);
    for (uint32_t pid = 600; pid < 602; pid++) {
        struct make_spool spool;
        make_small(&spool, pid);
        make_spool_save(&spool, directory);
        make_spool_release(&spool);
    }
    struct trace trace = trace_convert(directory); /* which checks that flows are pairs */
    log_set_level(LOG_NORMAL);
    assert_int_equal(trace.summary.processes, 2);
    assert_int_equal(trace_count(&trace, "f", NULL, NULL), 6);
    const cJSON *first = trace_event(&trace, "X", "kernel", NULL, 0),
                *second = trace_event(&trace, "X", "kernel", NULL, 3);
    assert_int_equal(event_number(first, "pid"), 0);
    assert_true(event_number(second, "pid") > 4194304);
    assert_true(arg_is(second, "device", 0) && arg_is(first, "correlation", 1) && !arg_is(second, "correlation", 1));
    trace_release(&trace);
    unit_remove(directory);
}

UNIT_TEST(test_a_traced_pid_is_not_given_to_a_gpu)
{
    struct make_spool spool;
    make_spool_init(&spool, 1, 130001); /* in a container */
    make_spool_chunk(&spool, SPOOL_CUPTI, 1);
    make_kernel(&spool, (struct make_kernel){.start = 1000, .end = 2000, .device = 1});
    make_kernel(&spool, (struct make_kernel){.start = 1000, .end = 2000, .device = 2});
    make_spool_done(&spool, SPOOL_DONE);
    struct trace trace = trace_of(&spool);
    assert_true(event_number(trace_event(&trace, "X", "kernel", NULL, 0), "pid") > 4194304);
    assert_int_equal(event_number(trace_event(&trace, "X", "kernel", NULL, 1), "pid"), 2);
    trace_release(&trace);
}

UNIT_TEST(test_equal_stream_numbers_of_two_contexts_get_rows_each)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 130001);
    make_spool_chunk(&spool, SPOOL_CUPTI, 1);
    make_kernel(&spool, (struct make_kernel){.start = 1000, .end = 2000, .context = 1});
    make_kernel(&spool, (struct make_kernel){.start = 1500, .end = 2500, .context = 2});
    make_spool_done(&spool, SPOOL_DONE);
    struct trace trace = trace_of(&spool);
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", "kernel", NULL, 0)), "stream 7");
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", "kernel", NULL, 1)), "stream 7 of context 2");
    trace_release(&trace);
}

UNIT_TEST(test_names_with_anything_in_them_give_valid_json)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 130001);
    strcpy(make_spool_header(&spool)->program, "a\"p\xfe");
    make_spool_chunk(&spool, SPOOL_RECORDS, THREAD);
    make_pointer_name(&spool, NAME, "k\"\\\x01\xc3\x28\xed\xa0\x80\xf0\x9f\x98\x80");
    make_thread_name(&spool, THREAD, "t\xff\"", 0);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 1000, .end = 2000});
    make_spool_done(&spool, SPOOL_DONE);
    struct trace trace = trace_of(&spool);
    assert_contains(trace.text, "k\\\"\\\\\\u0001\xef\xbf\xbd(");
    assert_contains(trace.text, "\xf0\x9f\x98\x80");
    trace_release(&trace);
}

UNIT_TEST(test_gz_is_compressed_and_holds_the_same)
{
    const char *directory = unit_directory();
    char path[512];
    struct make_spool spool;
    make_small(&spool, PID);
    make_spool_save(&spool, directory);
    make_spool_release(&spool);
    log_set_level(LOG_QUIET);
    struct trace plain = trace_convert(directory);
    struct trace packed = trace_convert_to(directory, "trace.json.gz");
    log_set_level(LOG_NORMAL);
    struct stat status;
    snprintf(path, sizeof(path), "%s/trace.json.gz", directory);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(packed.summary.bytes, status.st_size);
    assert_true((size_t)status.st_size < plain.length / 2);
    assert_string_equal(strstr(packed.text, "\"traceEvents\""), strstr(plain.text, "\"traceEvents\""));
    trace_release(&plain);
    trace_release(&packed);
    unit_remove(directory);
}

UNIT_TEST(test_an_output_that_cannot_be_written_leaves_nothing_behind)
{
    const char *directory = unit_directory();
    char output[512];
    snprintf(output, sizeof(output), "%s/missing/trace.json", directory);
    struct convert_options options = {.spool_directory = directory, .output = output};
    struct convert_summary summary;
    unit_stderr_begin();
    int result = convert_spool(&options, &summary);
    assert_contains(unit_stderr_end(), "cannot write");
    assert_int_equal(result, -1);
    options.output = "/dev/full";
    unit_stderr_begin();
    result = convert_spool(&options, &summary);
    assert_contains(unit_stderr_end(), "/dev/full");
    assert_int_equal(result, -1);
    unit_remove(directory);
}

UNIT_TEST(test_chunks_are_read_in_order_of_use)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 130001);
    make_spool_chunk(&spool, SPOOL_RECORDS, THREAD);
    make_spool_chunk_header(&spool)->sequence = 9;
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = 2000});
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_RECORDS, THREAD);
    make_spool_chunk_header(&spool)->sequence = 3;
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = 1000, .text = "range"});
    make_spool_done(&spool, SPOOL_DONE);
    struct trace trace = trace_of(&spool);
    assert_int_equal(event_ns(trace_event(&trace, "X", NULL, "range", 0), "dur"), 1000);
    assert_int_equal(trace.summary.losses.unmatched_ranges, 0);
    trace_release(&trace);
}

/* Converts the first SIZE bytes; reading the trace back checks that it is sound, whatever the spool holds. */
static struct convert_summary convert_bytes(struct make_spool *spool, const char *directory, size_t size)
{
    size_t whole = spool->size;
    spool->size = size;
    make_spool_save(spool, directory);
    spool->size = whole;
    struct trace trace = trace_convert(directory);
    struct convert_summary summary = trace.summary;
    trace_release(&trace);
    return summary;
}

static void convert_in_place(struct make_spool *spool, const char *directory)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%d-0.spool", directory, PID); /* the pid in the header may be damaged */
    make_spool_save_as(spool, path);
    struct trace trace = trace_convert(directory);
    trace_release(&trace);
}

UNIT_TEST(test_a_spool_cut_anywhere_gives_what_is_left)
{
    const char *directory = unit_directory();
    struct make_spool spool;
    make_everything(&spool);
    log_set_level(LOG_QUIET);
    uint64_t most = convert_bytes(&spool, directory, spool.size).events, last = 0;
    for (size_t size = 0; size < spool.size; size += 8) {
        struct convert_summary summary = convert_bytes(&spool, directory, size);
        /* A push without its pop is longer, not more: events grow with the file, and a cut is never silent. */
        assert_true(summary.events >= last && summary.events <= most);
        assert_true(summary.losses.undecoded > 0);
        last = summary.events;
    }
    for (size_t size = spool.size - 63; size < spool.size; size++)
        convert_bytes(&spool, directory, size);
    log_set_level(LOG_NORMAL);
    make_spool_release(&spool);
    unit_remove(directory);
}

UNIT_TEST(test_a_damaged_spool_gives_a_sound_trace)
{
    const char *directory = unit_directory();
    struct make_spool spool;
    make_everything(&spool);
    log_set_level(LOG_QUIET);
    srandom(20);
    for (int round = 0; round < 3000; round++) {
        uint8_t before[4];
        size_t at[4], flips = 1 + (size_t)random() % 4;
        for (size_t i = 0; i < flips; i++) {
            size_t limit = round % 4 == 0 ? sizeof(struct spool_header) : spool.size; /* the header more often */
            at[i] = (size_t)random() % limit;
            before[i] = spool.data[at[i]];
            spool.data[at[i]] = (uint8_t)random();
        }
        convert_in_place(&spool, directory);
        for (size_t i = flips; i-- > 0;)
            spool.data[at[i]] = before[i];
    }
    log_set_level(LOG_NORMAL);
    make_spool_release(&spool);
    unit_remove(directory);
}

UNIT_TEST(test_files_that_are_no_spool_are_left_out_and_counted)
{
    const char *directory = unit_directory();
    char path[512];
    struct make_spool spool;
    make_small(&spool, PID);
    make_spool_save(&spool, directory);
    make_spool_header(&spool)->version = SPOOL_VERSION + 1;
    snprintf(path, sizeof(path), "%s/501-0.spool", directory);
    make_spool_save_as(&spool, path);
    make_spool_release(&spool);
    snprintf(path, sizeof(path), "%s/502-0.spool", directory);
    unit_write_file(path, "");
    unit_stderr_begin();
    struct trace trace = trace_convert(directory);
    assert_contains(unit_stderr_end(), "501-0.spool");
    assert_int_equal(trace.summary.processes, 1);
    assert_int_equal(trace.summary.losses.undecoded, 2);
    trace_release(&trace);
    unit_remove(directory);
}

UNIT_MAIN(NULL, NULL)
