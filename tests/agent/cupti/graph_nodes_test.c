/* Nodes of graphs, with the callbacks that say when they are made and copied. */
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/graphs.h"
#include "agent/dispatch/registry.h"
#include "tests/agent/cupti/fake_cupti.h"
#include "tests/unit.h"

/* cuda.h lets these names stand for the newest version; here the old ones are meant. */
#undef cuGraphAddKernelNode
#undef cuGraphAddNode
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphKernelNodeSetParams
#undef cuStreamBeginCapture

#define LAUNCH CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel
#define NODE(number) ((CUgraphNode)(uintptr_t)(0x10000 + (number)))

static struct {
    unsigned count;
    struct gputrace_graph_node node;
} published;

static struct {
    unsigned count;
    const void *function;
    char text[64];
} named;

static void hear(void *data, const struct gputrace_graph_node *node)
{
    (void)data;
    published.count++;
    published.node = *node;
}

static void hear_name(void *data, const struct gputrace_function_name *name)
{
    (void)data;
    named.count++;
    named.function = name->function;
    snprintf(named.text, sizeof(named.text), "%.*s", (int)name->text.length, name->text.bytes);
}

static uint64_t registration;

UNIT_FIXTURE(start)
{
    char why[256];
    (void)state;
    registration = registry_add(REGISTRY_LIBRARY, REGISTRY_graph_node, (gputrace_any_fn *)hear, NULL);
    uint64_t names = registry_add(REGISTRY_LIBRARY, REGISTRY_function_name, (gputrace_any_fn *)hear_name, NULL);
    return registration == 0 || names == 0 || cupti_callbacks_init(&fake_cupti, why, sizeof(why)) != 0;
}

UNIT_FIXTURE(clear)
{
    memset(&published, 0, sizeof(published));
    memset(&named, 0, sizeof(named));
    return fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH);
}

static void begin_capture(CUresult result)
{
    cuStreamBeginCapture_v2_params p = {.hStream = (CUstream)0x52};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, &p, result);
}

static void end_capture(CUresult result)
{
    CUgraph graph = (CUgraph)0x60;
    cuStreamEndCapture_params p = {(CUstream)0x52, &graph};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, &p, result);
}

static void resource(CUpti_CallbackIdResource cbid, unsigned node, unsigned original, CUgraphNodeType type)
{
    CUpti_GraphData data = {.node = NODE(node), .nodeType = type};
    if (original)
        data.originalNode = NODE(original);
    fake_resource(cbid, FAKE_CONTEXT, NULL, &data);
}

static void made(unsigned node, CUgraphNodeType type)
{
    resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node, 0, type);
}

/* As CUPTI does it: the copy is made, then reported to be one. */
static void copied(unsigned node, unsigned original)
{
    made(node, CU_GRAPH_NODE_TYPE_KERNEL);
    resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, node, original, CU_GRAPH_NODE_TYPE_KERNEL);
}

static void assert_reported(uint64_t node, const void *function, uint64_t original)
{
    assert_int_equal(published.count, 1);
    assert_int_equal(published.node.node, node);
    assert_ptr_equal(published.node.function, function);
    assert_int_equal(published.node.original, original);
    assert_int_equal(published.node.correlation, fake_correlation);
    memset(&published, 0, sizeof(published));
}

UNIT_TEST_WITH(launches_are_heard_while_streams_are_captured, NULL, clear)
{
    begin_capture(CUDA_ERROR_ILLEGAL_STATE);
    assert_false(fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH));
    begin_capture(CUDA_SUCCESS);
    begin_capture(CUDA_SUCCESS);
    assert_true(fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH));
    end_capture(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    end_capture(CUDA_SUCCESS);
    assert_true(fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH));
    end_capture(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED); /* of other streams */
    end_capture(CUDA_ERROR_ILLEGAL_STATE);
    assert_true(fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH));
    end_capture(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_false(fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH));
    end_capture(CUDA_SUCCESS);
    begin_capture(CUDA_SUCCESS);
    assert_true(fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH));
    end_capture(CUDA_SUCCESS);
}

UNIT_TEST_WITH(a_captured_launch_makes_a_node_of_its_function, NULL, clear)
{
    cuLaunchKernel_params p = {.f = (CUfunction)0xf1};
    begin_capture(CUDA_SUCCESS);
    fake_correlation = 31;
    fake_symbol = "_Z8capturedv";
    fake_enter(LAUNCH, &p);
    assert_string_equal(named.text, "_Z8capturedv");
    assert_ptr_equal(named.function, (void *)0xf1);
    made(5, CU_GRAPH_NODE_TYPE_KERNEL);
    assert_reported(5, (void *)0xf1, 0);
    fake_exit(LAUNCH, &p, CUDA_SUCCESS);
    fake_correlation = 0;
    fake_symbol = NULL;
    end_capture(CUDA_SUCCESS);
}

