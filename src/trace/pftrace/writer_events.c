/*
 * Writes TrackEvents (calls, ranges, instants, asynchronous ranges, counters) and GPU operations.
 *
 * Perfetto sorts all packets by time, and packets of one time by their place in the file. An END ends the slice of its
 * track that began last. So slices that end at a time must precede those that begin then, except slices without
 * duration, and BEGIN and END of a slice follow one another, for programs that read the file in its order. Calls of a
 * thread fulfil this, as they are written in the order of their ends. NVTX ranges have another source and are written
 * before all calls: a range that begins exactly when a call ends would be ended in the call's stead. So they are on a
 * separate track below the thread's, as in other tools (PFTRACE_LANE_RANGES). GPU operations have a duration instead of
 * an END, and need no such order.
 */
#include "trace/pftrace/writer_events.h"

#include <string.h>

#include "common/protobuf.h"
#include "trace/pftrace/writer_args.h"
#include "trace/tracks.h"

/* The length at which a section ends. Readers hold one or two sections per thread. Each section repeats its names, so
 * shorter sections make the file longer. */
#define SECTION_BYTES ((uint64_t)512 << 10)

/* Returns the sequence of a row's lane, begun, or NULL after setting the failure of the sink's buffer. */
static struct pftrace_sequence *sequence_of(struct sink *sink, struct row row, enum pftrace_lane lane)
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

/* Writes state->body as a packet. */
static void send_packet(struct sink *sink, struct pftrace_sequence *sequence, uint64_t time, uint32_t field)
{
    struct pftrace_state *state = sink->state;
    pftrace_packet(&state->sequences, sequence, sink->buffer, time, field, state->body.data, state->body.length);
}

/* Whether the first flow's number equals the argument "correlation". */
static bool is_flow_number(const struct pftrace_pending *pending)
{
    return pending->put.has_correlation && pending->flows.count > 0 &&
           pending->flows.items[0] == pending->put.correlation;
}

/* --- interned names --- */

