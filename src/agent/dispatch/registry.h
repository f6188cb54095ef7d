/*
 * The registry: collectors publish events, and subscribers (the recorder, plugins, the program) register callbacks for
 * them.
 *
 * For each row of REGISTRY_KINDS (those of callbacks.h, and the library's own) there are
 *      int  registry_KIND_register(gputrace_KIND_fn *call, void *data);     for the library itself: 0, or -1: no memory
 *      void registry_KIND_publish(struct gputrace_KIND *what);
 *      void registry_KIND_publish_by(struct epoch_reader *reader, struct gputrace_KIND *what);
 *      bool registry_KIND_wanted(void);                                     whether there is a subscriber
 *
 * Publishing a kind of callbacks.h fills in its `call.size`.
 *
 * Callbacks run on the publishing thread, in order of registration. Publishing takes no lock: the list of a kind is
 * replaced as a whole, and freed when no thread can be walking it (epochs). While a thread is in a callback of a
 * client, nothing that the thread does is published. Callers that publish more than once, or must be fast, pass their
 * thread's reader, epoch_reader(); if it is NULL, nothing is published.
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
 * does not have may hold any lock, and the mapped spool is the parent's. So nothing is done in the child: it records
 * nothing, takes no lock of ours and makes no system call for us. What the child would have recorded is counted in the
 * parent's spool.
 *
 * The child is noticed by a page that the kernel clears in every child (MADV_WIPEONFORK). The page has the generation
 * of this process, which each record compares with the generation of its chunk anyway. Without such a page (Linux
 * before 4.14, sandboxes that refuse madvise()), the process id is compared: by calls other than ranges and marks, and
 * when a thread needs a chunk.
 */

#ifdef __x86_64__
#define FORK_PAGE_BYTES 4096u
#else
#define FORK_PAGE_BYTES 65536u
#endif

/* The kernel clears a whole page in children, so the page holds nothing else. */
union fork_page {
    uint32_t generation;
    char bytes[FORK_PAGE_BYTES];
};
extern union fork_page fork_page;

/* Returns a number of this process that differs from its parent's, so that threads notice that cached state is the
 * parent's. Returns 0 before fork_watch_begin(), and in a child that was not announced. */
static inline uint32_t fork_generation(void)
{
    return __atomic_load_n(&fork_page.generation, __ATOMIC_RELAXED);
}

/* Must be called before anything is recorded or locked. A second call does nothing. */
void fork_watch_begin(void);

/* Starts a new generation. Called in an announced child, by its one thread. Nothing is counted until
 * fork_watch_count(). */
void fork_watch_announced(void);

/* Makes unannounced children count at COUNTER, which lies in shared memory, what they would have recorded. */
void fork_watch_count(uint64_t *counter);

/* Whether this process is a child that no handler announced. */
bool fork_unannounced(void);

/* Like fork_unannounced(), for a call that would have been recorded: counts it in such a child. Async-signal-safe. */
bool fork_turned_away(void);

/* Returns gettid() of this thread, and calls it only once. */
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
 * Times are nanoseconds of CLOCK_REALTIME. Texts are UTF-8 as the program passed them, not NUL-terminated, and valid
 * only during the call.
 */

/* What NVTX named, and which members the event uses besides `text`. Kinds without `object` leave it 0. */
enum nvtx_named {
    NVTX_NAMED_DOMAIN,   /* domain */
    NVTX_NAMED_STRING,   /* domain, number */
    NVTX_NAMED_CATEGORY, /* domain, number */
    NVTX_NAMED_THREAD,   /* number: gettid() */
    NVTX_NAMED_OBJECT,   /* object, what */
    NVTX_NAMED_RESOURCE, /* object, domain, resource; also for its destruction */
    NVTX_NAMED_LEFT_OUT, /* domain: the program has created it, but the settings turn it off */
};
struct gputrace_nvtx_name {
    enum nvtx_named named;
    enum spool_nvtx_object what;
    uint32_t domain;
    uint32_t number;
    uint32_t stream; /* CUPTI's stream id if the object is a stream and the id is known, else SPOOL_NO_STREAM */
    uint64_t object; /* handle, pointer or number */
    struct {
        uint64_t number;
        uint32_t type; /* as in struct spool_nvtx_resource */
        bool destroyed;
    } resource;
    struct gputrace_text text;
};

/* An operation of this thread on a synchronisation object of NVTX. */
struct gputrace_nvtx_sync {
    enum spool_nvtx_what what; /* SPOOL_NVTX_ACQUIRE … SPOOL_NVTX_RELEASE */
    uint64_t object;           /* the object's number */
    uint64_t time;
};

