/*
 * NCCL's operations, by its profiler plugin (gputrace run --nccl): what NCCL reports when it launches them.
 *
 * NCCL calls the plugin on the program's threads and on its own. A call writes a record, or changes a few numbers in a
 * table of fixed size; it takes no lock and allocates nothing. NCCL's events are known by numbers, not by addresses:
 * what NCCL still reports of an event whose place in the table was used again is ignored. The table is the library's,
 * which stays in the process, so NCCL may close the plugin and go on.
 */
#ifndef GPUTRACE_AGENT_NCCL_PROFILER_H
#define GPUTRACE_AGENT_NCCL_PROFILER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Operations are wanted as TRACE_BITS say; LIBRARY is the path of this library. */
void nccl_init(uint64_t trace_bits, const char *library);

/* Events that NCCL is to report in this process: a mask of enum nccl_event. 0: none. */
int nccl_wanted(void);

/* NCCL starts the plugin from the code at CALLER: records its version, where it says it. */
void nccl_version(const void *caller);

/* A communicator. Returns its context, NULL: its number is not known. NAME may be NULL. */
void *nccl_communicator(uint64_t number, const char *name, int nodes, int ranks, int rank);
uint64_t nccl_communicator_of(const void *context);

/* The program calls a function of NCCL with COUNT elements of TYPE, a text of NCCL's that stays. Returns the event. */
void *nccl_call(const char *type, uint64_t count);

struct nccl_operation {
    uint64_t communicator, sequence; /* SPOOL_NCCL_NO_SEQUENCE: none */
    uint64_t count;
    int32_t peer; /* or root */
    uint32_t channels;
    const char *function, *type, *algorithm, *protocol; /* as NCCL names them; NULL: not known */
};

/* An operation was launched, which CALL, an event or NULL, asked for: its count and type are those of the call. Returns
 * the event. */
void *nccl_operation(const void *call, const struct nccl_operation *operation);

/* A proxy works on OPERATION, an event, with so many steps; PID is the process whose operation it is. Returns the
 * event, or NULL. */
void *nccl_proxy(const void *operation, pid_t pid, int steps);
void nccl_stop(const void *event);

/*
 * What NCCL hands to a profiler plugin, by the version of its interface: 1 came with NCCL 2.23, 2 with 2.24, 3 with
 * 2.26, 4 with 2.27, 5 with 2.28, 6 with 2.29.2. NCCL takes the highest one that the plugin exports and that it knows.
 * Names are NCCL's where they have a meaning here; other fields hold their place.
 */

/* Sorts of events, as bits. */
enum nccl_event {
    NCCL_EVENT_COLLECTIVE = 1 << 1,
    NCCL_EVENT_PAIR = 1 << 2, /* a send or a receive */
    NCCL_EVENT_PROXY = 1 << 3,
    NCCL_EVENT_COLLECTIVE_CALL = 1 << 9, /* from version 5 on: the call of the program */
    NCCL_EVENT_PAIR_CALL = 1 << 10,
};

/* What gputrace asks NCCL for. */
#define NCCL_EVENTS_WANTED \
    (NCCL_EVENT_COLLECTIVE | NCCL_EVENT_PAIR | NCCL_EVENT_PROXY | NCCL_EVENT_COLLECTIVE_CALL | NCCL_EVENT_PAIR_CALL)

#define NCCL_SUCCESS 0

/* --- what begins an event --- */

/* All versions have this struct. */
struct nccl_proxy {
    pid_t pid; /* of the process that called: another one's proxy may do the work */
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

/* Of versions 2 and 3. */
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

/* As version 2, without the bytes. */
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

/* The communicator is that of the context. */
struct nccl_collective {
    uint64_t sequence; /* of this function on the communicator */
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

/* A call of the program's. */
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

/* Also version 6, which has further sorts of events. */
struct nccl_event_v5 {
    uint64_t type;
    void *parent; /* of a collective or a pair: the call's event */
    int rank;
    union {
        struct nccl_collective collective; /* the event of the group follows */
        struct nccl_pair pair;             /* the same */
        struct nccl_proxy proxy;
        struct nccl_program_call call; /* more follows */
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

/* --- what a plugin is --- */

typedef int nccl_stop_fn(void *event);
typedef int nccl_state_fn(void *event, int state, void *arguments);
typedef int nccl_finalize_fn(void *context);

/* To version 3. */
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

/* And version 6. */
struct nccl_profiler_v5 {
    const char *name;
    int (*init)(void **context, uint64_t communicator, int *mask, const char *name, int nodes, int ranks, int rank,
                void *log);
    int (*start)(void *context, void **event, void *begun);
    nccl_stop_fn *stop;
    nccl_state_fn *state;
    nccl_finalize_fn *finalize;
};

/* NCCL finds them by these names: profiler.c. */
#define NCCL_EXPORTED __attribute__((visibility("default")))
extern NCCL_EXPORTED const struct nccl_profiler_old ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3;
extern NCCL_EXPORTED const struct nccl_profiler_v4 ncclProfiler_v4;
extern NCCL_EXPORTED const struct nccl_profiler_v5 ncclProfiler_v5, ncclProfiler_v6;

#endif
