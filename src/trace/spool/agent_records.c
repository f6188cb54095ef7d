/* A walk over the agent's records in a chunk, which checks each one's size and text, and a decoder for each type. */
#include "trace/spool/agent_records.h"

#include "common/spool_records.h"

/* --- the walk --- */

/* Where the text of each type is. */
struct layout {
    uint32_t size;   /* of the struct, including the space of its text field */
    uint32_t length; /* offset of the text's length, 0: the type has no text */
    uint32_t text;
};

#define LAYOUT_FIXED(structure) {sizeof(struct structure), 0, 0}
#define LAYOUT_TEXT(structure) \
    {sizeof(struct structure), offsetof(struct structure, length), offsetof(struct structure, text)}
#define LAYOUT(type, structure, holds) [SPOOL_RECORD_##type] = LAYOUT_##holds(structure),

static const struct layout layouts[SPOOL_RECORD_TYPE_COUNT] = {SPOOL_RECORD_TYPES(LAYOUT)};

void agent_walk_begin(struct agent_walk *walk, const struct spool_part *part)
{
    *walk = (struct agent_walk){.at = part->data, .end = part->size > 0 ? part->data + part->size : part->data};
}

/* Whether the record, which lies within the chunk, is large enough for its type and text. Sets the walk's text. */
static bool whole(struct agent_walk *walk, const struct spool_record *record)
{
    if (record->type == SPOOL_RECORD_NONE || record->type >= SPOOL_RECORD_TYPE_COUNT)
        return false;
    const struct layout *layout = &layouts[record->type];
    if (layout->size == 0 || record->bytes < layout->size)
        return false;
    walk->text = NULL;
    walk->length = 0;
    if (layout->length == 0)
        return true;
    const uint8_t *bytes = (const uint8_t *)record;
    memcpy(&walk->length, bytes + layout->length, sizeof(walk->length));
    walk->text = (const char *)bytes + layout->text;
    return walk->length <= record->bytes - layout->text;
}

bool agent_walk_next(struct agent_walk *walk)
{
    while (walk->at < walk->end) {
        size_t left = (size_t)(walk->end - walk->at);
        const struct spool_record *record = (const struct spool_record *)(const void *)walk->at;
        if (left < sizeof(*record) || record->bytes < sizeof(*record) || record->bytes % 8 != 0 ||
            record->bytes > left) {
            walk->damaged++;
            walk->at = walk->end;
            return false;
        }
        walk->at += record->bytes;
        walk->record = record;
        if (whole(walk, record))
            return true;
        walk->damaged++;
    }
    return false;
}

void agent_walk_at(struct agent_walk *walk, const void *record)
{
    *walk = (struct agent_walk){.record = record};
    if (!whole(walk, record)) { /* the file has changed since the record was first read */
        walk->text = NULL;
        walk->length = 0;
    }
}

/* --- decoders --- */

/* Defines the decoder of a struct spool_STRUCTURE: assignments from `record`, separated by commas. */
#define RECORD_DECODER(structure, ...)                                     \
    static void decode_##structure(struct event *event, const void *bytes) \
    {                                                                      \
        const struct spool_##structure *record = bytes;                    \
        __VA_ARGS__;                                                       \
    }

RECORD_DECODER(thread_name, event->thread = record->thread)
RECORD_DECODER(capture, event->capture.on = record->head.flags != 0)

RECORD_DECODER(context, event->context = record->context, event->device = record->device,
               event->object.handle = record->handle, event->object.destroyed = record->head.flags == SPOOL_DESTROYED)

RECORD_DECODER(stream, event->context = record->context, event->stream = record->stream,
               event->object.handle = record->handle, event->object.destroyed = record->head.flags == SPOOL_DESTROYED)

static void decode_memory(struct event *event, const void *record)
{
    const struct spool_memory *memory = record;
    event->device = memory->device;
    event->context = memory->context;
    event->stream = memory->stream;
    event->correlation = memory->correlation;
    event->thread = memory->thread;
    event->memory.address = memory->address;
    event->memory.size = memory->size;
    event->memory.pool = memory->pool;
    event->memory.result = memory->result;
    event->memory.operation = memory->operation;
    event->memory.stack = memory->stack;
    event->memory.kind = memory->kind < SPOOL_MEMORY_KIND_COUNT ? memory->kind : (uint16_t)SPOOL_MEMORY_UNKNOWN;
}

RECORD_DECODER(pool_level, event->device = record->device)
RECORD_DECODER(nvtx_domain, event->nvtx_text.domain = record->domain)
RECORD_DECODER(nvtx_string, event->nvtx_text.domain = record->domain, event->nvtx_text.number = record->string)
RECORD_DECODER(nvtx_category, event->nvtx_text.domain = record->domain, event->nvtx_text.number = record->category)
RECORD_DECODER(nvtx_name, event->stream = record->stream, event->nvtx_name.object = record->object,
               event->nvtx_name.what = record->what)

static void decode_nvtx_event(struct event *event, const void *record)
{
    const struct spool_nvtx_event *nvtx = record;
    event->nvtx.what = nvtx->head.flags;
    event->nvtx.color_type = nvtx->color_type;
    event->nvtx.payload_type = nvtx->payload_type;
    event->nvtx.domain = nvtx->domain;
    event->nvtx.category = nvtx->category;
    event->nvtx.color = nvtx->color;
    event->nvtx.string = nvtx->string;
    event->nvtx.range = nvtx->range;
    event->nvtx.payload = nvtx->payload;
}

RECORD_DECODER(nvtx_plain, event->nvtx.what = record->head.flags, event->nvtx.domain = record->domain,
               event->nvtx.string = record->string)

