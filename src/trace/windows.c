/*
 * Checks and compiles the options that select a part of a trace, resolves their times, and keeps lists of windows
 * sorted and without overlaps.
 */
#include "trace/windows.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/log.h"
#include "common/array.h"
#include "common/memory.h"

static int by_number(const void *left, const void *right)
{
    return ORDER(*(const int64_t *)left, *(const int64_t *)right);
}

#define LISTED 4 /* the most numbers, or stretches of numbers, in a list */

void number_list_write(char *list, size_t size, int64_t *numbers, size_t count)
{
    struct buffer text;
    size_t i = 0;
    qsort(numbers, count, sizeof(*numbers), by_number);
    buffer_init_memory(&text);
    for (size_t written = 0; i < count && written < LISTED; written++) {
        size_t end = i + 1;
        while (end < count && numbers[end] == numbers[end - 1] + 1)
            end++;
        buffer_format(&text, "%s%lld", i > 0 ? ", " : "", (long long)numbers[i]);
        if (end - i == 2)
            end--;
        if (end - i > 1)
            buffer_format(&text, " to %lld", (long long)numbers[end - 1]);
        i = end;
    }
    if (i < count)
        buffer_format(&text, " and %zu more", count - i);
    snprintf(list, size, "%.*s", (int)text.length, text.failure ? "" : text.data);
    buffer_release(&text);
}

static int add_key(void *context, uint64_t key, uint64_t *value)
{
    int64_t **next = context;
    (void)value;
    *(*next)++ = (int64_t)key;
    return 0;
}

/* --- the options --- */

static const struct {
    const char *word, *plural;
    size_t offset;
} numbers[] = {
#define NUMBER(word, constant, plural) {#word, plural, offsetof(struct filter_options, word)},
    FILTER_NUMBERS(NUMBER)
#undef NUMBER
};

static const struct selected_number *number_of(const struct filter_options *options, enum filter_number what)
{
    return (const void *)((const char *)options + numbers[what].offset);
}

bool filter_wanted(const struct filter_options *options)
{
    bool wanted = options->from.text || options->to.text || options->range || options->kernel;
    for (enum filter_number what = 0; what < FILTER_NUMBER_COUNT; what++)
        wanted |= number_of(options, what)->given;
    return wanted;
}

int filter_compile(const struct filter_options *options, regex_t *regex)
{
    int failure = regcomp(regex, options->kernel, REG_EXTENDED | REG_NOSUB);
    char words[128];
    if (failure == 0)
        return 0;
    regerror(failure, regex, words, sizeof(words));
    return error("--kernel: '%s' is not a regular expression: %s", options->kernel, words);
}

int filter_check(const struct filter_options *options)
{
    regex_t regex;
    if (options->range && !*options->range)
        return error("--range needs the name of a range");
    if (options->range && options->step.given)
        return error("--range and --step both name a part of the trace: use one of them");
    if (!options->kernel)
        return 0;
    if (filter_compile(options, &regex) < 0)
        return -1;
    regfree(&regex);
    return 0;
}

static void write_text(struct buffer *out, const char *word, const char *text)
{
    if (text)
        buffer_format(out, "%s--%s=%s", out->length ? " " : "", word, text);
}

void filter_write(struct buffer *out, const struct filter_options *options)
{
    write_text(out, "from", options->from.text);
    write_text(out, "to", options->to.text);
    write_text(out, "range", options->range);
    for (enum filter_number what = 0; what < FILTER_NUMBER_COUNT; what++)
        if (number_of(options, what)->given)
            buffer_format(out, "%s--%s=%lld", out->length ? " " : "", numbers[what].word,
                          (long long)number_of(options, what)->number);
    write_text(out, "kernel", options->kernel);
}

void filter_found_release(struct filter_found *found)
{
    for (size_t i = 0; i < FILTER_NUMBER_COUNT; i++)
        map_release(&found->numbers[i]);
}

int filter_found_note(struct filter_found *found, const struct filter_options *options, enum filter_number what,
                      int64_t number)
{
    const struct selected_number *wanted = number_of(options, what);
    if (!wanted->given || found->found[what])
        return 0;
    found->found[what] = number == wanted->number;
    return number < 0 || map_put(&found->numbers[what], (uint64_t)number, NULL) ? 0 : -1;
}

int filter_missing(struct filter_missed *missed, const char *format, ...)
{
    char text[sizeof(missed->texts[0])];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!missed)
        return error("%s", text);
    if (missed->count < FILTER_MISSED_SHOWN)
        memcpy(missed->texts[missed->count], text, sizeof(text));
    missed->count++;
    return 1;
}

int filter_missed_print(const struct filter_missed *missed, size_t count)
{
    bool all = missed->count > 0 && missed->count >= count, many = missed->count > FILTER_MISSED_SHOWN;
    char more[64] = "";
    if (many)
        snprintf(more, sizeof(more), "; so it is with %zu of %zu traces", missed->count, count);
    for (size_t i = 0; i < (many ? 1 : missed->count); i++)
        all ? error("%s%s", missed->texts[i], more) : warning("%s%s", missed->texts[i], more);
    return all ? -1 : 0;
}

