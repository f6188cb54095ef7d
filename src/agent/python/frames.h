/*
 * The functions of Python that this thread is in, read from the interpreter's memory: without its lock (the GIL),
 * without a call into it, without callbacks, and without linking it.
 *
 * Nothing that is read can change meanwhile: a thread's frames are changed by that thread alone, which is here, and
 * they hold their code objects. That is so while another thread has the GIL too, as when PyTorch launches kernels. Only
 * the end of the interpreter takes away what a thread without the GIL has: then what was read does not count, and the
 * handler of a fault leaves by python_escape().
 *
 * A place in a function, which is a code object and an instruction, becomes a number; its names are read and reported
 * when the number is new. Places that were seen before cost some nanoseconds each.
 */
#ifndef GPUTRACE_AGENT_PYTHON_FRAMES_H
#define GPUTRACE_AGENT_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/dispatch/registry.h"
#include "common/spool_records.h"

#define PYTHON_FRAMES_MAX 128 /* outer frames than these are left out */

/* A word of a stack that is no address: the lower 48 bits are the number of a frame, 0 for one whose names are not
 * known. */
#define PYTHON_WORD (SPOOL_STACK_PYTHON << 48)

struct python_stack {
    unsigned count;
    uint64_t words[PYTHON_FRAMES_MAX]; /* PYTHON_WORD | number, innermost first */
    /* Where on the C stack the evaluation loop has something of its own that runs the frame: within its C frame. The
     * same for all frames of one C call. 0: not known, as before 3.10, where each frame is a C call. */
    uint64_t places[PYTHON_FRAMES_MAX];
};

struct python_frame {
    uint64_t number;
    uint32_t line; /* 0: the instruction has none */
    struct gputrace_text function, file;
};

/* RECORD gets each new frame, by one thread at a time, and returns false when it could not keep it: it gets that again.
 * REFUSED gets a version whose frames cannot be read, once. Either may be called from python_frames(). */
void python_begin(bool (*record)(const struct python_frame *frame), void (*refused)(const char *version));

/* Looks for the interpreter, unless it was found or was looked for with the same CHANGES of what is loaded. Takes the
 * loader's lock. Returns whether there is one. */
bool python_find(uint64_t changes);

/* Whether python_find() would return true without looking. */
bool python_is_found(void);

/* The frames of this thread; none when it runs no Python. Returns their number. */
unsigned python_frames(struct python_stack *stack);

/* Of the handler of SIGSEGV and SIGBUS, in THREAD (gettid()), with these signals let through: whether python_frames()
 * is to return, without frames; and makes it do so, if it may. */
bool python_may_escape(uint32_t thread);
void python_escape(uint32_t thread);

/* Whether the address is in the evaluation loop, or in the interpreter's own file. */
bool python_is_loop(uint64_t address);
bool python_has_image(uint64_t start, uint64_t end);

/* In a forked child: numbers begin at 1 again. */
void python_atfork_child(void);

#endif
