/*
 * The rows of a trace in JSON, whose pid and tid may be words, such as the "Spans" of Kineto.
 */
#ifndef GPUTRACE_TRACE_JSON_ROWS_H
#define GPUTRACE_TRACE_JSON_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/json/events.h"

struct sink;

/*
 * Rows of profilers whose events have no category that says what they are: JAX, TensorFlow, rocprof, Ascend's, and
 * PyTorch before 1.8. The names of a process and a thread say it.
 */
struct gpu_row {
    enum category category;
    int64_t device, stream; /* -1: not known */
};

struct json_row {
    struct row row;
    bool is_process;
    char *name, *label; /* NULL: not known */
    int64_t sort_index;
};

struct json_rows {
    ARRAY(struct json_row) items;
    struct map by_row;     /* hash of row and sort -> index + 1 */
    struct interner words; /* pids and tids that are no numbers of 31 bits */
};

void json_rows_release(struct json_rows *rows);

/* The number of a pid or tid. */
uint32_t json_row_number(struct json_rows *rows, struct json_text text);
struct row json_row_of(struct json_rows *rows, const struct json_event *event);

/* What the names of the row, which may be words, say of a slice NAME. */
struct gpu_row json_rows_gpu(const struct json_rows *rows, struct row row, const char *name);

/* Takes an event of phase 'M'. Returns 0, or -1 after error(). */
int json_rows_take(struct json_rows *rows, const struct json_event *event);

/* The row of an event, whose pid or tid may be a word, such as the "Spans" of Kineto: it is then the row's name,
 * written when it comes first. */
struct row json_rows_tell(struct json_rows *rows, const struct json_event *event, struct sink *sink);

/* Processes, then threads. */
void json_rows_write(struct json_rows *rows, struct sink *sink);

/* Writes a further row for what ROW, of known name or not, cannot show: its NUMBER, from 1 on, and its tid. */
void json_rows_write_further(const struct json_rows *rows, struct row row, uint32_t tid, unsigned number,
                             struct sink *sink);

/*
 * GPU operations of one row that overlap, and of which none lies within the other, as programmatic dependent launch
 * makes them. Viewers cannot show these on one row, so each gets a further one, in the file's order.
 */
struct json_overlap_row {
    uint64_t start, end; /* of the last slice that none encloses */
    uint32_t tid;
    bool is_new;
};

struct json_overlaps {
    struct map by_row; /* row and lane -> index + 1 */
    ARRAY(struct json_overlap_row) rows;
    struct map moved; /* row and start of a slice -> the tid of the further row that it is on */
    uint32_t further; /* rows */
};

/* All zero: there are none. */
void json_overlaps_release(struct json_overlaps *overlaps);

/* Moves SLICE to the first row of its own where it overlaps none. Returns 0, or -1 after error(). */
int json_overlaps_place(struct json_overlaps *overlaps, const struct json_rows *rows, struct sink *sink,
                        struct slice *slice);

/* The row of the slice that begins on ROW at START. */
struct row json_overlaps_row(const struct json_overlaps *overlaps, struct row row, uint64_t start);

#endif
