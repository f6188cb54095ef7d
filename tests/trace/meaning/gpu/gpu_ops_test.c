/*
 * GPU work in the trace: slices, names, args, flows, lanes, what has no times.
 */
#include "tests/unit.h"

#include <math.h>

#include "tests/trace/meaning/trace_reading.h"
#include "trace/meaning/gpu/gpu_ops.h"

enum { PID = 500, THREAD = 501, LAUNCH = 211, GRAPH_LAUNCH = 311, CU_LAUNCH = 307 };
enum { NAME = 0x7000 };

static void begin(struct make_spool *spool)
{
    make_spool_init(spool, PID, 130001);
    make_spool_chunk(spool, SPOOL_RECORDS, THREAD);
    make_pointer_name(spool, NAME, "_Z6vecAddPKfS0_Pfi");
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, SPOOL_CUPTI, THREAD);
    make_device(spool, 0, 0);
}

static void call(struct make_spool *spool, uint32_t correlation, uint64_t start, uint64_t stop)
{
    make_api(spool, (struct make_api){
                        .cbid = LAUNCH, .thread = THREAD, .correlation = correlation, .start = start, .end = stop});
}

UNIT_TEST(test_a_kernel_has_its_place_name_and_args)
{
    struct make_spool spool;
    begin(&spool);
    call(&spool, 9, 1000, 4000);
    make_kernel(&spool,
                (struct make_kernel){
                    .name = NAME, .start = 5000, .end = 7500, .correlation = 9, .registers = 128, .shared = 13056});
    struct trace trace = trace_of_done(&spool);
    const cJSON *kernel = trace_event(&trace, "X", "kernel", NULL, 0);
    assert_non_null(kernel);
    assert_string_equal(event_text(kernel, "name"), "vecAdd(float const*, float const*, float*, int)");
    assert_int_equal(event_ns(kernel, "ts"), 5000);
    assert_int_equal(event_ns(kernel, "dur"), 2500);
    assert_int_equal(event_number(kernel, "pid"), 0);
    assert_int_equal(event_number(kernel, "tid"), 7);
    assert_true(arg_is(kernel, "device", 0) && arg_is(kernel, "context", 1) && arg_is(kernel, "stream", 7));
    assert_true(arg_is(kernel, "correlation", 9) && arg_is(kernel, "queued", 0));
    assert_true(arg_is(kernel, "registers per thread", 128) && arg_is(kernel, "shared memory", 13056));
    assert_true(arg_is(kernel, "blocks per SM", 1.939394) && arg_is(kernel, "warps per SM", 7.757576));
    assert_true(arg_is(kernel, "est. achieved occupancy %", 12));
    assert_null(event_arg(kernel, "graph id"));
    assert_int_equal(cJSON_GetArrayItem(event_arg(kernel, "grid"), 0)->valueint, 256);
    assert_int_equal(cJSON_GetArrayItem(event_arg(kernel, "block"), 0)->valueint, 128);
    assert_int_equal(trace.summary.kernels, 1);
    assert_int_equal(trace.summary.events, 2);
    trace_release(&trace);
}

UNIT_TEST(test_a_flow_goes_from_the_call_to_the_kernel)
{
    struct make_spool spool;
    begin(&spool);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 5000, .end = 7500, .correlation = 9});
    call(&spool, 9, 1000, 4000);
    struct trace trace = trace_of_done(&spool);
    const cJSON *tail = trace_event(&trace, "s", "ac2g", "ac2g", 0),
                *head = trace_event(&trace, "f", "ac2g", "ac2g", 0);
    assert_int_equal(event_number(tail, "id"), 9);
    assert_int_equal(event_number(tail, "tid"), THREAD);
    assert_int_equal(event_ns(tail, "ts"), 1000);
    assert_int_equal(event_number(head, "id"), 9);
    assert_int_equal(event_ns(head, "ts"), 5000);
    assert_string_equal(event_text(head, "bp"), "e");
    assert_int_equal(trace.summary.losses.unmatched_flows, 0);
    trace_release(&trace);
}

UNIT_TEST(test_a_driver_call_inside_a_runtime_call_shows_no_second_flow)
{
    struct make_spool spool;
    begin(&spool);
    make_api(&spool,
             (struct make_api){
                 .driver = 1, .cbid = CU_LAUNCH, .thread = THREAD, .correlation = 9, .start = 1500, .end = 3500});
    call(&spool, 9, 1000, 4000);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 5000, .end = 7500, .correlation = 9});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "X", "cuda_driver", "cuLaunchKernel"), 1);
    assert_int_equal(trace_count(&trace, "s", NULL, NULL), 1);
    assert_int_equal(event_ns(trace_event(&trace, "s", NULL, NULL, 0), "ts"), 1000);
    trace_release(&trace);
}