UNIT_TEST_WITH(nodes_without_gpu_work_are_not_reported, NULL, clear)
{
    cuLaunchKernel_params p = {.f = (CUfunction)0xf1};
    begin_capture(CUDA_SUCCESS);
    fake_enter(LAUNCH, &p);
    made(5, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    fake_exit(LAUNCH, &p, CUDA_SUCCESS);
    end_capture(CUDA_SUCCESS);
    made(5, CU_GRAPH_NODE_TYPE_EMPTY);
    assert_int_equal(published.count, 0);
}

/* So that it is known when and on which thread. */
UNIT_TEST_WITH(nodes_whose_function_is_not_known_are_reported, NULL, clear)
{
    made(5, CU_GRAPH_NODE_TYPE_MEMCPY);
    assert_reported(5, NULL, 0);
    made(6, CU_GRAPH_NODE_TYPE_MEMSET);
    assert_reported(6, NULL, 0);
    made(7, CU_GRAPH_NODE_TYPE_KERNEL);
    assert_reported(7, NULL, 0);
}

/* The call itself reports a kernel, with the function; of other nodes only this is known. */
UNIT_TEST_WITH(nodes_that_a_call_adds_are_reported_once, NULL, clear)
{
    CUgraphNode node = NODE(9);
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel.kern = (CUkernel)0xf5};
    cuGraphAddNode_v2_params p = {.phGraphNode = &node, .nodeParams = &any};
    fake_correlation = 36;
    fake_enter(CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2, &p);
    made(9, CU_GRAPH_NODE_TYPE_KERNEL);
    assert_int_equal(published.count, 0);
    fake_exit(CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2, &p, CUDA_SUCCESS);
    assert_reported(9, (void *)0xf5, 0);
    any.type = CU_GRAPH_NODE_TYPE_MEMSET;
    fake_correlation = 37;
    fake_enter(CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2, &p);
    made(9, CU_GRAPH_NODE_TYPE_MEMSET);
    assert_reported(9, NULL, 0);
    fake_exit(CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2, &p, CUDA_SUCCESS);
    assert_int_equal(published.count, 0);
    fake_correlation = 0;
}

UNIT_TEST_WITH(copies_are_reported_with_the_call_that_makes_them, NULL, clear)
{
    CUgraphExec exec = NULL;
    cuGraphInstantiateWithFlags_params p = {&exec, (CUgraph)0x60, 0};
    cuGraphClone_params q = {NULL, (CUgraph)0x60};
    fake_correlation = 32;
    fake_enter(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, &p);
    copied(7, 5);
    assert_reported(7, NULL, 5);
    fake_exit(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, &p, CUDA_SUCCESS);
    fake_correlation = 33;
    fake_enter(CUPTI_DRIVER_TRACE_CBID_cuGraphClone, &q);
    copied(8, 7);
    assert_reported(8, NULL, 7);
    resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 9, 0, CU_GRAPH_NODE_TYPE_MEMCPY);
    resource(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 9, 6, CU_GRAPH_NODE_TYPE_MEMCPY);
    assert_reported(9, NULL, 6);
    fake_exit(CUPTI_DRIVER_TRACE_CBID_cuGraphClone, &q, CUDA_SUCCESS);
    fake_correlation = 0;
}

