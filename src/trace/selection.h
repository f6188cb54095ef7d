/*
 * Which events of a trace the options select, but for the times that --from and --to name: for the report's filter and
 * for a part that is cut out. A GPU's event is the process's and thread's whose call launched it; where the trace does
 * not have the call, the process's that its row is of.
 */
#ifndef GPUTRACE_TRACE_SELECTION_H
#define GPUTRACE_TRACE_SELECTION_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/event_fields.h"
#include "trace/json/text.h"
#include "trace/windows.h"

/* A set of ids, such as correlation ids: a bit for each, in blocks for ids that are near each other. Ids of a
 * trace are dense, so a million take about 170 kB. All zero is empty. */
struct id_set {
    struct map blocks; /* id / ID_SET_BLOCK -> struct id_block * */
};

void id_set_release(struct id_set *set);

/* Returns 0, or -1: no memory. */
int id_set_add(struct id_set *set, uint64_t id);
bool id_set_has(const struct id_set *set, uint64_t id);

/* The row ROW shows what PROCESS does on a device. */
struct trace_gpu_row {
    event_id row, process;
    int64_t device;
};

struct selection {
    const struct filter_options *options;
    const struct windows *windows; /* only what began, or was launched, in these; NULL: at any time */
    bool pending;                  /* not all calls are known yet, so all that they may have launched is selected */
    struct id_set known, kept;     /* calls by correlation id and caller, and those that are selected */
    struct map callers;            /* processes -> their numbers from 1 on; 0 stands for any process */
    ARRAY(struct trace_gpu_row) rows;
    struct map row_numbers; /* row -> index + 1 */
    struct map labels;      /* rows that are labelled as a GPU's -> its number */
    struct map hosts;       /* processes with events on the host */
    struct map ranks;       /* process -> its rank; EVENT_NO_ID -> that of processes that have none here */
    event_id only_process;  /* the one of these; EVENT_NO_ID: there are none or several */
    bool has_kernel;        /* --kernel is given: … */
    regex_t kernel;         /* … this */
    struct interner names;  /* of kernels, … */
    ARRAY(char) matching;   /* … each with 1: it matches, or 2: it does not */
    struct filter_found found;
    bool no_memory; /* something could not be kept, so that the answers may be wrong */
};

/* OPTIONS outlive it. Returns 0, or -1 after error(). */
int selection_init(struct selection *selection, const struct filter_options *options);
void selection_release(struct selection *selection);

/* What is known of the trace: the rank of a process, or, of EVENT_NO_ID, of those that have none; what a row of a GPU
 * shows; the label of a row; a call that may launch. Where memory runs out, `no_memory` is set. */
void selection_add_rank(struct selection *selection, event_id process, int64_t rank);
void selection_add_row(struct selection *selection, const struct trace_gpu_row *row);
void selection_add_label(struct selection *selection, event_id process, const char *label);
void selection_add_call(struct selection *selection, event_id process, event_id thread, int64_t correlation,
                        int64_t start);
/* PROCESS has an event on the host. */
void selection_add_host(struct selection *selection, event_id process);

/* Whether the process is the one, or of the rank, that is asked for. */
bool selection_has_process(const struct selection *selection, event_id process);
/* Whether counters of the row, a process's or a GPU's, are selected; selection_judge_counter() is for a counter. */
bool selection_has_row(const struct selection *selection, event_id row);
bool selection_judge_counter(struct selection *selection, event_id row);
/* Whether --kernel matches the name of a kernel, or one of its other forms. */
bool selection_matches(struct selection *selection, const char *name, size_t length);

/* The thread of EVENT, where it is of one. */
event_id selection_thread(const struct event_fields *event);

enum selection_verdict {
    SELECTION_ELSEWHERE, /* of another process or GPU */
    SELECTION_OUTSIDE,   /* of another thread, stream or range */
    SELECTION_COUNTS
};
/* Whether EVENT is selected. MATCHES: it is a kernel that --kernel matches. Notes in `found` the GPUs, processes and
 * so on that the trace has. */
enum selection_verdict selection_judge(struct selection *selection, const struct event_fields *event, bool matches);

/* The id of a pid or tid of a sink's events. */
static inline event_id selection_id(uint32_t number)
{
    return number < JSON_WORD_ROWS ? event_id_number(number) : event_id_text(number - JSON_WORD_ROWS);
}

/* Sets those fields of EVENT that a selection needs of SLICE. EVENT holds another event, or event_nothing. */
void selection_read(struct event_fields *event, char phase, const struct slice *slice);

#endif
