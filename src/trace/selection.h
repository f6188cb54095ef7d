/*
 * Decides which events of a trace the options select, for the report's filter and for a part that is cut out; --from
 * and --to are handled elsewhere. A GPU's event belongs to the process and the thread whose call launched it. If the
 * trace does not have the call, the event belongs to the process that its row is of.
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

/* A set of ids, such as correlation ids, as a bit for each id in blocks of ID_SET_BLOCK neighbouring ids. Ids of a
 * trace are dense: a million take about 170 kB. All zero is empty. */
struct id_set {
    struct map blocks; /* id / ID_SET_BLOCK -> address of a struct id_block */
};

void id_set_release(struct id_set *set);

/* Returns 0, or -1 without memory. */
int id_set_add(struct id_set *set, uint64_t id);
bool id_set_has(const struct id_set *set, uint64_t id);

/* The row with the pid ROW shows the work of PROCESS on a device. */
struct trace_gpu_row {
    event_id row, process;
    int64_t device;
};

struct selection {
    const struct filter_options *options;
    const struct windows *windows; /* only events that begin, or were launched, in these; NULL: any time */
    bool pending;                  /* calls may still be added, so GPU work is selected whatever call launched it */
    struct id_set known, kept;     /* call_key() of all calls, and of the selected calls */
    struct map callers;            /* process -> its number in call_key(), from 1 */
    ARRAY(struct trace_gpu_row) rows;
    struct map row_numbers; /* row -> index in `rows` + 1 */
    struct map labels;      /* row whose label is "GPU N" -> N */
    struct map hosts;       /* set of processes with events on the host */
    struct map ranks;       /* process -> its rank; EVENT_NO_ID -> the rank of all other processes */
    event_id only_process;  /* the process in `hosts`; EVENT_NO_ID if there are none or several */
    bool has_kernel;        /* --kernel is given, so `kernel` is set */
    regex_t kernel;         /* the compiled --kernel */
    struct interner names;  /* names of kernels */
    ARRAY(char) matching;   /* for each of `names`: 1 if --kernel matches it, 2 if not, 0: not tried */
    struct filter_found found;
    bool no_memory; /* memory ran out, so results may be wrong */
};

/* OPTIONS must outlive the selection. Returns 0, or -1 after error(). */
int selection_init(struct selection *selection, const struct filter_options *options);
void selection_release(struct selection *selection);

/* Record facts of the trace: the rank of a process, or of all processes without a rank if PROCESS is EVENT_NO_ID; a
 * GPU's row; the label of a row; a call that may launch GPU work. They set `no_memory` if memory runs out. */
void selection_add_rank(struct selection *selection, event_id process, int64_t rank);
void selection_add_row(struct selection *selection, const struct trace_gpu_row *row);
void selection_add_label(struct selection *selection, event_id process, const char *label);
void selection_add_call(struct selection *selection, event_id process, event_id thread, int64_t correlation,
                        int64_t start);
/* Records that PROCESS has an event on the host. */
void selection_add_host(struct selection *selection, event_id process);

/* Whether --process and --rank select PROCESS. */
bool selection_has_process(const struct selection *selection, event_id process);
/* Whether counters of a process's or GPU's row are selected. selection_judge_counter() also notes the row in
 * `found`. */
bool selection_has_row(const struct selection *selection, event_id row);
bool selection_judge_counter(struct selection *selection, event_id row);
/* Whether --kernel matches a kernel's name or another form of it (filter_options.name_form). */
bool selection_matches(struct selection *selection, const char *name, size_t length);

/* Returns the thread that EVENT belongs to, for events of the host. */
event_id selection_thread(const struct event_fields *event);

enum selection_verdict {
    SELECTION_ELSEWHERE, /* the event is of another process or GPU */
    SELECTION_OUTSIDE,   /* the event is of another thread, stream, kernel or range */
    SELECTION_COUNTS
};
/* Decides whether EVENT is selected. MATCHES: EVENT is a kernel that --kernel matches. Notes in `found` which GPUs,
 * processes and so on the trace has. */
enum selection_verdict selection_judge(struct selection *selection, const struct event_fields *event, bool matches);

/* Returns the id for a pid or tid of a sink's events, whose numbers from JSON_WORD_ROWS are texts. */
static inline event_id selection_id(uint32_t number)
{
    return number < JSON_WORD_ROWS ? event_id_number(number) : event_id_text(number - JSON_WORD_ROWS);
}

/* Sets EVENT to the fields of SLICE that a selection needs. */
void selection_read(struct event_fields *event, char phase, const struct slice *slice);

#endif
