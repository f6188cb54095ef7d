/*
 * Section crashes. For each process that did not end by exit: the signal, the last calls of each thread, the calls that
 * had not returned, what each stream finished last, what was in flight, and the memory that was held. For each process
 * with an error after which CUDA cannot be used any more: the call that returned it first. The section is empty where
 * all processes ran their exit handlers and none had such an error.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "analysis/engine/errors.h"
#include "analysis/engine/section.h"
#include "analysis/engine/trace_known.h"
#include "analysis/engine/trace_stacks.h"

/* --- what the section keeps of the events: what each stream did last, the last value of each memory counter, the calls
 * that first returned an error, and the last calls of each thread that failed --- */

/* The stream of an operation. */
struct op_key {
    event_id row;
    int64_t device, stream;
};
struct last_op {
    bool finished;
    uint32_t name; /* name of the operation that finished last */
    int64_t start, duration;
    int64_t in_flight; /* number of operations in flight */
    uint32_t first;    /* the operation in flight that was launched first */
    int64_t launched;  /* when the call of `first` returned */
};

/* The process or GPU that memory belongs to, and the kind of the memory. */
struct held_key {
    event_id row;
    uint64_t name; /* name of the memory counter */
};
struct held {
    int64_t bytes, time;
    bool known;
};

/* A call that did not return success. */
struct call_result {
    int64_t start, code;
    uint32_t name;
    bool of_runtime; /* an error of the runtime API; else of the driver API */
    bool failed;     /* errors_is_failure() */
};
/* The last failed calls of a thread, the latest start first. More of them are kept than the section shows calls,
 * because calls may be nested. */
#define CALL_RESULTS_KEPT 16u
struct call_results {
    unsigned count;
    struct call_result last[CALL_RESULTS_KEPT];
};

#define MEMORY_PREFIX "Memory in use: " /* prefix of the counters' names */

/* The call of a process that first returned an error after which CUDA cannot be used any more: every later call returns
 * the same error, so this one is the nearest to the fault. */
struct first_error {
    event_id process, thread;
    uint32_t name; /* name of the call */
    int64_t start, duration, code;
    bool of_runtime; /* an error of the runtime API; else of the driver API */
};

/* Initialise with zeros. */
struct crash_index {
    struct tally ops;     /* struct last_op by struct op_key */
    struct tally helds;   /* struct held by struct held_key */
    struct tally results; /* struct call_results by struct trace_thread_id */
    struct tally errors;  /* struct first_error by process */
};

/* Makes room in ITEMS for a record with time START, and drops the earliest record if ITEMS is full. ITEMS has *COUNT of
 * at most MOST records of SIZE bytes, the latest first; AT is the offset of the time in a record. Returns the place, or
 * NULL if ITEMS is full of later records. */
static void *insert_latest(void *items, unsigned *count, unsigned most, size_t size, size_t at, int64_t start)
{
    char *place = (char *)items + *count * size;
    while (place > (char *)items && *(int64_t *)(void *)(place - size + at) < start)
        place -= size;
    if (place == (char *)items + most * size)
        return NULL;
    *count += *count < most;
    memmove(place + size, place, (size_t)((char *)items + *count * size - place) - size);
    return place;
}

