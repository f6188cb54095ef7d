/*
 * An event of a trace in JSON as calls of a writer.
 *
 * Events may name rows, and bind arrows to slices, after they are needed: so all are noted before the first is
 * replayed.
 */
#ifndef GPUTRACE_TRACE_JSON_JSON_REPLAY_H
#define GPUTRACE_TRACE_JSON_JSON_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "common/sink.h"
#include "trace/event.h"
#include "trace/tracks.h"
#include "trace/json/flow_ids.h"
#include "trace/json/json_event.h"
#include "trace/json/json_rows.h"

struct writer;

/* Bytes of ranges that are begun and not ended, which are held in memory; those beyond are left out. */
#define JSON_REPLAY_OPEN_MOST ((size_t)64 << 20)

struct json_replay {
    struct writer *writer;
    struct json_rows rows;
    struct flow_ids flows;
    struct map open;      /* id and category -> the range that was begun and not ended yet, a struct open_range */
    size_t open_bytes;    /* of these */
    struct sink clean;    /* in memory: the text at hand, where it is not as it stands in the file */
    struct sink category; /* in memory: of the event at hand */
    uint64_t base;        /* ns of CLOCK_REALTIME: what the events' times count from; the caller's to set */
    uint64_t left_out;    /* events */
    uint64_t too_many;    /* ranges beyond JSON_REPLAY_OPEN_MOST */
    bool after_slice;     /* the event before was a slice, or an arrow behind one */
    struct row last;      /* of that slice */
    char *unescaped;      /* of the event at hand, … */
    struct counter_values values; /* … and of a counter's, … */
    struct sink texts;            /* … in memory, the names of these */
};

void json_replay_init(struct json_replay *replay, struct writer *writer);
void json_replay_release(struct json_replay *replay);

/* Notes what the event TEXT says of rows and arrows. Gives 0, or -1 after error(). */
int json_replay_note(struct json_replay *replay, struct json_text text);
/* After the last was noted: writes the rows. */
void json_replay_begin(struct json_replay *replay);

/* Writes one; of what the writer has no form for `left_out` is counted. Gives 0, or -1 after error(). */
int json_replay_event(struct json_replay *replay, struct json_text text);
/* After the last: ranges that have not ended are left out. */
void json_replay_end(struct json_replay *replay);

#endif
