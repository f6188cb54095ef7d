/*
 * The bytes of a trace file, plain or gzip, one by one, with the line they are on.
 */
#ifndef CHECK_TRACE_INPUT_H
#define CHECK_TRACE_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

enum { INPUT_END = -1 };

struct input {
    gzFile file;
    const char *path;
    uint64_t line; /* of the next byte, from 1 */
    size_t at, filled;
    unsigned char bytes[1 << 18];
};

/* Gives 0, or -1 after a message. */
int input_open(struct input *input, const char *path);
void input_close(struct input *input);

/* Reads more; gives the next byte without taking it, or INPUT_END. Exits with a message when the file cannot be read
 * or its gzip data is cut or damaged. */
int input_fill(struct input *input);

static inline int input_peek(struct input *input)
{
    return input->at < input->filled ? input->bytes[input->at] : input_fill(input);
}

static inline int input_next(struct input *input)
{
    int byte = input_peek(input);
    if (byte != INPUT_END) {
        input->at++;
        input->line += byte == '\n';
    }
    return byte;
}

#endif