/* The function is called with p, its parameters, once failed and once done: then node 9 launches LAUNCHED. */
#define SETS(name, launched, ...)                                                \
    do {                                                                         \
        name##_params p = {__VA_ARGS__};                                         \
        fake_correlation = 34;                                                   \
        fake_call(CUPTI_DRIVER_TRACE_CBID_##name, &p, CUDA_ERROR_INVALID_VALUE); \
        assert_int_equal(published.count, 0);                                    \
        fake_call(CUPTI_DRIVER_TRACE_CBID_##name, &p, CUDA_SUCCESS);             \
        assert_reported(9, launched, 0);                                         \
        fake_correlation = 0;                                                    \
    } while (0)

UNIT_TEST_WITH(calls_that_have_nodes_launch_something_tell_it, NULL, clear)
{
    CUgraphNode node = NODE(9);
    CUDA_KERNEL_NODE_PARAMS_v1 older = {.func = (CUfunction)0xf2};
    CUDA_KERNEL_NODE_PARAMS newer = {.func = (CUfunction)0xf3}, of_kernel = {.kern = (CUkernel)0xf4};
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel.kern = (CUkernel)0xf5};
    SETS(cuGraphAddKernelNode, (void *)0xf2, .phGraphNode = &node, .nodeParams = &older);
    SETS(cuGraphAddKernelNode_v2, (void *)0xf3, .phGraphNode = &node, .nodeParams = &newer);
    SETS(cuGraphAddNode, (void *)0xf5, .phGraphNode = &node, .nodeParams = &any);
    SETS(cuGraphAddNode_v2, (void *)0xf5, .phGraphNode = &node, .nodeParams = &any);
    SETS(cuGraphKernelNodeSetParams, (void *)0xf2, .hNode = node, .nodeParams = &older);
    SETS(cuGraphKernelNodeSetParams_v2, (void *)0xf4, .hNode = node, .nodeParams = &of_kernel);
    SETS(cuGraphNodeSetParams, (void *)0xf5, .hNode = node, .nodeParams = &any);
}

/* CUPTI reports within the call which node of the executable graph it is. */
#define SETS_COPY(name, launched, ...)                                                                        \
    do {                                                                                                      \
        name##_params p = {.hNode = NODE(9), __VA_ARGS__};                                                    \
        fake_correlation++;                                                                                   \
        fake_enter(CUPTI_DRIVER_TRACE_CBID_##name, &p);                                                       \
        resource(CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS, 10, 9, CU_GRAPH_NODE_TYPE_KERNEL);                \
        assert_reported(10, NULL, 9);                                                                         \
        fake_exit(CUPTI_DRIVER_TRACE_CBID_##name, &p, CUDA_SUCCESS);                                          \
        assert_reported(10, launched, 0);                                                                     \
        fake_correlation++;                                                                                   \
        fake_call(CUPTI_DRIVER_TRACE_CBID_##name, &p, CUDA_SUCCESS); /* it reported nothing: none is known */ \
        assert_int_equal(published.count, 0);                                                                 \
    } while (0)

UNIT_TEST_WITH(calls_that_change_a_copy_tell_it_of_the_copy, NULL, clear)
{
    CUDA_KERNEL_NODE_PARAMS_v1 older = {.func = (CUfunction)0xf2};
    CUDA_KERNEL_NODE_PARAMS newer = {.func = (CUfunction)0xf3};
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel.kern = (CUkernel)0xf5};
    fake_correlation = 35;
    SETS_COPY(cuGraphExecKernelNodeSetParams, (void *)0xf2, .nodeParams = &older);
    SETS_COPY(cuGraphExecKernelNodeSetParams_v2, (void *)0xf3, .nodeParams = &newer);
    SETS_COPY(cuGraphExecNodeSetParams, (void *)0xf5, .nodeParams = &any);
    fake_correlation = 0;
}

static CUresult two_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    assert_ptr_equal(graph, (CUgraph)0x60);
    *count = 2;
    if (nodes) {
        nodes[0] = NODE(3);
        nodes[1] = NODE(2);
    }
    return CUDA_SUCCESS;
}

/* What CUPTI reports in it is not relied on. */
UNIT_TEST_WITH(an_update_makes_nodes_copies_of_those_of_the_other_graph, NULL, clear)
{
    CUgraphExecUpdateResultInfo info;
    cuGraphExecUpdate_v2_params p = {(CUgraphExec)0x300, (CUgraph)0x60, &info};
    driver_replace(&(struct driver){.cuGraphGetNodes = two_nodes});
    fake_correlation = 37;
    fake_enter(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2, &p);
    resource(CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS, 10, 9, CU_GRAPH_NODE_TYPE_KERNEL);
    assert_int_equal(published.count, 0);
    fake_exit(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2, &p, CUDA_SUCCESS);
    assert_int_equal(published.count, 2);
    assert_int_equal(published.node.node, UINT64_C(0x300) << 32 | 2);
    assert_int_equal(published.node.original, 2);
    assert_int_equal(published.node.correlation, 37);
    published.count = 0;
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2, &p, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(published.count, 0);
    driver_replace(NULL);
}

/* What is known of its nodes could be wrong. */
UNIT_TEST_WITH(an_older_cupti_is_not_asked, NULL, clear)
{
    struct cupti older = fake_cupti;
    older.version = 28;
    graphs_init(&older);
    graph_node_launches(NODE(9), true, (void *)0xf1, 1);
    assert_int_equal(published.count, 0);
    graphs_init(&fake_cupti);
    graph_node_launches(NODE(9), true, (void *)0xf1, 1);
    assert_int_equal(published.count, 1);
}

UNIT_TEST_WITH(other_nodes_that_are_added_are_not_reported, NULL, clear)
{
    CUgraphNode node = NODE(9);
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    cuGraphAddNode_v2_params p = {.phGraphNode = &node, .nodeParams = &any};
    fake_call(CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2, &p, CUDA_SUCCESS);
    assert_int_equal(published.count, 0);
}

UNIT_TEST_WITH(who_wants_none_hears_no_launches, NULL, clear)
{
    begin_capture(CUDA_SUCCESS);
    assert_int_equal(registry_remove(REGISTRY_LIBRARY, registration), 0);
    assert_false(fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH));
    assert_false(fake_is_on(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED));
    begin_capture(CUDA_SUCCESS);
    assert_false(fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH));
    registration = registry_add(REGISTRY_LIBRARY, REGISTRY_graph_node, (gputrace_any_fn *)hear, NULL);
    assert_false(fake_is_on(CUPTI_CB_DOMAIN_DRIVER_API, LAUNCH));
    assert_true(fake_is_on(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED));
}

UNIT_MAIN(start, NULL)
