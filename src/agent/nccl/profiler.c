/*
 * The profiler plugin for NCCL: a table of functions for each version, which turns its structs into calls of one form.
 * NCCL finds the tables by their names when NCCL_PROFILER_PLUGIN is the path of this library. NCCL's calls, operations
 * and proxies have entries in a table of fixed size, used in turn. Operations are recorded at their launch, the work of
 * proxies when it is complete.
 */
#include "agent/nccl/profiler.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/dispatch/registry.h"
#include "agent/spool/recorder.h"
#include "agent/spool/writer.h"
#include "common/clock.h"
#include "common/settings.h"
#include "common/spool_records.h"

#define EVENTS (UINT64_C(1) << 13) /* number of entries in the table */
#define COMMUNICATORS (UINT32_C(1) << 12)
#define PROXY_BIT (UINT64_C(1) << 63) /* marks a proxy's event in the number of its operation */

static struct event {
    uint64_t number;  /* 0: unused */
    uint64_t called;  /* when the program called, in ns; 0: unknown */
    uint32_t thread;  /* thread that called */
    const char *type; /* type of the elements; NULL: unknown */
    uint64_t count;
    uint32_t open;    /* number of proxies at work */
    uint32_t proxies; /* proxies that began since the last record */
    uint32_t steps;   /* steps of these proxies */
} events[EVENTS];

static struct {
    bool wanted;
    uint64_t last_event;
    uint32_t communicator_count;
    uint64_t communicators[COMMUNICATORS];
} nccl;

void nccl_init(uint64_t trace_bits, const char *library)
{
    const char *set = getenv("NCCL_PROFILER_PLUGIN");
    nccl.wanted = (trace_bits & TRACE_NCCL) != 0;
    if (nccl.wanted && (!set || !library || strcmp(set, library) != 0))
        record_write_text(SPOOL_RECORD_NCCL_COMMUNICATOR, nccl_communicator, clock_now(),
                          text_of_bytes(set ? set : "", set ? strlen(set) : 0), .head.flags = SPOOL_NCCL_OTHER_PLUGIN);
}

static bool is_recorded(void)
{
    return nccl.wanted && recorder_has_process();
}

int nccl_wanted(void)
{
    return is_recorded() ? NCCL_EVENTS_WANTED : 0;
}

/* --- communicators --- */

/* Records the result of ncclGetVersion() in the library that contains CALLER. The program may not be able to see that
 * function by name. NCCL has just loaded a library, so the loader's lock is free. */
