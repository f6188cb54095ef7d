/*
 * The source line of an instruction, from the table that a code object has for it. There were three formats.
 */
#ifndef GPUTRACE_COMMON_PYTHON_LINES_H
#define GPUTRACE_COMMON_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "common/python_layout.h"

struct line_table {
    enum python_lines_kind kind;
    const unsigned char *bytes;
    size_t length;
    int first; /* line of the code */
};

/* The line of the instruction at byte OFFSET of the bytecode; FIRST when OFFSET is before it; 0: it has none. */
uint32_t line_at(const struct line_table *table, int64_t offset);

#endif
