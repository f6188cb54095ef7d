/*
 * unlaunched WAY [module]: launches kernels that were never launched before, most of them in a graph, and is killed at
 * once: the names that their records point to were not read yet. They are dying_0, dying_1 and dying_2. WAY says how
 * they came to be launched.
 */
#include "rounds.h"

#include <signal.h>

static CUgraph graph;
static CUgraphExec exec;

/* A library's kernel may stand for a function where it is launched, and nowhere else. */
static CUDA_KERNEL_NODE_PARAMS of_kernel(unsigned number)
{
    CUfunction function = kernel(number);
    return (CUDA_KERNEL_NODE_PARAMS){.func = work.module ? function : NULL,
                                     .kern = work.module ? NULL : (CUkernel)function,
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 32,
                                     .blockDimY = 1,
                                     .blockDimZ = 1};
}

static CUgraphNode add(CUgraph to, unsigned number)
{
    CUDA_KERNEL_NODE_PARAMS params = of_kernel(number);
    CUgraphNode node;
    MUST(cuGraphAddKernelNode(&node, to, NULL, 0, &params));
    return node;
}

static void add_any(unsigned number)
{
    CUDA_KERNEL_NODE_PARAMS params = of_kernel(number);
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    CUgraphNode node;
    memcpy(&any.kernel, &params, sizeof(params));
    MUST(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &any));
}

static CUgraph captured(unsigned first, unsigned kernels)
{
    CUgraph made;
    MUST(cuStreamBeginCapture(work.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (unsigned i = first; i < first + kernels; i++)
        MUST(cuLaunchKernel(kernel(i), 1, 1, 1, 32, 1, 1, 0, work.stream, NULL, NULL));
    MUST(cuStreamEndCapture(work.stream, &made));
    return made;
}

static void instantiate(CUgraph from)
{
    MUST(cuGraphInstantiateWithFlags(&exec, from, 0));
}

static void by_capture(void)
{
    instantiate(captured(0, 3));
}

static void by_adding(void)
{
    MUST(cuGraphCreate(&graph, 0));
    for (unsigned i = 0; i < 3; i++)
        add(graph, i);
    instantiate(graph);
}

static void by_adding_any(void)
{
    MUST(cuGraphCreate(&graph, 0));
    for (unsigned i = 0; i < 3; i++)
        add_any(i);
    instantiate(graph);
}

/* Two levels of them. */
static void by_children(void)
{
    CUgraph child, grandchild = captured(0, 1);
    CUgraphNode node;
    MUST(cuGraphCreate(&child, 0));
    add(child, 1);
    MUST(cuGraphAddChildGraphNode(&node, child, NULL, 0, grandchild));
    MUST(cuGraphCreate(&graph, 0));
    add(graph, 2);
    MUST(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    instantiate(graph);
}

static void by_cloning(void)
{
    CUgraph clone, other;
    graph = captured(0, 3);
    MUST(cuGraphClone(&clone, graph));
    MUST(cuGraphClone(&other, clone));
    MUST(cuGraphDestroy(graph));
    instantiate(other);
}

/* What its first copy launches stays as it is. */
static void by_changing_a_node(void)
{
    MUST(cuGraphCreate(&graph, 0));
    CUgraphNode node = add(graph, 9);
    add(graph, 1);
    add(graph, 2);
    instantiate(graph);
    CUDA_KERNEL_NODE_PARAMS params = of_kernel(0);
    MUST(cuGraphKernelNodeSetParams(node, &params));
    instantiate(graph);
}

static void by_changing_the_copy(void)
{
    MUST(cuGraphCreate(&graph, 0));
    add(graph, 0);
    CUgraphNode node = add(graph, 9);
    add(graph, 2);
    instantiate(graph);
    CUDA_KERNEL_NODE_PARAMS params = of_kernel(1);
    MUST(cuGraphExecKernelNodeSetParams(exec, node, &params));
}

/* Another graph of the same shape takes the place of the first in what was instantiated. */
static void by_updating(void)
{
    CUgraphExecUpdateResultInfo result;
    instantiate(captured(8, 3));
    MUST(cuGraphExecUpdate(exec, captured(0, 3), &result));
}

/* A captured launch is none: what is launched after it is a first launch still. */
static void by_capture_and_launch(void)
{
    captured(0, 1);
    exec = NULL;
    for (unsigned i = 0; i < 3; i++)
        MUST(cuLaunchKernel(kernel(i), 1, 1, 1, 32, 1, 1, 0, work.stream, NULL, NULL));
}

/* Among others that are launched again and again: as often as their launches can all be heard. */
static void by_launching_late(void)
{
    get_all();
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned round = 0; round < 60; round++) {
            for (unsigned again = 0; again < 100; again++)
                MUST(cuLaunchKernel(kernel(9), 1, 1, 1, 32, 1, 1, 0, work.stream, NULL, NULL));
            usleep(4000);
        }
        MUST(cuLaunchKernel(kernel(i), 1, 1, 1, 32, 1, 1, 0, work.stream, NULL, NULL));
    }
}

static const struct {
    const char *name;
    void (*make)(void);
} ways[] = {
    {"capture", by_capture},
    {"add", by_adding},
    {"add-any", by_adding_any},
    {"children", by_children},
    {"clone", by_cloning},
    {"change", by_changing_a_node},
    {"change-copy", by_changing_the_copy},
    {"update", by_updating},
    {"capture-and-launch", by_capture_and_launch},
    {"late", by_launching_late},
};

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    begin_work(argc > 2);
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        if (strcmp(way, ways[i].name) != 0)
            continue;
        ways[i].make();
        if (exec)
            MUST(cuGraphLaunch(exec, work.stream));
        raise(SIGKILL);
    }
    fprintf(stderr, "unlaunched: no way '%s'\n", way);
    return 9;
}
