#include "agent/spool/record_sync.h"

#include <stdbool.h>

#include "agent/spool/recorder.h"
#include "agent/spool/writer.h"
#include "agent/dispatch/registry.h"

/* Errors that the GPU's work has made, and who waits for it is told: all others say that nothing was waited for. */
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

int record_sync_subscribe(void)
{
    return registry_event_synchronization_register(record_event_synchronization, NULL) |
           registry_event_wait_register(record_event_wait, NULL) |
           registry_stream_synchronization_register(record_stream_synchronization, NULL) |
           registry_device_synchronization_register(record_device_synchronization, NULL) |
           registry_event_record_register(record_event_record, NULL);
}
