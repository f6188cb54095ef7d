/*
 * Reads the packets of a run: time, sequence, interned data, and the event, whose body reader_events.c reads. A
 * compressed packet is unpacked, and its packets are read in its place.
 */
#include "trace/pftrace/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "trace/gzip/gzip.h"

#define SEQUENCES_MOST ((size_t)1 << 18) /* more than anybody has threads and streams */

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

static struct pftrace_tables *pftrace_sequence(struct pftrace_reader *reader, uint64_t number)
{
    size_t place = number % PFTRACE_RECENT;
    if (reader->recent[place].tables && reader->recent[place].number == number)
        return reader->recent[place].tables;
    struct pftrace_tables *tables = find(reader, number);
    if (!tables && reader->tables.count == SEQUENCES_MOST)
        error("the trace has more packet sequences than can be held");
    else if (!tables)
        error_no_memory("the trace's names");
    reader->recent[place].number = number;
    reader->recent[place].tables = tables;
    return tables;
}

static void pftrace_sequences_forget(struct pftrace_reader *reader)
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

static void pftrace_take_defaults(struct pftrace_tables *tables, struct protobuf_reader defaults)
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

static void pftrace_take_snapshot(struct pftrace_reader *reader, struct pftrace_tables *tables,
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

static uint64_t pftrace_packet_time(const struct pftrace_reader *reader, struct pftrace_tables *tables,
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

#define TEXT_KEPT ((size_t)1 << 20)    /* space for texts that is kept for later runs */
#define PACKETS_KEPT ((size_t)4 << 20) /* space for unpacked packets that is kept for later ones */

struct pftrace_reader *pftrace_reader_new(struct interner *strings)
{
    struct pftrace_reader *reader = calloc(1, sizeof(*reader));
    if (!reader) {
        error_no_memory("reading");
        return NULL;
    }
    reader->interning.strings = strings;
    buffer_init_memory(&reader->text);
    buffer_init_memory(&reader->compressed.packets);
    reader->run = protobuf_reader("", 0);
    pftrace_forget(reader);
    return reader;
}

static void forget_cleaned(struct pftrace_reader *reader)
{
    for (size_t i = 0; i < reader->cleaned.count; i++)
        buffer_release(&reader->cleaned.items[i]);
    reader->cleaned.count = 0;
}

void pftrace_close(struct pftrace_reader *reader)
{
    pftrace_sequences_forget(reader);
    array_release(&reader->tables);
    array_release(&reader->counter_tracks);
    array_release(&reader->args);
    forget_cleaned(reader);
    array_release(&reader->cleaned);
    array_release(&reader->flows);
    buffer_release(&reader->text);
    buffer_release(&reader->compressed.packets);
    free(reader);
}

uint64_t pftrace_left_out(const struct pftrace_reader *reader)
{
    return reader->left_out;
}

/* --- the current event --- */

static void begin_event(struct pftrace_reader *reader)
{
    reader->args.count = reader->flows.count = 0;
    reader->text.length = 0;
    reader->open = reader->given_out = reader->own_correlation = false;
    reader->event = (struct pftrace_event){.name = "", .other_category = ""};
    if (reader->cleaned.count > 0)
        forget_cleaned(reader);
}

static void give_up_open(struct pftrace_reader *reader)
{
    reader->left_out += reader->open;
    begin_event(reader);
}

void pftrace_forget(struct pftrace_reader *reader)
{
    pftrace_sequences_forget(reader);
    reader->base = 0;
    begin_event(reader);
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
        case PFTRACE_OWN_NO_CORRELATION: packet->no_correlation = true; break;
        case PFTRACE_OWN_SERIES_FOLLOW: packet->follow = field.value; break;
        case PFTRACE_OWN_WHOLE: packet->mark = field.value; break;
        case PFTRACE_OWN_COUNTER_U64: packet->counter = field.value; break;
        case PB_PACKET_DEFAULTS: packet->defaults = field; break;
        case PB_PACKET_INTERNED_DATA: packet->interned = field; break;
        default:
            if (field.type == PROTOBUF_BYTES)
                packet->body = field;
            break;
        }
    }
}

static int take_body(struct pftrace_reader *reader, struct pftrace_tables *tables, const struct pftrace_packet *packet)
{
    uint64_t time = packet->has_time ? pftrace_packet_time(reader, tables, packet) : 0;
    if (!packet->body.bytes)
        return 0;
    switch (packet->body.number) {
    case PB_PACKET_CLOCK_SNAPSHOT: pftrace_take_snapshot(reader, tables, protobuf_inside(&packet->body)); return 0;
    case PB_PACKET_TRACK_EVENT: return pftrace_track_event(reader, tables, packet, time);
    case PB_PACKET_GPU_RENDER_STAGE_EVENT: return pftrace_stage_event(reader, tables, packet, time);
    case PB_PACKET_TRACK_DESCRIPTOR: return pftrace_descriptor_event(reader, packet);
    case PB_PACKET_TRACE_ATTRIBUTES: return pftrace_attribute_event(reader, packet);
    case PB_PACKET_GPU_INFO: return 0; /* repeats the attribute "deviceProperties" */
    default: reader->left_out++; return 0;
    }
}

/* Ends the run at a damaged compressed packet. */
static int end_damaged(struct pftrace_reader *reader)
{
    struct packets_run *run = reader->given;
    run->end = PACKETS_DAMAGED;
    run->end_offset -= run->size - (size_t)(reader->compressed.at - run->bytes);
    reader->compressed.open = false;
    reader->run = protobuf_reader("", 0);
    return 0;
}

