/*
 * The sink of a database: makes rows of events. Threads that write pieces do so at once; sqlite/database.h adds the
 * rows.
 */
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "trace/json/text.h"
#include "trace/sink.h"
#include "trace/sqlite/row.h"

static void begin_piece(struct sink *sink)
{
    sink->state = NULL;
    sqlite_row_of(sink);
}

static int64_t time_of(const struct sink *sink, uint64_t time)
{
    uint64_t since = time > sink->base ? time - sink->base : 0;
    return since < INT64_MAX ? (int64_t)since : INT64_MAX;
}

/* What all events have. */
static void set_event(struct sink *sink, const struct name *name, struct row row, uint64_t start)
{
    struct sqlite_row *state = sink->state;
    sqlite_row_set_name(sink, sqlite_row_column(state, SQLITE_ROLE_NAME), name);
    sqlite_row_set_integer(state, sqlite_row_column(state, SQLITE_ROLE_START), time_of(sink, start));
    sqlite_row_set_integer(state, sqlite_row_column(state, SQLITE_ROLE_PID), row.pid);
    sqlite_row_set_integer(state, sqlite_row_column(state, SQLITE_ROLE_TID), row.tid);
}

static void set_word(struct sink *sink, enum sqlite_role which, const char *word)
{
    const struct sqlite_row *state = sink->state;
    if (sqlite_row_column(state, which) != SQLITE_NO_COLUMN)
        sqlite_row_set_text(sink, sqlite_row_column(state, which), word, strlen(word));
}

/* OTHER: the name of CATEGORY_OTHER in JSON's escapes. */
static void set_category(struct sink *sink, enum category category, const char *other)
{
    struct sqlite_row *state = sink->state;
    if (!other) {
        set_word(sink, SQLITE_ROLE_CATEGORY, category_words[category].text);
        return;
    }
    state->scratch.length = 0;
    json_unescape(&state->scratch, (struct json_text){other, strlen(other)});
    if (sqlite_row_column(state, SQLITE_ROLE_CATEGORY) != SQLITE_NO_COLUMN)
        sqlite_row_set_text(sink, sqlite_row_column(state, SQLITE_ROLE_CATEGORY), state->scratch.data,
                            state->scratch.length);
}

/* --- which table --- */

static enum sqlite_table_number table_of_slice(enum category category)
{
    switch (category) {
    case CATEGORY_KERNEL: return SQLITE_KERNELS;
    case CATEGORY_GPU_MEMCPY: return SQLITE_MEMCPY;
    case CATEGORY_GPU_MEMSET: return SQLITE_MEMSET;
    case CATEGORY_GPU_GRAPH: return SQLITE_GRAPH_LAUNCHES;
    case CATEGORY_CUDA_RUNTIME:
    case CATEGORY_CUDA_DRIVER: return SQLITE_API_CALLS;
    case CATEGORY_USER_ANNOTATION: return SQLITE_RANGES;
    case CATEGORY_GPU_USER_ANNOTATION: return SQLITE_GPU_RANGES;
    case CATEGORY_CUDA_SYNC: return SQLITE_SYNCHRONISATION;
    case CATEGORY_CPU_OP:
    case CATEGORY_PYTHON_FUNCTION: return SQLITE_OPERATORS;
    case CATEGORY_THREAD_STATE: return SQLITE_THREAD_STATES;
    default: return SQLITE_OTHER_EVENTS;
    }
}

static enum sqlite_table_number table_of_instant(const struct slice *instant)
{
    static const char pytorch[] = "[memory]";
    bool is_memory =
        instant->name.length == sizeof(pytorch) - 1 && memcmp(instant->name.text, pytorch, sizeof(pytorch) - 1) == 0;
    switch (instant->category) {
    case CATEGORY_MEMORY: return SQLITE_MEMORY_EVENTS;
    case CATEGORY_CPU_INSTANT_EVENT: return is_memory ? SQLITE_MEMORY_EVENTS : SQLITE_OTHER_EVENTS;
    case CATEGORY_USER_ANNOTATION: return SQLITE_MARKS;
    case CATEGORY_CPU_SAMPLE: return SQLITE_CPU_SAMPLES;
    default: return SQLITE_OTHER_EVENTS;
    }
}

/* --- events --- */

static void write_one(struct sink *sink, const struct slice *slice, enum sqlite_table_number table, const char *kind,
                      uint64_t end)
{
    struct sqlite_row *state = sqlite_row_of(sink);
    sink->events++;
    if (!state)
        return;
    sqlite_row_begin(state, table, slice->row);
    set_event(sink, &slice->name, slice->row, slice->start);
    sqlite_row_set_integer(state, sqlite_row_column(state, SQLITE_ROLE_END), time_of(sink, end));
    set_word(sink, SQLITE_ROLE_KIND, kind);
    set_category(sink, slice->category, slice->other_category);
    if (slice->args)
        sqlite_row_take_args(sink, slice->args->items, slice->args->count);
    sqlite_row_end(sink);
}