/* The text behind a pointer in CUPTI's records. */
struct gputrace_pointer_name {
    const void *pointer;
    struct gputrace_text text;
    uint64_t since; /* clock_now(): in records before this time the pointer may mean another text */
};

/* The name of the kernel that the launch with this correlation is about to start for the first time. */
struct gputrace_launch_name {
    uint32_t correlation;
    struct gputrace_text text;
};

/* The name of a GPU function of the program. */
struct gputrace_function_name {
    const void *function; /* its handle: CUfunction or CUkernel */
    struct gputrace_text text;
};

/* The call with this correlation launched an executable graph that has conditional nodes. */
struct gputrace_conditional_launch {
    uint64_t start; /* of the call */
    uint32_t correlation;
    uint32_t graph; /* CUPTI's number of the graph */
};

/* The call with this correlation created, copied or changed a node of a graph. */
struct gputrace_graph_node {
    uint32_t correlation;
    uint64_t node;        /* CUPTI's number of the node */
    uint64_t original;    /* the node that this one is a copy of; 0: none */
    const void *function; /* kernel that the node launches now; NULL: a memcpy or memset node, or unknown */
    uint32_t capturer;    /* thread that began the capture, if it is another thread; 0: this thread, or unknown */
    bool made;            /* the node was created; otherwise it became a copy or launches something else */
};

/* This thread was in callbacks of plugins from START to END: CUDA calls in between are theirs, not the program's. */
struct gputrace_plugin_window {
    uint64_t start, end;
};

/* A driver call that begins, or has returned, on this thread. */
struct gputrace_open_call {
    bool returned; /* if true, only `thread` and `correlation` count besides */
    uint64_t start;
    uint64_t object; /* what the call waits for */
    enum spool_call_object what;
    uint32_t cbid;
    uint32_t correlation;
    uint32_t thread;
};

/* A record of NVTX's extensions to be written to the spool. RECORD is a struct of TYPE (common/spool_nvtx.h) of BYTES
 * bytes, whose head, length and text the recorder fills in; the record's text is TEXT followed by MORE. All three are
 * read only during the call. */
struct gputrace_nvtx_extension {
    enum spool_record_type type;
    uint16_t flags;
    bool always; /* written also while recording is off, because other records cannot be read without this one */
    uint32_t bytes;
    uint64_t time;
    const void *record;
    struct gputrace_text text, more;
};

/* The bytes that a stream-ordered pool of DEVICE has reserved and lent out; see struct spool_pool_level. */
struct gputrace_pool_level {
    uint64_t time;
    uint64_t pool; /* CUmemoryPool */
    uint64_t reserved, used;
    uint64_t reserved_high, used_high;
    uint32_t device;
};

/*
 * Texts for callbacks (struct gputrace_text).
 */

/* Returns the text of LENGTH bytes at BYTES, cut at the longest possible text. The bytes stay the caller's. */
static inline struct gputrace_text text_of_bytes(const char *bytes, size_t length)
{
    return (struct gputrace_text){bytes, length > UINT32_MAX ? UINT32_MAX : (uint32_t)length};
}

/* Returns the text of a NUL-terminated string, the empty text for NULL. */
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
 * all threads visible first (membarrier). If the kernel does not offer membarrier, nothing is ever freed.
 */

#define EPOCH_CLIENTS 16u /* clients, each with its own account of time */

/* The state of one thread in dispatches. When the thread has ended, another thread reuses the struct. */
struct epoch_reader {
    struct epoch_reader *next;
    uint32_t taken;  /* a living thread uses it */
    uint32_t rounds; /* odd while the thread is in a dispatch */
    uint32_t depth;  /* number of nested dispatches */
    bool in_client;  /* the thread is in a callback of a plugin or of the program */
    struct {
        uint64_t calls, ns;
    } spent[EPOCH_CLIENTS];
};

/* Returns this thread's reader, or NULL if there is no memory or the child was not announced (fork_unannounced()). */
extern __thread struct epoch_reader *epoch_reader_known; /* NULL: not created yet */
struct epoch_reader *epoch_reader_make(void);
static inline struct epoch_reader *epoch_reader(void)
{
    return epoch_reader_known ? epoch_reader_known : epoch_reader_make();
}

