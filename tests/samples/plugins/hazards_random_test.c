/*
 * Random programs, judged by the plugin and by brute force: a graph of everything that happens, with an edge for each
 * order that CUDA gives, and its closure. Memory is a few bytes, so that what a use touches is a set of bits.
 *
 * Without functions of the host the plugin must find exactly the operations that race with an earlier one. With them it
 * is tried what the program may have meant by them: each waits for something the host does later, and signals the host
 * when it is over. Whatever it meant, nothing may be reported that was not a race.
 */
#include "tests/unit.h"

#include "samples/plugins/hazards_order.h"
#include "tests/samples/plugins/fake_host.h"

enum { STEPS = 40, STREAMS = 5, EVENTS = 4, BYTES = 64, NODES = 2 * STEPS, WORDS = (NODES + 63) / 64 };

/* Step I is two nodes: what the host does, and what is put into a stream. */
#define HOST(i) (2 * (i))
#define WORK(i) (2 * (i) + 1)

struct step {
    bool uses;               /* touches memory */
    uint64_t reads, writes;  /* a bit for each byte */
    bool gate;               /* a function of the host */
    bool heard[STREAMS + 1]; /* the host waited for a stream; the last: for an event */
    int event_node;
};

struct program {
    struct step steps[STEPS];
    int count;
    uint64_t before[NODES][WORDS]; /* a bit for each node that comes before */
    int tail[STREAMS];             /* the last node of each stream, -1: none */
    int recorded[EVENTS];
    bool blocking[STREAMS]; /* 0 is the legacy default stream */
    bool cyclic;
};

static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % limit;
}

/* --- the graph --- */

static bool has(const uint64_t *set, int node)
{
    return set[node / 64] >> (node % 64) & 1;
}

static void edge(struct program *program, int from, int to)
{
    if (from >= 0)
        program->before[to][from / 64] |= UINT64_C(1) << (from % 64);
}

static void put(struct program *program, int i, int stream)
{
    edge(program, HOST(i), WORK(i));
    edge(program, program->tail[stream], WORK(i));
    for (int other = 0; other < STREAMS; other++)
        if ((stream == 0 && program->blocking[other]) || (other == 0 && program->blocking[stream]))
            edge(program, program->tail[other], WORK(i));
    program->tail[stream] = WORK(i);
}

static void close_graph(struct program *program)
{
    for (int i = 1; i < program->count; i++)
        edge(program, HOST(i - 1), HOST(i));
    for (int via = 0; via < NODES; via++)
        for (int to = 0; to < NODES; to++)
            if (has(program->before[to], via))
                for (int word = 0; word < WORDS; word++)
                    program->before[to][word] |= program->before[via][word];
    for (int node = 0; node < NODES; node++)
        program->cyclic |= has(program->before[node], node);
}

static bool races(const struct program *program, int a, int b)
{
    const struct step *one = &program->steps[a], *two = &program->steps[b];
    bool conflict = (one->writes & (two->reads | two->writes)) || (one->reads & two->writes);
    return one->uses && two->uses && conflict && !has(program->before[WORK(b)], WORK(a)) &&
           !has(program->before[WORK(a)], WORK(b));
}

/* --- the program: its callbacks are made as it is --- */

#define BASE UINT64_C(0x7f0000000000)

static struct CUstream_st *stream_handle(int stream)
{
    return stream == 0 ? NULL : (struct CUstream_st *)(uintptr_t)(0x5000 + stream * 16);
}

static struct CUevent_st *event_handle(int event)
{
    return (struct CUevent_st *)(uintptr_t)(0x6000 + event * 16);
}

static struct shape random_shape(void)
{
    uint32_t pitch = 4 + random_below(8), width = 1 + random_below(pitch), height = 1 + random_below(3);
    uint32_t extent = (height - 1) * pitch + width;
    return shape_box(random_below(BYTES - extent + 1), width, height, pitch, 1, 0);
}

static uint64_t bits_of(const struct shape *shape)
{
    uint64_t bits = 0;
    for (uint64_t row = 0; row < shape->height; row++)
        for (uint64_t i = 0; i < shape->width; i++)
            bits |= UINT64_C(1) << (shape->start + row * shape->pitch + i);
    return bits;
}

