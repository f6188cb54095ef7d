/*
 * A trace in JSON, read twice: names of rows may stand anywhere in it, and so may metadata, and both come first here.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/map.h"
#include "trace/json/reader.h"
#include "trace/json/json_replay.h"
#include "trace/transcode_sources.h"
#include "trace/sink.h"

static int note_event(void *context, struct json_text event)
{
    return json_replay_note(context, event);
}

static int write_event(void *context, struct json_text event)
{
    return json_replay_event(context, event);
}

static int write_metadata(void *context, const char *key, struct json_text value)
{
    struct json_replay *replay = context;
    struct json_text clean = json_clean(value, &replay->clean);
    if (replay->clean.failure)
        return error_no_memory("the trace's metadata");
    if (strcmp(key, "baseTimeNanoseconds") == 0)
        replay->base = strtoull(value.at, NULL, 10);
    replay->writer->format->metadata(replay->writer, key, clean.at, clean.length);
    return 0;
}

static int pass_metadata(void *context, const char *key, struct json_text value)
{
    (void)context, (void)key, (void)value;
    return 0;
}

static int read_once(struct json_replay *replay, const char *path, bool first)
{
    struct interner names = {0};
    const struct event_sink sink = {.context = replay,
                                    .text = first ? note_event : write_event,
                                    .metadata_text = first ? write_metadata : pass_metadata,
                                    .quiet = !first};
    int result = json_read(path, &names, &sink);
    interner_release(&names);
    return result;
}

static int both_passes(struct json_replay *replay, const char *path)
{
    struct writer *writer = replay->writer;
    if (read_once(replay, path, true) != 0)
        return -1;
    writer->format->begin(writer, replay->base);
    json_replay_begin(replay);
    if (read_once(replay, path, false) != 0)
        return -1;
    writer->format->finish(writer);
    json_replay_end(replay);
    if (replay->left_out > 0)
        warning("'%s': %" PRIu64 " events are left out: arrows that do not follow their slice, ranges without an end, "
                "or of kinds that '%s' has no form for",
                path, replay->left_out, writer->format->name);
    if (replay->too_many > 0)
        warning("'%s': %" PRIu64 " ranges are left out, as more than %zu MiB of them are begun and not ended", path,
                replay->too_many, JSON_REPLAY_OPEN_MOST >> 20);
    return 0;
}

int replay_json(const char *path, struct writer *writer)
{
    struct json_replay replay;
    json_replay_init(&replay, writer);
    int result = both_passes(&replay, path);
    json_replay_release(&replay);
    return result;
}