static uint64_t category_iid(struct pftrace_state *state, struct pftrace_sequence *sequence, enum category category,
                             const char *other)
{
    bool is_new;
    if (!other && sequence->category_iids[category] != 0)
        return sequence->category_iids[category];
    const char *text = other ? other : category_words[category].text;
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

/* Returns the iid of a name. Names of calls include the argument "cbid", which is equal for all calls of a name. */
static uint64_t name_iid(struct pftrace_state *state, struct pftrace_sequence *sequence, const struct name *name,
                         uint64_t cbid)
{
    bool is_new;
    uint64_t iid = pftrace_iid(sequence, PFTRACE_NAMES, hash_bytes(name->text, name->length) ^ cbid << 32, &is_new);
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

/* Writes the body of an event to state->body, except what depends on flows. */
static void put_event(struct pftrace_state *state, struct pftrace_put *put, unsigned type, enum category category,
                      const char *other, const struct name *name, const struct args *args)
{
    struct buffer *body = &state->body;
    state->body.length = 0;
    put->body = body;
    put->shared = NULL;
    put->text = &state->text;
    protobuf_put_u64(body, PB_EVENT_TYPE, type);
    protobuf_put_u64(body, PB_EVENT_CATEGORY_IIDS, category_iid(state, put->sequence, category, other));
    put->stack = 0;
    pftrace_put_args(put, args);
    uint64_t callstack = put->stack ? pftrace_callstack(state->rows, put->sequence, put->stack) : 0;
    if (callstack != 0)
        protobuf_put_u64(body, PB_EVENT_CALLSTACK_IID, callstack);
    protobuf_put_u64(body, PB_EVENT_NAME_IID, name_iid(state, put->sequence, name, put->cbid));
}

/* Writes the END of a slice. UUID is the slice's own track; 0: the sequence's track. */
static void send_end(struct sink *sink, struct pftrace_sequence *sequence, uint64_t time, uint64_t uuid)
{
    struct pftrace_state *state = sink->state;
    state->body.length = 0;
    protobuf_put_u64(&state->body, PB_EVENT_TYPE, PB_TYPE_SLICE_END);
    if (uuid != 0)
        protobuf_put_u64(&state->body, PB_EVENT_TRACK_UUID, uuid);
    send_packet(sink, sequence, time, PB_PACKET_TRACK_EVENT);
}

static void flush_call(struct sink *sink, struct pftrace_state *state, struct pftrace_pending *pending)
{
    if (pending->put.has_correlation && !is_flow_number(pending))
        pftrace_put_correlation(&pending->put, pending->put.correlation);
    if (!pending->put.has_correlation && pending->flows.count > 0)
        pftrace_add_own(&state->sequences, PFTRACE_OWN_NO_CORRELATION, 1);
    if (pending->flows.count > 0) {
        size_t message = protobuf_begin(&state->body, PB_EVENT_GPU_CORRELATION);
        for (size_t i = 0; i < pending->flows.count; i++)
            protobuf_put_u64(&state->body, PB_CORRELATION_SUBMISSION_IDS, pending->flows.items[i]);
        protobuf_end(&state->body, message);
    }
    for (size_t i = 0; i < pending->links.count; i++)
        protobuf_put_fixed64(&state->body, pending->links.items[i].field, pending->links.items[i].id);
    send_packet(sink, pending->put.sequence, pending->start, PB_PACKET_TRACK_EVENT);
    send_end(sink, pending->put.sequence, pending->end, 0);
}

/* Interns the name of a GPU's queue, which differs for each row, also of different processes. */
static void intern_queue(struct pftrace_state *state, struct pftrace_sequence *sequence)
{
    const struct pftrace_row *row = pftrace_row(state->rows, sequence->row);
    const struct pftrace_row *process = pftrace_row(state->rows, (struct row){sequence->row.pid, 0});
    state->name.length = 0;
    if (row)
        buffer_text(&state->name, row->name);
    else
        buffer_format(&state->name, "row %u", sequence->row.tid);
    if (process && sequence->row.pid >= TRACKS_GPU_PID)
        buffer_format(&state->name, ", process %u", process->owner);
    size_t entry = protobuf_begin(&sequence->interned, PB_INTERNED_GPU_SPECIFICATIONS);
    protobuf_put_u64(&sequence->interned, PB_SPECIFICATION_IID, 1);
    pftrace_put_valid(state, &sequence->interned, PB_SPECIFICATION_NAME, state->name.data, state->name.length);
    protobuf_end(&sequence->interned, entry);
}

/* Returns the iid of the stage for a slice's name: Perfetto shows the stage's name. */
static uint64_t stage_iid(struct pftrace_state *state, struct pftrace_sequence *sequence, const struct slice *slice)
{
    bool is_new;
    uint64_t hash = hash_bytes(slice->name.text, slice->name.length) ^ (uint64_t)slice->category << 32;
    if (map_count(&sequence->iids[PFTRACE_SPECIFICATIONS]) == 0)
        intern_queue(state, sequence);
    uint64_t iid = pftrace_iid(sequence, PFTRACE_SPECIFICATIONS, hash, &is_new);
    if (is_new) {
        size_t entry = protobuf_begin(&sequence->interned, PB_INTERNED_GPU_SPECIFICATIONS);
        protobuf_put_u64(&sequence->interned, PB_SPECIFICATION_IID, iid);
        pftrace_put_valid(state, &sequence->interned, PB_SPECIFICATION_NAME, slice->name.text, slice->name.length);
        protobuf_put_text(&sequence->interned, PB_SPECIFICATION_DESCRIPTION, category_words[slice->category].text);
        if (slice->category == CATEGORY_KERNEL)
            protobuf_put_u64(&sequence->interned, PB_SPECIFICATION_CATEGORY, PB_STAGE_CATEGORY_COMPUTE);
        protobuf_end(&sequence->interned, entry);
    }
    return iid;
}

/* Returns the iid of the arguments that launches of one shape share, also copies and sets. The stage has the name. */
static uint64_t kernel_iid(struct pftrace_state *state, const struct pftrace_put *put)
{
    struct pftrace_sequence *sequence = put->sequence;
    bool is_new;
    uint64_t hash = hash_bytes(state->shared.data, state->shared.length);
    uint64_t iid = pftrace_iid(sequence, PFTRACE_KERNELS, hash, &is_new);
    if (is_new) {
        pftrace_put_figures(state->rows, put, &state->shared);
        size_t entry = protobuf_begin(&sequence->interned, PB_INTERNED_COMPUTE_KERNELS);
        protobuf_put_u64(&sequence->interned, PB_KERNEL_IID, iid);
        if (state->shared.length > 0)
            buffer_bytes(&sequence->interned, state->shared.data, state->shared.length);
        protobuf_end(&sequence->interned, entry);
    }
    return iid;
}

static void intern_context(struct pftrace_state *state, struct pftrace_sequence *sequence, uint64_t context)
{
    bool is_new;
    if (pftrace_iid(sequence, PFTRACE_CONTEXTS, context, &is_new) == 0 || !is_new)
        return;
    const struct pftrace_row *process = pftrace_row(state->rows, (struct row){sequence->row.pid, 0});
    size_t entry = protobuf_begin(&sequence->interned, PB_INTERNED_GRAPHICS_CONTEXTS);
    protobuf_put_u64(&sequence->interned, PB_CONTEXT_IID, context);
    if (process && process->owner != 0 && process->owner != ROW_OWNER_UNKNOWN)
        protobuf_put_u64(&sequence->interned, PB_CONTEXT_PID, process->owner);
    protobuf_put_u64(&sequence->interned, PB_CONTEXT_API, PB_CONTEXT_API_CUDA);
    protobuf_end(&sequence->interned, entry);
}

static void put_gpu_op(struct pftrace_state *state, struct pftrace_pending *pending, const struct slice *slice)
{
    struct buffer *body = &state->body;
    struct pftrace_sequence *sequence = pending->put.sequence;
    body->length = state->shared.length = state->launch.length = 0;
    pending->put.body = &state->launch;
    pending->put.shared = &state->shared;
    pending->put.text = &state->text;
    uint64_t stage = stage_iid(state, sequence, slice);
    pftrace_put_args(&pending->put, slice->args);
    intern_context(state, sequence, pending->put.context);
    protobuf_put_u64(body, PB_STAGE_DURATION, pending->end - pending->start);
    protobuf_put_u64(body, PB_STAGE_HW_QUEUE_IID, 1);
    protobuf_put_u64(body, PB_STAGE_STAGE_IID, stage);
    protobuf_put_u64(body, PB_STAGE_CONTEXT, pending->put.context);
    protobuf_put_u64(body, PB_STAGE_KERNEL_IID, kernel_iid(state, &pending->put));
    if (pending->put.device != 0)
        protobuf_put_u64(body, PB_STAGE_GPU_ID, pending->put.device);
}

static void flush_gpu_op(struct sink *sink, struct pftrace_state *state, struct pftrace_pending *pending)
{
    struct buffer *body = &state->body;
    if (pending->put.has_correlation && !is_flow_number(pending))
        pftrace_put_correlation(&pending->put, pending->put.correlation);
    if (!pending->put.has_correlation && pending->flows.count > 0)
        protobuf_put_u64(body, PFTRACE_OWN_NO_CORRELATION, 1);
    protobuf_put_u64(body, PB_STAGE_EVENT_ID, pending->flows.count > 0 ? pending->flows.items[0] : 0);
    if (pending->delay != 0)
        protobuf_put_u64(body, PFTRACE_OWN_FLOW_DELAY, pending->delay);
    if (state->launch.length > 0)
        protobuf_put_bytes(body, PB_STAGE_LAUNCH, state->launch.data, state->launch.length);
    send_packet(sink, pending->put.sequence, pending->start, PB_PACKET_GPU_RENDER_STAGE_EVENT);
}

/* --- events --- */

void pftrace_flush(struct sink *sink)
{
    struct pftrace_state *state = sink->state;
    struct pftrace_pending *pending = &state->pending;
    if (pending->what == PFTRACE_CALL)
        flush_call(sink, state, pending);
    else if (pending->what == PFTRACE_GPU_OP)
        flush_gpu_op(sink, state, pending);
    pending->what = PFTRACE_NOTHING;
    pending->flows.count = pending->links.count = 0;
    pending->delay = 0;
}

/* Flushes the held slice, and begins a section if necessary, before each event. Returns the state, or NULL after a
 * failure. */
static struct pftrace_state *begin_event(struct sink *sink)
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

/* Whether a slice is a call that waits, such as cudaStreamSynchronize() and hipStreamWaitEvent(). */
static bool waits(const struct slice *slice)
{
    return category_in(slice->category, CATEGORIES_API) && (memmem(slice->name.text, slice->name.length, "Sync", 4) ||
                                                            memmem(slice->name.text, slice->name.length, "Wait", 4));
}

void pftrace_write_slice(struct sink *sink, const struct slice *slice)
{
    struct pftrace_state *state = begin_event(sink);
    enum pftrace_lane lane = PFTRACE_LANE_CALLS;
    if (!slice->other_category && category_in(slice->category, CATEGORIES_GPU_OPS))
        lane = PFTRACE_LANE_GPU_OPS;
    else if (!slice->other_category && slice->category == CATEGORY_USER_ANNOTATION)
        lane = PFTRACE_LANE_RANGES;
    if (!state)
        return;
    struct pftrace_pending *pending = &state->pending;
    struct pftrace_sequence *sequence = pftrace_sequence_find(&state->sequences, slice->row, lane);
    if (sequence && !sequence->begun && lane == PFTRACE_LANE_RANGES) {
        uint64_t uuid = pftrace_uuid(slice->row.pid, slice->row.tid);
        state->body.length = 0;
        size_t descriptor = protobuf_begin(&state->body, PB_PACKET_TRACK_DESCRIPTOR);
        protobuf_put_u64(&state->body, PB_TRACK_UUID, uuid | PFTRACE_UUID_RANGES);
        protobuf_put_u64(&state->body, PB_TRACK_PARENT_UUID, uuid);
        protobuf_put_text(&state->body, PB_TRACK_NAME, "NVTX");
        protobuf_end(&state->body, descriptor);
        pftrace_plain_packet(sink->buffer, &state->body);
    }
    sequence = sequence_of(sink, slice->row, lane);
    if (!sequence)
        return;
    pending->put = (struct pftrace_put){.sequence = sequence, .hold_correlation = true};
    pending->row = slice->row;
    pending->start = pftrace_time(sink, slice->start);
    pending->end = pftrace_time(sink, slice->end);
    pending->what = lane == PFTRACE_LANE_GPU_OPS ? PFTRACE_GPU_OP : PFTRACE_CALL;
    pending->waits = lane == PFTRACE_LANE_CALLS && waits(slice);
    if (pending->what == PFTRACE_GPU_OP)
        put_gpu_op(state, pending, slice);
    else
        put_event(state, &pending->put, PB_TYPE_SLICE_BEGIN, slice->category, slice->other_category, &slice->name,
                  slice->args);
}

void pftrace_write_instant(struct sink *sink, const struct slice *instant)
{
    struct pftrace_state *state = begin_event(sink);
    struct pftrace_put put = {.sequence = state ? sequence_of(sink, instant->row, PFTRACE_LANE_CALLS) : NULL};
    if (!put.sequence)
        return;
    put_event(state, &put, PB_TYPE_INSTANT, instant->category, instant->other_category, &instant->name, instant->args);
    send_packet(sink, put.sequence, pftrace_time(sink, instant->start), PB_PACKET_TRACK_EVENT);
}

void pftrace_write_async(struct sink *sink, const struct async_slice *slice)
{
    struct pftrace_state *state = begin_event(sink);
    uint64_t uuid = slice->id | PFTRACE_UUID_ASYNC;
    if (!state)
        return;
    /* As ranges need not nest, each has its own track. Perfetto draws tracks with one name together. */
    state->body.length = 0;
    size_t descriptor = protobuf_begin(&state->body, PB_PACKET_TRACK_DESCRIPTOR);
    protobuf_put_u64(&state->body, PB_TRACK_UUID, uuid);
    protobuf_put_u64(&state->body, PB_TRACK_PARENT_UUID, pftrace_uuid(slice->begin.pid, 0));
    pftrace_put_valid(state, &state->body, PB_TRACK_NAME, slice->name.text, slice->name.length);
    protobuf_end(&state->body, descriptor);
    pftrace_plain_packet(sink->buffer, &state->body);
    struct pftrace_put put = {.sequence = sequence_of(sink, slice->begin, PFTRACE_LANE_CALLS)};
    struct pftrace_sequence *end = sequence_of(sink, slice->end_row, PFTRACE_LANE_CALLS);
    if (!put.sequence || !end)
        return;
    put_event(state, &put, slice->instant ? PB_TYPE_INSTANT : PB_TYPE_SLICE_BEGIN, slice->category,
              slice->other_category, &slice->name, slice->args);
    protobuf_put_u64(&state->body, PB_EVENT_TRACK_UUID, uuid);
    send_packet(sink, put.sequence, pftrace_time(sink, slice->start), PB_PACKET_TRACK_EVENT);
    if (slice->instant)
        return;
    send_end(sink, end, pftrace_time(sink, slice->end), uuid);
}

/* --- counters --- */

/* The names of one value of a counter. */
struct series {
    const char *counter, *name; /* `name` is NULL if the counter has one value */
    size_t counter_length, name_length;
    bool bytes;
};

static void describe(struct sink *sink, uint64_t uuid, uint32_t pid, const struct series *series)
{
    struct pftrace_state *state = sink->state;
    struct buffer *packet = &state->body;
    packet->length = 0;
    size_t descriptor = protobuf_begin(packet, PB_PACKET_TRACK_DESCRIPTOR);
    protobuf_put_u64(packet, PB_TRACK_UUID, uuid);
    protobuf_put_u64(packet, PB_TRACK_PARENT_UUID, pftrace_uuid(pid, 0));
    state->name.length = 0;
    buffer_bytes(&state->name, series->counter, series->counter_length);
    if (series->name) {
        buffer_text(&state->name, ": ");
        buffer_bytes(&state->name, series->name, series->name_length);
    }
    pftrace_put_valid(state, &state->body, PB_TRACK_NAME, state->name.data, state->name.length);
    size_t counter = protobuf_begin(packet, PB_TRACK_COUNTER);
    if (series->bytes)
        protobuf_put_u64(packet, PB_COUNTER_UNIT, PB_COUNTER_UNIT_SIZE_BYTES);
    protobuf_end(packet, counter);
    pftrace_put_valid(state, packet, PFTRACE_OWN_COUNTER, series->counter, series->counter_length);
    if (series->name)
        pftrace_put_valid(state, packet, PFTRACE_OWN_SERIES, series->name, series->name_length);
    protobuf_end(packet, descriptor);
    pftrace_plain_packet(sink->buffer, packet);
}

static void write_value(struct sink *sink, const struct counter *counter, const struct series *series,
                        const struct counter_value *value, size_t follow)
{
    struct pftrace_state *state = sink->state;
    struct pftrace_sequence *sequence = sequence_of(sink, (struct row){counter->pid, 0}, PFTRACE_LANE_CALLS);
    uint64_t parts[] = {counter->pid, hash_bytes(series->counter, series->counter_length),
                        series->name ? hash_bytes(series->name, series->name_length) : 0};
    uint64_t uuid = hash_bytes(parts, sizeof(parts)) >> 2 | PFTRACE_UUID_COUNTER;
    bool large = value->kind == COUNTER_UNSIGNED && value->u64 > INT64_MAX; /* Perfetto gets it as a double */
    bool is_new;
    if (!sequence)
        return;
    if (pftrace_iid(sequence, PFTRACE_CONTEXTS, uuid, &is_new) != 0 && is_new)
        describe(sink, uuid, counter->pid, series);
    state->body.length = 0;
    protobuf_put_u64(&state->body, PB_EVENT_TYPE, PB_TYPE_COUNTER);
    protobuf_put_u64(&state->body, PB_EVENT_TRACK_UUID, uuid);
    if (value->kind == COUNTER_REAL || large)
        protobuf_put_double(&state->body, PB_EVENT_DOUBLE_COUNTER_VALUE,
                            value->kind == COUNTER_REAL ? value->real : (double)value->u64);
    else
        protobuf_put_u64(&state->body, PB_EVENT_COUNTER_VALUE, value->u64);
    if (follow > 0)
        pftrace_add_own(&state->sequences, PFTRACE_OWN_SERIES_FOLLOW, follow);
    if (large)
        pftrace_add_own(&state->sequences, PFTRACE_OWN_COUNTER_U64, value->u64);
    send_packet(sink, sequence, pftrace_time(sink, counter->time), PB_PACKET_TRACK_EVENT);
}

void pftrace_write_counter(struct sink *sink, const struct counter *counter)
{
    if (!begin_event(sink))
        return;
    struct series series = {.counter = counter->name.text, .counter_length = counter->name.length};
    for (size_t i = 0; i < counter->value_count; i++) {
        series.name = counter->values[i].name;
        series.name_length = counter->values[i].length;
        write_value(sink, counter, &series, &counter->values[i], counter->value_count - 1 - i);
    }
    if (counter->value_count > 0)
        return;
    const struct counter_value only = counter_only_value(counter);
    series.bytes = !counter->real;
    write_value(sink, counter, &series, &only, 0);
}
