/*
 * NCCL's operations, as NCCL reports them to its profiler plugin when it launches them (gputrace run --nccl).
 *
 * NCCL calls the plugin on the program's threads and on its own. A call writes a record, or changes a few numbers in a
 * table of fixed size; it takes no lock and allocates nothing. NCCL's events are identified by numbers, not by
 * addresses: further reports on an event whose table entry was reused are ignored. The table is the library's, which
 * stays in the process, so NCCL may close the plugin and go on.
 */
#ifndef GPUTRACE_AGENT_NCCL_PROFILER_H
#define GPUTRACE_AGENT_NCCL_PROFILER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Sets whether operations are wanted, from TRACE_BITS. LIBRARY is the path of this library. */
void nccl_init(uint64_t trace_bits, const char *library);

/* Returns the events that NCCL must report in this process, a mask of enum nccl_event, or 0 for none. */
int nccl_wanted(void);

/* Records NCCL's version, if it can be found. NCCL starts the plugin from the code at CALLER. */
void nccl_version(const void *caller);

/* Records a communicator. Returns its context, for nccl_communicator_of(). NAME may be NULL. */
void *nccl_communicator(uint64_t number, const char *name, int nodes, int ranks, int rank);
uint64_t nccl_communicator_of(const void *context);

/* Notes that the program calls a function of NCCL with COUNT elements of TYPE, a static text of NCCL's. Returns the
 * event, or NULL if nothing is recorded. */
void *nccl_call(const char *type, uint64_t count);

struct nccl_operation {
    uint64_t communicator, sequence; /* SPOOL_NCCL_NO_SEQUENCE if there is none */
    uint64_t count;
    int32_t peer; /* peer of a send or receive, or root of a collective */
    uint32_t channels;
    const char *function, *type, *algorithm, *protocol; /* NCCL's names; NULL if unknown */
};

/* Records the launch of an operation, with count and type of CALL, the event of the call that requested it, unless CALL
 * is NULL. Returns the event, or NULL if nothing is recorded. */
void *nccl_operation(const void *call, const struct nccl_operation *operation);

/* Notes that a proxy begins work on the event OPERATION, with this many steps. PID is the process that the operation
 * belongs to. Returns the event, or NULL. */
void *nccl_proxy(const void *operation, pid_t pid, int steps);
void nccl_stop(const void *event);

/*
 * The structs that NCCL passes to a profiler plugin, by the version of its interface: 1 came with NCCL 2.23, 2 with
 * 2.24, 3 with 2.26, 4 with 2.27, 5 with 2.28, 6 with 2.29.2. NCCL uses the highest version that both it and the plugin
 * have. Fields that are used here have NCCL's names; other fields only keep the layout.
 */

/* Types of events, as bits. */
enum nccl_event {
    NCCL_EVENT_COLLECTIVE = 1 << 1,
    NCCL_EVENT_PAIR = 1 << 2, /* a send or a receive */
    NCCL_EVENT_PROXY = 1 << 3,
    NCCL_EVENT_COLLECTIVE_CALL = 1 << 9, /* from version 5 on: the program's call */
    NCCL_EVENT_PAIR_CALL = 1 << 10,
};

/* The events that gputrace requests from NCCL. */
#define NCCL_EVENTS_WANTED \
    (NCCL_EVENT_COLLECTIVE | NCCL_EVENT_PAIR | NCCL_EVENT_PROXY | NCCL_EVENT_COLLECTIVE_CALL | NCCL_EVENT_PAIR_CALL)

#define NCCL_SUCCESS 0

/* --- descriptions of an event --- */

/* The same struct in all versions. */
struct nccl_proxy {
    pid_t pid; /* of the process that called: the proxy of another process may do the work */
    uint8_t channel;
    int peer, steps, chunk, sends;
};

struct nccl_event_v1 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t communicator, sequence;
            uint8_t function;
            const void *from;
            void *to;
            size_t count;
            int root;
            uint8_t type;
            uint32_t operation;
            size_t bytes;
            uint8_t channels, warps, algorithm, protocol;
            int is_collnet, is_nvls;
        } collective;
        struct {
            const char *name;
            uint64_t communicator;
            uint8_t function;
            void *buffer;
            uint8_t type;
            size_t count;
            int peer;
        } pair;
        struct nccl_proxy proxy;
    };
};

/* Used in versions 2 and 3. */
struct nccl_named_pair {
    const char *name;
    uint64_t communicator;
    const char *function;
    void *buffer;
    const char *type;
    size_t count;
    int peer;
};

