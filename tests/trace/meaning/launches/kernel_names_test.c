#include "tests/unit.h"

#include "tests/trace/meaning/trace_reading.h"

#define PID 1234
#define NAME UINT64_C(0x7f0000001000)

/* Space for names first, then for CUPTI's records. */
static void begin(struct make_spool *spool)
{
    make_spool_init(spool, PID, 130001);
    make_spool_header(spool)->state = SPOOL_OPEN;
    make_spool_chunk(spool, SPOOL_RECORDS, PID);
}

static void begin_records(struct make_spool *spool)
{
    make_spool_done(spool, SPOOL_IN_USE);
    make_spool_chunk(spool, SPOOL_CUPTI, PID);
}

static struct trace end(struct make_spool *spool)
{
    make_spool_done(spool, SPOOL_IN_USE);
    return trace_of(spool);
}

static void assert_named(const struct trace *trace, const char *name, int count)
{
    assert_int_equal(trace_count(trace, "X", "kernel", name) + trace_count(trace, "i", "gpu_in_flight", name), count);
}

UNIT_TEST(a_kernel_that_nobody_read_has_the_name_that_its_launch_reported)
{
    struct make_spool spool;
    begin(&spool);
    make_launch_name(&spool, 7, "_Z5firsti");
    begin_records(&spool);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 7, .in_flight = 1});
    struct trace trace = end(&spool);
    assert_named(&trace, "first(int)", 1);
    assert_int_equal(trace.summary.losses.unnamed, 0);
    trace_release(&trace);
}

/* The record of a later launch may stand in an earlier chunk. */
UNIT_TEST(later_launches_of_the_kernel_have_it_by_their_pointer)
{
    struct make_spool spool;
    begin(&spool);
    make_launch_name(&spool, 7, "_Z5firsti");
    begin_records(&spool);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 9, .start = 8000, .end = 9000});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 7, .start = 2000, .end = 3000});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 8, .start = 4000, .end = 5000});
    struct trace trace = end(&spool);
    assert_named(&trace, "first(int)", 3);
    assert_int_equal(trace.summary.losses.unnamed, 0);
    trace_release(&trace);
}

/* CUPTI may go on with the name of a kernel whose code is gone. */
UNIT_TEST(a_launchs_recorded_name_counts_more_than_what_was_read)
{
    struct make_spool spool;
    begin(&spool);
    make_pointer_name_since(&spool, 1000, NAME, "gone");
    make_launch_name(&spool, 7, "launched");
    make_pointer_name_since(&spool, 9000, NAME, "new");
    make_launch_name(&spool, 10, "flying");
    begin_records(&spool);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 6, .start = 1500, .end = 1600});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 7, .start = 2000, .end = 3000});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 8, .start = 4000, .end = 5000});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 9, .start = 9000, .end = 9500});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 10, .in_flight = 1});
    struct trace trace = end(&spool);
    assert_named(&trace, "gone", 1);
    assert_named(&trace, "launched", 2); /* the launch's own, and a later one by its pointer */
    assert_named(&trace, "new", 1);
    assert_named(&trace, "flying", 1);
    assert_int_equal(trace.summary.losses.unnamed, 0);
    trace_release(&trace);
}

UNIT_TEST(a_record_whose_pointer_is_not_there_yet_has_its_launchs_name)
{
    struct make_spool spool;
    begin(&spool);
    make_launch_name(&spool, 7, "launched");
    begin_records(&spool);
    make_kernel(&spool, (struct make_kernel){.name = 0, .correlation = 7, .in_flight = 1});
    make_kernel(&spool, (struct make_kernel){.name = 0, .correlation = 8, .in_flight = 1});
    struct trace trace = end(&spool);
    assert_named(&trace, "launched", 1);
    assert_named(&trace, "unnamed kernel", 1);
    assert_int_equal(trace.summary.losses.unnamed, 1);
    trace_release(&trace);
}

UNIT_TEST(two_names_of_one_launch_are_none)
{
    struct make_spool spool;
    begin(&spool);
    make_launch_name(&spool, 7, "one");
    make_launch_name(&spool, 7, "other");
    make_launch_name(&spool, 8, "same");
    make_launch_name(&spool, 8, "same");
    begin_records(&spool);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 7, .start = 2000, .end = 3000});
    make_kernel(&spool, (struct make_kernel){.name = NAME + 8, .correlation = 8, .start = 4000, .end = 5000});
    struct trace trace = end(&spool);
    assert_named(&trace, "unnamed kernel", 1);
    assert_named(&trace, "same", 1);
    assert_int_equal(trace.summary.losses.unnamed, 1);
    trace_release(&trace);
}

