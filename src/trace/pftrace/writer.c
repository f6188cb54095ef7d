/*
 * Writes Perfetto's own format. trace/pftrace/fields.h describes how it is used.
 *
 * Perfetto binds flows to slices, not to times: a call has the numbers of the GPU operations that it started
 * (gpu_correlation), and each operation has its number (event_id). So a slice is held until the flows that follow it
 * are known. A GPU operation without a flow has the number 0. The argument "correlation" is written only if it differs
 * from the flow's number.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/protobuf.h"
#include "trace/pftrace/writer_events.h"
#include "trace/pftrace/writer_gpus.h"

/* Returns SINK's new state, with the ROWS of the whole (NULL: its own). Returns NULL without memory, after setting the
 * failure of the sink's buffer. */
static struct pftrace_state *pftrace_state_new(struct sink *sink, const struct pftrace_rows *rows)
{
    struct pftrace_state *state = calloc(1, sizeof(*state));
    sink->state = state;
    if (!state) {
        pftrace_fail(sink);
        return NULL;
    }
    state->rows = rows ? rows : &state->own_rows;
    pftrace_sequences_init(&state->sequences);
    struct buffer *const buffers[] = {&state->body, &state->launch, &state->shared, &state->text, &state->name};
    for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
        buffer_init_memory(buffers[i]);
    return state;
}

/* Writes the slice that is held, and frees the state. */
static void pftrace_state_release(struct sink *sink)
{
    struct pftrace_state *state = sink->state;
    if (!state)
        return;
    pftrace_flush(sink);
    struct buffer *const buffers[] = {&state->body, &state->launch, &state->shared, &state->text, &state->name};
    for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
        buffer_release(buffers[i]);
    pftrace_sequences_release(&state->sequences);
    pftrace_rows_release(&state->own_rows);
    array_release(&state->pending.flows);
    array_release(&state->pending.links);
    free(state);
    sink->state = NULL;
}

/* Adds a flow between two TrackEvents. */
static void add_link(struct sink *sink, struct pftrace_pending *pending, const struct flow *flow, uint32_t field)
{
    struct pftrace_link *link = array_push(&pending->links);
    if (!link) {
        pftrace_fail(sink);
        return;
    }
    bool operators = flow->category == CATEGORY_FWDBWD;
    *link = (struct pftrace_link){field, flow->id | (operators ? PFTRACE_FLOW_OF_OPERATOR : PFTRACE_FLOW_OF_CALL)};
}

static void add_flow(struct sink *sink, struct pftrace_pending *pending, const struct flow *flow)
{
    uint64_t *id = array_push(&pending->flows);
    if (!id) {
        pftrace_fail(sink);
        return;
    }
    *id = flow->id;
    uint64_t time = pftrace_time(sink, flow->time);
    pending->delay = pending->what == PFTRACE_GPU_OP && time > pending->start ? time - pending->start : 0;
}

/* Returns the slice that FLOW follows, or NULL: a flow that follows another event is dropped. */
static struct pftrace_pending *slice_of_flow(struct sink *sink, const struct flow *flow)
{
    struct pftrace_state *state = sink->state;
    struct pftrace_pending *pending = state ? &state->pending : NULL;
    bool follows = pending && pending->what != PFTRACE_NOTHING && pending->row.pid == flow->row.pid &&
                   pending->row.tid == flow->row.tid;
    return follows ? pending : NULL;
}

static void write_flow(struct sink *sink, const struct flow *flow)
{
    struct pftrace_pending *pending = slice_of_flow(sink, flow);
    bool between_operators = flow->category == CATEGORY_FWDBWD;
    if (!pending)
        return;
    if (pending->what != PFTRACE_CALL && flow->ends && !between_operators)
        add_flow(sink, pending, flow);
    if (pending->what != PFTRACE_CALL)
        return;
    if (flow->ends)
        add_link(sink, pending, flow, PB_EVENT_TERMINATING_FLOW_IDS);
    else if (pending->waits || between_operators)
        add_link(sink, pending, flow, PB_EVENT_FLOW_IDS);
    else
        add_flow(sink, pending, flow);
}

static void write_mark(struct sink *sink, uint64_t mark)
{
    struct pftrace_state *state = sink->state;
    state->body.length = 0;
    protobuf_put_u64(&state->body, PFTRACE_OWN_WHOLE, mark);
    pftrace_plain_packet(sink->buffer, &state->body);
}

/* Returns the state of the whole file, and begins the file at the first call. Returns NULL after a failure. */
static struct pftrace_state *begin_file(struct sink *sink)
{
    if (!sink->state && pftrace_state_new(sink, NULL))
        write_mark(sink, PFTRACE_FILE_BEGINS);
    return sink->state;
}

static void write_metadata(struct sink *sink, const char *key, const char *value, size_t size)
{
    struct pftrace_state *state = begin_file(sink);
    if (!state)
        return;
    pftrace_flush(sink);
    struct buffer *packet = &state->body;
    packet->length = 0;
    size_t attributes = protobuf_begin(packet, PB_PACKET_TRACE_ATTRIBUTES);
    size_t attribute = protobuf_begin(packet, PB_ATTRIBUTES_ATTRIBUTE);
    protobuf_put_text(packet, PB_ATTRIBUTE_KEY, key);
    protobuf_put_bytes(packet, PB_ATTRIBUTE_STRING_VALUE, value, size);
    protobuf_end(packet, attribute);
    protobuf_end(packet, attributes);
    pftrace_plain_packet(sink->buffer, packet);
    if (strcmp(key, "deviceProperties") == 0)
        pftrace_write_gpus(sink, value, size);
    if (strcmp(key, "stackFrames") == 0)
        pftrace_read_frames(sink, value, size);
}

static void write_begin(struct sink *sink, uint64_t base)
{
    struct pftrace_state *state = begin_file(sink);
    sink->base = base;
    sink->any = true;
    if (!state)
        return;
    pftrace_flush(sink);
    pftrace_relate_clocks(&state->body, sink->buffer, base);
}

static void write_process(struct sink *sink, const struct row_name *process)
{
    if (!sink->state)
        return;
    pftrace_flush(sink);
    pftrace_write_process(sink, process);
}

static void write_thread(struct sink *sink, const struct row_name *thread)
{
    if (!sink->state)
        return;
    pftrace_flush(sink);
    pftrace_write_thread(sink, thread);
}

static void begin_piece(struct sink *piece)
{
    const struct pftrace_state *whole = piece->state;
    pftrace_state_new(piece, whole ? whole->rows : NULL);
}

static void write_finish(struct sink *sink)
{
    if (!sink->state)
        return;
    pftrace_flush(sink);
    write_mark(sink, PFTRACE_FILE_ENDS);
}

const struct sink_format pftrace = {
    .name = "pftrace",
    .piece_scale = 16,
    .metadata = write_metadata,
    .begin = write_begin,
    .process = write_process,
    .thread = write_thread,
    .piece = begin_piece,
    .slice = pftrace_write_slice,
    .instant = pftrace_write_instant,
    .async = pftrace_write_async,
    .counter = pftrace_write_counter,
    .flow = write_flow,
    .finish = write_finish,
    .release = pftrace_state_release,
};
