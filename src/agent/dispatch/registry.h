/*
 * The registry: collectors publish events, and subscribers (the recorder, plugins, the program) register callbacks for
 * them.
 *
 * For each row of REGISTRY_KINDS (those of callbacks.h, and the library's own) there are
 *     int  registry_KIND_register(gputrace_KIND_fn *call, void *data);     for the library itself: 0, or -1: no memory
 *     void registry_KIND_publish(struct gputrace_KIND *what);
 *     void registry_KIND_publish_by(struct epoch_reader *reader, struct gputrace_KIND *what);
 *     bool registry_KIND_wanted(void);                                     whether there is a subscriber
 *
 * To publish a kind of callbacks.h fills in its `call.size`.
 *
 * Callbacks run on the publishing thread, in order of registration. Publishing takes no lock: the list of a kind is
 * replaced as a whole, and freed when no thread can be walking it (epochs). While a thread is in a
 * callback of a client, nothing that it does is published. Callers that publish more than once, or must be fast, pass
 * their thread's reader: epoch_reader(); NULL: nothing is published.
 */
#ifndef GPUTRACE_AGENT_DISPATCH_REGISTRY_H
#define GPUTRACE_AGENT_DISPATCH_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <gputrace/callbacks.h>

#include "common/spool.h"
#include "common/spool_records.h"

/*
 * Forked children that no handler announces.
 *
 * _Fork(), clone() and the bare system call run no handler of pthread_atfork(), nor does a fork() of another C library
 * than ours (dlmopen()). Such a child has the parent's memory as it was at a random moment: a thread that the child
 * does not have may hold any lock, and what is mapped of the spool is the parent's. So the child is left alone: it
 * records nothing, takes no lock of ours and makes no system call for us. What it would have recorded is counted in the
 * parent's spool.
 *
 * It is noticed by a page that the kernel clears in every child (MADV_WIPEONFORK). The generation of this process lies
 * there, which each record compares with that of its chunk anyway. Without such a page (Linux before 4.14,
 * sandboxes that refuse madvise()), the process id is compared: by calls other than ranges and marks, and when a thread
 * needs a chunk.
 */

#ifdef __x86_64__
#define FORK_PAGE_BYTES 4096u
#else
#define FORK_PAGE_BYTES 65536u
#endif

/* A page that holds nothing else, since children get it cleared as a whole. */
union fork_page {
    uint32_t generation;
    char bytes[FORK_PAGE_BYTES];
};
extern union fork_page fork_page;

/* A number of this process that differs from its parent's, so that threads notice that what they keep is the parent's.
 * 0: there is none yet, or this child was not announced. */
static inline uint32_t fork_generation(void)
{
    return __atomic_load_n(&fork_page.generation, __ATOMIC_RELAXED);
}

/* Must be called before anything is recorded or locked. Does nothing the second time. */
void fork_watch_begin(void);

/* In an announced child, by its one thread: a new generation. Nothing is counted until fork_watch_count(). */
void fork_watch_announced(void);

/* Counts here what children that were not announced would have recorded. COUNTER lies in shared memory. */
void fork_watch_count(uint64_t *counter);

/* Whether this process is a child that no handler announced. */
bool fork_unannounced(void);

/* Whether it is such a child, for a call that would have been recorded: that is counted. Async-signal-safe. */
bool fork_turned_away(void);

/* gettid() of this thread, asked once. */
extern __thread uint32_t thread_id_known; /* 0: not asked yet */
uint32_t thread_id_ask(void);

static inline uint32_t thread_id(void)
{
    return thread_id_known ? thread_id_known : thread_id_ask();
}

/*
 * Kinds of events that only the library itself publishes, beside those of include/gputrace/callbacks.h: names and
 * bookkeeping for the recorder.
 *
 * Times are nanoseconds of CLOCK_REALTIME. Texts are UTF-8 as the program passed them, not NUL-terminated, and live as
 * long as the call.
 */

/* NVTX gave a name to something. Kinds that need no `object` leave it 0. */
enum nvtx_named {
    NVTX_NAMED_DOMAIN,   /* domain */
    NVTX_NAMED_STRING,   /* domain, number */
    NVTX_NAMED_CATEGORY, /* domain, number */
    NVTX_NAMED_THREAD,   /* number: gettid() */
    NVTX_NAMED_OBJECT,   /* object, what */
    NVTX_NAMED_RESOURCE, /* object, domain, resource; also its end */
    NVTX_NAMED_LEFT_OUT, /* domain: the program has it, and it is off */
};
struct gputrace_nvtx_name {
    enum nvtx_named named;
    enum spool_nvtx_object what;
    uint32_t domain;
    uint32_t number;
    uint32_t stream; /* CUPTI's stream id of a stream, where known, else SPOOL_NO_STREAM */
    uint64_t object; /* handle, pointer or number */
    struct {
        uint64_t number;
        uint32_t type; /* as in struct spool_nvtx_resource */
        bool destroyed;
    } resource;
    struct gputrace_text text;
};

/* What this thread did with a synchronisation object of NVTX's. */
struct gputrace_nvtx_sync {
    enum spool_nvtx_what what; /* SPOOL_NVTX_ACQUIRE … SPOOL_NVTX_RELEASE */
    uint64_t object;           /* its number */
    uint64_t time;
};

/* The text behind a pointer in CUPTI's records became known. */
struct gputrace_pointer_name {
    const void *pointer;
    struct gputrace_text text;
    uint64_t since; /* clock_now(): records of before may mean another */
};

