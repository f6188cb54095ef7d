/*
 * Which kernels communicate with other GPUs: kernels of NCCL and similar libraries, of NVSHMEM, of PyTorch's symmetric
 * memory, of DeepEP, and the all-reduces that vLLM, SGLang, TensorRT-LLM and others bring along.
 */
#ifndef GPUTRACE_ANALYSIS_NAMES_COMMUNICATION_H
#define GPUTRACE_ANALYSIS_NAMES_COMMUNICATION_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a kernel of this name communicates. Template arguments, parameters and the type that a demangled name begins
 * with do not count: a kernel that computes may have an argument of NCCL's. */
bool communication_is_kernel(const char *name);

/* Returns the index of the first of COUNT words (in lower case, without underscores) that a word of the name begins
 * with, or COUNT. */
size_t communication_find_word(const char *name, const char *const *words, size_t count);

#endif
