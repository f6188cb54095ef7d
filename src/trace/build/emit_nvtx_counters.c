/*
 * NVTX's counters: an event for each sample, and in the metadata what the counters are.
 */
#include <string.h>

#include "common/json_out.h"
#include "common/sink.h"
#include "trace/build/conversion.h"
#include "trace/build/emitter.h"
#include "trace/build/counter_series.h"
#include "trace/build/nvtx_extensions.h"

/* Why a sample has no value. */
enum { NO_VALUE_ZERO = 0, NO_VALUE_UNCHANGED = 1 };

/* "domain: name (scope)": those of different domains and scopes are different. To be released. */
static void counter_name(struct sink *name, const struct process *process, const struct nvtx_counter *counter)
{
    struct nvtx_text domain = nvtx_domain_name(&process->nvtx, counter->record->domain);
    sink_init_memory(name);
    if (domain.text)
        sink_format(name, "%.*s: ", (int)domain.length, domain.text);
    if (counter->name.text)
        sink_bytes(name, counter->name.text, counter->name.length);
    else
        sink_format(name, "counter %llu", (unsigned long long)counter->record->id);
    if (counter->record->scope == NVTX_SCOPES_NONE)
        return;
    sink_text(name, " (");
    nvtx_scopes_put(&process->extensions.scopes, name, counter->record->domain, counter->record->scope);
    sink_char(name, ')');
}

/* --- samples --- */

static void read_bytes(struct series *series, const struct process *process, const struct nvtx_counter *counter,
                       const struct spool_nvtx_sample *record, uint32_t index)
{
    const uint8_t *bytes = (const uint8_t *)record->text;
    bool batch = record->head.flags != SPOOL_NVTX_SAMPLE_BYTES;
    uint64_t at = batch ? (uint64_t)record->count * sizeof(int64_t) + index * record->stride : 0;
    series_read(series, process, counter, bytes + at, batch ? record->stride : record->length);
}

static void read_zeros(struct series *series, const struct process *process, const struct nvtx_counter *counter)
{
    static const uint8_t zeros[4096];
    const struct payload_described *schema =
        payload_schemas_find(&process->extensions.schemas, counter->record->domain, counter->record->schema);
    uint64_t size = schema ? schema->layout.size : sizeof(uint64_t[2]);
    series_read(series, process, counter, zeros, size < sizeof(zeros) ? size : sizeof(zeros));
}

static void read_sample(struct series *series, const struct process *process, const struct nvtx_counter *counter,
                        const struct spool_nvtx_sample *record, uint32_t index)
{
    struct payload_number number = {.kind = PAYLOAD_NUMBER_SIGNED, .i64 = (int64_t)record->bits};
    switch (record->head.flags) {
    case SPOOL_NVTX_SAMPLE_INTEGER: series_read_number(series, counter, number); break;
    case SPOOL_NVTX_SAMPLE_REAL:
        number.kind = PAYLOAD_NUMBER_REAL;
        memcpy(&number.real, &record->bits, sizeof(number.real));
        series_read_number(series, counter, number);
        break;
    case SPOOL_NVTX_SAMPLE_NONE: read_zeros(series, process, counter); break;
    case SPOOL_NVTX_SAMPLE_BYTES:
    case SPOOL_NVTX_SAMPLE_BATCH:
    case SPOOL_NVTX_SAMPLE_EVERY: read_bytes(series, process, counter, record, index); break;
    default: series->count = 0; break;
    }
}

static bool is_none(const struct spool_nvtx_sample *record, uint64_t reason)
{
    return record->head.flags == SPOOL_NVTX_SAMPLE_NONE && record->bits == reason;
}

/* The values that hold from now on; none when nobody knows them. */
static void read_values(struct series *series, const struct process *process, struct nvtx_counter *counter,
                        const struct nvtx_sample *sample)
{
    bool unchanged = is_none(sample->record, NO_VALUE_UNCHANGED);
    bool known = sample->record->head.flags != SPOOL_NVTX_SAMPLE_NONE || is_none(sample->record, NO_VALUE_ZERO);
    series->count = 0;
    if (known) {
        counter->last = sample->record;
        counter->last_index = sample->index;
    }
    if (known || (unchanged && counter->last))
        read_sample(series, process, counter, counter->last, counter->last_index);
    for (size_t i = 0; unchanged && i < series->count; i++) /* a difference of nothing */
        if (series->values[i].semantics && (series->values[i].semantics->flags & SERIES_VALUE_TYPE) == SERIES_DELTA)
            series->values[i].number = (struct payload_number){.kind = PAYLOAD_NUMBER_REAL, .real = 0};
}

