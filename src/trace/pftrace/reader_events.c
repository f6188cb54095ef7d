/*
 * Reads bodies of packets: TrackEvents (calls, ranges, instants, counters), GpuRenderStageEvents (operations of GPUs),
 * descriptors of tracks, and metadata.
 */
#include "trace/pftrace/reader_events.h"

#include "common/log.h"

/* --- the current event --- */

/* Returns a text of the interner; "" for PFTRACE_UNKNOWN. */
static const char *text_of(const struct pftrace_reader *reader, uint32_t text)
{
    return text == PFTRACE_UNKNOWN ? "" : interned(reader->interning.strings, text);
}

static uint32_t pid_of(uint64_t uuid)
{
    return (uint32_t)((uuid >> 32) - 1);
}

static uint32_t tid_of(uint64_t uuid)
{
    return (uint32_t)uuid & ~(uint32_t)PFTRACE_UUID_RANGES;
}

static void set_row(struct pftrace_event *to, uint64_t uuid)
{
    to->pid = pid_of(uuid);
    to->tid = tid_of(uuid);
}

static void set_name(struct pftrace_reader *reader, uint32_t name)
{
    reader->event.name = text_of(reader, name);
    reader->event.name_length = name == PFTRACE_UNKNOWN ? 0 : interner_at(reader->interning.strings, name)->length;
}

static void set_category(struct pftrace_reader *reader, const struct pftrace_entry *category)
{
    reader->event.category = category->category;
    reader->event.other_category = category->category == CATEGORY_OTHER ? text_of(reader, category->text) : NULL;
}

/* Makes an argument of ARG_TYPE_RAW valid JSON. Returns 0, or -1 after error(). */
static int clean_arg(struct pftrace_reader *reader, struct arg *arg)
{
    struct buffer scratch, *kept;
    buffer_init_memory(&scratch);
    pftrace_check_raw(arg, &scratch);
    if (!scratch.data)
        return scratch.failure ? error_no_memory("the trace's names") : 0;
    if (scratch.failure || !(kept = array_push(&reader->cleaned))) {
        buffer_release(&scratch);
        return error_no_memory("the trace's names");
    }
    *kept = scratch;
    return 0;
}

/* Adds an argument to the current event. Returns 0, or -1 after error(). */
static int push_arg(struct pftrace_reader *reader, const struct arg *arg)
{
    struct arg *place = array_push(&reader->args);
    if (!place)
        return error_no_memory("the trace's names");
    *place = *arg;
    reader->own_correlation |= arg->key == ARG_CORRELATION;
    return arg->type == ARG_TYPE_RAW ? clean_arg(reader, place) : 0;
}

/* Sets the event's correlation to the number of its first flow, unless NONE is true or the event has the argument. */
static void set_correlation(struct pftrace_reader *reader, bool none)
{
    if (none || reader->flows.count == 0 || reader->own_correlation || reader->flows.items[0] > UINT32_MAX)
        return;
    reader->event.has_correlation = true;
    reader->event.correlation = reader->flows.items[0];
}

/* --- DebugAnnotation --- */

static void set_text(struct arg *arg, enum arg_type type, const char *text, size_t length)
{
    arg->type = type;
    arg->text = text;
    arg->length = length;
}

static void take_annotation_value(struct pftrace_reader *reader, const struct pftrace_tables *tables, struct arg *arg,
                                  const struct protobuf_field *field)
{
    uint32_t text;
    switch (field->number) {
    case PB_ANNOTATION_BOOL: arg->type = field->value ? ARG_TYPE_TRUE : ARG_TYPE_FALSE; break;
    case PB_ANNOTATION_UINT:
        arg->type = ARG_TYPE_U64;
        arg->u64 = field->value;
        break;
    case PB_ANNOTATION_INT:
        arg->type = ARG_TYPE_I64;
        arg->i64 = (int64_t)field->value;
        break;
    case PB_ANNOTATION_DOUBLE:
        arg->type = ARG_TYPE_REAL;
        arg->real = protobuf_double(field);
        break;
    case PB_ANNOTATION_POINTER:
        arg->type = ARG_TYPE_HEX;
        arg->u64 = field->value;
        break;
    case PB_ANNOTATION_STRING:
    case PB_ANNOTATION_JSON:
        set_text(arg, field->number == PB_ANNOTATION_JSON ? ARG_TYPE_RAW : ARG_TYPE_TEXT,
                 field->bytes ? (const char *)field->bytes : "", field->size);
        break;
    case PB_ANNOTATION_STRING_IID:
        text = pftrace_look_up(&tables->texts, field->value).text;
        set_text(arg, ARG_TYPE_TEXT, text_of(reader, text),
                 text == PFTRACE_UNKNOWN ? 0 : interner_at(reader->interning.strings, text)->length);
        break;
    default: break;
    }
}

