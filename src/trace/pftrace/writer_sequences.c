/*
 * Packet sequences of the rows: their numbers, the texts that they have interned, and their clocks, by which times are
 * written as differences.
 */
#include "trace/pftrace/writer.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/protobuf.h"

void pftrace_sequences_init(struct pftrace_sequences *sequences)
{
    *sequences = (struct pftrace_sequences){0};
    buffer_init_memory(&sequences->packet);
}

void pftrace_sequences_release(struct pftrace_sequences *sequences)
{
    for (size_t i = 0; i < sequences->items.count; i++) {
        struct pftrace_sequence *sequence = sequences->items.items[i];
        for (size_t k = 0; k < PFTRACE_INTERNED_COUNT; k++)
            map_release(&sequence->iids[k]);
        buffer_release(&sequence->interned);
        free(sequence);
    }
    array_release(&sequences->items);
    map_release(&sequences->by_row);
    buffer_release(&sequences->packet);
}

static struct pftrace_sequence *new_sequence(struct pftrace_sequences *sequences, struct row row,
                                             enum pftrace_lane lane)
{
    struct pftrace_sequence *sequence = calloc(1, sizeof(*sequence));
    struct pftrace_sequence **item = sequence ? array_push(&sequences->items) : NULL;
    if (!item) {
        free(sequence);
        error_no_memory("a row of the trace");
        return NULL;
    }
    sequence->number = (uint32_t)sequences->items.count;
    sequence->row = row;
    sequence->lane = lane;
    sequence->next_iid[PFTRACE_SPECIFICATIONS] = lane == PFTRACE_LANE_GPU_OPS; /* 1 is the queue itself */
    buffer_init_memory(&sequence->interned);
    return *item = sequence;
}

struct pftrace_sequence *pftrace_sequence_find(struct pftrace_sequences *sequences, struct row row,
                                               enum pftrace_lane lane)
{
    struct pftrace_sequence *recent = sequences->recent[lane];
    if (recent && recent->row.pid == row.pid && recent->row.tid == row.tid)
        return recent;
    struct {
        struct row row;
        uint32_t lane;
    } key = {row, lane};
    bool is_new;
    uint64_t *index = map_put(&sequences->by_row, hash_bytes(&key, sizeof(key)), &is_new);
    if (!index) {
        error_no_memory("a row of the trace");
        return NULL;
    }
    if (*index == 0) {
        if (!new_sequence(sequences, row, lane))
            return NULL;
        *index = sequences->items.count;
    }
    return sequences->recent[lane] = sequences->items.items[*index - 1];
}

uint64_t pftrace_intern(struct pftrace_sequence *sequence, enum pftrace_interned what, uint32_t table, const char *text,
                        size_t length, bool *is_new)
{
    *is_new = false;
    uint64_t iid = text ? pftrace_iid(sequence, what, hash_bytes(text, length), is_new) : 0;
    if (iid == 0 || !*is_new)
        return iid;
    size_t entry = protobuf_begin(&sequence->interned, table);
    protobuf_put_u64(&sequence->interned, PB_INTERNED_IID, iid);
    protobuf_put_bytes(&sequence->interned, PB_INTERNED_NAME, text, length);
    protobuf_end(&sequence->interned, entry);
    return iid;
}

#define PACKET_SPACE 80 /* for all but body and interned data */

/* Trace.packet, with the length before what is put together from two parts. */
static void put_out(struct buffer *out, const char *head, size_t head_size, const char *body, size_t size)
{
    char *at = buffer_reserve(out, PROTOBUF_VARINT_SPACE + head_size + size), *from = at;
    if (!at)
        return;
    at = protobuf_tag(at, PB_TRACE_PACKET, PROTOBUF_BYTES);
    at = protobuf_varint(at, head_size + size);
    memcpy(at, head, head_size);
    if (size > 0)
        memcpy(at + head_size, body, size);
    buffer_advance(out, (size_t)(at - from) + head_size + size);
}