UNIT_TEST(test_a_driver_call_alone_starts_the_flow)
{
    struct make_spool spool;
    begin(&spool);
    make_api(&spool,
             (struct make_api){
                 .driver = 1, .cbid = CU_LAUNCH, .thread = THREAD, .correlation = 9, .start = 1500, .end = 3500});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 5000, .end = 7500, .correlation = 9});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(event_ns(trace_event(&trace, "s", NULL, NULL, 0), "ts"), 1500);
    trace_release(&trace);
}

UNIT_TEST(test_every_node_of_a_graph_gets_a_flow_of_its_own)
{
    struct make_spool spool;
    enum { NODES = 300 };
    begin(&spool);
    make_api(&spool,
             (struct make_api){.cbid = GRAPH_LAUNCH, .thread = THREAD, .correlation = 3, .start = 1000, .end = 4000});
    for (unsigned i = 0; i < NODES; i++)
        make_kernel(&spool, (struct make_kernel){.name = NAME,
                                                 .start = 5000 + 20 * i,
                                                 .end = 5010 + 20 * i,
                                                 .correlation = 3,
                                                 .graph = 2,
                                                 .node = 100 + i});
    call(&spool, 4, 20000, 20100); /* a launch after it keeps its own id */
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 30000, .end = 30010, .correlation = 4});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "s", NULL, NULL), NODES + 1);
    assert_int_equal(trace_count(&trace, "f", NULL, NULL), NODES + 1);
    assert_int_equal(event_number(trace_event(&trace, "s", NULL, NULL, 0), "id"), 3);
    assert_int_equal(event_number(trace_event(&trace, "s", NULL, NULL, NODES), "id"), 4);
    assert_true(arg_is(trace_event(&trace, "X", "kernel", NULL, 1), "graph node id", 101));
    assert_true(arg_is(trace_event(&trace, "X", "kernel", NULL, 1), "graph id", 2));
    trace_release(&trace);
}

UNIT_TEST(test_work_whose_call_is_missing_is_counted_and_has_no_flow)
{
    struct make_spool spool;
    begin(&spool);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 5000, .end = 7500, .correlation = 9});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace.summary.losses.unmatched_flows, 1);
    assert_int_equal(trace_count(&trace, "f", NULL, NULL), 0);
    assert_int_equal(trace_count(&trace, "X", "kernel", NULL), 1);
    trace_release(&trace);
}

UNIT_TEST(test_a_kernel_before_its_call_is_counted)
{
    struct make_spool spool;
    begin(&spool);
    call(&spool, 9, 1000, 4000);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 999, .end = 7500, .correlation = 9});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace.summary.losses.before_launch, 1);
    assert_int_equal(trace_count(&trace, "f", NULL, NULL), 1);
    trace_release(&trace);
}

UNIT_TEST(test_no_flow_goes_back_to_a_kernel_that_ended_before_its_call)
{
    struct make_spool spool;
    begin(&spool);
    call(&spool, 9, 5000, 6000);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 1000, .end = 2000, .correlation = 9});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 7000, .end = 8000, .correlation = 9});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace.summary.losses.before_launch, 1);
    assert_int_equal(trace_count(&trace, "s", NULL, NULL), 1);
    assert_int_equal(event_ns(trace_event(&trace, "f", NULL, NULL, 0), "ts"), 7000);
    trace_release(&trace);
}

UNIT_TEST(test_kernels_that_overlap_go_to_lanes)
{
    struct make_spool spool;
    begin(&spool);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 1000, .end = 2000});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 1500, .end = 2500});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 1600, .end = 1700});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 2000, .end = 2100});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 9000, .end = 9100, .stream = 13});
    struct trace trace = trace_of_done(&spool);
    static const char *const rows[] = {"stream 7", "stream 7 (2)", "stream 7 (3)", "stream 7", "stream 13"};
    for (int i = 0; i < 5; i++) {
        const cJSON *kernel = trace_event(&trace, "X", "kernel", NULL, i);
        assert_string_equal(row_name(&trace, kernel), rows[i]);
        assert_true(arg_is(kernel, "stream", i == 4 ? 13 : 7));
    }
    trace_release(&trace);
}

