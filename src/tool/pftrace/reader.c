#include "tool/pftrace/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tool/pftrace/reader_state.h"

struct pftrace_reader *pftrace_open(const char *path, struct interner *strings)
{
    struct pftrace_reader *reader = calloc(1, sizeof(*reader));
    if (!reader) {
        error_no_memory("reading");
        return NULL;
    }
    reader->strings = strings;
    sink_init_memory(&reader->text);
    if (packets_open(&reader->packets, path) != 0) {
        free(reader);
        return NULL;
    }
    return reader;
}

void pftrace_close(struct pftrace_reader *reader)
{
    for (size_t i = 0; i < reader->tables.count; i++) {
        pftrace_tables_clear(reader->tables.items[i]);
        free(reader->tables.items[i]);
    }
    array_release(&reader->tables);
    map_release(&reader->sequences);
    map_release(&reader->counters);
    array_release(&reader->counter_tracks);
    array_release(&reader->args);
    array_release(&reader->arrows);
    sink_release(&reader->text);
    packets_close(&reader->packets);
    free(reader);
}

uint64_t pftrace_base(const struct pftrace_reader *reader)
{
    return reader->base;
}

uint64_t pftrace_left_out(const struct pftrace_reader *reader)
{
    return reader->left_out;
}

int pftrace_no_memory(void)
{
    return error_no_memory("the trace's names");
}

/* --- rows --- */

void pftrace_set_row(struct pftrace_event *to, uint64_t uuid)
{
    to->pid = pftrace_uuid_pid(uuid);
    to->tid = pftrace_uuid_tid(uuid);
}

void pftrace_set_name(const struct pftrace_reader *reader, struct pftrace_event *to, uint32_t name)
{
    to->name_number = name;
    to->name = pftrace_text(reader, name);
}

/* --- sequences --- */