static void step_set(struct program *program, int i, int stream)
{
    struct shape shape = random_shape();
    program->steps[i].uses = true;
    program->steps[i].writes = bits_of(&shape);
    put(program, i, stream);
    FAKE(memset, .address = BASE + shape.start, .bytes = shape.width * shape.height, .width = shape.width,
         .height = shape.height, .pitch = shape.pitch, .stream = stream_handle(stream), .stream_given = 1);
}

static void step_copy(struct program *program, int i, int stream)
{
    struct shape from = random_shape(), to = from;
    to.start = random_below((uint32_t)(BYTES - (shape_end(&from) - from.start) + 1));
    program->steps[i].uses = true;
    program->steps[i].reads = bits_of(&from);
    program->steps[i].writes = bits_of(&to);
    put(program, i, stream);
    FAKE(memcpy, .target = {.address = BASE + to.start, .pitch = to.pitch},
         .source = {.address = BASE + from.start, .pitch = from.pitch}, .bytes = from.width * from.height,
         .width = from.width, .height = from.height, .depth = 1, .stream = stream_handle(stream), .stream_given = 1,
         .target_side = 'D', .source_side = 'D', .count = 1);
}

static void step_kernel(struct program *program, int i, int stream)
{
    uint32_t start = random_below(BYTES), bytes = 1 + random_below(BYTES - start), mode = 1 + random_below(3);
    struct shape shape = shape_run(start, bytes);
    program->steps[i].uses = true;
    program->steps[i].reads = mode & GPUTRACE_ACCESS_READ ? bits_of(&shape) : 0;
    program->steps[i].writes = mode & GPUTRACE_ACCESS_WRITE ? bits_of(&shape) : 0;
    put(program, i, stream);
    FAKE(memory_access, .address = BASE + start, .bytes = bytes, .stream = stream_handle(stream), .mode = mode);
    FAKE(kernel_launch, .name = "kernel", .stream = stream_handle(stream));
}

static void step_record(struct program *program, int i, int stream)
{
    uint32_t event = random_below(EVENTS);
    put(program, i, stream);
    program->recorded[event] = WORK(i);
    FAKE(event_record, .event = event_handle((int)event), .stream = stream_handle(stream));
}

/* A wait is ordered in its stream, but does not order others through the legacy default stream by itself. */
static void step_wait(struct program *program, int i, int stream)
{
    uint32_t event = random_below(EVENTS);
    edge(program, HOST(i), WORK(i));
    edge(program, program->tail[stream], WORK(i));
    edge(program, program->recorded[event], WORK(i));
    program->tail[stream] = WORK(i);
    FAKE(event_wait, .event = event_handle((int)event), .stream = stream_handle(stream));
}

static void step_stream_waited(struct program *program, int i, int stream)
{
    for (int other = 0; other < STREAMS; other++)
        if (other == stream || (stream == 0 && program->blocking[other]) || (other == 0 && program->blocking[stream]))
            edge(program, program->tail[other], HOST(i));
    if (random_below(2))
        FAKE(stream_synchronization, .stream = stream_handle(stream));
    else
        FAKE(stream_query, .stream = stream_handle(stream));
}

static void step_event_waited(struct program *program, int i)
{
    uint32_t event = random_below(EVENTS);
    edge(program, program->recorded[event], HOST(i));
    if (random_below(2))
        FAKE(event_synchronization, .event = event_handle((int)event));
    else
        FAKE(event_query, .event = event_handle((int)event));
}

static void step_device_waited(struct program *program, int i)
{
    for (int stream = 0; stream < STREAMS; stream++)
        edge(program, program->tail[stream], HOST(i));
    fake_device_synchronization(&(struct gputrace_device_synchronization){.call = fake_call("sync")});
}

static void step_host_function(struct program *program, int i, int stream)
{
    program->steps[i].gate = true;
    put(program, i, stream);
    FAKE(host_function, .stream = stream_handle(stream));
}

/* Asked and heard that it is not done: nothing is known. */
static void step_not_ready(int stream)
{
    struct gputrace_stream_query query = {.call = fake_call("query"), .stream = stream_handle(stream)};
    query.call.result = 600;
    fake_stream_query(&query);
}

