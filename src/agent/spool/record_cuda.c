#include "agent/spool/recorder.h"

#include <assert.h>
#include <stdbool.h>

#include "agent/dispatch/registry.h"
#include "common/clock.h"
#include "common/settings.h"

/* The spool has the public numbers. */
#define SAME(name, text) \
    static_assert((int)SPOOL_MEMORY_##name == (int)GPUTRACE_MEMORY_##name, "kinds of memory: " #name);
SPOOL_MEMORY_KINDS(SAME)
#undef SAME
#define SAME(name, text) static_assert((int)SPOOL_TRIGGER_##name == (int)GPUTRACE_TRIGGER_##name, "triggers: " #name);
SPOOL_TRIGGERS(SAME)
#undef SAME
static_assert(SPOOL_NO_DEVICE == GPUTRACE_NO_DEVICE && SPOOL_NO_STREAM == GPUTRACE_NO_STREAM, "none is the same none");

static bool stacks_wanted;

void record_cuda_keep_stacks(bool on)
{
    stacks_wanted = on;
}

/* Before the record is begun: a new stack is a record of its own. */
static uint32_t take_stack(void)
{
    return stacks_wanted ? stacks_take(0) : 0;
}

static inline struct spool_memory *begin_memory(struct writer *mine, const struct gputrace_call *call,
                                                enum spool_memory_operation operation, uint32_t kind)
{
    struct spool_memory *record =
        writer_begin_in(mine, SPOOL_RECORD_MEMORY, sizeof(*record), sizeof(*record), call->end);
    if (!record)
        return NULL;
    record->device = call->device;
    record->context = call->context_id;
    record->correlation = call->correlation;
    record->thread = call->thread;
    record->result = call->result;
    record->operation = (uint16_t)operation;
    record->kind = (uint16_t)kind;
    return record;
}

static void record_allocation(void *data, const struct gputrace_memory_allocation *memory)
{
    (void)data;
    uint32_t stack = take_stack();
    struct writer *mine = writer_mine();
    struct spool_memory *record = begin_memory(mine, &memory->call, SPOOL_MEMORY_ALLOCATE, memory->kind);
    if (!record)
        return;
    record->address = memory->address;
    record->size = memory->bytes;
    record->pool = memory->pool;
    record->stream = memory->stream_id;
    record->stack = stack;
    writer_commit_in(mine, &record->head);
}

static void record_failure(void *data, const struct gputrace_memory_allocation_failure *memory)
{
    (void)data;
    uint32_t stack = take_stack();
    struct writer *mine = writer_mine();
    struct spool_memory *record = begin_memory(mine, &memory->call, SPOOL_MEMORY_ALLOCATE, memory->kind);
    if (!record)
        return;
    record->size = memory->bytes;
    record->pool = memory->pool;
    record->stream = memory->stream_id;
    record->stack = stack;
    writer_commit_in(mine, &record->head);
}

static void record_release(void *data, const struct gputrace_memory_deallocation *memory)
{
    (void)data;
    struct writer *mine = writer_mine();
    struct spool_memory *record = begin_memory(mine, &memory->call, SPOOL_MEMORY_RELEASE, memory->kind);
    if (!record)
        return;
    record->address = memory->address;
    record->stream = memory->stream_id;
    writer_commit_in(mine, &record->head);
}

static void record_context(const struct gputrace_call *call, uint16_t flags)
{
    struct spool_context *record = writer_begin(SPOOL_RECORD_CONTEXT, sizeof(*record), call->end);
    if (!record)
        return;
    record->head.flags = flags;
    record->handle = (uint64_t)(uintptr_t)call->context;
    record->context = call->context_id;
    record->device = call->device;
    writer_commit(&record->head);
}

static void record_new_context(void *data, const struct gputrace_context_creation *context)
{
    (void)data;
    record_context(&context->call, SPOOL_CREATED);
}

static void record_gone_context(void *data, const struct gputrace_context_deletion *context)
{
    (void)data;
    record_context(&context->call, SPOOL_DESTROYED);
}

static struct spool_stream *begin_stream(const struct gputrace_call *call, const struct CUstream_st *stream,
                                         uint32_t stream_id, uint16_t flags)
{
    struct spool_stream *record = writer_begin(SPOOL_RECORD_STREAM, sizeof(*record), call->end);
    if (!record)
        return NULL;
    record->head.flags = flags;
    record->handle = (uint64_t)(uintptr_t)stream;
    record->context = call->context_id;
    record->stream = stream_id;
    return record;
}

static void record_new_stream(void *data, const struct gputrace_stream_creation *stream)
{
    (void)data;
    if (stream->call.result != 0)
        return;
    struct spool_stream *record = begin_stream(&stream->call, stream->stream, stream->stream_id, SPOOL_CREATED);
    if (!record)
        return;
    record->stream_flags = stream->flags;
    record->priority = stream->priority;
    writer_commit(&record->head);
}

static void record_gone_stream(void *data, const struct gputrace_stream_deletion *stream)
{
    (void)data;
    if (stream->call.result != 0)
        return;
    struct spool_stream *record = begin_stream(&stream->call, stream->stream, stream->stream_id, SPOOL_DESTROYED);
    if (record)
        writer_commit(&record->head);
}

static struct spool_phase *begin_phase(const struct gputrace_call *call, uint64_t phase, uint32_t trigger,
                                       uint16_t flags, uint64_t time)
{
    struct spool_phase *record;
    if (!record_begin_text(record, SPOOL_RECORD_PHASE, time, text_of(call->function)))
        return NULL;
    record->head.flags = flags;
    record->phase = phase;
    record->trigger = trigger;
    record->thread = call->thread;
    record->correlation = call->correlation;
    return record;
}

static void record_phase_start(void *data, const struct gputrace_compilation_phase_start *phase)
{
    (void)data;
    struct spool_phase *record =
        begin_phase(&phase->call, phase->phase, phase->trigger, SPOOL_PHASE_STARTED, phase->call.start);
    if (record)
        writer_commit(&record->head);
}

static void record_phase_end(void *data, const struct gputrace_compilation_phase_end *phase)
{
    (void)data;
    struct spool_phase *record =
        begin_phase(&phase->call, phase->phase, phase->trigger, SPOOL_PHASE_ENDED, phase->call.end);
    if (!record)
        return;
    record->ending = phase->ending;
    record->result = phase->call.result;
    writer_commit(&record->head);
}

static void record_window(void *data, const struct gputrace_plugin_window *window)
{
    (void)data;
    struct spool_plugin_window *record = writer_begin(SPOOL_RECORD_PLUGIN_WINDOW, sizeof(*record), window->start);
    if (!record)
        return;
    record->end = window->end;
    writer_commit(&record->head);
}

static void record_pool_level(void *data, const struct gputrace_pool_level *level)
{
    (void)data;
    struct spool_pool_level *record = writer_begin(SPOOL_RECORD_POOL_LEVEL, sizeof(*record), level->time);
    if (!record)
        return;
    record->pool = level->pool;
    record->reserved = level->reserved;
    record->used = level->used;
    record->reserved_high = level->reserved_high;
    record->used_high = level->used_high;
    record->device = level->device;
    writer_commit(&record->head);
}

static int subscribe_to_memory(void)
{
    return registry_memory_allocation_register(record_allocation, NULL) |
           registry_memory_allocation_failure_register(record_failure, NULL) |
           registry_memory_deallocation_register(record_release, NULL) |
           registry_pool_level_register(record_pool_level, NULL);
}

static int subscribe_to_contexts(void)
{
    return registry_context_creation_register(record_new_context, NULL) |
           registry_context_deletion_register(record_gone_context, NULL);
}

static int subscribe_to_streams(void)
{
    return registry_stream_creation_register(record_new_stream, NULL) |
           registry_stream_deletion_register(record_gone_stream, NULL);
}

static int subscribe_to_phases(void)
{
    return registry_compilation_phase_start_register(record_phase_start, NULL) |
           registry_compilation_phase_end_register(record_phase_end, NULL);
}

/*
 * --- synchronisation: which thread or stream waited for what ---
 *
 * CUPTI also records waits and CUDA events, but enabling either kind makes every launch slower. The calls that wait are
 * rare and slow, so the recorder writes a record in their callbacks. Nothing is written while recording is off.
 */

/* Errors of GPU work, which a wait returns. After any other error nothing was waited for. */
enum { FIRST_ERROR_OF_WORK = 700, LAST_ERROR_OF_WORK = 799 };

static bool has_waited(const struct gputrace_call *call)
{
    return call->result == 0 || (call->result >= FIRST_ERROR_OF_WORK && call->result <= LAST_ERROR_OF_WORK);
}

static void write_wait(const struct gputrace_call *call, enum spool_sync_kind kind, const struct CUevent_st *event,
                       uint32_t stream_id)
{
    if (!recorder_is_on())
        return;
    struct writer *mine = writer_mine();
    struct spool_sync *record = writer_begin_in(mine, SPOOL_RECORD_SYNC, sizeof(*record), sizeof(*record), call->end);
    if (!record)
        return;
    record->head.flags = (uint16_t)kind;
    record->start = call->start;
    record->event = (uintptr_t)event;
    record->context = call->context_id;
    record->stream = stream_id;
    record->correlation = call->correlation;
    record->result = call->result;
    writer_commit_in(mine, &record->head);
}

static void record_event_synchronization(void *data, const struct gputrace_event_synchronization *wait)
{
    (void)data;
    if (has_waited(&wait->call))
        write_wait(&wait->call, SPOOL_SYNC_EVENT, wait->event, GPUTRACE_NO_STREAM);
}

/* The thread goes on at once, so an error is none of waiting. */
static void record_event_wait(void *data, const struct gputrace_event_wait *wait)
{
    (void)data;
    if (wait->call.result == 0 && !wait->captured)
        write_wait(&wait->call, SPOOL_SYNC_STREAM_WAIT_EVENT, wait->event, wait->stream_id);
}

static void record_stream_synchronization(void *data, const struct gputrace_stream_synchronization *wait)
{
    (void)data;
    if (has_waited(&wait->call))
        write_wait(&wait->call, SPOOL_SYNC_STREAM, NULL, wait->stream_id);
}

static void record_device_synchronization(void *data, const struct gputrace_device_synchronization *wait)
{
    (void)data;
    if (has_waited(&wait->call))
        write_wait(&wait->call, SPOOL_SYNC_CONTEXT, NULL, GPUTRACE_NO_STREAM);
}

static void record_event_record(void *data, const struct gputrace_event_record *event)
{
    (void)data;
    if (event->call.result != 0 || event->captured || !recorder_is_on())
        return;
    struct writer *mine = writer_mine();
    struct spool_event_record *record =
        writer_begin_in(mine, SPOOL_RECORD_EVENT_RECORD, sizeof(*record), sizeof(*record), event->call.end);
    if (!record)
        return;
    record->event = (uintptr_t)event->event;
    record->context = event->call.context_id;
    record->stream = event->stream_id;
    record->correlation = event->call.correlation;
    writer_commit_in(mine, &record->head);
}

static int subscribe_to_waits(void)
{
    return registry_event_synchronization_register(record_event_synchronization, NULL) |
           registry_event_wait_register(record_event_wait, NULL) |
           registry_stream_synchronization_register(record_stream_synchronization, NULL) |
           registry_device_synchronization_register(record_device_synchronization, NULL) |
           registry_event_record_register(record_event_record, NULL);
}

/* --- names of kernels, nodes of graphs --- */

static void record_pointer_name(void *data, const struct gputrace_pointer_name *name)
{
    (void)data;
    struct spool_pointer_name *record;
    if (!record_begin_text(record, SPOOL_RECORD_POINTER_NAME, name->since, name->text))
        return;
    record->pointer = (uint64_t)(uintptr_t)name->pointer;
    writer_commit(&record->head);
}

static void record_launch_name(void *data, const struct gputrace_launch_name *name)
{
    (void)data;
    struct spool_launch_name *record;
    struct gputrace_text kept = {name->text.bytes, record_text_kept(name->text.length)}; /* the pointer's is counted */
    if (!record_begin_text(record, SPOOL_RECORD_LAUNCH_NAME, clock_now(), kept))
        return;
    record->correlation = name->correlation;
    writer_commit(&record->head);
}

static void record_function_name(void *data, const struct gputrace_function_name *name)
{
    (void)data;
    struct spool_function_name *record;
    struct gputrace_text kept = {name->text.bytes, record_text_kept(name->text.length)}; /* the pointer's is counted */
    if (!record_begin_text(record, SPOOL_RECORD_FUNCTION_NAME, clock_now(), kept))
        return;
    record->function = (uint64_t)(uintptr_t)name->function;
    writer_commit(&record->head);
}

static void record_graph_node(void *data, const struct gputrace_graph_node *node)
{
    (void)data;
    struct spool_graph_node *record = writer_begin(SPOOL_RECORD_GRAPH_NODE, sizeof(*record), clock_now());
    if (!record)
        return;
    record->node = node->node;
    record->original = node->original;
    record->function = (uint64_t)(uintptr_t)node->function;
    record->correlation = node->correlation;
    writer_commit(&record->head);
}

static void record_conditional_launch(void *data, const struct gputrace_conditional_launch *launch)
{
    (void)data;
    struct spool_graph_launch *record = writer_begin(SPOOL_RECORD_GRAPH_LAUNCH, sizeof(*record), launch->start);
    if (!record)
        return;
    record->graph = launch->graph;
    record->correlation = launch->correlation;
    writer_commit(&record->head);
}

int record_cuda_subscribe_graph_nodes(void)
{
    return registry_function_name_register(record_function_name, NULL) |
           registry_graph_node_register(record_graph_node, NULL) |
           registry_conditional_launch_register(record_conditional_launch, NULL);
}

int record_cuda_subscribe(uint64_t trace_bits)
{
    int failed = registry_pointer_name_register(record_pointer_name, NULL) |
                 registry_plugin_window_register(record_window, NULL);
    if (trace_bits & TRACE_MEMORY)
        failed |= subscribe_to_memory();
    if (trace_bits & (TRACE_STREAM | TRACE_MEMORY))
        failed |= subscribe_to_contexts();
    if (trace_bits & TRACE_STREAM)
        failed |= subscribe_to_streams();
    if (trace_bits & TRACE_COMPILE)
        failed |= subscribe_to_phases();
    if ((trace_bits & TRACE_SYNC) &&
        !(trace_bits & TRACE_EVENT_TIMES)) /* otherwise CUPTI records waits: activity_kinds.c */
        failed |= subscribe_to_waits();
    if (trace_bits & TRACE_KERNEL)
        failed |= registry_launch_name_register(record_launch_name, NULL);
    return failed;
}
