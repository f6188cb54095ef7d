/*
 * TrackEvents: calls, ranges, instants, and ranges that need not nest.
 *
 * Perfetto sorts all packets by time, those of one time by their place in the file, and an END ends the slice of its
 * track that began last. So what ends at a time must stand before what begins at it, but for slices without duration;
 * and BEGIN and END of a slice stand together, for those who read the file as it comes.
 * Within one sort of slices of a thread this holds, as they are written in the order of their ends. NVTX ranges come
 * from elsewhere and before all calls: one that begins at the very time at which a call ended would end in its stead.
 * They are therefore a track of their own below the thread's, as they are in other tools (PFTRACE_LANE_RANGES).
 * GPU work has a duration and so no such rule.
 */
#include <string.h>

#include "common/protobuf.h"
#include "trace/pftrace/pftrace_state.h"

/* --- interned names --- */

static uint64_t category_iid(struct pftrace_state *state, struct pftrace_sequence *sequence, enum category category,
                             const char *other)
{
    bool is_new;
    if (!other && sequence->category_iids[category] != 0)
        return sequence->category_iids[category];
    const char *text = other ? other : slice_categories[category];
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

void pftrace_flush_call(struct writer *writer, struct pftrace_state *state, struct pftrace_pending *pending)
{
    if (pending->put.has_correlation && !pftrace_told_by_arrow(pending))
        pftrace_put_correlation(&pending->put, pending->put.correlation);
    if (!pending->put.has_correlation && pending->arrows.count > 0)
        pftrace_add_own(&state->sequences, PFTRACE_OWN_NO_CORRELATION, 1);
    if (pending->arrows.count > 0)
        put_arrows(&state->body, pending);
    pftrace_send(writer, pending->put.sequence, pending->start, PB_PACKET_TRACK_EVENT);
    send_end(writer, pending->put.sequence, pending->end);
}

void pftrace_put_call(struct pftrace_state *state, struct pftrace_pending *pending, const struct slice *slice)
{
    put_event(state, &pending->put, PB_TYPE_SLICE_BEGIN, slice->category, slice->other_category, &slice->name,
              slice->args);
}

void pftrace_describe_ranges(struct writer *writer, struct row row)
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

void pftrace_write_instant(struct writer *writer, const struct slice *instant)
{
    struct pftrace_state *state = writer->state;
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

void pftrace_write_async(struct writer *writer, const struct async_slice *slice)
{
    struct pftrace_state *state = writer->state;
    uint64_t uuid = slice->id | PFTRACE_UUID_ASYNC;
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
