/*
 * The end of processes that did not end by exit: the signal, the last calls of each thread and those that had not
 * returned, what each stream finished last and what was in flight, and the memory that was held. Also, of processes
 * that CUDA had died in, the call that first heard of it. Of a trace whose processes all ran their exit handlers, and
 * had no such error, it tells nothing.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/array.h"
#include "analysis/errors.h"
#include "analysis/groups.h"
#include "analysis/section.h"
#include "analysis/trace.h"

/* --- what the section keeps of the events: what each stream did last, the last value of each memory counter, the calls
 * that first returned an error, and the last calls of each thread that failed --- */

/* Whose last work it is. */
struct work_key {
    event_id row;
    int64_t device, stream;
};
struct last_work {
    bool finished;
    uint32_t name; /* of the last that finished */
    int64_t start, duration;
    int64_t in_flight; /* how many */
    uint32_t first;    /* name of the earliest in flight */
    int64_t launched;  /* when its call returned */
};

/* Whose memory it is. */
struct held_key {
    event_id row;
    uint64_t name; /* of the counter */
};
struct held {
    int64_t bytes, time;
    bool told;
};

/* A call that did not return success. */
struct call_result {
    int64_t start, code;
    uint32_t name;
    bool of_runtime; /* else the driver's */
    bool failed;     /* errors_is_failure() */
};
/* Of one thread the last ones by their start, the latest first: some more than calls are shown, for a call may lie
 * within another. */
#define CALL_RESULTS_KEPT 16u
struct call_results {
    unsigned count;
    struct call_result last[CALL_RESULTS_KEPT];
};

#define DEATH_MEMORY_PREFIX "Memory in use: " /* of the counters' names */

/* Starts as zeros. */
struct death_seen {
    struct groups work_ids, held_ids; /* by work_key and held_key */
    ARRAY(struct last_work) works;
    ARRAY(struct held) helds;
    struct groups result_ids; /* by struct trace_thread_id */
    ARRAY(struct call_results) results;
    struct first_errors errors;
};

static int see_work(struct death_seen *seen, const struct trace_event *event)
{
    struct work_key key = {event->process, trace_event_device(event), event->stream};
    struct last_work *work = groups_item(&seen->work_ids, &key, &seen->works);
    if (!work)
        return -1;
    if (event->category == EVENT_IN_FLIGHT) {
        if (work->in_flight++ == 0 || event->start < work->launched) {
            work->first = event->name;
            work->launched = event->start;
        }
    } else if (!work->finished || event->start + event->duration >= work->start + work->duration) {
        work->finished = true;
        work->name = event->name;
        work->start = event->start;
        work->duration = event->duration;
    }
    return 0;
}

static int see_counter(struct death_seen *seen, const struct trace *trace, const struct trace_event *event)
{
    const char *name = event->name == EVENT_NO_TEXT ? "" : interned(&trace->strings, event->name);
    if (strncmp(name, DEATH_MEMORY_PREFIX, strlen(DEATH_MEMORY_PREFIX)) != 0 || event->bytes == EVENT_NONE)
        return 0;
    struct held_key key = {event->process, event->name};
    struct held *held = groups_item(&seen->held_ids, &key, &seen->helds);
    if (!held)
        return -1;
    if (!held->told || event->start >= held->time)
        *held = (struct held){event->bytes, event->start, true};
    return 0;
}

/* Whose call EVENT is, which may be in a further row of its thread. */
static struct trace_thread_id thread_of(const struct trace_event *event)
{
    bool extra = event->of_thread != EVENT_NONE && !event_id_is_text(event->thread) &&
                 event_id_value(event->thread) >= TRACE_EXTRA_TID;
    return (struct trace_thread_id){event->process, extra ? event_id_number(event->of_thread) : event->thread};
}

static int see_result(struct death_seen *seen, const struct trace *trace, const struct trace_event *event)
{
    struct trace_thread_id thread = thread_of(event);
    struct call_results *results = groups_item(&seen->result_ids, &thread, &seen->results);
    if (!results)
        return -1;
    unsigned place = results->count;
    while (place > 0 && results->last[place - 1].start < event->start)
        place--;
    if (place == CALL_RESULTS_KEPT)
        return 0;
    results->count += results->count < CALL_RESULTS_KEPT;
    memmove(&results->last[place + 1], &results->last[place], (results->count - place - 1) * sizeof(*results->last));
    results->last[place] = (struct call_result){.start = event->start,
                                                .code = event->return_value,
                                                .name = event->name,
                                                .of_runtime = event->category == EVENT_RUNTIME,
                                                .failed = errors_is_failure(&trace->strings, event)};
    return 0;
}