/* Unpacks a compressed packet, whose packets are read next. They must not be compressed again. */
static int open_compressed(struct pftrace_reader *reader, const struct protobuf_field *field)
{
    struct compressed_packet *compressed = &reader->compressed;
    if (compressed->open)
        return end_damaged(reader);
    if (gzip_unpack_stream(&compressed->packets, field->bytes, field->size, PACKET_MOST) != 0)
        return errno == EBADMSG ? end_damaged(reader) : error_no_memory("a packet of the trace");
    compressed->open = true;
    compressed->after = reader->run;
    reader->run = protobuf_reader(compressed->packets.data, compressed->packets.length);
    return 0;
}

static int take_packet(struct pftrace_reader *reader, struct protobuf_reader message)
{
    struct pftrace_packet packet;
    size_t size = (size_t)(message.end - message.at);
    reader->given->whole = false;
    if (packets_begin_section(message.at, size)) {
        give_up_open(reader);
        pftrace_forget(reader);
        if (size == PACKETS_SECTION_SIZE)
            return 0;
    }
    read_packet(message, &packet);
    reader->given->announced |= packet.mark == PFTRACE_FILE_BEGINS;
    reader->given->whole = packet.mark == PFTRACE_FILE_ENDS;
    if (packet.body.number == PB_PACKET_COMPRESSED_PACKETS)
        return open_compressed(reader, &packet.body);
    /* A BEGIN must be followed by its END. */
    if (reader->open && packet.body.number != PB_PACKET_TRACK_EVENT && packet.body.number != PB_PACKET_CLOCK_SNAPSHOT)
        give_up_open(reader);
    struct pftrace_tables *tables = pftrace_sequence(reader, packet.sequence);
    if (!tables)
        return -1;
    if (packet.cleared)
        pftrace_tables_clear(tables, &reader->interning);
    if (packet.defaults.bytes)
        pftrace_take_defaults(tables, protobuf_inside(&packet.defaults));
    if (packet.interned.bytes &&
        pftrace_tables_take(tables, &reader->interning, protobuf_inside(&packet.interned)) != 0)
        return error("the trace has interned data that cannot be held");
    return take_body(reader, tables, &packet);
}

/* --- runs --- */

void pftrace_take(struct pftrace_reader *reader, struct packets_run *run)
{
    reader->given = run;
    reader->run = protobuf_reader(run->bytes, run->size);
}

/* Copies the arguments' texts of an event that is not complete, as the bytes of its run or compressed packet are about
 * to be replaced. */
static int keep_texts(struct pftrace_reader *reader)
{
    size_t size = 0;
    if (!reader->open || reader->text.length > 0)
        return 0;
    for (size_t i = 0; i < reader->args.count; i++) {
        const struct arg *arg = &reader->args.items[i];
        size += arg->type == ARG_TYPE_TEXT || arg->type == ARG_TYPE_RAW ? arg->length : 0;
    }
    if (size > 0 && !buffer_reserve(&reader->text, size))
        return error_no_memory("the trace's names");
    for (size_t i = 0; i < reader->args.count; i++) {
        struct arg *arg = &reader->args.items[i];
        if ((arg->type != ARG_TYPE_TEXT && arg->type != ARG_TYPE_RAW) || arg->length == 0)
            continue;
        const char *kept = reader->text.data + reader->text.length;
        buffer_bytes(&reader->text, arg->text, arg->length);
        arg->text = kept;
    }
    return 0;
}

/* Reads the next packet of the run or compressed packet. Returns 1, 0 at the end of the run, or -1 after error(). */
static int next_packet(struct pftrace_reader *reader, struct protobuf_field *packet)
{
    for (;;) {
        if (!reader->compressed.open)
            reader->compressed.at = reader->run.at;
        bool any = protobuf_next(&reader->run, packet);
        if (any && reader->compressed.open && (packet->number != PB_TRACE_PACKET || packet->type != PROTOBUF_BYTES))
            end_damaged(reader);
        else if (any)
            return 1;
        if (keep_texts(reader) != 0)
            return -1;
        if (!reader->compressed.open) {
            if (!reader->open && reader->text.capacity > TEXT_KEPT)
                buffer_release(&reader->text);
            return 0;
        }
        struct compressed_packet *compressed = &reader->compressed;
        bool broken = reader->run.broken;
        compressed->open = false;
        reader->run = compressed->after;
        if (compressed->packets.capacity > PACKETS_KEPT)
            buffer_release(&compressed->packets);
        if (broken)
            end_damaged(reader);
    }
}

int pftrace_next(struct pftrace_reader *reader, const struct pftrace_event **event)
{
    struct protobuf_field packet;
    int taken = 0;
    if (reader->given_out)
        begin_event(reader);
    while (taken == 0) {
        int more = next_packet(reader, &packet);
        if (more <= 0)
            return more;
        taken = take_packet(reader, protobuf_inside(&packet));
    }
    if (taken < 0)
        return -1;
    reader->given_out = true;
    reader->event.args = reader->args.items;
    reader->event.arg_count = reader->args.count;
    reader->event.flows = reader->flows.items;
    reader->event.flow_count = reader->flows.count;
    *event = &reader->event;
    return 1;
}