/* The name of the kernel that the launch CORRELATION is about to start for the first time. */
struct gputrace_launch_name {
    uint32_t correlation;
    struct gputrace_text text;
};

/* What a function of the program is called. */
struct gputrace_function_name {
    const void *function; /* its handle: CUfunction or CUkernel */
    struct gputrace_text text;
};

/* The call CORRELATION launched an executable graph that has conditional nodes. */
struct gputrace_conditional_launch {
    uint64_t start; /* of the call */
    uint32_t correlation;
    uint32_t graph; /* CUPTI's number */
};

/* A node of a graph was made, copied or changed by the call CORRELATION. */
struct gputrace_graph_node {
    uint32_t correlation;
    uint64_t node;        /* CUPTI's number */
    uint64_t original;    /* of which it is a copy; 0: of none … */
    const void *function; /* … but it launches this; NULL: it is a copy or a set, or that is not known */
    uint32_t capturer;    /* another thread, which began the capture; 0: this one did, or that is not known */
    bool made;            /* now; else it became a copy, or launches something else from now on */
};

/* This thread was in callbacks of plugins from START to END: calls of CUDA in between are theirs, not the program's. */
struct gputrace_plugin_window {
    uint64_t start, end;
};

/* A driver call begins, or has returned, on this thread. */
struct gputrace_open_call {
    bool returned; /* then only this, THREAD and CORRELATION count */
    uint64_t start;
    uint64_t object; /* what it waits for */
    enum spool_call_object what;
    uint32_t cbid;
    uint32_t correlation;
    uint32_t thread;
};

/* A record of NVTX's extensions as it shall stand in the spool. RECORD is a struct of TYPE (common/spool_nvtx.h) of
 * BYTES bytes, whose head, length and text the recorder fills; its text is TEXT, then MORE, read during the call alone.
 */
struct gputrace_nvtx_extension {
    enum spool_record_type type;
    uint16_t flags;
    bool always; /* also while recording is off: others cannot be read without it */
    uint32_t bytes;
    uint64_t time;
    const void *record;
    struct gputrace_text text, more;
};

/* What a stream-ordered pool of DEVICE holds and lends; see struct spool_pool_level. */
struct gputrace_pool_level {
    uint64_t time;
    uint64_t pool; /* CUmemoryPool */
    uint64_t reserved, used;
    uint64_t reserved_high, used_high;
    uint32_t device;
};

/*
 * Texts as callbacks are given them (struct gputrace_text), of strings that end with a NUL.
 */

/* LENGTH bytes at BYTES; of more than a text can have, the beginning. The bytes stay the caller's. */
static inline struct gputrace_text text_of_bytes(const char *bytes, size_t length)
{
    return (struct gputrace_text){bytes, length > UINT32_MAX ? UINT32_MAX : (uint32_t)length};
}

/* NULL is the empty one. */
static inline struct gputrace_text text_of(const char *terminated)
{
    return text_of_bytes(terminated, terminated ? strlen(terminated) : 0);
}

static inline bool text_same(struct gputrace_text a, struct gputrace_text b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

/*
 * Epochs (RCU): a callback list that was replaced is freed when no thread can be walking it any more.
 *
 * Entering and leaving a dispatch is one store each, without a fence. The rare thread that frees makes the stores of
 * all threads visible first (membarrier). Where the kernel does not offer that, nothing is ever freed.
 */

#define EPOCH_CLIENTS 16u /* whose callbacks' time is kept apart */

/* The reader of a thread, which another thread uses when that has ended. */
struct epoch_reader {
    struct epoch_reader *next;
    uint32_t taken;  /* by a thread that lives */
    uint32_t rounds; /* odd: within a dispatch */
    uint32_t depth;  /* dispatches within dispatches */
    bool in_client;  /* in a callback of a plugin or of the program */
    struct {
        uint64_t calls, ns;
    } spent[EPOCH_CLIENTS];
};

/* This thread's; NULL: no memory, or the child was not announced (fork_unannounced()). */
extern __thread struct epoch_reader *epoch_reader_known; /* NULL: not made yet */
struct epoch_reader *epoch_reader_make(void);
static inline struct epoch_reader *epoch_reader(void)
{
    return epoch_reader_known ? epoch_reader_known : epoch_reader_make();
}

static inline void epoch_read_lock(struct epoch_reader *reader)
{
    if (reader->depth++ == 0)
        __atomic_store_n(&reader->rounds, reader->rounds + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* the thread that frees does the processor's part */
}

static inline void epoch_read_unlock(struct epoch_reader *reader)
{
    if (--reader->depth == 0)
        __atomic_store_n(&reader->rounds, reader->rounds + 1, __ATOMIC_RELEASE);
}

/* Called before the first thread of ours: registering for membarrier is free in a process with one thread, and takes
 * ten milliseconds in one with more, where it is delayed until something is removed for the first time. */
void epoch_prepare(void);

/* Calls and time (ns) of all threads in one client's callbacks. */
void epoch_client_time(unsigned client, uint64_t *calls, uint64_t *ns);

/*
 * Kinds, clients and registering.
 */

/* The kinds that only the library publishes, one row each: struct gputrace_KIND, and the type of its callbacks,
 * gputrace_KIND_fn. */
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

/* The bit of a kind in a set of kinds. */
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
 * The shortcut of NVTX: a push, a pop or a mark that is only a message goes straight to the recorder while there is
 * no other subscriber, which costs a third of a dispatch. STRING is the message's number, or
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
 * that was not announced (fork_unannounced()). */
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
