#include <pthread.h>

#include "common/clock.h"
#include "common/map.h"
#include "agent/spool/record_nvtx.h"
#include "agent/spool/record_text.h"
#include "agent/spool/recorder.h"
#include "agent/dispatch/fork_watch.h"
#include "agent/dispatch/registry.h"

/* --- CUDA events that have a name --- */

static struct {
    pthread_mutex_t lock;
    struct map handles;
    bool heard; /* of events that are recorded and deleted */
} events = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void recorded(void *data, const struct gputrace_event_record *event)
{
    (void)data;
    pthread_mutex_lock(&events.lock);
    bool named = event->call.result == 0 && map_get(&events.handles, (uintptr_t)event->event);
    pthread_mutex_unlock(&events.lock);
    struct spool_nvtx_recorded *record =
        named && recorder_is_on() ? writer_begin(SPOOL_RECORD_NVTX_RECORDED, sizeof(*record), event->call.end) : NULL;
    if (!record)
        return;
    record->event = (uintptr_t)event->event;
    record->correlation = event->call.correlation;
    writer_commit(&record->head);
}

/* Another event may get the same handle. */
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
    bool first = !events.heard;
    events.heard = true;
    pthread_mutex_unlock(&events.lock);
    if (first &&
        (registry_event_record_register(recorded, NULL) | registry_event_deletion_register(deleted, NULL)) != 0)
        events.heard = false;
}

void record_nvtx_leave(void)
{
    pthread_mutex_init(&events.lock, NULL);
}

/* --- names --- */

static void record_domain(const struct gputrace_nvtx_name *name)
{
    struct spool_nvtx_domain *record;
    if (!record_begin_text(record, SPOOL_RECORD_NVTX_DOMAIN, clock_now(), name->text))
        return;
    record->domain = name->domain;
    writer_commit(&record->head);
}

static void record_string(const struct gputrace_nvtx_name *name)
{
    struct spool_nvtx_string *record;
    if (!record_begin_text(record, SPOOL_RECORD_NVTX_STRING, clock_now(), name->text))
        return;
    record->domain = name->domain;
    record->string = name->number;
    writer_commit(&record->head);
}

static void record_category(const struct gputrace_nvtx_name *name)
{
    struct spool_nvtx_category *record;
    if (!record_begin_text(record, SPOOL_RECORD_NVTX_CATEGORY, clock_now(), name->text))
        return;
    record->domain = name->domain;
    record->category = name->number;
    writer_commit(&record->head);
}

static void record_thread(const struct gputrace_nvtx_name *name)
{
    struct spool_thread_name *record;
    if (!record_begin_text(record, SPOOL_RECORD_THREAD_NAME, clock_now(), name->text))
        return;
    record->head.flags = SPOOL_THREAD_NAME_NVTX;
    record->thread = name->number;
    writer_commit(&record->head);
}

static void record_object(const struct gputrace_nvtx_name *name)
{
    if (name->what == SPOOL_NVTX_CUDA_EVENT)
        follow_event(name->object);
    struct spool_nvtx_name *record;
    if (!record_begin_text(record, SPOOL_RECORD_NVTX_NAME, clock_now(), name->text))
        return;
    record->object = name->object;
    record->what = name->what;
    record->stream = name->stream;
    writer_commit(&record->head);
}

static void record_resource(const struct gputrace_nvtx_name *name)
{
    struct spool_nvtx_resource *record;
    if (!record_begin_text(record, SPOOL_RECORD_NVTX_RESOURCE, clock_now(), name->text))
        return;
    record->head.flags = name->resource.destroyed ? SPOOL_DESTROYED : SPOOL_CREATED;
    record->resource = name->resource.number;
    record->identifier = name->object;
    record->type = name->resource.type;
    record->domain = name->domain;
    writer_commit(&record->head);
}

static void record_left_out(const struct gputrace_nvtx_name *name)
{
    recorder_seen(SPOOL_SEEN_DOMAIN, name->text);
}

void record_nvtx_name(void *data, const struct gputrace_nvtx_name *name)
{
    (void)data;
    static void (*const record[])(const struct gputrace_nvtx_name *) = {
        [NVTX_NAMED_DOMAIN] = record_domain,     [NVTX_NAMED_STRING] = record_string,
        [NVTX_NAMED_CATEGORY] = record_category, [NVTX_NAMED_THREAD] = record_thread,
        [NVTX_NAMED_OBJECT] = record_object,     [NVTX_NAMED_RESOURCE] = record_resource,
        [NVTX_NAMED_LEFT_OUT] = record_left_out,
    };
    record[name->named](name);
}
