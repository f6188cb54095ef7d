/*
 * The state of a merge, and the first reading of a trace, which finds its rows, processes, GPUs, the times of its
 * events, and the numbers in use.
 */
#ifndef GPUTRACE_TRACE_MERGE_MERGE_TRACE_H
#define GPUTRACE_TRACE_MERGE_MERGE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/buffer.h"
#include "common/map.h"
#include "trace/cut.h"
#include "trace/json/text.h"
#include "trace/sink.h"

struct merge_input {
    const char *path;  /* trace file, which is read two or three times */
    const char *name;  /* for messages, and for the merged trace's metadata */
    const char *whole; /* for clocks: the trace that `path` is a part of, or `path` */
};

struct merge_options {
    const struct merge_input *inputs;
    size_t count;
    const char *output; /* its name selects the format, which must not be a database */
    struct filter_options
        part;         /* only from and to, in the time of all traces; the inputs were made with the other options */
    unsigned workers; /* threads that read traces; 0: one for each processor */
};

/* How a host's clock differs from the clock of the merged trace. A time T of the host becomes
 * T - offset - drift * (T - since). */
struct merge_clock {
    bool known;            /* the difference was measured, perhaps as 0 */
    bool reference;        /* this is the clock of the merged trace */
    int64_t offset;        /* ns */
    double drift;          /* ns per ns; between -0.5 and 0.5 */
    uint64_t since;        /* ns of CLOCK_REALTIME */
    double uncertainty;    /* ns, of the corrected time; negative: unknown */
    uint64_t observations; /* number of observations behind the result */
};

struct merge_host {
    char *name; /* name of the host, or of the trace if it does not name its host */
    bool named;
    struct merge_clock clock; /* all zero until it is set: no correction */
    int64_t first_rank;       /* lowest rank on the host; -1: none */
    int64_t synchronised;     /* 1: NTP or PTP disciplines its clock, 0: they do not, -1: unknown */
    int64_t error_us;         /* its clock's maximum error by its system; -1: unknown */
    size_t traces;            /* number of traces of the host */
};

struct merge_summary {
    uint64_t events, bytes;
    size_t traces, ranks, hosts; /* hosts: only those with known names */
};

#define MERGE_NO_RANK INT64_MAX
#define MERGE_NO_HOST UINT32_MAX
#define MERGE_DEVICES_MOST (1 << 16) /* larger numbers are not devices */

/* The range of a trace's numbers of one kind. They are shifted to begin at `first`. */
struct merge_ids {
    uint64_t least, most; /* of the trace */
    uint64_t first;       /* the new number of `least` */
    bool any;
};

static inline void merge_ids_see(struct merge_ids *ids, uint64_t id)
{
    ids->least = !ids->any || id < ids->least ? id : ids->least;
    ids->most = !ids->any || id > ids->most ? id : ids->most;
    ids->any = true;
}

static inline bool merge_ids_has(const struct merge_ids *ids, uint64_t id)
{
    return ids->any && id >= ids->least && id <= ids->most;
}

static inline uint64_t merge_ids_new(const struct merge_ids *ids, uint64_t id)
{
    return merge_ids_has(ids, id) ? id - ids->least + ids->first : id;
}

/* A process of a trace, the rows of a GPU, or a word in place of a process in JSON, such as Kineto's "Spans". */
struct merge_process {
    uint32_t pid, new_pid;
    bool has_row;                   /* it has a name or events */
    bool gpu;                       /* it stands for the rows of a GPU */
    int64_t device;                 /* the GPU's number in the trace; -1: unknown */
    uint32_t owner;                 /* pid of the process that uses the GPU; 0: unknown */
    int64_t rank;                   /* MERGE_NO_RANK: not a rank */
    int64_t local_rank, world_size; /* -1: unknown */
    uint32_t host;                  /* index in merge.hosts; MERGE_NO_HOST: not set yet */
    char *told_host;                /* the host's name in the trace; NULL: none */
    char *name, *label;             /* NULL: none */
    int64_t sort_index;
    size_t trace;               /* index in merge.traces */
    struct trace_times times;   /* of the process's events */
    struct trace_times program; /* of the process's events about the program */
};

