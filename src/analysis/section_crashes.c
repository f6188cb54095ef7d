/*
 * Section death. For each process that did not end by exit: the signal, the last calls of each thread, the calls that
 * had not returned, what each stream finished last, what was in flight, and the memory that was held. For each process
 * with an error after which CUDA cannot be used any more: the call that returned it first. The section is empty where
 * all processes ran their exit handlers and none had such an error.
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

/* The stream of an operation. */
struct op_key {
    event_id row;
    int64_t device, stream;
};
struct last_op {
    bool finished;
    uint32_t name; /* of the last that finished */
    int64_t start, duration;
    int64_t in_flight; /* how many */
    uint32_t first;    /* name of the earliest in flight */
    int64_t launched;  /* when its call returned */
};

/* The process or GPU that memory belongs to, and its kind. */
struct held_key {
    event_id row;
    uint64_t name; /* of the counter */
};
struct held {
    int64_t bytes, time;
    bool known;
};

/* A call that did not return success. */
struct call_result {
    int64_t start, code;
    uint32_t name;
    bool of_runtime; /* else the driver's */
    bool failed;     /* errors_is_failure() */
};
/* The last failed calls of one thread by their start, the latest first: some more than calls are shown, as a call may
 * lie within another. */
#define CALL_RESULTS_KEPT 16u
struct call_results {
    unsigned count;
    struct call_result last[CALL_RESULTS_KEPT];
};

#define MEMORY_PREFIX "Memory in use: " /* of the counters' names */

/* Starts as zeros. */
struct crash_index {
    struct groups op_ids, held_ids; /* by op_key and held_key */
    ARRAY(struct last_op) gpu_ops;
    ARRAY(struct held) helds;
    struct groups result_ids; /* by struct trace_thread_id */
    ARRAY(struct call_results) results;
    struct first_errors errors;
};

static int index_gpu_op(struct crash_index *seen, const struct event_fields *event)
{
    struct op_key key = {event->process, trace_event_device(event), event->stream};
    struct last_op *op = groups_item(&seen->op_ids, &key, &seen->gpu_ops);
    if (!op)
        return -1;
    if (event->category == CATEGORY_GPU_IN_FLIGHT) {
        if (op->in_flight++ == 0 || event->start < op->launched) {
            op->first = event->name;
            op->launched = event->start;
        }
    } else if (!op->finished || event->start + event->duration >= op->start + op->duration) {
        op->finished = true;
        op->name = event->name;
        op->start = event->start;
        op->duration = event->duration;
    }
    return 0;
}

static int index_counter(struct crash_index *seen, const struct trace *trace, const struct event_fields *event)
{
    const char *name = event->name == EVENT_NO_TEXT ? "" : interned(&trace->strings, event->name);
    if (strncmp(name, MEMORY_PREFIX, strlen(MEMORY_PREFIX)) != 0 || event->bytes == EVENT_NONE)
        return 0;
    struct held_key key = {event->process, event->name};
    struct held *held = groups_item(&seen->held_ids, &key, &seen->helds);
    if (!held)
        return -1;
    if (!held->known || event->start >= held->time)
        *held = (struct held){event->bytes, event->start, true};
    return 0;
}

/* Whose call EVENT is, which may be in a further row of its thread. */
static struct trace_thread_id thread_of(const struct event_fields *event)
{
    bool extra = event->of_thread != EVENT_NONE && !event_id_is_text(event->thread) &&
                 event_id_value(event->thread) >= TRACE_EXTRA_TID;
    return (struct trace_thread_id){event->process, extra ? event_id_number(event->of_thread) : event->thread};
}

static int index_result(struct crash_index *seen, const struct trace *trace, const struct event_fields *event)
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
                                                .of_runtime = event->category == CATEGORY_CUDA_RUNTIME,
                                                .failed = errors_is_failure(&trace->strings, event)};
    return 0;
}

