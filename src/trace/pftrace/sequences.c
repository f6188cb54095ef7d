#include "trace/pftrace/sequences.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"

#define SEQUENCES_MOST ((size_t)1 << 18) /* more than threads and streams of anybody's */

static struct pftrace_tables *find(struct pftrace_reader *reader, uint64_t number)
{
    uint64_t *index = map_put(&reader->sequences, number, NULL);
    if (!index || (*index == 0 && reader->tables.count == SEQUENCES_MOST))
        return NULL;
    if (*index == 0) {
        struct pftrace_tables **item = array_push(&reader->tables);
        if (!item || !(*item = calloc(1, sizeof(**item)))) {
            reader->tables.count -= item != NULL;
            return NULL;
        }
        *index = reader->tables.count;
    }
    return reader->tables.items[*index - 1];
}

struct pftrace_tables *pftrace_sequence(struct pftrace_reader *reader, uint64_t number)
{
    size_t place = number % PFTRACE_RECENT;
    if (reader->recent[place].tables && reader->recent[place].number == number)
        return reader->recent[place].tables;
    struct pftrace_tables *tables = find(reader, number);
    if (!tables && reader->tables.count == SEQUENCES_MOST)
        error("the trace has more packet sequences than can be held");
    else if (!tables)
        pftrace_no_memory();
    reader->recent[place].number = number;
    reader->recent[place].tables = tables;
    return tables;
}

void pftrace_sequences_forget(struct pftrace_reader *reader)
{
    for (size_t i = 0; i < reader->tables.count; i++) {
        pftrace_tables_clear(reader->tables.items[i], &reader->interning);
        free(reader->tables.items[i]);
    }
    reader->tables.count = 0;
    memset(reader->recent, 0, sizeof(reader->recent));
    map_release(&reader->sequences);
    map_release(&reader->counters);
    reader->counter_tracks.count = 0;
}

void pftrace_take_defaults(struct pftrace_tables *tables, struct protobuf_reader defaults)
{
    struct protobuf_field field;
    while (protobuf_next(&defaults, &field)) {
        struct protobuf_reader event = protobuf_inside(&field);
        if (field.number != PB_DEFAULTS_TRACK_EVENT)
            continue;
        while (protobuf_next(&event, &field))
            if (field.number == PB_EVENT_DEFAULTS_TRACK_UUID)
                tables->uuid = field.value;
    }
}

void pftrace_take_snapshot(struct pftrace_reader *reader, struct pftrace_tables *tables,
                           struct protobuf_reader snapshot)
{
    struct protobuf_field field;
    while (protobuf_next(&snapshot, &field)) {
        struct protobuf_reader clock = protobuf_inside(&field);
        uint64_t id = 0, time = 0;
        if (field.number != PB_SNAPSHOT_CLOCK)
            continue;
        while (protobuf_next(&clock, &field)) {
            id = field.number == PB_CLOCK_ID ? field.value : id;
            time = field.number == PB_CLOCK_TIMESTAMP ? field.value : time;
        }
        if (id == PFTRACE_CLOCK_DELTA)
            tables->last = time;
        else if (id == PB_CLOCK_REALTIME_ID && reader->base == 0 && time < PFTRACE_TIME_MOST)
            reader->base = time;
    }
}

uint64_t pftrace_packet_time(const struct pftrace_reader *reader, struct pftrace_tables *tables,
                             const struct pftrace_packet *packet)
{
    if (packet->clock == 0 || packet->clock == PFTRACE_CLOCK_DELTA) {
        if (packet->time < PFTRACE_TIME_MOST && tables->last + packet->time < PFTRACE_TIME_MOST)
            tables->last += packet->time;
        return tables->last;
    }
    uint64_t base = packet->clock == PFTRACE_CLOCK_SINCE_BASE ? 0 : reader->base;
    return packet->time > base && packet->time < PFTRACE_TIME_MOST ? packet->time - base : 0;
}