static inline void epoch_read_lock(struct epoch_reader *reader)
{
    if (reader->depth++ == 0)
        __atomic_store_n(&reader->rounds, reader->rounds + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* the thread that frees orders the processors (membarrier) */
}

static inline void epoch_read_unlock(struct epoch_reader *reader)
{
    if (--reader->depth == 0)
        __atomic_store_n(&reader->rounds, reader->rounds + 1, __ATOMIC_RELEASE);
}

/* Called before our first thread starts: registering for membarrier is free in a process with one thread, but takes ten
 * milliseconds with more, where it is delayed until something is removed for the first time. */
void epoch_prepare(void);

/* Returns the calls and the time (ns) that all threads spent in callbacks of CLIENT. */
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

/* Returns the number of the registration, or 0 if there is no memory or no such kind. */
uint64_t registry_add(unsigned client, unsigned kind, gputrace_any_fn *call, void *data);
/* Returns 0, or -1 if the client has no such registration. */
int registry_remove(unsigned client, uint64_t registration);
/* Removes all callbacks of CLIENT for KIND, or for every kind if KIND is REGISTRY_KIND_COUNT. */
void registry_clear(unsigned client, unsigned kind);
/* Waits until no other thread is in a callback that has been removed. */
void registry_synchronize(void);

/* Whether a client other than the library has ever registered. */
extern bool registry_clients_came;
static inline bool registry_had_clients(void)
{
    return __atomic_load_n(&registry_clients_came, __ATOMIC_RELAXED);
}

/* Calls CHANGED, now and at each change, with the set of kinds that have a subscriber. CHANGED is called under a lock.
 */
void registry_watch(void (*changed)(uint64_t wanted));

/*
 * The shortcut of NVTX: while there is no other subscriber, a push, a pop or a mark that is only a message goes
 * straight to the recorder, which costs a third of a dispatch. STRING is the message's number, or 0.
 */
typedef void registry_shortcut_fn(enum spool_nvtx_what what, uint32_t domain, uint32_t string,
                                  struct gputrace_text message);
/* Opens the shortcut, unless a client has ever registered: then it stays closed. */
void registry_open_shortcut(registry_shortcut_fn *shortcut);

extern registry_shortcut_fn *registry_shortcut_open;
/* Returns NULL if the shortcut is closed. */
static inline registry_shortcut_fn *registry_shortcut(void)
{
    return __atomic_load_n(&registry_shortcut_open, __ATOMIC_ACQUIRE);
}

/* In a forked child: resets locks and the readers of threads that the child does not have. */
void registry_atfork_child(void);

/* --- publishing --- */

struct subscriber {
    gputrace_any_fn *call;
    void *data;
    uint64_t registration;
    unsigned client;
    bool removed; /* removed, but still in the list: no memory for a new list, or this thread is walking the old one */
    struct subscriber *retired;
};

struct subscribers {
    struct subscribers *retired;
    unsigned count;
    struct subscriber *each[];
};
extern struct subscribers *registry_lists[REGISTRY_KIND_COUNT];

/* The callback of each kind that has only one, if it is the library's and takes no data. It is called without a
 * dispatch, which would take longer than most of these callbacks. All are NULL for good once a client registers for
 * anything. */
extern gputrace_any_fn *registry_only[REGISTRY_KIND_COUNT];

static inline bool registry_wanted(enum registry_kind kind)
{
    return __atomic_load_n(&registry_lists[kind], __ATOMIC_RELAXED) != NULL;
}

/* One walk over the callbacks of a kind. The library's own callbacks are called directly, because every NVTX range
 * passes through here. */
struct dispatch {
    struct epoch_reader *reader;
    const struct subscribers *list;
    unsigned next;
    unsigned client;       /* client whose callback is running */
    uint64_t began, since; /* clock_now() when the first client's callback began, and when the current one began */
    gputrace_any_fn *call;
    void *data;
};

/* Work before and after a client's callback, and after the last callback. dispatch_client_follows() returns false in a
 * child that was not announced (fork_unannounced()), where clients get no callbacks. */
bool dispatch_client_follows(struct dispatch *dispatch, unsigned client);
void dispatch_client_returned(struct dispatch *dispatch);
void dispatch_publish_window(const struct dispatch *dispatch);

/* Begins a walk. Returns false if there is no subscriber; otherwise call dispatch_next() until it returns false. */
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
 *      struct tracing_suppressed suppressed;
 *      if (tracing_suppress(&suppressed)) { ...call CUDA...; tracing_resume(&suppressed); }
 */

struct tracing_suppressed {
    struct epoch_reader *reader;
    uint64_t began; /* ns of CLOCK_REALTIME */
    bool within;    /* tracing was already suppressed, in a client's callback or by another tracing_suppress() */
};

/* Returns false if there is no memory; then call neither CUDA nor tracing_resume(). */
bool tracing_suppress(struct tracing_suppressed *suppressed);
void tracing_resume(const struct tracing_suppressed *suppressed);

/* Whether this thread is in a callback of a client or has suppressed tracing. */
bool tracing_is_suppressed(void);

#endif
