/*
 * What a name means for the analysis is looked up once (struct meaning), and so is what the launches of a kernel have
 * in common (struct pattern). The fields of an event are those that a reader of its JSON would find; where JSON alone
 * says what an argument means, the event is written as JSON and parsed.
 */
#include "trace/pftrace/pftrace_records.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/log.h"
#include "common/map.h"
#include "trace/event_records.h"
#include "trace/pftrace/interned.h"
#include "trace/pftrace/packets.h"
#include "trace/pftrace/replay.h"
#include "trace/pftrace/reader.h"
#include "trace/trace_event.h"

/* --- texts, numbers of the reader's interner --- */

/* Of a text where it is the name of a category or of an argument. */
struct meaning {
    uint32_t number; /* of the text in the records + 1; 0: none yet */
    bool known;      /* the rest is */
    bool is_from;
    enum event_category category;
    const struct event_field *field; /* NULL: nobody wants it */
};

struct texts {
    struct interner strings; /* the reader's */
    struct buffer *buffer;   /* where records go */
    ARRAY(struct meaning) meanings;
    uint32_t count;    /* in the records */
    uint32_t nameless; /* "" in the interner */
    bool failed;       /* no memory: then any number may be given */
    struct meaning nothing;
};

static void texts_release(struct texts *texts)
{
    interner_release(&texts->strings);
    array_release(&texts->meanings);
}

static void texts_forget(struct texts *texts)
{
    interner_release(&texts->strings);
    texts->meanings.count = 0;
    texts->count = 0;
    texts->nameless = intern(&texts->strings, "", 0);
}

static struct meaning *meaning_of(struct texts *texts, uint32_t number)
{
    while (number < texts->strings.count && texts->meanings.count <= number) {
        struct meaning *meaning = array_push(&texts->meanings);
        if (!meaning)
            break;
        *meaning = (struct meaning){0};
    }
    if (number < texts->meanings.count)
        return &texts->meanings.items[number];
    texts->failed = true;
    texts->nothing = (struct meaning){.known = true, .number = 1};
    return &texts->nothing;
}

static const struct meaning *texts_meaning(struct texts *texts, uint32_t number)
{
    number = number == PFTRACE_UNKNOWN ? texts->nameless : number;
    struct meaning *meaning = meaning_of(texts, number);
    if (meaning->known)
        return meaning;
    const struct interned *text = interner_at(&texts->strings, number);
    meaning->known = true;
    meaning->is_from = strcmp(text->text, "from") == 0;
    meaning->category = event_category_find(text->text, text->length);
    meaning->field = event_field_find(text->text, text->length);
    return meaning;
}

static uint32_t texts_number(struct texts *texts, uint32_t number)
{
    number = number == PFTRACE_UNKNOWN ? texts->nameless : number;
    struct meaning *meaning = meaning_of(texts, number);
    if (meaning->number == 0) {
        const struct interned *text = interner_at(&texts->strings, number);
        event_records_put_text(texts->buffer, text->text, text->length);
        meaning->number = ++texts->count;
    }
    return meaning->number - 1;
}

static uint32_t texts_passing(struct texts *texts, const char *text, size_t length)
{
    uint32_t number = intern(&texts->strings, length ? text : "", length);
    texts->failed |= number == INTERN_NO_MEMORY;
    return texts_number(texts, number);
}

/* --- */

/* An event with the arguments of a kernel. */
struct pattern {
    uint32_t kernel; /* 0: none */
    bool needs_json;
    struct trace_event event;
};

#define PATTERNS 512 /* kernel N's is in N % PATTERNS */

struct pftrace_records {
    struct texts texts;
    struct pftrace_reader *reader;
    struct event_record_end end; /* of the piece at hand */
    bool begun;                  /* events have come: there is no more metadata */
    bool failed;                 /* no memory */
    uint64_t late;               /* metadata after events */
    struct interner parsed;      /* texts of the event that is parsed from JSON */
    struct parser parser;        /* puts texts there */
    struct pattern patterns[PATTERNS];
};

struct pftrace_records *pftrace_records_new(void)
{
    struct pftrace_records *records = calloc(1, sizeof(*records));
    event_fields_init();
    if (records)
        records->reader = pftrace_reader_new(&records->texts.strings);
    if (records && records->reader) {
        parser_init(&records->parser, &records->parsed);
        return records;
    }
    free(records);
    error_no_memory("reading");
    return NULL;
}

void pftrace_records_free(struct pftrace_records *records)
{
    if (!records)
        return;
    pftrace_close(records->reader);
    texts_release(&records->texts);
    parser_release(&records->parser);
    interner_release(&records->parsed);
    free(records);
}

static void begin_piece(struct pftrace_records *records, struct buffer *buffer)
{
    texts_forget(&records->texts);
    pftrace_forget(records->reader);
    memset(records->patterns, 0, sizeof(records->patterns));
    event_records_put_piece(buffer);
}

/* --- arguments --- */

static bool take_number(const struct pftrace_arg *arg, int64_t *number)
{
    switch (arg->kind) {
    case PFTRACE_ARG_U64: *number = event_unsigned(arg->u64, *number); return true;
    case PFTRACE_ARG_I64: *number = event_signed(arg->i64, *number); return true;
    case PFTRACE_ARG_BOOL: *number = arg->u64 != 0; return true;
    case PFTRACE_ARG_HEX: *number = arg->u64 > INT64_MAX ? INT64_MAX : (int64_t)arg->u64; return true;
    case PFTRACE_ARG_TEXT: *number = event_number_of_text(arg->text, arg->length, *number); return true;
    case PFTRACE_ARG_SIZE3: return true;
    case PFTRACE_ARG_REAL:
    case PFTRACE_ARG_JSON: break;
    }
    return false;
}

