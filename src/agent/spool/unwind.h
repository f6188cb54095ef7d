/*
 * The call stack of this thread as return addresses, and a memory of the last ones.
 *
 * Unwinding takes a third of a microsecond for each frame, and most programs ask from the same places again and again.
 * So the last stacks of each thread are remembered together with where on the stack their return addresses lie. When
 * the caller's frame lies where it lay then, and every return address is where it was, innermost first, then each
 * frame is the same as then, and nothing needs to be unwound.
 *
 *     const void *frame = __builtin_frame_address(0);
 *     number = unwind_recall(frame, key);
 *     if (!number) { unwind(&unwound); number = …; unwind_remember(frame, key, &unwound, number); }
 */
#ifndef GPUTRACE_AGENT_SPOOL_UNWIND_H
#define GPUTRACE_AGENT_SPOOL_UNWIND_H

#include <stdint.h>

#define UNWIND_FRAMES_MAX 128

struct unwound {
    unsigned count;
    uint64_t at[UNWIND_FRAMES_MAX];    /* return addresses, innermost first; the first lies in unwind() */
    uint64_t place[UNWIND_FRAMES_MAX]; /* where on the stack each of them was taken from */
};

/* Calls RUN(CONTEXT): on this thread's stack if much of it is left, else, as in a coroutine, whose stack may be of a
 * few KiB, on another one of the thread. What is unwound there begins with RUN and goes on with the caller. */
void unwind_with_space(void (*run)(void *context), void *context);

/* Loads what unwinding needs; unwind() does it otherwise. Takes the loader's lock. */
void unwind_prepare(void);

/* Unwinds the calling thread. UNWOUND has no frames if that is not possible. */
void unwind(struct unwound *unwound);

/* The number that unwind_remember() got for the stack that the calling function has now, and KEY; 0: nothing is known.
 * FRAME is the function's __builtin_frame_address(0). */
uint32_t unwind_recall(const void *frame, uint64_t key);

/* Does nothing where stacks cannot be recognised: on other processors than x86-64, and within signal handlers. */
void unwind_remember(const void *frame, uint64_t key, const struct unwound *unwound, uint32_t number);

#endif
