/*
 * The CPython in this process, found by the names that it exports: it is the program itself or libpython3.x.so.
 * Nothing of it is linked, and only functions are called that read a variable: no GIL is taken.
 */
#ifndef GPUTRACE_AGENT_PYTHON_INTERPRETER_H
#define GPUTRACE_AGENT_PYTHON_INTERPRETER_H

#include <stdbool.h>
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

/* Reads what may not be there. False: it is not, or cannot be read in this way. */
bool memory_copy(void *to, uint64_t from, uint64_t size);

/* Whether the innermost frames of a thread are what the layout says they are. Reads nothing directly. */
enum interpreter_proof { PROOF_NO_FRAMES, PROOF_GOOD, PROOF_BAD };
enum interpreter_proof interpreter_prove(const struct interpreter *python, const char *thread);

#endif
