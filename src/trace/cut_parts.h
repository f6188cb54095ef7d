/*
 * The inside of a cut: cut_looking.c has the first reading, cut_writing.c the second, cut_metadata.c metadata in both.
 */
#ifndef GPUTRACE_TRACE_CUT_PARTS_H
#define GPUTRACE_TRACE_CUT_PARTS_H

#include "common/array.h"
#include "common/buffer.h"
#include "common/map.h"
#include "common/sorter.h"
#include "trace/cut.h"
#include "trace/id_set.h"

/* A process's row in the trace. */
struct cut_row {
    bool used;      /* it has events */
    bool gpu;       /* it is a GPU's, … */
    int64_t device; /* … of this number */
    uint32_t owner; /* the pid of the process whose operations it shows; 0: not known */
};

/* An end of a flow, with the times of its slice. */
struct cut_flow {
    uint32_t id;
    bool is_end;
    uint64_t start, end;
};

/* A counter's last value before a window. */
struct cut_counter {
    struct counter counter; /* its texts are in `texts` */
    char *texts;
    struct counter_value *values;
    bool held;
    uint64_t given; /* start of the last window with a value of its own there */
};

struct cut {
    struct sink sink; /* what the source is given */
    struct sink_format format;
    struct buffer nothing; /* the buffer of the first reading, in memory */
    struct sink *whole;
    const struct filter_options *options;
    const struct windows *times; /* NULL: all time */
    const char *path;
    bool no_memory;

    ARRAY(struct cut_row) rows;
    struct map row_of_pid; /* index + 1 */
    struct map of_rank;    /* pids of the processes of the wanted rank */
    struct filter_found found;
    regex_t kernel;
    struct id_set launched; /* correlation ids of what the wanted thread launched; after the first reading */
    bool has_rank, is_rank; /* the trace is of one rank, by its distributedInfo; it is the wanted one */

    /* The first reading */
    bool any, any_program;
    uint64_t first, last;                 /* times of what the trace has */
    uint64_t program_first, program_last; /* and of what is about the program, from which --from and --to count */
    struct sorter_space space;
    struct sorter flows;

    /* After it */
    bool looked;
    int64_t from, to;
    struct windows windows;
    struct id_set kept; /* flows */

    /* Of the last slice */
    bool slice_selected, slice_kept;
    uint64_t start, end;

    struct map counter_of_name; /* hash of pid and name -> index + 1 */
    ARRAY(struct cut_counter) counters;
};

static inline struct cut *cut_of(struct sink *sink)
{
    return (struct cut *)sink;
}

/* The row of PID, made if it is not there. NULL: no memory. */
struct cut_row *cut_row_put(struct cut *cut, uint32_t pid);
void cut_look_at_metadata(struct sink *sink, const char *key, const char *value, size_t size);
void cut_write_metadata(struct sink *sink, const char *key, const char *value, size_t size);

/* Whether the process of this pid is wanted. */
static inline bool cut_selects_process(const struct cut *cut, uint32_t pid)
{
    const struct selected_number *process = &cut->options->process, *rank = &cut->options->rank;
    return (!process->given || pid == process->number) && (!rank->given || cut->is_rank || map_get(&cut->of_rank, pid));
}

/* Whether events of the row's process or GPU are wanted. */
static inline bool cut_selects(const struct cut *cut, uint32_t pid)
{
    const struct selected_number *gpu = &cut->options->gpu;
    const uint64_t *index = map_get(&cut->row_of_pid, pid);
    const struct cut_row *row = index && *index ? &cut->rows.items[*index - 1] : NULL;
    if (!row || !row->gpu)
        return cut_selects_process(cut, pid);
    return (!gpu->given || row->device == gpu->number) && (row->owner == 0 || cut_selects_process(cut, row->owner));
}

/* Whether a slice, instant or range is selected, whenever it was. */
bool cut_selects_event(struct cut *cut, const struct slice *event);

/* Whether some of a slice, or an instant, lies in a window. */
static inline bool cut_touches(const struct cut *cut, uint64_t start, uint64_t end)
{
    const struct window *window = windows_next(&cut->windows, (int64_t)start);
    return window && ((int64_t)start >= window->start || (int64_t)end > window->start);
}

#endif
