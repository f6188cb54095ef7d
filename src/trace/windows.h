/*
 * Parts of a trace: the options that select a part (--from, --gpu and others), and lists of windows, such as the
 * occurrences of a range. Times are ns on the caller's axis. A window includes its start and excludes its end.
 */
#ifndef GPUTRACE_TRACE_WINDOWS_H
#define GPUTRACE_TRACE_WINDOWS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/file_vector.h"
#include "common/map.h"

/* A time after the start of a trace: "1.5s", or a share of the trace's length, "40%". All zero: not given. */
struct time_bound {
    const char *text; /* as typed, for messages; NULL: not given */
    bool is_share;
    double percent;
    int64_t ns;
};

/* The number of a process, GPU and so on that an option selects. All zero: not given. */
struct selected_number {
    bool given;
    int64_t number;
};

/* The options that select by a number. */
#define FILTER_NUMBERS(X)  \
    X(step, STEP, "steps") \
    X(rank, RANK, "ranks") \
    X(process, PROCESS, "processes") X(gpu, GPU, "GPUs") X(stream, STREAM, "streams") X(thread, THREAD, "threads")

#define CUT_KEY "gputrace_cut" /* key in the metadata of a part: the options that it was cut out with */

struct buffer;
/* Writes the form NUMBER, counted from 0, of the kernel name NAME to OUT, which is empty. Returns false if there is no
 * such form. */
typedef bool kernel_name_form(struct buffer *out, unsigned number, const char *name, size_t length);

/* The options that select events of a trace. All zero selects all events. */
struct filter_options {
    struct time_bound from, to;
    const char *range; /* "NAME" or "NAME/N"; NULL: not given */
    struct selected_number step, rank, process, gpu, stream, thread;
    const char *kernel;          /* a POSIX extended regular expression; NULL: not given */
    kernel_name_form *name_form; /* writes other forms of a name that `kernel` may match; NULL: only the name */
};

/* Whether any option is given. */
bool filter_wanted(const struct filter_options *options);

/* Checks that the options are valid together. Returns 0, or -1 after error(). */
int filter_check(const struct filter_options *options);

/* Compiles --kernel into REGEX. Returns 0, or -1 after error(). */
int filter_compile(const struct filter_options *options, regex_t *regex);

/* Appends the given options as typed: "--from=1s --gpu=0". Adds a blank before them if OUT is not empty. */
void filter_write(struct buffer *out, const struct filter_options *options);

enum filter_number {
#define NUMBER(word, constant, ...) FILTER_##constant,
    FILTER_NUMBERS(NUMBER) FILTER_NUMBER_COUNT
#undef NUMBER
};

/* What a trace has of the things that options select. All zero is empty. */
struct filter_found {
    struct map numbers[FILTER_NUMBER_COUNT]; /* for each given option, the numbers that the trace has */
    bool found[FILTER_NUMBER_COUNT], kernel;
};
void filter_found_release(struct filter_found *found);
/* Records that the trace has NUMBER. Returns 0, or -1 without memory. */
int filter_found_note(struct filter_found *found, const struct filter_options *options, enum filter_number what,
                      int64_t number);
/* The traces, of several, that have nothing that the options select. All zero is empty. */
#define FILTER_MISSED_SHOWN 8
struct filter_missed {
    size_t count;
    char texts[FILTER_MISSED_SHOWN][512]; /* messages about the first of them */
};

/* Checks that each option except --step selects something of the trace PATH. Returns 0, or as filter_missing(), whose
 * message lists what the trace has. */
int filter_found_check(const struct filter_found *found, const struct filter_options *options, const char *path,
                       struct filter_missed *missed);

/* Reports that a trace has nothing that the options select. Returns 1 after adding the message to MISSED, or, if that
 * is NULL because there is only one trace, -1 after error(). */
int filter_missing(struct filter_missed *missed, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Warns of the traces in MISSED, of many in one line, after the last of COUNT traces. Returns 0, or -1 after errors if
 * MISSED has all traces. */
int filter_missed_print(const struct filter_missed *missed, size_t count);

/* Writes COUNT NUMBERS as "0 to 3, 8, 16 and 12 more" to SIZE bytes of TEXT. Sorts NUMBERS. */
void number_list_write(char *text, size_t size, int64_t *numbers, size_t count);

/* Sets TIMES to the times that the bounds FROM and TO stand for in a trace from START to END. Either bound may be
 * absent. Returns 0, or what filter_missing() returns if nothing of the trace PATH is left. */
int time_bounds_resolve(const struct time_bound *from, const struct time_bound *to, const char *path,
                        struct filter_missed *missed, int64_t start, int64_t end, int64_t times[2]);

/* The time from the first to the last of some events. All zero: no events. */
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

/* A list of windows. All zero is empty. */
struct windows {
    FILE_VECTOR(struct window) items; /* after windows_finish(): in order and apart */
};

void windows_release(struct windows *windows);

/* Adds a window, in any order; an empty one gets 1 ns. Returns 0, or -1 without memory. */
int windows_add(struct windows *windows, int64_t start, int64_t end);
/* Sorts and joins the windows. Returns 0, or -1 without memory. */
int windows_finish(struct windows *windows);

/* Adds the parts of TIMES (NULL: all time), shifted by SHIFT ns, between FROM and TO, and finishes WINDOWS. Returns 0,
 * or -1 without memory. */
int windows_clip(struct windows *windows, const struct windows *times, int64_t shift, int64_t from, int64_t to);

/* Returns the window that TIME is in, or NULL. WINDOWS must be finished. */
const struct window *windows_around(const struct windows *windows, int64_t time);
/* Returns the first window that ends after TIME, or NULL. WINDOWS must be finished. */
const struct window *windows_next(const struct windows *windows, int64_t time);

/* Splits "step/3", the third "step": sets *OCCURRENCE to 3 and returns the length of "step". Returns 0 if TEXT has no
 * number. A range may also be called "step/3". */
size_t range_name_split(const char *text, uint64_t *occurrence);

#endif
