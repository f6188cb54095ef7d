/*
 * Perfetto's own format: see tool/pftrace/fields.h for how it is used.
 *
 * Slices of a TrackEvent. Perfetto sorts all packets by time, those of one time by their place in the file, and an END
 * ends the slice of its track that began last. So what ends at a time must stand before what begins at it, but for
 * slices without duration; and BEGIN and END of a slice stand together, for those who read the file as it comes.
 * Within one sort of slices of a thread this holds, as they are written in the order of their ends. NVTX ranges come
 * from elsewhere and before all calls: one that begins at the very time at which a call ended would end in its stead.
 * They are therefore a track of their own below the thread's, as they are in other tools (PFTRACE_LANE_RANGES).
 * GPU work has a duration and so no such rule.
 *
 * Arrows. Perfetto binds them to slices, not to times: a call tells the numbers of the GPU work it started
 * (gpu_correlation), which is told its number itself (event_id). So a slice waits for the arrows that follow it. Work
 * that no arrow leads to has the number 0. The argument "correlation" is the arrow's number unless it is written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/protobuf.h"
#include "tool/write/pftrace_state.h"

/* --- interned names --- */

static uint64_t category_iid(struct pftrace_state *state, struct pftrace_sequence *sequence, enum category category,
                             const char *other)
{
    bool is_new;
    if (!other && sequence->category_iids[category] != 0)
        return sequence->category_iids[category];
    const char *text = other ? other : pftrace_categories[category];
    uint64_t iid = pftrace_iid(sequence, PFTRACE_CATEGORIES, hash_bytes(text, strlen(text)), &is_new);
    if (is_new) {
        size_t entry = protobuf_begin(&sequence->interned, PB_INTERNED_EVENT_CATEGORIES);
        protobuf_put_u64(&sequence->interned, PB_INTERNED_IID, iid);
        pftrace_put_valid(state, &sequence->interned, PB_INTERNED_NAME, text, strlen(text));
        protobuf_end(&sequence->interned, entry);
    }
    if (!other)
        sequence->category_iids[category] = iid;
    return iid;
}

/* Names of calls take the argument "cbid" along, which is the same for all of one name. */
static uint64_t name_iid(struct pftrace_state *state, struct pftrace_sequence *sequence, const struct name *name,
                         uint64_t cbid)
{
    bool is_new;
    uint64_t iid = pftrace_iid(sequence, PFTRACE_NAMES, pftrace_name_hash(name) ^ cbid << 32, &is_new);
    if (is_new) {
        size_t entry = protobuf_begin(&sequence->interned, PB_INTERNED_EVENT_NAMES);
        protobuf_put_u64(&sequence->interned, PB_INTERNED_IID, iid);
        pftrace_put_valid(state, &sequence->interned, PB_INTERNED_NAME, name->text, name->length);
        if (cbid != 0)
            protobuf_put_u64(&sequence->interned, PFTRACE_OWN_CBID, cbid);
        protobuf_end(&sequence->interned, entry);
    }
    return iid;
}

/* --- TrackEvents --- */

/* The body of an event but for what waits for arrows. */
static void put_event(struct pftrace_state *state, struct pftrace_put *put, unsigned type, enum category category,
                      const char *other, const struct name *name, const struct args *args)
{
    struct sink *body = &state->body;
    state->body.length = 0;
    put->body = body;
    put->shared = NULL;
    put->text = &state->text;
    protobuf_put_u64(body, PB_EVENT_TYPE, type);
    protobuf_put_u64(body, PB_EVENT_CATEGORY_IIDS, category_iid(state, put->sequence, category, other));
    pftrace_put_args(put, args);
    protobuf_put_u64(body, PB_EVENT_NAME_IID, name_iid(state, put->sequence, name, put->cbid));
}

static void put_arrows(struct sink *body, const struct pftrace_pending *pending)
{
    size_t message = protobuf_begin(body, PB_EVENT_GPU_CORRELATION);
    for (size_t i = 0; i < pending->arrows.count; i++)
        protobuf_put_u64(body, PB_CORRELATION_SUBMISSION_IDS, pending->arrows.items[i]);
    protobuf_end(body, message);
}

