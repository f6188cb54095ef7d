/*
 * NVTX's counters: an event for each sample, in the order of their times, and descriptions for the metadata.
 */
#include "trace/meaning/nvtx/nvtx_counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/json_out.h"
#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/nvtx/nvtx_clocks.h"
#include "trace/meaning/nvtx/nvtx_data.h"
#include "trace/meaning/nvtx/nvtx_names.h"
#include "trace/meaning/nvtx/nvtx_describe.h"
#include "trace/meaning/nvtx/payload_view.h"

int nvtx_counters_index(struct nvtx_counters *counters, const struct event *event)
{
    struct nvtx_counter counter = {.record = event->record};
    payload_split_text(event->text, event->text_length, counter.record->name_length, &counter.name,
                       &counter.description);
    return ADD(array_push, &counters->items, counter) ? 0 : error_no_memory("counters");
}

ORDER_BY(by_number, struct nvtx_counter, record->number)

int nvtx_counters_close(struct nvtx_counters *counters)
{
    if (counters->items.count > 1)
        qsort(counters->items.items, counters->items.count, sizeof(*counters->items.items), by_number);
    for (size_t i = 0; i < counters->semantics.count; i++) {
        uint32_t number = counters->semantics.items[i]->of;
        size_t at = COUNT_BEFORE(counters->items.count, k, counters->items.items[k].record->number < number);
        if (at < counters->items.count && counters->items.items[at].record->number == number)
            counters->items.items[at].semantics = counters->semantics.items[i];
    }
    for (size_t i = 0; i < counters->items.count; i++) {
        const struct spool_nvtx_counter *record = counters->items.items[i].record;
        if (!map_set(&counters->by_id, payload_key(record->domain, record->id), i + 1))
            return error_no_memory("counters");
    }
    return 0;
}

static struct nvtx_counter *find_counter(const struct nvtx_counters *counters, uint32_t domain, uint64_t id)
{
    struct nvtx_counter *found = FIND_ITEM(&counters->items, &counters->by_id, payload_key(domain, id));
    return found && found->record->id == id && found->record->domain == domain ? found : NULL;
}

/* --- resolve pass: times of samples --- */

/* Converts the time that a sample itself contains. Returns false if it has none. */
static bool time_inside(const struct process *process, const struct nvtx_counter *counter, const uint8_t *bytes,
                        uint64_t size, uint64_t clock, uint64_t *time)
{
    uint32_t domain = counter->record->domain;
    const struct payload_described *schema =
        payload_schemas_find(&process->nvtx->schemas, domain, counter->record->schema);
    struct payload_view view;
    struct payload_cursor cursor;
    struct payload_field field;
    struct payload_number number;
    if (!schema)
        return false;
    payload_view_open(&view, process->nvtx, domain, 0);
    payload_begin(&cursor, &view.reader, &schema->layout, bytes, size, 0);
    while (payload_next(&cursor, &field)) {
        const struct spool_nvtx_semantics *semantics = schema->words[field.index].semantics;
        if (!(field.entry->flags & PAYLOAD_FLAG_TIMESTAMP) || field.pointer || field.nested ||
            field.form != PAYLOAD_ONE || !payload_number(&number, field.entry->type, bytes + field.at))
            continue;
        if (semantics && semantics->meanings & SPOOL_NVTX_TIME_MEANT)
            clock = semantics->time_domain;
        return nvtx_clocks_convert(&process->nvtx->clocks, domain, clock, number.i64, time);
    }
    return false;
}

static int add_sample(struct process *process, const struct spool_nvtx_sample *record, uint32_t index, uint64_t time)
{
    if (!capture_intervals_hold(process->capture_intervals, time))
        return 0;
    widen_process_time(process, time, time);
    struct nvtx_counters *counters = &process->nvtx->counters;
    struct nvtx_sample sample = {
        .record = record, .time = time, .index = index, .order = (uint32_t)counters->samples.count};
    return ADD(file_vector_push, &counters->samples, sample) ? 0 : error_no_memory("counters");
}