/* What CALL of the thread, one of its last, did not succeed with. NULL: it succeeded. */
static const struct call_result *death_seen_result(struct death_seen *seen, const struct trace_thread_id *thread,
                                                   const struct call *call)
{
    const struct call_results *results = groups_item(&seen->result_ids, thread, &seen->results);
    for (unsigned i = 0; results && i < results->count; i++)
        if (results->last[i].start == call->start && results->last[i].name == call->name)
            return &results->last[i];
    return NULL;
}

static int see_call(struct death_seen *seen, const struct trace *trace, const struct trace_event *event)
{
    if (event->return_value == EVENT_NONE || event->return_value == 0)
        return 0;
    return first_errors_see(&seen->errors, event) < 0 ? -1 : see_result(seen, trace, event);
}

static int event(void *state, const struct trace *trace, const struct trace_event *event)
{
    struct death_seen *seen = state;
    if (event->phase == 'C')
        return see_counter(seen, trace, event);
    if (event_category_in(event->category, EVENT_API))
        return see_call(seen, trace, event);
    bool work = event->category == EVENT_IN_FLIGHT || event_category_in(event->category, EVENT_GPU_WORK);
    return work ? see_work(seen, event) : 0;
}

static void release(void *state)
{
    struct death_seen *seen = state;
    groups_release(&seen->work_ids);
    groups_release(&seen->held_ids);
    array_release(&seen->works);
    array_release(&seen->helds);
    groups_release(&seen->result_ids);
    array_release(&seen->results);
    first_errors_release(&seen->errors);
}

/* --- the table --- */

#define COLUMNS(X)                                                          \
    X(PROCESS, "process", "Process", TEXT, COLUMN_OPTIONAL)                 \
    X(WHAT, "what", "What", TEXT, 0)                                        \
    X(WHERE, "where", "Where", TEXT, COLUMN_OPTIONAL)                       \
    X(NAME, "name", "Name", TEXT, 0)                                        \
    X(AT, "at", "At", NS, COLUMN_OPTIONAL)                                  \
    X(DURATION, "duration", "Duration", NS, COLUMN_OPTIONAL | COLUMN_APART) \
    X(BYTES, "held", "Held", BYTES, COLUMN_OPTIONAL)                        \
    X(DETAIL, "detail", "Detail", TEXT, COLUMN_OPTIONAL)

enum { COLUMNS(COLUMN_ENUM) COLUMNS_END };
static const struct column columns[] = {COLUMNS(COLUMN_ROW)};

#define LAST_CALLS 5u /* of each thread */

struct telling {
    const struct trace *trace;
    struct table *table;
    const struct trace_death *death; /* NULL: the process did not die */
    bool processes;                  /* there is more than one */
};

static struct cell *put(const struct telling *telling, const char *what)
{
    struct cell *row = table_row(telling->table);
    if (!row)
        return NULL;
    if (telling->death && telling->processes)
        row[COLUMN_PROCESS] = trace_process_cell(telling->trace, telling->table, event_id_number(telling->death->pid));
    row[COLUMN_WHAT] = table_text(telling->table, what);
    return row;
}

static struct cell time_cell(const struct telling *telling, int64_t time)
{
    return time == EVENT_NONE ? (struct cell){0} : cell_integer(time - telling->trace->start);
}

static struct cell thread_cell(const struct telling *telling, int64_t id)
{
    int64_t thread = trace_find_thread(telling->trace, event_id_number(telling->death->pid), id);
    if (thread != EVENT_NONE)
        return trace_thread_cell(telling->trace, telling->table, (uint32_t)thread);
    return id == EVENT_NONE ? (struct cell){0} : table_format(telling->table, "thread %" PRId64, id);
}

/* How the first process ended is known from its exit status too. */
static int put_ending(const struct telling *telling)
{
    const struct trace_death *death = telling->death;
    struct cell *row = put(telling, "End");
    if (!row)
        return -1;
    bool first = death == telling->trace->deaths.items && telling->trace->ending != EVENT_NO_TEXT;
    row[COLUMN_NAME] = trace_text_cell(telling->trace, telling->table, first ? telling->trace->ending : death->state);
    if (first)
        row[COLUMN_DETAIL] = trace_text_cell(telling->trace, telling->table, death->state);
    if (death->signal == EVENT_NONE)
        return 0;
    row = put(telling, "Signal");
    if (!row)
        return -1;
    row[COLUMN_WHERE] = thread_cell(telling, death->thread);
    row[COLUMN_NAME] =
        table_format(telling->table, "signal %" PRId64 " (%s)", death->signal,
                     death->words == EVENT_NO_TEXT ? "" : interned(&telling->trace->strings, death->words));
    row[COLUMN_AT] = time_cell(telling, death->time);
    if (death->address != EVENT_NO_TEXT)
        row[COLUMN_DETAIL] =
            table_format(telling->table, "at address %s", interned(&telling->trace->strings, death->address));
    else if (death->sender == death->pid)
        row[COLUMN_DETAIL] = table_text(telling->table, "sent by itself");
    else if (death->sender != EVENT_NONE)
        row[COLUMN_DETAIL] = table_format(telling->table, "sent by process %" PRId64, death->sender);
    return 0;
}

