/*
 * replayed WAY: a graph whose kernels dying_0, dying_1 … were captured, or added, in NVTX ranges, and is launched in
 * the range "replay". WAY says how it came to be.
 * replayed many|plain KERNELS ROUNDS: a graph of so many kernels, launched so often; "plain": without ranges.
 */
#include "rounds.h"

#include <pthread.h>
#include <signal.h>

#define LAUNCHES 3

static CUdeviceptr memory;
static CUstream stream;

static __attribute__((noinline)) void launch_kernel(unsigned number)
{
    MUST(cuLaunchKernel(kernel(number), 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
}

static void begin(CUstreamCaptureMode mode)
{
    MUST(cuStreamBeginCapture(stream, mode));
}

static CUgraph end(void)
{
    CUgraph graph;
    MUST(cuStreamEndCapture(stream, &graph));
    return graph;
}

static CUgraphExec instance(CUgraph graph)
{
    CUgraphExec exec;
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static __attribute__((noinline)) void replay(CUgraphExec exec)
{
    nvtxRangePushA("replay");
    for (unsigned i = 0; i < LAUNCHES; i++)
        MUST(cuGraphLaunch(exec, stream));
    nvtxRangePop();
    MUST(cuStreamSynchronize(stream));
}

static void in(const char *range, unsigned number)
{
    nvtxRangePushA(range);
    launch_kernel(number);
    nvtxRangePop();
}

/* dying_0 in A, dying_1 and what COPIES in A / B, dying_2 in none. */
static __attribute__((noinline)) CUgraph nested(const char *a, const char *b, bool copies)
{
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    nvtxRangePushA(a);
    launch_kernel(0);
    nvtxRangePushA(b);
    launch_kernel(1);
    if (copies) {
        MUST(cuMemsetD8Async(memory, 1, 64, stream));
        MUST(cuMemcpyDtoDAsync(memory + 64, memory, 64, stream));
    }
    nvtxRangePop();
    nvtxRangePop();
    launch_kernel(2);
    return end();
}

static void by_capture(void)
{
    replay(instance(nested("outer", "inner", true)));
}

static void by_capture_without_ranges(void)
{
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    launch_kernel(0);
    replay(instance(end()));
    in("launched", 1);
}

static void by_two_instances(void)
{
    CUgraph graph = nested("outer", "inner", false);
    CUgraphExec first = instance(graph), second = instance(graph);
    replay(first);
    replay(second);
}

static void by_cloning(void)
{
    CUgraph clone, other, graph = nested("outer", "inner", false);
    MUST(cuGraphClone(&clone, graph));
    MUST(cuGraphDestroy(graph));
    MUST(cuGraphClone(&other, clone));
    replay(instance(other));
}

/* First with what was captured in "old", then with what was captured in "new". */
static void by_updating(void)
{
    CUgraphExecUpdateResultInfo result;
    CUgraphExec exec = instance(nested("old", "inner", true));
    replay(exec);
    nvtxRangePushA("updating");
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    in("new", 3);
    in("newer", 4);
    MUST(cuMemsetD8Async(memory, 2, 64, stream));
    MUST(cuMemcpyDtoDAsync(memory + 128, memory, 64, stream));
    launch_kernel(5);
    CUgraph graph = end();
    MUST(cuGraphExecUpdate(exec, graph, &result));
    nvtxRangePop();
    replay(exec);
}

static CUDA_KERNEL_NODE_PARAMS params_of(unsigned number)
{
    return (CUDA_KERNEL_NODE_PARAMS){.kern = (CUkernel)kernel(number),
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 32,
                                     .blockDimY = 1,
                                     .blockDimZ = 1};
}

static __attribute__((noinline)) CUgraphNode add(CUgraph graph, unsigned number)
{
    CUDA_KERNEL_NODE_PARAMS params = params_of(number);
    CUgraphNode node;
    MUST(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
    return node;
}

static __attribute__((noinline)) void add_set_and_copy(CUgraph graph)
{
    CUcontext context;
    CUgraphNode node;
    CUDA_MEMSET_NODE_PARAMS set = {.dst = memory, .elementSize = 1, .width = 64, .height = 1};
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = memory,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = memory + 64,
                          .WidthInBytes = 64,
                          .Height = 1,
                          .Depth = 1};
    MUST(cuCtxGetCurrent(&context));
    MUST(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
    MUST(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
}

/* Nodes are where they were added, also when they launch something else later. */
static void by_adding(void)
{
    CUgraph graph;
    MUST(cuGraphCreate(&graph, 0));
    nvtxRangePushA("adding");
    CUgraphNode node = add(graph, 0);
    nvtxRangePushA("any");
    CUDA_KERNEL_NODE_PARAMS params = params_of(1), other = params_of(3);
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    CUgraphNode last;
    memcpy(&any.kernel, &params, sizeof(params));
    MUST(cuGraphAddNode_v2(&last, graph, NULL, NULL, 0, &any));
    add_set_and_copy(graph);
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangePushA("changing");
    params = params_of(2);
    MUST(cuGraphKernelNodeSetParams(node, &params));
    CUgraphExec exec = instance(graph);
    MUST(cuGraphExecKernelNodeSetParams(exec, last, &other));
    nvtxRangePop();
    replay(exec);
}

/* Two levels of graphs in a graph. */
static void by_children(void)
{
    CUgraphNode node;
    nvtxRangePushA("child");
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    launch_kernel(1);
    launch_kernel(3);
    CUgraph child = end();
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    launch_kernel(2);
    CUgraph grandchild = end();
    MUST(cuGraphAddChildGraphNode(&node, child, NULL, 0, grandchild));
    nvtxRangePop();
    nvtxRangePushA("parent");
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    launch_kernel(0);
    CUgraph graph = end();
    MUST(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    nvtxRangePop();
    replay(instance(graph));
}

static void by_condition(void)
{
    CUgraph graph;
    CUgraphConditionalHandle handle;
    CUcontext context;
    CUgraphNode node;
    MUST(cuGraphCreate(&graph, 0));
    MUST(cuCtxGetCurrent(&context));
    nvtxRangePushA("around");
    add(graph, 0);
    MUST(cuGraphConditionalHandleCreate(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams params = {
        .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
        .conditional = {.handle = handle, .type = CU_GRAPH_COND_TYPE_IF, .size = 1, .ctx = context}};
    MUST(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params));
    nvtxRangePushA("body");
    MUST(cuStreamBeginCaptureToGraph(stream, params.conditional.phGraph_out[0], NULL, NULL, 0,
                                     CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch_kernel(1);
    launch_kernel(2);
    end();
    nvtxRangePop();
    nvtxRangePop();
    replay(instance(graph));
}

/* Two kernels of one name in RANGE. */
static CUgraph pair(const char *range, unsigned number)
{
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    in(range, number);
    in(range, number);
    return end();
}

static __attribute__((noinline)) void capture_body(CUgraph body, const char *range)
{
    MUST(cuStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
    nvtxRangePushA(range);
    launch_kernel(2);
    MUST(cuMemsetD8Async(memory, 1, 64, stream));
    nvtxRangePop();
    end();
}

/* Kernels of one name in two child graphs, then the second of two bodies, with a child graph in it. A graph with a
 * conditional node cannot be cloned, and has one instance. */
static CUgraph graphs_within(void)
{
    CUgraph graph, clone;
    CUgraphNode first, second, node;
    CUgraphConditionalHandle handle;
    CUcontext context;
    MUST(cuCtxGetCurrent(&context));
    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphAddChildGraphNode(&first, graph, NULL, 0, pair("first", 1)));
    MUST(cuGraphAddChildGraphNode(&second, graph, &first, 1, pair("second", 1)));
    MUST(cuGraphConditionalHandleCreate(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
    CUgraphNodeParams params = {
        .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
        .conditional = {.handle = handle, .type = CU_GRAPH_COND_TYPE_SWITCH, .size = 2, .ctx = context}};
    MUST(cuGraphAddNode_v2(&node, graph, &second, NULL, 1, &params));
    capture_body(params.conditional.phGraph_out[0], "body 0");
    capture_body(params.conditional.phGraph_out[1], "body 1");
    MUST(cuGraphAddChildGraphNode(&node, params.conditional.phGraph_out[1], NULL, 0, pair("third", 3)));
    nvtxRangePushA("own");
    add(graph, 0);
    nvtxRangePop();
    if (cuGraphClone(&clone, graph) != CUDA_ERROR_NOT_SUPPORTED)
        exit(3);
    return graph;
}

static void by_graphs_within(void)
{
    replay(instance(graphs_within()));
    replay(instance(graphs_within()));
}

static CUgraph with_child(const char *range, unsigned number)
{
    CUgraph graph;
    CUgraphNode node;
    MUST(cuGraphCreate(&graph, 0));
    nvtxRangePushA(range);
    add(graph, number);
    nvtxRangePop();
    MUST(cuGraphAddChildGraphNode(&node, graph, NULL, 0, pair(range, 1)));
    return graph;
}

/* Of the nodes of the child graph nothing is known from then on. */
static void by_updating_with_children(void)
{
    CUgraphExecUpdateResultInfo result;
    CUgraphExec exec = instance(with_child("old", 0));
    replay(exec);
    MUST(cuGraphExecUpdate(exec, with_child("new", 2), &result));
    replay(exec);
}

static void *capture_aside(void *number)
{
    char range[32];
    CUstream own;
    CUgraph graph;
    snprintf(range, sizeof(range), "thread %u", *(unsigned *)number);
    CUcontext context;
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    nvtxRangePushA(range);
    MUST(cuStreamBeginCapture(own, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (unsigned i = 0; i < 100; i++)
        MUST(cuLaunchKernel(work.kernels[*(unsigned *)number], 1, 1, 1, 32, 1, 1, 0, own, NULL, NULL));
    MUST(cuStreamEndCapture(own, &graph));
    nvtxRangePop();
    CUgraphExec exec = instance(graph);
    MUST(cuGraphLaunch(exec, own));
    MUST(cuStreamSynchronize(own));
    return NULL;
}

static void by_threads(void)
{
    static unsigned numbers[4] = {0, 1, 2, 3};
    pthread_t threads[4];
    for (unsigned i = 0; i < 4; i++) {
        kernel(i);
        if (pthread_create(&threads[i], NULL, capture_aside, &numbers[i]) != 0)
            exit(8);
    }
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void *launch_aside(void *context)
{
    MUST(cuCtxSetCurrent(context));
    launch_kernel(2);
    in("on the other thread", 0);
    return NULL;
}

/* Another thread launches kernels too, in a range of its own and in none. BESIDE: while another stream is captured. */
static void relaxed_capture(bool beside)
{
    CUstream other;
    CUgraph unused;
    MUST(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    if (beside)
        MUST(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
    CUcontext context;
    pthread_t thread;
    kernel(0);
    kernel(2);
    MUST(cuCtxGetCurrent(&context));
    nvtxRangePushA("on the first thread");
    begin(CU_STREAM_CAPTURE_MODE_RELAXED);
    if (pthread_create(&thread, NULL, launch_aside, context) != 0)
        exit(8);
    pthread_join(thread, NULL);
    launch_kernel(1);
    CUgraph graph = end();
    nvtxRangePop();
    if (beside)
        MUST(cuStreamEndCapture(other, &unused));
    replay(instance(graph));
}

static void *capture_in_no_range(void *name)
{
    CUcontext context;
    pthread_setname_np(pthread_self(), name);
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    launch_kernel(strcmp(name, "worker") == 0);
    replay(instance(end()));
    return NULL;
}

/* Threads in no range capture while the first one waits for them in a range: one of PyTorch's autograd, and another. */
static void by_autograd(void)
{
    static char names[2][16] = {"pt_autograd_0", "worker"};
    nvtxRangePushA("backward");
    for (unsigned i = 0; i < 2; i++) {
        pthread_t thread;
        kernel(i);
        if (pthread_create(&thread, NULL, capture_in_no_range, names[i]) != 0)
            exit(8);
        pthread_join(thread, NULL);
    }
    nvtxRangePop();
}

static void by_relaxed_capture(void)
{
    relaxed_capture(false);
}

static void by_two_relaxed_captures(void)
{
    relaxed_capture(true);
}

/* Started ranges, of which one ends before the other that it began in. */
static void by_started_ranges(void)
{
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    nvtxRangeId_t first = nvtxRangeStartA("first");
    launch_kernel(0);
    nvtxRangeId_t second = nvtxRangeStartA("second");
    in("pushed", 1);
    nvtxRangeEnd(first);
    launch_kernel(2);
    nvtxRangeEnd(second);
    launch_kernel(3);
    replay(instance(end()));
}

/* Every capture leaks a pushed range and a started one. */
static void by_leaking(void)
{
    for (unsigned i = 0; i < 1000; i++) {
        char range[32];
        snprintf(range, sizeof(range), "leak %u", i);
        nvtxRangePushA(range);
        nvtxRangeStartA("started");
    }
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    in("innermost", 0);
    replay(instance(end()));
}

/* The names are longer than what is shown. */
static void by_long_names(void)
{
    static char name[3000];
    for (size_t i = 0; i + 2 < sizeof(name); i += 2)
        memcpy(name + i, "é", 2);
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    nvtxRangePushA(name);
    launch_kernel(0);
    in("short", 1);
    nvtxRangePop();
    replay(instance(end()));
}

static void by_open_range(void)
{
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    nvtxRangePushA("open");
    launch_kernel(0);
    replay(instance(end()));
}

static void and_die(void)
{
    by_open_range();
    raise(SIGKILL);
}

/* Five graphs of three kernels that run at once, launched one after another; then one on a stream of its own. */
static void by_branches(void)
{
    CUgraphExec exec = NULL;
    for (unsigned graph = 0; graph < 5; graph++) {
        CUgraph made;
        MUST(cuGraphCreate(&made, 0));
        for (unsigned i = 0; i < 3; i++)
            add(made, i);
        exec = instance(made);
        replay(exec);
    }
    launch_kernel(3);
    MUST(cuStreamSynchronize(stream));
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    launch_kernel(4);
    replay(instance(end()));
}

/* Two kernels that run at once, and one after both, all that ever runs on the default stream. */
static void on_the_default_stream(void)
{
    CUgraph graph;
    MUST(cuGraphCreate(&graph, 0));
    CUgraphNode before[] = {add(graph, 0), add(graph, 1)}, node;
    CUDA_KERNEL_NODE_PARAMS params = params_of(2);
    MUST(cuGraphAddKernelNode(&node, graph, before, 2, &params));
    stream = NULL;
    replay(instance(graph));
}

/* KERNELS of them, in ranges of eight each if there are RANGES, launched ROUNDS times. */
static void many(unsigned kernels, unsigned rounds, bool ranges)
{
    begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
    for (unsigned i = 0; i < kernels; i++) {
        char range[64];
        snprintf(range, sizeof(range), "model.layers.%u.self_attn", i / 8);
        if (ranges && i % 8 == 0)
            nvtxRangePushA(range);
        launch_kernel(i % 10);
        if (ranges && i % 8 == 7)
            nvtxRangePop();
    }
    CUgraphExec exec = instance(end());
    for (unsigned i = 0; i < rounds; i++) {
        MUST(cuGraphLaunch(exec, stream));
        if (i % 10 == 9)
            MUST(cuStreamSynchronize(stream));
    }
    MUST(cuStreamSynchronize(stream));
}

static const struct {
    const char *name;
    void (*act)(void);
} ways[] = {
    {"capture", by_capture},
    {"no-ranges", by_capture_without_ranges},
    {"instances", by_two_instances},
    {"clone", by_cloning},
    {"update", by_updating},
    {"add", by_adding},
    {"children", by_children},
    {"condition", by_condition},
    {"within", by_graphs_within},
    {"update-within", by_updating_with_children},
    {"threads", by_threads},
    {"autograd", by_autograd},
    {"relaxed", by_relaxed_capture},
    {"relaxed-beside", by_two_relaxed_captures},
    {"started", by_started_ranges},
    {"leaks", by_leaking},
    {"long-names", by_long_names},
    {"branches", by_branches},
    {"default-stream", on_the_default_stream},
    {"open", by_open_range},
    {"killed", and_die},
};

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    begin_work(false);
    stream = work.stream;
    MUST(cuMemAlloc(&memory, 4096));
    if (argc > 3) {
        many((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]), strcmp(way, "many") == 0);
        return 0;
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        if (strcmp(way, ways[i].name) == 0) {
            ways[i].act();
            return 0;
        }
    fprintf(stderr, "replayed: no way '%s'\n", way);
    return 9;
}
