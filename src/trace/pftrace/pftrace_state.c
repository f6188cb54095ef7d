#include "trace/pftrace/pftrace_state.h"

#include <errno.h>
#include <stdlib.h>

#include "common/protobuf.h"

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
    const char *valid = pftrace_valid_text(&state->text, text, &length);
    protobuf_put_bytes(buffer, field, valid, length);
}

bool pftrace_told_by_flow(const struct pftrace_pending *pending)
{
    return pending->put.has_correlation && pending->flows.count > 0 &&
           pending->flows.items[0] == pending->put.correlation;
}

struct pftrace_state *pftrace_state_new(struct sink *sink, const struct pftrace_rows *rows)
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

void pftrace_state_release(struct sink *sink)
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
    free(state);
    sink->state = NULL;
}
