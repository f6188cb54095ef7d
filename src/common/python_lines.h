/*
 * Reads what code objects of CPython point to: the characters of strings, and the source line of an instruction, from
 * the code object's table of lines, which has one of three formats.
 */
#ifndef GPUTRACE_COMMON_PYTHON_LINES_H
#define GPUTRACE_COMMON_PYTHON_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/python_layout.h"

struct python_text {
    unsigned width; /* bytes of a character: 1, 2, 4; 0: it is none of the usual strings */
    bool is_ascii;
};

/* Says where the characters lie of a string with this state (PYTHON_TEXT_STATE). */
struct python_text python_text_of(uint32_t state);

/* Writes COUNT characters as UTF-8, cut to SPACE bytes. Returns the bytes. */
size_t python_text_utf8(char *out, size_t space, const void *characters, uint64_t count, unsigned width);

struct line_table {
    enum python_lines_kind kind;
    const unsigned char *bytes;
    size_t length;
    int first; /* line of the code */
};

/* The line of the instruction at byte OFFSET of the bytecode; FIRST when OFFSET is before it; 0: it has none. */
uint32_t line_at(const struct line_table *table, int64_t offset);

#endif
