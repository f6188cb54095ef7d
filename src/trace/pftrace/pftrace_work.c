/*
 * Work of GPUs: GpuRenderStageEvents, and what they have interned.
 */
#include "common/protobuf.h"
#include "trace/tracks.h"
#include "trace/pftrace/pftrace_state.h"

/* The queue's name tells rows apart, also those of two processes. */
static void intern_queue(struct pftrace_state *state, struct pftrace_sequence *sequence)
{
    const struct pftrace_row *row = pftrace_row(state->rows, sequence->row);
    const struct pftrace_row *process = pftrace_row(state->rows, (struct row){sequence->row.pid, 0});
    state->name.length = 0;
    if (row)
        sink_text(&state->name, row->name);
    else
        sink_format(&state->name, "row %u", sequence->row.tid);
    if (process && sequence->row.pid >= TRACKS_GPU_PID)
        sink_format(&state->name, ", process %u", process->owner);
    size_t entry = protobuf_begin(&sequence->interned, PB_INTERNED_GPU_SPECIFICATIONS);
    protobuf_put_u64(&sequence->interned, PB_SPECIFICATION_IID, 1);
    pftrace_put_valid(state, &sequence->interned, PB_SPECIFICATION_NAME, state->name.data, state->name.length);
    protobuf_end(&sequence->interned, entry);
}

/* A stage of its own for each name: it is what Perfetto calls the slice. */
static uint64_t stage_iid(struct pftrace_state *state, struct pftrace_sequence *sequence, const struct slice *slice)
{
    bool is_new;
    uint64_t hash = pftrace_name_hash(&slice->name) ^ (uint64_t)slice->category << 32;
    if (sequence->iids[PFTRACE_SPECIFICATIONS].count == 0)
        intern_queue(state, sequence);
    uint64_t iid = pftrace_iid(sequence, PFTRACE_SPECIFICATIONS, hash, &is_new);
    if (is_new) {
        size_t entry = protobuf_begin(&sequence->interned, PB_INTERNED_GPU_SPECIFICATIONS);
        protobuf_put_u64(&sequence->interned, PB_SPECIFICATION_IID, iid);
        pftrace_put_valid(state, &sequence->interned, PB_SPECIFICATION_NAME, slice->name.text, slice->name.length);
        protobuf_put_text(&sequence->interned, PB_SPECIFICATION_DESCRIPTION, slice_categories[slice->category]);
        if (slice->category == CATEGORY_KERNEL)
            protobuf_put_u64(&sequence->interned, PB_SPECIFICATION_CATEGORY, PB_STAGE_CATEGORY_COMPUTE);
        protobuf_end(&sequence->interned, entry);
    }
    return iid;
}

/* What launches of one shape have in common, be they of kernels, copies or sets. The name is the stage's. */
static uint64_t kernel_iid(struct pftrace_state *state, struct pftrace_sequence *sequence)
{
    bool is_new;
    uint64_t hash = hash_bytes(state->shared.data, state->shared.length);
    uint64_t iid = pftrace_iid(sequence, PFTRACE_KERNELS, hash, &is_new);
    if (is_new) {
        size_t entry = protobuf_begin(&sequence->interned, PB_INTERNED_COMPUTE_KERNELS);
        protobuf_put_u64(&sequence->interned, PB_KERNEL_IID, iid);
        if (state->shared.length > 0)
            sink_bytes(&sequence->interned, state->shared.data, state->shared.length);
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

void pftrace_put_work(struct pftrace_state *state, struct pftrace_pending *pending, const struct slice *slice)
{
    struct sink *body = &state->body;
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
    protobuf_put_u64(body, PB_STAGE_KERNEL_IID, kernel_iid(state, sequence));
    if (pending->put.device != 0)
        protobuf_put_u64(body, PB_STAGE_GPU_ID, pending->put.device);
}

void pftrace_flush_work(struct writer *writer, struct pftrace_state *state, struct pftrace_pending *pending)
{
    struct sink *body = &state->body;
    if (pending->put.has_correlation && !pftrace_told_by_arrow(pending))
        pftrace_put_correlation(&pending->put, pending->put.correlation);
    if (!pending->put.has_correlation && pending->arrows.count > 0)
        protobuf_put_u64(body, PFTRACE_OWN_NO_CORRELATION, 1);
    protobuf_put_u64(body, PB_STAGE_EVENT_ID, pending->arrows.count > 0 ? pending->arrows.items[0] : 0);
    if (pending->delay != 0)
        protobuf_put_u64(body, PFTRACE_OWN_ARROW_DELAY, pending->delay);
    if (state->launch.length > 0)
        protobuf_put_bytes(body, PB_STAGE_LAUNCH, state->launch.data, state->launch.length);
    pftrace_send(writer, pending->put.sequence, pending->start, PB_PACKET_GPU_RENDER_STAGE_EVENT);
}
