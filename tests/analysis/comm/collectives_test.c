/* Collective operations: calls and kernels that become one, numbers, and what computation overlaps. */
#include "tests/unit.h"

#include "analysis/base/options.h"
#include "analysis/comm/collectives.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace_known.h"

#define PID(rank) (100 + (int64_t)(rank))
#define NO_SEQUENCE FIELD_ABSENT

static const struct report_options options = {.sections = REPORT_BIT(REPORT_TEMPORAL), .workers = 1};
static struct sections sections;
static struct trace *const trace = &sections.trace;
static struct collectives collectives;

static uint32_t text(const char *words)
{
    return intern(&trace->strings, words, strlen(words));
}

UNIT_FIXTURE(begin)
{
    int status = sections_init(&sections, &options);
    collectives_init(&collectives, trace->space);
    return status;
}

UNIT_FIXTURE(end)
{
    collectives_release(&collectives);
    sections_release(&sections);
    return 0;
}

/* Each process is a rank, and has the GPU of that number. */
static void add_rank(int64_t rank)
{
    const struct trace_gpu_row row = {event_id_number(rank), event_id_number(PID(rank)), rank};
    assert_int_equal(trace_add_gpu_row(trace, &row), 0);
    struct trace_rank *known = trace_add_rank(trace, event_id_number(PID(rank)));
    *known = (struct trace_rank){event_id_number(PID(rank)), rank, rank, 2, EVENT_NO_TEXT};
}

static void give(const struct event_fields *event)
{
    assert_int_equal(dispatcher_event(&sections.dispatcher, event), 0);
    assert_int_equal(collectives_event(&collectives, trace, event), 0);
}

static struct event_fields operation(enum category category, const char *name, int64_t rank, int64_t sequence)
{
    struct event_fields event;
    event_begin(&event, category);
    event.phase = 'X';
    event.of.communication.collective = text(name);
    event.of.communication.communicator = text("0xabc");
    event.of.communication.dtype = text("Float");
    event.of.communication.in_elements = event.of.communication.out_elements = 256;
    event.of.communication.group_size = 2;
    event.of.communication.group_rank = rank;
    event.of.communication.group_sequence = sequence;
    return event;
}

static struct event_fields call_of(const char *name, int64_t rank, int64_t sequence, int64_t start, int64_t duration)
{
    struct event_fields event = operation(CATEGORY_USER_ANNOTATION, name, rank, sequence);
    event.process = event_id_number(PID(rank));
    event.thread = event_id_number(PID(rank));
    event.name = text("ncclAllReduce");
    event.start = start;
    event.duration = duration;
    return event;
}