static void emit_sample(struct emitter *emitter, const struct process *process, struct nvtx_counter *counter,
                        const struct nvtx_sample *sample)
{
    struct counter_value values[NVTX_SERIES_MAX];
    struct series series;
    struct sink name;
    struct counter written = {.pid = process->pid, .time = sample->time, .values = values};
    read_values(&series, process, counter, sample);
    for (size_t i = 0; i < series.count; i++)
        written.value_count += series_value_meant(&series.values[i], &counter->total[i], &values[written.value_count]);
    if (written.value_count == 0)
        return;
    counter_name(&name, process, counter);
    written.name = name_passing(name.data, name.length);
    emitter->writer.format->counter(&emitter->writer, &written);
    sink_release(&name);
}

int emit_nvtx_counters(struct emitter *emitter, struct process *process)
{
    struct nvtx_counters *counters = &process->extensions.counters;
    for (size_t i = 0; i < counters->samples.count; i++) {
        const struct nvtx_sample *sample = &counters->samples.items[i];
        struct nvtx_counter *counter = nvtx_counters_find(counters, sample->record->domain, sample->record->counter);
        if (counter)
            emit_sample(emitter, process, counter, sample);
        emitter_passed(emitter, process);
    }
    return 0;
}

/* --- metadata --- */

static void put_text(struct json_out *json, const char *key, const char *text, size_t length)
{
    json_key(json, key);
    json_string_n(json, text ? text : "", length);
}

static void put_limit(struct json_out *json, const char *key, uint32_t type, uint64_t bits)
{
    struct payload_number number = {.kind = PAYLOAD_NUMBER_REAL};
    json_key(json, key);
    if (type == 1)
        json_i64(json, (int64_t)bits);
    else if (type == 2)
        json_u64(json, bits);
    else
        memcpy(&number.real, &bits, sizeof(bits));
    if (type == 3)
        payload_put_number(json, &number);
}

static void put_semantics(struct json_out *json, const struct spool_nvtx_semantics *semantics)
{
    static const char *const types[] = {NULL, "absolute", "delta", "delta since start"};
    static const char *const interpolations[] = {NULL, "point", "since last", "until next", "linear", NULL, NULL, NULL};
    const char *type = types[(semantics->flags & SERIES_VALUE_TYPE) >> 4], *unit = semantics->text;
    const char *interpolation = interpolations[(semantics->flags & SERIES_INTERPOLATION) >> 8];
    bool limits = semantics->limit_type >= 1 && semantics->limit_type <= 3;
    if (semantics->length > 0)
        put_text(json, "unit", unit, semantics->length);
    if (limits && semantics->flags & SERIES_LIMIT_MIN)
        put_limit(json, "min", semantics->limit_type, semantics->least);
    if (limits && semantics->flags & SERIES_LIMIT_MAX)
        put_limit(json, "max", semantics->limit_type, semantics->most);
    if (type)
        put_text(json, "value_type", type, strlen(type));
    if (interpolation)
        put_text(json, "interpolation", interpolation, strlen(interpolation));
    if (semantics->flags & SERIES_NORMALIZE) {
        json_key(json, "normalized");
        json_bool(json, true);
    }
}

static void put_series(struct json_out *json, const struct process *process, const struct nvtx_counter *counter)
{
    struct series series;
    read_zeros(&series, process, counter);
    json_key(json, "series");
    json_begin_array(json);
    for (size_t i = 0; i < series.count; i++) {
        json_begin_object(json);
        put_text(json, "name", series.values[i].name, series.values[i].length);
        if (series.values[i].semantics)
            put_semantics(json, series.values[i].semantics);
        json_end(json);
    }
    json_end(json);
}

static void put_counter(struct json_out *json, const struct process *process, const struct nvtx_counter *counter)
{
    struct sink text;
    counter_name(&text, process, counter);
    json_begin_object(json);
    json_key(json, "pid");
    json_u64(json, process->pid);
    put_text(json, "name", text.data, text.length);
    sink_release(&text);
    if (counter->description.text)
        put_text(json, "description", counter->description.text, counter->description.length);
    put_series(json, process, counter);
    json_end(json);
}

void put_nvtx_counters(const struct conversion *conversion, struct json_out *json)
{
    bool any = false;
    for (size_t i = 0; i < conversion->processes.count; i++)
        any |= conversion_process(conversion, i)->extensions.counters.items.count > 0;
    if (!any)
        return;
    json_key(json, "nvtx_counters");
    json_begin_array(json);
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct process *process = conversion_process(conversion, i);
        for (size_t k = 0; k < process->extensions.counters.items.count; k++)
            put_counter(json, process, &process->extensions.counters.items.items[k]);
    }
    json_end(json);
}
