/*
 * What names mean for the report is found out once (pftrace_texts.h), and so is what launches of a kernel have in
 * common (struct pattern). What a field is to be of an argument is written as event_args.c has it; where JSON alone
 * would tell, the event is written as JSON and read again.
 */
#include "cli/pftrace_records.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "cli/event_args.h"
#include "cli/event_records.h"
#include "cli/pftrace_texts.h"
#include "trace/pftrace/interned.h"
#include "trace/pftrace/packets.h"
#include "trace/pftrace/reader.h"
#include "trace/trace_event.h"
#include "trace/pftrace/pftrace_replay.h"

/* An event with the arguments of a kernel. */
struct pattern {
    uint32_t kernel; /* 0: none */
    bool needs_json;
    struct trace_event event;
};

#define PATTERNS 512 /* kernel N's is in N % PATTERNS */

struct pftrace_records {
    struct pftrace_texts texts;
    struct pftrace_reader *reader;
    struct event_record_end end; /* of the piece at hand */
    bool begun;                  /* events have come: there is no more metadata */
    bool failed;                 /* no memory */
    uint64_t late;               /* metadata after events */
    struct pattern patterns[PATTERNS];
};

struct pftrace_records *pftrace_records_new(void)
{
    struct pftrace_records *records = calloc(1, sizeof(*records));
    event_fields_init();
    if (records)
        records->reader = pftrace_reader_new(&records->texts.strings);
    if (records && records->reader)
        return records;
    free(records);
    error_no_memory("reading");
    return NULL;
}

void pftrace_records_free(struct pftrace_records *records)
{
    if (!records)
        return;
    pftrace_close(records->reader);
    pftrace_texts_release(&records->texts);
    free(records);
}

static void begin_piece(struct pftrace_records *records, struct sink *sink)
{
    pftrace_texts_forget(&records->texts);
    pftrace_forget(records->reader);
    memset(records->patterns, 0, sizeof(records->patterns));
    event_records_put_piece(sink);
}

/* --- arguments --- */

static bool take_number(const struct pftrace_arg *arg, int64_t *number)
{
    switch (arg->kind) {
    case PFTRACE_ARG_U64: *number = event_args_number(arg->u64, *number); return true;
    case PFTRACE_ARG_I64: *number = event_args_signed(arg->i64, *number); return true;
    case PFTRACE_ARG_BOOL: *number = arg->u64 != 0; return true;
    case PFTRACE_ARG_HEX: *number = arg->u64 > INT64_MAX ? INT64_MAX : (int64_t)arg->u64; return true;
    case PFTRACE_ARG_TEXT: *number = event_args_text_number(arg->text, arg->length, *number); return true;
    case PFTRACE_ARG_SIZE3: return true;
    case PFTRACE_ARG_REAL:
    case PFTRACE_ARG_JSON: break;
    }
    return false;
}

static bool take_text(struct pftrace_records *records, const struct pftrace_arg *arg, uint32_t *text)
{
    if (arg->kind == PFTRACE_ARG_TEXT)
        *text = pftrace_texts_passing(&records->texts, arg->text, arg->length);
    return arg->kind == PFTRACE_ARG_TEXT || arg->kind == PFTRACE_ARG_BOOL || arg->kind == PFTRACE_ARG_SIZE3;
}

static bool take_triple(const struct pftrace_arg *arg, int64_t triple[3])
{
    for (int i = 0; i < 3 && arg->kind == PFTRACE_ARG_SIZE3; i++)
        triple[i] = arg->size3[i];
    return arg->kind != PFTRACE_ARG_JSON;
}

static void take_from(const struct pftrace_arg *arg, struct trace_event *event)
{
    static const char word[] = EVENT_DEVICE_RANGE_WORD;
    if (event->category == EVENT_GPU_RANGE && arg->kind == PFTRACE_ARG_TEXT && arg->length == sizeof(word) - 1 &&
        memcmp(arg->text, word, arg->length) == 0)
        event->category = EVENT_DEVICE_RANGE;
}

/* False: the event must be read as JSON. */
static bool take_args(struct pftrace_records *records, const struct pftrace_arg *args, size_t count,
                      struct trace_event *event)
{
    for (size_t i = 0; i < count; i++) {
        const struct pftrace_arg *arg = &args[i];
        const struct pftrace_meaning *meaning = pftrace_texts_meaning(&records->texts, arg->name_number);
        void *place = meaning->field ? (char *)event + meaning->field->offset : NULL;
        bool taken = true;
        if (meaning->is_from)
            take_from(arg, event);
        else if (meaning->field && meaning->field->type == FIELD_NUMBER)
            taken = take_number(arg, place);
        else if (meaning->field && meaning->field->type == FIELD_TEXT)
            taken = take_text(records, arg, place);
        else if (meaning->field)
            taken = take_triple(arg, place);
        if (!taken)
            return false;
    }
    return true;
}

static const struct pattern *pattern_of(struct pftrace_records *records, const struct pftrace_kernel *kernel)
{
    struct pattern *pattern = &records->patterns[kernel->number % PATTERNS];
    if (pattern->kernel != kernel->number) {
        pattern->kernel = kernel->number;
        pattern->event = event_nothing;
        pattern->needs_json = !take_args(records, kernel->args.items, kernel->args.count, &pattern->event);
    }
    return pattern;
}

/* --- events --- */

