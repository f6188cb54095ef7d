/*
 * CUDA graphs: publishes which function each kernel node launches and which node a copied node comes from, finds the
 * first launch of each executable graph, and counts open captures. The rows of the driver's functions for graphs are at
 * the end.
 */
#include "agent/cupti/graphs.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "agent/cupti/calls_code.h"
#include "agent/cupti/cupti_library.h"
#include "agent/cupti/driver_calls.h"
#include "agent/cupti/kernel_names.h"
#include "agent/dispatch/registry.h"
#include "common/map.h"

/* The first CUPTI version for which all of this behaviour was verified. */
#define NODES_SINCE 130000u

static const struct cupti *cupti_in_use;

static uint32_t capturer; /* thread of the only capture; 0: several; changed under `lock`, read without it */

static __thread uint32_t conditional_in; /* correlation id of the last call that created a conditional node */

static __thread struct {
    uint64_t node; /* the last node that CUPTI reported as a copy, in the call `correlation` */
    uint32_t correlation;
} copied;

/* Returns CUPTI's number of NODE, or 0 if unknown. An older CUPTI does not report all changes, so that information
 * about its nodes could be wrong. */
static uint64_t node_number(CUgraphNode node)
{
    const struct cupti *cupti = __atomic_load_n(&cupti_in_use, __ATOMIC_ACQUIRE);
    uint64_t id = 0;
    if (!cupti || cupti->version < NODES_SINCE)
        return 0;
    bool known = node && cupti->cuptiGetGraphNodeId && cupti->cuptiGetGraphNodeId(node, &id) == CUPTI_SUCCESS;
    return known ? id : 0;
}

/* Returns the graph's number in records of its work, or 0 if unknown. */
static uint32_t graph_number(CUgraphExec exec)
{
    const struct cupti *cupti = __atomic_load_n(&cupti_in_use, __ATOMIC_ACQUIRE);
    uint32_t number = 0;
    bool known = cupti && cupti->cuptiGetGraphExecId && cupti->cuptiGetGraphExecId(exec, &number) == CUPTI_SUCCESS;
    return known ? number : 0;
}

static void publish(struct gputrace_graph_node *node)
{
    if (node->node != 0)
        registry_graph_node_publish(node);
}

void graph_node_starts(CUgraphNodeType type, const struct open_call *open)
{
    if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL && open)
        conditional_in = open->correlation;
}

/* Publishes a new node. Kernel nodes that the program itself adds are published by their calls, which contain the
 * function. For other nodes only the time and thread of their creation matter. */
void graph_node_made(CUgraphNode node, CUgraphNodeType type, const struct open_call *open)
{
    const struct driver_call *row = open ? open->row : NULL;
    bool is_kernel = type == CU_GRAPH_NODE_TYPE_KERNEL, by_launch = is_kernel && row && row->launched;
    bool is_gpu_op = is_kernel || type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET;
    bool by_graph_call = row && (row->kinds & REGISTRY_BIT(graph_node));
    bool is_copy = by_graph_call && (row->phase != 0 || !row->publish); /* reported to graph_node_copied(), too */
    if (!is_gpu_op || is_copy || (is_kernel && by_graph_call))
        return;
    /* This thread may work for the thread that began the only open capture, as PyTorch's backward threads do. */
    uint32_t capturing = captures_go_on() ? __atomic_load_n(&capturer, __ATOMIC_RELAXED) : 0;
    publish(&(struct gputrace_graph_node){.node = node_number(node),
                                          .function = by_launch ? row->launched(open->params) : NULL,
                                          .correlation = open ? open->correlation : 0,
                                          .capturer = capturing != thread_id() ? capturing : 0,
                                          .made = true});
    if (by_launch)
        first_launches_captured();
}

void graph_node_copied(CUgraphNode node, CUgraphNode original, const struct open_call *open)
{
    const struct driver_call *row = open ? open->row : NULL;
    if (row && (row->cbid == CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate ||
                row->cbid == CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2))
        return; /* graph_exec_updated() handles these */
    uint64_t of = node_number(original);
    if (of == 0)
        return;
    copied.node = node_number(node);
    copied.correlation = open ? open->correlation : 0;
    publish(&(struct gputrace_graph_node){.node = copied.node, .original = of, .correlation = copied.correlation});
}

void graph_node_launches(CUgraphNode node, bool made, const void *function, uint32_t correlation)
{
    publish(&(struct gputrace_graph_node){
        .node = node_number(node), .function = function, .correlation = correlation, .made = made});
}

