/*
 * Subscribers that write records of NVTX: ranges and marks (a small record where all fits), names, and the parts of
 * its extensions. A CUDA event that gets a name is followed from then on.
 */
#include "agent/spool/record_nvtx.h"

#include <pthread.h>

#include "agent/dispatch/fork_watch.h"
#include "agent/dispatch/registry.h"
#include "agent/spool/recorder.h"
#include "agent/spool/writer.h"
#include "common/clock.h"
#include "common/map.h"

/* Whether the event fits the smaller record, as most do. */
static inline bool is_plain(const struct gputrace_nvtx *event)
{
    return event->range == 0 && event->category == 0 && event->color_type == 0 && event->payload_type == 0;
}

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

static void record_whole(enum spool_nvtx_what what, const struct gputrace_nvtx *event, struct gputrace_text message)
{
    record_write_text(SPOOL_RECORD_NVTX_EVENT, nvtx_event, event->call.end, message, .head.flags = (uint16_t)what,
                      .range = event->range, .payload = event->payload, .domain = event->domain,
                      .category = event->category, .color = event->color, .color_type = event->color_type,
                      .payload_type = event->payload_type, .string = event->string);
}

static inline void record_event(enum spool_nvtx_what what, const struct gputrace_nvtx *event)
{
    if (!recorder_is_on())
        return;
    if (is_plain(event))
        record_plain(what, event->call.end, event->domain, event->string, event->message);
    else
        record_whole(what, event, event->string ? (struct gputrace_text){0} : event->message);
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

/* --- CUDA events that have a name --- */

static struct {
    pthread_mutex_t lock;
    struct map handles;
    bool subscribed; /* to events that are recorded and deleted */
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

/* When the first CUDA event gets a name, the recorder subscribes to event records: the trace then shows which of
 * CUPTI's records belong to that event. */
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
    case NVTX_NAMED_LEFT_OUT: recorder_seen(SPOOL_SEEN_DOMAIN, name->text); break;
    }
}

/* --- records of NVTX extensions --- */

static_assert(SPOOL_NVTX_TEXT_MAX == WRITER_TEXT_MAX, "collectors know where a text is cut");

/* What each record of an extension ends with. */
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
