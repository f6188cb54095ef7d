/*
 * The structs are those of NCCL's interface, from its documentation: independent of what the plugin was written with.
 * FAKE_NCCL_PROFILER is the version that this "NCCL" knows, default 5.
 */
#include "tests/nccl/profiler.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum {
    PROFILE_GROUP = 1,
    PROFILE_COLL = 2,
    PROFILE_P2P = 4,
    PROFILE_PROXY_OP = 8,
    PROFILE_PROXY_STEP = 16,
    PROFILE_GROUP_API = 256,
    PROFILE_COLL_API = 512,
    PROFILE_P2P_API = 1024,
    PROFILE_LAUNCH = 2048,
    STEPS = 3,   /* of each proxy … */
    PROXIES = 2, /* … of each collective operation */
};

#define PROXY_OP           \
    struct {               \
        pid_t pid;         \
        uint8_t channelId; \
        int peer;          \
        int nSteps;        \
        int chunkSize;     \
        int isSend;        \
    } proxyOp

struct descr_v1 {
    uint8_t type;
    void *parentObj;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t commHash, seqNumber;
            uint8_t func;
            const void *sendBuff;
            void *recvBuff;
            size_t count;
            int root;
            uint8_t datatype;
            uint32_t op;
            size_t trafficBytes;
            uint8_t nMaxChannels, nWarps, algo, proto;
            int isCollnet, isNvls;
        } coll;
        struct {
            const char *name;
            uint64_t commHash;
            uint8_t func;
            void *buff;
            uint8_t datatype;
            size_t count;
            int peer;
        } p2p;
        PROXY_OP;
    };
};

#define DESCR_V2_OR_V3(version, more)              \
    struct descr_v##version {                      \
        uint8_t type;                              \
        void *parentObj;                           \
        int rank;                                  \
        union {                                    \
            struct {                               \
                const char *name;                  \
                uint64_t commHash, seqNumber;      \
                const char *func;                  \
                const void *sendBuff;              \
                void *recvBuff;                    \
                size_t count;                      \
                int root;                          \
                const char *datatype;              \
                more uint8_t nMaxChannels, nWarps; \
                const char *algo, *proto;          \
            } coll;                                \
            struct {                               \
                const char *name;                  \
                uint64_t commHash;                 \
                const char *func;                  \
                void *buff;                        \
                const char *datatype;              \
                size_t count;                      \
                int peer;                          \
            } p2p;                                 \
            PROXY_OP;                              \
        };                                         \
    }
DESCR_V2_OR_V3(2, size_t trafficBytes;);
DESCR_V2_OR_V3(3, );

#define DESCR_V4_OR_V5(version, type_of_type, parent_group) \
    struct descr_v##version {                               \
        type_of_type type;                                  \
        void *parentObj;                                    \
        int rank;                                           \
        union {                                             \
            struct {                                        \
                bool graphCaptured;                         \
                int groupDepth;                             \
            } groupApi;                                     \
            struct {                                        \
                const char *func;                           \
                size_t count;                               \
                const char *datatype;                       \
                int root;                                   \
                void *stream;                               \
                bool graphCaptured;                         \
            } collApi;                                      \
            struct {                                        \
                const char *func;                           \
                size_t count;                               \
                const char *datatype;                       \
                void *stream;                               \
                bool graphCaptured;                         \
            } p2pApi;                                       \
            struct {                                        \
                uint64_t seqNumber;                         \
                const char *func;                           \
                const void *sendBuff;                       \
                void *recvBuff;                             \
                size_t count;                               \
                int root;                                   \
                const char *datatype;                       \
                uint8_t nChannels, nWarps;                  \
                const char *algo, *proto;                   \
                parent_group                                \
            } coll;                                         \
            struct {                                        \
                const char *func;                           \
                void *buff;                                 \
                const char *datatype;                       \
                size_t count;                               \
                int peer;                                   \
                uint8_t nChannels;                          \
                parent_group                                \
            } p2p;                                          \
            PROXY_OP;                                       \
        };                                                  \
    }
DESCR_V4_OR_V5(4, uint8_t, );
DESCR_V4_OR_V5(5, uint64_t, void *parentGroup;);

struct table {
    const char *name;
    void *init;
    int (*start)(void *context, void **event, void *descr);
    int (*stop)(void *event);
    int (*state)(void *event, int state, void *arguments);
    int (*finalize)(void *context);
};

static struct {
    int version; /* 0: not loaded */
    const struct table *table;
    int mask;
} plugin;