/* What CALL of the thread, one of its last, did not succeed with. NULL: it succeeded. */
static const struct call_result *crash_index_result(struct crash_index *seen, const struct trace_thread_id *thread,
                                                    const struct call *call)
{
    const struct call_results *results = groups_item(&seen->result_ids, thread, &seen->results);
    for (unsigned i = 0; results && i < results->count; i++)
        if (results->last[i].start == call->start && results->last[i].name == call->name)
            return &results->last[i];
    return NULL;
}

static int index_call(struct crash_index *seen, const struct trace *trace, const struct event_fields *event)
{
    if (event->return_value == EVENT_NONE || event->return_value == 0)
        return 0;
    return first_errors_see(&seen->errors, event) < 0 ? -1 : index_result(seen, trace, event);
}

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct crash_index *seen = state;
    if (event->phase == 'C')
        return index_counter(seen, trace, event);
    if (category_in(event->category, CATEGORIES_API))
        return index_call(seen, trace, event);
    bool op = event->category == CATEGORY_GPU_IN_FLIGHT || category_in(event->category, CATEGORIES_GPU_OPS);
    return op ? index_gpu_op(seen, event) : 0;
}

static void release(void *state)
{
    struct crash_index *seen = state;
    groups_release(&seen->op_ids);
    groups_release(&seen->held_ids);
    array_release(&seen->gpu_ops);
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

struct writer {
    const struct trace *trace;
    struct table *table;
    const struct trace_crash *crash; /* NULL: the process did not die */
    bool processes;                  /* there is more than one */
};

static struct cell *put(const struct writer *writer, const char *what)
{
    struct cell *row = table_row(writer->table);
    if (!row)
        return NULL;
    if (writer->crash && writer->processes)
        row[COLUMN_PROCESS] = trace_process_cell(writer->trace, writer->table, event_id_number(writer->crash->pid));
    row[COLUMN_WHAT] = table_text(writer->table, what);
    return row;
}

static struct cell time_cell(const struct writer *writer, int64_t time)
{
    return time == EVENT_NONE ? (struct cell){0} : cell_integer(time - writer->trace->start);
}

static struct cell thread_cell(const struct writer *writer, int64_t id)
{
    int64_t thread = trace_find_thread(writer->trace, event_id_number(writer->crash->pid), id);
    if (thread != EVENT_NONE)
        return trace_thread_cell(writer->trace, writer->table, (uint32_t)thread);
    return id == EVENT_NONE ? (struct cell){0} : table_format(writer->table, "thread %" PRId64, id);
}

/* How the first process ended is known from its exit status too. */
static int write_ending(const struct writer *writer)
{
    const struct trace_crash *crash = writer->crash;
    struct cell *row = put(writer, "End");
    if (!row)
        return -1;
    bool first = crash == writer->trace->crashes.items && writer->trace->ending != EVENT_NO_TEXT;
    row[COLUMN_NAME] = trace_text_cell(writer->trace, writer->table, first ? writer->trace->ending : crash->state);
    if (first)
        row[COLUMN_DETAIL] = trace_text_cell(writer->trace, writer->table, crash->state);
    if (crash->signal == EVENT_NONE)
        return 0;
    row = put(writer, "Signal");
    if (!row)
        return -1;
    row[COLUMN_WHERE] = thread_cell(writer, crash->thread);
    row[COLUMN_NAME] =
        table_format(writer->table, "signal %" PRId64 " (%s)", crash->signal,
                     crash->words == EVENT_NO_TEXT ? "" : interned(&writer->trace->strings, crash->words));
    row[COLUMN_AT] = time_cell(writer, crash->time);
    if (crash->address != EVENT_NO_TEXT)
        row[COLUMN_DETAIL] =
            table_format(writer->table, "at address %s", interned(&writer->trace->strings, crash->address));
    else if (crash->sender == crash->pid)
        row[COLUMN_DETAIL] = table_text(writer->table, "sent by itself");
    else if (crash->sender != EVENT_NONE)
        row[COLUMN_DETAIL] = table_format(writer->table, "sent by process %" PRId64, crash->sender);
    return 0;
}

/* Puts CALL among the last, by their start. */
static void insert_last(struct call last[LAST_CALLS], unsigned *count, const struct call *call)
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
            insert_last(last, count, call);
    return sorter_walk_end(&walk.walk);
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

static int write_calls(const struct writer *writer, struct crash_index *seen)
{
    const struct trace *trace = writer->trace;
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        const struct trace_thread_id *id = groups_key(&trace->thread_ids, i);
        struct call last[LAST_CALLS];
        unsigned count;
        if (!trace->threads.items[i].host || id->process != event_id_number(writer->crash->pid))
            continue;
        if (find_last(trace, i, last, &count) < 0)
            return -1;
        for (unsigned place = count; place-- > 0;) {
            struct cell *row = put(writer, "Call");
            if (!row)
                return -1;
            row[COLUMN_WHERE] = trace_thread_cell(trace, writer->table, i);
            row[COLUMN_NAME] = trace_text_cell(trace, writer->table, last[place].name);
            row[COLUMN_AT] = time_cell(writer, last[place].start);
            row[COLUMN_DURATION] = cell_integer(last[place].end - last[place].start);
            row[COLUMN_DETAIL] = result_cell(writer->table, crash_index_result(seen, id, &last[place]));
        }
    }
    return 0;
}