struct nccl_event_v2 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t communicator, sequence;
            const char *function;
            const void *from;
            void *to;
            size_t count;
            int root;
            const char *type;
            size_t bytes;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
        } collective;
        struct nccl_named_pair pair;
        struct nccl_proxy proxy;
    };
};

/* Version 2 without `bytes`. */
struct nccl_event_v3 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t communicator, sequence;
            const char *function;
            const void *from;
            void *to;
            size_t count;
            int root;
            const char *type;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
        } collective;
        struct nccl_named_pair pair;
        struct nccl_proxy proxy;
    };
};

/* A collective from version 4 on, where the communicator comes from the context. */
struct nccl_collective {
    uint64_t sequence; /* counts calls of this function on the communicator */
    const char *function;
    const void *from;
    void *to;
    size_t count;
    int root;
    const char *type;
    uint8_t channels, warps;
    const char *algorithm, *protocol;
};

struct nccl_pair {
    const char *function;
    void *buffer;
    const char *type;
    size_t count;
    int peer;
    uint8_t channels;
};

/* A call by the program. */
struct nccl_program_call {
    const char *function;
    size_t count;
    const char *type;
};

struct nccl_event_v4 {
    uint8_t type;
    void *parent;
    int rank;
    union {
        struct nccl_collective collective;
        struct nccl_pair pair;
        struct nccl_proxy proxy;
    };
};

/* Used in versions 5 and 6; version 6 has further types of events. */
struct nccl_event_v5 {
    uint64_t type;
    void *parent; /* for a collective or a pair, the call's event */
    int rank;
    union {
        struct nccl_collective collective; /* NCCL has one more field, the group's event */
        struct nccl_pair pair;             /* NCCL has one more field, the group's event */
        struct nccl_proxy proxy;
        struct nccl_program_call call; /* NCCL has more fields */
    };
};

static_assert(sizeof(void *) == 8, "the places below are those of 64-bit machines");
#define IS_AT(structure, field, place) \
    static_assert(offsetof(struct structure, field) == (place), #structure "." #field)
IS_AT(nccl_event_v1, collective.sequence, 40);
IS_AT(nccl_event_v1, collective.count, 72);
IS_AT(nccl_event_v1, collective.channels, 104);
IS_AT(nccl_event_v2, collective.type, 88);
IS_AT(nccl_event_v2, collective.algorithm, 112);
IS_AT(nccl_event_v3, collective.channels, 96);
IS_AT(nccl_event_v3, collective.algorithm, 104);
IS_AT(nccl_event_v4, collective.sequence, 24);
IS_AT(nccl_event_v5, collective.sequence, 24);
IS_AT(nccl_event_v5, collective.type, 72);
IS_AT(nccl_event_v5, collective.protocol, 96);
IS_AT(nccl_event_v5, pair.peer, 56);
IS_AT(nccl_event_v5, proxy.steps, 36);
#undef IS_AT

/* --- tables of a plugin's functions --- */

typedef int nccl_stop_fn(void *event);
typedef int nccl_state_fn(void *event, int state, void *arguments);
typedef int nccl_finalize_fn(void *context);

/* Used in versions 1 to 3. */
struct nccl_profiler_old {
    const char *name;
    int (*init)(void **context, int *mask);
    int (*start)(void *context, void **event, void *begun);
    nccl_stop_fn *stop;
    nccl_state_fn *state;
    nccl_finalize_fn *finalize;
};

struct nccl_profiler_v4 {
    const char *name;
    int (*init)(void **context, int *mask, const char *name, uint64_t communicator, int nodes, int ranks, int rank,
                void *log);
    int (*start)(void *context, void **event, void *begun);
    nccl_stop_fn *stop;
    nccl_state_fn *state;
    nccl_finalize_fn *finalize;
};

/* Used in versions 5 and 6. */
struct nccl_profiler_v5 {
    const char *name;
    int (*init)(void **context, uint64_t communicator, int *mask, const char *name, int nodes, int ranks, int rank,
                void *log);
    int (*start)(void *context, void **event, void *begun);
    nccl_stop_fn *stop;
    nccl_state_fn *state;
    nccl_finalize_fn *finalize;
};

/* The tables (profiler.c), which NCCL finds by these names. */
#define NCCL_EXPORTED __attribute__((visibility("default")))
extern NCCL_EXPORTED const struct nccl_profiler_old ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3;
extern NCCL_EXPORTED const struct nccl_profiler_v4 ncclProfiler_v4;
extern NCCL_EXPORTED const struct nccl_profiler_v5 ncclProfiler_v5, ncclProfiler_v6;

#endif