static const struct {
    const char *name;
    uint8_t number; /* of version 1 */
} functions[] = {
    [FUNCTION_ALL_GATHER] = {"AllGather", 2},
    [FUNCTION_ALL_REDUCE] = {"AllReduce", 4},
    [FUNCTION_ALL_TO_ALL] = {"AlltoAll", 255},
    [FUNCTION_BROADCAST] = {"Broadcast", 0},
    [FUNCTION_GATHER] = {"Gather", 255},
    [FUNCTION_REDUCE] = {"Reduce", 1},
    [FUNCTION_SCATTER] = {"Scatter", 255},
    [FUNCTION_REDUCE_SCATTER] = {"ReduceScatter", 3},
    [FUNCTION_SEND] = {"Send", 6},
    [FUNCTION_RECV] = {"Recv", 7},
};

static const char *type_name(ncclDataType_t type)
{
    static const char *const names[] = {
        [ncclInt32] = "ncclInt32", [ncclFloat16] = "ncclFloat16", [ncclFloat32] = "ncclFloat32"};
    return (size_t)type < sizeof(names) / sizeof(*names) && names[type] ? names[type] : "Unknown";
}

/* As NCCL: the highest version that both know. */
static void load(void)
{
    const char *path = getenv("NCCL_PROFILER_PLUGIN"), *version = getenv("FAKE_NCCL_PROFILER");
    void *library = path && strcmp(path, "none") != 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (int i = version ? atoi(version) : 5; library && i > 0 && !plugin.table; i--) {
        char name[32];
        snprintf(name, sizeof(name), "ncclProfiler_v%d", i);
        plugin.table = dlsym(library, name);
        plugin.version = plugin.table ? i : 0;
    }
}

void profiler_init(ncclComm_t comm)
{
    if (!plugin.table)
        load();
    if (!plugin.table)
        return;
    void *init = plugin.table->init;
    if (plugin.version <= 3)
        ((int (*)(void **, int *))init)(&comm->profiler, &plugin.mask);
    else if (plugin.version == 4)
        ((int (*)(void **, int *, const char *, uint64_t, int, int, int, void *))init)(
            &comm->profiler, &plugin.mask, "fake", comm->hash, 1, comm->ranks, comm->rank, NULL);
    else
        ((int (*)(void **, uint64_t, int *, const char *, int, int, int, void *))init)(
            &comm->profiler, comm->hash, &plugin.mask, "fake", 1, comm->ranks, comm->rank, NULL);
}

void profiler_finalize(ncclComm_t comm)
{
    if (plugin.table)
        plugin.table->finalize(comm->profiler);
}

static void *start(const struct task *task, void *descr)
{
    void *event = NULL;
    plugin.table->start(task->comm->profiler, &event, descr);
    return event;
}

static void stop(void *event)
{
    if (event)
        plugin.table->stop(event);
}

static bool has_calls(void)
{
    return plugin.version >= 5 && plugin.mask != 0;
}

void *profiler_group_start(const struct task *first)
{
    return has_calls() ? start(first, &(struct descr_v5){.type = PROFILE_GROUP_API, .groupApi = {.groupDepth = 1}})
                       : NULL;
}

void profiler_group_stop(void *event)
{
    stop(event);
}

static bool is_pair(const struct task *task)
{
    return task->function == FUNCTION_SEND || task->function == FUNCTION_RECV;
}

void *profiler_call_start(const struct task *task, void *group)
{
    struct descr_v5 descr = {.parentObj = group};
    if (!has_calls() || !(plugin.mask & (PROFILE_COLL_API | PROFILE_P2P_API)))
        return NULL;
    if (is_pair(task)) {
        descr.type = PROFILE_P2P_API;
        descr.p2pApi.func = functions[task->function].name;
        descr.p2pApi.count = task->count;
        descr.p2pApi.datatype = type_name(task->type);
    } else {
        descr.type = PROFILE_COLL_API;
        descr.collApi.func = functions[task->function].name;
        descr.collApi.count = task->count;
        descr.collApi.datatype = type_name(task->type);
        descr.collApi.root = task->peer;
    }
    return start(task, &descr);
}

void profiler_call_stop(void *event)
{
    stop(event);
}

void *profiler_launch_start(const struct task *first, void *group)
{
    return has_calls() && plugin.mask & PROFILE_LAUNCH
               ? start(first, &(struct descr_v5){.type = PROFILE_LAUNCH, .parentObj = group})
               : NULL;
}

void profiler_launch_stop(void *event)
{
    stop(event);
}

/* --- tasks --- */

/* NCCL gathers and broadcasts bytes. */
static bool moves_bytes(const struct task *task)
{
    return task->function == FUNCTION_ALL_GATHER || task->function == FUNCTION_BROADCAST;
}