static void step(struct program *program, int i, bool gates)
{
    int stream = (int)random_below(STREAMS);
    fake.stack = (uint32_t)i + 1;
    switch (random_below(gates ? 17 : 15)) {
    case 0:
    case 1:
    case 2: step_set(program, i, stream); break;
    case 3:
    case 4:
    case 5: step_copy(program, i, stream); break;
    case 6:
    case 7: step_kernel(program, i, stream); break;
    case 8:
    case 9: step_record(program, i, stream); break;
    case 10:
    case 11: step_wait(program, i, stream); break;
    case 12: step_stream_waited(program, i, stream); break;
    case 13: step_event_waited(program, i); break;
    case 14: random_below(4) ? step_not_ready(stream) : step_device_waited(program, i); break;
    default: step_host_function(program, i, stream); break;
    }
}

/* What the functions of the host may have meant: each is over after some later step of the host, and that is known to
 * the host from some step after that on. */
static void mean_something(struct program *program)
{
    for (int i = 0; i < program->count; i++) {
        if (!program->steps[i].gate)
            continue;
        int waits_for = i + (int)random_below((uint32_t)(program->count - i));
        int known = waits_for + (int)random_below((uint32_t)(program->count - waits_for));
        if (random_below(4))
            edge(program, HOST(waits_for), WORK(i));
        if (known > i && random_below(4))
            edge(program, WORK(i), HOST(known));
    }
}

/* --- judging --- */

static void program_init(struct program *program)
{
    memset(program, 0, sizeof(*program));
    fake.line_count = 0;
    FAKE(process_fork, .parent = 1); /* the plugin starts anew */
    for (int event = 0; event < EVENTS; event++) {
        program->recorded[event] = -1;
        FAKE(event_creation, .event = event_handle(event));
    }
    for (int stream = 0; stream < STREAMS; stream++) {
        program->tail[stream] = -1;
        program->blocking[stream] = stream > 0 && random_below(3) == 0;
        if (stream > 0)
            FAKE(stream_creation, .stream = stream_handle(stream), .stream_id = (uint32_t)(10 + stream),
                 .flags = !program->blocking[stream]);
    }
    FAKE(memory_allocation, .address = BASE, .bytes = BYTES, .kind = GPUTRACE_MEMORY_DEVICE,
         .stream_id = GPUTRACE_NO_STREAM);
}

static void program_run(struct program *program, bool gates)
{
    program_init(program);
    program->count = STEPS;
    for (int i = 0; i < STEPS; i++)
        step(program, i, gates);
}

/* Reports are two lines each, with the stacks of the second and of the first. Marks what was reported; each must be
 * true.
 */
static unsigned check_reported(const struct program *program, bool *reported)
{
    unsigned reports = 0;
    for (unsigned line = 0; line + 1 < fake.line_count; line += 2) {
        int second = (int)fake.lines[line].stack - 1, first = (int)fake.lines[line + 1].stack - 1;
        if (!races(program, first, second)) {
            fake_show();
            fail_msg("steps %d and %d do not race", first, second);
        }
        reported[second] = true;
        reports++;
    }
    return reports;
}

UNIT_TEST(finds_exactly_what_races)
{
    unsigned racing = 0, clean = 0;
    assert_int_equal(fake_start("top=1000"), 0);
    random_state = 1;
    for (int i = 0; i < 4000; i++) {
        struct program program;
        bool reported[STEPS] = {false}, any = false;
        program_run(&program, false);
        close_graph(&program);
        check_reported(&program, reported);
        for (int b = 0; b < STEPS; b++) {
            bool racy = false;
            for (int a = 0; a < b; a++)
                racy |= races(&program, a, b);
            if (racy != reported[b])
                fail_msg("program %d: step %d races: %d, reported: %d", i, b, racy, reported[b]);
            racing += racy;
            any |= racy;
        }
        clean += !any;
    }
    assert_true(racing > 1000);
    print_message("# %u racing steps, %u programs without\n", racing, clean);
}

UNIT_TEST(no_false_report_whatever_host_functions_do)
{
    unsigned reported_in_all = 0, possible = 0;
    assert_int_equal(fake_start("top=1000"), 0);
    random_state = 2;
    for (int i = 0; i < 4000; i++) {
        struct program program;
        program_run(&program, true);
        for (int meaning = 0; meaning < 8; meaning++) {
            struct program meant = program;
            bool reported[STEPS] = {false};
            mean_something(&meant);
            close_graph(&meant);
            if (meant.cyclic)
                continue; /* it would wait for itself */
            possible++;
            reported_in_all += check_reported(&meant, reported);
        }
    }
    assert_true(possible > 4000);
    assert_true(reported_in_all > 1000);
}

UNIT_MAIN(NULL, NULL)
