/*
 * For C++ callers that do not look whether they got memory: an exception, without any C++ of our own.
 */
#ifndef GPUTRACE_AGENT_ALLOCATOR_REFUSAL_H
#define GPUTRACE_AGENT_ALLOCATOR_REFUSAL_H

#include <stddef.h>

/* Throws that SIZE bytes on DEVICE were not to be had: PyTorch's own exception if the process has loaded PyTorch, else
 * std::bad_alloc if it has loaded C++'s library; comes back if it has neither. Whatever is on the stack down to the
 * C++ caller is compiled with -fexceptions. */
void refusal_throw(size_t size, int device);

#endif
