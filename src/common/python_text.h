/*
 * The characters of CPython's strings.
 */
#ifndef GPUTRACE_COMMON_PYTHON_TEXT_H
#define GPUTRACE_COMMON_PYTHON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_text {
    unsigned width; /* bytes of a character: 1, 2, 4; 0: it is none of the usual strings */
    bool is_ascii;
};

/* Of a string whose state (PYTHON_TEXT_STATE) is this. */
struct python_text python_text_of(uint32_t state);

/* Writes COUNT characters as UTF-8, cut to SPACE bytes. Returns the bytes. */
size_t python_text_utf8(char *out, size_t space, const void *characters, uint64_t count, unsigned width);

#endif