/* Sets *TIME to the time of sample INDEX of a batch. Returns false if it cannot be converted. */
static bool batch_time(const struct process *process, const struct nvtx_counter *counter,
                       const struct spool_nvtx_sample *record, uint32_t index, uint64_t *time)
{
    const char *text = record->text;
    bool said = counter->semantics && counter->semantics->meanings & SPOOL_NVTX_TIME_MEANT;
    uint64_t clock =
        said ? counter->semantics->time_domain
             : nvtx_clocks_of_scope(&process->nvtx->clocks, counter->record->domain, counter->record->scope);
    uint64_t times = (uint64_t)record->count * sizeof(int64_t);
    int64_t ticks;
    if (record->head.flags == SPOOL_NVTX_SAMPLE_EVERY) {
        ticks = (int64_t)((uint64_t)record->first + (uint64_t)record->interval * index);
    } else if (index < record->count) {
        memcpy(&ticks, text + index * sizeof(ticks), sizeof(ticks));
    } else {
        return time_inside(process, counter, (const uint8_t *)text + times + index * record->stride, record->stride,
                           clock, time);
    }
    return nvtx_clocks_convert(&process->nvtx->clocks, record->domain, clock, ticks, time);
}

static int resolve_batch(struct process *process, const struct nvtx_counter *counter,
                         const struct spool_nvtx_sample *record)
{
    uint64_t times = (uint64_t)record->count * sizeof(int64_t);
    uint64_t count = record->stride && times <= record->length ? (record->length - times) / record->stride : 0;
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        uint64_t time;
        if (batch_time(process, counter, record, i, &time) && process_knows_time(process, time))
            result = add_sample(process, record, i, time);
        else
            process->losses.unplaced++;
    }
    return result;
}

ORDER_BY(by_time, struct nvtx_sample, time, order)

int resolve_counters(struct process *process)
{
    struct nvtx_counters *counters = &process->nvtx->counters;
    int result = 0;
    for (size_t i = 0; i < counters->samplings.count && result == 0; i++) {
        const struct spool_nvtx_sample *record = counters->samplings.items[i];
        const struct nvtx_counter *counter = find_counter(counters, record->domain, record->counter);
        bool batch = record->head.flags == SPOOL_NVTX_SAMPLE_BATCH || record->head.flags == SPOOL_NVTX_SAMPLE_EVERY;
        if (!counter)
            process->losses.undecoded++;
        else if (batch)
            result = resolve_batch(process, counter, record);
        else
            result = add_sample(process, record, 0, record->head.time);
        process_passed(process, i);
    }
    if (result == 0 && file_vector_sort(&counters->samples, by_time) != 0)
        result = error_no_memory("counters");
    return result;
}

/* --- the values of a sample --- */

enum {
    SERIES_NORMALIZE = 1 << 1,
    SERIES_LIMIT_MIN = 1 << 2,
    SERIES_LIMIT_MAX = 1 << 3,
    SERIES_VALUE_TYPE = 3 << 4,
    SERIES_DELTA = 2 << 4,
    SERIES_INTERPOLATION = 7 << 8,
};

static void read_zeros(struct payload_series *series, const struct nvtx *nvtx, const struct spool_nvtx_counter *counter)
{
    static const uint8_t zeros[4096];
    const struct payload_described *schema = payload_schemas_find(&nvtx->schemas, counter->domain, counter->schema);
    uint64_t size = schema ? schema->layout.size : sizeof(uint64_t[2]);
    payload_series_read(series, nvtx, counter->domain, counter->schema, zeros,
                        size < sizeof(zeros) ? size : sizeof(zeros));
}

/* Returns the semantics of a value: its entry's, or else its counter's, or NULL. */
static const struct spool_nvtx_semantics *semantics_of(const struct nvtx_counter *counter,
                                                       const struct payload_series_value *value)
{
    const struct spool_nvtx_semantics *all = counter->semantics;
    return value->semantics ? value->semantics : all && all->meanings & SPOOL_NVTX_COUNTER_MEANT ? all : NULL;
}

/* Divides a fixed-point number by the largest value of its type. */
static double normalized(const struct payload_series_value *value, double number)
{
    uint32_t bits = payload_bytes_of(value->type) * 8;
    if (value->number.kind == PAYLOAD_NUMBER_REAL || bits == 0)
        return number;
    return number / (ldexp(1, (int)bits - (value->number.kind == PAYLOAD_NUMBER_SIGNED)) - 1);
}

