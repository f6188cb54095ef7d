/* The kernels of the stand-in. They have the names of NCCL's, and wait for those of other ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/nccl/nccl.h"

enum { BYTES_PER_NS = 200, LEAST_NS = 8000, CHANNELS = 8, THREADS = 512 };

/* "%s" is the type, without its sign. */
static const char *const kernels[] = {
    [FUNCTION_ALL_GATHER] = "ncclDevKernel_AllGather_RING_LL",
    [FUNCTION_ALL_REDUCE] = "ncclDevKernel_AllReduce_Sum_%s_RING_LL",
    [FUNCTION_ALL_TO_ALL] = "ncclDevKernel_SendRecv",
    [FUNCTION_BROADCAST] = "ncclDevKernel_Broadcast_RING_LL",
    [FUNCTION_GATHER] = "ncclDevKernel_SendRecv",
    [FUNCTION_REDUCE] = "ncclDevKernel_Reduce_Sum_%s_RING_LL",
    [FUNCTION_REDUCE_SCATTER] = "ncclDevKernel_ReduceScatter_Sum_%s_RING_LL",
    [FUNCTION_SCATTER] = "ncclDevKernel_SendRecv",
    [FUNCTION_SEND] = "ncclDevKernel_SendRecv",
    [FUNCTION_RECV] = "ncclDevKernel_SendRecv",
};

void must(CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "fake_nccl: %s: error %d\n", what, (int)result);
    exit(9);
}

/* The function of this name, loaded when it is asked for first. */
static CUfunction function_named(const char *name)
{
    enum { MOST = 16 };
    static struct {
        char name[128];
        CUfunction function;
    } known[MOST];
    size_t i = 0;
    for (; i < MOST - 1 && known[i].function; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].function;
    char text[512];
    CUmodule module;
    snprintf(text, sizeof(text), ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry %s()\n{\n ret;\n}\n",
             name);
    MUST(cuModuleLoadData(&module, text));
    MUST(cuModuleGetFunction(&known[i].function, module, name));
    snprintf(known[i].name, sizeof(known[i].name), "%s", name);
    return known[i].function;
}

static void launch(const char *name, unsigned blocks, CUstream stream)
{
    CUfunction function = function_named(name);
    MUST(cuLaunchKernel(function, blocks, 1, 1, THREADS, 1, 1, 0, stream, NULL, NULL));
}

void kernel_compute(const char *name, uint64_t duration, CUstream stream)
{
    CUfunction function = function_named(name);
    simgpu_next_kernel(duration, NULL, 0);
    MUST(cuLaunchKernel(function, 132, 1, 1, 256, 1, 1, 0, stream, NULL, NULL));
}

static int rank_in_job(const struct ncclComm *comm, int rank)
{
    return comm->first + rank * comm->stride;
}

static struct meeting meeting_of(const struct task *task)
{
    struct ncclComm *comm = task->comm;
    struct meeting meeting = {.place = comm->place,
                              .side = (uint32_t)comm->rank,
                              .sides = (uint32_t)comm->ranks,
                              .kind = (uint32_t)(task->function + 16 * (task->count * type_size(task->type) % 65521))};
    bool sends = task->function == FUNCTION_SEND;
    if (sends || task->function == FUNCTION_RECV) {
        int ours = rank_in_job(comm, comm->rank), theirs = rank_in_job(comm, task->peer);
        meeting.place = sends ? &comm->shared->pairs[ours][theirs] : &comm->shared->pairs[theirs][ours];
        meeting.side = !sends;
        meeting.sides = 2;
        meeting.kind = (uint32_t)(task->count * type_size(task->type) % 65521);
    }
    return meeting;
}

void kernel_launch(const struct task *tasks, size_t count)
{
    struct meeting meetings[MEETINGS_MAX];
    size_t bytes = 0, met = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += tasks[i].count * type_size(tasks[i].type);
        if (met < MEETINGS_MAX &&
            (met == 0 || tasks[i].function == FUNCTION_SEND || tasks[i].function == FUNCTION_RECV))
            meetings[met++] = meeting_of(&tasks[i]);
    }
    static const char *const types[] = {"u8", "u8", "u32", "u32", "u64", "u64", "f16", "f32"};
    char name[64], mangled[128];
    snprintf(name, sizeof(name), kernels[tasks[0].function], types[tasks[0].type]);
    snprintf(mangled, sizeof(mangled), "_Z%zu%s24ncclDevKernelArgsStorageILm4096EE", strlen(name), name);
    function_named(mangled); /* compiling it takes time */
    simgpu_next_kernel(LEAST_NS + bytes / BYTES_PER_NS, meetings, met);
    launch(mangled, CHANNELS, tasks[0].stream);
}
