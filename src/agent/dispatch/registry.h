/*
 * The registry: collectors publish events, and subscribers (the recorder, plugins, the program) register callbacks for
 * them.
 *
 * For each row of REGISTRY_KINDS (those of callbacks.h, and of events.h) there are
 *     int  registry_KIND_register(gputrace_KIND_fn *call, void *data);     for the library itself: 0, or -1: no memory
 *     void registry_KIND_publish(struct gputrace_KIND *what);
 *     void registry_KIND_publish_by(struct epoch_reader *reader, struct gputrace_KIND *what);
 *     bool registry_KIND_wanted(void);                                     whether there is a subscriber
 *
 * To publish a kind of callbacks.h fills in its `call.size`.
 *
 * Callbacks run on the publishing thread, in order of registration. Publishing takes no lock: the list of a kind is
 * replaced as a whole, and freed when no thread can be walking it (epoch.h). While a thread is in a callback of a
 * client, nothing that it does is published. Callers that publish more than once, or must be fast, pass their thread's
 * reader: epoch_reader(); NULL: nothing is published.
 */
#ifndef GPUTRACE_AGENT_DISPATCH_REGISTRY_H
#define GPUTRACE_AGENT_DISPATCH_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/dispatch/epoch.h"
#include "agent/dispatch/events.h"
#include "common/spool_records.h"

/* The kinds of events.h, one row each: struct gputrace_KIND, and the type of its callbacks, gputrace_KIND_fn. */
#define REGISTRY_INTERNAL_KINDS(X) \
    X(nvtx_name)                   \
    X(nvtx_extension)              \
    X(nvtx_sync)                   \
    X(pointer_name)                \
    X(plugin_window)               \
    X(open_call)                   \
    X(pool_level)                  \
    X(launch_name)                 \
    X(function_name)               \
    X(graph_node)                  \
    X(conditional_launch)

#define KIND(name) typedef void gputrace_##name##_fn(void *data, const struct gputrace_##name *what);
REGISTRY_INTERNAL_KINDS(KIND)
#undef KIND

#define REGISTRY_KINDS(X) GPUTRACE_KINDS(X) REGISTRY_INTERNAL_KINDS(X)

enum registry_kind {
#define KIND(name) REGISTRY_##name,
    REGISTRY_KINDS(KIND)
#undef KIND
        REGISTRY_KIND_COUNT
};
static_assert(REGISTRY_KIND_COUNT <= 64, "a set of kinds is a bit each of 64");

/* A set of kinds. */
#define REGISTRY_BIT(name) (UINT64_C(1) << REGISTRY_##name)

/* Clients: the library itself (client 0), the program, a plugin. Numbers below EPOCH_CLIENTS. */
enum { REGISTRY_LIBRARY = 0, REGISTRY_PROGRAM = 1, REGISTRY_FIRST_PLUGIN = 2 };

/* Returns the number of the registration, or 0: no memory, or no such kind. */
uint64_t registry_add(unsigned client, unsigned kind, gputrace_any_fn *call, void *data);
/* Returns 0, or -1: the client has no such registration. */
int registry_remove(unsigned client, uint64_t registration);
/* Removes all of a client's; KIND REGISTRY_KIND_COUNT: of every kind. */
void registry_clear(unsigned client, unsigned kind);
/* Waits until no other thread is in a callback that was removed before. */
void registry_synchronize(void);

/* Whether a client other than the library has ever registered. */
extern bool registry_clients_came;
static inline bool registry_had_clients(void)
{
    return __atomic_load_n(&registry_clients_came, __ATOMIC_RELAXED);
}

/* The set of kinds that a subscriber is registered for, now and whenever it changes: CHANGED is called under a lock. */
void registry_watch(void (*changed)(uint64_t wanted));

/*
 * The shortcut of NVTX: a push, a pop or a mark that is no more than a message goes straight to the recorder while
 * nobody else can be listening, which is a third of what it costs to tell everybody. STRING is the message's number, or
 * 0.
 */
typedef void registry_shortcut_fn(enum spool_nvtx_what what, uint32_t domain, uint32_t string,
                                  struct gputrace_text message);
/* Opens it, unless a client has ever registered: then it stays closed. */
void registry_open_shortcut(registry_shortcut_fn *shortcut);

extern registry_shortcut_fn *registry_shortcut_open;
/* NULL: it is closed. */
static inline registry_shortcut_fn *registry_shortcut(void)
{
    return __atomic_load_n(&registry_shortcut_open, __ATOMIC_ACQUIRE);
}

/* In a forked child. */
void registry_atfork_child(void);

/* --- publishing --- */

struct subscriber {
    gputrace_any_fn *call;
    void *data;
    uint64_t registration;
    unsigned client;
    bool removed; /* this thread may still be walking a list that has it */
    struct subscriber *retired;
};

struct subscribers {
    struct subscribers *retired;
    unsigned count;
    struct subscriber *each[];
};
extern struct subscribers *registry_lists[REGISTRY_KIND_COUNT];

/* The one callback of a kind, where that is the library's and needs no data, until a client registers for anything:
 * then they are gone for good. It is called without a dispatch, which would take longer than most of what it does. */
extern gputrace_any_fn *registry_only[REGISTRY_KIND_COUNT];

