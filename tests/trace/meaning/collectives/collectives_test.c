/*
 * Arguments of communication: on the calls of NCCL and MPI, and on the kernels that they launched.
 */
#include "tests/trace/meaning/make_nvtx_extension.h"
#include "tests/trace/meaning/trace_reading.h"
#include "tests/unit.h"
#include "trace/meaning/collectives/collective_calls.h"

/* Entries leave out what is 0. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

enum { PID = 500, THREAD = 500, LAUNCH = 307, DOMAIN = 0 }; /* cuLaunchKernelEx */

struct payload {
    uint64_t comm, bytes;
    int32_t number, reduction;
};

struct init {
    uint64_t comm;
    int32_t ranks, rank, device;
};

static const struct make_entry call_entries[] = {
    {"NCCL communicator ID", PAYLOAD_TYPE_UINT64, 0, 0, 0},
    {"Message size [bytes]", PAYLOAD_TYPE_UINT64, 0, 0, 8},
    {"Root", PAYLOAD_TYPE_INT32, 0, 0, 16},
};
static const struct make_entry peer_entries[] = {
    {"NCCL communicator ID", PAYLOAD_TYPE_UINT64, 0, 0, 0},
    {"Message size [bytes]", PAYLOAD_TYPE_UINT64, 0, 0, 8},
    {"Peer rank", PAYLOAD_TYPE_INT32, 0, 0, 16},
};
static const struct make_entry init_entries[] = {
    {"NCCL communicator ID", PAYLOAD_TYPE_UINT64, 0, 0, 0},
    {"No. of ranks", PAYLOAD_TYPE_INT32, 0, 0, 8},
    {"Rank", PAYLOAD_TYPE_INT32, 0, 0, 12},
    {"CUDA device", PAYLOAD_TYPE_INT32, 0, 0, 16},
};
/* Before version 2.25. */
static const struct make_entry old_entries[] = {{"Message size [bytes]", PAYLOAD_TYPE_UINT64, 0, 0, 8}};
static const struct make_entry mpi_entries[] = {
    {"communicator", PAYLOAD_TYPE_UINT64, 0, 0, 0},
    {"bytes", PAYLOAD_TYPE_UINT64, 0, 0, 8},
    {"peer", PAYLOAD_TYPE_INT32, 0, 0, 16},
};

enum { CALL = 1, PEER, INIT, OLD, MPI };

static uint64_t payloads;

static void begin(struct make_spool *spool, const char *domain)
{
    make_spool_begin(spool, PID, THREAD);
    make_nvtx_domain(spool, DOMAIN, domain);
    MAKE_SCHEMA(spool, CALL, STATIC, sizeof(struct payload), call_entries);
    MAKE_SCHEMA(spool, PEER, STATIC, sizeof(struct payload), peer_entries);
    MAKE_SCHEMA(spool, INIT, STATIC, sizeof(struct init), init_entries);
    MAKE_SCHEMA(spool, OLD, STATIC, sizeof(struct payload), old_entries);
    MAKE_SCHEMA(spool, MPI, STATIC, sizeof(struct payload), mpi_entries);
    payloads = 0;
}

static void push(struct make_spool *spool, const char *name, uint64_t time, uint32_t schema, const void *payload,
                 size_t size)
{
    struct make_nvtx nvtx = {.what = SPOOL_NVTX_PUSH, .time = time, .domain = DOMAIN, .text = name};
    if (payload) {
        make_payload(spool, ++payloads, 0, make_schema_id(schema), 0x1000, payload, size);
        nvtx.payload_type = SPOOL_NVTX_PAYLOAD_PIECES;
        nvtx.payload = payloads;
    }
    make_nvtx(spool, nvtx);
}

static void pop(struct make_spool *spool, uint64_t time)
{
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = time, .domain = DOMAIN});
}

