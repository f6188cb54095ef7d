/*
 * Perfetto's own format: see trace/pftrace/fields.h for how it is used.
 *
 * Flows. Perfetto binds them to slices, not to times: a call has the numbers of the GPU operations that it started
 * (gpu_correlation), each of which has its number (event_id). So a slice waits for the flows that follow it. Work
 * that no flow leads to has the number 0. The argument "correlation" is the flow's number unless it is written.
 */
#include "trace/pftrace/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/protobuf.h"

/* A section that has become this long ends: readers hold one or two for each of their threads. Each has names of its
 * own, which makes the file the longer the shorter sections are. */
#define SECTION_BYTES ((uint64_t)512 << 10)

void pftrace_fail(struct sink *sink)
{
    if (sink->buffer->failure == 0)
        sink->buffer->failure = ENOMEM;
}

struct pftrace_sequence *pftrace_sequence_of(struct sink *sink, struct row row, enum pftrace_lane lane)
{
    struct pftrace_state *state = sink->state;
    struct pftrace_sequence *sequence = pftrace_sequence_find(&state->sequences, row, lane);
    if (!sequence) {
        pftrace_fail(sink);
    } else if (!sequence->begun) {
        if (!pftrace_row(state->rows, row))
            pftrace_describe_row(sink, row);
        pftrace_sequence_begin(&state->sequences, sequence, sink->buffer, sink->base);
    }
    return sequence;
}

void pftrace_send(struct sink *sink, struct pftrace_sequence *sequence, uint64_t time, uint32_t field)
{
    struct pftrace_state *state = sink->state;
    pftrace_packet(&state->sequences, sequence, sink->buffer, time, field, state->body.data, state->body.length);
}

uint64_t pftrace_name_hash(const struct name *name)
{
    return hash_bytes(name->text, name->length);
}

void pftrace_put_valid(struct pftrace_state *state, struct buffer *buffer, uint32_t field, const char *text,
                       size_t length)
{
    const char *valid = buffer_valid_text(&state->text, text, &length);
    protobuf_put_bytes(buffer, field, valid, length);
}

bool pftrace_is_flow_number(const struct pftrace_pending *pending)
{
    return pending->put.has_correlation && pending->flows.count > 0 &&
           pending->flows.items[0] == pending->put.correlation;
}

/* The state of SINK, with the ROWS of the whole; NULL: its own. NULL without memory: then the sink's buffer has
 * failed. */
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

/* Writes what was held back, and frees it. */
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

void pftrace_flush(struct sink *sink)
{
    struct pftrace_state *state = sink->state;
    struct pftrace_pending *pending = &state->pending;
    if (pending->what == PFTRACE_CALL)
        pftrace_flush_call(sink, state, pending);
    else if (pending->what == PFTRACE_GPU_OP)
        pftrace_flush_gpu_op(sink, state, pending);
    pending->what = PFTRACE_NOTHING;
    pending->flows.count = pending->links.count = 0;
    pending->delay = 0;
}

struct pftrace_state *pftrace_begin_event(struct sink *sink)
{
    struct pftrace_state *state = sink->state;
    uint64_t written = sink->buffer->total + sink->buffer->length;
    if (!state)
        return NULL;
    pftrace_flush(sink);
    if (!state->in_section || written - state->section_start > SECTION_BYTES) {
        pftrace_sequences_release(&state->sequences);
        pftrace_sequences_init(&state->sequences);
        state->body.length = 0;
        protobuf_put_u64(&state->body, PFTRACE_OWN_SECTION, 1);
        pftrace_plain_packet(sink->buffer, &state->body);
        state->in_section = true;
        state->section_start = written;
    }
    sink->events++;
    return state;
}

static enum pftrace_lane lane_of(const struct slice *slice)
{
    if (slice->other_category)
        return PFTRACE_LANE_CALLS;
    switch (slice->category) {
    case CATEGORY_KERNEL:
    case CATEGORY_GPU_MEMCPY:
    case CATEGORY_GPU_MEMSET:
    case CATEGORY_GPU_GRAPH: return PFTRACE_LANE_GPU_OPS;
    case CATEGORY_USER_ANNOTATION: return PFTRACE_LANE_RANGES;
    default: return PFTRACE_LANE_CALLS;
    }
}

/* A call that waits, such as cudaStreamSynchronize() and hipStreamWaitEvent(). */
static bool waits(const struct slice *slice)
{
    return category_in(slice->category, CATEGORIES_API) && (memmem(slice->name.text, slice->name.length, "Sync", 4) ||
                                                            memmem(slice->name.text, slice->name.length, "Wait", 4));
}

static void write_slice(struct sink *sink, const struct slice *slice)
{
    struct pftrace_state *state = pftrace_begin_event(sink);
    enum pftrace_lane lane = lane_of(slice);
    if (!state)
        return;
    struct pftrace_pending *pending = &state->pending;
    struct pftrace_sequence *sequence = pftrace_sequence_find(&state->sequences, slice->row, lane);
    if (sequence && !sequence->begun && lane == PFTRACE_LANE_RANGES)
        pftrace_describe_ranges(sink, slice->row);
    sequence = pftrace_sequence_of(sink, slice->row, lane);
    if (!sequence)
        return;
    pending->put = (struct pftrace_put){.sequence = sequence, .hold_correlation = true};
    pending->row = slice->row;
    pending->start = pftrace_time(sink, slice->start);
    pending->end = pftrace_time(sink, slice->end);
    pending->what = lane == PFTRACE_LANE_GPU_OPS ? PFTRACE_GPU_OP : PFTRACE_CALL;
    pending->waits = lane == PFTRACE_LANE_CALLS && waits(slice);
    if (pending->what == PFTRACE_GPU_OP)
        pftrace_put_gpu_op(state, pending, slice);
    else
        pftrace_put_call(state, pending, slice);
}

/* A flow between two TrackEvents. */
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

/* The slice that FLOW follows; NULL: it follows another event, and nothing is drawn of it. */
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

/* Returns the state of the whole file, and begins the file if that has not happened. NULL after a failure. */
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
    .slice = write_slice,
    .instant = pftrace_write_instant,
    .async = pftrace_write_async,
    .counter = pftrace_write_counter,
    .flow = write_flow,
    .finish = write_finish,
    .release = pftrace_state_release,
};