static int index_gpu_op(struct crash_index *seen, const struct event_fields *event)
{
    struct op_key key = {event->process, trace_event_device(event), event_gpu(event)->stream};
    struct last_op *op = tally_item(&seen->ops, &key, struct last_op);
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

static int index_result(struct crash_index *seen, const struct trace *trace, const struct event_fields *event)
{
    const struct trace_thread_id thread = {event->process, trace_thread_of(event)};
    struct call_results *results = tally_item(&seen->results, &thread, struct call_results);
    if (!results)
        return -1;
    struct call_result *place = insert_latest(results->last, &results->count, CALL_RESULTS_KEPT, sizeof(*place),
                                              offsetof(struct call_result, start), event->start);
    if (place)
        *place = (struct call_result){.start = event->start,
                                      .code = event->return_value,
                                      .name = event->name,
                                      .of_runtime = event->category == CATEGORY_CUDA_RUNTIME,
                                      .failed = errors_is_failure(&trace->strings, event)};
    return 0;
}

static int index_lasting_error(struct crash_index *seen, const struct event_fields *event)
{
    if (!error_lasting_words(event->return_value))
        return 0;
    struct first_error *first = tally_item(&seen->errors, &event->process, struct first_error);
    if (!first)
        return -1;
    if (first->code == 0 || event->start + event->duration < first->start + first->duration)
        *first = (struct first_error){.process = event->process,
                                      .thread = event->thread,
                                      .name = event->name,
                                      .start = event->start,
                                      .duration = event->duration,
                                      .code = event->return_value,
                                      .of_runtime = event->category == CATEGORY_CUDA_RUNTIME};
    return 0;
}

static int event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct crash_index *seen = state;
    if (event->phase == 'C') {
        const char *name = trace_text(trace, event->name);
        if (strncmp(name, MEMORY_PREFIX, strlen(MEMORY_PREFIX)) != 0 || event->bytes == FIELD_ABSENT)
            return 0;
        struct held_key key = {event->process, event->name};
        struct held *held = tally_item(&seen->helds, &key, struct held);
        if (!held)
            return -1;
        if (!held->known || event->start >= held->time)
            *held = (struct held){event->bytes, event->start, true};
        return 0;
    }
    if (category_in(event->category, CATEGORIES_API)) {
        if (event->return_value == FIELD_ABSENT || event->return_value == 0)
            return 0;
        return index_lasting_error(seen, event) < 0 ? -1 : index_result(seen, trace, event);
    }
    bool op = event->category == CATEGORY_GPU_IN_FLIGHT || category_in(event->category, CATEGORIES_GPU_OPS);
    return op ? index_gpu_op(seen, event) : 0;
}

static void release(void *state)
{
    struct crash_index *seen = state;
    tally_release(&seen->ops, sizeof(struct last_op), 0);
    tally_release(&seen->helds, sizeof(struct held), 0);
    tally_release(&seen->results, sizeof(struct call_results), 0);
    tally_release(&seen->errors, sizeof(struct first_error), 0);
}

/* --- the table --- */

#define LAST_CALLS 5u /* shown of each thread */

struct crash_row {
    struct cell process, what, where, name;
    int64_t at, duration, held; /* FIELD_ABSENT: empty */
    struct cell detail;
};

static const struct cell none;

/* The process whose rows are being written. */
struct writer {
    struct report_row *row;
    const struct trace *trace;
    struct table *table;
    const struct trace_crash *crash;
    event_id process;
};

static const struct column columns[] = {
    {"process", "Process", TYPE_TEXT, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(crash_row, process)},
    {"what", "What", TYPE_TEXT, 0, fill_cell, FROM_ITEM(crash_row, what), .importance = 95},
    {"where", "Where", TYPE_TEXT, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(crash_row, where), .importance = 85},
    {"name", "Name", TYPE_TEXT, 0, fill_cell, FROM_ITEM(crash_row, name), .importance = 90},
    {"at", "At", TYPE_NS, COLUMN_OPTIONAL | COLUMN_MOMENT, fill_time, FROM_ITEM(crash_row, at)},
    {"duration", "Duration", TYPE_NS, COLUMN_OPTIONAL | COLUMN_APART, fill_number, FROM_ITEM(crash_row, duration)},
    {"held", "Held", TYPE_BYTES, COLUMN_OPTIONAL, fill_number, FROM_ITEM(crash_row, held)},
    {"detail", "Detail", TYPE_TEXT, COLUMN_OPTIONAL, fill_cell, FROM_ITEM(crash_row, detail)},
};

static void put_row(const struct writer *writer, const char *what, struct crash_row row)
{
    const struct trace *trace = writer->trace;
    if (trace->crashes.count > 1 || trace->host_processes > 1)
        row.process = trace_process_cell(trace, writer->table, writer->process);
    row.what = table_text(writer->table, what);
    section_row(writer->row, NULL, &row);
}

/* Adds a row. AT and DURATION are FIELD_ABSENT if they are unknown. */
static void put(const struct writer *writer, const char *what, struct cell where, struct cell name, int64_t at,
                int64_t duration, struct cell detail)
{
    put_row(writer, what, (struct crash_row){none, none, where, name, at, duration, FIELD_ABSENT, detail});
}

static struct cell text_cell(const struct writer *writer, uint32_t text)
{
    return trace_text_cell(writer->trace, writer->table, text);
}

#define FRAMES_SHOWN 16

