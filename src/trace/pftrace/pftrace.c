/*
 * Perfetto's own format: see trace/pftrace/fields.h for how it is used.
 *
 * Flows. Perfetto binds them to slices, not to times: a call tells the numbers of the GPU work it started
 * (gpu_correlation), which is told its number itself (event_id). So a slice waits for the flows that follow it. Work
 * that no flow leads to has the number 0. The argument "correlation" is the flow's number unless it is written.
 */
#include <string.h>

#include "common/protobuf.h"
#include "trace/pftrace/pftrace_state.h"

/* A section that has become this long ends: readers hold one or two for each of their threads. Each tells names of its
 * own, which makes the file the longer the shorter sections are. */
#define SECTION_BYTES ((uint64_t)512 << 10)

void pftrace_flush(struct writer *writer)
{
    struct pftrace_state *state = writer->state;
    struct pftrace_pending *pending = &state->pending;
    if (pending->what == PFTRACE_CALL)
        pftrace_flush_call(writer, state, pending);
    else if (pending->what == PFTRACE_WORK)
        pftrace_flush_work(writer, state, pending);
    pending->what = PFTRACE_NOTHING;
    pending->flows.count = 0;
    pending->delay = 0;
}

static void begin_section(struct writer *writer, uint64_t written)
{
    struct pftrace_state *state = writer->state;
    pftrace_sequences_release(&state->sequences);
    pftrace_sequences_init(&state->sequences);
    state->body.length = 0;
    protobuf_put_u64(&state->body, PFTRACE_OWN_SECTION, 1);
    pftrace_plain_packet(writer->buffer, &state->body);
    state->in_section = true;
    state->section_start = written;
}

/* Before each event; gives the state, or NULL after a failure. */
static struct pftrace_state *begin_event(struct writer *writer)
{
    struct pftrace_state *state = writer->state;
    uint64_t written = writer->buffer->total + writer->buffer->length;
    if (!state)
        return NULL;
    pftrace_flush(writer);
    if (!state->in_section || written - state->section_start > SECTION_BYTES)
        begin_section(writer, written);
    writer->events++;
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
    case CATEGORY_GPU_GRAPH: return PFTRACE_LANE_WORK;
    case CATEGORY_USER_ANNOTATION: return PFTRACE_LANE_RANGES;
    default: return PFTRACE_LANE_CALLS;
    }
}

static void write_slice(struct writer *writer, const struct slice *slice)
{
    struct pftrace_state *state = begin_event(writer);
    enum pftrace_lane lane = lane_of(slice);
    if (!state)
        return;
    struct pftrace_pending *pending = &state->pending;
    struct pftrace_sequence *sequence = pftrace_sequence_find(&state->sequences, slice->row, lane);
    if (sequence && !sequence->begun && lane == PFTRACE_LANE_RANGES)
        pftrace_describe_ranges(writer, slice->row);
    sequence = pftrace_sequence_of(writer, slice->row, lane);
    if (!sequence)
        return;
    pending->put = (struct pftrace_put){.sequence = sequence, .hold_correlation = true};
    pending->row = slice->row;
    pending->start = pftrace_time(writer, slice->start);
    pending->end = pftrace_time(writer, slice->end);
    pending->what = lane == PFTRACE_LANE_WORK ? PFTRACE_WORK : PFTRACE_CALL;
    if (pending->what == PFTRACE_WORK)
        pftrace_put_work(state, pending, slice);
    else
        pftrace_put_call(state, pending, slice);
}

static void write_instant(struct writer *writer, const struct slice *instant)
{
    if (begin_event(writer))
        pftrace_write_instant(writer, instant);
}

static void write_async(struct writer *writer, const struct async_slice *slice)
{
    if (begin_event(writer))
        pftrace_write_async(writer, slice);
}

static void write_counter(struct writer *writer, const struct counter *counter)
{
    if (begin_event(writer))
        pftrace_write_counter(writer, counter);
}

