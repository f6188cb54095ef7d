/*
 * The CPython in this process, found by the names that it exports: in the executable or in libpython3.x.so. Nothing of
 * it is linked, and only functions that read a variable are called, so the GIL is not taken.
 */
#ifndef GPUTRACE_AGENT_PYTHON_INTERPRETER_H
#define GPUTRACE_AGENT_PYTHON_INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/python_layout.h"

struct interpreter {
    struct python_layout layout;
    char version[32];          /* for example "3.11.2" */
    uint64_t loop, loop_end;   /* code range of the evaluation loop */
    bool owns_image;           /* the file with the evaluation loop has only the interpreter */
    uint64_t code, text, data; /* addresses of the types of code objects, strings and bytes objects */

    const char *(*own_state)(void); /* returns this thread's state, with or without the GIL, or NULL if it has none */
    /* Up to 3.11, returns the state of the thread that holds the GIL; later, this thread's state while it holds the
     * GIL. */
    const char *(*attached_state)(void);
    int (*is_initialized)(void);
    const char *(*main_interpreter)(void), *(*newest_interpreter)(void);
};

enum interpreter_found { INTERPRETER_NONE, INTERPRETER_FOUND, INTERPRETER_UNKNOWN };

/* Looks for the interpreter. INTERPRETER_UNKNOWN: there is one whose frames cannot be read; `version` is set if it is
 * known. Takes the loader's lock. */
enum interpreter_found interpreter_find(struct interpreter *python);

/* Returns this thread's state, or NULL if it has none or the interpreter is ending and may free it any time. */
const char *interpreter_thread(const struct interpreter *python);

/* Whether a thread's innermost frames fit the layout. Reads memory only by system calls, which cannot fault. */
enum interpreter_proof { PROOF_NO_FRAMES, PROOF_GOOD, PROOF_BAD };
enum interpreter_proof interpreter_prove(const struct interpreter *python, const char *thread);

/* --- contents of a code object, which a frame of this thread must hold, in a proved layout --- */

/* Not checked by the thread sanitizer, which would report memory that the end of the interpreter frees meanwhile
 * (agent/python/frames.h). */
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

/* Returns a fingerprint of a code object, because code may be freed and other code may take its address. It is certain
 * from 3.12 on, where code is numbered. Before, two code objects with equal fingerprints have line tables of equal
 * length and beginning, equal first lines, and names with equal ends, all at the same addresses. */
uint64_t code_print(const struct interpreter *python, uint64_t code);

/* Writes the text at OFFSET of a code object, the name of its function or of its file, as UTF-8, cut to SPACE bytes.
 * Returns the number of bytes, 0 if there is no text. */
size_t code_text(const struct interpreter *python, uint64_t code, uint64_t offset, char *out, size_t space);

/* Returns the line of an instruction, as in a frame, or 0 if it has none. */
uint32_t code_line(const struct interpreter *python, uint64_t code, uint64_t instruction);

#endif
