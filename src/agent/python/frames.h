/*
 * Reads the Python functions that this thread is in from the interpreter's memory: without its lock (the GIL), without
 * calling into it, without callbacks, and without linking it.
 *
 * Nothing that is read can change meanwhile: only a thread itself changes its frames, and the thread is here; frames
 * hold their code objects. That is true even while another thread has the GIL, as when PyTorch launches kernels. Only
 * the end of the interpreter frees memory of a thread without the GIL: then the result is discarded, and a fault
 * handler leaves by python_escape().
 *
 * A place in a function, a code object and an instruction, becomes a number; its names are read and recorded when the
 * number is new. A known place costs some nanoseconds.
 */
#ifndef GPUTRACE_AGENT_PYTHON_FRAMES_H
#define GPUTRACE_AGENT_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/dispatch/registry.h"
#include "common/python_layout.h"
#include "common/spool_records.h"

#define PYTHON_FRAMES_MAX 128 /* further frames, the outer ones, are left out */

/* The bits that mark a Python word of a stack, which is not an address: the lower 48 bits are the number of a frame, 0
 * if its names are unknown. */
#define PYTHON_WORD (SPOOL_STACK_PYTHON << 48)

struct python_stack {
    unsigned count;
    uint64_t words[PYTHON_FRAMES_MAX]; /* PYTHON_WORD | number, innermost first */
    /* For each frame an address on the C stack, within the C frame of the evaluation loop that runs it; equal for all
     * frames of one C call. 0 if unknown, as before 3.10, where each frame is a C call. */
    uint64_t places[PYTHON_FRAMES_MAX];
};

struct python_frame {
    uint64_t number;
    uint32_t line; /* 0 if the instruction has no line */
    struct gputrace_text function, file;
};

/* Sets the callbacks, which python_frames() may call. RECORD gets each new frame, from one thread at a time, and again
 * if it returns false because it could not record the frame. REFUSED gets, once, the version of an interpreter whose
 * frames cannot be read. */
void python_begin(bool (*record)(const struct python_frame *frame), void (*refused)(const char *version));

/* Looks for the interpreter, unless it was found, or CHANGES, the counter of library changes, is that of the last
 * search. Takes the loader's lock. Returns whether there is one whose frames can be read. */
bool python_find(uint64_t changes);

/* Whether python_find() would return true without looking. */
bool python_is_found(void);

/* Reads the frames of this thread. Returns their number, 0 if it runs no Python. */
unsigned python_frames(struct python_stack *stack);

/* For the handler of SIGSEGV and SIGBUS in THREAD (gettid()), with these signals unblocked. python_may_escape() returns
 * whether the fault is in python_frames(); then python_escape() makes python_frames() return no frames. */
bool python_may_escape(uint32_t thread);
void python_escape(uint32_t thread);

/* Whether the address is in the evaluation loop; whether the mapping from START to END is the interpreter's own file.
 */
bool python_is_loop(uint64_t address);
bool python_has_image(uint64_t start, uint64_t end);

/* In a forked child: forgets all numbers, which begin at 1 again. */
void python_atfork_child(void);

/*
 * For frames.c: the CPython in this process (interpreter.c), found by the names that it exports, in the executable or in
 * libpython3.x.so. Nothing of it is linked, and only functions that read a variable are called, so the GIL is not taken.
 */

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

#endif