static int take_annotation(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                           struct protobuf_reader annotation)
{
    struct arg arg = {.type = ARG_TYPE_FALSE, .other = ""};
    struct protobuf_field field;
    while (protobuf_next(&annotation, &field)) {
        if (field.number == PB_ANNOTATION_NAME_IID) {
            struct pftrace_entry name = pftrace_look_up(&tables->arg_names, field.value);
            pftrace_name_arg(reader->interning.strings, &name, &arg);
        } else {
            take_annotation_value(reader, tables, &arg, &field);
        }
    }
    return push_arg(reader, &arg);
}

/* --- TrackEvent --- */

struct track_event {
    uint64_t type, category, name, uuid;
    bool no_correlation, is_double;
    uint64_t follow;
    uint64_t counter; /* bits of the value */
};

static int take_flows(struct pftrace_reader *reader, struct protobuf_reader correlation)
{
    struct protobuf_field field;
    while (protobuf_next(&correlation, &field)) {
        uint64_t *flow = field.number == PB_CORRELATION_SUBMISSION_IDS ? array_push(&reader->flows) : NULL;
        if (flow)
            *flow = field.value;
        else if (field.number == PB_CORRELATION_SUBMISSION_IDS)
            return error_no_memory("the trace's names");
    }
    return 0;
}

static int take_link(struct pftrace_reader *reader, const struct protobuf_field *field)
{
    uint64_t *flow = field->type == PROTOBUF_FIXED64 ? array_push(&reader->flows) : NULL;
    if (flow)
        *flow = (field->value & (PFTRACE_FLOW_ENDS - 1)) |
                (field->number == PB_EVENT_TERMINATING_FLOW_IDS ? PFTRACE_FLOW_ENDS : 0);
    return flow || field->type != PROTOBUF_FIXED64 ? 0 : error_no_memory("the trace's names");
}

static int read_track_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                            const struct pftrace_packet *packet, struct track_event *event)
{
    struct protobuf_reader message = protobuf_inside(&packet->body);
    struct protobuf_field field;
    int result = 0;
    *event =
        (struct track_event){.uuid = tables->uuid, .no_correlation = packet->no_correlation, .follow = packet->follow};
    while (result == 0 && protobuf_next(&message, &field)) {
        switch (field.number) {
        case PB_EVENT_TYPE: event->type = field.value; break;
        case PB_EVENT_CATEGORY_IIDS: event->category = field.value; break;
        case PB_EVENT_NAME_IID: event->name = field.value; break;
        case PB_EVENT_TRACK_UUID: event->uuid = field.value; break;
        case PB_EVENT_COUNTER_VALUE: event->counter = field.value; break;
        case PB_EVENT_DOUBLE_COUNTER_VALUE:
            event->counter = field.value;
            event->is_double = true;
            break;
        case PB_EVENT_ANNOTATIONS: result = take_annotation(reader, tables, protobuf_inside(&field)); break;
        case PB_EVENT_FLOW_IDS:
        case PB_EVENT_TERMINATING_FLOW_IDS: result = take_link(reader, &field); break;
        case PB_EVENT_GPU_CORRELATION: result = take_flows(reader, protobuf_inside(&field)); break;
        default: break;
        }
    }
    return result;
}

/* Reads a BEGIN or INSTANT. */
static int begin_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                       const struct track_event *event, uint64_t time)
{
    struct pftrace_event *to = &reader->event;
    struct pftrace_entry name = pftrace_look_up(&tables->names, event->name);
    struct pftrace_entry category = pftrace_look_up(&tables->categories, event->category);
    to->what = event->type == PB_TYPE_INSTANT ? PFTRACE_INSTANT : PFTRACE_SLICE;
    set_row(to, tables->uuid);
    set_name(reader, name.text);
    set_category(reader, &category);
    to->start = to->flow_time = time;
    to->cbid = name.cbid;
    if (event->uuid & PFTRACE_UUID_ASYNC) {
        to->what = PFTRACE_ASYNC;
        to->instant = event->type == PB_TYPE_INSTANT;
        to->id = event->uuid & ~PFTRACE_UUID_ASYNC;
    }
    reader->open = event->type == PB_TYPE_SLICE_BEGIN;
    reader->open_track = event->uuid;
    set_correlation(reader, event->no_correlation);
    return !reader->open;
}

