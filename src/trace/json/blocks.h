/*
 * The text of a trace file, a window at a time, and the events that were read ahead of it: those of a piece of the
 * file, read on the guess that the piece begins with one. Whether it does is known to the reader alone, who has come
 * there from the start of the file.
 */
#ifndef GPUTRACE_TRACE_JSON_BLOCKS_H
#define GPUTRACE_TRACE_JSON_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"
#include "trace/event_fields.h"
#include "trace/gzip/gzip.h"
#include "trace/json/parse.h"

struct blocks;

struct batch_text {
    size_t at, length; /* of the piece */
};

struct batch {
    bool keeps_texts; /* set before batch_read(): of what is an event or a flow the text alone is wanted */
    ARRAY(struct batch_text) texts;    /* where these are; then `events` is empty */
    ARRAY(struct event_fields) events; /* in the file's order, without flows; their texts are numbers of `strings` */
    struct interner strings;
    size_t length;                 /* bytes read of the piece, from its start */
    bool after_event;              /* what comes next is the ',' or ']' after an event, else an event or ']' */
    struct json_problems problems; /* with elements that are JSON but no events */
    bool any;                      /* there are events other than flows and metadata */
    int64_t start, end;            /* when the first of them begins, 0 at most, and the last of them ends */
};

static inline bool batch_is_half(const struct event_fields *event)
{
    return event->phase == 'B' || event->phase == 'E' || event->phase == PHASE_OPEN;
}

/* Text of a block at most. Its events should stay in a core's cache until the reader takes them. */
#define BLOCK_BYTES ((size_t)320 * 1024)

/* Threads beyond this would wait for the one that sums up. */
#define BLOCK_WORKERS_MAX 16

struct block {
    char *text; /* and zeros behind it (FAST_PATH_PADDING) */
    size_t length;
    uint64_t lines; /* line ends in it, when has_batch */
    bool last;      /* nothing comes after it */
    bool has_batch;
    struct batch batch;
    struct source_failure failure; /* after this text */
};

/* Makes batches hold texts instead of events. Must be called before the first block. */
void blocks_keep_texts(struct blocks *blocks);

/* Reports a block's failure. Returns -1. */
int blocks_error(const struct blocks *blocks, const struct block *block);

/* No value of a file may be larger: the window holds it whole. */
#define INPUT_WINDOW_LIMIT ((size_t)16 * 1024 * 1024)

struct input {
    const char *path; /* as messages name it: "standard input" for "-" */
    struct blocks *blocks;
    const struct block *block; /* the last one taken; NULL: none yet */
    const char *data;          /* the window: that block, or `joined`; zeros are behind it (FAST_PATH_PADDING) */
    size_t start, length;      /* data[start..length) is not consumed yet */
    char *joined;              /* what was left of a window, and the blocks after it */
    size_t capacity;           /* of joined */
    uint64_t offset, lines;    /* bytes and line ends before data[start] */
    bool ended;                /* nothing comes after the window */
    bool cut_off;              /* it ends within a member of gzip */
};

/* Opens PATH ("-": stdin) for WORKERS threads, 0: as many as there are processors. Returns 0, or -1 after error(). */
int input_open(struct input *input, const char *path, unsigned workers);
void input_close(struct input *input);

/* Makes the window reach further: false at the end of the file, or with *status = -1 after error(). */
bool input_more(struct input *input, int *status);

static inline const char *input_text(const struct input *input)
{
    return input->data + input->start;
}
static inline size_t input_left(const struct input *input)
{
    return input->length - input->start;
}

/* The events that begin where the window starts, if an event begins there; NULL: none were read ahead. */
const struct batch *input_batch(const struct input *input);

/* Passes the whole of them. */
void input_advance_batch(struct input *input);

/* Passes SIZE bytes of the window. */
void input_advance(struct input *input, size_t size);

/* Returns -1 after an error that names the file, and the place AHEAD bytes after the start of the window. */
int input_error(const struct input *input, size_t ahead, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The line, counted from 1, of the place AHEAD bytes after the start of the window. */
uint64_t input_line(const struct input *input, size_t ahead);

#endif
