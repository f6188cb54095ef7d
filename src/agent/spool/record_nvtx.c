#include "agent/spool/record_nvtx.h"

#include "common/clock.h"
#include "agent/spool/record_text.h"
#include "agent/spool/recorder.h"
#include "agent/dispatch/registry.h"

/* What most events are, and what the smaller record can tell. */
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
        memcpy(record->text, message.bytes, length);
    writer_commit_in(mine, &record->head);
}

void record_nvtx_briefly(enum spool_nvtx_what what, uint32_t domain, uint32_t string, struct gputrace_text message)
{
    if (recorder_is_on())
        record_plain(what, clock_now(), domain, string, message);
}

static void record_whole(enum spool_nvtx_what what, const struct gputrace_nvtx *event, struct gputrace_text message)
{
    struct spool_nvtx_event *record;
    if (!record_begin_text(record, SPOOL_RECORD_NVTX_EVENT, event->call.end, message))
        return;
    record->head.flags = (uint16_t)what;
    record->range = event->range;
    record->payload = event->payload;
    record->domain = event->domain;
    record->category = event->category;
    record->color = event->color;
    record->color_type = event->color_type;
    record->payload_type = event->payload_type;
    record->string = event->string;
    writer_commit(&record->head);
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
    struct spool_nvtx_event *record =
        recorder_is_on() ? writer_begin(SPOOL_RECORD_NVTX_EVENT, sizeof(*record), sync->time) : NULL;
    if (!record)
        return;
    record->head.flags = (uint16_t)sync->what;
    record->range = sync->object;
    writer_commit(&record->head);
}

int record_nvtx_subscribe(void)
{
    return registry_nvtx_push_register(record_push, NULL) | registry_nvtx_pop_register(record_pop, NULL) |
           registry_nvtx_start_register(record_start, NULL) | registry_nvtx_end_register(record_end, NULL) |
           registry_nvtx_mark_register(record_mark, NULL) | registry_nvtx_sync_register(record_sync, NULL) |
           registry_nvtx_name_register(record_nvtx_name, NULL);
}