static struct event_fields kernel_of(const char *name, int64_t rank, int64_t sequence, int64_t start, int64_t duration)
{
    struct event_fields event = operation(CATEGORY_KERNEL, name, rank, sequence);
    event.process = event_id_number(rank);
    event.thread = event_id_number(7);
    event.device = rank;
    event.of.gpu.context = 1;
    event.of.gpu.stream = 7;
    event.name = text("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
    event.start = start;
    event.duration = duration;
    return event;
}

static void call(const char *name, int64_t rank, int64_t sequence, int64_t start)
{
    struct event_fields event = call_of(name, rank, sequence, start, 10);
    give(&event);
}

static void kernel(const char *name, int64_t rank, int64_t sequence, int64_t start, int64_t duration)
{
    struct event_fields event = kernel_of(name, rank, sequence, start, duration);
    give(&event);
}

static void computing(int64_t rank, int64_t start, int64_t duration)
{
    struct event_fields event;
    event_begin(&event, CATEGORY_KERNEL);
    event.phase = 'X';
    event.process = event_id_number(rank);
    event.thread = event_id_number(8);
    event.device = rank;
    event.of.gpu.context = 1;
    event.of.gpu.stream = 8;
    event.name = text("gemm");
    event.start = start;
    event.duration = duration;
    give(&event);
}

#define MOST 32

/* All operations, those of several ranks one after another; SIZES: how many ranks each has. */
static size_t gather(struct collective *all, size_t *sizes)
{
    struct collectives_walk walk;
    const struct collective *ranks;
    size_t operations = 0, total = 0;
    assert_int_equal(sections_finish(&sections), 0);
    assert_int_equal(collectives_gather(&collectives, trace), 0);
    collectives_walk_begin(&walk, &collectives.all);
    for (size_t count; (count = collectives_next(&walk, &ranks)) > 0; total += count) {
        assert_true(total + count <= MOST);
        memcpy(all + total, ranks, count * sizeof(*all));
        sizes[operations++] = count;
    }
    assert_int_equal(collectives_walk_end(&walk), 0);
    return operations;
}

UNIT_TEST_WITH(a_call_and_its_kernel_are_one_operation_of_all_ranks, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    for (int64_t rank = 0; rank < 2; rank++)
        add_rank(rank);
    for (int64_t rank = 1; rank >= 0; rank--)
        for (int64_t i = 1; i >= 0; i--) {
            kernel("allreduce", rank, i, 1000 * i + 100 + rank, 50);
            call("AllReduce", rank, i, 1000 * i + 10 * rank);
        }
    assert_int_equal(gather(all, sizes), 2);
    assert_int_equal(sizes[0], 2);
    assert_int_equal(sizes[1], 2);
    for (int64_t i = 0; i < 4; i++) {
        const struct collective *one = &all[i];
        int64_t rank = i % 2, sequence = i / 2;
        assert_int_equal(one->rank, rank);
        assert_int_equal(one->group_rank, rank);
        assert_int_equal(one->pid, event_id_number(PID(rank)));
        assert_int_equal(one->sequence, sequence);
        assert_int_equal(one->kind, COLLECTIVE_ALLREDUCE);
        assert_int_equal(one->bytes, 1024);
        assert_int_equal(one->called, 1000 * sequence + 10 * rank);
        assert_int_equal(one->returned, one->called + 10);
        assert_int_equal(one->start, 1000 * sequence + 100 + rank);
        assert_int_equal(one->duration, 50);
        assert_int_equal(trace_device_id(trace, one->device), rank);
        assert_int_equal(trace_stream_id(trace, one->stream)->stream, 7);
        assert_int_equal(trace->threads.items[one->thread].process, one->process);
    }
}

static void call_of_group(const char *name, int64_t rank, int64_t sequence, int64_t start, int64_t group)
{
    struct event_fields event = call_of(name, rank, sequence, start, 10);
    event.of.communication.group_call = group;
    give(&event);
}

static void kernel_of_group(int64_t rank, int64_t start, int64_t group)
{
    struct event_fields event = kernel_of("allreduce", rank, 0, start, 50);
    event.of.communication.group_call = group;
    give(&event);
}

/* Its first call is named by the kernel. */
static void add_group(int64_t rank)
{
    add_rank(rank);
    call_of_group("allreduce", rank, 0, 10, 5);
    call_of_group("allreduce", rank, 1, 20, 5);
    call_of_group("allreduce", rank, 2, 30, 6);
    kernel_of_group(rank, 100, 5);
}

UNIT_TEST_WITH(all_calls_of_a_kernel_have_its_times, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    for (int64_t rank = 0; rank < 2; rank++)
        add_group(rank);
    assert_int_equal(gather(all, sizes), 3);
    for (size_t i = 0; i < 6; i++) {
        int64_t sequence = (int64_t)i / 2;
        assert_int_equal(all[i].sequence, sequence);
        assert_int_equal(all[i].called, 10 + 10 * sequence);
        assert_int_equal(all[i].start, sequence < 2 ? 100 : FIELD_ABSENT);
        assert_int_equal(all[i].joint, sequence == 1);
    }
    assert_int_equal(all[2].duration, 50);
    assert_int_equal(trace_device_id(trace, all[2].device), 0);
    /* the bytes of both are the kernel's, which is the first one's; the third has no kernel */
    assert_int_equal(all[0].kernel_bytes, 2 * all[0].bytes);
    assert_int_equal(all[0].kernel_bus_bytes, 2 * all[0].bytes); /* of two ranks */
    assert_int_equal(all[2].kernel_bytes, FIELD_ABSENT);
}

UNIT_TEST_WITH(each_replay_of_a_group_is_all_of_its_operations, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    add_group(0);
    kernel_of_group(0, 500, 5);
    assert_int_equal(gather(all, sizes), 5);
    assert_int_equal(all[1].sequence, 0);
    assert_int_equal(all[3].sequence, 1);
    for (size_t i = 1; i < 4; i += 2) {
        assert_int_equal(all[i].part, 1);
        assert_int_equal(all[i].called, FIELD_ABSENT);
        assert_int_equal(all[i].start, 500);
        assert_int_equal(all[i].joint, i == 3);
        assert_int_equal(all[i].kernel_bytes, i == 1 ? 2 * all[i].bytes : FIELD_ABSENT);
    }
}

static void pair_of_group(const char *name, int64_t sequence, int64_t peer, int64_t elements)
{
    struct event_fields event = call_of(name, 0, sequence, 10, 10);
    event.of.communication.group_call = 5;
    event.of.communication.peer = peer;
    event.of.communication.in_elements = event.of.communication.out_elements = elements;
    give(&event);
}

UNIT_TEST_WITH(a_kernel_of_pairs_moves_what_it_sends_or_what_it_receives, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    struct event_fields event = kernel_of("send", 0, 0, 100, 50);
    add_rank(0);
    pair_of_group("send", 0, 0, 100); /* to itself */
    pair_of_group("recv", 0, 0, 100);
    pair_of_group("send", 0, 1, 100);
    pair_of_group("recv", 0, 1, 40);
    event.of.communication.peer = 0;
    event.of.communication.group_call = 5;
    give(&event);
    size_t count = gather(all, sizes), leaders = 0;
    for (size_t i = 0; i < count; i++) {
        if (all[i].kernel_bytes == FIELD_ABSENT)
            continue;
        leaders++;
        assert_int_equal(all[i].bytes % 100, 0);
        assert_int_equal(all[i].kernel_bytes, 2 * all[i].bytes);
        assert_int_equal(all[i].kernel_bus_bytes, all[i].bytes);
    }
    assert_int_equal(leaders, 1);
}

UNIT_TEST_WITH(a_kernel_in_flight_is_that_of_all_its_calls, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    struct event_fields flying = kernel_of("allreduce", 0, 0, 100, 0);
    add_rank(0);
    call_of_group("allreduce", 0, 0, 10, 5);
    call_of_group("allreduce", 0, 1, 20, 5);
    flying.category = CATEGORY_GPU_IN_FLIGHT;
    flying.phase = 'i';
    flying.of.communication.group_call = 5;
    give(&flying);
    assert_int_equal(gather(all, sizes), 2);
    assert_int_equal(all[1].in_flight, 1);
    assert_int_equal(all[1].start, FIELD_ABSENT);
}

UNIT_TEST_WITH(another_communicator_is_another_operation, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    add_rank(0), add_rank(1);
    struct event_fields other = kernel_of("allreduce", 1, 0, 100, 50);
    other.of.communication.communicator = text("0xdef");
    give(&other);
    kernel("allreduce", 0, 0, 100, 50);
    assert_int_equal(gather(all, sizes), 2);
    assert_int_equal(sizes[0], 1);
}

UNIT_TEST_WITH(groups_of_one_name_with_different_ranks_are_apart, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    for (int64_t rank = 0; rank < 2; rank++) {
        add_rank(rank);
        struct event_fields event = kernel_of("allreduce", rank, 0, 100, 50);
        event.of.communication.group_ranks = text(rank ? "[1, 3]" : "[0, 2]");
        give(&event);
    }
    assert_int_equal(gather(all, sizes), 2);
}

UNIT_TEST_WITH(without_numbers_operations_are_counted_by_time, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    add_rank(0), add_rank(1);
    for (int64_t rank = 0; rank < 2; rank++)
        for (int64_t i = 2; i >= 0; i--) {
            kernel("allreduce", rank, NO_SEQUENCE, 1000 * i + 100, 50 + i);
            call("allreduce", rank, NO_SEQUENCE, 1000 * i);
        }
    assert_int_equal(gather(all, sizes), 3);
    for (int64_t i = 0; i < 6; i++) {
        assert_int_equal(all[i].sequence, i / 2);
        assert_int_equal(all[i].called, i / 2 * 1000);
        assert_int_equal(all[i].duration, 50 + i / 2);
    }
}

UNIT_TEST_WITH(an_operator_within_an_operator_is_not_counted, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    add_rank(0);
    for (int64_t i = 0; i < 2; i++) {
        struct event_fields outer = call_of("allreduce", 0, NO_SEQUENCE, 1000 * i, 100);
        struct event_fields inner = call_of("allreduce", 0, NO_SEQUENCE, 1000 * i + 10, 50);
        outer.category = inner.category = CATEGORY_CPU_OP;
        give(&outer), give(&inner);
        kernel("allreduce", 0, NO_SEQUENCE, 1000 * i + 60, 50);
    }
    assert_int_equal(gather(all, sizes), 2);
    assert_int_equal(all[1].called, 1000);
    assert_int_equal(all[1].returned, 1100);
    assert_int_equal(all[1].start, 1060);
}

UNIT_TEST_WITH(a_send_meets_its_receive, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    add_rank(0), add_rank(1);
    struct event_fields collective = kernel_of("allreduce", 0, 0, 50, 10);
    struct event_fields send = kernel_of("Send", 0, 0, 100, 50), receive = kernel_of("Recv", 1, 0, 90, 60);
    struct event_fields back = kernel_of("Send", 1, 0, 200, 50);
    send.of.communication.peer = 1, receive.of.communication.peer = 0, back.of.communication.peer = 0;
    give(&collective), give(&send), give(&receive), give(&back);
    assert_int_equal(gather(all, sizes), 3);
    assert_int_equal(sizes[0], 1); /* the collective, whose number is the same */
    assert_int_equal(sizes[1], 2);
    assert_int_equal(all[1].kind, COLLECTIVE_SEND);
    assert_int_equal(all[2].kind, COLLECTIVE_RECV);
    assert_int_equal(all[2].source, 0);
    assert_int_equal(all[2].target, 1);
    assert_int_equal(sizes[2], 1);
}

UNIT_TEST_WITH(a_number_that_comes_again_is_told_apart, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    add_rank(0), add_rank(1);
    for (int64_t rank = 0; rank < 2; rank++) {
        call("allreduce", rank, 4, 10);
        kernel("allreduce", rank, 4, 100, 50);
        kernel("allreduce", rank, 4, 200, 60);
    }
    assert_int_equal(gather(all, sizes), 2);
    assert_int_equal(all[0].part, 0);
    assert_int_equal(all[0].called, 10);
    assert_int_equal(all[0].start, 100);
    assert_int_equal(all[2].part, 1);
    assert_int_equal(all[2].called, FIELD_ABSENT);
    assert_int_equal(all[2].start, 200);
}

UNIT_TEST_WITH(what_did_not_end_is_known_as_such, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    add_rank(0), add_rank(1);
    struct event_fields open = call_of("allreduce", 1, 1, 500, 100);
    open.of.range.open_at_end = 1;
    struct event_fields flying = kernel_of("allreduce", 0, 1, 510, 0);
    flying.phase = 'i';
    flying.category = CATEGORY_GPU_IN_FLIGHT;
    give(&open), give(&flying);
    call("allreduce", 0, 1, 500);
    assert_int_equal(gather(all, sizes), 1);
    assert_int_equal(sizes[0], 2);
    assert_true(all[0].in_flight);
    assert_int_equal(all[0].returned, 510);
    assert_int_equal(all[0].start, FIELD_ABSENT);
    assert_false(all[1].in_flight);
    assert_int_equal(all[1].called, 500);
    assert_int_equal(all[1].returned, FIELD_ABSENT);
}

UNIT_TEST_WITH(what_computation_overlaps_is_not_exposed, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    add_rank(0), add_rank(1);
    computing(0, 0, 100);
    computing(0, 50, 80);                /* to 130 */
    computing(0, 180, 10);               /* to 190 */
    computing(1, 0, 1000);               /* another GPU */
    kernel("allreduce", 0, 0, 120, 100); /* to 220: 10 + 10 of it are overlapped */
    kernel("allreduce", 0, 1, 300, 40);  /* alone */
    kernel("allreduce", 0, 2, 320, 40);  /* beside another one of its sort */
    kernel("allreduce", 1, 0, 120, 100);
    assert_int_equal(gather(all, sizes), 3);
    assert_int_equal(all[0].exposed, 80);
    assert_int_equal(all[1].exposed, 0);
    assert_int_equal(all[2].exposed, 40);
    assert_int_equal(all[3].exposed, 40);
}

UNIT_TEST_WITH(ranks_follow_from_the_list_of_a_group, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    struct event_fields known = kernel_of("allreduce", 1, 0, 100, 50);
    known.of.communication.group_ranks = text("[4, 12]");
    give(&known);
    assert_int_equal(gather(all, sizes), 1);
    assert_int_equal(all[0].rank, 12);
}

UNIT_TEST_WITH(other_events_are_no_operations, begin, end)
{
    struct collective all[MOST];
    size_t sizes[MOST];
    struct event_fields wait = call_of("wait", 0, 0, 100, 50);
    give(&wait);
    computing(0, 100, 50);
    assert_int_equal(gather(all, sizes), 0);
}

/* --- words --- */

UNIT_TEST(names_of_nccl_mpi_and_pytorch_are_known)
{
    static const struct {
        const char *name;
        enum collective_kind kind;
    } names[] = {
        {"ncclAllReduce", COLLECTIVE_ALLREDUCE},
        {"allreduce_coalesced", COLLECTIVE_ALLREDUCE},
        {"_allgather_base", COLLECTIVE_ALLGATHER},
        {"all_gather_into_tensor_coalesced", COLLECTIVE_ALLGATHER},
        {"_reduce_scatter_base", COLLECTIVE_REDUCESCATTER},
        {"ReduceScatter", COLLECTIVE_REDUCESCATTER},
        {"all_to_allv", COLLECTIVE_ALLTOALL},
        {"MPI_Ibcast", COLLECTIVE_BROADCAST},
        {"ncclBroadcast", COLLECTIVE_BROADCAST},
        {"ncclReduce", COLLECTIVE_REDUCE},
        {"MPI_Gatherv", COLLECTIVE_GATHER},
        {"MPI_Irecv", COLLECTIVE_RECV},
        {"MPI_Isend", COLLECTIVE_SEND},
        {"MPI_Sendrecv", COLLECTIVE_SENDRECV},
        {"MPI_Iallreduce", COLLECTIVE_ALLREDUCE},
        {"barrier", COLLECTIVE_BARRIER},
        {"wait", COLLECTIVE_OTHER},
        {"", COLLECTIVE_OTHER},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_int_equal(collective_kind_of(names[i].name), names[i].kind);
}

UNIT_TEST(sizes_of_types_are_known)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } types[] = {{"Float", 4}, {"BFloat16", 2},     {"ncclFloat16", 2}, {"Half", 2}, {"Double", 8},
                 {"Long", 8},  {"ncclUint8", 1},    {"Byte", 1},        {"Int", 4},  {"Float8_e4m3fn", 1},
                 {"Bool", 1},  {"ncclBfloat16", 2}, {"words", 0},       {"", 0}};
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        assert_int_equal(collective_type_bytes(types[i].name), types[i].bytes);
}