/* Writes how the process ended. For the first process, trace.ending has its exit status too. */
static void write_ending(const struct writer *writer)
{
    const struct trace_crash *crash = writer->crash;
    uint32_t ending = crash == writer->trace->crashes.items ? writer->trace->ending : EVENT_NO_TEXT;
    struct cell state = text_cell(writer, crash->state);
    bool known = ending != EVENT_NO_TEXT;
    put(writer, "End", none, known ? text_cell(writer, ending) : state, FIELD_ABSENT, FIELD_ABSENT,
        known ? state : none);
    if (crash->signal == FIELD_ABSENT)
        return;
    struct cell name =
        table_format(writer->table, "signal %" PRId64 " (%s)", crash->signal, trace_text(writer->trace, crash->words));
    struct cell sender = none;
    if (crash->address != EVENT_NO_TEXT)
        sender = table_format(writer->table, "at address %s", trace_text(writer->trace, crash->address));
    else if (crash->sender == crash->pid)
        sender = table_text(writer->table, "sent by itself");
    else if (crash->sender != FIELD_ABSENT)
        sender = table_format(writer->table, "sent by process %" PRId64, crash->sender);
    put(writer, "Signal", trace_thread_id_cell(writer->trace, writer->table, writer->process, crash->thread), name,
        crash->time, FIELD_ABSENT, sender);
    /* The stack of the thread that got the signal, from the frame that caused it outwards. */
    const struct trace_frame *frames[FRAMES_SHOWN];
    size_t count = trace_stack(writer->trace, writer->crash->stack, frames, FRAMES_SHOWN);
    bool is_start = false; /* the frames that called main() are not shown */
    for (size_t i = 0; i < count && !is_start; i++) {
        put(writer, i == 0 ? "In" : "Called by", none, text_cell(writer, frames[i]->place), FIELD_ABSENT, FIELD_ABSENT,
            none);
        is_start = strcmp(trace_text(writer->trace, frames[i]->name), "main") == 0;
    }
}

/* Finds the last calls of THREAD, the latest first, and sets *COUNT. Returns 0, or -1: no memory. */
static int find_last(const struct trace *trace, uint32_t thread, struct call last[LAST_CALLS], unsigned *count)
{
    struct calls_walk walk;
    const struct call *call;
    *count = 0;
    calls_walk_begin(&walk, &trace->calls);
    while ((call = calls_next(&walk))) {
        struct call *place = call->thread != thread ? NULL
                                                    : insert_latest(last, count, LAST_CALLS, sizeof(*last),
                                                                    offsetof(struct call, start), call->start);
        if (place)
            *place = *call;
    }
    return sorter_walk_end(&walk.walk);
}

static void write_calls(const struct writer *writer, struct crash_index *seen)
{
    const struct trace *trace = writer->trace;
    for (uint32_t i = 0; i < trace->threads.count; i++) {
        const struct trace_thread_id *id = dense_map_row(&trace->thread_ids, i);
        struct call last[LAST_CALLS];
        unsigned count;
        if (!trace->threads.items[i].host || id->process != writer->process)
            continue;
        writer->table->no_memory |= find_last(trace, i, last, &count) < 0;
        struct cell where = trace_thread_cell(trace, writer->table, i);
        while (count-- > 0) {
            const struct call *call = &last[count];
            const struct call_results *results = tally_item(&seen->results, id, struct call_results);
            const struct call_result *failed = NULL;
            for (unsigned k = 0; results && k < results->count && !failed; k++)
                if (results->last[k].start == call->start && results->last[k].name == call->name)
                    failed = &results->last[k];
            /* "failed: cudaErrorInvalidMemcpyDirection (21)" */
            struct cell result = failed ? error_cell(writer->table, failed->of_runtime, failed->code)
                                        : table_text(writer->table, "returned");
            if (failed && result.kind != CELL_NONE)
                result = table_format(writer->table, "%s %s", failed->failed ? "failed:" : "returned",
                                      table_cell_text(writer->table, &result));
            put(writer, "Call", where, text_cell(writer, call->name), call->start, call->end - call->start, result);
        }
    }
}

static void write_open_calls(const struct writer *writer)
{
    for (size_t i = 0; i < writer->trace->open_calls.count; i++) {
        const struct trace_open_call *call = &writer->trace->open_calls.items[i];
        bool open = call->time != FIELD_ABSENT && writer->trace->end > call->time;
        const char *handle = call->handle == EVENT_NO_TEXT ? "" : trace_text(writer->trace, call->handle);
        if (call->pid != writer->crash->pid)
            continue;
        struct cell waits = table_text(writer->table, "had not returned");
        if (call->stream != FIELD_ABSENT)
            waits = table_format(writer->table, "had not returned: waited for stream %" PRId64, call->stream);
        else if (call->waits_for != EVENT_NO_TEXT)
            waits = table_format(writer->table, "had not returned: waited for %s%s%s",
                                 trace_text(writer->trace, call->waits_for), *handle ? " " : "", handle);
        put(writer, "Open call", trace_thread_id_cell(writer->trace, writer->table, writer->process, call->thread),
            text_cell(writer, call->function), call->time, open ? writer->trace->end - call->time : FIELD_ABSENT,
            waits);
    }
}