void pftrace_packet(struct pftrace_sequences *sequences, struct pftrace_sequence *sequence, struct buffer *out,
                    uint64_t time, uint32_t field, const char *body, size_t size)
{
    struct buffer *packet = &sequences->packet;
    packet->length = 0;
    if (sequence->interned.length > 0)
        protobuf_put_bytes(packet, PB_PACKET_INTERNED_DATA, sequence->interned.data, sequence->interned.length);
    sequence->interned.length = 0;
    char *at = buffer_reserve(packet, PACKET_SPACE), *from = at;
    if (!at) {
        out->failure = out->failure ? out->failure : packet->failure;
        return;
    }
    at = protobuf_tag(at, PB_PACKET_TIMESTAMP, PROTOBUF_VARINT);
    if (time >= sequence->last) {
        at = protobuf_varint(at, time - sequence->last);
        sequence->last = time;
    } else {
        at = protobuf_varint(at, time);
        at = protobuf_tag(at, PB_PACKET_TIMESTAMP_CLOCK_ID, PROTOBUF_VARINT);
        at = protobuf_varint(at, PFTRACE_CLOCK_SINCE_BASE);
    }
    at = protobuf_tag(at, PB_PACKET_SEQUENCE_ID, PROTOBUF_VARINT);
    at = protobuf_varint(at, sequence->number);
    for (size_t i = 0; i < sequences->own_count; i++) {
        at = protobuf_tag(at, sequences->own[i].field, PROTOBUF_VARINT);
        at = protobuf_varint(at, sequences->own[i].value);
    }
    sequences->own_count = 0;
    at = protobuf_tag(at, field, PROTOBUF_BYTES);
    at = protobuf_varint(at, size);
    buffer_advance(packet, (size_t)(at - from));
    put_out(out, packet->data, packet->length, body, size);
}

void pftrace_plain_packet(struct buffer *out, const struct buffer *body)
{
    if (body->failure)
        out->failure = out->failure ? out->failure : body->failure;
    else
        put_out(out, body->data, body->length, NULL, 0);
}

static void put_clock(struct buffer *packet, uint64_t id, uint64_t time, bool incremental)
{
    size_t clock = protobuf_begin(packet, PB_SNAPSHOT_CLOCK);
    protobuf_put_u64(packet, PB_CLOCK_ID, id);
    protobuf_put_u64(packet, PB_CLOCK_TIMESTAMP, time);
    if (incremental)
        protobuf_put_u64(packet, PB_CLOCK_IS_INCREMENTAL, 1);
    protobuf_end(packet, clock);
}

void pftrace_relate_clocks(struct buffer *packet, struct buffer *out, uint64_t base)
{
    packet->length = 0;
    size_t snapshot = protobuf_begin(packet, PB_PACKET_CLOCK_SNAPSHOT);
    put_clock(packet, PB_CLOCK_REALTIME_ID, base, false);
    put_clock(packet, PB_CLOCK_BOOTTIME_ID, base, false);
    protobuf_put_u64(packet, PB_SNAPSHOT_PRIMARY_TRACE_CLOCK, PB_CLOCK_REALTIME_ID);
    protobuf_end(packet, snapshot);
    pftrace_plain_packet(out, packet);
}

void pftrace_sequence_begin(struct pftrace_sequences *sequences, struct pftrace_sequence *sequence, struct buffer *out,
                            uint64_t base)
{
    struct buffer *packet = &sequences->packet;
    uint64_t uuid = pftrace_uuid(sequence->row.pid, sequence->row.tid);
    if (sequence->begun)
        return;
    sequence->begun = true;
    packet->length = 0;
    protobuf_put_u64(packet, PB_PACKET_SEQUENCE_ID, sequence->number);
    protobuf_put_u64(packet, PB_PACKET_SEQUENCE_FLAGS, PB_SEQUENCE_STATE_CLEARED);
    size_t defaults = protobuf_begin(packet, PB_PACKET_DEFAULTS);
    protobuf_put_u64(packet, PB_DEFAULTS_CLOCK_ID, PFTRACE_CLOCK_DELTA);
    size_t event = protobuf_begin(packet, PB_DEFAULTS_TRACK_EVENT);
    protobuf_put_u64(packet, PB_EVENT_DEFAULTS_TRACK_UUID,
                     sequence->lane == PFTRACE_LANE_RANGES ? uuid | PFTRACE_UUID_RANGES : uuid);
    protobuf_end(packet, event);
    protobuf_end(packet, defaults);
    size_t snapshot = protobuf_begin(packet, PB_PACKET_CLOCK_SNAPSHOT);
    put_clock(packet, PFTRACE_CLOCK_DELTA, 0, true);
    put_clock(packet, PFTRACE_CLOCK_SINCE_BASE, 0, false);
    put_clock(packet, PB_CLOCK_REALTIME_ID, base, false);
    protobuf_put_u64(packet, PB_SNAPSHOT_PRIMARY_TRACE_CLOCK, PB_CLOCK_REALTIME_ID);
    protobuf_end(packet, snapshot);
    pftrace_plain_packet(out, packet);
}