UNIT_TEST(test_records_out_of_order_need_no_lanes)
{
    struct make_spool spool;
    begin(&spool);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 5000, .end = 6000});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 1000, .end = 2000});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace_count(&trace, "M", NULL, "thread_name"), 1);
    trace_release(&trace);
}

UNIT_TEST(test_records_in_flight_are_shown_where_their_call_ended)
{
    struct make_spool spool;
    begin(&spool);
    make_spool_done(&spool, SPOOL_DONE);
    spool.space = 4096;
    make_spool_header(&spool)->state = SPOOL_OPEN;
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    call(&spool, 9, 1000, 4000);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 5000, .end = 7500, .correlation = 9});
    call(&spool, 10, 5000, 8000);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 10, .in_flight = 1});
    call(&spool, 11, 9000, 9500);
    make_spool_done(&spool, SPOOL_IN_USE);
    struct trace trace = trace_of(&spool);
    assert_int_equal(trace_count(&trace, "X", "cuda_runtime", "cudaLaunchKernel"), 3);
    assert_int_equal(trace_count(&trace, "X", "kernel", "vecAdd"), 1);
    const cJSON *pending = trace_event(&trace, "i", "gpu_in_flight", "vecAdd", 0);
    assert_non_null(pending);
    assert_int_equal(event_ns(pending, "ts"), 8000);
    assert_int_equal(event_number(pending, "tid"), 7);
    assert_int_equal(trace.summary.losses.in_flight, 1);
    assert_int_equal(trace.summary.losses.undecoded, 0);
    assert_int_equal(trace_count(&trace, "s", NULL, NULL), 1);
    trace_release(&trace);
}

UNIT_TEST(test_work_with_zero_times_is_counted)
{
    struct make_spool spool;
    begin(&spool);
    call(&spool, 9, 1000, 4000);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 9});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 6000, .correlation = 9});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace.summary.losses.zero_time, 2);
    assert_int_equal(trace_count(&trace, "i", "gpu_in_flight", NULL), 2);
    assert_int_equal(trace_count(&trace, "X", "kernel", NULL), 0);
    trace_release(&trace);
}

UNIT_TEST(test_a_kernel_without_a_name_is_counted_and_shown)
{
    struct make_spool spool;
    begin(&spool);
    make_kernel(&spool, (struct make_kernel){.name = 0xabc, .start = 5000, .end = 7500});
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace.summary.losses.unnamed, 1);
    assert_int_equal(trace_count(&trace, "X", "kernel", "unnamed kernel 0xabc"), 1);
    trace_release(&trace);
}