void nccl_version(const void *caller)
{
    int saved = errno, version = 0, (*get)(int *version);
    Dl_info info;
    char text[32];
    if (!is_recorded())
        return;
    void *library = dladdr(caller, &info) && info.dli_fname ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    *(void **)&get = dlsym(library ? library : RTLD_DEFAULT, "ncclGetVersion");
    bool known = get && get(&version) == NCCL_SUCCESS;
    if (library)
        dlclose(library);
    if (known && version > 0) {
        int length = snprintf(text, sizeof(text), "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
        record_write_text(SPOOL_RECORD_NCCL_COMMUNICATOR, nccl_communicator, clock_now(),
                          text_of_bytes(text, (size_t)length), .head.flags = SPOOL_NCCL_VERSION);
    }
    errno = saved;
}

void *nccl_communicator(uint64_t number, const char *name, int nodes, int ranks, int rank)
{
    struct gputrace_text text = text_of_bytes(name, name ? strlen(name) : 0);
    uint64_t *place =
        &nccl.communicators[__atomic_fetch_add(&nccl.communicator_count, 1, __ATOMIC_RELAXED) % COMMUNICATORS];
    __atomic_store_n(place, number, __ATOMIC_RELAXED);
    if (is_recorded())
        record_write_text(SPOOL_RECORD_NCCL_COMMUNICATOR, nccl_communicator, clock_now(), text, .communicator = number,
                          .nodes = nodes, .ranks = ranks, .rank = rank);
    return place;
}

uint64_t nccl_communicator_of(const void *context)
{
    return context ? __atomic_load_n((const uint64_t *)context, __ATOMIC_RELAXED) : 0;
}

/* --- events --- */

static struct event *event_new(uint64_t called, uint32_t thread, uint64_t *number)
{
    *number = __atomic_add_fetch(&nccl.last_event, 1, __ATOMIC_RELAXED);
    struct event *event = &events[*number % EVENTS];
    __atomic_store_n(&event->number, 0, __ATOMIC_RELAXED);
    event->called = called;
    event->thread = thread;
    event->type = NULL;
    event->open = event->proxies = event->steps = 0;
    __atomic_store_n(&event->number, *number, __ATOMIC_RELEASE);
    return event;
}

/* Returns NULL if HANDLE is not an event, or its entry was reused. */
static struct event *event_of(const void *handle)
{
    uint64_t number = (uint64_t)(uintptr_t)handle & ~PROXY_BIT;
    struct event *event = &events[number % EVENTS];
    return number != 0 && __atomic_load_n(&event->number, __ATOMIC_ACQUIRE) == number ? event : NULL;
}

void *nccl_call(const char *type, uint64_t count)
{
    uint64_t number;
    if (!is_recorded() || !recorder_is_on())
        return NULL;
    struct event *event = event_new(clock_now(), writer_thread(), &number);
    event->type = type;
    event->count = count;
    return (void *)(uintptr_t)number;
}

void *nccl_operation(const void *call, const struct nccl_operation *operation)
{
    char text[128];
    size_t length = 0;
    uint64_t number;
    if (!is_recorded() || !recorder_is_on())
        return NULL;
    const struct event *known = event_of(call);
    struct event called = known ? *known : (struct event){0};
    /* The text is the operation's words, joined with '\n'. */
    const char *words[] = {operation->function, called.type ? called.type : operation->type, operation->algorithm,
                           operation->protocol};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        for (const char *at = words[i]; at && *at && length < sizeof(text) - 1; at++)
            text[length++] = *at;
        if (i + 1 < sizeof(words) / sizeof(*words) && length < sizeof(text) - 1)
            text[length++] = '\n';
    }
    event_new(0, 0, &number);
    record_write_text(SPOOL_RECORD_NCCL_OPERATION, nccl_operation, clock_now(), text_of_bytes(text, length),
                      .number = number, .communicator = operation->communicator, .sequence = operation->sequence,
                      .count = called.type ? called.count : operation->count, .called = called.called,
                      .thread = called.thread, .peer = operation->peer, .channels = operation->channels);
    return (void *)(uintptr_t)number;
}

/* --- proxies --- */

void *nccl_proxy(const void *operation, pid_t pid, int steps)
{
    struct event *event = pid == getpid() ? event_of(operation) : NULL;
    if (!event || steps < 0)
        return NULL;
    __atomic_fetch_add(&event->open, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&event->proxies, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&event->steps, (uint32_t)steps, __ATOMIC_RELAXED);
    return (void *)((uintptr_t)operation | PROXY_BIT);
}

