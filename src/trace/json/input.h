/*
 * The text of a trace file, a window at a time, and the events that were read ahead of it (blocks.h).
 */
#ifndef GPUTRACE_TRACE_JSON_INPUT_H
#define GPUTRACE_TRACE_JSON_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/json/blocks.h"

struct block;
struct blocks;

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
};

/* Opens PATH ("-": stdin) for WORKERS threads, 0: as many as there are processors. Gives 0, or -1 after error(). */
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

/* Gives -1 after an error that names the file, and the place AHEAD bytes after the start of the window. */
int input_error(const struct input *input, size_t ahead, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The line, counted from 1, of the place AHEAD bytes after the start of the window. */
uint64_t input_line(const struct input *input, size_t ahead);

#endif
