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
#include <stdint.h>

#include "agent/dispatch/registry.h"
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

#endif
