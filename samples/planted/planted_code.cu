/*
 * planted_code: code that is loaded or compiled, and graphs that are instantiated, in the loop; and the twins: see
 * planted.h.
 */
#include <cuda.h>
#include <time.h>

#include "planted.h"

enum { ROUNDS = 20, NODES = 10 };

/* The kernel differs by a constant, so that it is compiled again unless it is in a cache. */
static CUfunction load_ptx(int constant)
{
    char text[400];
    CUmodule module;
    CUfunction function;
    snprintf(text, sizeof(text),
             ".version 7.0\n.target sm_75\n.address_size 64\n"
             ".visible .entry planted() { .reg .b32 %%r; mov.b32 %%r, %d; ret; }\n",
             constant);
    CHECK(cuModuleLoadData(&module, text));
    CHECK(cuModuleGetFunction(&function, module, "planted"));
    return function;
}

static void launch_function(CUfunction function, cudaStream_t stream)
{
    CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

/* Other code is compiled in each round, or all was compiled when the program was built. */
static void jit(bool fixed)
{
    cudaStream_t stream = new_stream();
    float *data = device_memory(ELEMENTS * sizeof(float));
    struct timespec now;
    CHECK(clock_gettime(CLOCK_REALTIME, &now));
    int constant = (int)(now.tv_nsec / ROUNDS * ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
        if (!fixed)
            launch_function(load_ptx(constant + i), stream);
        launch_work(data, 1000, stream);
    }
}

/* The same module is loaded in each round: it comes from the cache. */
static void loading(bool fixed)
{
    cudaStream_t stream = new_stream();
    float *data = device_memory(ELEMENTS * sizeof(float));
    CUfunction function = load_ptx(0);
    for (int i = 0; i < 10 * ROUNDS; i++) {
        if (!fixed)
            function = load_ptx(0);
        launch_function(function, stream);
        launch_work(data, 20, stream);
    }
}

static cudaGraph_t capture(float *data, cudaStream_t stream)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < NODES; i++)
        launch_work(data, 1, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static void graphs(bool fixed)
{
    cudaStream_t stream = new_stream();
    float *data = device_memory(ELEMENTS * sizeof(float));
    cudaGraphExec_t exec = NULL;
    for (int i = 0; i < 50 * ROUNDS; i++) {
        if (!fixed || i == 0) {
            cudaGraph_t graph = capture(data, stream);
            CHECK(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
            CHECK(cudaGraphDestroy(graph));
        }
        CHECK(cudaGraphLaunch(exec, stream));
        if (!fixed)
            CHECK(cudaGraphExecDestroy(exec));
    }
}

static const planted_case cases[] = {{"jit", jit}, {"loading", loading}, {"graphs", graphs}};

int main(int argc, char **argv)
{
    CHECK(cudaFree(NULL));
    load_ptx(0); /* from here on it is in the cache */
    return planted_main(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
