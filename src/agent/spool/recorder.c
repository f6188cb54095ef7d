/*
 * The subscribers that write records of the program's events; each function turns one kind of event into one record.
 * First the records that belong to no API: notes for the user, switches of recording, records of plugins. CUDA: memory,
 * contexts, streams, phases of compilation, waits, CUDA events, names of kernels, and graph nodes. NVTX: ranges and
 * marks (in a small record if possible), names, and the records of its extensions. Once a CUDA event gets a name, its
 * recordings are recorded, too.
 */
#include "agent/spool/recorder.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "agent/dispatch/registry.h"
#include "agent/spool/stacks.h"
#include "agent/spool/writer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/map.h"
#include "common/settings.h"

bool recorder_on;

static struct {
    bool (*wake)(void);
    uint32_t generation; /* generation of the process for which `recorded` was determined; 0: none */
    bool recorded;       /* the process is recorded */
} process;

void recorder_init(bool (*wake)(void))
{
    process.wake = wake;
}

bool recorder_has_process(void)
{
    uint32_t generation = __atomic_load_n(&process.generation, __ATOMIC_ACQUIRE);
    if (generation != 0 && generation == fork_generation())
        return __atomic_load_n(&process.recorded, __ATOMIC_RELAXED);
    int saved = errno;
    if (fork_turned_away())
        return false;
    bool recorded = process.wake();
    __atomic_store_n(&process.recorded, recorded, __ATOMIC_RELAXED);
    __atomic_store_n(&process.generation, fork_generation(), __ATOMIC_RELEASE);
    errno = saved;
    return recorded;
}

void recorder_switch(bool on, uint64_t time, const char *reason)
{
    struct spool_control *control = spool_control(spool_file_header());
    __atomic_store_n(&recorder_on, on, __ATOMIC_RELAXED);
    __atomic_store_n(&control->switched, time, __ATOMIC_RELAXED);
    __atomic_store_n(&control->recording, on ? SPOOL_RECORDING : SPOOL_PAUSED, __ATOMIC_RELEASE);
    record_write_text(SPOOL_RECORD_CAPTURE, capture, time, text_of(reason), .head.flags = on);
}

void recorder_note_unrecorded(uint16_t what, struct gputrace_text text)
{
    record_write_text(SPOOL_RECORD_SEEN, seen, clock_now(), text, .head.flags = what);
}

#define NOTE_BYTES 1024