UNIT_TEST(sizes_and_factors_are_those_of_nccl_tests)
{
    assert_int_equal(collective_elements(COLLECTIVE_ALLREDUCE, 100, 100, 4), 100);
    assert_int_equal(collective_elements(COLLECTIVE_ALLGATHER, 100, 400, 4), 400);
    assert_int_equal(collective_elements(COLLECTIVE_REDUCESCATTER, 400, 100, 4), 400);
    assert_int_equal(collective_elements(COLLECTIVE_GATHER, 100, FIELD_ABSENT, 4), 400);
    assert_int_equal(collective_elements(COLLECTIVE_SCATTER, 400, 100, 4), 400);
    assert_true(collective_bus_factor(COLLECTIVE_ALLREDUCE, 4) == 1.5);
    assert_true(collective_bus_factor(COLLECTIVE_ALLGATHER, 4) == 0.75);
    assert_true(collective_bus_factor(COLLECTIVE_ALLTOALL, 2) == 0.5);
    assert_true(collective_bus_factor(COLLECTIVE_BROADCAST, 4) == 1);
    assert_true(collective_bus_factor(COLLECTIVE_BARRIER, 4) == 0);
    assert_true(collective_bus_factor(COLLECTIVE_ALLREDUCE, FIELD_ABSENT) == 0);
}

UNIT_MAIN(NULL, NULL)