static bool take_text(struct pftrace_records *records, const struct pftrace_arg *arg, uint32_t *text)
{
    if (arg->kind == PFTRACE_ARG_TEXT)
        *text = texts_passing(&records->texts, arg->text, arg->length);
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
        const struct meaning *meaning = texts_meaning(&records->texts, arg->name_number);
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

static void put_parsed(void *context, struct trace_event *event)
{
    struct pftrace_records *records = context;
    ARRAY(uint32_t) numbers = {0};
    for (uint32_t i = 0; i < records->parsed.count; i++) {
        const struct interned *text = interner_at(&records->parsed, i);
        uint32_t *number = array_push(&numbers);
        records->failed |= !number;
        if (number)
            *number = texts_passing(&records->texts, text->text, text->length);
    }
    if (!records->failed) {
        event_translate(event, numbers.items);
        event_records_put_event(records->texts.buffer, &records->end, event);
    }
    array_release(&numbers);
}

static void put_by_json(struct pftrace_records *records, const struct pftrace_event *event)
{
    struct buffer text;
    struct pftrace_replay replay;
    buffer_init_memory(&text);
    struct writer writer = {.format = &chrome_json, .buffer = &text};
    pftrace_replay_init(&replay, &writer);
    pftrace_replay_event(&replay, event);
    records->failed |= replay.members.failure || replay.category.failure ||
                       event_records_parse(&records->parser, &text, put_parsed, records) < 0;
    interner_release(&records->parsed);
    pftrace_replay_release(&replay);
    buffer_release(&text);
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
        event->category = (uint8_t)texts_meaning(&records->texts, from->category_number)->category;
    event->name = texts_number(&records->texts, from->name_number);
    event->process = event_id_number(from->pid);
    event->thread = event_id_number(from->tid);
    event->start = (int64_t)from->start;
    if (from->has_correlation)
        event->correlation = event_unsigned(from->correlation, EVENT_NONE);
    return true;
}

static void put_slice(struct pftrace_records *records, const struct pftrace_event *from)
{
    struct trace_event event;
    bool instant = from->what == PFTRACE_INSTANT;
    if (!begin_event(records, from, instant ? 'i' : 'X', &event) ||
        !take_args(records, from->args, from->arg_count, &event)) {
        put_by_json(records, from);
        return;
    }
    if (!instant)
        event.duration = (int64_t)(from->end - from->start);
    event_records_put_event(records->texts.buffer, &records->end, &event);
}

static void put_async(struct pftrace_records *records, const struct pftrace_event *from)
{
    struct trace_event event, end = event_nothing;
    if (!begin_event(records, from, 'b', &event) || !take_args(records, from->args, from->arg_count, &event)) {
        put_by_json(records, from);
        return;
    }
    event.id = end.id = event_id_number((int64_t)from->id);
    end.phase = 'e';
    end.category = event.category;
    end.name = event.name;
    end.process = event_id_number(from->end_pid);
    end.thread = event_id_number(from->end_tid);
    end.start = (int64_t)from->end;
    event_records_put_event(records->texts.buffer, &records->end, &event);
    event_records_put_event(records->texts.buffer, &records->end, &end);
}

static void put_counter(struct pftrace_records *records, const struct pftrace_event *from)
{
    struct trace_event event;
    if (!from->one_value || from->arg_count == 0 || !begin_event(records, from, 'C', &event)) {
        put_by_json(records, from);
        return;
    }
    if (from->args[0].kind != PFTRACE_ARG_REAL)
        event.bytes = event_unsigned(from->args[0].u64, EVENT_NONE);
    event_records_put_event(records->texts.buffer, &records->end, &event);
}

static void put_naming(struct pftrace_records *records, const struct pftrace_event *from, const char *what,
                       uint32_t label)
{
    struct trace_event event = event_nothing;
    event.phase = 'M';
    event.name = texts_passing(&records->texts, what, strlen(what));
    event.process = event_id_number(from->pid);
    event.thread = event_id_number(from->what == PFTRACE_PROCESS ? from->pid : from->tid);
    event.start = 0;
    event.label = label;
    event_records_put_event(records->texts.buffer, &records->end, &event);
}

static void put_row(struct pftrace_records *records, const struct pftrace_event *from)
{
    bool process = from->what == PFTRACE_PROCESS;
    put_naming(records, from, process ? "process_name" : "thread_name",
               texts_number(&records->texts, from->name_number));
    if (process && from->text)
        put_naming(records, from, "process_labels", texts_passing(&records->texts, from->text, from->length));
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
            event_records_put_metadata(records->texts.buffer, event->name, event->text, event->length);
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

int pftrace_records_take(struct pftrace_records *records, struct packets_run *run, struct buffer *buffer,
                         uint64_t *left_out)
{
    const struct pftrace_event *event;
    uint64_t before = pftrace_left_out(records->reader) + records->late;
    int more;
    records->texts.buffer = buffer;
    records->end = (struct event_record_end){0};
    if (run->begins) {
        begin_piece(records, buffer);
        records->begun = !run->first;
    }
    pftrace_take(records->reader, run);
    while ((more = pftrace_next(records->reader, &event)) > 0)
        put(records, event);
    *left_out += pftrace_left_out(records->reader) + records->late - before;
    if (more == 0 && (records->failed || records->texts.failed || buffer->failure))
        return error_no_memory("the trace's events");
    return more;
}
