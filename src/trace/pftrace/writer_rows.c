/*
 * Writes rows of a trace as Perfetto's tracks, packets of the sequences that their events belong to, and call stacks. A
 * sequence has a number, its interned data, and a clock for times that are written as differences.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/protobuf.h"
#include "trace/pftrace/writer_rows.h"
#include "trace/tracks.h"

void pftrace_fail(struct sink *sink)
{
    if (sink->buffer->failure == 0)
        sink->buffer->failure = ENOMEM;
}

void pftrace_put_valid(struct pftrace_state *state, struct buffer *buffer, uint32_t field, const char *text,
                       size_t length)
{
    const char *valid = buffer_valid_text(&state->text, text, &length);
    protobuf_put_bytes(buffer, field, valid, length);
}

void pftrace_sequences_init(struct pftrace_sequences *sequences)
{
    *sequences = (struct pftrace_sequences){0};
    buffer_init_memory(&sequences->packet);
}

void pftrace_sequences_release(struct pftrace_sequences *sequences)
{
    for (size_t i = 0; i < sequences->items.count; i++) {
        struct pftrace_sequence *sequence = sequences->items.items[i];
        for (size_t k = 0; k < PFTRACE_INTERNED_COUNT; k++)
            map_release(&sequence->iids[k]);
        buffer_release(&sequence->interned);
        free(sequence);
    }
    array_release(&sequences->items);
    map_release(&sequences->by_row);
    buffer_release(&sequences->packet);
}

static struct pftrace_sequence *new_sequence(struct pftrace_sequences *sequences, struct row row,
                                             enum pftrace_lane lane)
{
    struct pftrace_sequence *sequence = calloc(1, sizeof(*sequence));
    struct pftrace_sequence **item = sequence ? array_push(&sequences->items) : NULL;
    if (!item) {
        free(sequence);
        error_no_memory("a row of the trace");
        return NULL;
    }
    sequence->number = (uint32_t)sequences->items.count;
    sequence->row = row;
    sequence->lane = lane;
    sequence->next_iid[PFTRACE_SPECIFICATIONS] = lane == PFTRACE_LANE_GPU_OPS; /* iid 1 is the queue */
    buffer_init_memory(&sequence->interned);
    return *item = sequence;
}

struct pftrace_sequence *pftrace_sequence_find(struct pftrace_sequences *sequences, struct row row,
                                               enum pftrace_lane lane)
{
    struct pftrace_sequence *recent = sequences->recent[lane];
    if (recent && recent->row.pid == row.pid && recent->row.tid == row.tid)
        return recent;
    struct {
        struct row row;
        uint32_t lane;
    } key = {row, lane};
    bool is_new;
    uint64_t *index = map_put(&sequences->by_row, hash_bytes(&key, sizeof(key)), &is_new);
    if (!index) {
        error_no_memory("a row of the trace");
        return NULL;
    }
    if (*index == 0) {
        if (!new_sequence(sequences, row, lane))
            return NULL;
        *index = sequences->items.count;
    }
    return sequences->recent[lane] = sequences->items.items[*index - 1];
}

uint64_t pftrace_intern(struct pftrace_sequence *sequence, enum pftrace_interned what, uint32_t table, const char *text,
                        size_t length, bool *is_new)
{
    *is_new = false;
    uint64_t iid = text ? pftrace_iid(sequence, what, hash_bytes(text, length), is_new) : 0;
    if (iid == 0 || !*is_new)
        return iid;
    size_t entry = protobuf_begin(&sequence->interned, table);
    protobuf_put_u64(&sequence->interned, PB_INTERNED_IID, iid);
    protobuf_put_bytes(&sequence->interned, PB_INTERNED_NAME, text, length);
    protobuf_end(&sequence->interned, entry);
    return iid;
}

#define PACKET_SPACE 80 /* for everything except body and interned data */

