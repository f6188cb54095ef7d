/*
 * The state of a cut, and the metadata of the part, which is limited to the processes and the rank in it.
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

/* A counter, and its last value before the next window. */
struct cut_counter {
    struct counter counter; /* the value; its texts are in `texts` */
    char *texts;
    struct counter_value *values;
    bool held;
    uint64_t given; /* start of the last window at whose very start the counter has a value */
};

struct cut {
    struct sink sink; /* passed to the source */
    struct sink_format format;
    struct buffer nothing; /* the buffer of the first reading, in memory */
    struct sink *whole;
    const struct filter_options *options;
    const struct windows *only; /* occurrences of the range or step; NULL: no such option */
    const char *path;

    struct selection selection;
    bool selects;              /* false: the options select all events */
    struct event_fields event; /* the fields of the current event, for the selection */
    struct map rows;           /* pid of a row with events -> 1 if one of them is of a selected process and GPU */
    bool has_rank;             /* the trace has distributedInfo, so it is of one rank */

    /* The first reading */
    struct trace_times times;   /* of all events */
    struct trace_times program; /* of events about the program; --from and --to count within them */
    struct sorter_space space;
    struct sorter flows;

    /* Between the readings */
    int64_t from, to;
    struct windows windows;
    struct id_set kept; /* ids of flows in the part */

    /* The last slice, which flows may follow */
    bool slice_selected, slice_kept;
    uint64_t start, end;

    struct map counter_of_name; /* hash of pid and name -> index in `counters` + 1 */
    ARRAY(struct cut_counter) counters;
};

static inline struct cut *cut_of(struct sink *sink)
{
    return (struct cut *)sink;
}

void cut_scan_metadata(struct sink *sink, const char *key, const char *value, size_t size);
void cut_write_metadata(struct sink *sink, const char *key, const char *value, size_t size);

#endif
