/*
 * What a cut knows between its readings, and the metadata of the part: that of the processes and the rank in it.
 */
#ifndef GPUTRACE_TRACE_CUT_METADATA_H
#define GPUTRACE_TRACE_CUT_METADATA_H

#include "common/array.h"
#include "common/buffer.h"
#include "common/map.h"
#include "common/sorter.h"
#include "trace/sink.h"
#include "trace/selection.h"

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
    const struct windows *only; /* times of the range or step; NULL: all time */
    const char *path;

    struct selection selection;
    bool selects;              /* it is not of all events */
    struct event_fields event; /* that at hand, as the selection has it */
    struct map rows;           /* pids with events -> 1: some of them are of the processes and GPUs that are wanted */
    bool has_rank;             /* the trace is of one rank, by its distributedInfo */

    /* The first reading */
    struct trace_times times;   /* of what the trace has */
    struct trace_times program; /* and of what is about the program, from which --from and --to count */
    struct sorter_space space;
    struct sorter flows;

    /* After it */
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

void cut_scan_metadata(struct sink *sink, const char *key, const char *value, size_t size);
void cut_write_metadata(struct sink *sink, const char *key, const char *value, size_t size);

#endif