/* Puts CALL among the last, by their start. */
static void take_last(struct call last[LAST_CALLS], unsigned *count, const struct call *call)
{
    unsigned place = *count;
    while (place > 0 && last[place - 1].start < call->start)
        place--;
    if (place == LAST_CALLS)
        return;
    *count += *count < LAST_CALLS;
    memmove(&last[place + 1], &last[place], (*count - place - 1) * sizeof(*last));
    last[place] = *call;
}

/* The last calls of THREAD, the latest first, COUNT of them. */
static int find_last(const struct trace *trace, uint32_t thread, struct call last[LAST_CALLS], unsigned *count)
{
    struct calls_walk walk;
    const struct call *call;
    *count = 0;
    calls_walk_begin(&walk, &trace->calls);
    while ((call = calls_next(&walk)))
        if (call->thread == thread)
            take_last(last, count, call);
    return calls_walk_end(&walk);
}

/* "failed: cudaErrorInvalidMemcpyDirection (21)". */
static struct cell result_cell(struct table *table, const struct call_result *result)
{
    if (!result)
        return table_text(table, "returned");
    struct cell error = error_cell(table, result->of_runtime, result->code);
    if (error.kind == CELL_NONE)
        return error;
    return table_format(table, "%s %s", result->failed ? "failed:" : "returned", table_cell_text(table, &error));
}

static int put_calls(const struct telling *telling, struct death_seen *seen)
{
    const struct trace *trace = telling->trace;
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        const struct trace_thread_id *id = groups_key(&trace->thread_ids, i);
        struct call last[LAST_CALLS];
        unsigned count;
        if (!trace->threads.items[i].host || id->process != event_id_number(telling->death->pid))
            continue;
        if (find_last(trace, i, last, &count) < 0)
            return -1;
        for (unsigned place = count; place-- > 0;) {
            struct cell *row = put(telling, "Call");
            if (!row)
                return -1;
            row[COLUMN_WHERE] = trace_thread_cell(trace, telling->table, i);
            row[COLUMN_NAME] = trace_text_cell(trace, telling->table, last[place].name);
            row[COLUMN_AT] = time_cell(telling, last[place].start);
            row[COLUMN_DURATION] = cell_integer(last[place].end - last[place].start);
            row[COLUMN_DETAIL] = result_cell(telling->table, death_seen_result(seen, id, &last[place]));
        }
    }
    return 0;
}

static struct cell waiting_cell(const struct telling *telling, const struct trace_open_call *call)
{
    const struct interner *strings = &telling->trace->strings;
    if (call->stream != EVENT_NONE)
        return table_format(telling->table, "had not returned: waited for stream %" PRId64, call->stream);
    if (call->waits_for == EVENT_NO_TEXT)
        return table_text(telling->table, "had not returned");
    return table_format(telling->table, "had not returned: waited for %s%s%s", interned(strings, call->waits_for),
                        call->handle == EVENT_NO_TEXT ? "" : " ",
                        call->handle == EVENT_NO_TEXT ? "" : interned(strings, call->handle));
}

static int put_open_calls(const struct telling *telling)
{
    for (size_t i = 0; i < telling->trace->open_calls.count; i++) {
        const struct trace_open_call *call = &telling->trace->open_calls.items[i];
        if (call->pid != telling->death->pid)
            continue;
        struct cell *row = put(telling, "Open call");
        if (!row)
            return -1;
        row[COLUMN_WHERE] = thread_cell(telling, call->thread);
        row[COLUMN_NAME] = trace_text_cell(telling->trace, telling->table, call->function);
        row[COLUMN_AT] = time_cell(telling, call->time);
        if (call->time != EVENT_NONE && telling->trace->end > call->time)
            row[COLUMN_DURATION] = cell_integer(telling->trace->end - call->time);
        row[COLUMN_DETAIL] = waiting_cell(telling, call);
    }
    return 0;
}

/* Whether a row of the trace, a process or a GPU of one, belongs to what died. */
static bool is_of(const struct telling *telling, event_id row)
{
    const struct trace_gpu_row *gpu = trace_gpu_row(telling->trace, row);
    return (gpu ? gpu->process : row) == event_id_number(telling->death->pid);
}

