/*
 * Parts of a trace: what a user asks for (--from, --gpu and others), and lists of windows, such as the occurrences of a
 * range. Times are ns on whatever axis the caller has; a window has its start and not its end.
 */
#ifndef GPUTRACE_TRACE_WINDOWS_H
#define GPUTRACE_TRACE_WINDOWS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/file_vector.h"
#include "common/map.h"

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

/* What is selected by a number. */
#define FILTER_NUMBERS(X)  \
    X(step, STEP, "steps") \
    X(rank, RANK, "ranks") \
    X(process, PROCESS, "processes") X(gpu, GPU, "GPUs") X(stream, STREAM, "streams") X(thread, THREAD, "threads")

#define CUT_KEY "gputrace_cut" /* of the metadata of a part: which options it was cut out by */

struct buffer;
/* Writes form NUMBER, from 0 on, of the kernel name NAME to OUT, which is empty. Returns false: there are no more. */
typedef bool kernel_name_form(struct buffer *out, unsigned number, const char *name, size_t length);

/* Which events of a trace are wanted. All zero: all. */
struct filter_options {
    struct time_bound from, to;
    const char *range; /* "NAME" or "NAME/N"; NULL: none */
    struct selected_number step, rank, process, gpu, stream, thread;
    const char *kernel;          /* a POSIX extended regular expression; NULL: none */
    kernel_name_form *name_form; /* it is tried on these forms of a name too; NULL: on the name alone */
};

/* Whether any event is left out. */
bool filter_wanted(const struct filter_options *options);

/* Whether the options make sense. Returns 0, or -1 after error(). */
int filter_check(const struct filter_options *options);

/* Makes REGEX of --kernel, which filter_check() found valid. Returns 0, or -1 after error(). */
int filter_compile(const struct filter_options *options, regex_t *regex);

/* Writes the options that are given, as they are typed: "--from=1s --gpu=0"; behind other text with a blank before. */
void filter_write(struct buffer *out, const struct filter_options *options);

enum filter_number {
#define NUMBER(word, constant, ...) FILTER_##constant,
    FILTER_NUMBERS(NUMBER) FILTER_NUMBER_COUNT
#undef NUMBER
};

/* What there is of what options select. All zero is empty. */
struct filter_found {
    struct map numbers[FILTER_NUMBER_COUNT]; /* what the trace has, of each option that is given */
    bool found[FILTER_NUMBER_COUNT], kernel;
};
void filter_found_release(struct filter_found *found);
/* The trace has NUMBER. Returns 0, or -1: no memory. */
int filter_found_note(struct filter_found *found, const struct filter_options *options, enum filter_number what,
                      int64_t number);
/* Of several traces those that have nothing of what is selected. All zero is none. */
#define FILTER_MISSED_SHOWN 8
struct filter_missed {
    size_t count;
    char texts[FILTER_MISSED_SHOWN][512]; /* what the first of them have instead */
};

/* Whether all options but --step select something of the trace PATH. Returns 0, or what filter_missing() does after it
 * says what there is. */
int filter_found_check(const struct filter_found *found, const struct filter_options *options, const char *path,
                       struct filter_missed *missed);

/* Says that a trace has nothing of what is selected. Returns 1 after it is added to MISSED, or, where that is NULL, as
 * there are no other traces, -1 after error(). */
int filter_missing(struct filter_missed *missed, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* After the last of COUNT traces: warns of those that were missed, of many in one line. Returns 0, or -1 after errors:
 * all were. */
int filter_missed_print(const struct filter_missed *missed, size_t count);

/* Writes "0 to 3, 8, 16 and 12 more" to SIZE bytes of TEXT: COUNT NUMBERS, which it puts in order. */
void number_list_write(char *text, size_t size, int64_t *numbers, size_t count);

/* The times [*from, *to] that two bounds name in a trace from START to END, within it. FROM or TO may not be given.
 * Returns 0, or what filter_missing() does: nothing of the trace PATH is left. */
int time_bounds_resolve(const struct time_bound *from, const struct time_bound *to, const char *path,
                        struct filter_missed *missed, int64_t start, int64_t end, int64_t times[2]);

/* From the first to the last of some events. All zero: there are none. */
struct trace_times {
    int64_t first, last;
    bool any;
};

static inline void trace_times_widen(struct trace_times *times, int64_t first, int64_t last)
{
    times->first = !times->any || first < times->first ? first : times->first;
    times->last = !times->any || last > times->last ? last : times->last;
    times->any = true;
}

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

/* Adds what of TIMES (NULL: of all time), SHIFT later, lies between FROM and TO, and puts it in order. Returns 0, or
 * -1: no memory. */
int windows_clip(struct windows *windows, const struct windows *times, int64_t shift, int64_t from, int64_t to);

/* After windows_finish(). The window that TIME is in; NULL: none. */
const struct window *windows_around(const struct windows *windows, int64_t time);
/* The first window that ends after TIME, around it or behind it; NULL: none. */
const struct window *windows_next(const struct windows *windows, int64_t time);

/* The name of a range and which occurrence of it: "step/3" is the third "step", 0 stands for all. But a range may be
 * called "step/3". Returns the length of the name without the number, or 0: TEXT has none. */
size_t range_name_split(const char *text, uint64_t *occurrence);

#endif