static void write_slice(struct sink *sink, const struct slice *slice)
{
    enum sqlite_table_number table = table_of_slice(slice->category);
    const char *kind = table == SQLITE_RANGES ? "nested" : "slice";
    if (table == SQLITE_API_CALLS)
        kind = slice->category == CATEGORY_CUDA_RUNTIME ? "runtime" : "driver";
    write_one(sink, slice, table, kind, slice->end);
}

static void write_instant(struct sink *sink, const struct slice *instant)
{
    write_one(sink, instant, table_of_instant(instant), "instant", instant->start);
}

static void write_async(struct sink *sink, const struct async_slice *slice)
{
    struct sqlite_row *state = sqlite_row_of(sink);
    bool range = slice->category == CATEGORY_USER_ANNOTATION;
    sink->events++;
    if (!state)
        return;
    sqlite_row_begin(state, range ? SQLITE_RANGES : SQLITE_OTHER_EVENTS, slice->begin);
    set_event(sink, &slice->name, slice->begin, slice->start);
    sqlite_row_set_integer(state, sqlite_row_column(state, SQLITE_ROLE_END), time_of(sink, slice->end));
    sqlite_row_set_integer(state, sqlite_row_column(state, SQLITE_ROLE_END_TID), slice->end_row.tid);
    set_word(sink, SQLITE_ROLE_KIND, range ? "started" : "range");
    set_category(sink, slice->category, slice->other_category);
    if (slice->args)
        sqlite_row_take_args(sink, slice->args->items, slice->args->count);
    sqlite_row_end(sink);
}

static void set_counter_value(struct sqlite_row *state, const struct counter_value *value)
{
    uint8_t column = sqlite_row_column(state, SQLITE_ROLE_VALUE);
    if (value->kind == COUNTER_REAL)
        sqlite_row_set_real(state, column, value->real);
    else if (value->kind == COUNTER_UNSIGNED && value->u64 > INT64_MAX)
        sqlite_row_set_real(state, column, (double)value->u64);
    else
        sqlite_row_set_integer(state, column, value->i64);
}

static void write_counter(struct sink *sink, const struct counter *counter)
{
    struct sqlite_row *state = sqlite_row_of(sink);
    struct counter_value one = {.kind = counter->real ? COUNTER_REAL : COUNTER_UNSIGNED, .u64 = counter->bytes};
    size_t count = counter->value_count ? counter->value_count : 1;
    sink->events++;
    if (counter->real)
        one.real = counter->value;
    for (size_t i = 0; state && i < count; i++) {
        const struct counter_value *value = counter->value_count ? &counter->values[i] : &one;
        sqlite_row_begin(state, SQLITE_COUNTERS, (struct row){.pid = counter->pid});
        set_event(sink, &counter->name, state->row, counter->time);
        if (value->name)
            sqlite_row_set_text(sink, sqlite_row_column(state, SQLITE_ROLE_SERIES), value->name, value->length);
        else
            set_word(sink, SQLITE_ROLE_SERIES, counter->real ? "value" : "bytes");
        set_counter_value(state, value);
        sqlite_row_end(sink);
    }
}

/* --- rows of the trace, and metadata --- */

static void write_naming(struct sink *sink, uint32_t table, struct row row, const char *name, const char *label)
{
    struct row_value values[2] = {{.column = 0, .type = ROW_NAME}, {.column = 1, .type = ROW_NAME}};
    struct sqlite_row *state = sqlite_row_of(sink);
    if (!state)
        return;
    values[0].integer = record_texts_put(&state->texts, sink, name, strlen(name));
    if (label)
        values[1].integer = record_texts_put(&state->texts, sink, label, strlen(label));
    sqlite_row_put(sink, table, row, label ? 3 : 1, values);
}

static void write_process(struct sink *sink, const struct row_name *process)
{
    write_naming(sink, process->owner ? ROW_GPU : ROW_PROCESS, process->row, process->name, process->label);
}

static void write_thread(struct sink *sink, const struct row_name *thread)
{
    write_naming(sink, ROW_THREAD, thread->row, thread->name, NULL);
}

const struct sink_format sqlite_rows = {
    .name = "sqlite",
    .piece_scale = 1,
    .metadata = fields_put_metadata,
    .begin = sink_set_base,
    .process = write_process,
    .thread = write_thread,
    .piece = begin_piece,
    .slice = write_slice,
    .instant = write_instant,
    .async = write_async,
    .counter = write_counter,
    .flow = sink_pass_flow, /* a GPU operation has the correlation id of its call */
    .finish = sink_pass_end,
    .release = sqlite_row_release,
};