/* Publishes that the call CORRELATION made each node of EXEC a copy of the node of GRAPH at the same place. Leaves out
 * nodes of graphs within GRAPH. */
static void graph_exec_updated(CUgraphExec exec, CUgraph graph, uint32_t correlation)
{
    size_t count = 0;
    const struct driver *driver = driver_known();
    uint64_t number = registry_graph_node_wanted() && driver ? graph_number(exec) : 0;
    if (number == 0 || driver->cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS || count == 0)
        return;
    CUgraphNode *nodes = calloc(count, sizeof(CUgraphNode));
    if (nodes && driver->cuGraphGetNodes(graph, nodes, &count) != CUDA_SUCCESS)
        count = 0;
    for (size_t i = 0; nodes && i < count; i++) {
        uint64_t of = node_number(nodes[i]);
        if (of != 0)
            publish(&(struct gputrace_graph_node){
                .node = number << 32 | (uint32_t)of, .original = of, .correlation = correlation});
    }
    free(nodes);
}

/* --- first launches of graphs --- */

static struct {
    pthread_mutex_t lock;
    struct map expected;    /* executable graphs whose next launch is expected */
    struct map conditional; /* executable graphs with conditional nodes -> their numbers */
    unsigned budget;        /* launches of other graphs until callbacks are switched off */
    bool suspended;         /* recording is off: launches of conditional graphs are not published */
} graphs = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Expects a launch of EXEC, and switches callbacks on. The caller holds the lock. */
static void expect(CUgraphExec exec)
{
    if (map_put(&graphs.expected, driver_call_integer(exec), NULL))
        callback_switches_need(CALLBACKS_GRAPH_LAUNCHES, true);
    graphs.budget = GRAPH_LAUNCHES_BUDGET;
}

void graph_launches_expect(CUgraphExec exec)
{
    if (!exec || !registry_graph_node_wanted())
        return;
    pthread_mutex_lock(&graphs.lock);
    expect(exec);
    pthread_mutex_unlock(&graphs.lock);
}

/* Notes that EXEC was instantiated, and whether it has CONDITIONAL nodes. */
static void note_instantiated(CUgraphExec exec, bool conditional)
{
    if (!exec || !registry_graph_node_wanted())
        return;
    uint32_t number = conditional ? graph_number(exec) : 0;
    pthread_mutex_lock(&graphs.lock);
    uint64_t key = driver_call_integer(exec), *place = number != 0 ? map_put(&graphs.conditional, key, NULL) : NULL;
    if (place)
        *place = number;
    else
        map_remove(&graphs.conditional, key); /* another graph had the same handle */
    expect(exec);
    pthread_mutex_unlock(&graphs.lock);
}

/* Whether launches of conditional graphs are published. The caller holds the lock. */
static bool conditional_are_heard(void)
{
    return map_count(&graphs.conditional) > 0 && !graphs.suspended;
}

/* Forgets all expected launches. The caller holds the lock. */
static void forget_expected(void)
{
    map_release(&graphs.expected);
    callback_switches_need(CALLBACKS_GRAPH_LAUNCHES, conditional_are_heard());
}

bool graph_launches_returned(CUgraphExec exec, uint32_t correlation, uint64_t start)
{
    pthread_mutex_lock(&graphs.lock);
    uint64_t key = driver_call_integer(exec);
    bool expected = map_remove(&graphs.expected, key), any = map_count(&graphs.expected) > 0;
    if (expected)
        graphs.budget = GRAPH_LAUNCHES_BUDGET;
    if (any ? !expected && --graphs.budget == 0 : expected || !conditional_are_heard())
        forget_expected();
    const uint64_t *number = correlation != 0 && !graphs.suspended ? map_get(&graphs.conditional, key) : NULL;
    uint32_t graph = number ? (uint32_t)*number : 0;
    pthread_mutex_unlock(&graphs.lock);
    if (graph != 0)
        registry_conditional_launch_publish(
            &(struct gputrace_conditional_launch){.start = start, .correlation = correlation, .graph = graph});
    return expected;
}

void graph_launches_suspend(bool suspended)
{
    pthread_mutex_lock(&graphs.lock);
    graphs.suspended = suspended;
    callback_switches_need(CALLBACKS_GRAPH_LAUNCHES, map_count(&graphs.expected) > 0 || conditional_are_heard());
    pthread_mutex_unlock(&graphs.lock);
}

