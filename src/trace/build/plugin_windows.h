/*
 * When threads of the program were in callbacks of plugins: calls of CUDA in these windows are a plugin's, not the
 * program's. Nothing is kept, and nothing costs time, where there are none.
 */
#ifndef GPUTRACE_TRACE_BUILD_PLUGIN_WINDOWS_H
#define GPUTRACE_TRACE_BUILD_PLUGIN_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/array.h"
#include "common/big_array.h"
#include "common/map.h"

struct plugin_window {
    uint64_t start, end; /* ns */
};

struct plugin_windows {
    struct map by_thread; /* -> index + 1 in threads */
    ARRAY(struct plugin_windows_of { BIG_ARRAY(struct plugin_window) windows; }) threads;
    const char *directory; /* for what memory cannot hold; NULL: there is none */
};

void plugin_windows_release(struct plugin_windows *windows);

/* Gives 0, or -1 after error(). */
int plugin_windows_add(struct plugin_windows *windows, uint32_t thread, uint64_t start, uint64_t end);

/* After the last: puts them in order. Gives 0, or -1 after error(). */
int plugin_windows_close(struct plugin_windows *windows);

/* What is known need not stay in memory for now. */
void plugin_windows_rest(const struct plugin_windows *windows);

static inline bool plugin_windows_any(const struct plugin_windows *windows)
{
    return windows->threads.count > 0;
}

/* Whether the time from START to END of THREAD lies within a window. */
bool plugin_windows_hold(const struct plugin_windows *windows, uint32_t thread, uint64_t start, uint64_t end);

#endif