/* A flow follows its slice: of what comes otherwise nothing is drawn. */
static void add_flow(struct writer *writer, const struct flow *flow, int what)
{
    struct pftrace_state *state = writer->state;
    struct pftrace_pending *pending = &state->pending;
    if (!state || (int)pending->what != what || pending->row.pid != flow->row.pid || pending->row.tid != flow->row.tid)
        return;
    uint64_t *id = array_push(&pending->flows);
    if (!id) {
        pftrace_fail(writer);
        return;
    }
    *id = flow->id;
    uint64_t time = pftrace_time(writer, flow->time);
    pending->delay = what == PFTRACE_WORK && time > pending->start ? time - pending->start : 0;
}

static void write_flow_start(struct writer *writer, const struct flow *flow)
{
    add_flow(writer, flow, PFTRACE_CALL);
}

static void write_flow_end(struct writer *writer, const struct flow *flow)
{
    add_flow(writer, flow, PFTRACE_WORK);
}

static void write_mark(struct writer *writer, uint64_t mark)
{
    struct pftrace_state *state = writer->state;
    state->body.length = 0;
    protobuf_put_u64(&state->body, PFTRACE_OWN_WHOLE, mark);
    pftrace_plain_packet(writer->buffer, &state->body);
}

/* Of the whole file, which it begins when it comes first. NULL after a failure. */
static struct pftrace_state *begin_file(struct writer *writer)
{
    if (!writer->state && pftrace_state_new(writer, NULL))
        write_mark(writer, PFTRACE_FILE_BEGINS);
    return writer->state;
}

static void write_metadata(struct writer *writer, const char *key, const char *value, size_t size)
{
    struct pftrace_state *state = begin_file(writer);
    if (!state)
        return;
    pftrace_flush(writer);
    struct buffer *packet = &state->body;
    packet->length = 0;
    size_t attributes = protobuf_begin(packet, PB_PACKET_TRACE_ATTRIBUTES);
    size_t attribute = protobuf_begin(packet, PB_ATTRIBUTES_ATTRIBUTE);
    protobuf_put_text(packet, PB_ATTRIBUTE_KEY, key);
    protobuf_put_bytes(packet, PB_ATTRIBUTE_STRING_VALUE, value, size);
    protobuf_end(packet, attribute);
    protobuf_end(packet, attributes);
    pftrace_plain_packet(writer->buffer, packet);
    if (strcmp(key, "deviceProperties") == 0)
        pftrace_write_gpus(writer, value, size);
}

static void write_begin(struct writer *writer, uint64_t base)
{
    struct pftrace_state *state = begin_file(writer);
    writer->base = base;
    writer->any = true;
    if (!state)
        return;
    pftrace_flush(writer);
    pftrace_relate_clocks(&state->body, writer->buffer, base);
}

static void write_process(struct writer *writer, const struct row_name *process)
{
    if (!writer->state)
        return;
    pftrace_flush(writer);
    pftrace_write_process(writer, process);
}

static void write_thread(struct writer *writer, const struct row_name *thread)
{
    if (!writer->state)
        return;
    pftrace_flush(writer);
    pftrace_write_thread(writer, thread);
}

static void begin_piece(struct writer *piece)
{
    const struct pftrace_state *whole = piece->state;
    pftrace_state_new(piece, whole ? whole->rows : NULL);
}

static void write_finish(struct writer *writer)
{
    if (!writer->state)
        return;
    pftrace_flush(writer);
    write_mark(writer, PFTRACE_FILE_ENDS);
}

const struct writer_format pftrace = {
    .name = "pftrace",
    .piece_scale = 16,
    .metadata = write_metadata,
    .begin = write_begin,
    .process = write_process,
    .thread = write_thread,
    .piece = begin_piece,
    .slice = write_slice,
    .instant = write_instant,
    .async = write_async,
    .counter = write_counter,
    .flow_start = write_flow_start,
    .flow_end = write_flow_end,
    .finish = write_finish,
    .release = pftrace_state_release,
};
