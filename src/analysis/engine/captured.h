/*
 * The ranges that were open when GPU operations of a graph were captured: the argument "captured in", a path of names.
 */
#ifndef GPUTRACE_ANALYSIS_ENGINE_CAPTURED_H
#define GPUTRACE_ANALYSIS_ENGINE_CAPTURED_H

#include <stdint.h>

#include "common/array.h"
#include "common/map.h"

struct captured_path {
    uint32_t text;         /* of trace.strings */
    uint32_t first, count; /* of `names`; after captured_split() */
};

/* All zero is empty. */
struct captured {
    struct dense_map ids;
    ARRAY(struct captured_path) paths;
    ARRAY(uint32_t) names; /* of trace.strings, outermost first, each once in a path */
};

void captured_release(struct captured *captured);

#define CAPTURED_NO_MEMORY UINT32_MAX

/* Returns the number of a path, from 1 on, or CAPTURED_NO_MEMORY. */
uint32_t captured_add(struct captured *captured, uint32_t text);

/* Splits all paths into names, which are added to STRINGS, after the last path. Returns 0, or -1: no memory. */
int captured_split(struct captured *captured, struct interner *strings);

static inline const struct captured_path *captured_path(const struct captured *captured, uint32_t number)
{
    return &captured->paths.items[number - 1];
}

#endif