/* A call from TIME to TIME + 100. */
static void call(struct make_spool *spool, const char *name, uint64_t time, uint32_t schema, uint64_t comm,
                 uint64_t bytes, int32_t number)
{
    const struct payload payload = {.comm = comm, .bytes = bytes, .number = number};
    push(spool, name, time, schema, &payload, sizeof(payload));
    pop(spool, time + 100);
}

static void plain(struct make_spool *spool, const char *name, uint64_t from, uint64_t to)
{
    push(spool, name, from, 0, NULL, 0);
    pop(spool, to);
}

static void initialise(struct make_spool *spool, uint64_t comm, int32_t ranks, int32_t rank, int32_t device)
{
    const struct init payload = {.comm = comm, .ranks = ranks, .rank = rank, .device = device};
    push(spool, "ncclCommInitRank", 10, INIT, &payload, sizeof(payload));
    pop(spool, 20);
}

static void open_cupti(struct make_spool *spool)
{
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, SPOOL_CUPTI, THREAD);
}

/* A kernel that is launched at TIME. */
static void launch(struct make_spool *spool, uint64_t time, uint32_t correlation, uint64_t name, uint32_t device)
{
    make_api(
        spool,
        (struct make_api){
            .driver = 1, .cbid = LAUNCH, .thread = THREAD, .start = time, .end = time + 5, .correlation = correlation});
    make_kernel(spool, (struct make_kernel){.name = name,
                                            .start = time + 1000,
                                            .end = time + 1900,
                                            .correlation = correlation,
                                            .device = device,
                                            .stream = correlation});
}

static const cJSON *kernel(const struct trace *trace, int n)
{
    return trace_event(trace, "X", "kernel", NULL, n);
}

UNIT_TEST(test_a_call_and_its_kernel_have_the_arguments)
{
    struct make_spool spool;
    begin(&spool, "NCCL");
    initialise(&spool, 0xabc, 4, 3, 0);
    call(&spool, "ncclAllGather", 1000, CALL, 0xabc, 64, 0);
    open_cupti(&spool);
    launch(&spool, 1050, 1, 0, 0);
    struct trace trace = trace_of_done(&spool);
    const cJSON *both[] = {trace_event(&trace, "X", "user_annotation", "ncclAllGather", 0), kernel(&trace, 0)};
    for (int i = 0; i < 2; i++) {
        assert_true(arg_text_is(both[i], "Collective name", "_allgather_base"));
        assert_true(arg_text_is(both[i], "communicator", "0xabc"));
        assert_true(arg_is(both[i], "Group size", 4));
        assert_true(arg_is(both[i], "Rank", 3));
        assert_true(arg_is(both[i], "Seq", 0));
        assert_true(arg_is(both[i], "In msg nelems", 64));
        assert_true(arg_is(both[i], "Out msg nelems", 256));
        assert_true(arg_text_is(both[i], "dtype", "Byte"));
        assert_true(arg_is(both[i], "Root", 0));
        assert_null(event_arg(both[i], "operations"));
    }
    /* Initialisation is not an operation. */
    assert_null(event_arg(trace_event(&trace, "X", "user_annotation", "ncclCommInitRank", 0), "Collective name"));
    trace_release(&trace);
}

UNIT_TEST(test_other_domains_and_kernels_have_none)
{
    struct make_spool spool;
    begin(&spool, "NCCL of somebody else");
    call(&spool, "ncclAllReduce", 1000, CALL, 0xabc, 64, 0);
    open_cupti(&spool);
    launch(&spool, 1050, 1, 0, 0);
    struct trace trace = trace_of_done(&spool);
    assert_null(event_arg(trace_event(&trace, "X", "user_annotation", NULL, 0), "Collective name"));
    assert_null(event_arg(kernel(&trace, 0), "Collective name"));
    trace_release(&trace);
}

