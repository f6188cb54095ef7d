/*
 * Shapes of an operator's inputs: PyTorch's argument "Input Dims", an array of arrays of numbers, as one text. It is
 * the argument's JSON without white space, "[[8,128],[50257,768],[]]"; an input that is a list of tensors is an array
 * of such arrays.
 */
#ifndef GPUTRACE_TRACE_SHAPES_H
#define GPUTRACE_TRACE_SHAPES_H

#include <stdbool.h>
#include <stddef.h>

#define SHAPES_MOST 512 /* bytes; a longer text is cut, and ends with SHAPES_CUT */
#define SHAPES_CUT "…"

struct shapes {
    size_t length;
    bool cut;
    char text[SHAPES_MOST + sizeof(SHAPES_CUT)]; /* without a final NUL */
};

/* Reads the JSON array of arrays and numbers that TEXT begins with. Returns its bytes, or 0: it is something else, or
 * nested deeper, or does not end. Sets SHAPES, also when 0 is returned. */
size_t shapes_read(const char *text, size_t length, struct shapes *shapes);

#endif