UNIT_TEST(test_copies_and_sets_are_named_as_kineto_names_them)
{
    struct make_spool spool;
    begin(&spool);
    make_copy(&spool,
              (struct make_copy){.kind = 1, .source = 2, .target = 3, .bytes = 1048576, .start = 1000, .end = 23016});
    make_copy(&spool, (struct make_copy){.kind = 10,
                                         .source = 3,
                                         .target = 3,
                                         .bytes = 10,
                                         .start = 30000,
                                         .end = 30005,
                                         .peer = 1,
                                         .source_device = 0,
                                         .target_device = 1});
    make_set(&spool, (struct make_set){.bytes = 128, .start = 40000, .end = 40768});
    struct trace trace = trace_of_done(&spool);
    const cJSON *copy = trace_event(&trace, "X", "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0);
    assert_true(arg_is(copy, "bytes", 1048576) && arg_is(copy, "memory bandwidth (GB/s)", 47.627907));
    const cJSON *peer = trace_event(&trace, "X", "gpu_memcpy", "Memcpy PtoP (Device -> Device)", 0);
    assert_true(arg_is(peer, "fromDevice", 0) && arg_is(peer, "toDevice", 1));
    const cJSON *set = trace_event(&trace, "X", "gpu_memset", "Memset (Device)", 0);
    assert_true(arg_is(set, "bytes", 128) && arg_is(set, "memory bandwidth (GB/s)", 0.166667));
    trace_release(&trace);
}

UNIT_TEST(test_a_graph_launch_can_be_one_slice)
{
    struct make_spool spool;
    begin(&spool);
    make_api(&spool,
             (struct make_api){.cbid = GRAPH_LAUNCH, .thread = THREAD, .correlation = 3, .start = 1000, .end = 4000});
    make_graph(&spool, (struct make_graph){.start = 5000, .end = 9000, .correlation = 3, .graph = 12});
    struct trace trace = trace_of_done(&spool);
    assert_true(arg_is(trace_event(&trace, "X", "gpu_graph", "CUDA Graph 12", 0), "graph id", 12));
    assert_int_equal(trace_count(&trace, "f", NULL, NULL), 1);
    trace_release(&trace);
}

UNIT_TEST(test_waits_tell_what_they_waited_for)
{
    struct make_spool spool;
    begin(&spool);
    make_cuda_event(&spool, (struct make_cuda_event){.correlation = 5, .stream = 13, .event = 77, .time = 1500});
    make_cuda_event(&spool, (struct make_cuda_event){.correlation = 8, .stream = 14, .event = 77, .sync_id = 2});
    make_cuda_event(&spool, (struct make_cuda_event){.correlation = 30, .stream = 15, .event = 77, .sync_id = 3});
    make_sync(&spool,
              (struct make_sync){.type = 2, .correlation = 20, .stream = 7, .event = 77, .start = 2000, .end = 2100});
    make_sync(
        &spool,
        (struct make_sync){
            .type = 1, .correlation = 40, .stream = UINT32_MAX, .event = 77, .sync_id = 2, .start = 3000, .end = 3100});
    make_sync(&spool,
              (struct make_sync){
                  .type = 4, .correlation = 41, .stream = UINT32_MAX, .event = UINT32_MAX, .start = 4000, .end = 4100});
    make_sync(&spool, (struct make_sync){
                          .type = 3, .correlation = 42, .stream = 7, .event = UINT32_MAX, .start = 5000, .end = 6000});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .start = 4500, .end = 5900, .stream = 7});
    struct trace trace = trace_of_done(&spool);
    const cJSON *wait = trace_event(&trace, "X", "cuda_sync", "Stream Wait Event", 0);
    assert_true(arg_is(wait, "stream", 7) && arg_is(wait, "wait_on_stream", 14));
    assert_true(arg_is(wait, "wait_on_cuda_event_record_corr_id", 8) && arg_is(wait, "wait_on_cuda_event_id", 77));
    const cJSON *event = trace_event(&trace, "X", "cuda_sync", "Event Sync", 0);
    assert_true(arg_is(event, "stream", -1) && arg_is(event, "wait_on_cuda_event_record_corr_id", 8));
    const cJSON *context = trace_event(&trace, "X", "cuda_sync", "Context Sync", 0);
    assert_true(arg_is(context, "stream", -1) && arg_text_is(context, "cuda_sync_kind", "Context Sync"));
    assert_null(event_arg(context, "wait_on_stream"));
    assert_string_equal(row_name(&trace, context), "context 1 synchronisation");
    assert_string_equal(row_name(&trace, trace_event(&trace, "X", "cuda_sync", "Stream Sync", 0)),
                        "stream 7 synchronisation");
    const cJSON *record = trace_event(&trace, "i", "cuda_event", NULL, 0);
    assert_int_equal(event_ns(record, "ts"), 1500);
    assert_string_equal(row_name(&trace, record), "stream 13");
    assert_int_equal(trace_count(&trace, "i", "cuda_event", NULL), 1);
    trace_release(&trace);
}

static void in_version(uint32_t version, bool recorded)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, version);
    make_spool_chunk(&spool, SPOOL_RECORDS, THREAD);
    make_pointer_name(&spool, NAME, "kernel");
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, THREAD);
    make_device(&spool, 0, 0);
    make_context(&spool, 1, 0);
    call(&spool, 9, 1000, 4000);
    make_kernel(&spool,
                (struct make_kernel){.name = NAME, .start = 5000, .end = 7500, .correlation = 9, .registers = 40});
    make_copy(&spool, (struct make_copy){.kind = 8, .source = 3, .target = 3, .bytes = 4, .start = 8000, .end = 8001});
    make_set(&spool, (struct make_set){.bytes = 4, .start = 8100, .end = 8101});
    make_cuda_event(&spool, (struct make_cuda_event){.correlation = 10, .stream = 13, .event = 1});
    make_sync(&spool,
              (struct make_sync){.type = 2, .correlation = 12, .stream = 7, .event = 1, .start = 9000, .end = 9001});
    make_overhead(&spool, 9100, 9200, THREAD);
    make_graph(&spool, (struct make_graph){.start = 9300, .end = 9400, .correlation = 9, .graph = 1});
    if (!recorded)
        memset(make_spool_header(&spool)->record_bytes, 0, sizeof(make_spool_header(&spool)->record_bytes));
    struct trace trace = trace_of_done(&spool);
    assert_int_equal(trace.summary.losses.undecoded, 0);
    assert_int_equal(trace.summary.events, 7);
    assert_true(arg_is(trace_event(&trace, "X", "kernel", "kernel", 0), "registers per thread", 40));
    assert_true(arg_is(trace_event(&trace, "X", "cuda_sync", NULL, 0), "wait_on_cuda_event_record_corr_id", 10));
    assert_int_equal(trace_count(&trace, "X", "overhead", "Buffer Flush"), 1);
    trace_release(&trace);
}