static int put_works(const struct telling *telling, const struct death_seen *seen)
{
    for (size_t i = 0; i < seen->works.count; i++) {
        const struct work_key *key = groups_key(&seen->work_ids, i);
        const struct last_work *work = &seen->works.items[i];
        if (!is_of(telling, key->row))
            continue;
        struct cell stream = table_format(telling->table, "GPU %" PRId64 " stream %" PRId64, key->device, key->stream);
        struct cell *row = work->finished ? put(telling, "Finished last") : NULL;
        if (row) {
            row[COLUMN_WHERE] = stream;
            row[COLUMN_NAME] = trace_text_cell(telling->trace, telling->table, work->name);
            row[COLUMN_AT] = time_cell(telling, work->start);
            row[COLUMN_DURATION] = cell_integer(work->duration);
        }
        row = work->in_flight ? put(telling, "In flight") : NULL;
        if (row) {
            row[COLUMN_WHERE] = stream;
            row[COLUMN_NAME] = trace_text_cell(telling->trace, telling->table, work->first);
            row[COLUMN_AT] = time_cell(telling, work->launched);
            if (work->in_flight > 1)
                row[COLUMN_DETAIL] = table_format(telling->table, "and %" PRId64 " more", work->in_flight - 1);
        }
    }
    return telling->table->no_memory ? -1 : 0;
}

static int put_memory(const struct telling *telling, const struct death_seen *seen)
{
    for (size_t i = 0; i < seen->helds.count; i++) {
        const struct held_key *key = groups_key(&seen->held_ids, i);
        const struct trace_gpu_row *gpu = trace_gpu_row(telling->trace, key->row);
        if (!is_of(telling, key->row))
            continue;
        struct cell *row = put(telling, "Memory");
        if (!row)
            return -1;
        row[COLUMN_WHERE] =
            gpu ? table_format(telling->table, "GPU %" PRId64, gpu->device) : table_text(telling->table, "host");
        row[COLUMN_NAME] = table_text(telling->table, interned(&telling->trace->strings, (uint32_t)key->name) +
                                                          strlen(DEATH_MEMORY_PREFIX));
        row[COLUMN_BYTES] = cell_integer(seen->helds.items[i].bytes);
    }
    return 0;
}

static int put_first_errors(const struct telling *telling, const struct death_seen *seen)
{
    for (size_t i = 0; i < seen->errors.items.count; i++) {
        const struct first_error *error = &seen->errors.items.items[i];
        int64_t thread = trace_find_thread(telling->trace, error->process, (int64_t)(error->thread / 2));
        struct cell *row = put(telling, "First error");
        if (!row)
            return -1;
        if (telling->processes)
            row[COLUMN_PROCESS] = trace_process_cell(telling->trace, telling->table, error->process);
        if (thread != EVENT_NONE)
            row[COLUMN_WHERE] = trace_thread_cell(telling->trace, telling->table, (uint32_t)thread);
        row[COLUMN_NAME] = trace_text_cell(telling->trace, telling->table, error->name);
        row[COLUMN_AT] = time_cell(telling, error->start);
        row[COLUMN_DURATION] = cell_integer(error->duration);
        struct cell name = error_cell(telling->table, error->of_runtime, error->code);
        if (name.kind != CELL_NONE)
            row[COLUMN_DETAIL] = table_format(telling->table, "%s: %s", table_cell_text(telling->table, &name),
                                              first_error_words(error->code));
    }
    return telling->table->no_memory ? -1 : 0;
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct telling telling = {
        .trace = trace, .table = table, .processes = trace->deaths.count > 1 || trace->host_processes > 1};
    if (put_first_errors(&telling, state) < 0)
        return -1;
    for (size_t i = 0; i < trace->deaths.count; i++) {
        telling.death = &trace->deaths.items[i];
        if (put_ending(&telling) < 0 || put_calls(&telling, state) < 0 || put_open_calls(&telling) < 0 ||
            put_works(&telling, state) < 0 || put_memory(&telling, state) < 0)
            return -1;
    }
    return 0;
}

const struct section section_death = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .parts = TRACE_GPU_WORK | TRACE_API | TRACE_SYNC | TRACE_MEMORY,
    .listing = true,
    .headed = true,
    .categories = EVENT_GPU_WORK | EVENT_API | EVENT_BIT(EVENT_IN_FLIGHT) | EVENT_BIT(EVENT_OTHER),
    .state_size = sizeof(struct death_seen),
    .calls = true,
    .event = event,
    .finish = finish,
    .release = release,
};
