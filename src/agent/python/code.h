/*
 * What a code object says: the names and lines of a place in a function. Only for objects that a frame of this thread
 * holds, in a layout that was proved.
 */
#ifndef GPUTRACE_AGENT_PYTHON_CODE_H
#define GPUTRACE_AGENT_PYTHON_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "agent/python/interpreter.h"

/* The thread sanitizer would report what the end of the interpreter frees meanwhile (agent/python/frames.h). */
#define PYTHON_MEMORY __attribute__((no_sanitize("thread"))) static inline

PYTHON_MEMORY uint64_t python_word(uint64_t object, uint64_t offset)
{
    return *(const uint64_t *)(uintptr_t)(object + offset);
}

PYTHON_MEMORY uint32_t python_half(uint64_t object, uint64_t offset)
{
    return *(const uint32_t *)(uintptr_t)(object + offset);
}

PYTHON_MEMORY unsigned char python_byte(uint64_t object, uint64_t offset)
{
    return *(const unsigned char *)(uintptr_t)(object + offset);
}

/* A number of what the code is, for code may be freed and other code lie in its place. It is sure from 3.12 on, where
 * code is numbered; before, two codes with the same one have the same number of line table bytes, first line, ends of
 * names and begin of the table, at the same addresses. */
uint64_t code_print(const struct interpreter *python, uint64_t code);

/* Writes the name of its function (or file), as UTF-8, cut to SPACE bytes. Returns the bytes; 0: it has none. */
size_t code_function(const struct interpreter *python, uint64_t code, char *out, size_t space);
size_t code_file(const struct interpreter *python, uint64_t code, char *out, size_t space);

/* INSTRUCTION as frames have it. 0: it has no line. */
uint32_t code_line(const struct interpreter *python, uint64_t code, uint64_t instruction);

#endif
