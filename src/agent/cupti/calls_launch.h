/*
 * The first launch of a kernel that CUDA loads lazily: a phase of compilation inside a launch.
 *
 * Launches have no callback unless a subscriber wants them. So, when a thread gets a kernel from a library
 * (which CUDA's runtime does right before it launches the kernel for the first time), their callbacks are switched on
 * until the kernel was launched; or until, after LAZY_LOADING_NS without another such kernel, a thread launches
 * anything. Threads that launch nothing pay nothing, and the launches of others pay no more than that long.
 */
#ifndef GPUTRACE_AGENT_CUPTI_CALLS_LAUNCH_H
#define GPUTRACE_AGENT_CUPTI_CALLS_LAUNCH_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#define LAZY_LOADING_NS UINT64_C(100000000)

/* This thread got KERNEL in the call CORRELATION, and has not loaded it: the last one counts. */
void lazy_loading_arm(CUkernel kernel, uint32_t correlation);

/* The program asks for the function of KERNEL in CONTEXT: whether it is the first time. */
bool lazy_loading_is_first(CUkernel kernel, CUcontext context);

/* Code was unloaded, or a context is going: whatever has the handles of its kernels later is loaded anew. */
void lazy_loading_unloaded(void);

/* This thread loaded it otherwise. */
void lazy_loading_loaded(CUkernel kernel);

/* Does nothing on a thread on which none has begun. */
void lazy_loading_ends(void);

/* No subscriber wants phases any more: whatever was armed or is loading is forgotten. */
void lazy_loading_give_up(void);

/* In a forked child. */
void lazy_loading_atfork_child(void);

#endif
