/*
 * Parts of a trace's time: what a user asks for (--from, --to), and lists of windows, such as the occurrences of a
 * range. Times are ns on whatever axis the caller has; a window has its start and not its end.
 */
#ifndef GPUTRACE_TRACE_WINDOWS_H
#define GPUTRACE_TRACE_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/file_vector.h"

/* A time since the start of a trace: "1.5s", or a share of its length, "40%". All zero: none is given. */
struct time_bound {
    const char *text; /* as it was given, for messages; NULL: none is given */
    bool is_share;
    double percent;
    int64_t ns;
};

/* A process, a GPU, … that a user asks for. All zero: none. */
struct selected_number {
    bool given;
    int64_t number;
};

/* Writes "0 to 3, 8, 16 and 12 more" to SIZE bytes of TEXT: COUNT NUMBERS, which it puts in order. */
void number_list_write(char *text, size_t size, int64_t *numbers, size_t count);

struct buffer;
struct map;
/* Appends "no GPU 7 in 'trace.json': it has GPUs 0, 1". WORDS: "GPU" and "GPUs"; NUMBERS: a map whose keys are those
 * that the trace PATH has. */
void selected_write_missing(struct buffer *out, const struct selected_number *selected, const char *const words[2],
                            const char *path, const struct map *numbers);

/* Where it is in a trace from START to END. */
int64_t time_bound_at(const struct time_bound *bound, int64_t start, int64_t end);

/* The times [*from, *to] that two bounds name in a trace from START to END, within it. FROM or TO may not be given.
 * Returns 0, or -1 after error(), which names the trace PATH: nothing of the trace is left. */
int time_bounds_resolve(const struct time_bound *from, const struct time_bound *to, const char *path, int64_t start,
                        int64_t end, int64_t times[2]);

struct window {
    int64_t start, end;
};

/* All zero is empty. */
struct windows {
    FILE_VECTOR(struct window) items; /* after windows_finish(): in order, none touches another */
};

void windows_release(struct windows *windows);

/* In any order; a window without length has its start. Returns 0, or -1: no memory. */
int windows_add(struct windows *windows, int64_t start, int64_t end);
/* After the last. Returns 0, or -1: no memory. */
int windows_finish(struct windows *windows);

/* After windows_finish(). The window that TIME is in; NULL: none. */
const struct window *windows_around(const struct windows *windows, int64_t time);
/* The first window that ends after TIME, around it or behind it; NULL: none. */
const struct window *windows_next(const struct windows *windows, int64_t time);

/* The name of a range and which occurrence of it: "step/3" is the third "step", 0 stands for all. But a range may be
 * called "step/3". Returns the length of the name without the number, or 0: TEXT has none. */
size_t range_name_split(const char *text, uint64_t *occurrence);

#endif
