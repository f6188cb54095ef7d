/*
 * The CPython in this process, found by the names that it exports: it is the program itself or libpython3.x.so.
 * Nothing of it is linked, and only functions are called that read a variable: no GIL is taken.
 */
#ifndef GPUTRACE_AGENT_PYTHON_INTERPRETER_H
#define GPUTRACE_AGENT_PYTHON_INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/python_layout.h"

struct interpreter {
    struct python_layout layout;
    char version[32];          /* "3.11.2" */
    uint64_t loop, loop_end;   /* code of the evaluation loop */
    bool owns_image;           /* the file that it is in holds nothing but the interpreter */
    uint64_t code, text, data; /* the types of code objects, strings and bytes objects */

    const char *(*own_state)(void); /* of this thread, with or without the GIL; NULL: it has none */
    /* To 3.11 the state of the thread that holds the GIL, later this thread's while it holds it. */
    const char *(*attached_state)(void);
    int (*is_initialized)(void);
    const char *(*main_interpreter)(void), *(*newest_interpreter)(void);
};

enum interpreter_found { INTERPRETER_NONE, INTERPRETER_FOUND, INTERPRETER_UNKNOWN };

/* Looks for it. UNKNOWN: there is one whose frames are not read; VERSION says which, if it is known. Takes the
 * loader's lock. */
enum interpreter_found interpreter_find(struct interpreter *python);

/* The state of this thread; NULL: it has none, or the interpreter ends and may free it any time. */
const char *interpreter_thread(const struct interpreter *python);

/* Whether the innermost frames of a thread are what the layout says they are. Reads nothing directly. */
enum interpreter_proof { PROOF_NO_FRAMES, PROOF_GOOD, PROOF_BAD };
enum interpreter_proof interpreter_prove(const struct interpreter *python, const char *thread);

/* --- what a code object says: only for objects that a frame of this thread holds, in a layout that was proved --- */

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

/* Writes the text at OFFSET of a code object, the name of its function or of its file, as UTF-8, cut to SPACE bytes.
 * Returns the bytes; 0: it has none. */
size_t code_text(const struct interpreter *python, uint64_t code, uint64_t offset, char *out, size_t space);

/* INSTRUCTION as frames have it. 0: it has no line. */
uint32_t code_line(const struct interpreter *python, uint64_t code, uint64_t instruction);

#endif