/* Reports, for example, "no GPU 7 in 'trace.json': it has GPUs 0, 1". */
static int missing_number(const struct filter_found *found, int64_t wanted, enum filter_number what, const char *path,
                          struct filter_missed *missed)
{
    const char *plural = numbers[what].plural, *word = what == FILTER_GPU ? "GPU" : numbers[what].word;
    size_t count = map_count(&found->numbers[what]);
    int64_t *items = calloc(count + 1, sizeof(*items)), *next = items;
    char list[160];
    if (!items)
        return error_no_memory("the trace's events");
    map_each(&found->numbers[what], add_key, &next);
    number_list_write(list, sizeof(list), items, count);
    free(items);
    return filter_missing(missed, "no %s %lld in '%s': it has %s%s%s%s", word, (long long)wanted, path,
                          count == 0 ? "no " : "", count != 1 ? plural : word, count > 0 ? " " : "", list);
}

int filter_found_check(const struct filter_found *found, const struct filter_options *options, const char *path,
                       struct filter_missed *missed)
{
    for (enum filter_number what = FILTER_RANK; what < FILTER_NUMBER_COUNT; what++)
        if (number_of(options, what)->given && !found->found[what])
            return missing_number(found, number_of(options, what)->number, what, path, missed);
    if (!options->kernel || found->kernel)
        return 0;
    return filter_missing(missed,
                          "no kernel in '%s' matches --kernel=%s%s: 'gputrace report -r kernels -n 0' lists them", path,
                          options->kernel, options->gpu.given || options->stream.given ? " on that GPU or stream" : "");
}

/* --- times --- */

/* Returns the time that BOUND stands for in a trace from START to END. */
static int64_t time_bound_at(const struct time_bound *bound, int64_t start, int64_t end)
{
    int64_t since = bound->ns, at;
    if (bound->is_share)
        since = llround((double)(end - start) * bound->percent / 100);
    return __builtin_add_overflow(start, since, &at) ? INT64_MAX : at;
}

int time_bounds_resolve(const struct time_bound *from, const struct time_bound *to, const char *path,
                        struct filter_missed *missed, int64_t start, int64_t end, int64_t times[2])
{
    times[0] = from->text ? time_bound_at(from, start, end) : start;
    times[1] = to->text ? time_bound_at(to, start, end) : end;
    if (times[0] > end)
        return filter_missing(missed, "--from=%s is after the end of '%s', which lasts %.9gs", from->text, path,
                              (double)(end - start) / 1e9);
    if (times[1] > end)
        times[1] = end;
    if (times[0] > times[1])
        return filter_missing(missed, "--from=%s is after --to=%s in '%s'", from->text, to->text, path);
    return 0;
}

void windows_release(struct windows *windows)
{
    file_vector_release(&windows->items);
}

int windows_add(struct windows *windows, int64_t start, int64_t end)
{
    windows->items.memory.directory = temporary_directory();
    const struct window window = {start, end > start ? end : start + 1};
    return ADD(file_vector_push, &windows->items, window) ? 0 : -1;
}

ORDER_BY(by_start, struct window, start)

int windows_finish(struct windows *windows)
{
    struct window *items = windows->items.items;
    size_t kept = 0;
    if (windows->items.count > 1 && file_vector_sort(&windows->items, by_start) != 0)
        return -1;
    for (size_t i = 1; i < windows->items.count; i++) {
        if (items[i].start > items[kept].end)
            items[++kept] = items[i];
        else if (items[i].end > items[kept].end)
            items[kept].end = items[i].end;
    }
    if (windows->items.count > 0)
        windows->items.count = kept + 1;
    return 0;
}

int windows_clip(struct windows *windows, const struct windows *times, int64_t shift, int64_t from, int64_t to)
{
    int status = times ? 0 : windows_add(windows, from, to);
    for (size_t i = 0; times && i < times->items.count && status == 0; i++) {
        int64_t start = times->items.items[i].start + shift, end = times->items.items[i].end + shift;
        start = start > from ? start : from;
        end = end < to ? end : to;
        status = start < end ? windows_add(windows, start, end) : 0;
    }
    return status < 0 ? status : windows_finish(windows);
}

const struct window *windows_next(const struct windows *windows, int64_t time)
{
    const struct window *items = windows->items.items;
    size_t index = COUNT_BEFORE(windows->items.count, i, items[i].end <= time);
    return index < windows->items.count ? &items[index] : NULL;
}

const struct window *windows_around(const struct windows *windows, int64_t time)
{
    const struct window *next = windows_next(windows, time);
    return next && next->start <= time ? next : NULL;
}

size_t range_name_split(const char *text, uint64_t *occurrence)
{
    const char *slash = strrchr(text, '/');
    char *end;
    if (!slash || slash == text || slash[1] < '1' || slash[1] > '9')
        return 0;
    errno = 0;
    *occurrence = strtoull(slash + 1, &end, 10);
    return *end || errno ? 0 : (size_t)(slash - text);
}