/* Writes Trace.packet from two parts. */
static void put_out(struct buffer *out, const char *head, size_t head_size, const char *body, size_t size)
{
    char *at = buffer_reserve(out, PROTOBUF_VARINT_SPACE + head_size + size), *from = at;
    if (!at)
        return;
    at = protobuf_tag(at, PB_TRACE_PACKET, PROTOBUF_BYTES);
    at = protobuf_varint(at, head_size + size);
    memcpy(at, head, head_size);
    if (size > 0)
        memcpy(at + head_size, body, size);
    buffer_advance(out, (size_t)(at - from) + head_size + size);
}

void pftrace_packet(struct pftrace_sequences *sequences, struct pftrace_sequence *sequence, struct buffer *out,
                    uint64_t time, uint32_t field, const char *body, size_t size)
{
    struct buffer *packet = &sequences->packet;
    packet->length = 0;
    if (sequence->interned.length > 0)
        protobuf_put_bytes(packet, PB_PACKET_INTERNED_DATA, sequence->interned.data, sequence->interned.length);
    sequence->interned.length = 0;
    char *at = buffer_reserve(packet, PACKET_SPACE), *from = at;
    if (!at) {
        out->failure = out->failure ? out->failure : packet->failure;
        return;
    }
    at = protobuf_tag(at, PB_PACKET_TIMESTAMP, PROTOBUF_VARINT);
    if (time >= sequence->last) {
        at = protobuf_varint(at, time - sequence->last);
        sequence->last = time;
    } else {
        at = protobuf_varint(at, time);
        at = protobuf_tag(at, PB_PACKET_TIMESTAMP_CLOCK_ID, PROTOBUF_VARINT);
        at = protobuf_varint(at, PFTRACE_CLOCK_SINCE_BASE);
    }
    at = protobuf_tag(at, PB_PACKET_SEQUENCE_ID, PROTOBUF_VARINT);
    at = protobuf_varint(at, sequence->number);
    for (size_t i = 0; i < sequences->own_count; i++) {
        at = protobuf_tag(at, sequences->own[i].field, PROTOBUF_VARINT);
        at = protobuf_varint(at, sequences->own[i].value);
    }
    sequences->own_count = 0;
    at = protobuf_tag(at, field, PROTOBUF_BYTES);
    at = protobuf_varint(at, size);
    buffer_advance(packet, (size_t)(at - from));
    put_out(out, packet->data, packet->length, body, size);
}

void pftrace_plain_packet(struct buffer *out, const struct buffer *body)
{
    if (body->failure)
        out->failure = out->failure ? out->failure : body->failure;
    else
        put_out(out, body->data, body->length, NULL, 0);
}

static void put_clock(struct buffer *packet, uint64_t id, uint64_t time, bool incremental)
{
    size_t clock = protobuf_begin(packet, PB_SNAPSHOT_CLOCK);
    protobuf_put_u64(packet, PB_CLOCK_ID, id);
    protobuf_put_u64(packet, PB_CLOCK_TIMESTAMP, time);
    if (incremental)
        protobuf_put_u64(packet, PB_CLOCK_IS_INCREMENTAL, 1);
    protobuf_end(packet, clock);
}

void pftrace_relate_clocks(struct buffer *packet, struct buffer *out, uint64_t base)
{
    packet->length = 0;
    size_t snapshot = protobuf_begin(packet, PB_PACKET_CLOCK_SNAPSHOT);
    put_clock(packet, PB_CLOCK_REALTIME_ID, base, false);
    put_clock(packet, PB_CLOCK_BOOTTIME_ID, base, false);
    protobuf_put_u64(packet, PB_SNAPSHOT_PRIMARY_TRACE_CLOCK, PB_CLOCK_REALTIME_ID);
    protobuf_end(packet, snapshot);
    pftrace_plain_packet(out, packet);
}