void graph_launches_forget(void)
{
    pthread_mutex_lock(&graphs.lock);
    map_release(&graphs.conditional);
    forget_expected();
    pthread_mutex_unlock(&graphs.lock);
}

/* --- captures --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* launches are switched in the order of counts */
unsigned captures_going_on;                              /* also read without the lock */

/* Sets the count and switches the callbacks of launches. The caller holds the lock. */
static void set_going_on(unsigned count)
{
    __atomic_store_n(&captures_going_on, count, __ATOMIC_RELAXED);
    callback_switches_need(CALLBACKS_CAPTURES, count > 0);
}

void captures_begin(void)
{
    pthread_mutex_lock(&lock);
    __atomic_store_n(&capturer, captures_going_on == 0 ? thread_id() : 0, __ATOMIC_RELAXED);
    set_going_on(captures_going_on + 1);
    pthread_mutex_unlock(&lock);
}

/* Does nothing for a capture whose begin was not seen. */
void captures_end(void)
{
    pthread_mutex_lock(&lock);
    if (captures_going_on > 0)
        set_going_on(captures_going_on - 1);
    pthread_mutex_unlock(&lock);
}

void captures_forget(void)
{
    pthread_mutex_lock(&lock);
    set_going_on(0);
    pthread_mutex_unlock(&lock);
}

