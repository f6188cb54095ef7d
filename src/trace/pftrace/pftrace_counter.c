/*
 * Counters: a track for each value, told in the sequence of the process when it is first used there.
 */

#include "common/protobuf.h"
#include "trace/pftrace/pftrace_state.h"

/* What is told of one value of a counter. */
struct series {
    const char *counter, *name; /* name NULL: the counter has one value */
    size_t counter_length, name_length;
    bool bytes;
};

static uint64_t series_uuid(uint32_t pid, const struct series *series)
{
    uint64_t parts[] = {pid, hash_bytes(series->counter, series->counter_length),
                        series->name ? hash_bytes(series->name, series->name_length) : 0};
    return hash_bytes(parts, sizeof(parts)) >> 2 | PFTRACE_UUID_COUNTER;
}

/* "counter: value", as one name. */
static void put_name(struct pftrace_state *state, const struct series *series)
{
    state->name.length = 0;
    sink_bytes(&state->name, series->counter, series->counter_length);
    if (series->name) {
        sink_text(&state->name, ": ");
        sink_bytes(&state->name, series->name, series->name_length);
    }
    pftrace_put_valid(state, &state->body, PB_TRACK_NAME, state->name.data, state->name.length);
}

static void describe(struct writer *writer, uint64_t uuid, uint32_t pid, const struct series *series)
{
    struct pftrace_state *state = writer->state;
    struct sink *packet = &state->body;
    packet->length = 0;
    size_t descriptor = protobuf_begin(packet, PB_PACKET_TRACK_DESCRIPTOR);
    protobuf_put_u64(packet, PB_TRACK_UUID, uuid);
    protobuf_put_u64(packet, PB_TRACK_PARENT_UUID, pftrace_uuid(pid, 0));
    put_name(state, series);
    size_t counter = protobuf_begin(packet, PB_TRACK_COUNTER);
    if (series->bytes)
        protobuf_put_u64(packet, PB_COUNTER_UNIT, PB_COUNTER_UNIT_SIZE_BYTES);
    protobuf_end(packet, counter);
    pftrace_put_valid(state, packet, PFTRACE_OWN_COUNTER, series->counter, series->counter_length);
    if (series->name)
        pftrace_put_valid(state, packet, PFTRACE_OWN_SERIES, series->name, series->name_length);
    protobuf_end(packet, descriptor);
    pftrace_plain_packet(writer->sink, packet);
}

/* Perfetto has it as a double. */
static bool is_large(const struct counter_value *value)
{
    return value->kind == COUNTER_UNSIGNED && value->u64 > INT64_MAX;
}

static void put_value(struct sink *body, const struct counter_value *value)
{
    if (value->kind == COUNTER_REAL)
        protobuf_put_double(body, PB_EVENT_DOUBLE_COUNTER_VALUE, value->real);
    else if (is_large(value))
        protobuf_put_double(body, PB_EVENT_DOUBLE_COUNTER_VALUE, (double)value->u64);
    else
        protobuf_put_u64(body, PB_EVENT_COUNTER_VALUE, value->u64);
}

static void write_value(struct writer *writer, const struct counter *counter, const struct series *series,
                        const struct counter_value *value, size_t follow)
{
    struct pftrace_state *state = writer->state;
    struct pftrace_sequence *sequence = pftrace_sequence_of(writer, (struct row){counter->pid, 0}, PFTRACE_LANE_CALLS);
    uint64_t uuid = series_uuid(counter->pid, series);
    bool is_new;
    if (!sequence)
        return;
    if (pftrace_iid(sequence, PFTRACE_CONTEXTS, uuid, &is_new) != 0 && is_new)
        describe(writer, uuid, counter->pid, series);
    state->body.length = 0;
    protobuf_put_u64(&state->body, PB_EVENT_TYPE, PB_TYPE_COUNTER);
    protobuf_put_u64(&state->body, PB_EVENT_TRACK_UUID, uuid);
    put_value(&state->body, value);
    if (follow > 0)
        pftrace_add_own(&state->sequences, PFTRACE_OWN_SERIES_FOLLOW, follow);
    if (is_large(value))
        pftrace_add_own(&state->sequences, PFTRACE_OWN_COUNTER_U64, value->u64);
    pftrace_send(writer, sequence, pftrace_time(writer, counter->time), PB_PACKET_TRACK_EVENT);
}

void pftrace_write_counter(struct writer *writer, const struct counter *counter)
{
    struct series series = {.counter = counter->name.text, .counter_length = counter->name.length};
    struct counter_value value = {.kind = COUNTER_UNSIGNED, .u64 = counter->bytes};
    for (size_t i = 0; i < counter->value_count; i++) {
        series.name = counter->values[i].name;
        series.name_length = counter->values[i].length;
        write_value(writer, counter, &series, &counter->values[i], counter->value_count - 1 - i);
    }
    if (counter->value_count > 0)
        return;
    series.bytes = !counter->real;
    if (counter->real) {
        value.kind = COUNTER_REAL;
        value.real = counter->value;
    }
    write_value(writer, counter, &series, &value, 0);
}