static struct cell waiting_cell(const struct writer *writer, const struct trace_open_call *call)
{
    const struct interner *strings = &writer->trace->strings;
    if (call->stream != EVENT_NONE)
        return table_format(writer->table, "had not returned: waited for stream %" PRId64, call->stream);
    if (call->waits_for == EVENT_NO_TEXT)
        return table_text(writer->table, "had not returned");
    return table_format(writer->table, "had not returned: waited for %s%s%s", interned(strings, call->waits_for),
                        call->handle == EVENT_NO_TEXT ? "" : " ",
                        call->handle == EVENT_NO_TEXT ? "" : interned(strings, call->handle));
}

static int write_open_calls(const struct writer *writer)
{
    for (size_t i = 0; i < writer->trace->open_calls.count; i++) {
        const struct trace_open_call *call = &writer->trace->open_calls.items[i];
        if (call->pid != writer->crash->pid)
            continue;
        struct cell *row = put(writer, "Open call");
        if (!row)
            return -1;
        row[COLUMN_WHERE] = thread_cell(writer, call->thread);
        row[COLUMN_NAME] = trace_text_cell(writer->trace, writer->table, call->function);
        row[COLUMN_AT] = time_cell(writer, call->time);
        if (call->time != EVENT_NONE && writer->trace->end > call->time)
            row[COLUMN_DURATION] = cell_integer(writer->trace->end - call->time);
        row[COLUMN_DETAIL] = waiting_cell(writer, call);
    }
    return 0;
}

/* Whether a row of the trace, a process or a GPU of one, belongs to what died. */
static bool is_of(const struct writer *writer, event_id row)
{
    const struct trace_gpu_row *gpu = trace_gpu_row(writer->trace, row);
    return (gpu ? gpu->process : row) == event_id_number(writer->crash->pid);
}

static int write_gpu_ops(const struct writer *writer, const struct crash_index *seen)
{
    for (size_t i = 0; i < seen->gpu_ops.count; i++) {
        const struct op_key *key = groups_key(&seen->op_ids, i);
        const struct last_op *op = &seen->gpu_ops.items[i];
        if (!is_of(writer, key->row))
            continue;
        struct cell stream = table_format(writer->table, "GPU %" PRId64 " stream %" PRId64, key->device, key->stream);
        struct cell *row = op->finished ? put(writer, "Finished last") : NULL;
        if (row) {
            row[COLUMN_WHERE] = stream;
            row[COLUMN_NAME] = trace_text_cell(writer->trace, writer->table, op->name);
            row[COLUMN_AT] = time_cell(writer, op->start);
            row[COLUMN_DURATION] = cell_integer(op->duration);
        }
        row = op->in_flight ? put(writer, "In flight") : NULL;
        if (row) {
            row[COLUMN_WHERE] = stream;
            row[COLUMN_NAME] = trace_text_cell(writer->trace, writer->table, op->first);
            row[COLUMN_AT] = time_cell(writer, op->launched);
            if (op->in_flight > 1)
                row[COLUMN_DETAIL] = table_format(writer->table, "and %" PRId64 " more", op->in_flight - 1);
        }
    }
    return writer->table->no_memory ? -1 : 0;
}

