/*
 * A trace in JSON, read twice: names of rows may stand anywhere in it, and so may metadata, and both come first here.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tool/transcode/json_replay.h"
#include "tool/transcode/json_stream.h"
#include "tool/transcode/sources.h"
#include "tool/write/writer.h"

#define KEY_ROOM 256

static int take_first(struct json_replay *replay, enum json_found found, const char *key, struct json_text value)
{
    if (found == JSON_EVENT)
        return json_replay_note(replay, value);
    if (strcmp(key, "baseTimeNanoseconds") == 0)
        replay->base = strtoull(value.at, NULL, 10);
    replay->writer->format->metadata(replay->writer, key, value.at, value.length);
    return 0;
}

static int pass(struct json_replay *replay, const char *path, bool first)
{
    struct json_stream stream;
    struct json_text value;
    char key[KEY_ROOM] = "";
    enum json_found found = JSON_METADATA;
    int result = 0;
    if (json_stream_open(&stream, path) != 0)
        return -1;
    stream.told = !first;
    while (result == 0 && (found = json_stream_next(&stream, key, sizeof(key), &value)) > JSON_END) {
        if (first)
            result = take_first(replay, found, key, value);
        else if (found == JSON_EVENT)
            result = json_replay_event(replay, value);
    }
    json_stream_close(&stream);
    return found == JSON_ERROR ? -1 : result;
}

static int both_passes(struct json_replay *replay, const char *path)
{
    struct writer *writer = replay->writer;
    if (pass(replay, path, true) != 0)
        return -1;
    writer->format->begin(writer, replay->base);
    json_replay_begin(replay);
    if (pass(replay, path, false) != 0)
        return -1;
    writer->format->finish(writer);
    json_replay_end(replay);
    if (replay->left_out > 0)
        warning("'%s': %" PRIu64 " events are left out: arrows that do not follow their slice, ranges without an end, "
                "or of kinds that '%s' has no form for",
                path, replay->left_out, writer->format->name);
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
