/*
 * The call stack of this thread as return addresses, and a cache of recent stacks.
 *
 * Unwinding takes a third of a microsecond for each frame, and most programs ask from the same places again and again.
 * So each thread remembers its last stacks together with the places of their return addresses. If the caller's frame is
 * at a remembered place, and every return address is unchanged, innermost first, then each frame is unchanged, and
 * nothing needs to be unwound.
 *
 *      const void *frame = __builtin_frame_address(0);
 *      number = unwind_recall(frame, key);
 *      if (!number) { unwind(&unwound); number = …; unwind_remember(frame, key, &unwound, number); }
 */
#ifndef GPUTRACE_AGENT_SPOOL_UNWIND_H
#define GPUTRACE_AGENT_SPOOL_UNWIND_H

#include <stdint.h>

#define UNWIND_FRAMES_MAX 128

struct unwound {
    unsigned count;
    uint64_t at[UNWIND_FRAMES_MAX];    /* return addresses, innermost first; the first is in unwind() */
    uint64_t place[UNWIND_FRAMES_MAX]; /* stack address that holds each return address; 0: not known */
    uint64_t pointer,
        end; /* on aarch64, while unwinding: the last frame's frame pointer, and the end of the one before */
};

/* Calls RUN(CONTEXT), on this thread's stack if much of it is left, otherwise on another stack of the thread: a
 * coroutine's stack may have only a few KiB. A stack unwound in RUN begins with RUN and continues with the caller. */
void unwind_with_space(void (*run)(void *context), void *context);

/* Loads what unwinding needs; otherwise unwind() does. Takes the loader's lock. */
void unwind_prepare(void);

/* Unwinds the calling thread. *UNWOUND has no frames if that is not possible. */
void unwind(struct unwound *unwound);

/* Returns the number that unwind_remember() got for KEY and the calling function's present stack, or 0 if there is
 * none. FRAME is the function's __builtin_frame_address(0). */
uint32_t unwind_recall(const void *frame, uint64_t key);

/* Remembers NUMBER for a stack. Does nothing where stacks cannot be recognised: on unknown processors, and
 * within signal handlers. */
void unwind_remember(const void *frame, uint64_t key, const struct unwound *unwound, uint32_t number);

#endif