UNIT_TEST(test_spools_of_every_cupti_are_read)
{
    static const uint32_t versions[] = {18, 28, 130001};
    for (size_t i = 0; i < 3; i++) {
        in_version(versions[i], true);
        in_version(versions[i], false);
    }
}

/*
 * Occupancy: the figures that Kineto gives for kernels of a training step on an H200, and the limits one by one.
 */

static const struct device h200 = {
    .major = 9,
    .multiprocessors = 132,
    .warp_size = 32,
    .max_threads_per_block = 1024,
    .max_warps_per_multiprocessor = 64,
    .max_blocks_per_multiprocessor = 32,
    .registers_per_block = 65536,
    .registers_per_multiprocessor = 65536,
    .shared_per_block = 49152,
    .shared_per_multiprocessor = 233472,
};

UNIT_TEST(test_figures_equal_those_of_kineto)
{
    static const struct {
        uint32_t registers, shared;
        int32_t grid[3], block[3];
        double blocks, warps;
        int percent;
    } seen[] = {
        {128, 13056, {4, 64, 1}, {128, 1, 1}, 1.939394, 7.757576, 12},
        {31, 0, {1024, 1, 1}, {128, 1, 1}, 7.757576, 31.030304, 48},
        {120, 30720, {32, 1, 8}, {128, 1, 1}, 1.939394, 7.757576, 12},
        {32, 2064, {1, 32, 1}, {512, 1, 1}, 0.242424, 3.878788, 6},
        {16, 0, {1, 1, 1}, {128, 1, 1}, 0.007576, 0.030303, 0},
        {27, 0, {130, 1, 1}, {512, 1, 1}, 0.984848, 15.757576, 25},
        {220, 18816, {4, 32, 1}, {128, 1, 1}, 0.969697, 3.878788, 6},
        {202, 49152, {64, 2, 1}, {256, 1, 1}, 0.969697, 7.757576, 12},
        {54, 2064, {32, 1, 1}, {32, 4, 1}, 0.242424, 0.969697, 2},
    };
    for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++) {
        struct event kernel = {.type = EVENT_KERNEL};
        memcpy(kernel.kernel.grid, seen[i].grid, sizeof(kernel.kernel.grid));
        memcpy(kernel.kernel.block, seen[i].block, sizeof(kernel.kernel.block));
        kernel.kernel.registers = seen[i].registers;
        kernel.kernel.dynamic_shared = seen[i].shared;
        struct occupancy occupancy = occupancy_of(&h200, &kernel);
        assert_true(fabs(occupancy.blocks_per_multiprocessor - seen[i].blocks) < 1e-6);
        assert_true(fabs(occupancy.warps_per_multiprocessor - seen[i].warps) < 2e-6);
        assert_int_equal(occupancy.percent, seen[i].percent);
    }
}

UNIT_TEST(test_each_resource_limits_the_blocks)
{
    assert_int_equal(occupancy_blocks(&h200, 32, 16, 0), 32);          /* blocks */
    assert_int_equal(occupancy_blocks(&h200, 1024, 16, 0), 2);         /* warps */
    assert_int_equal(occupancy_blocks(&h200, 128, 255, 0), 2);         /* registers: 2 warps for each scheduler */
    assert_int_equal(occupancy_blocks(&h200, 128, 16, 100 * 1024), 2); /* shared memory */
    assert_int_equal(occupancy_blocks(&h200, 128, 16, 232448), 1);
}

UNIT_TEST(test_nonsense_gives_nothing)
{
    struct event kernel = {.type = EVENT_KERNEL};
    struct device empty = {0};
    kernel.kernel.grid[0] = -1;
    kernel.kernel.block[0] = INT32_MAX;
    assert_int_equal(occupancy_of(NULL, &kernel).percent, 0);
    assert_int_equal(occupancy_of(&empty, &kernel).percent, 0);
    assert_int_equal(occupancy_of(&h200, &kernel).percent, 0);
    assert_int_equal(occupancy_blocks(&h200, 0, 16, 0), 0);
    assert_int_equal(occupancy_blocks(&h200, 128, UINT32_MAX, UINT32_MAX), 0);
}

UNIT_MAIN(NULL, NULL)
