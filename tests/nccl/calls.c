/* Communicators, groups and calls of the stand-in. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/nccl/nccl.h"
#include "tests/nccl/profiler.h"

enum { TASKS = 64, LAUNCHES = 4, POLL_US = 200 };

static _Thread_local struct {
    int depth;
    size_t count;
    struct task tasks[TASKS];
    void *event; /* the plugin's */
} group;

/* Groups that threads of their own are to launch. */
static struct {
    bool wanted;
    size_t count;
    struct launch {
        CUcontext context;
        size_t count;
        struct task tasks[TASKS];
        void *event;
    } launches[LAUNCHES];
} nonblocking;

size_t type_size(ncclDataType_t type)
{
    static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return sizes[type];
}

__attribute__((visibility("default"))) int ncclGetVersion(int *version)
{
    *version = 22809;
    return 0;
}

/* --- communicators --- */

/* FNV-1a */
static uint64_t hash_of(const char *name, uint64_t more)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) + more;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return hash;
}

static ncclComm_t comm_new(const struct ncclComm *model)
{
    ncclComm_t comm = malloc(sizeof(*comm));
    if (!comm)
        abort();
    *comm = *model;
    profiler_init(comm);
    return comm;
}

ncclComm_t ncclCommInitRank_(struct nccl_shared *shared, const char *name, int ranks, int rank, int device)
{
    nvtx_plain("ncclCommInitRankConfig");
    atomic_fetch_add(&shared->here, 1);
    while (atomic_load(&shared->here) < (uint32_t)ranks)
        usleep(POLL_US);
    ncclComm_t comm = comm_new(&(struct ncclComm){.hash = hash_of(name, 0),
                                                  .ranks = ranks,
                                                  .rank = rank,
                                                  .device = device,
                                                  .stride = 1,
                                                  .shared = shared,
                                                  .place = &shared->world});
    nvtx_init_pop(SCHEMA_INIT_RANK, comm->hash, 0, ranks, rank, device);
    return comm;
}

ncclComm_t ncclCommSplit_(ncclComm_t parent)
{
    int color = parent->rank % 2;
    nvtx_plain("ncclCommSplit");
    ncclComm_t comm = comm_new(&(struct ncclComm){.hash = parent->hash ^ (uint64_t)(color + 1),
                                                  .ranks = parent->ranks / 2,
                                                  .rank = parent->rank / 2,
                                                  .device = parent->device,
                                                  .first = color,
                                                  .stride = 2,
                                                  .shared = parent->shared,
                                                  .place = &parent->shared->halves[color]});
    nvtx_init_pop(SCHEMA_SPLIT, comm->hash, parent->hash, comm->ranks, comm->rank, comm->device);
    return comm;
}

void ncclCommDestroy(ncclComm_t comm)
{
    nvtx_destroy(comm);
    profiler_finalize(comm);
    free(comm);
    nvtx_pop();
}

/* --- groups --- */

static bool is_pairwise(nccl_function function)
{
    return function == FUNCTION_SEND || function == FUNCTION_RECV;
}

/* Whether one kernel does both. */
static bool fit_together(const struct task *a, const struct task *b)
{
    return a->comm == b->comm && a->stream == b->stream &&
           (a->function == b->function || (is_pairwise(a->function) && is_pairwise(b->function)));
}

static void launch_tasks(struct task *tasks, size_t count, void *event)
{
    void *launch = profiler_launch_start(&tasks[0], event);
    kernel_launch(tasks, count);
    profiler_launch_stop(launch);
    profiler_tasks(tasks, count);
}

static void launch_all(struct task *tasks, size_t count, void *event)
{
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && fit_together(&tasks[first], &tasks[next]);)
            next++;
        launch_tasks(&tasks[first], next - first, event);
    }
    profiler_group_stop(event);
}

static void *launch_in_thread(void *argument)
{
    struct launch *launch = argument;
    MUST(cuCtxSetCurrent(launch->context));
    launch_all(launch->tasks, launch->count, launch->event);
    return NULL;
}

void ncclSetNonblocking_(void)
{
    nonblocking.wanted = true;
}

void ncclWaitReady_(void)
{
    for (size_t i = 0; i < nonblocking.count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, launch_in_thread, &nonblocking.launches[i]) != 0)
            abort();
        pthread_join(thread, NULL);
    }
    nonblocking.count = 0;
}

static void launch_later(void)
{
    if (nonblocking.count == LAUNCHES)
        abort();
    struct launch *launch = &nonblocking.launches[nonblocking.count++];
    *launch = (struct launch){.count = group.count, .event = group.event};
    memcpy(launch->tasks, group.tasks, group.count * sizeof(*group.tasks));
    MUST(cuCtxGetCurrent(&launch->context));
}

static void launch_group(void)
{
    if (nonblocking.wanted)
        launch_later();
    else
        launch_all(group.tasks, group.count, group.event);
    group.count = 0;
    group.event = NULL;
}

void ncclGroupStart(void)
{
    nvtx_plain("ncclGroupStart");
    group.depth++;
    nvtx_pop();
}

void ncclGroupEnd(void)
{
    nvtx_plain("ncclGroupEnd");
    if (--group.depth == 0)
        launch_group();
    nvtx_pop();
}

static void call(const struct task *task)
{
    nvtx_call(task);
    if (group.count == TASKS)
        abort();
    if (!group.event)
        group.event = profiler_group_start(task);
    struct task *added = &group.tasks[group.count++];
    *added = *task;
    added->call_event = profiler_call_start(task, group.event);
    profiler_call_stop(added->call_event);
    if (group.depth == 0)
        launch_group();
    nvtx_pop();
}

#define CALL(which, ...) \
    call(&(struct task){ \
        .function = FUNCTION_##which, .comm = comm, .stream = stream, .count = count, .type = type, __VA_ARGS__})

void ncclAllReduce(size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, CUstream stream)
{
    CALL(ALL_REDUCE, .op = op);
}

void ncclReduceScatter(size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm, CUstream stream)
{
    CALL(REDUCE_SCATTER, .op = op);
}

void ncclReduce(size_t count, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm, CUstream stream)
{
    CALL(REDUCE, .op = op, .peer = root);
}

void ncclAllGather(size_t count, ncclDataType_t type, ncclComm_t comm, CUstream stream)
{
    CALL(ALL_GATHER, .peer = 0);
}

void ncclAlltoAll(size_t count, ncclDataType_t type, ncclComm_t comm, CUstream stream)
{
    CALL(ALL_TO_ALL, .peer = 0);
}

void ncclBroadcast(size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream)
{
    CALL(BROADCAST, .peer = root);
}

void ncclGather(size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream)
{
    CALL(GATHER, .peer = root);
}

void ncclScatter(size_t count, ncclDataType_t type, int root, ncclComm_t comm, CUstream stream)
{
    CALL(SCATTER, .peer = root);
}

void ncclSend(size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream)
{
    CALL(SEND, .peer = peer);
}

void ncclRecv(size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream)
{
    CALL(RECV, .peer = peer);
}