struct merge_thread {
    struct row row;
    char *name;
    int64_t sort_index;
};

/* A GPU of a trace. */
struct merge_device {
    int64_t id;
    char *uuid, *host; /* NULL: unknown, the trace's host */
    bool used;         /* events or rows of the trace refer to it */
    uint32_t new_id;   /* UINT32_MAX: left out */
};

struct merge_trace {
    const struct merge_input *input;
    size_t index; /* index among the inputs */
    bool failed;
    ARRAY(struct merge_process) processes;
    struct map process_of_pid; /* pid -> index in `processes` + 1 */
    ARRAY(struct merge_thread) threads;
    ARRAY(struct merge_device) devices;
    struct map device_of_id;                             /* id -> index in `devices` + 1 */
    struct merge_ids flows, forward_flows, external_ids; /* flows: also correlation ids */
    uint64_t asyncs, first_async;
    uint64_t base;                  /* ns of CLOCK_REALTIME: base of times in the metadata */
    int64_t rank, world_size;       /* of processes without their own; MERGE_NO_RANK, -1: unknown */
    char *host;                     /* of processes without their own; NULL: unknown */
    int64_t synchronised, error_us; /* as in struct merge_host */
    struct buffer metadata;         /* in memory, for each key: key, NUL, size of the value as a size_t, value */
    uint64_t stored, stored_size;   /* offset and size of `metadata` once it is in merge.store */
    uint64_t stacks, stack_count;   /* offset and number of struct merge_stack in merge.store, by old number */
};

struct merge_stack {
    uint32_t number, new_number;
};

struct merge {
    const struct merge_options *options;
    const struct sink_format *format; /* format of the output */
    struct merge_trace *traces;       /* one for each input; by rank after the first reading */
    ARRAY(struct merge_host) hosts;
    ARRAY(struct merge_process *) order; /* processes of all traces with has_row */
    uint32_t device_count;
    uint64_t base;              /* base of the output, ns; set with the two below by merge_find_times() */
    struct trace_times times;   /* of the output's events */
    struct trace_times program; /* of the output's events about the program; --from and --to count within them */
    int store;                  /* descriptor of a temporary file */
    uint64_t stored;            /* bytes in `store` */
};

/* Whether PROCESS is a process of the system. */
static inline bool merge_is_program(const struct merge_process *process)
{
    return !process->gpu && process->pid < JSON_WORD_ROWS;
}

/* merge_device_put() adds a new device; NULL: no memory. The others return NULL if there is none. */
struct merge_process *merge_process_get(const struct merge_trace *trace, uint32_t pid);
struct merge_device *merge_device_put(struct merge_trace *trace, int64_t id);
const struct merge_device *merge_device_get(const struct merge_trace *trace, int64_t id);

/* What the number in an argument refers to. MERGE_ROLE_WAITS_FOR is the call that recorded an event, which may have
 * been before the start of the trace. */
enum merge_role {
    MERGE_ROLE_NONE,
    MERGE_ROLE_CORRELATION,
    MERGE_ROLE_WAITS_FOR,
    MERGE_ROLE_DEVICE,
    MERGE_ROLE_STACK,
    MERGE_ROLE_EXTERNAL,
    MERGE_ROLE_PROCESS
};
extern const uint8_t merge_roles[ARG_KEY_COUNT];

static inline enum merge_role merge_role_of_name(struct json_text key)
{
    return key.length < 2 ? MERGE_ROLE_NONE : (enum merge_role)merge_roles[arg_key_find(key.at, key.length)];
}

/* Sets *NUMBER if ARG is an integer and not negative, else returns false. 0 refers to nothing, except for devices. */
bool merge_arg_is_id(const struct arg *arg, uint64_t *number);

/* Does the first reading of TRACE with WORKERS threads. Returns 0, or -1 after error(). */
int merge_read_trace(const struct merge *merge, struct merge_trace *trace, unsigned workers);

/* Appends BYTES to merge.store, and sets *AT to their offset. Returns 0, or -1 after error(). */
int merge_store(struct merge *merge, const void *bytes, size_t size, uint64_t *at);

#endif
