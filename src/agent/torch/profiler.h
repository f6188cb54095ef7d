/*
 * torch.profiler in the program, beside gputrace: a note says so, once for a process. CUPTI serves one profiler, so one
 * of the two has no CUDA activity.
 *
 * PyTorch says whether its profiler runs on a thread. It is asked where a thread has waited for its device, which
 * torch.profiler does before it ends if it records CUDA, and at some of PyTorch's operators, where these are recorded.
 */
#ifndef GPUTRACE_AGENT_TORCH_PROFILER_H
#define GPUTRACE_AGENT_TORCH_PROFILER_H

#include <stdint.h>

/* Listens to waits as TRACE_BITS say. Returns 0, or -1 with errno set. Once for a process and its forks. */
int torch_profiler_init(uint64_t trace_bits);

/* Looks whether PyTorch is loaded, when libraries came since the last call. Takes the dynamic loader's lock. */
void torch_profiler_look(void);

/* Asks PyTorch whether its profiler runs on this thread, as long as none was noticed; some nanoseconds. */
void torch_profiler_ask(void);

#endif
