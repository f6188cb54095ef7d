#include "agent/cupti/graphs.h"

#include "agent/cupti/driver_calls.h"
#include "agent/dispatch/registry.h"
#include "tests/agent/cupti/fake_cupti.h"
#include "tests/unit.h"

#define LAUNCH CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch
#define EXEC(number) ((CUgraphExec)(uintptr_t)(0x100 * (number)))

static void hear(void *data, const struct gputrace_graph_node *node)
{
    (void)data, (void)node;
}

static unsigned published_count;
static struct gputrace_conditional_launch published;

static void hear_launch(void *data, const struct gputrace_conditional_launch *launch)
{
    (void)data;
    published_count++;
    published = *launch;
}

static uint64_t registration;

UNIT_FIXTURE(start)
{
    char why[256];
    (void)state;
    registration = registry_add(REGISTRY_LIBRARY, REGISTRY_graph_node, (gputrace_any_fn *)hear, NULL);
    return registration == 0 || registry_conditional_launch_register(hear_launch, NULL) != 0 ||
           cupti_callbacks_init(&fake_cupti, why, sizeof(why)) != 0;
}

UNIT_FIXTURE(clear)
{
    graph_launches_forget();
    return fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH);
}

static bool are_on(void)
{
    return fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH) &&
           fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz);
}

static void launch(unsigned exec)
{
    cuGraphLaunch_params p = {EXEC(exec), NULL};
    fake_call(LAUNCH, &p, CUDA_SUCCESS);
}

static void instantiate(unsigned number, CUresult result)
{
    CUgraphExec exec = EXEC(number);
    cuGraphInstantiateWithFlags_params p = {&exec, (CUgraph)0x60, 0};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, &p, result);
}

UNIT_TEST_WITH(launches_are_heard_until_each_was_launched, NULL, clear)
{
    assert_false(are_on());
    instantiate(1, CUDA_SUCCESS);
    instantiate(2, CUDA_SUCCESS);
    assert_true(are_on());
    launch(2);
    launch(2);
    assert_true(are_on());
    launch(1);
    assert_false(are_on());
}

UNIT_TEST_WITH(what_failed_is_not_expected, NULL, clear)
{
    instantiate(1, CUDA_ERROR_INVALID_VALUE);
    graph_launches_expect(NULL);
    assert_false(are_on());
}

UNIT_TEST_WITH(one_that_is_changed_is_new_again, NULL, clear)
{
    CUDA_KERNEL_NODE_PARAMS params = {.func = (CUfunction)0xf1};
    cuGraphExecUpdate_v2_params update = {.hGraphExec = EXEC(1)};
    cuGraphExecChildGraphNodeSetParams_params child = {.hGraphExec = EXEC(1)};
    cuGraphExecKernelNodeSetParams_v2_params set = {.hGraphExec = EXEC(1), .nodeParams = &params};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2, &update, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_false(are_on());
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2, &update, CUDA_SUCCESS);
    assert_true(are_on());
    launch(1);
    assert_false(are_on());
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuGraphExecChildGraphNodeSetParams, &child, CUDA_SUCCESS);
    assert_true(are_on());
    launch(1);
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2, &set, CUDA_SUCCESS);
    assert_true(are_on());
    launch(1);
    assert_false(are_on());
}

UNIT_TEST_WITH(a_launch_tells_whether_it_was_expected, NULL, clear)
{
    graph_launches_expect(EXEC(1));
    assert_false(graph_launches_returned(EXEC(2), 1, 10));
    assert_true(graph_launches_returned(EXEC(1), 2, 20));
    assert_false(graph_launches_returned(EXEC(1), 3, 30));
}

/* CUPTI reports a node of TYPE, made while the graph is instantiated; 13.0 says the type when it starts alone. */
static void instantiate_with(unsigned number, CUgraphNodeType type)
{
    CUgraphExec exec = EXEC(number);
    cuGraphInstantiateWithFlags_params p = {&exec, (CUgraph)0x60, 0};
    CUpti_GraphData starting = {.graph = (CUgraph)0x61, .nodeType = type}, made = {.node = (CUgraphNode)0x62};
    fake_enter(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, &p);
    fake_resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, FAKE_CONTEXT, NULL, &starting);
    fake_resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, FAKE_CONTEXT, NULL, &made);
    fake_exit(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, &p, CUDA_SUCCESS);
}

UNIT_TEST_WITH(every_launch_of_a_graph_with_conditional_nodes_is_reported, NULL, clear)
{
    instantiate_with(1, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    instantiate_with(2, CU_GRAPH_NODE_TYPE_KERNEL);
    launch(2);
    assert_int_equal(published_count, 0);
    launch(1);
    fake_correlation = 77;
    launch(1);
    fake_correlation = 0;
    assert_true(are_on());
    assert_int_equal(published_count, 2);
    assert_int_equal(published.graph, 0x100);
    assert_int_equal(published.correlation, 77);
    assert_true(published.start != 0);
    cuGraphLaunch_params p = {EXEC(1), NULL};
    fake_call(LAUNCH, &p, CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(published_count, 2);
    instantiate_with(1, CU_GRAPH_NODE_TYPE_KERNEL); /* another one has its handle */
    launch(1);
    assert_int_equal(published_count, 2);
    assert_false(are_on());
}

/* Outside of a capture range each would be a record for nothing. */
UNIT_TEST_WITH(conditional_launches_are_not_reported_while_suspended, NULL, clear)
{
    published_count = 0;
    instantiate_with(1, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    graph_launches_suspend(true);
    assert_true(are_on()); /* its names are to be read */
    launch(1);
    assert_int_equal(published_count, 0);
    assert_false(are_on());
    instantiate(2, CUDA_SUCCESS);
    launch(2);
    assert_false(are_on());
    graph_launches_suspend(false);
    assert_true(are_on());
    launch(1);
    assert_int_equal(published_count, 1);
    graph_launches_suspend(true);
    assert_false(are_on());
    graph_launches_forget();
    graphs_atfork_child(); /* a forked child begins anew */
    graphs_init(&fake_cupti);
    instantiate_with(1, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    launch(1);
    assert_int_equal(published_count, 2);
}

UNIT_TEST_WITH(patience_ends_with_launches_of_others, NULL, clear)
{
    instantiate(1, CUDA_SUCCESS);
    for (unsigned i = 1; i < GRAPH_LAUNCHES_BUDGET; i++)
        launch(9);
    assert_true(are_on());
    launch(9);
    assert_false(are_on());
}

UNIT_TEST_WITH(who_wants_none_hears_none, NULL, clear)
{
    instantiate(1, CUDA_SUCCESS);
    assert_int_equal(registry_remove(REGISTRY_LIBRARY, registration), 0);
    assert_false(are_on());
    instantiate(1, CUDA_SUCCESS);
    assert_false(are_on());
    registration = registry_add(REGISTRY_LIBRARY, REGISTRY_graph_node, (gputrace_any_fn *)hear, NULL);
    assert_false(are_on());
}

UNIT_MAIN(start, NULL)
