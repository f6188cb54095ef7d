/*
 * Finds facts that rules need from the names of copies, calls, phases and kernels, once for each name.
 */
#ifndef GPUTRACE_ANALYSIS_NAMES_NAME_FACTS_H
#define GPUTRACE_ANALYSIS_NAMES_NAME_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/array.h"
#include "common/map.h"

enum name_fact {
    NAME_PAGEABLE = 1,     /* a copy from or to pageable memory */
    NAME_HTOD = 2,         /* a copy to a GPU */
    NAME_DTOH = 4,         /* a copy from a GPU */
    NAME_INSTANTIATES = 8, /* a call or phase that instantiates a graph */
    NAME_NO_CODE = 16,     /* a phase that captures or instantiates a graph, or creates a context */
    NAME_JIT = 32,         /* a phase of the just-in-time compiler */
    NAME_FAULT = 64,       /* page faults */
    NAME_MIGRATION = 128,  /* a migration of managed memory */
    NAME_OF_HOST = 256,    /* a memory set of pinned or managed memory */
    NAME_FLOAT32 = 512,    /* a kernel that multiplies matrices in float32 outside of the tensor cores */
};

/* Initialise with zeros; array_release(&facts.items) frees it. */
struct name_facts {
    ARRAY(uint16_t) items; /* by the number of the name: its bits and NAME_KNOWN; 0: not searched yet */
};

/* Returns the enum name_fact bits of NAME, a text of STRINGS; 0 without memory. */
unsigned name_facts_find(struct name_facts *facts, const struct interner *strings, uint32_t name);

/* Whether a range, operator or frame of this name is PyTorch's DataLoader fetching the next batch. */
bool name_is_data_loader(const char *name);
/* Whether a range of this name is a compilation by XLA; XLA's "XlaModule:" ranges run a module instead. */
bool name_is_compiling(const char *name);

/* Returns whether a kernel of this name communicates. Template arguments, parameters and the return type at the
 * beginning of a demangled name do not count: a kernel that computes may have an argument of NCCL's. */
bool communication_is_kernel(const char *name);

/* Returns the index of the first of COUNT WORDS (in lower case, without underscores) with which a word of the name
 * begins, or COUNT. */
size_t communication_find_word(const char *name, const char *const *words, size_t count);

#endif