static int end_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                     const struct track_event *event, uint64_t time)
{
    struct pftrace_event *to = &reader->event;
    if (!reader->open || reader->open_track != event->uuid) {
        reader->left_out++;
        return 0;
    }
    reader->open = false;
    to->end = time < to->start ? to->start : time;
    to->end_pid = pid_of(tables->uuid);
    to->end_tid = tid_of(tables->uuid);
    return 1;
}

static int counter_event(struct pftrace_reader *reader, const struct track_event *event, uint64_t large, uint64_t time)
{
    struct pftrace_event *to = &reader->event;
    const struct pftrace_counter_track *track = FIND_ITEM(&reader->counter_tracks, &reader->counters, event->uuid);
    if (!track) {
        reader->left_out++;
        return 0;
    }
    struct arg arg = {.type = event->is_double ? ARG_TYPE_REAL : ARG_TYPE_I64, .u64 = event->counter};
    if (large > 0) {
        arg.type = ARG_TYPE_U64;
        arg.u64 = large;
    }
    pftrace_name_arg(reader->interning.strings, &(struct pftrace_entry){.text = track->series}, &arg);
    to->what = PFTRACE_COUNTER;
    to->pid = track->pid;
    to->tid = 0;
    to->start = time;
    to->one_value = track->series == PFTRACE_UNKNOWN;
    set_name(reader, track->counter);
    return push_arg(reader, &arg) != 0 ? -1 : event->follow == 0;
}

/* Drops a slice without an END, or a counter without its further values: its first ARGS arguments and FLOWS flows. */
static void leave_begun(struct pftrace_reader *reader, size_t args, size_t flows)
{
    reader->left_out++;
    reader->open = reader->own_correlation = false;
    reader->text.length = 0;
    reader->args.count -= args;
    reader->flows.count -= flows;
    for (size_t i = 0; i < reader->args.count; i++) {
        reader->args.items[i] = reader->args.items[i + args];
        reader->own_correlation |= reader->args.items[i].key == ARG_CORRELATION;
    }
    for (size_t i = 0; i < reader->flows.count; i++)
        reader->flows.items[i] = reader->flows.items[i + flows];
}

int pftrace_track_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                        const struct pftrace_packet *packet, uint64_t time)
{
    struct track_event event;
    size_t args = reader->args.count, flows = reader->flows.count;
    if (read_track_event(reader, tables, packet, &event) != 0)
        return -1;
    bool goes_on = reader->open ? event.type == PB_TYPE_SLICE_END
                                : event.type == PB_TYPE_COUNTER && reader->event.what == PFTRACE_COUNTER;
    if ((reader->open || args > 0) && !goes_on)
        leave_begun(reader, args, flows);
    switch (event.type) {
    case PB_TYPE_SLICE_BEGIN:
    case PB_TYPE_INSTANT: return begin_event(reader, tables, &event, time);
    case PB_TYPE_SLICE_END: return end_event(reader, tables, &event, time);
    case PB_TYPE_COUNTER: return counter_event(reader, &event, packet->counter, time);
    default: reader->left_out++; return 0;
    }
}

struct stage_event {
    uint64_t id, duration, stage, kernel, delay;
    bool no_correlation;
};

static int take_launch(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                       struct protobuf_reader launch)
{
    struct pftrace_sizes sizes = {0};
    struct protobuf_field field;
    struct arg arg;
    while (protobuf_next(&launch, &field)) {
        if (field.number != PB_LAUNCH_ARGS ||
            !pftrace_compute_arg(tables, reader->interning.strings, protobuf_inside(&field), &arg, &sizes))
            continue;
        if (push_arg(reader, &arg) != 0)
            return -1;
    }
    return 0;
}