static void put_as_json(struct pftrace_records *records, const struct pftrace_event *event)
{
    struct sink text;
    struct pftrace_replay replay;
    sink_init_memory(&text);
    struct writer writer = {.format = &chrome_json, .sink = &text};
    pftrace_replay_init(&replay, &writer);
    pftrace_replay_event(&replay, event);
    records->failed |= replay.members.failure || replay.category.failure;
    event_records_put_json(records->texts.sink, &text);
    pftrace_replay_release(&replay);
    sink_release(&text);
}

/* False: the event must be read as JSON. */
static bool begin_event(struct pftrace_records *records, const struct pftrace_event *from, char phase,
                        struct trace_event *event)
{
    const struct pattern *pattern = from->shared ? pattern_of(records, from->shared) : NULL;
    if (pattern && pattern->needs_json)
        return false;
    *event = pattern ? pattern->event : event_nothing;
    event->phase = phase;
    event->category = EVENT_OTHER;
    if (from->category_number != PFTRACE_UNKNOWN)
        event->category = (uint8_t)pftrace_texts_meaning(&records->texts, from->category_number)->category;
    event->name = pftrace_texts_number(&records->texts, from->name_number);
    event->process = event_id_number(from->pid);
    event->thread = event_id_number(from->tid);
    event->start = (int64_t)from->start;
    if (from->has_correlation)
        event->correlation = event_args_number(from->correlation, EVENT_NONE);
    return true;
}

static void put_slice(struct pftrace_records *records, const struct pftrace_event *from)
{
    struct trace_event event;
    bool instant = from->what == PFTRACE_INSTANT;
    if (!begin_event(records, from, instant ? 'i' : 'X', &event) ||
        !take_args(records, from->args, from->arg_count, &event)) {
        put_as_json(records, from);
        return;
    }
    if (!instant)
        event.duration = (int64_t)(from->end - from->start);
    event_records_put_event(records->texts.sink, &records->end, &event);
}

static void put_async(struct pftrace_records *records, const struct pftrace_event *from)
{
    struct trace_event event, end = event_nothing;
    if (!begin_event(records, from, 'b', &event) || !take_args(records, from->args, from->arg_count, &event)) {
        put_as_json(records, from);
        return;
    }
    event.id = end.id = event_id_number((int64_t)from->id);
    end.phase = 'e';
    end.category = event.category;
    end.name = event.name;
    end.process = event_id_number(from->end_pid);
    end.thread = event_id_number(from->end_tid);
    end.start = (int64_t)from->end;
    event_records_put_event(records->texts.sink, &records->end, &event);
    event_records_put_event(records->texts.sink, &records->end, &end);
}

static void put_counter(struct pftrace_records *records, const struct pftrace_event *from)
{
    struct trace_event event;
    if (!from->one_value || from->arg_count == 0 || !begin_event(records, from, 'C', &event)) {
        put_as_json(records, from);
        return;
    }
    if (from->args[0].kind != PFTRACE_ARG_REAL)
        event.bytes = event_args_number(from->args[0].u64, EVENT_NONE);
    event_records_put_event(records->texts.sink, &records->end, &event);
}

static void put_naming(struct pftrace_records *records, const struct pftrace_event *from, const char *what,
                       uint32_t label)
{
    struct trace_event event = event_nothing;
    event.phase = 'M';
    event.name = pftrace_texts_passing(&records->texts, what, strlen(what));
    event.process = event_id_number(from->pid);
    event.thread = event_id_number(from->what == PFTRACE_PROCESS ? from->pid : from->tid);
    event.start = 0;
    event.label = label;
    event_records_put_event(records->texts.sink, &records->end, &event);
}

static void put_row(struct pftrace_records *records, const struct pftrace_event *from)
{
    bool process = from->what == PFTRACE_PROCESS;
    put_naming(records, from, process ? "process_name" : "thread_name",
               pftrace_texts_number(&records->texts, from->name_number));
    if (process && from->text)
        put_naming(records, from, "process_labels", pftrace_texts_passing(&records->texts, from->text, from->length));
}

/* As readers of JSON have it: what is later is no time. */
static bool has_times(const struct pftrace_event *event)
{
    return event->start <= EVENT_TIME_LIMIT && event->end <= EVENT_TIME_LIMIT;
}

static void put(struct pftrace_records *records, const struct pftrace_event *event)
{
    if (event->what == PFTRACE_METADATA) {
        if (records->begun)
            records->late++;
        else
            event_records_put_metadata(records->texts.sink, event->name, event->text, event->length);
        return;
    }
    records->begun = true;
    if (!has_times(event))
        return;
    switch (event->what) {
    case PFTRACE_METADATA: break;
    case PFTRACE_PROCESS:
    case PFTRACE_THREAD: put_row(records, event); break;
    case PFTRACE_SLICE:
    case PFTRACE_INSTANT: put_slice(records, event); break;
    case PFTRACE_ASYNC: put_async(records, event); break;
    case PFTRACE_COUNTER: put_counter(records, event); break;
    }
}

int pftrace_records_take(struct pftrace_records *records, struct packets_run *run, struct sink *sink,
                         uint64_t *left_out)
{
    const struct pftrace_event *event;
    uint64_t before = pftrace_left_out(records->reader) + records->late;
    int more;
    records->texts.sink = sink;
    records->end = (struct event_record_end){0};
    if (run->begins) {
        begin_piece(records, sink);
        records->begun = !run->first;
    }
    pftrace_take(records->reader, run);
    while ((more = pftrace_next(records->reader, &event)) > 0)
        put(records, event);
    *left_out += pftrace_left_out(records->reader) + records->late - before;
    if (more == 0 && (records->failed || records->texts.failed || sink->failure))
        return error_no_memory("the trace's events");
    return more;
}