RECORD_DECODER(nvtx_resource, event->nvtx_resource.number = record->resource,
               event->nvtx_resource.identifier = record->identifier, event->nvtx_resource.type = record->type,
               event->nvtx_resource.domain = record->domain,
               event->nvtx_resource.destroyed = record->head.flags == SPOOL_DESTROYED)

RECORD_DECODER(nvtx_recorded, event->correlation = record->correlation, event->nvtx_name.object = record->event,
               event->nvtx_name.what = SPOOL_NVTX_CUDA_EVENT)
RECORD_DECODER(phase, event->thread = record->thread, event->correlation = record->correlation)
RECORD_DECODER(plugin_window, event->end = record->end)

static void decode_plugin_event(struct event *event, const void *record)
{
    const struct spool_plugin_event *made = record;
    event->thread = made->thread;
    if (made->head.flags == SPOOL_PLUGIN_SLICE)
        event->end = made->end;
}

RECORD_DECODER(device_range, event->correlation = record->correlation, event->device_range.number = record->range,
               event->device_range.ended = record->head.flags == SPOOL_DEVICE_RANGE_END)
RECORD_DECODER(crash, event->thread = record->thread)

/* The agent may still be writing the record: only a finished one becomes an event. */
static void decode_open_call(struct event *event, const void *record)
{
    const struct spool_open_call *call = record;
    if (call->head.flags != SPOOL_CALL_OPEN) {
        event->type = EVENT_TYPE_NONE;
        return;
    }
    event->thread = call->thread;
    event->correlation = call->correlation;
}

RECORD_DECODER(launch_name, event->correlation = record->correlation)
RECORD_DECODER(function_name, event->graph_node.function = record->function)

RECORD_DECODER(graph_node, event->correlation = record->correlation, event->graph_node.node = record->node,
               event->graph_node.original = record->original, event->graph_node.function = record->function,
               event->graph_node.capturer = record->capturer)

RECORD_DECODER(graph_launch, event->correlation = record->correlation, event->graph.graph = record->graph)

static void decode_agent_sync(struct event *event, const void *record)
{
    static const enum event_sync_kind kinds[] = {
        [SPOOL_SYNC_EVENT] = EVENT_SYNC_EVENT,
        [SPOOL_SYNC_STREAM_WAIT_EVENT] = EVENT_SYNC_STREAM_WAIT_EVENT,
        [SPOOL_SYNC_STREAM] = EVENT_SYNC_STREAM,
        [SPOOL_SYNC_CONTEXT] = EVENT_SYNC_CONTEXT,
    };
    const struct spool_sync *sync = record;
    event->start = sync->start;
    event->context = sync->context;
    event->stream = sync->stream;
    event->correlation = sync->correlation;
    event->sync.kind = sync->head.flags < sizeof(kinds) / sizeof(*kinds) ? kinds[sync->head.flags] : EVENT_SYNC_UNKNOWN;
    event->sync.event = sync->event;
    event->sync.result = (uint32_t)sync->result;
}

RECORD_DECODER(torch_text, event->operator.text = record->number)
RECORD_DECODER(torch_thread, event->operator.forward = record->number)

static void decode_operator(struct event *event, const void *record)
{
    const struct spool_torch_start *operator= record;
    uint64_t mask = (UINT64_C(1) << SPOOL_OPERATOR_SEQUENCE_BITS) - 1;
    event->operator.scope = operator->head.flags;
    event->operator.self = operator->self;
    event->operator.text = operator->name;
    event->operator.sequence =(int64_t)(operator->sequence & mask) - 1;
    event->operator.forward =(uint32_t)(operator->sequence>> SPOOL_OPERATOR_SEQUENCE_BITS);
}

RECORD_DECODER(torch_inputs, event->operator.self = record->self, event->operator.text = record->inputs)
RECORD_DECODER(torch_end, event->operator.self = record->self)

/* The time when the GPU reached the event is unknown. */
RECORD_DECODER(event_record, event->start = event->end = 0, event->context = record->context,
               event->stream = record->stream, event->correlation = record->correlation,
               event->cuda_event.event = record->event)

RECORD_DECODER(cpu_sample, event->thread = record->thread, event->cpu.stack = record->stack)

RECORD_DECODER(thread_state, event->end = record->end, event->thread = record->thread, event->cpu.stack = record->stack,
               event->cpu.waker = record->waker, event->cpu.state = record->head.flags)

static const struct {
    void (*decode)(struct event *event, const void *record);
    enum event_type type;
} decoders[SPOOL_RECORD_TYPE_COUNT] = {
#define ROW(record, event, decode, ...) [SPOOL_RECORD_##record] = {decode, EVENT_##event},
    AGENT_RECORDS(ROW, ROW)
#undef ROW
};

void agent_decode(struct event *event, const struct agent_walk *walk, uint32_t thread)
{
    uint16_t type = *(const volatile uint16_t *)&walk->record->type; /* a living process may write the record */
    if (type >= SPOOL_RECORD_TYPE_COUNT)
        type = SPOOL_RECORD_NONE;
    *event = (struct event){
        .type = decoders[type].type,
        .start = walk->record->time,
        .end = walk->record->time,
        .thread = thread,
        .stream = EVENT_NO_STREAM,
        .device = EVENT_NO_DEVICE,
        .record = walk->record,
        .text = walk->text,
        .text_length = walk->length,
    };
    if (decoders[type].decode)
        decoders[type].decode(event, walk->record);
}

struct event agent_read(const void *record, uint32_t thread)
{
    struct agent_walk walk;
    struct event event;
    agent_walk_at(&walk, record);
    agent_decode(&event, &walk, thread);
    return event;
}
