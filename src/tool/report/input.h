/*
 * The bytes of a trace file, a window at a time: plain or gzip (told by content, of one member or several), from a file
 * or stdin.
 */
#ifndef GPUTRACE_TOOL_REPORT_INPUT_H
#define GPUTRACE_TOOL_REPORT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gzFile_s;

/* No value of a file may be larger: the window holds it whole. */
#define INPUT_WINDOW_LIMIT ((size_t)16 * 1024 * 1024)

struct input {
    const char *path; /* as messages name it: "standard input" for "-" */
    struct gzFile_s *file;
    char *data;             /* the window */
    size_t start, length;   /* data[start..length) is not consumed yet */
    size_t capacity;        /* of data */
    uint64_t offset, lines; /* bytes and line ends before data[start] */
    bool ended;             /* nothing comes after the window */
};

/* Opens PATH ("-": stdin). Gives 0, or -1 after error(). */
int input_open(struct input *input, const char *path);
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

/* Passes SIZE bytes of the window. */
void input_advance(struct input *input, size_t size);

/* Gives -1 after an error that names the file, and the place AHEAD bytes after the start of the window. */
int input_error(const struct input *input, size_t ahead, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