static bool read_value(const struct payload_series_value *value, const struct spool_nvtx_semantics *semantics,
                       double *total, struct counter_value *out)
{
    bool scaled = semantics && semantics->numerator != 0 && semantics->denominator != 0 &&
                  semantics->numerator != semantics->denominator;
    bool normalize = semantics && semantics->flags & SERIES_NORMALIZE;
    bool delta = semantics && (semantics->flags & SERIES_VALUE_TYPE) == SERIES_DELTA;
    double number = payload_number_real(&value->number);
    *out = (struct counter_value){.name = value->name, .length = value->length};
    if (!scaled && !normalize && !delta && value->number.kind != PAYLOAD_NUMBER_REAL) {
        out->kind = value->number.kind == PAYLOAD_NUMBER_SIGNED ? COUNTER_SIGNED : COUNTER_UNSIGNED;
        out->u64 = value->number.u64;
        return true;
    }
    if (normalize)
        number = normalized(value, number);
    if (scaled)
        number = number * (double)semantics->numerator / (double)semantics->denominator;
    if (delta && isfinite(number))
        number = *total += number;
    out->kind = COUNTER_REAL;
    out->real = number;
    return isfinite(number);
}

/* Reasons for a sample without a value. */
enum { NO_VALUE_ZERO = 0, NO_VALUE_UNCHANGED = 1 };

static void read_sample(struct payload_series *series, const struct nvtx *nvtx,
                        const struct spool_nvtx_counter *counter, const struct spool_nvtx_sample *record,
                        uint32_t index)
{
    const uint8_t *bytes = (const uint8_t *)record->text;
    struct payload_number number = {.kind = PAYLOAD_NUMBER_SIGNED, .u64 = record->bits};
    switch (record->head.flags) {
    case SPOOL_NVTX_SAMPLE_INTEGER: payload_series_add(series, "value", PAYLOAD_TYPE_INT64, NULL, number); break;
    case SPOOL_NVTX_SAMPLE_REAL:
        number.kind = PAYLOAD_NUMBER_REAL;
        payload_series_add(series, "value", PAYLOAD_TYPE_DOUBLE, NULL, number);
        break;
    case SPOOL_NVTX_SAMPLE_NONE: read_zeros(series, nvtx, counter); break;
    case SPOOL_NVTX_SAMPLE_BYTES:
        payload_series_read(series, nvtx, counter->domain, counter->schema, bytes, record->length);
        break;
    case SPOOL_NVTX_SAMPLE_BATCH:
    case SPOOL_NVTX_SAMPLE_EVERY:
        bytes += record->count * sizeof(int64_t) + index * record->stride;
        payload_series_read(series, nvtx, counter->domain, counter->schema, bytes, record->stride);
        break;
    default: break;
    }
}

static bool is_none(const struct spool_nvtx_sample *record, uint64_t reason)
{
    return record->head.flags == SPOOL_NVTX_SAMPLE_NONE && record->bits == reason;
}

/* Writes "domain: name (scope)", because counters of different domains and scopes differ. The caller releases NAME. */
static void counter_name(struct buffer *name, const struct process *process, const struct nvtx_counter *counter)
{
    struct nvtx_text domain = nvtx_domain_name(process->nvtx, counter->record->domain);
    buffer_init_memory(name);
    if (domain.text)
        buffer_format(name, "%.*s: ", (int)domain.length, domain.text);
    if (counter->name.text)
        buffer_bytes(name, counter->name.text, counter->name.length);
    else
        buffer_format(name, "counter %llu", (unsigned long long)counter->record->id);
    if (counter->record->scope == NVTX_SCOPES_NONE)
        return;
    buffer_text(name, " (");
    nvtx_scopes_put(&process->nvtx->scopes, name, counter->record->domain, counter->record->scope);
    buffer_char(name, ')');
}

