/* Graphs: captured and built by hand, launched, updated, and recorded by node or as a whole. */
#include "tests/unit.h"

#include "recording.h"

enum { BYTES = 4096 };

static uint8_t *pinned;
static void *device;
static cudaStream_t stream, side;

UNIT_FIXTURE(start)
{
    recording_start(1 << 16);
    return cudaMallocHost((void **)&pinned, BYTES) || cudaMalloc(&device, BYTES) || cudaStreamCreate(&stream) ||
           cudaStreamCreate(&side);
}

/* set → kernel → copy; instantiated; the graph itself is gone. */
static cudaGraphExec_t capture_chain(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA_OK(cudaMemsetAsync(device, 9, BYTES, stream));
    CUDA_OK(recording_launch(stream));
    CUDA_OK(cudaMemcpyAsync(pinned, device, BYTES, cudaMemcpyDeviceToHost, stream));
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    CUDA_OK(cudaGraphDestroy(graph));
    return exec;
}

UNIT_TEST_WITH(capturing_does_nothing_and_launching_does_it, NULL, recording_teardown)
{
    KINDS(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET);
    memset(pinned, 0, BYTES);
    cudaGraphExec_t exec = capture_chain();
    CUDA_OK(cudaDeviceSynchronize());
    recording_flush(false);
    assert_int_equal(pinned[0], 0);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    recording_flush(false);
    assert_int_equal(pinned[BYTES - 1], 9);
    const CUpti_ActivityMemset4 *set = recording_get(CUPTI_ACTIVITY_KIND_MEMSET, 0);
    const CUpti_ActivityKernel10 *kernel = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    const CUpti_ActivityMemcpy6 *copy = recording_get(CUPTI_ACTIVITY_KIND_MEMCPY, 0);
    assert_non_null(set);
    assert_non_null(kernel);
    assert_non_null(copy);
    assert_true(set->end <= kernel->start);
    assert_true(kernel->end <= copy->start);
    CUDA_OK(cudaGraphExecDestroy(exec));
}

UNIT_TEST_WITH(nodes_have_their_launch_s_correlation_and_ids_of_graph_and_node, NULL, recording_teardown)
{
    cudaGraphExec_t exec = capture_chain();
    KINDS(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_RUNTIME);
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    recording_flush(false);
    const CUpti_ActivityMemset4 *set = recording_get(CUPTI_ACTIVITY_KIND_MEMSET, 0);
    const CUpti_ActivityKernel10 *kernel = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    const CUpti_ActivityAPI *launched =
        recording_api(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000);
    uint32_t id;
    CUDA_OK(cuptiGetGraphExecId(exec, &id));
    assert_int_equal(kernel->correlationId, launched->correlationId);
    assert_int_equal(set->correlationId, launched->correlationId);
    assert_int_equal(kernel->graphId, id);
    assert_int_equal(set->graphId, id);
    assert_int_not_equal(kernel->graphNodeId, 0);
    assert_int_not_equal(kernel->graphNodeId, set->graphNodeId);
    CUDA_OK(cudaGraphExecDestroy(exec));
}

UNIT_TEST_WITH(a_graph_recorded_as_a_whole_has_no_nodes, NULL, recording_teardown)
{
    cudaGraphExec_t exec = capture_chain();
    KINDS(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    for (int i = 0; i < 3; i++)
        CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(recording_launch(stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    recording_flush(false);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE), 3);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_MEMSET), 0);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 1); /* the one outside */
    const CUpti_ActivityGraphTrace2 *first = recording_get(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 0);
    const CUpti_ActivityGraphTrace2 *second = recording_get(CUPTI_ACTIVITY_KIND_GRAPH_TRACE, 1);
    assert_true(first->start < first->end);
    assert_true(first->end <= second->start);
    CUDA_OK(cudaGraphExecDestroy(exec));
}

static void add_kernel(cudaGraph_t graph)
{
    struct cudaKernelNodeParams params = {
        .func = (void *)(uintptr_t)recording_kernel, .gridDim = {1, 1, 1}, .blockDim = {32, 1, 1}};
    cudaGraphNode_t node;
    CUDA_OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
}

