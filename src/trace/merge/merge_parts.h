/*
 * The inside of a merge:
 *
 *   merge_looking.c    the first reading: what a trace has
 *   merge_numbers.c    new numbers, the order of processes, names of rows, times by the clocks of hosts
 *   merge_rename.c     the sink of the second reading, which gives events their new numbers and times
 *   merge_metadata.c   metadata of all traces together; merge_processes.c: that of processes, and call stacks
 *   merge_files.c      reads the traces and writes the output
 */
#ifndef GPUTRACE_TRACE_MERGE_MERGE_PARTS_H
#define GPUTRACE_TRACE_MERGE_MERGE_PARTS_H

#include "common/array.h"
#include "common/buffer.h"
#include "common/map.h"
#include "trace/json/text.h"
#include "trace/merge/merge.h"
#include "trace/sink.h"

struct json_out;
struct json_text;
struct merge_stacks;

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
/* The new number of a device; itself where it is none of the trace. */
int64_t merge_device_new(const struct merge_trace *trace, int64_t id);

/* merge_looking.c: gathers what TRACE has, which WORKERS threads read. Returns 0, or -1 after error(). */
int merge_look_at_trace(const struct merge *merge, struct merge_trace *trace, unsigned workers);

/* merge_numbers.c: once all traces were read. Return 0, or -1 after error(). */
int merge_number(struct merge *merge);

/* merge_numbers.c: the time of the output that a time of the process is; itself where PROCESS is NULL. */
uint64_t merge_time(const struct merge *merge, const struct merge_process *process, uint64_t time);
/* Sets times of the output, once clocks are known. */
void merge_find_times(struct merge *merge);
/* Gives SINK the names of all rows. */
int merge_write_rows(const struct merge *merge, struct sink *sink);

/* merge_metadata.c: gives SINK the metadata. Returns 0, or -1 after error(). */
int merge_write_metadata(struct merge *merge, struct sink *sink);
/* Keeps BYTES in the file of the merge, from *AT on. Returns 0, or -1 after error(). */
int merge_store(struct merge *merge, const void *bytes, size_t size, uint64_t *at);

/* Values of the metadata of TRACE are written to JSON with the numbers and times of the output. */
struct merge_remap {
    const struct merge *merge;
    const struct merge_trace *trace;
    const struct merge_process *process; /* by whose clock times are; NULL: they stay */
    const struct merge_stacks *stacks;
    struct json_out *json;
};

/* merge_processes.c: appends what the output says of the processes of a trace: TEXT is the list that the trace has, or
 * empty. */
void merge_put_processes(const struct merge_remap *remap, struct json_text text);
/* Appends another value. */
void merge_put_value(const struct merge_remap *remap, struct json_text value);
/* Appends the properties of those devices of TRACE that are not in PUT, and adds them. Returns 0, or -1: no memory. */
int merge_put_devices(const struct merge *merge, const struct merge_trace *trace, struct json_text text,
                      struct map *put, struct json_out *json);

/* merge_processes.c: call stacks of all traces as one tree. */
struct merge_stacks {
    struct map known;                  /* hash of a frame and of what it is below -> its number */
    struct buffer frames;              /* in memory: the members of the object, each behind a comma */
    ARRAY(struct merge_stack) numbers; /* of the trace at hand */
    bool full;                         /* there are more than readers can hold */
};
/* Adds the frames of TEXT, an object, and sets `numbers`. Returns 0, or -1 after error(). */
int merge_stacks_add(struct merge_stacks *stacks, struct json_text text);
void merge_stacks_release(struct merge_stacks *stacks);
/* The new number; 0: it is not known. */
uint32_t merge_stacks_find(const struct merge_stack *numbers, size_t count, uint64_t number);

/* merge_rename.c: a sink that gives TO the events of a trace as they are in the output. */
struct merge_rename {
    struct sink sink;
    struct sink_format format;
    const struct merge *merge;
    const struct merge_trace *trace;
    struct sink *to;
    const struct merge_process *recent;
    struct merge_stack *stacks; /* of the trace */
    uint64_t next_async;
    ARRAY(struct arg) args; /* of the event at hand */
    struct arg_list list;
    struct args given;
    struct buffer text; /* in memory: of arguments that are text of JSON */
    struct buffer nothing;
    bool no_memory;
};
/* Returns 0, or -1 after error(). It is released in either case. */
int merge_rename_init(struct merge_rename *rename, const struct merge *merge, const struct merge_trace *trace);
void merge_rename_release(struct merge_rename *rename);
/* From now on TO is given all that comes. */
struct sink *merge_rename_to(struct merge_rename *rename, struct sink *to);

/* merge_rename.c: an integer from 0 on, of at most 18 digits. False: VALUE is not one. */
bool merge_read_number(struct json_text value, uint64_t *number);
void merge_args_see(struct merge_trace *trace, const struct args *args);

#endif
