/*
 * TrackDescriptors and TraceAttributes: rows, counters' tracks, metadata.
 */
#include "trace/pftrace/reader_state.h"

struct descriptor {
    uint64_t uuid, parent, owner;
    int64_t rank;
    bool is_process, is_thread, is_counter;
    struct protobuf_field name, description, counter, series;
};

static void read_inner_name(struct protobuf_reader message, uint32_t number, struct protobuf_field *name)
{
    struct protobuf_field field;
    while (protobuf_next(&message, &field))
        if (field.number == number)
            *name = field;
}

static void read_descriptor(struct protobuf_reader message, struct descriptor *descriptor)
{
    struct protobuf_field field;
    *descriptor = (struct descriptor){0};
    while (protobuf_next(&message, &field)) {
        switch (field.number) {
        case PB_TRACK_UUID: descriptor->uuid = field.value; break;
        case PB_TRACK_PARENT_UUID: descriptor->parent = field.value; break;
        case PB_TRACK_NAME: descriptor->name = field; break;
        case PB_TRACK_DESCRIPTION: descriptor->description = field; break;
        case PB_TRACK_SIBLING_ORDER_RANK: descriptor->rank = (int32_t)field.value; break;
        case PFTRACE_OWN_OWNER: descriptor->owner = field.value; break;
        case PFTRACE_OWN_RANK: descriptor->rank = (int64_t)field.value; break;
        case PFTRACE_OWN_COUNTER: descriptor->counter = field; break;
        case PFTRACE_OWN_SERIES: descriptor->series = field; break;
        case PB_TRACK_COUNTER: descriptor->is_counter = true; break;
        case PB_TRACK_PROCESS:
            descriptor->is_process = true;
            read_inner_name(protobuf_inside(&field), PB_PROCESS_NAME, &descriptor->name);
            break;
        case PB_TRACK_THREAD:
            descriptor->is_thread = true;
            read_inner_name(protobuf_inside(&field), PB_THREAD_NAME, &descriptor->name);
            break;
        default: break;
        }
    }
}

static uint32_t intern_bytes(struct pftrace_reader *reader, const struct protobuf_field *field)
{
    return field->bytes ? intern(reader->interning.strings, (const char *)field->bytes, field->size) : PFTRACE_UNKNOWN;
}

static int counter_track(struct pftrace_reader *reader, const struct descriptor *descriptor)
{
    uint64_t *index = map_put(&reader->counters, descriptor->uuid, NULL);
    struct pftrace_counter_track *track = index && *index == 0 ? array_push(&reader->counter_tracks) : NULL;
    if (!index || (*index == 0 && !track))
        return pftrace_no_memory();
    if (!track)
        return 0;
    *index = reader->counter_tracks.count;
    track->pid = pftrace_uuid_pid(descriptor->parent);
    track->counter = intern_bytes(reader, descriptor->counter.bytes ? &descriptor->counter : &descriptor->name);
    track->series = intern_bytes(reader, &descriptor->series);
    return 0;
}

/* With a NUL behind it. */
static int keep_as_text(struct pftrace_reader *reader, const struct protobuf_field *field)
{
    if (!field->bytes)
        return 1;
    reader->text.length = 0;
    sink_bytes(&reader->text, field->bytes, field->size);
    sink_char(&reader->text, '\0');
    reader->event.text = reader->text.data;
    reader->event.length = field->size;
    return reader->text.failure ? pftrace_no_memory() : 1;
}

int pftrace_descriptor_event(struct pftrace_reader *reader, const struct pftrace_packet *packet)
{
    struct pftrace_event *to = &reader->event;
    struct descriptor descriptor;
    read_descriptor(protobuf_inside(&packet->body), &descriptor);
    if (descriptor.is_counter)
        return counter_track(reader, &descriptor);
    if (descriptor.uuid & (PFTRACE_UUID_ASYNC | PFTRACE_UUID_RANGES) || descriptor.uuid >> 32 == 0)
        return 0; /* what it is told of is known from the events on it */
    if (!descriptor.name.bytes)
        return 0;
    pftrace_set_row(to, descriptor.uuid);
    to->what = to->tid == 0 ? PFTRACE_PROCESS : PFTRACE_THREAD;
    to->is_gpu = to->tid == 0 && !descriptor.is_process;
    to->sort_index = descriptor.rank;
    to->owner = (uint32_t)descriptor.owner;
    uint32_t name = intern_bytes(reader, &descriptor.name);
    if (descriptor.name.bytes && name == INTERN_NO_MEMORY)
        return pftrace_no_memory();
    pftrace_set_name(reader, name);
    return keep_as_text(reader, &descriptor.description);
}

int pftrace_attribute_event(struct pftrace_reader *reader, const struct pftrace_packet *packet)
{
    struct protobuf_reader attributes = protobuf_inside(&packet->body);
    struct protobuf_field field, key = {0}, value = {0};
    while (protobuf_next(&attributes, &field)) {
        struct protobuf_reader attribute = protobuf_inside(&field);
        if (field.number != PB_ATTRIBUTES_ATTRIBUTE || key.bytes)
            continue;
        while (protobuf_next(&attribute, &field)) {
            key = field.number == PB_ATTRIBUTE_KEY ? field : key;
            value = field.number == PB_ATTRIBUTE_STRING_VALUE ? field : value;
        }
    }
    if (!key.bytes || !value.bytes) {
        reader->left_out++;
        return 0;
    }
    uint32_t name = intern_bytes(reader, &key);
    if (name == INTERN_NO_MEMORY)
        return pftrace_no_memory();
    reader->event.what = PFTRACE_METADATA;
    pftrace_set_name(reader, name);
    return keep_as_text(reader, &value);
}