UNIT_TEST(test_a_kernel_that_is_launched_after_the_call_has_none)
{
    struct make_spool spool;
    begin(&spool, "NCCL");
    call(&spool, "ncclAllReduce", 1000, CALL, 0xabc, 64, 0);
    open_cupti(&spool);
    launch(&spool, 1150, 1, 0, 0);
    struct trace trace = trace_of_done(&spool);
    assert_null(event_arg(kernel(&trace, 0), "Collective name"));
    trace_release(&trace);
}

/* Calls of two communicators in turn, and sends and receives between them. */
UNIT_TEST(test_operations_are_numbered_by_communicator_and_peer)
{
    static const struct {
        const char *name;
        uint64_t comm;
        int32_t peer;
        double sequence;
    } calls[] = {{"ncclAllReduce", 1, 0, 0}, {"ncclAllReduce", 2, 0, 0}, {"ncclBroadcast", 1, 0, 1},
                 {"ncclSend", 1, 5, 0},      {"ncclRecv", 1, 5, 0},      {"ncclSend", 1, 6, 0},
                 {"ncclSend", 1, 5, 1},      {"ncclAllReduce", 1, 0, 2}};
    const int count = sizeof(calls) / sizeof(*calls);
    struct make_spool spool;
    begin(&spool, "NCCL");
    for (int i = 0; i < count; i++)
        call(&spool, calls[i].name, 1000 * (uint64_t)(i + 1), PEER, calls[i].comm, 64, calls[i].peer);
    struct trace trace = trace_of_done(&spool);
    for (int i = 0; i < count; i++)
        assert_true(arg_is(trace_event(&trace, "X", "user_annotation", NULL, i), "Seq", calls[i].sequence));
    assert_true(arg_is(trace_event(&trace, "X", NULL, "ncclSend", 0), "Dst Rank", 5));
    assert_true(arg_is(trace_event(&trace, "X", NULL, "ncclRecv", 0), "Src Rank", 5));
    trace_release(&trace);
}