/* NULL without memory. */
static struct pftrace_tables *tables_of(struct pftrace_reader *reader, uint64_t number)
{
    bool is_new;
    uint64_t *index = map_put(&reader->sequences, number, &is_new);
    if (!index)
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

static void take_defaults(struct pftrace_tables *tables, struct protobuf_reader defaults)
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

static void take_snapshot(struct pftrace_reader *reader, struct pftrace_tables *tables, struct protobuf_reader snapshot)
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

static uint64_t packet_time(const struct pftrace_reader *reader, struct pftrace_tables *tables,
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

/* --- texts and arguments --- */

const char *pftrace_text(const struct pftrace_reader *reader, uint32_t text)
{
    return text == PFTRACE_UNKNOWN ? "" : interned(reader->strings, text);
}

/* A text of the packet at hand, kept while the next one is read: its place stands for it until settle_texts(). */
void pftrace_keep_text(struct pftrace_reader *reader, struct pftrace_arg *arg)
{
    size_t place = reader->text.length;
    sink_bytes(&reader->text, arg->text, arg->length);
    sink_char(&reader->text, '\0');
    arg->text = (const char *)(uintptr_t)(place + 1); /* not NULL: those that need no settling have real places */
}

static bool kept(const struct pftrace_reader *reader, const struct pftrace_arg *arg)
{
    return (arg->kind == PFTRACE_ARG_TEXT || arg->kind == PFTRACE_ARG_JSON) &&
           (uintptr_t)arg->text <= reader->text.length;
}

static void settle_texts(struct pftrace_reader *reader)
{
    for (size_t i = 0; i < reader->args.count; i++) {
        struct pftrace_arg *arg = &reader->args.items[i];
        if (kept(reader, arg))
            arg->text = reader->text.data + (uintptr_t)arg->text - 1;
    }
}

int pftrace_push_arg(struct pftrace_reader *reader, const struct pftrace_arg *arg)
{
    struct pftrace_arg *place = array_push(&reader->args);
    if (!place)
        return pftrace_no_memory();
    *place = *arg;
    return 0;
}

int pftrace_push_number(struct pftrace_reader *reader, const char *name, uint64_t value)
{
    struct pftrace_arg arg = {.name = name, .name_length = strlen(name), .kind = PFTRACE_ARG_U64, .u64 = value};
    return pftrace_push_arg(reader, &arg);
}

static bool has_arg(const struct pftrace_reader *reader, const char *name)
{
    for (size_t i = 0; i < reader->args.count; i++)
        if (strcmp(reader->args.items[i].name, name) == 0)
            return true;
    return false;
}

int pftrace_push_correlation(struct pftrace_reader *reader, bool none)
{
    if (none || reader->arrows.count == 0 || has_arg(reader, "correlation"))
        return 0;
    return pftrace_push_number(reader, "correlation", reader->arrows.items[0]);
}

/* --- packets --- */

static void read_packet(struct protobuf_reader message, struct pftrace_packet *packet)
{
    struct protobuf_field field;
    *packet = (struct pftrace_packet){0};
    while (protobuf_next(&message, &field)) {
        switch (field.number) {
        case PB_PACKET_TIMESTAMP:
            packet->time = field.value;
            packet->has_time = true;
            break;
        case PB_PACKET_TIMESTAMP_CLOCK_ID: packet->clock = field.value; break;
        case PB_PACKET_SEQUENCE_ID: packet->sequence = field.value; break;
        case PB_PACKET_SEQUENCE_FLAGS: packet->cleared = field.value & PB_SEQUENCE_STATE_CLEARED; break;
        case PB_PACKET_DEFAULTS: packet->defaults = field; break;
        case PB_PACKET_INTERNED_DATA: packet->interned = field; break;
        default:
            if (field.type == PROTOBUF_BYTES)
                packet->body = field;
            break;
        }
    }
}

/* 1: EVENT is whole; 0: more is to be read; -1 after error(). */
static int take_packet(struct pftrace_reader *reader, struct pftrace_packet *packet, struct pftrace_event *event)
{
    struct pftrace_tables *tables = tables_of(reader, packet->sequence);
    if (!tables)
        return pftrace_no_memory();
    if (packet->cleared)
        pftrace_tables_clear(tables);
    if (packet->defaults.bytes)
        take_defaults(tables, protobuf_inside(&packet->defaults));
    if (packet->interned.bytes && pftrace_tables_take(tables, reader->strings, protobuf_inside(&packet->interned)) != 0)
        return error("'%s' has interned data that cannot be held", reader->packets.path);
    uint64_t time = packet->has_time ? packet_time(reader, tables, packet) : 0;
    if (!packet->body.bytes)
        return 0;
    switch (packet->body.number) {
    case PB_PACKET_CLOCK_SNAPSHOT: take_snapshot(reader, tables, protobuf_inside(&packet->body)); return 0;
    case PB_PACKET_TRACK_EVENT: return pftrace_track_event(reader, tables, packet, time, event);
    case PB_PACKET_GPU_RENDER_STAGE_EVENT: return pftrace_stage_event(reader, tables, packet, time, event);
    case PB_PACKET_TRACK_DESCRIPTOR: return pftrace_descriptor_event(reader, packet, event);
    case PB_PACKET_TRACE_ATTRIBUTES: return pftrace_attribute_event(reader, packet, event);
    default: reader->left_out++; return 0;
    }
}

static void begin_next(struct pftrace_reader *reader, struct pftrace_event *event)
{
    reader->args.count = reader->arrows.count = 0;
    reader->text.length = 0;
    reader->open = false;
    *event = (struct pftrace_event){.name = "", .category = "", .name_number = PFTRACE_UNKNOWN};
}

/* What a BEGIN was read of must be ended by the next packet that is one of an event. */
static bool is_astray(const struct pftrace_reader *reader, const struct pftrace_packet *packet)
{
    return reader->open && packet->body.number != PB_PACKET_TRACK_EVENT &&
           packet->body.number != PB_PACKET_CLOCK_SNAPSHOT;
}

int pftrace_next(struct pftrace_reader *reader, struct pftrace_event *event)
{
    struct protobuf_reader message;
    struct pftrace_packet packet;
    begin_next(reader, event);
    for (;;) {
        int more = packets_next(&reader->packets, &message);
        if (more <= 0)
            return more;
        read_packet(message, &packet);
        if (is_astray(reader, &packet)) {
            reader->left_out++;
            begin_next(reader, event);
        }
        int taken = take_packet(reader, &packet, event);
        if (taken < 0)
            return -1;
        if (taken == 0)
            continue;
        if (reader->text.failure)
            return pftrace_no_memory();
        settle_texts(reader);
        event->args = reader->args.items;
        event->arg_count = reader->args.count;
        event->arrows = reader->arrows.items;
        event->arrow_count = reader->arrows.count;
        return 1;
    }
}