static inline bool registry_wanted(enum registry_kind kind)
{
    return __atomic_load_n(&registry_lists[kind], __ATOMIC_RELAXED) != NULL;
}

/* One walk over the callbacks of a kind. The library's own are called without further ado: this is in the way of every
 * NVTX range. */
struct dispatch {
    struct epoch_reader *reader;
    const struct subscribers *list;
    unsigned next;
    unsigned client;       /* whose callback is running */
    uint64_t began, since; /* clock_now() when the first client's callback began, and the one that is running */
    gputrace_any_fn *call;
    void *data;
};

/* What there is to do around a client's callback, and after the last of all. False: clients get no callbacks in a child
 * that was not announced (fork_watch.h). */
bool dispatch_client_follows(struct dispatch *dispatch, unsigned client);
void dispatch_client_returned(struct dispatch *dispatch);
void dispatch_publish_window(const struct dispatch *dispatch);

/* False: there is no subscriber. Else dispatch_next() until it returns false. */
static inline bool dispatch_begin(struct dispatch *dispatch, struct epoch_reader *reader, enum registry_kind kind)
{
    if (!reader || reader->in_client)
        return false;
    epoch_read_lock(reader);
    dispatch->list = __atomic_load_n(&registry_lists[kind], __ATOMIC_ACQUIRE);
    if (!dispatch->list) {
        epoch_read_unlock(reader);
        return false;
    }
    dispatch->reader = reader;
    dispatch->next = 0;
    dispatch->client = REGISTRY_LIBRARY;
    dispatch->began = dispatch->since = 0;
    return true;
}

static inline bool dispatch_next(struct dispatch *dispatch)
{
    if (dispatch->client != REGISTRY_LIBRARY)
        dispatch_client_returned(dispatch);
    while (dispatch->next < dispatch->list->count) {
        const struct subscriber *subscriber = dispatch->list->each[dispatch->next++];
        if (__atomic_load_n(&subscriber->removed, __ATOMIC_ACQUIRE))
            continue;
        dispatch->call = subscriber->call;
        dispatch->data = subscriber->data;
        if (subscriber->client != REGISTRY_LIBRARY && !dispatch_client_follows(dispatch, subscriber->client))
            continue;
        return true;
    }
    epoch_read_unlock(dispatch->reader);
    if (dispatch->began)
        dispatch_publish_window(dispatch);
    return false;
}

#define KIND(name, set_size)                                                                                   \
    static inline int registry_##name##_register(gputrace_##name##_fn *call, void *data)                       \
    {                                                                                                          \
        bool done = registry_add(REGISTRY_LIBRARY, REGISTRY_##name, (gputrace_any_fn *)call, data);            \
        return done ? 0 : -1;                                                                                  \
    }                                                                                                          \
    static inline bool registry_##name##_wanted(void)                                                          \
    {                                                                                                          \
        return registry_wanted(REGISTRY_##name);                                                               \
    }                                                                                                          \
    static inline void registry_##name##_publish_by(struct epoch_reader *reader, struct gputrace_##name *what) \
    {                                                                                                          \
        gputrace_any_fn *only = __atomic_load_n(&registry_only[REGISTRY_##name], __ATOMIC_ACQUIRE);            \
        struct dispatch dispatch;                                                                              \
        if (only && reader && !reader->in_client)                                                              \
            ((gputrace_##name##_fn *)only)(NULL, what);                                                        \
        if (only || !dispatch_begin(&dispatch, reader, REGISTRY_##name))                                       \
            return;                                                                                            \
        set_size;                                                                                              \
        while (dispatch_next(&dispatch))                                                                       \
            ((gputrace_##name##_fn *)dispatch.call)(dispatch.data, what);                                      \
    }                                                                                                          \
    static inline void registry_##name##_publish(struct gputrace_##name *what)                                 \
    {                                                                                                          \
        if (registry_##name##_wanted())                                                                        \
            registry_##name##_publish_by(epoch_reader(), what);                                                \
    }
#define PUBLIC_KIND(name) KIND(name, what->call.size = sizeof(*what))
#define INTERNAL_KIND(name) KIND(name, (void)0)
GPUTRACE_KINDS(PUBLIC_KIND)
REGISTRY_INTERNAL_KINDS(INTERNAL_KIND)
#undef PUBLIC_KIND
#undef INTERNAL_KIND
#undef KIND

/*
 * Suppresses tracing of our own CUDA calls on a thread of the program: no callbacks, nothing in the trace.
 *
 *     struct tracing_suppressed suppressed;
 *     if (tracing_suppress(&suppressed)) { ...call CUDA...; tracing_resume(&suppressed); }
 */

struct epoch_reader;

struct tracing_suppressed {
    struct epoch_reader *reader;
    uint64_t began; /* ns of CLOCK_REALTIME */
    bool within;    /* a client's callback, or another one of these: tracing is suppressed already */
};

/* False: no memory; then nothing is to be called, and not ended. */
bool tracing_suppress(struct tracing_suppressed *suppressed);
void tracing_resume(const struct tracing_suppressed *suppressed);

/* Whether this thread is in a callback of a client's. */
bool tracing_is_suppressed(void);

#endif