/* A graph of one conditional node, with a kernel in each of its bodies, is launched. Gives the records. */
static size_t launch_conditional(CUgraphConditionalNodeType type, unsigned size, unsigned value, uint32_t *graph_id)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUgraphNode node;
    CUDA_OK(cudaGraphCreate(&graph, 0));
    params.conditional.type = type;
    params.conditional.size = size;
    CUDA_OK(
        cuGraphConditionalHandleCreate(&params.conditional.handle, graph, NULL, value, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUDA_OK(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
    for (unsigned i = 0; i < size; i++)
        add_kernel(params.conditional.phGraph_out[i]);
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    CUDA_OK(cuptiGetGraphExecId(exec, graph_id));
    CUDA_OK(cudaGraphDestroy(graph));
    recording_clear();
    KINDS(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    recording_flush(false);
    CUDA_OK(cudaGraphExecDestroy(exec));
    return recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

UNIT_TEST_WITH(bodies_run_as_the_condition_says_without_a_correlation_id, NULL, recording_teardown)
{
    uint32_t id, stream_id;
    assert_int_equal(launch_conditional(CU_GRAPH_COND_TYPE_IF, 1, 0, &id), 0);
    assert_int_equal(launch_conditional(CU_GRAPH_COND_TYPE_IF, 2, 0, &id), 1); /* else */
    assert_int_equal(launch_conditional(CU_GRAPH_COND_TYPE_SWITCH, 3, 2, &id), 1);
    assert_int_equal(launch_conditional(CU_GRAPH_COND_TYPE_SWITCH, 3, 3, &id), 0);
    assert_int_equal(launch_conditional(CU_GRAPH_COND_TYPE_WHILE, 1, 4, &id), 4);
    const CUpti_ActivityKernel10 *first = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
    const CUpti_ActivityKernel10 *last = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 3);
    CUDA_OK(cuptiGetStreamIdEx(NULL, stream, 0, &stream_id));
    assert_int_equal(first->correlationId, 0);
    assert_int_equal(first->graphId, id);
    assert_int_equal(first->graphNodeId >> 32, id);
    assert_int_equal(first->graphNodeId, last->graphNodeId);
    assert_int_not_equal(first->streamId, stream_id);
    assert_true(first->end <= last->start);
}

/* The executable graph's own nodes, and then those of each graph in it, from 1 on. */
UNIT_TEST_WITH(records_number_nodes_of_graphs_within_behind_the_graph_s_own, NULL, recording_teardown)
{
    cudaGraph_t graph, child;
    cudaGraphNode_t first, second;
    cudaGraphExec_t exec;
    uint32_t id;
    CUDA_OK(cudaGraphCreate(&child, 0));
    add_kernel(child);
    add_kernel(child);
    CUDA_OK(cudaGraphCreate(&graph, 0));
    CUDA_OK(cudaGraphAddChildGraphNode(&first, graph, NULL, 0, child));
    CUDA_OK(cudaGraphAddChildGraphNode(&second, graph, &first, 1, child));
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    CUDA_OK(cuptiGetGraphExecId(exec, &id));
    KINDS(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    recording_flush(false);
    assert_int_equal(recording_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 4);
    bool seen[4] = {false};
    for (size_t i = 0; i < 4; i++) {
        const CUpti_ActivityKernel10 *kernel = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i);
        assert_int_equal(kernel->graphNodeId >> 32, id);
        uint32_t number = (uint32_t)kernel->graphNodeId;
        assert_in_range(number, 3, 6);
        seen[number - 3] = true;
        assert_int_not_equal(kernel->correlationId, 0);
    }
    assert_true(seen[0] && seen[1] && seen[2] && seen[3]);
    CUDA_OK(cudaGraphExecDestroy(exec));
    CUDA_OK(cudaGraphDestroy(graph));
    CUDA_OK(cudaGraphDestroy(child));
}

UNIT_TEST_WITH(branches_run_beside_each_other, NULL, recording_teardown)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t fork, join;
    CUDA_OK(cudaEventCreate(&fork));
    CUDA_OK(cudaEventCreate(&join));
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA_OK(recording_launch(stream));
    CUDA_OK(cudaEventRecord(fork, stream));
    CUDA_OK(cudaStreamWaitEvent(side, fork, 0));
    CUDA_OK(recording_launch(stream));
    CUDA_OK(recording_launch(side));
    CUDA_OK(cudaEventRecord(join, side));
    CUDA_OK(cudaStreamWaitEvent(stream, join, 0));
    CUDA_OK(recording_launch(stream));
    CUDA_OK(cudaStreamEndCapture(stream, &graph));
    size_t nodes = 0, edges = 0;
    CUDA_OK(cudaGraphGetNodes(graph, NULL, &nodes));
    CUDA_OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    assert_int_equal(nodes, 4);
    assert_int_equal(edges, 4);
    CUDA_OK(cudaGraphInstantiate(&exec, graph, 0));
    KINDS(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    recording_flush(false);
    const CUpti_ActivityKernel10 *kernels[4];
    for (size_t i = 0; i < 4; i++)
        assert_non_null(kernels[i] = recording_get(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, i));
    assert_true(kernels[0]->end <= kernels[1]->start);
    assert_int_equal(kernels[1]->start, kernels[2]->start);
    assert_true(kernels[3]->start >= kernels[1]->end && kernels[3]->start >= kernels[2]->end);
    uint32_t launched_on, aside;
    CUDA_OK(cuptiGetStreamIdEx(NULL, stream, 0, &launched_on));
    CUDA_OK(cuptiGetStreamIdEx(NULL, side, 0, &aside));
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(kernels[i]->streamId == launched_on, i != 2);
    assert_int_not_equal(kernels[2]->streamId, aside); /* but one of the executable graph's own */
    CUDA_OK(cudaGraphExecDestroy(exec));
    CUDA_OK(cudaGraphDestroy(graph));
    CUDA_OK(cudaEventDestroy(fork));
    CUDA_OK(cudaEventDestroy(join));
}

UNIT_TEST_WITH(a_capture_whose_streams_do_not_come_back_fails, NULL, recording_teardown)
{
    cudaGraph_t graph;
    cudaEvent_t fork;
    CUDA_OK(cudaEventCreate(&fork));
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA_OK(recording_launch(stream));
    CUDA_OK(cudaEventRecord(fork, stream));
    CUDA_OK(cudaStreamWaitEvent(side, fork, 0));
    CUDA_OK(recording_launch(side));
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
    enum cudaStreamCaptureStatus status;
    CUDA_OK(cudaStreamIsCapturing(side, &status));
    assert_int_equal(status, cudaStreamCaptureStatusNone);
    CUDA_OK(cudaEventDestroy(fork));
}

static void add_one(void *count)
{
    ++*(int *)count;
}

UNIT_TEST_WITH(graphs_are_built_by_hand_in_graphs, NULL, recording_teardown)
{
    int calls = 0;
    cudaGraph_t inner, outer;
    cudaGraphNode_t set, host, child, copy, empty;
    cudaGraphExec_t exec;
    const struct cudaMemsetParams fill = {
        .dst = device, .value = 3, .elementSize = 1, .width = BYTES, .height = 1, .pitch = BYTES};
    const struct cudaHostNodeParams call = {.fn = add_one, .userData = &calls};
    CUDA_OK(cudaGraphCreate(&inner, 0));
    CUDA_OK(cudaGraphAddMemsetNode(&set, inner, NULL, 0, &fill));
    CUDA_OK(cudaGraphAddHostNode(&host, inner, &set, 1, &call));
    CUDA_OK(cudaGraphCreate(&outer, 0));
    CUDA_OK(cudaGraphAddEmptyNode(&empty, outer, NULL, 0));
    CUDA_OK(cudaGraphAddChildGraphNode(&child, outer, &empty, 1, inner));
    CUDA_OK(cudaGraphAddMemcpyNode1D(&copy, outer, &child, 1, pinned, device, BYTES, cudaMemcpyDeviceToHost));
    CUDA_OK(cudaGraphInstantiate(&exec, outer, 0));
    memset(pinned, 0, BYTES);
    for (int i = 0; i < 3; i++)
        CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    assert_int_equal(calls, 3);
    assert_int_equal(pinned[BYTES - 1], 3);

    CUDA_OK(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, pinned, device, 1, cudaMemcpyDeviceToHost));
    memset(pinned, 0, BYTES);
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    assert_int_equal(pinned[0], 3);
    assert_int_equal(pinned[1], 0);
    CUDA_OK(cudaGraphExecDestroy(exec));
    CUDA_OK(cudaGraphDestroy(outer));
    CUDA_OK(cudaGraphDestroy(inner));
}

UNIT_TEST_WITH(an_update_needs_the_same_shape, NULL, recording_teardown)
{
    cudaGraphExec_t exec = capture_chain();
    cudaGraph_t same, other;
    cudaGraphExecUpdateResultInfo info;
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA_OK(cudaMemsetAsync(device, 4, BYTES, stream));
    CUDA_OK(recording_launch(stream));
    CUDA_OK(cudaMemcpyAsync(pinned, device, BYTES, cudaMemcpyDeviceToHost, stream));
    CUDA_OK(cudaStreamEndCapture(stream, &same));
    CUDA_OK(cudaGraphExecUpdate(exec, same, &info));
    assert_int_equal(info.result, cudaGraphExecUpdateSuccess);
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
    assert_int_equal(pinned[0], 4);

    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA_OK(recording_launch(stream));
    CUDA_OK(cudaStreamEndCapture(stream, &other));
    assert_int_equal(cudaGraphExecUpdate(exec, other, &info), cudaErrorGraphExecUpdateFailure);
    assert_int_equal(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    CUDA_OK(cudaGraphDestroy(same));
    CUDA_OK(cudaGraphDestroy(other));
    CUDA_OK(cudaGraphExecDestroy(exec));
}

UNIT_MAIN(start, NULL)