/* The last proxy at work on an operation records what all proxies have done. More may begin later. */
void nccl_stop(const void *handle)
{
    struct event *event = (uintptr_t)handle & PROXY_BIT ? event_of(handle) : NULL;
    if (!event || __atomic_sub_fetch(&event->open, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    uint32_t proxies = __atomic_exchange_n(&event->proxies, 0, __ATOMIC_RELAXED);
    uint32_t steps = __atomic_exchange_n(&event->steps, 0, __ATOMIC_RELAXED);
    if (proxies != 0 && is_recorded())
        record_write(SPOOL_RECORD_NCCL_STEPS, nccl_steps, clock_now(),
                     .number = (uint64_t)(uintptr_t)handle & ~PROXY_BIT, .proxies = proxies, .steps = steps);
}

/* --- functions for NCCL --- */

#define NAME "gputrace"

/* In versions 1 to 3 NCCL has no communicator yet when it calls init. */
static int init_old(void **context, int *mask)
{
    *context = NULL;
    nccl_version(__builtin_return_address(0));
    *mask = nccl_wanted() & (NCCL_EVENT_COLLECTIVE | NCCL_EVENT_PAIR | NCCL_EVENT_PROXY);
    return NCCL_SUCCESS;
}

/* Returns the word for a number, which only version 1 uses; later versions have the word itself. */
#define BY_NUMBER(words, number) ((number) < sizeof(words) / sizeof(*(words)) ? (words)[number] : NULL)
#define AS_IT_IS(words, word) (word)

static const char *const functions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                        "AllReduce", "SendRecv", "Send",      "Recv"};
static const char *const types[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                                    "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
static const char *const algorithms[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};

/* Handles the begin of an event. All versions have the same fields, at different places; WORDS is BY_NUMBER for version
 * 1, then AS_IT_IS. */
#define BEGIN(event, from, call, communicator_field, pair_channels, words)                                           \
    do {                                                                                                             \
        if ((from)->type == NCCL_EVENT_COLLECTIVE)                                                                   \
            *(event) = nccl_operation(                                                                               \
                (call), &(struct nccl_operation){.communicator = communicator_field(collective),                     \
                                                 .sequence = (from)->collective.sequence,                            \
                                                 .count = (from)->collective.count,                                  \
                                                 .peer = (from)->collective.root,                                    \
                                                 .channels = (from)->collective.channels,                            \
                                                 .function = words(functions, (from)->collective.function),          \
                                                 .type = words(types, (from)->collective.type),                      \
                                                 .algorithm = words(algorithms, (from)->collective.algorithm),       \
                                                 .protocol = words(protocols, (from)->collective.protocol)});        \
        else if ((from)->type == NCCL_EVENT_PAIR)                                                                    \
            *(event) =                                                                                               \
                nccl_operation((call), &(struct nccl_operation){.communicator = communicator_field(pair),            \
                                                                .sequence = SPOOL_NCCL_NO_SEQUENCE,                  \
                                                                .count = (from)->pair.count,                         \
                                                                .peer = (from)->pair.peer,                           \
                                                                .channels = (pair_channels),                         \
                                                                .function = words(functions, (from)->pair.function), \
                                                                .type = words(types, (from)->pair.type)});           \
        else if ((from)->type == NCCL_EVENT_PROXY)                                                                   \
            *(event) = nccl_proxy((from)->parent, (from)->proxy.pid, (from)->proxy.steps);                           \
        else                                                                                                         \
            *(event) = NULL;                                                                                         \
    } while (0)
#define OWN_COMMUNICATOR(part) from->part.communicator
#define CONTEXTS_COMMUNICATOR(part) nccl_communicator_of(context)

#define START(version, communicator_field, pair_channels, words)            \
    static int start_##version(void *context, void **event, void *begun)    \
    {                                                                       \
        const struct nccl_event_##version *from = begun;                    \
        (void)context;                                                      \
        BEGIN(event, from, NULL, communicator_field, pair_channels, words); \
        return NCCL_SUCCESS;                                                \
    }
START(v1, OWN_COMMUNICATOR, 0, BY_NUMBER)
START(v2, OWN_COMMUNICATOR, 0, AS_IT_IS)
START(v3, OWN_COMMUNICATOR, 0, AS_IT_IS)
START(v4, CONTEXTS_COMMUNICATOR, from->pair.channels, AS_IT_IS)

static int start_v5(void *context, void **event, void *begun)
{
    const struct nccl_event_v5 *from = begun;
    if (from->type == NCCL_EVENT_COLLECTIVE_CALL || from->type == NCCL_EVENT_PAIR_CALL)
        *event = nccl_call(from->call.type, from->call.count);
    else
        BEGIN(event, from, from->parent, CONTEXTS_COMMUNICATOR, from->pair.channels, AS_IT_IS);
    return NCCL_SUCCESS;
}

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

static int stop(void *event)
{
    nccl_stop(event);
    return NCCL_SUCCESS;
}

static int ignore_state(void *event, int state, void *arguments)
{
    (void)event, (void)state, (void)arguments;
    return NCCL_SUCCESS;
}

static int finalize(void *context)
{
    (void)context;
    return NCCL_SUCCESS;
}

const struct nccl_profiler_old ncclProfiler_v1 = {NAME, init_old, start_v1, stop, ignore_state, finalize};
const struct nccl_profiler_old ncclProfiler_v2 = {NAME, init_old, start_v2, stop, ignore_state, finalize};
const struct nccl_profiler_old ncclProfiler_v3 = {NAME, init_old, start_v3, stop, ignore_state, finalize};
const struct nccl_profiler_v4 ncclProfiler_v4 = {NAME, init_v4, start_v4, stop, ignore_state, finalize};
const struct nccl_profiler_v5 ncclProfiler_v5 = {NAME, init_v5, start_v5, stop, ignore_state, finalize};
const struct nccl_profiler_v5 ncclProfiler_v6 = {NAME, init_v5, start_v5, stop, ignore_state, finalize};
