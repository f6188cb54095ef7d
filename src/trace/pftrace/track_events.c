/*
 * TrackEvents: calls, ranges, instants, counters.
 */
#include "trace/pftrace/reader_state.h"

/* --- DebugAnnotation --- */

static void take_annotation_text(struct pftrace_arg *arg, const struct protobuf_field *field)
{
    arg->kind = field->number == PB_ANNOTATION_JSON ? PFTRACE_ARG_JSON : PFTRACE_ARG_TEXT;
    arg->text = field->bytes ? (const char *)field->bytes : "";
    arg->length = field->size;
}

static void take_annotation_iid(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                                struct pftrace_arg *arg, uint64_t iid)
{
    uint32_t text = PFTRACE_LOOK_UP(&tables->texts, iid, PFTRACE_UNKNOWN);
    arg->kind = PFTRACE_ARG_TEXT;
    arg->text = pftrace_text(reader, text);
    arg->length = text == PFTRACE_UNKNOWN ? 0 : interner_at(reader->interning.strings, text)->length;
}

static void name_arg(struct pftrace_reader *reader, uint32_t name, struct pftrace_arg *arg)
{
    arg->name_number = name;
    arg->name = pftrace_text(reader, name);
    arg->name_length = name == PFTRACE_UNKNOWN ? 0 : interner_at(reader->interning.strings, name)->length;
}

static int take_annotation(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                           struct protobuf_reader annotation)
{
    struct pftrace_arg arg = {.name = "", .name_number = PFTRACE_UNKNOWN, .kind = PFTRACE_ARG_BOOL};
    struct protobuf_field field;
    while (protobuf_next(&annotation, &field)) {
        switch (field.number) {
        case PB_ANNOTATION_NAME_IID:
            name_arg(reader, PFTRACE_LOOK_UP(&tables->arg_names, field.value, PFTRACE_UNKNOWN), &arg);
            break;
        case PB_ANNOTATION_BOOL:
            arg.kind = PFTRACE_ARG_BOOL;
            arg.u64 = field.value;
            break;
        case PB_ANNOTATION_UINT:
            arg.kind = PFTRACE_ARG_U64;
            arg.u64 = field.value;
            break;
        case PB_ANNOTATION_INT:
            arg.kind = PFTRACE_ARG_I64;
            arg.i64 = (int64_t)field.value;
            break;
        case PB_ANNOTATION_DOUBLE:
            arg.kind = PFTRACE_ARG_REAL;
            arg.real = protobuf_double(&field);
            break;
        case PB_ANNOTATION_POINTER:
            arg.kind = PFTRACE_ARG_HEX;
            arg.u64 = field.value;
            break;
        case PB_ANNOTATION_STRING:
        case PB_ANNOTATION_JSON: take_annotation_text(&arg, &field); break;
        case PB_ANNOTATION_STRING_IID: take_annotation_iid(reader, tables, &arg, field.value); break;
        default: break;
        }
    }
    return pftrace_push_arg(reader, &arg);
}

/* --- TrackEvent --- */

struct track_event {
    uint64_t type, category, name, uuid;
    bool no_correlation, is_double;
    uint64_t follow;
    uint64_t counter; /* its bits */
};

static int take_arrows(struct pftrace_reader *reader, struct protobuf_reader correlation)
{
    struct protobuf_field field;
    while (protobuf_next(&correlation, &field)) {
        uint64_t *arrow = field.number == PB_CORRELATION_SUBMISSION_IDS ? array_push(&reader->arrows) : NULL;
        if (arrow)
            *arrow = field.value;
        else if (field.number == PB_CORRELATION_SUBMISSION_IDS)
            return pftrace_no_memory();
    }
    return 0;
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
        case PB_EVENT_GPU_CORRELATION: result = take_arrows(reader, protobuf_inside(&field)); break;
        default: break;
        }
    }
    return result;
}