/* The driver returns an error for the legacy default stream while others are captured; that stream is not captured. */
bool captures_ask(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const struct driver *driver = driver_known();
    return driver && driver->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* --- init and fork --- */

void graphs_init(const struct cupti *cupti)
{
    __atomic_store_n(&cupti_in_use, cupti, __ATOMIC_RELEASE);
}

void graphs_atfork_child(void)
{
    cupti_in_use = NULL;
    conditional_in = copied.correlation = 0; /* ids of the child's calls start again */
    pthread_mutex_init(&graphs.lock, NULL);
    graphs.suspended = false;
    graphs.expected = graphs.conditional = (struct map){0}; /* the parent's memory is not freed: malloc may be locked */
    pthread_mutex_init(&lock, NULL);
    captures_going_on = 0;
    capturer = 0;
}

/* Capture, instantiation and launch of graphs. A capture is a phase of compilation that begins in one call and ends in
 * another. */

/* Returns the key of a capture: its stream, or, for the thread's own default stream, an address of the thread's. */
static const struct CUstream_st *captured(CUstream stream)
{
    static __thread char own_stream;
    return stream == CU_STREAM_PER_THREAD ? (const void *)&own_stream : stream;
}

static void publish_start(const struct driver_return *returned, CUstream given, CUstreamCaptureMode mode)
{
    CUstream stream = driver_call_stream(returned, given);
    bool bound = mode != CU_STREAM_CAPTURE_MODE_RELAXED; /* another thread may end a capture in relaxed mode */
    if (driver_call_done(returned)) {
        captures_begin();
        phase_begins(GPUTRACE_TRIGGER_GRAPH_CAPTURE, captured(stream), bound, &returned->call);
    }
    registry_graph_capture_start_publish(
        &(struct gputrace_graph_capture_start){.call = returned->call, .stream = stream, .mode = (uint32_t)mode});
}

#define PUBLISH_START(function, mode)                                    \
    static void publish_##function(const struct driver_return *returned) \
    {                                                                    \
        const function##_params *p = returned->params;                   \
        publish_start(returned, p->hStream, mode);                       \
    }
PUBLISH_START(cuStreamBeginCapture, CU_STREAM_CAPTURE_MODE_GLOBAL)
PUBLISH_START(cuStreamBeginCapture_v2, p->mode)
PUBLISH_START(cuStreamBeginCaptureToGraph, p->mode)

static void publish_end(const struct driver_return *returned)
{
    const cuStreamEndCapture_params *p = returned->params;
    CUstream stream = driver_call_stream(returned, p->hStream);
    int32_t result = returned->call.result;
    /* A broken capture ends with an error. The capture goes on if another thread or stream must end it, and there is
     * none if the stream was not captured. */
    if (result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD && result != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED &&
        result != CUDA_ERROR_ILLEGAL_STATE) {
        captures_end();
        phases_end(captured(stream), NULL, &returned->call, GPUTRACE_ENDING_RETURNED);
    }
    registry_graph_capture_end_publish(&(struct gputrace_graph_capture_end){
        .call = returned->call,
        .stream = stream,
        .graph = driver_call_done(returned) && p->phGraph ? *p->phGraph : NULL,
    });
}

static void publish_instantiation(const struct driver_return *returned, CUgraph graph, CUgraphExec *out, uint64_t flags)
{
    if (driver_call_done(returned))
        note_instantiated(*out, returned->call.correlation != 0 && conditional_in == returned->call.correlation);
    registry_graph_instantiation_publish(&(struct gputrace_graph_instantiation){
        .call = returned->call,
        .graph = graph,
        .exec = driver_call_done(returned) ? *out : NULL,
        .flags = flags,
    });
}

#define PUBLISH_INSTANTIATION(function, flags)                             \
    static void publish_##function(const struct driver_return *returned)   \
    {                                                                      \
        const function##_params *p = returned->params;                     \
        publish_instantiation(returned, p->hGraph, p->phGraphExec, flags); \
    }
PUBLISH_INSTANTIATION(cuGraphInstantiate_v2, 0)
PUBLISH_INSTANTIATION(cuGraphInstantiateWithFlags, p->flags)
PUBLISH_INSTANTIATION(cuGraphInstantiateWithParams, p->instantiateParams ? p->instantiateParams->flags : 0)

DRIVER_CALL_PUBLISHES(cuGraphLaunch, graph_launch, .exec = p->hGraph,
                      .stream = driver_call_stream(returned, p->hStream))

/* --- kernel nodes that programs add and change, and calls that copy nodes: graphs.h --- */

/* What the parameters of a node launch. Only the newer struct, which begins like the older, has space for a CUkernel. A
 * node of any type may not be a kernel: NULL. */
#define OLDER(params) ((params) ? (params)->func : NULL)
#define FUNCTION_OR_KERNEL(kernel) ((kernel)->func ? (const void *)(kernel)->func : (const void *)(kernel)->kern)
#define NEWER(params) ((params) ? FUNCTION_OR_KERNEL(params) : NULL)
#define ANY(params) \
    ((params) && (params)->type == CU_GRAPH_NODE_TYPE_KERNEL ? FUNCTION_OR_KERNEL(&(params)->kernel) : NULL)

/* Defines the publisher of a call that makes something launch FUNCTION: ACTION publishes it if the call succeeded. */
#define PUBLISH(name, function, action)                              \
    static void publish_##name(const struct driver_return *returned) \
    {                                                                \
        const name##_params *p = returned->params;                   \
        uint32_t correlation = returned->call.correlation;           \
        const void *launched = function;                             \
        if (driver_call_done(returned) && launched)                  \
            action;                                                  \
    }
#define NEW_NODE graph_node_launches(*p->phGraphNode, true, launched, correlation)
#define NODE graph_node_launches(p->hNode, false, launched, correlation)
/* Publishes the function of the copied node that CUPTI reported in this call. */
#define COPY                                                                                           \
    publish(&(struct gputrace_graph_node){.node = copied.correlation == correlation ? copied.node : 0, \
                                          .function = launched,                                        \
                                          .correlation = correlation}),                                \
        graph_launches_expect(p->hGraphExec)

PUBLISH(cuGraphAddKernelNode, OLDER(p->nodeParams), NEW_NODE)
PUBLISH(cuGraphAddKernelNode_v2, NEWER(p->nodeParams), NEW_NODE)
PUBLISH(cuGraphAddNode, ANY(p->nodeParams), NEW_NODE)
PUBLISH(cuGraphAddNode_v2, ANY(p->nodeParams), NEW_NODE)
PUBLISH(cuGraphKernelNodeSetParams, OLDER(p->nodeParams), NODE)
PUBLISH(cuGraphKernelNodeSetParams_v2, NEWER(p->nodeParams), NODE)
PUBLISH(cuGraphNodeSetParams, ANY(p->nodeParams), NODE)
PUBLISH(cuGraphExecKernelNodeSetParams, OLDER(p->nodeParams), COPY)
PUBLISH(cuGraphExecKernelNodeSetParams_v2, NEWER(p->nodeParams), COPY)
PUBLISH(cuGraphExecNodeSetParams, ANY(p->nodeParams), COPY)

/* Publishes a call that may have changed much of an executable graph. */
#define PUBLISH_CHANGE(name)                                                              \
    static void publish_##name(const struct driver_return *returned)                      \
    {                                                                                     \
        if (driver_call_done(returned))                                                   \
            graph_launches_expect(((const name##_params *)returned->params)->hGraphExec); \
    }
PUBLISH_CHANGE(cuGraphExecChildGraphNodeSetParams)

#define PUBLISH_UPDATE(name)                                                      \
    static void publish_##name(const struct driver_return *returned)              \
    {                                                                             \
        const name##_params *p = returned->params;                                \
        if (!driver_call_done(returned))                                          \
            return;                                                               \
        graph_exec_updated(p->hGraphExec, p->hGraph, returned->call.correlation); \
        graph_launches_expect(p->hGraphExec);                                     \
    }
PUBLISH_UPDATE(cuGraphExecUpdate)
PUBLISH_UPDATE(cuGraphExecUpdate_v2)

/* --- rows --- */

/* The begin and the end of captures are always wanted together, because captures are counted (graphs.h). Captures and
 * instantiations also create and copy nodes. */
#define CAPTURE (REGISTRY_BIT(graph_capture_start) | REGISTRY_BIT(graph_capture_end) | PHASE_KINDS | CAPTURES_KINDS)
#define INSTANTIATION (REGISTRY_BIT(graph_instantiation) | PHASE_KINDS | REGISTRY_BIT(graph_node))
#define INSTANTIATES .phase = GPUTRACE_TRIGGER_GRAPH_INSTANTIATION
#define NODES REGISTRY_BIT(graph_node)

static const struct driver_call rows[] = {
    DRIVER_CALL_PTSZ(cuStreamBeginCapture, CAPTURE, publish_cuStreamBeginCapture),
    DRIVER_CALL_PTSZ(cuStreamBeginCapture_v2, CAPTURE, publish_cuStreamBeginCapture_v2),
    DRIVER_CALL_PTSZ(cuStreamBeginCaptureToGraph, CAPTURE, publish_cuStreamBeginCaptureToGraph),
    DRIVER_CALL_PTSZ(cuStreamEndCapture, CAPTURE, publish_end),
    DRIVER_CALL(cuGraphInstantiate, INSTANTIATION, publish_cuGraphInstantiate_v2, INSTANTIATES),
    DRIVER_CALL(cuGraphInstantiate_v2, INSTANTIATION, publish_cuGraphInstantiate_v2, INSTANTIATES),
    DRIVER_CALL(cuGraphInstantiateWithFlags, INSTANTIATION, publish_cuGraphInstantiateWithFlags, INSTANTIATES),
    DRIVER_CALL_PTSZ(cuGraphInstantiateWithParams, INSTANTIATION, publish_cuGraphInstantiateWithParams, INSTANTIATES),
    DRIVER_CALL_PTSZ(cuGraphLaunch, REGISTRY_BIT(graph_launch), publish_cuGraphLaunch,
                     .needs = CALLBACKS_GRAPH_LAUNCHES),
    DRIVER_CALL(cuGraphAddKernelNode, NODES, publish_cuGraphAddKernelNode),
    DRIVER_CALL(cuGraphAddKernelNode_v2, NODES, publish_cuGraphAddKernelNode_v2),
    DRIVER_CALL(cuGraphAddNode, NODES, publish_cuGraphAddNode),
    DRIVER_CALL(cuGraphAddNode_v2, NODES, publish_cuGraphAddNode_v2),
    DRIVER_CALL(cuGraphKernelNodeSetParams, NODES, publish_cuGraphKernelNodeSetParams),
    DRIVER_CALL(cuGraphKernelNodeSetParams_v2, NODES, publish_cuGraphKernelNodeSetParams_v2),
    DRIVER_CALL(cuGraphNodeSetParams, NODES, publish_cuGraphNodeSetParams),
    DRIVER_CALL(cuGraphExecKernelNodeSetParams, NODES, publish_cuGraphExecKernelNodeSetParams),
    DRIVER_CALL(cuGraphExecKernelNodeSetParams_v2, NODES, publish_cuGraphExecKernelNodeSetParams_v2),
    DRIVER_CALL(cuGraphExecNodeSetParams, NODES, publish_cuGraphExecNodeSetParams),
    DRIVER_CALL(cuGraphExecUpdate, NODES, publish_cuGraphExecUpdate),
    DRIVER_CALL(cuGraphExecUpdate_v2, NODES, publish_cuGraphExecUpdate_v2),
    DRIVER_CALL(cuGraphExecChildGraphNodeSetParams, NODES, publish_cuGraphExecChildGraphNodeSetParams),
    /* CUPTI reports the nodes that are copied within these calls. */
    DRIVER_CALL(cuGraphAddChildGraphNode, NODES, NULL),
    DRIVER_CALL(cuGraphClone, NODES, NULL),
};

const struct driver_calls graph_calls = DRIVER_CALLS(rows);