static int read_stage_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                            struct protobuf_reader message, struct stage_event *event)
{
    struct protobuf_field field;
    int result = 0;
    *event = (struct stage_event){0};
    while (result == 0 && protobuf_next(&message, &field)) {
        switch (field.number) {
        case PB_STAGE_EVENT_ID: event->id = field.value; break;
        case PB_STAGE_DURATION: event->duration = field.value; break;
        case PB_STAGE_STAGE_IID: event->stage = field.value; break;
        case PB_STAGE_KERNEL_IID: event->kernel = field.value; break;
        case PB_STAGE_LAUNCH: result = take_launch(reader, tables, protobuf_inside(&field)); break;
        case PFTRACE_OWN_NO_CORRELATION: event->no_correlation = true; break;
        case PFTRACE_OWN_FLOW_DELAY: event->delay = field.value; break;
        default: break;
        }
    }
    return result;
}

int pftrace_stage_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                        const struct pftrace_packet *packet, uint64_t time)
{
    struct pftrace_event *to = &reader->event;
    struct stage_event event;
    struct pftrace_specification stage = {.name = PFTRACE_UNKNOWN, .category.text = PFTRACE_UNKNOWN};
    if (read_stage_event(reader, tables, protobuf_inside(&packet->body), &event) != 0)
        return -1;
    if (event.stage < tables->specifications.count)
        stage = tables->specifications.items[event.stage];
    uint64_t *flow = event.id != 0 ? array_push(&reader->flows) : NULL;
    if (event.id != 0 && !flow)
        return error_no_memory("the trace's names");
    if (flow)
        *flow = event.id;
    to->what = PFTRACE_SLICE;
    to->is_head = true;
    set_row(to, tables->uuid);
    set_name(reader, stage.name);
    set_category(reader, &stage.category);
    to->start = time;
    to->end = event.duration < PFTRACE_TIME_MOST ? time + event.duration : time;
    to->flow_time = event.delay < PFTRACE_TIME_MOST ? time + event.delay : time;
    if (event.kernel < tables->kernels.count && tables->kernels.items[event.kernel].number != 0) {
        to->shared = &tables->kernels.items[event.kernel];
        reader->own_correlation |= to->shared->tells_correlation;
    }
    set_correlation(reader, event.no_correlation);
    return 1;
}

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
    size_t known = reader->counter_tracks.count;
    struct pftrace_counter_track *track = PUT_ITEM(&reader->counter_tracks, &reader->counters, descriptor->uuid);
    if (!track)
        return error_no_memory("the trace's names");
    if (reader->counter_tracks.count == known)
        return 0;
    track->pid = pid_of(descriptor->parent);
    track->counter = intern_bytes(reader, descriptor->counter.bytes ? &descriptor->counter : &descriptor->name);
    track->series = intern_bytes(reader, &descriptor->series);
    return 0;
}

/* Copies a field to event.text, with a NUL behind it. Returns 1, or -1 after error(). */
static int keep_as_text(struct pftrace_reader *reader, const struct protobuf_field *field)
{
    if (!field->bytes)
        return 1;
    reader->text.length = 0;
    buffer_bytes(&reader->text, field->bytes, field->size);
    buffer_char(&reader->text, '\0');
    reader->event.text = reader->text.data;
    reader->event.length = field->size;
    return reader->text.failure ? error_no_memory("the trace's names") : 1;
}

int pftrace_descriptor_event(struct pftrace_reader *reader, const struct pftrace_packet *packet)
{
    struct pftrace_event *to = &reader->event;
    struct descriptor descriptor;
    read_descriptor(protobuf_inside(&packet->body), &descriptor);
    if (descriptor.is_counter)
        return counter_track(reader, &descriptor);
    if (descriptor.uuid & (PFTRACE_UUID_ASYNC | PFTRACE_UUID_RANGES) || descriptor.uuid >> 32 == 0)
        return 0; /* events on the track repeat it */
    if (!descriptor.name.bytes)
        return 0;
    set_row(to, descriptor.uuid);
    to->what = to->tid == 0 ? PFTRACE_PROCESS : PFTRACE_THREAD;
    to->is_gpu = to->tid == 0 && !descriptor.is_process;
    to->sort_index = descriptor.rank;
    to->owner = (uint32_t)descriptor.owner;
    uint32_t name = intern_bytes(reader, &descriptor.name);
    if (descriptor.name.bytes && name == INTERN_NO_MEMORY)
        return error_no_memory("the trace's names");
    set_name(reader, name);
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
        return error_no_memory("the trace's names");
    reader->event.what = PFTRACE_METADATA;
    set_name(reader, name);
    return keep_as_text(reader, &value);
}
