#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/map.h"
#include "trace/pftrace/pftrace_replay.h"
#include "trace/transcode_sources.h"
#include "trace/sink.h"

struct file_replay {
    struct pftrace_replay events;
    bool begun;
    uint64_t left_out; /* JSON has a place for metadata before the events alone */
};

static void replay_event(struct file_replay *replay, const struct pftrace_event *event)
{
    struct pftrace_replay *events = &replay->events;
    if (event->what == PFTRACE_METADATA && strcmp(event->name, "baseTimeNanoseconds") == 0)
        events->base = strtoull(event->text, NULL, 10);
    if (event->what == PFTRACE_METADATA && replay->begun) {
        replay->left_out++;
        return;
    }
    if (event->what != PFTRACE_METADATA && !replay->begun) {
        events->writer->format->begin(events->writer, events->base);
        replay->begun = true;
    }
    pftrace_replay_event(events, event);
}

static int replay_all(struct file_replay *replay, struct pftrace_reader *reader, const char *path)
{
    const struct pftrace_event *event;
    int more;
    while ((more = pftrace_next(reader, &event)) > 0)
        replay_event(replay, event);
    replay->left_out += pftrace_left_out(reader) + replay->events.left_out;
    if (more == 0 && replay->left_out > 0)
        warning("'%s': %" PRIu64 " packets are left out, as gputrace would not have written them", path,
                replay->left_out);
    if (more == 0 &&
        (replay->events.members.failure || replay->events.category.failure || replay->events.clean.failure))
        return error_no_memory("arguments of an event");
    return more;
}

int replay_pftrace(const char *path, struct writer *writer)
{
    struct interner strings = {0};
    struct file_replay replay = {0};
    struct pftrace_reader *reader = pftrace_open(path, &strings);
    if (!reader)
        return -1;
    pftrace_replay_init(&replay.events, writer);
    int result = replay_all(&replay, reader, path);
    if (result == 0 && !replay.begun)
        writer->format->begin(writer, replay.events.base);
    if (result == 0)
        writer->format->finish(writer);
    pftrace_close(reader);
    pftrace_replay_release(&replay.events);
    interner_release(&strings);
    return result;
}
