/*
 * Rows of a trace as Perfetto's tracks: processes and threads are those of the system, all else are tracks below them.
 * GPU operations are drawn on Perfetto's own tracks of the GPU, which take their names from here.
 */
#include "trace/pftrace/writer.h"

#include <stdlib.h>
#include <string.h>

#include "common/protobuf.h"
#include "trace/tracks.h"

void pftrace_rows_release(struct pftrace_rows *rows)
{
    pftrace_frames_release(rows);
    array_release(&rows->gpus);
    for (size_t i = 0; i < rows->items.count; i++)
        free(rows->items.items[i].name);
    array_release(&rows->items);
    map_release(&rows->by_uuid);
}

const struct pftrace_row *pftrace_row(const struct pftrace_rows *rows, struct row row)
{
    const uint64_t *index = map_get(&rows->by_uuid, pftrace_uuid(row.pid, row.tid));
    return index && *index != 0 ? &rows->items.items[*index - 1] : NULL;
}

static void remember(struct sink *sink, uint64_t uuid, const struct row_name *name)
{
    struct pftrace_state *state = sink->state;
    struct pftrace_row *row = array_push(&state->own_rows.items);
    uint64_t *index = row ? map_put(&state->own_rows.by_uuid, uuid, NULL) : NULL;
    if (index && (row->name = strdup(name->name))) {
        row->owner = name->owner;
        *index = state->own_rows.items.count;
    } else {
        pftrace_fail(sink);
    }
}

static size_t begin_descriptor(struct buffer *packet, uint64_t uuid, const struct row_name *name)
{
    packet->length = 0;
    size_t descriptor = protobuf_begin(packet, PB_PACKET_TRACK_DESCRIPTOR);
    protobuf_put_u64(packet, PB_TRACK_UUID, uuid);
    if (name->sort_index == (int32_t)name->sort_index)
        protobuf_put_u64(packet, PB_TRACK_SIBLING_ORDER_RANK, (uint64_t)name->sort_index);
    else
        protobuf_put_u64(packet, PFTRACE_OWN_RANK, (uint64_t)name->sort_index);
    if (name->label)
        protobuf_put_text(packet, PB_TRACK_DESCRIPTION, name->label);
    return descriptor;
}

static void put_text(struct pftrace_state *state, uint32_t field, const char *text)
{
    pftrace_put_valid(state, &state->body, field, text, strlen(text));
}

void pftrace_write_process(struct sink *sink, const struct row_name *process)
{
    struct pftrace_state *state = sink->state;
    struct buffer *packet = &state->body;
    uint64_t uuid = pftrace_uuid(process->row.pid, 0);
    size_t descriptor = begin_descriptor(packet, uuid, process);
    remember(sink, uuid, process);
    if (process->owner != 0) {
        put_text(state, PB_TRACK_NAME, process->name);
        protobuf_put_u64(packet, PFTRACE_OWN_OWNER, process->owner);
    } else {
        size_t message = protobuf_begin(packet, PB_TRACK_PROCESS);
        protobuf_put_u64(packet, PB_PROCESS_PID, process->row.pid);
        put_text(state, PB_PROCESS_NAME, process->name);
        protobuf_end(packet, message);
    }
    protobuf_put_u64(packet, PB_TRACK_CHILD_ORDERING, PB_CHILD_ORDERING_EXPLICIT);
    protobuf_end(packet, descriptor);
    pftrace_plain_packet(sink->buffer, packet);
}

void pftrace_write_thread(struct sink *sink, const struct row_name *thread)
{
    struct pftrace_state *state = sink->state;
    struct buffer *packet = &state->body;
    uint64_t uuid = pftrace_uuid(thread->row.pid, thread->row.tid);
    size_t descriptor = begin_descriptor(packet, uuid, thread);
    remember(sink, uuid, thread);
    const struct pftrace_row *process = pftrace_row(&state->own_rows, (struct row){thread->row.pid, 0});
    protobuf_put_u64(packet, PB_TRACK_PARENT_UUID, pftrace_uuid(thread->row.pid, 0));
    /* A thread of the system, and no further lane of one. */
    if (process && process->owner == 0 && thread->row.tid < TRACKS_EXTRA_TID) {
        size_t message = protobuf_begin(packet, PB_TRACK_THREAD);
        protobuf_put_u64(packet, PB_THREAD_PID, thread->row.pid);
        protobuf_put_u64(packet, PB_THREAD_TID, thread->row.tid);
        put_text(state, PB_THREAD_NAME, thread->name);
        protobuf_end(packet, message);
    } else {
        put_text(state, PB_TRACK_NAME, thread->name);
    }
    protobuf_end(packet, descriptor);
    pftrace_plain_packet(sink->buffer, packet);
}

void pftrace_describe_row(struct sink *sink, struct row row)
{
    struct pftrace_state *state = sink->state;
    struct buffer *packet = &state->body;
    packet->length = 0;
    size_t descriptor = protobuf_begin(packet, PB_PACKET_TRACK_DESCRIPTOR);
    protobuf_put_u64(packet, PB_TRACK_UUID, pftrace_uuid(row.pid, row.tid));
    size_t message = protobuf_begin(packet, row.tid == 0 ? PB_TRACK_PROCESS : PB_TRACK_THREAD);
    protobuf_put_u64(packet, row.tid == 0 ? PB_PROCESS_PID : PB_THREAD_PID, row.pid);
    if (row.tid != 0)
        protobuf_put_u64(packet, PB_THREAD_TID, row.tid);
    protobuf_end(packet, message);
    protobuf_end(packet, descriptor);
    pftrace_plain_packet(sink->buffer, packet);
}