/* Two calls of one function become one kernel, a third one another. */
UNIT_TEST(test_a_group_launches_its_kernels_at_its_end)
{
    static const char reduce[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                      gather[] = "ncclDevKernel_AllGather_RING_LL";
    struct make_spool spool;
    begin(&spool, "NCCL");
    make_pointer_name(&spool, 0x10, reduce);
    make_pointer_name(&spool, 0x20, gather);
    plain(&spool, "ncclGroupStart", 900, 910);
    call(&spool, "ncclAllReduce", 1000, CALL, 1, 64, 0);
    plain(&spool, "ncclGroupStart", 1150, 1160);
    call(&spool, "ncclAllGather", 1200, CALL, 1, 128, 0);
    plain(&spool, "ncclGroupEnd", 1350, 1360);
    call(&spool, "ncclAllReduce", 1400, CALL, 1, 32, 0);
    plain(&spool, "ncclGroupEnd", 1600, 2000);
    call(&spool, "ncclAllReduce", 2100, CALL, 1, 16, 0);
    open_cupti(&spool);
    launch(&spool, 1700, 1, 0x20, 0);
    launch(&spool, 1800, 2, 0x10, 0);
    launch(&spool, 2150, 3, 0x10, 0);
    struct trace trace = trace_of_done(&spool);
    assert_true(arg_text_is(kernel(&trace, 0), "Collective name", "_allgather_base"));
    assert_true(arg_is(kernel(&trace, 0), "Seq", 1));
    assert_null(event_arg(kernel(&trace, 0), "operations"));
    assert_true(arg_text_is(kernel(&trace, 1), "Collective name", "allreduce"));
    assert_true(arg_is(kernel(&trace, 1), "Seq", 0));
    assert_true(arg_is(kernel(&trace, 1), "operations", 2));
    assert_non_null(event_arg(kernel(&trace, 1), "group call"));
    assert_null(event_arg(kernel(&trace, 0), "group call"));
    assert_null(event_arg(kernel(&trace, 2), "group call"));
    assert_true(arg_is(kernel(&trace, 2), "Seq", 3));
    assert_null(event_arg(kernel(&trace, 2), "operations"));
    trace_release(&trace);
}

/* One thread drives two GPUs: each communicator's call goes to the kernel on its device. */
UNIT_TEST(test_calls_of_a_group_go_to_kernels_on_their_device)
{
    struct make_spool spool;
    begin(&spool, "NCCL");
    make_pointer_name(&spool, 0x10, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    initialise(&spool, 1, 2, 0, 0);
    initialise(&spool, 2, 2, 1, 1);
    plain(&spool, "ncclGroupStart", 900, 910);
    call(&spool, "ncclAllReduce", 1000, CALL, 1, 64, 0);
    call(&spool, "ncclAllReduce", 1200, CALL, 2, 64, 0);
    plain(&spool, "ncclGroupEnd", 1600, 2000);
    open_cupti(&spool);
    launch(&spool, 1700, 1, 0x10, 1);
    launch(&spool, 1800, 2, 0x10, 0);
    struct trace trace = trace_of_done(&spool);
    for (int i = 0; i < 2; i++) {
        const cJSON *event = kernel(&trace, i);
        assert_true(arg_text_is(event, "communicator", arg_is(event, "device", 1) ? "0x2" : "0x1"));
        assert_null(event_arg(event, "operations"));
    }
    trace_release(&trace);
}

/* ncclCommInitAll: which rank calls is not known, but each calls every operation. */
UNIT_TEST(test_ranks_of_one_communicator_in_one_process_count_together)
{
    struct make_spool spool;
    begin(&spool, "NCCL");
    initialise(&spool, 1, 2, 0, 0);
    initialise(&spool, 1, 2, 1, 1);
    for (uint64_t i = 0; i < 4; i++)
        call(&spool, "ncclAllReduce", 1000 * (i + 1), CALL, 1, 64, 0);
    struct trace trace = trace_of_done(&spool);
    for (int i = 0; i < 4; i++) {
        const cJSON *event = trace_event(&trace, "X", NULL, "ncclAllReduce", i);
        assert_true(arg_is(event, "Seq", i / 2));
        assert_null(event_arg(event, "Rank"));
        assert_true(arg_is(event, "Group size", 2));
    }
    trace_release(&trace);
}

UNIT_TEST(test_payloads_without_communicator_say_what_they_have)
{
    struct make_spool spool;
    begin(&spool, "NCCL");
    call(&spool, "ncclAllReduce", 1000, OLD, 7, 64, 0);
    call(&spool, "ncclAllGather", 2000, OLD, 7, 64, 0);
    struct trace trace = trace_of_done(&spool);
    const cJSON *event = trace_event(&trace, "X", NULL, "ncclAllReduce", 0);
    assert_true(arg_is(event, "In msg nelems", 64));
    assert_null(event_arg(event, "communicator"));
    assert_null(event_arg(event, "Seq"));
    /* How many ranks gather is not known. */
    assert_null(event_arg(trace_event(&trace, "X", NULL, "ncclAllGather", 0), "Out msg nelems"));
    trace_release(&trace);
}

/* As gputrace's library for MPI says it. */
UNIT_TEST(test_payloads_that_say_ranks_and_sequence_are_believed)
{
    static const struct make_entry entries[] = {
        {"communicator", PAYLOAD_TYPE_UINT64, 0, 0, 0}, {"ranks", PAYLOAD_TYPE_INT32, 0, 0, 8},
        {"rank", PAYLOAD_TYPE_INT32, 0, 0, 12},         {"sequence", PAYLOAD_TYPE_UINT64, 0, 0, 16},
        {"bytes", PAYLOAD_TYPE_UINT64, 0, 0, 24},
    };
    const struct {
        uint64_t communicator;
        int32_t ranks, rank;
        uint64_t sequence, bytes;
    } payload = {0x77, 4, 2, 41, 16};
    struct make_spool spool;
    begin(&spool, "MPI");
    MAKE_SCHEMA(&spool, MPI + 1, STATIC, sizeof(payload), entries);
    push(&spool, "MPI_Iallgather", 1000, MPI + 1, &payload, sizeof(payload));
    pop(&spool, 1100);
    struct trace trace = trace_of_done(&spool);
    const cJSON *event = trace_event(&trace, "X", NULL, "MPI_Iallgather", 0);
    assert_true(arg_is(event, "Seq", 41));
    assert_true(arg_is(event, "Group size", 4));
    assert_true(arg_is(event, "Rank", 2));
    assert_true(arg_is(event, "In msg nelems", 16));
    assert_true(arg_is(event, "Out msg nelems", 64));
    trace_release(&trace);
}

UNIT_TEST(test_calls_of_mpi_are_communication_and_launch_nothing)
{
    struct make_spool spool;
    begin(&spool, "MPI");
    call(&spool, "MPI_Isend", 1000, MPI, 0x44, 64, 3);
    call(&spool, "MPI_Allreduce", 2000, MPI, 0x44, 8, 0);
    call(&spool, "MPI_Wait", 3000, MPI, 0x44, 8, 0);
    open_cupti(&spool);
    launch(&spool, 2050, 1, 0, 0);
    struct trace trace = trace_of_done(&spool);
    const cJSON *send = trace_event(&trace, "X", NULL, "MPI_Isend", 0);
    assert_true(arg_text_is(send, "Collective name", "send"));
    assert_true(arg_is(send, "Dst Rank", 3));
    assert_true(arg_text_is(trace_event(&trace, "X", NULL, "MPI_Allreduce", 0), "communicator", "0x44"));
    assert_null(event_arg(trace_event(&trace, "X", NULL, "MPI_Wait", 0), "Collective name"));
    assert_null(event_arg(kernel(&trace, 0), "Collective name"));
    trace_release(&trace);
}

/* A kernel in flight, and a call that had not returned. */
UNIT_TEST(test_what_had_not_ended_has_the_arguments)
{
    const struct payload payload = {.comm = 9, .bytes = 64};
    struct make_spool spool;
    begin(&spool, "NCCL");
    push(&spool, "ncclAllReduce", 1000, CALL, &payload, sizeof(payload));
    open_cupti(&spool);
    make_api(&spool, (struct make_api){
                         .driver = 1, .cbid = LAUNCH, .thread = THREAD, .start = 1050, .end = 1060, .correlation = 1});
    make_kernel(&spool, (struct make_kernel){.correlation = 1, .in_flight = 1});
    struct trace trace = trace_of_done(&spool);
    const cJSON *open = trace_event(&trace, "X", NULL, "ncclAllReduce", 0);
    assert_non_null(event_arg(open, "open at end"));
    assert_true(arg_text_is(open, "communicator", "0x9"));
    assert_true(arg_text_is(trace_event(&trace, "i", "gpu_in_flight", NULL, 0), "communicator", "0x9"));
    trace_release(&trace);
}

UNIT_TEST(test_names_of_kernels_say_what_they_do)
{
    static const struct {
        const char *name;
        enum collective_kernels does;
    } kernels[] = {
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", COLLECTIVE_KERNEL_ALL_REDUCE},
        {"ncclDevKernel_Reduce_Sum_f32_RING_LL", COLLECTIVE_KERNEL_REDUCE},
        {"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", COLLECTIVE_KERNEL_REDUCE_SCATTER},
        {"ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs4K)", COLLECTIVE_KERNEL_ALL_GATHER},
        {"ncclDevKernel_SendRecv", COLLECTIVE_KERNEL_SEND_RECV},
        {"ncclDevKernel_Reduced", COLLECTIVE_NO_KERNEL},
        {"gemm", COLLECTIVE_NO_KERNEL},
    };
    for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
        assert_int_equal(collective_kernel_named(kernels[i].name, strlen(kernels[i].name)), kernels[i].does);
}

UNIT_MAIN(NULL, NULL)
