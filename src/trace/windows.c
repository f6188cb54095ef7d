#include "trace/windows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/log.h"
#include "common/lookup.h"
#include "common/map.h"
#include "common/memory.h"

static int by_number(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

#define LISTED 4 /* numbers, or stretches of them */

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

void selected_write_missing(struct buffer *out, const struct selected_number *selected, const char *const words[2],
                            const char *path, const struct map *numbers)
{
    size_t count = map_count(numbers);
    int64_t *items = calloc(count + 1, sizeof(*items)), *next = items;
    char list[160] = "";
    if (items) {
        map_each(numbers, add_key, &next);
        number_list_write(list, sizeof(list), items, count);
    }
    buffer_format(out, "no %s %lld in '%s': it has %s%s%s%s", words[0], (long long)selected->number, path,
                  count == 0 ? "no " : "", words[count != 1], count > 0 ? " " : "", list);
    free(items);
}

int64_t time_bound_at(const struct time_bound *bound, int64_t start, int64_t end)
{
    int64_t since = bound->ns, at;
    if (bound->is_share)
        since = llround((double)(end - start) * bound->percent / 100);
    return __builtin_add_overflow(start, since, &at) ? INT64_MAX : at;
}

int time_bounds_resolve(const struct time_bound *from, const struct time_bound *to, const char *path, int64_t start,
                        int64_t end, int64_t times[2])
{
    times[0] = from->text ? time_bound_at(from, start, end) : start;
    times[1] = to->text ? time_bound_at(to, start, end) : end;
    if (times[0] > end)
        return error("--from=%s is after the end of '%s', which lasts %.9gs", from->text, path,
                     (double)(end - start) / 1e9);
    if (times[1] > end)
        times[1] = end;
    if (times[0] > times[1])
        return error("--from=%s is after --to=%s in '%s'", from->text, to->text, path);
    return 0;
}

void windows_release(struct windows *windows)
{
    file_vector_release(&windows->items);
}

int windows_add(struct windows *windows, int64_t start, int64_t end)
{
    windows->items.memory.directory = temporary_directory();
    struct window *added = file_vector_push(&windows->items);
    if (!added)
        return -1;
    *added = (struct window){start, end > start ? end : start + 1};
    return 0;
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

static int ends_by(const void *item, const void *time)
{
    return ((const struct window *)item)->end <= *(const int64_t *)time ? -1 : 1;
}

const struct window *windows_next(const struct windows *windows, int64_t time)
{
    const struct window *items = windows->items.items;
    size_t index = array_before(items, windows->items.count, sizeof(*items), &time, ends_by);
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