void recorder_note(uint16_t flags, const char *format, ...)
{
    char words[NOTE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    record_write_text(SPOOL_RECORD_NOTE, note, clock_now(), text_of(words), .head.flags = flags);
}

void recorder_warn(const char *format, ...)
{
    char words[NOTE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    uint16_t flags = warning("%s", words) ? SPOOL_NOTE_WARNED : SPOOL_NOTE_WARNING;
    record_write_text(SPOOL_RECORD_NOTE, note, clock_now(), text_of(words), .head.flags = flags);
}

/* --- records of plugins --- */

void plugin_record_client(uint32_t client, const char *name)
{
    record_write_text(SPOOL_RECORD_PLUGIN, plugin, clock_now(), text_of(name), .plugin = client);
}

void plugin_record_event(const struct plugin_event *event)
{
    struct gputrace_text name = text_of(event->name);
    struct spool_plugin_event record = {
        .head.flags = event->what,
        .end = event->end,
        .value = event->value,
        .plugin = event->client,
        .thread = writer_thread(),
        .name_length = record_text_kept(name.length),
    };
    record_write_texts(SPOOL_RECORD_PLUGIN_EVENT, 0, event->start, &record.head, sizeof(record),
                       offsetof(struct spool_plugin_event, text), name, text_of(event->detail));
}

/* --- CUDA --- */

/* The spool uses the numbers of the public headers. */
#define SAME(name, text) \
    static_assert((int)SPOOL_MEMORY_##name == (int)GPUTRACE_MEMORY_##name, "kinds of memory: " #name);
SPOOL_MEMORY_KINDS(SAME)
#undef SAME
#define SAME(name, text) static_assert((int)SPOOL_TRIGGER_##name == (int)GPUTRACE_TRIGGER_##name, "triggers: " #name);
SPOOL_TRIGGERS(SAME)
#undef SAME
static_assert(SPOOL_NO_DEVICE == GPUTRACE_NO_DEVICE && SPOOL_NO_STREAM == GPUTRACE_NO_STREAM, "none is the same none");

/* Defines record_KIND(), a callback that runs the statements below with the event as `event`. */
#define HEAR(kind, ...)                                                        \
    static void record_##kind(void *data, const struct gputrace_##kind *event) \
    {                                                                          \
        (void)data;                                                            \
        __VA_ARGS__;                                                           \
    }

/* The members that all memory records have in common. EVENT has the members `call` and `kind`. */
#define MEMORY(event, what)                                                                                        \
    .operation = SPOOL_MEMORY_##what, .kind = (uint16_t)(event)->kind, .stream = (event)->stream_id,               \
    .device = (event)->call.device, .context = (event)->call.context_id, .correlation = (event)->call.correlation, \
    .thread = (event)->call.thread, .result = (event)->call.result

/* Records an allocation that succeeded or failed. The stack is recorded before this record begins, because a new stack
 * is a record of its own. */
#define ALLOCATION(kind, at)                                                                                \
    HEAR(kind, uint32_t stack = call_stack_record(STACKS_ALLOC);                                            \
         record_write(SPOOL_RECORD_MEMORY, memory, event->call.end, MEMORY(event, ALLOCATE), .address = at, \
                      .size = event->bytes, .pool = event->pool, .stack = stack))
ALLOCATION(memory_allocation, event->address)
ALLOCATION(memory_allocation_failure, 0)
HEAR(memory_deallocation,
     record_write(SPOOL_RECORD_MEMORY, memory, event->call.end, MEMORY(event, RELEASE), .address = event->address))
HEAR(pool_level, record_write(SPOOL_RECORD_POOL_LEVEL, pool_level, event->time, .pool = event->pool,
                              .reserved = event->reserved, .used = event->used, .reserved_high = event->reserved_high,
                              .used_high = event->used_high, .device = event->device))

#define CONTEXT(kind, happened)                                                                          \
    HEAR(kind, record_write(SPOOL_RECORD_CONTEXT, context, event->call.end, .head.flags = (happened),    \
                            .handle = (uintptr_t)event->call.context, .context = event->call.context_id, \
                            .device = event->call.device))
CONTEXT(context_creation, SPOOL_CREATED)
CONTEXT(context_deletion, SPOOL_DESTROYED)

#define STREAM(kind, happened, ...)                                                                     \
    HEAR(kind, if (event->call.result == 0)                                                             \
                   record_write(SPOOL_RECORD_STREAM, stream, event->call.end, .head.flags = (happened), \
                                .handle = (uintptr_t)event->stream, .context = event->call.context_id,  \
                                .stream = event->stream_id, ##__VA_ARGS__))
STREAM(stream_creation, SPOOL_CREATED, .stream_flags = event->flags, .priority = event->priority)
STREAM(stream_deletion, SPOOL_DESTROYED)

#define PHASE(kind, at, happened, ...)                                                                       \
    HEAR(kind, record_write_text(SPOOL_RECORD_PHASE, phase, at, text_of(event->call.function),               \
                                 .head.flags = (happened), .phase = event->phase, .trigger = event->trigger, \
                                 .thread = event->call.thread, .correlation = event->call.correlation, ##__VA_ARGS__))
PHASE(compilation_phase_start, event->call.start, SPOOL_PHASE_STARTED)
PHASE(compilation_phase_end, event->call.end, SPOOL_PHASE_ENDED, .ending = event->ending, .result = event->call.result)

HEAR(plugin_window, record_write(SPOOL_RECORD_PLUGIN_WINDOW, plugin_window, event->start, .end = event->end))

/*
 * --- synchronisation: which thread or stream waited for what ---
 *
 * CUPTI also records waits and CUDA events, but enabling either kind makes every launch slower. The calls that wait are
 * rare and slow, so the recorder writes a record in their callbacks. Nothing is written while recording is off.
 */

/* Errors of GPU work, which a wait returns. After any other error the thread did not wait. */
enum { FIRST_ERROR_OF_WORK = 700, LAST_ERROR_OF_WORK = 799 };

static void write_wait(const struct gputrace_call *call, enum spool_sync_kind kind, const struct CUevent_st *event,
                       uint32_t stream_id)
{
    bool waited = call->result == 0 || (call->result >= FIRST_ERROR_OF_WORK && call->result <= LAST_ERROR_OF_WORK);
    if (waited && recorder_is_on())
        record_write(SPOOL_RECORD_SYNC, sync, call->end, .head.flags = (uint16_t)kind, .start = call->start,
                     .event = (uintptr_t)event, .context = call->context_id, .stream = stream_id,
                     .correlation = call->correlation, .result = call->result);
}

HEAR(event_synchronization, write_wait(&event->call, SPOOL_SYNC_EVENT, event->event, GPUTRACE_NO_STREAM))
HEAR(stream_synchronization, write_wait(&event->call, SPOOL_SYNC_STREAM, NULL, event->stream_id))
HEAR(device_synchronization, write_wait(&event->call, SPOOL_SYNC_CONTEXT, NULL, GPUTRACE_NO_STREAM))
/* The call does not block, so an error of it is not an error of a wait. */
HEAR(event_wait, if (event->call.result == 0 && !event->captured)
                     write_wait(&event->call, SPOOL_SYNC_STREAM_WAIT_EVENT, event->event, event->stream_id))
HEAR(event_record, if (event->call.result == 0 && !event->captured && recorder_is_on())
                       record_write(SPOOL_RECORD_EVENT_RECORD, event_record, event->call.end,
                                    .event = (uintptr_t)event->event, .context = event->call.context_id,
                                    .stream = event->stream_id, .correlation = event->call.correlation))

/* --- names of kernels, nodes of graphs --- */

#define NAME(kind, type, time, ...) \
    HEAR(kind, record_write_text(SPOOL_RECORD_##type, kind, time, event->text, __VA_ARGS__))
NAME(pointer_name, POINTER_NAME, event->since, .pointer = (uintptr_t)event->pointer)
NAME(launch_name, LAUNCH_NAME, clock_now(), .correlation = event->correlation)
NAME(function_name, FUNCTION_NAME, clock_now(), .function = (uintptr_t)event->function)
HEAR(graph_node, record_write(SPOOL_RECORD_GRAPH_NODE, graph_node, clock_now(), .node = event->node,
                              .original = event->original, .function = (uintptr_t)event->function,
                              .correlation = event->correlation, .capturer = event->capturer))
HEAR(conditional_launch, record_write(SPOOL_RECORD_GRAPH_LAUNCH, graph_launch, event->start, .graph = event->graph,
                                      .correlation = event->correlation))

/* --- subscribing --- */

#define SUBSCRIBE(kind) registry_##kind##_register(record_##kind, NULL)

int record_cuda_subscribe_graph_nodes(void)
{
    return SUBSCRIBE(function_name) | SUBSCRIBE(graph_node) | SUBSCRIBE(conditional_launch);
}

int record_cuda_subscribe(uint64_t trace_bits)
{
    int failed = SUBSCRIBE(pointer_name) | SUBSCRIBE(plugin_window);
    if (trace_bits & TRACE_MEMORY)
        failed |= SUBSCRIBE(memory_allocation) | SUBSCRIBE(memory_allocation_failure) | SUBSCRIBE(memory_deallocation) |
                  SUBSCRIBE(pool_level);
    if (trace_bits & (TRACE_STREAM | TRACE_MEMORY))
        failed |= SUBSCRIBE(context_creation) | SUBSCRIBE(context_deletion);
    if (trace_bits & TRACE_STREAM)
        failed |= SUBSCRIBE(stream_creation) | SUBSCRIBE(stream_deletion);
    if (trace_bits & TRACE_COMPILE)
        failed |= SUBSCRIBE(compilation_phase_start) | SUBSCRIBE(compilation_phase_end);
    if ((trace_bits & TRACE_SYNC) && !(trace_bits & TRACE_EVENT_TIMES)) /* else CUPTI records waits: activity_kinds.c */
        failed |= SUBSCRIBE(event_synchronization) | SUBSCRIBE(event_wait) | SUBSCRIBE(stream_synchronization) |
                  SUBSCRIBE(device_synchronization) | SUBSCRIBE(event_record);
    if (trace_bits & TRACE_KERNEL)
        failed |= SUBSCRIBE(launch_name);
    return failed;
}

/* --- NVTX --- */

/* Writes the smaller record, which most events fit into. */
static inline void record_plain(enum spool_nvtx_what what, uint64_t time, uint32_t domain, uint32_t string,
                                struct gputrace_text message)
{
    struct writer *mine = writer_mine();
    uint32_t length = string ? 0 : record_text_cut(message.length);
    struct spool_nvtx_plain *record =
        writer_begin_in(mine, SPOOL_RECORD_NVTX_PLAIN, sizeof(*record),
                        spool_record_bytes(sizeof(*record), sizeof(record->text), length), time);
    if (!record)
        return;
    record->head.flags = (uint16_t)what;
    record->domain = domain;
    record->string = string;
    record->length = length;
    if (length > 0)
        record_put_text(record->text, message, length);
    writer_commit_in(mine, &record->head);
}

void record_nvtx_briefly(enum spool_nvtx_what what, uint32_t domain, uint32_t string, struct gputrace_text message)
{
    if (recorder_is_on())
        record_plain(what, clock_now(), domain, string, message);
}

static inline void record_event(enum spool_nvtx_what what, const struct gputrace_nvtx *event)
{
    if (!recorder_is_on())
        return;
    if (event->range == 0 && event->category == 0 && event->color_type == 0 && event->payload_type == 0) {
        record_plain(what, event->call.end, event->domain, event->string, event->message);
        return;
    }
    struct gputrace_text message = event->string ? (struct gputrace_text){0} : event->message;
    record_write_text(SPOOL_RECORD_NVTX_EVENT, nvtx_event, event->call.end, message, .head.flags = (uint16_t)what,
                      .range = event->range, .payload = event->payload, .domain = event->domain,
                      .category = event->category, .color = event->color, .color_type = event->color_type,
                      .payload_type = event->payload_type, .string = event->string);
}

#define RECORD(kind, what)                                                   \
    static void record_##kind(void *data, const struct gputrace_nvtx *event) \
    {                                                                        \
        (void)data;                                                          \
        record_event((what), event);                                         \
    }
RECORD(push, SPOOL_NVTX_PUSH)
RECORD(pop, SPOOL_NVTX_POP)
RECORD(start, SPOOL_NVTX_START)
RECORD(end, SPOOL_NVTX_END)
RECORD(mark, SPOOL_NVTX_MARK)

static void record_sync(void *data, const struct gputrace_nvtx_sync *sync)
{
    (void)data;
    if (recorder_is_on())
        record_write_text(SPOOL_RECORD_NVTX_EVENT, nvtx_event, sync->time, (struct gputrace_text){0},
                          .head.flags = (uint16_t)sync->what, .range = sync->object);
}

/* --- recordings of CUDA events that have a name --- */

static struct {
    pthread_mutex_t lock;
    struct map handles;
    bool subscribed; /* subscribed to recording and deletion of events */
} events = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void recorded(void *data, const struct gputrace_event_record *event)
{
    (void)data;
    pthread_mutex_lock(&events.lock);
    bool named = event->call.result == 0 && map_get(&events.handles, (uintptr_t)event->event);
    pthread_mutex_unlock(&events.lock);
    if (named && recorder_is_on())
        record_write(SPOOL_RECORD_NVTX_RECORDED, nvtx_recorded, event->call.end, .event = (uintptr_t)event->event,
                     .correlation = event->call.correlation);
}

/* Forgets the event's name, because another event may get the same handle. */
static void deleted(void *data, const struct gputrace_event_deletion *event)
{
    (void)data;
    pthread_mutex_lock(&events.lock);
    map_remove(&events.handles, (uintptr_t)event->event);
    pthread_mutex_unlock(&events.lock);
}

static void follow_event(uint64_t handle)
{
    if (fork_unannounced())
        return;
    pthread_mutex_lock(&events.lock);
    map_put(&events.handles, handle, NULL);
    bool first = !events.subscribed;
    events.subscribed = true;
    pthread_mutex_unlock(&events.lock);
    if (first &&
        (registry_event_record_register(recorded, NULL) | registry_event_deletion_register(deleted, NULL)) != 0)
        events.subscribed = false;
}

void record_nvtx_atfork_child(void)
{
    pthread_mutex_init(&events.lock, NULL);
}

/* --- names --- */

/* Records a name. When the first CUDA event gets a name, also subscribes to the recording of events: the trace then
 * shows which of CUPTI's records belong to that event. */
static void record_name(void *data, const struct gputrace_nvtx_name *name)
{
    (void)data;
    uint64_t now = clock_now();
    switch (name->named) {
    case NVTX_NAMED_DOMAIN:
        record_write_text(SPOOL_RECORD_NVTX_DOMAIN, nvtx_domain, now, name->text, .domain = name->domain);
        break;
    case NVTX_NAMED_STRING:
        record_write_text(SPOOL_RECORD_NVTX_STRING, nvtx_string, now, name->text, .domain = name->domain,
                          .string = name->number);
        break;
    case NVTX_NAMED_CATEGORY:
        record_write_text(SPOOL_RECORD_NVTX_CATEGORY, nvtx_category, now, name->text, .domain = name->domain,
                          .category = name->number);
        break;
    case NVTX_NAMED_THREAD:
        record_write_text(SPOOL_RECORD_THREAD_NAME, thread_name, now, name->text, .head.flags = SPOOL_THREAD_NAME_NVTX,
                          .thread = name->number);
        break;
    case NVTX_NAMED_OBJECT:
        if (name->what == SPOOL_NVTX_CUDA_EVENT)
            follow_event(name->object);
        record_write_text(SPOOL_RECORD_NVTX_NAME, nvtx_name, clock_now(), name->text, .object = name->object,
                          .what = name->what, .stream = name->stream);
        break;
    case NVTX_NAMED_RESOURCE:
        record_write_text(SPOOL_RECORD_NVTX_RESOURCE, nvtx_resource, now, name->text,
                          .head.flags = name->resource.destroyed ? SPOOL_DESTROYED : SPOOL_CREATED,
                          .resource = name->resource.number, .identifier = name->object, .type = name->resource.type,
                          .domain = name->domain);
        break;
    case NVTX_NAMED_LEFT_OUT: recorder_note_unrecorded(SPOOL_SEEN_DOMAIN, name->text); break;
    }
}

/* --- records of NVTX extensions --- */

static_assert(SPOOL_NVTX_TEXT_MAX == WRITER_TEXT_MAX, "collectors know where a text is cut");

/* The last members of each record of an extension. */
struct tail {
    uint32_t length;
    char text[4];
};
#define TYPE(name, structure, holds) \
    static_assert(offsetof(struct structure, length) == sizeof(struct structure) - sizeof(struct tail), #name);
SPOOL_NVTX_EXTENSION_TYPES(TYPE)
#undef TYPE

static void record_extension(void *data, const struct gputrace_nvtx_extension *what)
{
    (void)data;
    if (!what->always && !recorder_is_on())
        return;
    record_write_texts(what->type, what->flags, what->time, what->record, what->bytes,
                       what->bytes - (uint32_t)sizeof(((struct tail *)0)->text), what->text, what->more);
}

int record_nvtx_subscribe(void)
{
    return registry_nvtx_push_register(record_push, NULL) | registry_nvtx_pop_register(record_pop, NULL) |
           registry_nvtx_start_register(record_start, NULL) | registry_nvtx_end_register(record_end, NULL) |
           registry_nvtx_mark_register(record_mark, NULL) | registry_nvtx_sync_register(record_sync, NULL) |
           registry_nvtx_name_register(record_name, NULL) | registry_nvtx_extension_register(record_extension, NULL);
}
