#include "trace/spool/agent_records.h"

#include <stddef.h>
#include <string.h>

#include "common/spool_records.h"
#include "trace/spool/record_table.h"

/* --- the walk --- */

/* Where each type's text is; types without one have no length field. */
struct layout {
    uint32_t size;   /* of the struct, its text field's space counted in */
    uint32_t length; /* offset of the text's length, 0: no text */
    uint32_t text;
};

#define LAYOUT_FIXED(structure)        \
    {                                  \
        sizeof(struct structure), 0, 0 \
    }
#define LAYOUT_TEXT(structure)                                                                         \
    {                                                                                                  \
        sizeof(struct structure), offsetof(struct structure, length), offsetof(struct structure, text) \
    }
#define LAYOUT(type, structure, holds) [SPOOL_RECORD_##type] = LAYOUT_##holds(structure),

static const struct layout layouts[SPOOL_RECORD_TYPE_COUNT] = {SPOOL_RECORD_TYPES(LAYOUT)};

void agent_walk_begin(struct agent_walk *walk, const struct spool_part *part)
{
    *walk = (struct agent_walk){.at = part->data, .end = part->size > 0 ? part->data + part->size : part->data};
}

/* Whether the record, which lies within the chunk, holds all that its type has. */
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
    if (!whole(walk, record)) { /* the file was changed since */
        walk->text = NULL;
        walk->length = 0;
    }
}

/* --- decoders --- */

static void decode_thread_name(struct event *event, const void *record)
{
    const struct spool_thread_name *name = record;
    event->thread = name->thread;
}

static void decode_capture(struct event *event, const void *record)
{
    const struct spool_capture *capture = record;
    event->capture.on = capture->head.flags != 0;
}

static void decode_context(struct event *event, const void *record)
{
    const struct spool_context *context = record;
    event->context = context->context;
    event->device = context->device;
    event->object.handle = context->handle;
    event->object.destroyed = context->head.flags == SPOOL_DESTROYED;
}

static void decode_stream(struct event *event, const void *record)
{
    const struct spool_stream *stream = record;
    event->context = stream->context;
    event->stream = stream->stream;
    event->object.handle = stream->handle;
    event->object.destroyed = stream->head.flags == SPOOL_DESTROYED;
}

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

static void decode_pool_level(struct event *event, const void *record)
{
    const struct spool_pool_level *level = record;
    event->device = level->device;
}

static void decode_nvtx_domain(struct event *event, const void *record)
{
    const struct spool_nvtx_domain *domain = record;
    event->nvtx_text.domain = domain->domain;
}

static void decode_nvtx_string(struct event *event, const void *record)
{
    const struct spool_nvtx_string *string = record;
    event->nvtx_text.domain = string->domain;
    event->nvtx_text.number = string->string;
}

static void decode_nvtx_category(struct event *event, const void *record)
{
    const struct spool_nvtx_category *category = record;
    event->nvtx_text.domain = category->domain;
    event->nvtx_text.number = category->category;
}

static void decode_nvtx_name(struct event *event, const void *record)
{
    const struct spool_nvtx_name *name = record;
    event->stream = name->stream;
    event->nvtx_name.object = name->object;
    event->nvtx_name.what = name->what;
}

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

static void decode_nvtx_plain(struct event *event, const void *record)
{
    const struct spool_nvtx_plain *nvtx = record;
    event->nvtx.what = nvtx->head.flags;
    event->nvtx.domain = nvtx->domain;
    event->nvtx.string = nvtx->string;
}

static void decode_nvtx_resource(struct event *event, const void *record)
{
    const struct spool_nvtx_resource *resource = record;
    event->nvtx_resource.number = resource->resource;
    event->nvtx_resource.identifier = resource->identifier;
    event->nvtx_resource.type = resource->type;
    event->nvtx_resource.domain = resource->domain;
    event->nvtx_resource.destroyed = resource->head.flags == SPOOL_DESTROYED;
}

