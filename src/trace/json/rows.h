/*
 * The rows of a trace in JSON, what their names say about slices, and slices that overlap or have two events. Pids and
 * tids may be words, such as Kineto's "Spans".
 */
#ifndef GPUTRACE_TRACE_JSON_ROWS_H
#define GPUTRACE_TRACE_JSON_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/buffer.h"
#include "common/map.h"
#include "trace/json/events.h"

struct sink;

/*
 * What the names of a process and a thread tell of a slice without a known category, as JAX, TensorFlow, rocprof,
 * Ascend's profiler and PyTorch before 1.8 write them.
 */
struct gpu_row {
    enum category category;
    int64_t device, stream; /* -1: unknown */
};

struct json_row {
    struct row row;
    bool is_process;
    char *name, *label; /* NULL: unknown */
    int64_t sort_index;
};

struct json_rows {
    ARRAY(struct json_row) items;
    struct map by_row;     /* key_of() of a row -> index + 1 */
    struct interner words; /* pids and tids that are not numbers of 31 bits */
};

void json_rows_release(struct json_rows *rows);

/* Return the number of a pid or tid (words: from JSON_WORD_ROWS), and the row of an event. */
uint32_t json_row_number(struct json_rows *rows, struct json_text text);
struct row json_row_of(struct json_rows *rows, const struct json_event *event);

/* Returns what the names of ROW tell of a slice NAME. A row may be named only by the words of its pid and tid. */
struct gpu_row json_rows_gpu(const struct json_rows *rows, struct row row, const char *name);

/* Records the name, label or order of a row from an event of phase 'M'. Returns 0, or -1 after error(). */
int json_rows_take(struct json_rows *rows, const struct json_event *event);

/* Returns the row of an event. If its pid or tid is a word, such as the "Spans" of Kineto, the word names the row: the
 * name is written to SINK at the row's first event. */
struct row json_rows_tell(struct json_rows *rows, const struct json_event *event, struct sink *sink);

/* Writes the names of processes, then those of threads. */
void json_rows_write(struct json_rows *rows, struct sink *sink);

/* Writes the name of a further row, with TID, for slices that overlap others on ROW. NUMBER counts these rows
 * from 1. */
void json_rows_write_further(const struct json_rows *rows, struct row row, uint32_t tid, unsigned number,
                             struct sink *sink);

/*
 * GPU operations that overlap on one row without nesting, as programmatic dependent launch makes them. Viewers cannot
 * show these on one row, so they move to further rows, in the file's order. All zero is empty.
 */
struct json_overlap_row {
    uint64_t start, end; /* times of the last top-level slice */
    uint32_t tid;
    bool is_new;
};

struct json_overlaps {
    struct map by_row; /* hash of row and lane -> index + 1 */
    ARRAY(struct json_overlap_row) rows;
    struct map moved; /* hash of row and start of a moved slice -> tid of its further row */
    uint32_t further; /* number of further rows */
};

void json_overlaps_release(struct json_overlaps *overlaps);

/* Moves SLICE to the first further row with space if it overlaps another slice. Returns 0, or -1 after error(). */
int json_overlaps_place(struct json_overlaps *overlaps, const struct json_rows *rows, struct sink *sink,
                        struct slice *slice);

/* Returns the row that the slice of ROW that starts at START was placed on. */
struct row json_overlaps_row(const struct json_overlaps *overlaps, struct row row, uint64_t start);

/*
 * Joins the two events of a slice or range that begins and ends with separate events. Events may come in any order as
 * long as those between an event and its proper place fit into memory: the events are held, sorted by row and time, and
 * paired with a stack.
 */
/* The most bytes of begins without an end that are held in memory. Further ones are dropped and counted. */
#define PAIRS_OPEN_MOST ((size_t)64 << 20)

enum pairs_kind {
    PAIRS_BEGIN,
    PAIRS_END,
    PAIRS_OPEN, /* a begin that never gets an end */
};

struct pairs_event {
    uint64_t row;  /* key of the row; slices of a row nest */
    uint64_t name; /* hash of the name; an end with 0 ends the innermost slice */
    int64_t time;
    enum pairs_kind kind;
    uint32_t size, partner; /* bytes of the event; for a begin, index of its end */
    size_t at;              /* offset of the bytes in pairs.bytes */
};

struct pairs {
    /* Receives a slice as the bytes of its begin and end event; END is NULL if it has no end. Returns 0, or -1 after
     * error(). */
    int (*pass)(void *context, const char *begin, size_t size, const char *end, size_t end_size);
    void *context;
    ARRAY(struct pairs_event) events;
    ARRAY(uint32_t) open;
    struct buffer bytes;                   /* in memory */
    uint64_t unmatched, unended, too_many; /* counts: ends without begin, begins without end, dropped */
};

void pairs_init(struct pairs *pairs, int (*pass)(void *, const char *, size_t, const char *, size_t), void *context);
void pairs_release(struct pairs *pairs);

/* Adds EVENT with SIZE bytes BYTES. AT_ONCE: if EVENT ends the event that was added last, their slice is passed on at
 * once. Returns 0, or -1 after error(). */
int pairs_add(struct pairs *pairs, struct pairs_event event, const char *bytes, size_t size, bool at_once);

/* Passes on all slices that are held, after the last event, and warns of unmatched events in the trace PATH. Returns 0,
 * or -1 after error(). */
int pairs_finish(struct pairs *pairs, const char *path);

#endif
