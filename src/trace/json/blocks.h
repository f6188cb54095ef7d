/*
 * The text of a trace file, a window at a time. Threads read the file in blocks ahead of the reader, and parse each
 * block on the guess that it begins with an event. Only the reader, which comes from the start of the file, knows
 * whether the guess was right.
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
    size_t at, length; /* in the block's text */
};

struct batch {
    bool keeps_texts;                  /* set before batch_read(): only the texts of events and flows are wanted */
    ARRAY(struct batch_text) texts;    /* set if keeps_texts; `events` is then empty */
    ARRAY(struct event_fields) events; /* in the file's order, without flows; texts are numbers of `strings` */
    struct interner strings;
    size_t length;                 /* bytes of the block that were read */
    bool after_event;              /* true: a ',' or ']' must follow; false: an event or ']' */
    struct json_problems problems; /* elements that are JSON but not events */
    bool any;                      /* some events are neither flows nor metadata */
    int64_t start, end;            /* start of the first event, at most 0, and end of the last event, ns */
};

static inline bool batch_is_half(const struct event_fields *event)
{
    return event->phase == 'B' || event->phase == 'E' || event->phase == PHASE_OPEN;
}

/* The most text of a block. Its events should stay in a core's cache until the reader takes them. */
#define BLOCK_BYTES ((size_t)320 * 1024)

/* More threads would wait for the reader. */
#define BLOCK_WORKERS_MAX 16

struct block {
    char *text; /* followed by FAST_PATH_PADDING zeros */
    size_t length;
    uint64_t lines; /* line ends in the text; set if has_batch */
    bool last;      /* the file ends with this block */
    bool has_batch;
    struct batch batch;
    struct source_failure failure; /* failure to read what follows the text */
};

/* Sets keeps_texts of all batches. Must be called before the first block is read. */
void blocks_keep_texts(struct blocks *blocks);

/* Prints the block's failure as an error. Returns -1. */
int blocks_error(const struct blocks *blocks, const struct block *block);

/* The largest value of a file, as the window must hold a whole value. */
#define INPUT_WINDOW_LIMIT ((size_t)16 * 1024 * 1024)

struct input {
    const char *path; /* for messages: "standard input" for "-" */
    struct blocks *blocks;
    const struct block *block; /* the current block; NULL: none yet */
    const char *data;          /* the window: the text of `block`, or `joined`; FAST_PATH_PADDING zeros follow */
    size_t start, length;      /* the rest of the window is data[start..length) */
    char *joined;              /* the rest of a window, followed by the next blocks */
    size_t capacity;           /* bytes of `joined` */
    uint64_t offset, lines;    /* bytes and line ends before data[start] */
    bool ended;                /* the file ends with the window */
    bool cut_off;              /* the file ends within a member of gzip */
};

/* Opens PATH ("-": stdin) with WORKERS threads; 0: one for each processor. Returns 0, or -1 after error(). */
int input_open(struct input *input, const char *path, unsigned workers);
void input_close(struct input *input);

/* Extends the window. Returns false at the end of the file, or after error() with *STATUS set to -1. */
bool input_more(struct input *input, int *status);

static inline const char *input_text(const struct input *input)
{
    return input->data + input->start;
}
static inline size_t input_left(const struct input *input)
{
    return input->length - input->start;
}

/* Returns the events read ahead from the start of the window, valid only if an event starts there, or NULL. */
const struct batch *input_batch(const struct input *input);

/* Moves the start of the window behind those events. */
void input_advance_batch(struct input *input);

/* Moves the start of the window by SIZE bytes. */
void input_advance(struct input *input, size_t size);

/* Prints an error with the file, and the line and byte AHEAD bytes after the start of the window. Returns -1. */
int input_error(const struct input *input, size_t ahead, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Returns the line, counted from 1, of the byte AHEAD bytes after the start of the window. */
uint64_t input_line(const struct input *input, size_t ahead);

#endif