/* All kernels of a graph have the correlation id of its launch. */
UNIT_TEST(kernels_of_a_graph_are_not_named_by_its_launch)
{
    struct make_spool spool;
    begin(&spool);
    make_launch_name(&spool, 7, "launched");
    begin_records(&spool);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 7, .graph = 2, .start = 2000, .end = 3000});
    struct trace trace = end(&spool);
    assert_int_equal(trace.summary.losses.unnamed, 1);
    trace_release(&trace);
}

static void make_function_name(struct make_spool *spool, uint64_t time, uint64_t function, const char *text)
{
    struct spool_function_name *name =
        make_own(spool, SPOOL_RECORD_FUNCTION_NAME, time, sizeof(*name), sizeof(name->text), text, strlen(text));
    name->function = function;
    name->length = (uint32_t)strlen(text);
}

static void make_node(struct make_spool *spool, uint64_t time, struct spool_graph_node made)
{
    struct spool_graph_node *node = make_own(spool, SPOOL_RECORD_GRAPH_NODE, time, sizeof(*node), 0, NULL, 0);
    made.head = node->head;
    *node = made;
}

#define FUNCTION UINT64_C(0x55550000)

UNIT_TEST(kernels_of_a_graph_have_the_names_of_what_its_nodes_launch)
{
    struct make_spool spool;
    begin(&spool);
    make_function_name(&spool, 900, FUNCTION, "_Z3onei");
    make_function_name(&spool, 900, FUNCTION + 8, "_Z5otheri");
    make_node(&spool, 910, (struct spool_graph_node){.node = 50, .function = FUNCTION, .correlation = 3});
    make_node(&spool, 910, (struct spool_graph_node){.node = 51, .function = FUNCTION + 8, .correlation = 3});
    make_node(&spool, 920, (struct spool_graph_node){.node = 60, .original = 50, .correlation = 4});
    make_node(&spool, 920, (struct spool_graph_node){.node = 61, .original = 51, .correlation = 4});
    begin_records(&spool);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 7, .graph = 2, .node = 60, .in_flight = 1});
    make_kernel(&spool, (struct make_kernel){.name = 0, .correlation = 7, .graph = 2, .node = 61, .in_flight = 1});
    make_kernel(&spool,
                (struct make_kernel){.name = NAME + 8, .correlation = 7, .graph = 2, .node = 62, .in_flight = 1});
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 8, .start = 8000, .end = 9000});
    struct trace trace = end(&spool);
    assert_named(&trace, "one(int)", 2); /* the second by its pointer */
    assert_named(&trace, "other(int)", 1);
    assert_int_equal(trace.summary.losses.unnamed, 1);
    trace_release(&trace);
}

/* Another function that is loaded later may have the handle. */
UNIT_TEST(a_node_launches_what_had_the_handle_when_it_was_made)
{
    struct make_spool spool;
    begin(&spool);
    make_function_name(&spool, 900, FUNCTION, "_Z5firsti");
    make_node(&spool, 910, (struct spool_graph_node){.node = 50, .function = FUNCTION, .correlation = 3});
    make_function_name(&spool, 920, FUNCTION, "_Z6secondi");
    make_node(&spool, 930, (struct spool_graph_node){.node = 51, .function = FUNCTION, .correlation = 4});
    begin_records(&spool);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 7, .graph = 2, .node = 50, .in_flight = 1});
    make_kernel(&spool,
                (struct make_kernel){.name = NAME + 8, .correlation = 7, .graph = 2, .node = 51, .in_flight = 1});
    struct trace trace = end(&spool);
    assert_named(&trace, "first(int)", 1);
    assert_named(&trace, "second(int)", 1);
    trace_release(&trace);
}

UNIT_TEST(launches_without_a_correlation_id_have_no_name)
{
    struct make_spool spool;
    begin(&spool);
    make_launch_name(&spool, 0, "launched");
    begin_records(&spool);
    make_kernel(&spool, (struct make_kernel){.name = NAME, .correlation = 0, .start = 2000, .end = 3000});
    struct trace trace = end(&spool);
    assert_int_equal(trace.summary.losses.unnamed, 1);
    assert_int_equal(trace.summary.losses.undecoded, 0);
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
