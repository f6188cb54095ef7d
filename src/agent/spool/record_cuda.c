#include "agent/spool/record_cuda.h"

#include <assert.h>

#include "agent/spool/record_text.h"
#include "agent/spool/stacks.h"
#include "agent/dispatch/registry.h"
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

int record_cuda_subscribe(uint64_t trace_bits)
{
    int failed = registry_plugin_window_register(record_window, NULL);
    if (trace_bits & TRACE_MEMORY)
        failed |= subscribe_to_memory();
    if (trace_bits & (TRACE_STREAM | TRACE_MEMORY))
        failed |= subscribe_to_contexts();
    if (trace_bits & TRACE_STREAM)
        failed |= subscribe_to_streams();
    if (trace_bits & TRACE_COMPILE)
        failed |= subscribe_to_phases();
    return failed;
}