static int write_memory(const struct writer *writer, const struct crash_index *seen)
{
    for (size_t i = 0; i < seen->helds.count; i++) {
        const struct held_key *key = groups_key(&seen->held_ids, i);
        const struct trace_gpu_row *gpu = trace_gpu_row(writer->trace, key->row);
        if (!is_of(writer, key->row))
            continue;
        struct cell *row = put(writer, "Memory");
        if (!row)
            return -1;
        row[COLUMN_WHERE] =
            gpu ? table_format(writer->table, "GPU %" PRId64, gpu->device) : table_text(writer->table, "host");
        row[COLUMN_NAME] =
            table_text(writer->table, interned(&writer->trace->strings, (uint32_t)key->name) + strlen(MEMORY_PREFIX));
        row[COLUMN_BYTES] = cell_integer(seen->helds.items[i].bytes);
    }
    return 0;
}

static int write_first_errors(const struct writer *writer, const struct crash_index *seen)
{
    for (size_t i = 0; i < seen->errors.items.count; i++) {
        const struct first_error *error = &seen->errors.items.items[i];
        int64_t thread = trace_find_thread(writer->trace, error->process, (int64_t)(error->thread / 2));
        struct cell *row = put(writer, "First error");
        if (!row)
            return -1;
        if (writer->processes)
            row[COLUMN_PROCESS] = trace_process_cell(writer->trace, writer->table, error->process);
        if (thread != EVENT_NONE)
            row[COLUMN_WHERE] = trace_thread_cell(writer->trace, writer->table, (uint32_t)thread);
        row[COLUMN_NAME] = trace_text_cell(writer->trace, writer->table, error->name);
        row[COLUMN_AT] = time_cell(writer, error->start);
        row[COLUMN_DURATION] = cell_integer(error->duration);
        struct cell name = error_cell(writer->table, error->of_runtime, error->code);
        if (name.kind != CELL_NONE)
            row[COLUMN_DETAIL] = table_format(writer->table, "%s: %s", table_cell_text(writer->table, &name),
                                              first_error_words(error->code));
    }
    return writer->table->no_memory ? -1 : 0;
}

static int finish(void *state, const struct trace *trace, struct table *table)
{
    struct writer writer = {
        .trace = trace, .table = table, .processes = trace->crashes.count > 1 || trace->host_processes > 1};
    if (write_first_errors(&writer, state) < 0)
        return -1;
    for (size_t i = 0; i < trace->crashes.count; i++) {
        writer.crash = &trace->crashes.items[i];
        if (write_ending(&writer) < 0 || write_calls(&writer, state) < 0 || write_open_calls(&writer) < 0 ||
            write_gpu_ops(&writer, state) < 0 || write_memory(&writer, state) < 0)
            return -1;
    }
    return 0;
}

const struct section section_crashes = {
    .columns = columns,
    .column_count = COLUMNS_END,
    .parts = TRACE_GPU_WORK | TRACE_API | TRACE_SYNC | TRACE_MEMORY,
    .listing = true,
    .headed = true,
    .categories = CATEGORIES_GPU_OPS | CATEGORIES_API | CATEGORY_BIT(CATEGORY_GPU_IN_FLIGHT) | CATEGORIES_OTHER,
    .state_size = sizeof(struct crash_index),
    .calls = true,
    .event = event,
    .finish = finish,
    .release = release,
};