void pftrace_sequence_begin(struct pftrace_sequences *sequences, struct pftrace_sequence *sequence, struct buffer *out,
                            uint64_t base)
{
    struct buffer *packet = &sequences->packet;
    uint64_t uuid = pftrace_uuid(sequence->row.pid, sequence->row.tid);
    if (sequence->begun)
        return;
    sequence->begun = true;
    packet->length = 0;
    protobuf_put_u64(packet, PB_PACKET_SEQUENCE_ID, sequence->number);
    protobuf_put_u64(packet, PB_PACKET_SEQUENCE_FLAGS, PB_SEQUENCE_STATE_CLEARED);
    size_t defaults = protobuf_begin(packet, PB_PACKET_DEFAULTS);
    protobuf_put_u64(packet, PB_DEFAULTS_CLOCK_ID, PFTRACE_CLOCK_DELTA);
    size_t event = protobuf_begin(packet, PB_DEFAULTS_TRACK_EVENT);
    protobuf_put_u64(packet, PB_EVENT_DEFAULTS_TRACK_UUID,
                     sequence->lane == PFTRACE_LANE_RANGES ? uuid | PFTRACE_UUID_RANGES : uuid);
    protobuf_end(packet, event);
    protobuf_end(packet, defaults);
    size_t snapshot = protobuf_begin(packet, PB_PACKET_CLOCK_SNAPSHOT);
    put_clock(packet, PFTRACE_CLOCK_DELTA, 0, true);
    put_clock(packet, PFTRACE_CLOCK_SINCE_BASE, 0, false);
    put_clock(packet, PB_CLOCK_REALTIME_ID, base, false);
    protobuf_put_u64(packet, PB_SNAPSHOT_PRIMARY_TRACE_CLOCK, PB_CLOCK_REALTIME_ID);
    protobuf_end(packet, snapshot);
    pftrace_plain_packet(out, packet);
}

/*
 * Rows of a trace as Perfetto's tracks: processes and threads of the system are tracks of these, and other rows are
 * tracks below them. Perfetto draws GPU operations on its own tracks of the GPU, which take their names from here.
 */

void pftrace_rows_release(struct pftrace_rows *rows)
{
    for (size_t i = 0; i < rows->frames.count; i++) {
        free(rows->frames.items[i].function);
        free(rows->frames.items[i].module);
        free(rows->frames.items[i].file);
    }
    array_release(&rows->frames);
    map_release(&rows->frame_of_number);
    array_release(&rows->gpus);
    for (size_t i = 0; i < rows->items.count; i++)
        free(rows->items.items[i].name);
    array_release(&rows->items);
    map_release(&rows->by_uuid);
}

const struct pftrace_row *pftrace_row(const struct pftrace_rows *rows, struct row row)
{
    return FIND_ITEM(&rows->items, &rows->by_uuid, pftrace_uuid(row.pid, row.tid));
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
    /* A thread of the system, not a further lane. */
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

/*
 * Call stacks of events. Their frames are read from the metadata, which precedes all events; each sequence interns the
 * frames of its events' stacks.
 */

#define FRAMES_MAX 512 /* the most frames of a stack: parents in a damaged file may form a circle */

/* --- the frames of the trace --- */

static char *text_of(const cJSON *frame, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(frame, key));
    return text ? strdup(text) : NULL;
}

static uint64_t number_of(const cJSON *frame, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(frame, key);
    return cJSON_IsNumber(value) && value->valuedouble > 0 && value->valuedouble < UINT32_MAX
               ? (uint64_t)value->valuedouble
               : 0;
}

static bool read_frame(struct pftrace_rows *rows, const cJSON *frame)
{
    const char *offset = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(frame, "offset"));
    uint64_t number = strtoull(frame->string, NULL, 10);
    uint64_t *index = number != 0 ? map_put(&rows->frame_of_number, number, NULL) : NULL;
    struct pftrace_frame *read = index ? array_push(&rows->frames) : NULL;
    if (!read)
        return number == 0;
    *index = rows->frames.count;
    *read = (struct pftrace_frame){.function = text_of(frame, "name"),
                                   .module = text_of(frame, "category"),
                                   .file = text_of(frame, "file"),
                                   .line = (uint32_t)number_of(frame, "line"),
                                   .parent = number_of(frame, "parent"),
                                   .offset = offset ? strtoull(offset, NULL, 0) : 0};
    return true;
}