static void decode_nvtx_recorded(struct event *event, const void *record)
{
    const struct spool_nvtx_recorded *recorded = record;
    event->correlation = recorded->correlation;
    event->nvtx_name.object = recorded->event;
    event->nvtx_name.what = SPOOL_NVTX_CUDA_EVENT;
}

static void decode_phase(struct event *event, const void *record)
{
    const struct spool_phase *phase = record;
    event->thread = phase->thread;
    event->correlation = phase->correlation;
}

static void decode_plugin_window(struct event *event, const void *record)
{
    const struct spool_plugin_window *window = record;
    event->end = window->end;
}

static void decode_plugin_event(struct event *event, const void *record)
{
    const struct spool_plugin_event *made = record;
    event->thread = made->thread;
    if (made->head.flags == SPOOL_PLUGIN_SLICE)
        event->end = made->end;
}

static void decode_device_range(struct event *event, const void *record)
{
    const struct spool_device_range *range = record;
    event->correlation = range->correlation;
    event->device_range.number = range->range;
    event->device_range.ended = range->head.flags == SPOOL_DEVICE_RANGE_END;
}

static void decode_crash(struct event *event, const void *record)
{
    const struct spool_crash *crash = record;
    event->thread = crash->thread;
}

/* The writer may still write it: only a finished one is read. */
static void decode_open_call(struct event *event, const void *record)
{
    const struct spool_open_call *call = record;
    if (call->head.flags != SPOOL_CALL_OPEN) {
        event->type = EVENT_NONE;
        return;
    }
    event->thread = call->thread;
    event->correlation = call->correlation;
}

static void decode_launch_name(struct event *event, const void *record)
{
    const struct spool_launch_name *name = record;
    event->correlation = name->correlation;
}

static void decode_function_name(struct event *event, const void *record)
{
    const struct spool_function_name *name = record;
    event->graph_node.function = name->function;
}

static void decode_graph_node(struct event *event, const void *record)
{
    const struct spool_graph_node *node = record;
    event->correlation = node->correlation;
    event->graph_node.node = node->node;
    event->graph_node.original = node->original;
    event->graph_node.function = node->function;
    event->graph_node.capturer = node->capturer;
}

static void decode_graph_launch(struct event *event, const void *record)
{
    const struct spool_graph_launch *launch = record;
    event->correlation = launch->correlation;
    event->graph.graph = launch->graph;
}

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

static void decode_operator_text(struct event *event, const void *record)
{
    const struct spool_torch_text *text = record;
    event->operator.text = text->number;
}

static void decode_operator_thread(struct event *event, const void *record)
{
    const struct spool_torch_thread *thread = record;
    event->operator.forward = thread->number;
}

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

static void decode_operator_inputs(struct event *event, const void *record)
{
    const struct spool_torch_inputs *inputs = record;
    event->operator.self = inputs->self;
    event->operator.text = inputs->inputs;
}

static void decode_operator_end(struct event *event, const void *record)
{
    const struct spool_torch_end *end = record;
    event->operator.self = end->self;
}

/* When the GPU came to it is not known. */
static void decode_event_record(struct event *event, const void *record)
{
    const struct spool_event_record *recorded = record;
    event->start = event->end = 0;
    event->context = recorded->context;
    event->stream = recorded->stream;
    event->correlation = recorded->correlation;
    event->cuda_event.event = recorded->event;
}

static void decode_cpu_sample(struct event *event, const void *record)
{
    const struct spool_cpu_sample *sample = record;
    event->thread = sample->thread;
    event->cpu.stack = sample->stack;
}

static void decode_thread_state(struct event *event, const void *record)
{
    const struct spool_thread_state *state = record;
    event->end = state->end;
    event->thread = state->thread;
    event->cpu.stack = state->stack;
    event->cpu.waker = state->waker;
    event->cpu.state = state->head.flags;
}

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
