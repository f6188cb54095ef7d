/*
 * Call stacks: unwinding, a memory of the last stacks of each thread, and their records, one for each stack.
 */
#ifndef GPUTRACE_AGENT_SPOOL_STACKS_H
#define GPUTRACE_AGENT_SPOOL_STACKS_H

#include <stdint.h>

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

#define UNWIND_FRAMES_MAX 128

struct unwound {
    unsigned count;
    uint64_t at[UNWIND_FRAMES_MAX];    /* return addresses, innermost first; the first lies in unwind() */
    uint64_t place[UNWIND_FRAMES_MAX]; /* where on the stack each of them was taken from */
};

/* Loads what unwinding needs: once for a process, by the first caller. Takes the loader's lock. */
void unwind_prepare(void);

/* No frames when unwinding is not possible. */
void unwind(struct unwound *unwound);

/* The number that unwind_remember() got for the stack that the calling function has now, and KEY; 0: nothing is known.
 * FRAME is the function's __builtin_frame_address(0). */
uint32_t unwind_recall(const void *frame, uint64_t key);

/* Does nothing where stacks cannot be recognised: on other processors than x86-64, and within signal handlers. */
void unwind_remember(const void *frame, uint64_t key, const struct unwound *unwound, uint32_t number);

/*
 * Call stacks of the program, kept once each.
 *
 * A stack is written into the spool as addresses when it first comes, with the lines of /proc/self/maps that say what
 * lies there; gputrace finds functions, files and lines after the program's end. What belongs to the tracing is left
 * out: gputrace, CUPTI and, in a callback, the caller.
 */

#define STACK_FRAMES_MAX 64 /* outer frames than these are left out */

/* Before the first stack: loads what unwinding needs, so that this does not happen in the midst of a call. Takes the
 * loader's lock. */
void stacks_prepare(void);

/* The number of this thread's stack without SKIP more of the innermost frames; 0: none could be had or written. From
 * any thread; takes a microsecond or several, a new stack more. */
uint32_t stacks_take(uint32_t skip);

/* In a forked child: what was written is the parent's. Numbers begin at 1 again. */
void stacks_atfork_child(void);

#endif