/* BEGIN and INSTANT. */
static int begin_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                       const struct track_event *event, uint64_t time)
{
    struct pftrace_event *to = &reader->event;
    struct pftrace_name none = {.text = PFTRACE_UNKNOWN};
    struct pftrace_name name = PFTRACE_LOOK_UP(&tables->names, event->name, none);
    to->what = event->type == PB_TYPE_INSTANT ? PFTRACE_INSTANT : PFTRACE_SLICE;
    pftrace_set_row(to, tables->uuid);
    pftrace_set_name(reader, name.text);
    pftrace_set_category(reader, PFTRACE_LOOK_UP(&tables->categories, event->category, PFTRACE_UNKNOWN));
    to->start = to->arrow_time = time;
    to->cbid = name.cbid;
    if (event->uuid & PFTRACE_UUID_ASYNC) {
        to->what = PFTRACE_ASYNC;
        to->id = event->uuid & ~PFTRACE_UUID_ASYNC;
    }
    reader->open = event->type == PB_TYPE_SLICE_BEGIN;
    reader->open_track = event->uuid;
    pftrace_set_correlation(reader, event->no_correlation);
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
    to->end_pid = pftrace_uuid_pid(tables->uuid);
    to->end_tid = pftrace_uuid_tid(tables->uuid);
    return 1;
}

static int counter_event(struct pftrace_reader *reader, const struct track_event *event, uint64_t large, uint64_t time)
{
    struct pftrace_event *to = &reader->event;
    const uint64_t *index = map_get(&reader->counters, event->uuid);
    if (!index) {
        reader->left_out++;
        return 0;
    }
    const struct pftrace_counter_track *track = &reader->counter_tracks.items[*index - 1];
    struct pftrace_arg arg = {.kind = event->is_double ? PFTRACE_ARG_REAL : PFTRACE_ARG_I64};
    arg.u64 = event->counter;
    if (large > 0) {
        arg.kind = PFTRACE_ARG_U64;
        arg.u64 = large;
    }
    name_arg(reader, track->series, &arg);
    to->what = PFTRACE_COUNTER;
    to->pid = track->pid;
    to->tid = 0;
    to->start = time;
    to->one_value = track->series == PFTRACE_UNKNOWN;
    pftrace_set_name(reader, track->counter);
    return pftrace_push_arg(reader, &arg) != 0 ? -1 : event->follow == 0;
}

/* Whether a packet of this type tells more of what was begun. */
static bool goes_on(const struct pftrace_reader *reader, uint64_t type)
{
    return reader->open ? type == PB_TYPE_SLICE_END : type == PB_TYPE_COUNTER && reader->event.what == PFTRACE_COUNTER;
}

/* What was begun is not ended: its first arguments and arrows go. */
static void leave_begun(struct pftrace_reader *reader, size_t args, size_t arrows)
{
    reader->left_out++;
    reader->open = reader->own_correlation = false;
    reader->text.length = 0;
    reader->args.count -= args;
    reader->arrows.count -= arrows;
    for (size_t i = 0; i < reader->args.count; i++) {
        reader->args.items[i] = reader->args.items[i + args];
        reader->own_correlation |= reader->args.items[i].name_number == reader->correlation;
    }
    for (size_t i = 0; i < reader->arrows.count; i++)
        reader->arrows.items[i] = reader->arrows.items[i + arrows];
}

int pftrace_track_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                        const struct pftrace_packet *packet, uint64_t time)
{
    struct track_event event;
    size_t args = reader->args.count, arrows = reader->arrows.count;
    if (read_track_event(reader, tables, packet, &event) != 0)
        return -1;
    if ((reader->open || args > 0) && !goes_on(reader, event.type))
        leave_begun(reader, args, arrows);
    switch (event.type) {
    case PB_TYPE_SLICE_BEGIN:
    case PB_TYPE_INSTANT: return begin_event(reader, tables, &event, time);
    case PB_TYPE_SLICE_END: return end_event(reader, tables, &event, time);
    case PB_TYPE_COUNTER: return counter_event(reader, &event, packet->counter, time);
    default: reader->left_out++; return 0;
    }
}