/* Returns whether ROW, a process or a GPU of one, belongs to the process that died. */
static bool is_of(const struct writer *writer, event_id row)
{
    const struct trace_gpu_row *gpu = trace_gpu_row(writer->trace, row);
    return (gpu ? gpu->process : row) == writer->process;
}

static void write_gpu_ops(const struct writer *writer, const struct crash_index *seen)
{
    for (size_t i = 0; i < seen->ops.count; i++) {
        const struct op_key *key = dense_map_row(&seen->ops.keys, i);
        const struct last_op *op = (const struct last_op *)seen->ops.items + i;
        if (!is_of(writer, key->row))
            continue;
        struct cell stream = trace_stream_cell(writer->table, key->device, key->stream);
        struct cell more =
            op->in_flight > 1 ? table_format(writer->table, "and %" PRId64 " more", op->in_flight - 1) : none;
        if (op->finished)
            put(writer, "Finished last", stream, text_cell(writer, op->name), op->start, op->duration, none);
        if (op->in_flight)
            put(writer, "In flight", stream, text_cell(writer, op->first), op->launched, FIELD_ABSENT, more);
    }
}

static void write_memory(const struct writer *writer, const struct crash_index *seen)
{
    for (size_t i = 0; i < seen->helds.count; i++) {
        const struct held_key *key = dense_map_row(&seen->helds.keys, i);
        const struct trace_gpu_row *gpu = trace_gpu_row(writer->trace, key->row);
        if (!is_of(writer, key->row))
            continue;
        const struct crash_row row = {
            .where =
                gpu ? trace_stream_cell(writer->table, gpu->device, FIELD_ABSENT) : table_text(writer->table, "host"),
            .name = table_text(writer->table, trace_text(writer->trace, (uint32_t)key->name) + strlen(MEMORY_PREFIX)),
            .at = FIELD_ABSENT,
            .duration = FIELD_ABSENT,
            .held = ((const struct held *)seen->helds.items)[i].bytes};
        put_row(writer, "Memory", row);
    }
}

static void write_first_error(struct writer *writer, const struct first_error *error)
{
    const struct trace *trace = writer->trace;
    int64_t thread = trace_find_thread(trace, error->process, (int64_t)(error->thread / 2));
    struct cell name = error_cell(writer->table, error->of_runtime, error->code), detail = none;
    if (name.kind != CELL_NONE)
        detail = table_format(writer->table, "%s: %s", table_cell_text(writer->table, &name),
                              error_lasting_words(error->code));
    writer->process = error->process;
    put(writer, "First error",
        thread == FIELD_ABSENT ? none : trace_thread_cell(trace, writer->table, (uint32_t)thread),
        text_cell(writer, error->name), error->start, error->duration, detail);
}

static void finish(struct report_row *row)
{
    struct crash_index *seen = row->state;
    struct writer writer = {.row = row, .trace = row->trace, .table = row->table};
    for (size_t i = 0; i < seen->errors.count; i++)
        write_first_error(&writer, (const struct first_error *)seen->errors.items + i);
    for (size_t i = 0; i < row->trace->crashes.count; i++) {
        writer.crash = &row->trace->crashes.items[i];
        writer.process = event_id_number(writer.crash->pid);
        write_ending(&writer);
        write_calls(&writer, seen);
        write_open_calls(&writer);
        write_gpu_ops(&writer, seen);
        write_memory(&writer, seen);
    }
}

const struct section section_crashes = {
    SECTION_COLUMNS(columns),
    .parts = TRACE_GPU_WORK | TRACE_API | TRACE_SYNC | TRACE_MEMORY,
    .listing = true,
    .headed = true,
    .categories = CATEGORIES_GPU_OPS | CATEGORIES_API | CATEGORY_BIT(CATEGORY_GPU_IN_FLIGHT) | CATEGORIES_OTHER,
    .state_size = sizeof(struct crash_index),
    .indexes = {.calls = true, .stacks = true},
    .event = event,
    .finish = finish,
    .release = release,
};
