/*
 * Each event's fields are those that reading its JSON would give. An event with an argument of a form that only JSON
 * has is handed on as JSON.
 */
#include "cli/event_records.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "cli/event_args.h"
#include "trace/trace_event.h"

struct state {
    struct interner texts; /* as they came */
    struct event_record_end end;
};

/* The report's. */
static enum event_category categories[CATEGORY_COUNT];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    event_args_init();
    for (size_t i = 0; i < CATEGORY_COUNT; i++)
        categories[i] = event_category_find(slice_categories[i], strlen(slice_categories[i]));
}

static void no_memory(struct writer *writer)
{
    writer->sink->failure = writer->sink->failure ? writer->sink->failure : ENOMEM;
}

/* The writer's own state, made when it is first needed. NULL after a failure. */
static struct state *state_of(struct writer *writer)
{
    pthread_once(&made, make_tables);
    if (!writer->state && !(writer->state = calloc(1, sizeof(struct state))))
        no_memory(writer);
    return writer->state;
}

static void begin_piece(struct writer *writer)
{
    writer->state = NULL;
    state_of(writer);
    event_records_put_piece(writer->sink);
}

static void release(struct writer *writer)
{
    struct state *state = writer->state;
    if (state)
        interner_release(&state->texts);
    free(state);
    writer->state = NULL;
}

uint32_t event_records_text(struct writer *writer, const char *text, size_t length)
{
    struct state *state = writer->state;
    size_t before = state->texts.count;
    uint32_t number = intern(&state->texts, length ? text : "", length);
    if (number == INTERN_NO_MEMORY) {
        no_memory(writer);
        return EVENT_NO_TEXT;
    }
    if (state->texts.count > before)
        event_records_put_text(writer->sink, text, length);
    return number;
}

/* --- events --- */

static struct trace_event begin_event(struct writer *writer, char phase, const struct name *name, struct row row,
                                      uint64_t time)
{
    struct trace_event event = event_nothing;
    event.phase = phase;
    event.name = event_records_text(writer, name->text, name->length);
    event.process = event_id_number(row.pid);
    event.thread = event_id_number(row.tid);
    event.start = time > writer->base ? (int64_t)(time - writer->base) : 0;
    return event;
}

static void put_event(struct writer *writer, struct trace_event *event)
{
    struct state *state = writer->state;
    event_records_put_event(writer->sink, &state->end, event);
}

static enum event_category category_of(enum category category, const char *other)
{
    return other ? event_category_find(other, strlen(other)) : categories[category];
}

#define AS_JSON(writer, what, thing)                                                          \
    do {                                                                                      \
        struct sink text;                                                                     \
        sink_init_memory(&text);                                                              \
        struct writer json = {.format = &chrome_json, .sink = &text, .base = (writer)->base}; \
        chrome_json.what(&json, thing);                                                       \
        event_records_put_json(writer->sink, &text);                                          \
        sink_release(&text);                                                                  \
    } while (0)

static void write_slice(struct writer *writer, const struct slice *slice)
{
    writer->events++;
    if (!state_of(writer))
        return;
    if (event_args_need_json(slice->args)) {
        AS_JSON(writer, slice, slice);
        return;
    }
    struct trace_event event = begin_event(writer, 'X', &slice->name, slice->row, slice->start);
    event.category = (uint8_t)category_of(slice->category, slice->other_category);
    event.duration = (int64_t)(slice->end - slice->start);
    event_args_take(writer, slice->args, &event);
    put_event(writer, &event);
}

static void write_instant(struct writer *writer, const struct slice *instant)
{
    writer->events++;
    if (!state_of(writer))
        return;
    if (event_args_need_json(instant->args)) {
        AS_JSON(writer, instant, instant);
        return;
    }
    struct trace_event event = begin_event(writer, 'i', &instant->name, instant->row, instant->start);
    event.category = (uint8_t)category_of(instant->category, instant->other_category);
    event_args_take(writer, instant->args, &event);
    put_event(writer, &event);
}

static void write_async(struct writer *writer, const struct async_slice *slice)
{
    writer->events++;
    if (!state_of(writer))
        return;
    if (event_args_need_json(slice->args)) {
        AS_JSON(writer, async, slice);
        return;
    }
    struct trace_event begin = begin_event(writer, 'b', &slice->name, slice->begin, slice->start);
    begin.category = (uint8_t)category_of(slice->category, slice->other_category);
    begin.id = event_id_number((int64_t)slice->id);
    struct trace_event end = begin_event(writer, 'e', &slice->name, slice->end_row, slice->end);
    end.category = begin.category;
    end.id = begin.id;
    event_args_take(writer, slice->args, &begin);
    put_event(writer, &begin);
    put_event(writer, &end);
}

static void write_counter(struct writer *writer, const struct counter *counter)
{
    writer->events++;
    if (!state_of(writer))
        return;
    if (counter->value_count > 0) {
        AS_JSON(writer, counter, counter);
        return;
    }
    struct trace_event event =
        begin_event(writer, 'C', &counter->name, (struct row){.pid = counter->pid}, counter->time);
    if (!counter->real)
        event.bytes = event_args_number(counter->bytes, EVENT_NONE);
    put_event(writer, &event);
}

/* --- rows and metadata --- */

static void put_naming(struct writer *writer, struct row row, const char *what, const char *label)
{
    if (!state_of(writer))
        return;
    struct name name = name_plain(what);
    struct trace_event event = begin_event(writer, 'M', &name, row, 0);
    event.label = event_records_text(writer, label, strlen(label));
    put_event(writer, &event);
}

static void write_process(struct writer *writer, const struct row_name *process)
{
    put_naming(writer, process->row, "process_name", process->name);
    if (process->label)
        put_naming(writer, process->row, "process_labels", process->label);
}

static void write_thread(struct writer *writer, const struct row_name *thread)
{
    put_naming(writer, thread->row, "thread_name", thread->name);
}

static void write_metadata(struct writer *writer, const char *key, const char *value, size_t size)
{
    event_records_put_metadata(writer->sink, key, value, size);
}

static void write_begin(struct writer *writer, uint64_t base)
{
    writer->base = base;
}

/* Arrows tell a report nothing that the events at their ends do not. */
static void write_arrow(struct writer *writer, const struct arrow *arrow)
{
    (void)writer, (void)arrow;
}

static void finish(struct writer *writer)
{
    (void)writer;
}

const struct writer_format event_records = {
    .name = "event_records",
    .piece_scale = 1,
    .metadata = write_metadata,
    .begin = write_begin,
    .process = write_process,
    .thread = write_thread,
    .piece = begin_piece,
    .slice = write_slice,
    .instant = write_instant,
    .async = write_async,
    .counter = write_counter,
    .arrow_start = write_arrow,
    .arrow_end = write_arrow,
    .finish = finish,
    .release = release,
};