static void write_sample(struct piece_writer *out, const struct process *process, struct nvtx_counter *counter,
                         const struct nvtx_sample *sample)
{
    struct counter_value values[PAYLOAD_SERIES_MAX];
    struct payload_series series;
    struct buffer name;
    struct counter written = {.pid = process->pid, .time = sample->time, .values = values};
    /* KNOWN: the sample has values. UNCHANGED: the last values still hold. If neither, there are no values. */
    bool unchanged = is_none(sample->record, NO_VALUE_UNCHANGED);
    bool known = sample->record->head.flags != SPOOL_NVTX_SAMPLE_NONE || is_none(sample->record, NO_VALUE_ZERO);
    series.count = 0;
    if (known) {
        counter->last = sample->record;
        counter->last_index = sample->index;
    }
    if (known || (unchanged && counter->last))
        read_sample(&series, process->nvtx, counter->record, counter->last, counter->last_index);
    for (size_t i = 0; unchanged && i < series.count; i++) { /* unchanged: the difference is 0 */
        const struct spool_nvtx_semantics *semantics = semantics_of(counter, &series.values[i]);
        if (semantics && (semantics->flags & SERIES_VALUE_TYPE) == SERIES_DELTA)
            series.values[i].number = (struct payload_number){.kind = PAYLOAD_NUMBER_REAL, .real = 0};
    }
    for (size_t i = 0; i < series.count; i++)
        written.value_count += read_value(&series.values[i], semantics_of(counter, &series.values[i]),
                                          &counter->total[i], &values[written.value_count]);
    if (written.value_count == 0)
        return;
    counter_name(&name, process, counter);
    written.name = name_passing(name.data, name.length);
    out->sink.format->counter(&out->sink, &written);
    buffer_release(&name);
}

int write_nvtx_counters(struct piece_writer *out, struct process *process)
{
    struct nvtx_counters *counters = &process->nvtx->counters;
    for (size_t i = 0; i < counters->samples.count; i++) {
        const struct nvtx_sample *sample = &counters->samples.items[i];
        struct nvtx_counter *counter = find_counter(counters, sample->record->domain, sample->record->counter);
        if (counter)
            write_sample(out, process, counter, sample);
        piece_writer_passed(out, process);
    }
    return 0;
}

static void put_semantics(struct json_out *json, const struct spool_nvtx_semantics *semantics)
{
    static const char *const types[] = {NULL, "absolute", "delta", "delta since start"};
    static const char *const interpolations[] = {NULL, "point", "since last", "until next", "linear", NULL, NULL, NULL};
    const char *type = types[(semantics->flags & SERIES_VALUE_TYPE) >> 4], *unit = semantics->text;
    const char *interpolation = interpolations[(semantics->flags & SERIES_INTERPOLATION) >> 8];
    bool limits = semantics->limit_type >= 1 && semantics->limit_type <= 3; /* signed, unsigned, real */
    struct payload_number least = {.kind = semantics->limit_type - 1, .u64 = semantics->least}, most = least;
    most.u64 = semantics->most;
    if (semantics->length > 0)
        json_put_text_n(json, "unit", unit, semantics->length);
    if (limits && semantics->flags & SERIES_LIMIT_MIN) {
        json_key(json, "min");
        payload_put_number(json, &least);
    }
    if (limits && semantics->flags & SERIES_LIMIT_MAX) {
        json_key(json, "max");
        payload_put_number(json, &most);
    }
    if (type)
        json_put_text(json, "value_type", type);
    if (interpolation)
        json_put_text(json, "interpolation", interpolation);
    if (semantics->flags & SERIES_NORMALIZE) {
        json_key(json, "normalized");
        json_bool(json, true);
    }
}

static void put_counter(struct json_out *json, const struct conversion *conversion, const struct process *process,
                        size_t i)
{
    const struct nvtx_counter *counter = &process->nvtx->counters.items.items[i];
    struct buffer text;
    (void)conversion;
    counter_name(&text, process, counter);
    json_put_text_n(json, "name", text.data, text.length);
    buffer_release(&text);
    if (counter->description.text)
        json_put_text_n(json, "description", counter->description.text, counter->description.length);
    struct payload_series series;
    read_zeros(&series, process->nvtx, counter->record);
    json_key_array(json, "series");
    for (size_t k = 0; k < series.count; k++) {
        json_begin_object(json);
        json_put_text_n(json, "name", series.values[k].name, series.values[k].length);
        const struct spool_nvtx_semantics *semantics = semantics_of(counter, &series.values[k]);
        if (semantics)
            put_semantics(json, semantics);
        json_end(json);
    }
    json_end(json);
}

void put_nvtx_counters(const struct conversion *conversion, struct json_out *json)
{
    put_nvtx_items(conversion, json, "nvtx_counters", offsetof(struct nvtx, counters.items.count), put_counter);
}