#define FILL(descr, channels_field)                                                          \
    do {                                                                                     \
        bool bytes = moves_bytes(task);                                                      \
        if (is_pair(task)) {                                                                 \
            (descr)->type = PROFILE_P2P;                                                     \
            (descr)->p2p.count = task->count;                                                \
            (descr)->p2p.peer = task->peer;                                                  \
        } else {                                                                             \
            (descr)->type = PROFILE_COLL;                                                    \
            (descr)->coll.seqNumber = task->comm->next[task->function]++;                    \
            (descr)->coll.count = bytes ? task->count * type_size(task->type) : task->count; \
            (descr)->coll.root = task->peer;                                                 \
            (descr)->coll.channels_field = 8;                                                \
        }                                                                                    \
    } while (0)
#define FILL_WORDS(descr)                                                                    \
    do {                                                                                     \
        if (is_pair(task)) {                                                                 \
            (descr)->p2p.func = functions[task->function].name;                              \
            (descr)->p2p.datatype = type_name(task->type);                                   \
        } else {                                                                             \
            (descr)->coll.func = functions[task->function].name;                             \
            (descr)->coll.datatype = moves_bytes(task) ? "ncclInt8" : type_name(task->type); \
            (descr)->coll.algo = "RING";                                                     \
            (descr)->coll.proto = "LL";                                                      \
        }                                                                                    \
    } while (0)
#define FILL_COMMUNICATOR(descr)                       \
    do {                                               \
        if (is_pair(task))                             \
            (descr)->p2p.commHash = task->comm->hash;  \
        else                                           \
            (descr)->coll.commHash = task->comm->hash; \
    } while (0)

static void *start_task(const struct task *task)
{
    struct descr_v1 v1 = {0};
    struct descr_v2 v2 = {0};
    struct descr_v3 v3 = {0};
    struct descr_v4 v4 = {0};
    struct descr_v5 v5 = {.parentObj = task->call_event};
    switch (plugin.version) {
    case 1:
        FILL(&v1, nMaxChannels);
        FILL_COMMUNICATOR(&v1);
        if (is_pair(task)) {
            v1.p2p.func = functions[task->function].number;
            v1.p2p.datatype = (uint8_t)task->type;
        } else {
            v1.coll.func = functions[task->function].number;
            v1.coll.datatype = moves_bytes(task) ? 0 : (uint8_t)task->type;
            v1.coll.algo = 1;
        }
        return start(task, &v1);
    case 2:
        FILL(&v2, nMaxChannels);
        FILL_WORDS(&v2);
        FILL_COMMUNICATOR(&v2);
        return start(task, &v2);
    case 3:
        FILL(&v3, nMaxChannels);
        FILL_WORDS(&v3);
        FILL_COMMUNICATOR(&v3);
        return start(task, &v3);
    case 4:
        FILL(&v4, nChannels);
        FILL_WORDS(&v4);
        return start(task, &v4);
    default:
        FILL(&v5, nChannels);
        FILL_WORDS(&v5);
        return start(task, &v5);
    }
}

/* The proxy's place is the same in versions 2 and 3, and in 1 and 4. */
static void *start_proxy(const struct task *task)
{
    struct descr_v1 v1 = {.type = PROFILE_PROXY_OP, .parentObj = task->event};
    struct descr_v5 v5 = {.type = PROFILE_PROXY_OP, .parentObj = task->event};
    v1.proxyOp.pid = v5.proxyOp.pid = getpid();
    v1.proxyOp.nSteps = v5.proxyOp.nSteps = STEPS;
    return plugin.version < 5 ? start(task, &v1) : start(task, &v5);
}

static void run_proxies(const struct task *task)
{
    void *events[PROXIES];
    for (int i = 0; i < PROXIES; i++)
        events[i] = start_proxy(task);
    for (int i = 0; i < PROXIES; i++)
        stop(events[i]);
}

void profiler_tasks(struct task *tasks, size_t count)
{
    if (!plugin.table || !(plugin.mask & (PROFILE_COLL | PROFILE_P2P)))
        return;
    struct descr_v5 group = {.type = PROFILE_GROUP};
    struct descr_v4 old_group = {.type = PROFILE_GROUP};
    void *event = plugin.version < 5 ? start(&tasks[0], &old_group) : start(&tasks[0], &group);
    for (size_t i = 0; i < count; i++)
        tasks[i].event = start_task(&tasks[i]);
    for (size_t i = 0; i < count; i++)
        stop(tasks[i].event);
    for (size_t i = 0; i < count; i++)
        if (!is_pair(&tasks[i]))
            run_proxies(&tasks[i]);
    stop(event);
}
