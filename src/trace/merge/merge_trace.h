/*
 * What a merge knows of its traces, which the first reading of each finds: rows, processes, GPUs, the times of events,
 * and the numbers that they have.
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
    const char *path;  /* a trace file, which is read two or three times */
    const char *name;  /* for messages, and for the trace that is written */
    const char *whole; /* the trace that PATH is a part of, or PATH: for clocks */
};

struct merge_options {
    const struct merge_input *inputs;
    size_t count;
    const char *output; /* its name tells the format, which must not be a database */
    struct filter_options
        part;         /* from and to: times of all traces together; of the others the inputs are what they select */
    unsigned workers; /* threads that read traces; 0: as many as there are processors */
};

/* How the clock of a host differs from that of the trace: a time T of the host becomes
 * T - offset - drift * (T - since). */
struct merge_clock {
    bool known;            /* it was found, or found to be 0 */
    bool reference;        /* it is the clock of the trace */
    int64_t offset;        /* ns */
    double drift;          /* ns by ns; between -0.5 and 0.5 */
    uint64_t since;        /* ns of CLOCK_REALTIME */
    double uncertainty;    /* ns, of the corrected time; negative: not known */
    uint64_t observations; /* that this was found out from */
};

struct merge_host {
    char *name; /* of a trace that does not name its host: the trace's */
    bool named;
    struct merge_clock clock; /* all zero at first: nothing is corrected */
    int64_t first_rank;       /* the lowest; -1: there is none */
    int64_t synchronised;     /* what its system says of its clock: 1: by NTP or PTP, 0: it is not; -1: not known */
    int64_t error_us;         /* it is wrong by at most this; -1: not known */
    size_t traces;            /* how many have it */
};

struct merge_summary {
    uint64_t events, bytes;
    size_t traces, ranks, hosts; /* hosts: those whose names are known */
};

#define MERGE_NO_RANK INT64_MAX
#define MERGE_NO_HOST UINT32_MAX
#define MERGE_DEVICES_MOST (1 << 16) /* a larger number is not a device */

/* Numbers of one kind that a trace has: they become others, in their order, from `first` on. */
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

/* A process of a trace, or the rows of a GPU, or what JSON has instead of a process, such as Kineto's "Spans". */
struct merge_process {
    uint32_t pid, new_pid;
    bool has_row;                   /* a name, or events */
    bool gpu;                       /* it shows the operations of a device */
    int64_t device;                 /* of this number; -1: not known */
    uint32_t owner;                 /* … for the process of this pid; 0: not known */
    int64_t rank;                   /* MERGE_NO_RANK: it is none */
    int64_t local_rank, world_size; /* -1: not known */
    uint32_t host;                  /* index of merge.hosts; MERGE_NO_HOST: not said */
    char *told_host;                /* its name, as the trace has it; NULL: it has none */
    char *name, *label;             /* NULL: none */
    int64_t sort_index;
    size_t trace;               /* index of merge.traces */
    struct trace_times times;   /* of its events */
    struct trace_times program; /* of those about the program */
};

struct merge_thread {
    struct row row;
    char *name;
    int64_t sort_index;
};

/* A GPU of a trace. */
struct merge_device {
    int64_t id;
    char *uuid, *host; /* NULL: not known; the trace's */
    bool used;         /* by events or rows of the trace */
    uint32_t new_id;   /* UINT32_MAX: it is left out */
};

struct merge_trace {
    const struct merge_input *input;
    size_t index; /* among the inputs */
    bool failed;
    ARRAY(struct merge_process) processes;
    struct map process_of_pid; /* index + 1 */
    ARRAY(struct merge_thread) threads;
    ARRAY(struct merge_device) devices;
    struct map device_of_id;                             /* index + 1 */
    struct merge_ids flows, forward_flows, external_ids; /* flows: correlation ids, too */
    uint64_t asyncs, first_async;
    uint64_t base;                  /* ns; what times in the metadata count from */
    int64_t rank, world_size;       /* of all of its processes that say nothing else; MERGE_NO_RANK, -1: not known */
    char *host;                     /* likewise; NULL: not known */
    int64_t synchronised, error_us; /* as of a host */
    struct buffer metadata;         /* in memory: key, NUL, length of the value as a size_t, value, and so on … */
    uint64_t stored, stored_size;   /* … then in the file of the merge */
    uint64_t stacks, stack_count;   /* where struct merge_stack lie there, by their old numbers */
};

struct merge_stack {
    uint32_t number, new_number;
};

struct merge {
    const struct merge_options *options;
    const struct sink_format *format; /* of the output */
    struct merge_trace *traces;       /* as many as inputs; in the order of ranks once all were read */
    ARRAY(struct merge_host) hosts;
    ARRAY(struct merge_process *) order; /* processes of all traces that have rows */
    uint32_t device_count;
    uint64_t base;              /* of the output, ns; this and its times once clocks are known: */
    struct trace_times times;   /* of its events */
    struct trace_times program; /* of those about the program, from which --from and --to count */
    int store;                  /* descriptor of a temporary file */
    uint64_t stored;            /* bytes in it */
};

/* Whether it is a process of the system. */
static inline bool merge_is_program(const struct merge_process *process)
{
    return !process->gpu && process->pid < JSON_WORD_ROWS;
}

/* NULL: there is none. */
struct merge_process *merge_process_get(const struct merge_trace *trace, uint32_t pid);
struct merge_device *merge_device_put(struct merge_trace *trace, int64_t id);
const struct merge_device *merge_device_get(const struct merge_trace *trace, int64_t id);

/* What a number that an argument holds means. Waits name the call that recorded an event, which may be far before all
 * that the trace has. */
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

/* Whether ARG is a number that stands for something. 0 and negative ones say that there is nothing, except for
 * devices. */
bool merge_arg_is_id(const struct arg *arg, uint64_t *number);

/* Gathers what TRACE has, which WORKERS threads read. Returns 0, or -1 after error(). */
int merge_read_trace(const struct merge *merge, struct merge_trace *trace, unsigned workers);

/* Keeps BYTES in the file of the merge, from *AT on. Returns 0, or -1 after error(). */
int merge_store(struct merge *merge, const void *bytes, size_t size, uint64_t *at);

#endif