static void send_end(struct writer *writer, struct pftrace_sequence *sequence, uint64_t time)
{
    struct pftrace_state *state = writer->state;
    state->body.length = 0;
    protobuf_put_u64(&state->body, PB_EVENT_TYPE, PB_TYPE_SLICE_END);
    pftrace_send(writer, sequence, time, PB_PACKET_TRACK_EVENT);
}

static void flush_call(struct writer *writer, struct pftrace_state *state, struct pftrace_pending *pending)
{
    if (pending->put.has_correlation && !pftrace_told_by_arrow(pending))
        pftrace_put_correlation(&pending->put, pending->put.correlation);
    if (!pending->put.has_correlation && pending->arrows.count > 0)
        protobuf_put_u64(&state->body, PFTRACE_OWN_NO_CORRELATION, 1);
    if (pending->arrows.count > 0)
        put_arrows(&state->body, pending);
    pftrace_send(writer, pending->put.sequence, pending->start, PB_PACKET_TRACK_EVENT);
    send_end(writer, pending->put.sequence, pending->end);
}

/* --- the format --- */

void pftrace_flush(struct writer *writer)
{
    struct pftrace_state *state = writer->state;
    struct pftrace_pending *pending = &state->pending;
    if (pending->what == PFTRACE_CALL)
        flush_call(writer, state, pending);
    else if (pending->what == PFTRACE_WORK)
        pftrace_flush_work(writer, state, pending);
    pending->what = PFTRACE_NOTHING;
    pending->arrows.count = 0;
    pending->delay = 0;
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

/* A thread's ranges are told below it, in each piece that has some. */
static void describe_ranges(struct writer *writer, struct row row)
{
    struct pftrace_state *state = writer->state;
    uint64_t uuid = pftrace_uuid(row.pid, row.tid);
    state->body.length = 0;
    size_t descriptor = protobuf_begin(&state->body, PB_PACKET_TRACK_DESCRIPTOR);
    protobuf_put_u64(&state->body, PB_TRACK_UUID, uuid | PFTRACE_UUID_RANGES);
    protobuf_put_u64(&state->body, PB_TRACK_PARENT_UUID, uuid);
    protobuf_put_text(&state->body, PB_TRACK_NAME, "NVTX");
    protobuf_end(&state->body, descriptor);
    pftrace_plain_packet(writer->sink, &state->body);
}

static void write_slice(struct writer *writer, const struct slice *slice)
{
    struct pftrace_state *state = writer->state;
    struct pftrace_pending *pending = &state->pending;
    enum pftrace_lane lane = lane_of(slice);
    if (!state)
        return;
    pftrace_flush(writer);
    writer->events++;
    struct pftrace_sequence *sequence = pftrace_sequence_find(&state->sequences, slice->row, lane);
    if (sequence && !sequence->begun && lane == PFTRACE_LANE_RANGES)
        describe_ranges(writer, slice->row);
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
        put_event(state, &pending->put, PB_TYPE_SLICE_BEGIN, slice->category, slice->other_category, &slice->name,
                  slice->args);
}

static void write_instant(struct writer *writer, const struct slice *instant)
{
    struct pftrace_state *state = writer->state;
    if (!state)
        return;
    pftrace_flush(writer);
    writer->events++;
    struct pftrace_put put = {.sequence = pftrace_sequence_of(writer, instant->row, PFTRACE_LANE_CALLS)};
    if (!put.sequence)
        return;
    put_event(state, &put, PB_TYPE_INSTANT, instant->category, instant->other_category, &instant->name, instant->args);
    pftrace_send(writer, put.sequence, pftrace_time(writer, instant->start), PB_PACKET_TRACK_EVENT);
}

/* Ranges that need not nest: a track for each, which Perfetto draws together with others of its name. */
static void describe_async(struct writer *writer, const struct async_slice *slice, uint64_t uuid)
{
    struct pftrace_state *state = writer->state;
    state->body.length = 0;
    size_t descriptor = protobuf_begin(&state->body, PB_PACKET_TRACK_DESCRIPTOR);
    protobuf_put_u64(&state->body, PB_TRACK_UUID, uuid);
    protobuf_put_u64(&state->body, PB_TRACK_PARENT_UUID, pftrace_uuid(slice->begin.pid, 0));
    pftrace_put_valid(state, &state->body, PB_TRACK_NAME, slice->name.text, slice->name.length);
    protobuf_end(&state->body, descriptor);
    pftrace_plain_packet(writer->sink, &state->body);
}

static void write_async(struct writer *writer, const struct async_slice *slice)
{
    struct pftrace_state *state = writer->state;
    uint64_t uuid = slice->id | PFTRACE_UUID_ASYNC;
    if (!state)
        return;
    pftrace_flush(writer);
    writer->events++;
    describe_async(writer, slice, uuid);
    struct pftrace_put put = {.sequence = pftrace_sequence_of(writer, slice->begin, PFTRACE_LANE_CALLS)};
    struct pftrace_sequence *end = pftrace_sequence_of(writer, slice->end_row, PFTRACE_LANE_CALLS);
    if (!put.sequence || !end)
        return;
    put_event(state, &put, PB_TYPE_SLICE_BEGIN, slice->category, slice->other_category, &slice->name, slice->args);
    protobuf_put_u64(&state->body, PB_EVENT_TRACK_UUID, uuid);
    pftrace_send(writer, put.sequence, pftrace_time(writer, slice->start), PB_PACKET_TRACK_EVENT);
    state->body.length = 0;
    protobuf_put_u64(&state->body, PB_EVENT_TYPE, PB_TYPE_SLICE_END);
    protobuf_put_u64(&state->body, PB_EVENT_TRACK_UUID, uuid);
    pftrace_send(writer, end, pftrace_time(writer, slice->end), PB_PACKET_TRACK_EVENT);
}

/* An arrow follows its slice: of what comes otherwise nothing is drawn. */
static void add_arrow(struct writer *writer, const struct arrow *arrow, int what)
{
    struct pftrace_state *state = writer->state;
    struct pftrace_pending *pending = &state->pending;
    if (!state || (int)pending->what != what || pending->row.pid != arrow->row.pid ||
        pending->row.tid != arrow->row.tid)
        return;
    uint64_t *id = array_push(&pending->arrows);
    if (!id) {
        pftrace_fail(writer);
        return;
    }
    *id = arrow->id;
    uint64_t time = pftrace_time(writer, arrow->time);
    pending->delay = what == PFTRACE_WORK && time > pending->start ? time - pending->start : 0;
}

static void write_arrow_start(struct writer *writer, const struct arrow *arrow)
{
    add_arrow(writer, arrow, PFTRACE_CALL);
}

static void write_arrow_end(struct writer *writer, const struct arrow *arrow)
{
    add_arrow(writer, arrow, PFTRACE_WORK);
}

static void write_metadata(struct writer *writer, const char *key, const char *value, size_t size)
{
    struct pftrace_state *state = writer->state ? writer->state : pftrace_state_new(writer, NULL);
    if (!state)
        return;
    pftrace_flush(writer);
    struct sink *packet = &state->body;
    packet->length = 0;
    size_t attributes = protobuf_begin(packet, PB_PACKET_TRACE_ATTRIBUTES);
    size_t attribute = protobuf_begin(packet, PB_ATTRIBUTES_ATTRIBUTE);
    protobuf_put_text(packet, PB_ATTRIBUTE_KEY, key);
    protobuf_put_bytes(packet, PB_ATTRIBUTE_STRING_VALUE, value, size);
    protobuf_end(packet, attribute);
    protobuf_end(packet, attributes);
    pftrace_plain_packet(writer->sink, packet);
}

static void write_begin(struct writer *writer, uint64_t base)
{
    writer->base = base;
    writer->any = true;
    if (!writer->state)
        pftrace_state_new(writer, NULL);
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
    if (writer->state)
        pftrace_flush(writer);
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
    .counter = pftrace_write_counter,
    .arrow_start = write_arrow_start,
    .arrow_end = write_arrow_end,
    .finish = write_finish,
    .release = pftrace_state_release,
};
