#include "trace/meaning/launches/graphs.h"

#include "tests/unit.h"

static struct conditional_launches launches;

UNIT_FIXTURE(begin)
{
    conditional_launches_init(&launches, NULL);
    return 0;
}

UNIT_FIXTURE(end)
{
    file_vector_release(&launches.items);
    map_release(&launches.bodies);
    return 0;
}

static void launch(uint32_t graph, uint32_t correlation, uint64_t called)
{
    struct event event = {.type = EVENT_GRAPH_LAUNCH, .start = called, .correlation = correlation};
    event.graph.graph = graph;
    assert_int_equal(conditional_launches_index(&launches, &event), 0);
}

static struct event kernel(uint32_t graph, uint64_t node, uint32_t correlation, uint64_t start, uint64_t stop)
{
    struct event event = {.type = EVENT_KERNEL, .start = start, .end = stop, .correlation = correlation};
    event.kernel.graph = graph;
    event.kernel.graph_node = (uint64_t)graph << 32 | node;
    return event;
}

static void look(struct event event)
{
    assert_int_equal(conditional_launches_scan(&launches, &event), 0);
}

static uint32_t find(struct event event)
{
    assert_int_equal(event.correlation, 0);
    return conditional_launches_find(&launches, &event);
}

/* NVIDIA's graphConditionalNodes on an H200, CUDA 13.0: graph, node, correlation id in the record, times, and the
 * launch that it must belong to. Times are in ns from the 1795357713th second on. */
static const struct {
    uint32_t graph, node, correlation;
    uint64_t start, end;
    uint32_t launch;
} recorded[] = {
    {3, 0, 19, 636853222, 636883366, 19}, /* if: own kernel A, and C in the body where A says so */
    {3, 0, 22, 636961414, 636985350, 22},
    {3, 2, 0, 636970150, 636995590, 22},
    {9, 3, 0, 637595268, 637618660, 40}, /* do … while: no own kernel */
    {9, 2, 0, 637572068, 637595171, 40},
    {9, 1, 0, 637547748, 637571908, 40},
    {9, 3, 0, 638296993, 638319713, 40},
    {15, 0, 64, 638667071, 638691456, 64}, /* while: own kernels before and after */
    {15, 2, 64, 638695648, 638719040, 64},
    {15, 0, 67, 638736000, 638758847, 67},
    {15, 2, 67, 639021086, 639044094, 67},
    {15, 3, 0, 638765887, 638788543, 67},
    {15, 3, 0, 638995326, 639017982, 67},
    {22, 0, 81, 639322653, 639348285, 81}, /* if … else */
    {22, 0, 84, 639382045, 639405981, 84},
    {22, 3, 0, 639341309, 639366557, 81},
    {22, 2, 0, 639390205, 639415293, 84},
    {33, 0, 100, 639758043, 639782843, 100}, /* switch */
    {33, 0, 103, 639823547, 639847515, 103},
    {33, 0, 106, 639871259, 639895291, 106},
    {33, 0, 109, 639921531, 639945435, 109},
    {33, 0, 112, 639971130, 639994235, 112},
    {33, 2, 0, 639781851, 639807771, 100},
    {33, 3, 0, 639831547, 639857595, 103},
    {33, 4, 0, 639879419, 639905371, 106},
    {33, 5, 0, 639929723, 639955739, 109},
};

UNIT_TEST_WITH(bodies_of_a_real_program_belong_to_their_launches, begin, end)
{
    static const struct {
        uint32_t graph, correlation;
        uint64_t called;
    } calls[] = {{33, 112, 639965333}, {3, 19, 636820954},   {3, 22, 636951150},   {9, 40, 637510840},
                 {15, 64, 638651233},  {15, 67, 638729385},  {22, 81, 639307971},  {22, 84, 639375814},
                 {33, 100, 639744573}, {33, 103, 639817481}, {33, 106, 639865996}, {33, 109, 639915098}};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        launch(calls[i].graph, calls[i].correlation, calls[i].called);
    assert_int_equal(conditional_launches_order(&launches), 0);
    for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++)
        look(kernel(recorded[i].graph, recorded[i].node, recorded[i].correlation, recorded[i].start, recorded[i].end));
    conditional_launches_finish(&launches);
    for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++)
        if (recorded[i].correlation == 0)
            assert_int_equal(find(kernel(recorded[i].graph, recorded[i].node, 0, recorded[i].start, recorded[i].end)),
                             recorded[i].launch);
}