void pftrace_read_frames(struct sink *sink, const char *value, size_t size)
{
    struct pftrace_state *state = sink->state;
    cJSON *frames = cJSON_ParseWithLength(value, size);
    for (const cJSON *frame = cJSON_IsObject(frames) ? frames->child : NULL; frame; frame = frame->next)
        if (!read_frame(&state->own_rows, frame))
            pftrace_fail(sink);
    cJSON_Delete(frames);
}

/* --- what a sequence interns --- */

static size_t length_of(const char *text)
{
    return text ? strlen(text) : 0;
}

/* Returns the iid of a mapping that has only a file, MODULE, or 0. */
static uint64_t mapping_iid(struct pftrace_sequence *sequence, const char *module)
{
    bool is_new;
    uint64_t iid =
        pftrace_intern(sequence, PFTRACE_MAPPINGS, PB_INTERNED_MAPPING_PATHS, module, length_of(module), &is_new);
    if (iid == 0 || !is_new)
        return iid;
    size_t entry = protobuf_begin(&sequence->interned, PB_INTERNED_MAPPINGS);
    protobuf_put_u64(&sequence->interned, PB_INTERNED_IID, iid);
    protobuf_put_u64(&sequence->interned, PB_MAPPING_PATH_STRING_IDS, iid);
    protobuf_end(&sequence->interned, entry);
    return iid;
}

static uint64_t frame_iid(struct pftrace_sequence *sequence, uint64_t number, const struct pftrace_frame *frame)
{
    bool is_new, ignored;
    uint64_t iid = pftrace_iid(sequence, PFTRACE_FRAMES, number, &is_new);
    if (iid == 0 || !is_new)
        return iid;
    struct buffer *interned = &sequence->interned;
    uint64_t function = pftrace_intern(sequence, PFTRACE_FUNCTIONS, PB_INTERNED_FUNCTION_NAMES, frame->function,
                                       length_of(frame->function), &ignored);
    uint64_t source = pftrace_intern(sequence, PFTRACE_SOURCES, PB_INTERNED_SOURCE_PATHS, frame->file,
                                     length_of(frame->file), &ignored);
    uint64_t mapping = frame->line == 0 ? mapping_iid(sequence, frame->module) : 0;
    size_t entry = protobuf_begin(interned, PB_INTERNED_FRAMES);
    protobuf_put_u64(interned, PB_INTERNED_IID, iid);
    if (function != 0)
        protobuf_put_u64(interned, PB_FRAME_FUNCTION_NAME_ID, function);
    if (mapping != 0) {
        protobuf_put_u64(interned, PB_FRAME_MAPPING_ID, mapping);
        protobuf_put_u64(interned, PB_FRAME_REL_PC, frame->offset);
    }
    if (source != 0)
        protobuf_put_u64(interned, PB_FRAME_SOURCE_PATH_IID, source);
    if (frame->line > 0)
        protobuf_put_u64(interned, PB_FRAME_LINE_NUMBER, frame->line);
    protobuf_end(interned, entry);
    return iid;
}

uint64_t pftrace_callstack(const struct pftrace_rows *rows, struct pftrace_sequence *sequence, uint64_t number)
{
    uint64_t iids[FRAMES_MAX], *index = map_get(&rows->frame_of_number, number);
    bool is_new;
    size_t count = 0;
    uint64_t iid = index ? pftrace_iid(sequence, PFTRACE_CALLSTACKS, number, &is_new) : 0;
    if (iid == 0 || !is_new)
        return iid;
    for (; index && count < FRAMES_MAX; index = number != 0 ? map_get(&rows->frame_of_number, number) : NULL) {
        const struct pftrace_frame *frame = &rows->frames.items[*index - 1];
        iids[count++] = frame_iid(sequence, number, frame);
        number = frame->parent;
    }
    size_t entry = protobuf_begin(&sequence->interned, PB_INTERNED_CALLSTACKS);
    protobuf_put_u64(&sequence->interned, PB_INTERNED_IID, iid);
    while (count > 0)
        protobuf_put_u64(&sequence->interned, PB_CALLSTACK_FRAME_IDS, iids[--count]);
    protobuf_end(&sequence->interned, entry);
    return iid;
}
