/*
 * The profiler plugin as NCCL sees it: a table of functions for each version, which turns its structs into calls of
 * operations.h. NCCL finds the tables by their names when NCCL_PROFILER_PLUGIN is the path of this library.
 */
#include "agent/nccl/layouts.h"
#include "agent/nccl/operations.h"
#include "common/spool_records.h"

#define NAME "gputrace"

/* --- versions 1 to 3: NCCL has no communicator yet when it calls init --- */

static int init_old(void **context, int *mask)
{
    *context = NULL;
    nccl_version(__builtin_return_address(0));
    *mask = nccl_wanted() & (NCCL_EVENT_COLLECTIVE | NCCL_EVENT_PAIR | NCCL_EVENT_PROXY);
    return NCCL_SUCCESS;
}

/* Numbers of version 1. */
static const char *word_of(const char *const *words, size_t count, size_t number)
{
    return number < count ? words[number] : NULL;
}
#define WORD(words, number) word_of((words), sizeof(words) / sizeof(*(words)), (number))

static const char *const functions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                        "AllReduce", "SendRecv", "Send",      "Recv"};
static const char *const types[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                                    "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
static const char *const algorithms[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};

static int start_v1(void *context, void **event, void *begun)
{
    const struct nccl_event_v1 *from = begun;
    (void)context;
    *event = NULL;
    if (from->type == NCCL_EVENT_COLLECTIVE)
        *event = nccl_operation(NULL, &(struct nccl_operation){
                                          .communicator = from->collective.communicator,
                                          .sequence = from->collective.sequence,
                                          .count = from->collective.count,
                                          .peer = from->collective.root,
                                          .channels = from->collective.channels,
                                          .function = WORD(functions, from->collective.function),
                                          .type = WORD(types, from->collective.type),
                                          .algorithm = WORD(algorithms, from->collective.algorithm),
                                          .protocol = WORD(protocols, from->collective.protocol),
                                      });
    else if (from->type == NCCL_EVENT_PAIR)
        *event = nccl_operation(NULL, &(struct nccl_operation){.communicator = from->pair.communicator,
                                                               .sequence = SPOOL_NCCL_NO_SEQUENCE,
                                                               .count = from->pair.count,
                                                               .peer = from->pair.peer,
                                                               .function = WORD(functions, from->pair.function),
                                                               .type = WORD(types, from->pair.type)});
    else if (from->type == NCCL_EVENT_PROXY)
        *event = nccl_proxy(from->parent, from->proxy.pid, from->proxy.steps);
    return NCCL_SUCCESS;
}

/* The versions from 2 on name the same fields, at different places. */
#define BEGIN(event, from, call, communicator_field, pair_channels)                                                    \
    do {                                                                                                               \
        if ((from)->type == NCCL_EVENT_COLLECTIVE)                                                                     \
            *(event) = nccl_operation((call), &(struct nccl_operation){.communicator = communicator_field(collective), \
                                                                       .sequence = (from)->collective.sequence,        \
                                                                       .count = (from)->collective.count,              \
                                                                       .peer = (from)->collective.root,                \
                                                                       .channels = (from)->collective.channels,        \
                                                                       .function = (from)->collective.function,        \
                                                                       .type = (from)->collective.type,                \
                                                                       .algorithm = (from)->collective.algorithm,      \
                                                                       .protocol = (from)->collective.protocol});      \
        else if ((from)->type == NCCL_EVENT_PAIR)                                                                      \
            *(event) = nccl_operation((call), &(struct nccl_operation){.communicator = communicator_field(pair),       \
                                                                       .sequence = SPOOL_NCCL_NO_SEQUENCE,             \
                                                                       .count = (from)->pair.count,                    \
                                                                       .peer = (from)->pair.peer,                      \
                                                                       .channels = (pair_channels),                    \
                                                                       .function = (from)->pair.function,              \
                                                                       .type = (from)->pair.type});                    \
        else if ((from)->type == NCCL_EVENT_PROXY)                                                                     \
            *(event) = nccl_proxy((from)->parent, (from)->proxy.pid, (from)->proxy.steps);                             \
        else                                                                                                           \
            *(event) = NULL;                                                                                           \
    } while (0)
#define OWN_COMMUNICATOR(part) from->part.communicator
#define CONTEXTS_COMMUNICATOR(part) nccl_communicator_of(context)

static int start_v2(void *context, void **event, void *begun)
{
    const struct nccl_event_v2 *from = begun;
    (void)context;
    BEGIN(event, from, NULL, OWN_COMMUNICATOR, 0);
    return NCCL_SUCCESS;
}

static int start_v3(void *context, void **event, void *begun)
{
    const struct nccl_event_v3 *from = begun;
    (void)context;
    BEGIN(event, from, NULL, OWN_COMMUNICATOR, 0);
    return NCCL_SUCCESS;
}

static int start_v4(void *context, void **event, void *begun)
{
    const struct nccl_event_v4 *from = begun;
    BEGIN(event, from, NULL, CONTEXTS_COMMUNICATOR, from->pair.channels);
    return NCCL_SUCCESS;
}

static int start_v5(void *context, void **event, void *begun)
{
    const struct nccl_event_v5 *from = begun;
    if (from->type == NCCL_EVENT_COLLECTIVE_CALL || from->type == NCCL_EVENT_PAIR_CALL)
        *event = nccl_call(from->call.type, from->call.count);
    else
        BEGIN(event, from, from->parent, CONTEXTS_COMMUNICATOR, from->pair.channels);
    return NCCL_SUCCESS;
}

/* --- from version 4 on --- */

static int init_v4(void **context, int *mask, const char *name, uint64_t communicator, int nodes, int ranks, int rank,
                   void *log)
{
    (void)log;
    nccl_version(__builtin_return_address(0));
    *context = nccl_communicator(communicator, name, nodes, ranks, rank);
    *mask = nccl_wanted() & (NCCL_EVENT_COLLECTIVE | NCCL_EVENT_PAIR | NCCL_EVENT_PROXY);
    return NCCL_SUCCESS;
}

static int init_v5(void **context, uint64_t communicator, int *mask, const char *name, int nodes, int ranks, int rank,
                   void *log)
{
    (void)log;
    nccl_version(__builtin_return_address(0));
    *context = nccl_communicator(communicator, name, nodes, ranks, rank);
    *mask = nccl_wanted();
    return NCCL_SUCCESS;
}

/* --- all versions --- */

static int stop(void *event)
{
    nccl_stop(event);
    return NCCL_SUCCESS;
}

static int note_state(void *event, int state, void *arguments)
{
    (void)event;
    (void)state;
    (void)arguments;
    return NCCL_SUCCESS;
}

static int finalize(void *context)
{
    (void)context;
    return NCCL_SUCCESS;
}

const struct nccl_profiler_old ncclProfiler_v1 = {NAME, init_old, start_v1, stop, note_state, finalize};
const struct nccl_profiler_old ncclProfiler_v2 = {NAME, init_old, start_v2, stop, note_state, finalize};
const struct nccl_profiler_old ncclProfiler_v3 = {NAME, init_old, start_v3, stop, note_state, finalize};
const struct nccl_profiler_v4 ncclProfiler_v4 = {NAME, init_v4, start_v4, stop, note_state, finalize};
const struct nccl_profiler_v5 ncclProfiler_v5 = {NAME, init_v5, start_v5, stop, note_state, finalize};
const struct nccl_profiler_v5 ncclProfiler_v6 = {NAME, init_v5, start_v5, stop, note_state, finalize};