/* Three launches, all called before the GPU began with the first. */
static void call_three(void)
{
    launch(5, 11, 100);
    launch(5, 12, 110);
    launch(5, 13, 120);
    assert_int_equal(conditional_launches_order(&launches), 0);
}

UNIT_TEST_WITH(calls_far_ahead_of_the_gpu_are_kept_apart_by_own_works, begin, end)
{
    call_three();
    for (uint32_t i = 0; i < 3; i++) { /* own, then the body twice */
        look(kernel(5, 1, 11 + i, 200 + 100 * i, 210 + 100 * i));
        look(kernel(5, 2, 0, 220 + 100 * i, 230 + 100 * i));
        look(kernel(5, 2, 0, 290 + 100 * i, 299 + 100 * i));
    }
    conditional_launches_finish(&launches);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(find(kernel(5, 2, 0, 220 + 100 * i, 230 + 100 * i)), 11 + i);
        assert_int_equal(find(kernel(5, 2, 0, 290 + 100 * i, 299 + 100 * i)), 11 + i);
    }
}

UNIT_TEST_WITH(a_body_may_come_before_the_own_works, begin, end)
{
    call_three();
    for (uint32_t i = 0; i < 3; i++) { /* node 2, then own, then node 3 */
        look(kernel(5, 2, 0, 200 + 100 * i, 210 + 100 * i));
        look(kernel(5, 1, 11 + i, 220 + 100 * i, 230 + 100 * i));
        look(kernel(5, 3, 0, 240 + 100 * i, 250 + 100 * i));
    }
    conditional_launches_finish(&launches);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(find(kernel(5, 2, 0, 200 + 100 * i, 210 + 100 * i)), 11 + i);
        assert_int_equal(find(kernel(5, 3, 0, 240 + 100 * i, 250 + 100 * i)), 11 + i);
    }
}

UNIT_TEST_WITH(without_own_works_the_last_call_counts, begin, end)
{
    launch(5, 11, 100);
    launch(5, 12, 200);
    assert_int_equal(conditional_launches_order(&launches), 0);
    look(kernel(5, 2, 0, 150, 160));
    look(kernel(5, 2, 0, 250, 260));
    conditional_launches_finish(&launches);
    assert_int_equal(find(kernel(5, 2, 0, 150, 160)), 11);
    assert_int_equal(find(kernel(5, 2, 0, 250, 260)), 12);
}

UNIT_TEST_WITH(work_of_no_recorded_launch_belongs_to_none, begin, end)
{
    struct event copy = {.type = EVENT_MEMCPY, .start = 300, .end = 310};
    launch(5, 11, 100);
    assert_int_equal(find(kernel(5, 2, 0, 150, 160)), 0); /* not finished */
    assert_int_equal(conditional_launches_order(&launches), 0);
    look(kernel(5, 2, 0, 50, 60));
    conditional_launches_finish(&launches);
    assert_int_equal(find(kernel(5, 2, 0, 50, 60)), 0); /* before */
    assert_int_equal(find(kernel(6, 2, 0, 150, 160)), 0);
    assert_int_equal(find(kernel(0, 2, 0, 150, 160)), 0);
    assert_int_equal(find(kernel(5, 2, 0, 0, 0)), 0); /* in flight */
    assert_int_equal(find(copy), 0);
    copy.memcpy.graph = 5;
    assert_int_equal(find(copy), 11);
}

UNIT_MAIN(NULL, NULL)
