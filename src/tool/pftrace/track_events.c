/*
 * TrackEvents: calls, ranges, instants, counters.
 */
#include <string.h>

#include "tool/pftrace/reader_state.h"

/* --- DebugAnnotation --- */

static void take_annotation_text(struct pftrace_reader *reader, struct pftrace_arg *arg,
                                 const struct protobuf_field *field)
{
    arg->kind = field->number == PB_ANNOTATION_JSON ? PFTRACE_ARG_JSON : PFTRACE_ARG_TEXT;
    arg->text = field->bytes ? (const char *)field->bytes : "";
    arg->length = field->size;
    pftrace_keep_text(reader, arg);
}

static void take_annotation_iid(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                                struct pftrace_arg *arg, uint64_t iid)
{
    arg->kind = PFTRACE_ARG_TEXT;
    arg->text = pftrace_text(reader, PFTRACE_LOOK_UP(&tables->texts, iid, PFTRACE_UNKNOWN));
    arg->length = strlen(arg->text);
}

static int take_annotation(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                           struct protobuf_reader annotation)
{
    struct pftrace_arg arg = {.name = "", .kind = PFTRACE_ARG_BOOL};
    struct protobuf_field field;
    while (protobuf_next(&annotation, &field)) {
        switch (field.number) {
        case PB_ANNOTATION_NAME_IID:
            arg.name = pftrace_text(reader, PFTRACE_LOOK_UP(&tables->arg_names, field.value, PFTRACE_UNKNOWN));
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
        case PB_ANNOTATION_JSON: take_annotation_text(reader, &arg, &field); break;
        case PB_ANNOTATION_STRING_IID: take_annotation_iid(reader, tables, &arg, field.value); break;
        default: break;
        }
    }
    arg.name_length = strlen(arg.name);
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
                            struct protobuf_reader message, struct track_event *event)
{
    struct protobuf_field field;
    int result = 0;
    *event = (struct track_event){.uuid = tables->uuid};
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
        case PFTRACE_OWN_NO_CORRELATION: event->no_correlation = true; break;
        case PFTRACE_OWN_SERIES_FOLLOW: event->follow = field.value; break;
        default: break;
        }
    }
    return result;
}

/* BEGIN and INSTANT. */
static int begin_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                       const struct track_event *event, uint64_t time, struct pftrace_event *to)
{
    struct pftrace_name none = {.text = PFTRACE_UNKNOWN};
    struct pftrace_name name = PFTRACE_LOOK_UP(&tables->names, event->name, none);
    to->what = event->type == PB_TYPE_INSTANT ? PFTRACE_INSTANT : PFTRACE_SLICE;
    pftrace_set_row(to, tables->uuid);
    pftrace_set_name(reader, to, name.text);
    to->category = pftrace_text(reader, PFTRACE_LOOK_UP(&tables->categories, event->category, PFTRACE_UNKNOWN));
    to->start = to->arrow_time = time;
    if (event->uuid & PFTRACE_UUID_ASYNC) {
        to->what = PFTRACE_ASYNC;
        to->id = event->uuid & ~PFTRACE_UUID_ASYNC;
    }
    reader->open = event->type == PB_TYPE_SLICE_BEGIN;
    reader->open_track = event->uuid;
    if (name.cbid != 0 && pftrace_push_number(reader, "cbid", name.cbid - 1) != 0)
        return -1;
    return pftrace_push_correlation(reader, event->no_correlation) != 0 ? -1 : !reader->open;
}

static int end_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                     const struct track_event *event, uint64_t time, struct pftrace_event *to)
{
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

static int counter_event(struct pftrace_reader *reader, const struct track_event *event, uint64_t time,
                         struct pftrace_event *to)
{
    const uint64_t *index = map_get(&reader->counters, event->uuid);
    if (!index) {
        reader->left_out++;
        return 0;
    }
    const struct pftrace_counter_track *track = &reader->counter_tracks.items[*index - 1];
    struct pftrace_arg arg = {.kind = event->is_double ? PFTRACE_ARG_REAL : PFTRACE_ARG_I64};
    arg.u64 = event->counter;
    arg.name = pftrace_text(reader, track->series);
    arg.name_length = strlen(arg.name);
    to->what = PFTRACE_COUNTER;
    to->pid = track->pid;
    to->tid = 0;
    to->start = time;
    to->one_value = track->series == PFTRACE_UNKNOWN;
    pftrace_set_name(reader, to, track->counter);
    return pftrace_push_arg(reader, &arg) != 0 ? -1 : event->follow == 0;
}

int pftrace_track_event(struct pftrace_reader *reader, const struct pftrace_tables *tables,
                        const struct pftrace_packet *packet, uint64_t time, struct pftrace_event *to)
{
    struct track_event event;
    if (read_track_event(reader, tables, protobuf_inside(&packet->body), &event) != 0)
        return -1;
    switch (event.type) {
    case PB_TYPE_SLICE_BEGIN:
    case PB_TYPE_INSTANT: return begin_event(reader, tables, &event, time, to);
    case PB_TYPE_SLICE_END: return end_event(reader, tables, &event, time, to);
    case PB_TYPE_COUNTER: return counter_event(reader, &event, time, to);
    default: reader->left_out++; return 0;
    }
}
