#include "trace/build/plugin_windows.h"

#include "common/log.h"

#define REST_WINDOWS ((size_t)1 << 19) /* are joined before pages are given back */

void plugin_windows_release(struct plugin_windows *windows)
{
    for (size_t i = 0; i < windows->threads.count; i++)
        big_array_release(&windows->threads.items[i].windows);
    array_release(&windows->threads);
    map_release(&windows->by_thread);
}

int plugin_windows_add(struct plugin_windows *windows, uint32_t thread, uint64_t start, uint64_t end)
{
    uint64_t *index = map_put(&windows->by_thread, thread, NULL);
    if (!index || (*index == 0 && !array_push(&windows->threads)))
        return error_no_memory("windows of plugins");
    if (*index == 0) {
        *index = windows->threads.count;
        windows->threads.items[*index - 1].windows.memory.directory = windows->directory;
    }
    struct plugin_window *window = big_array_push(&windows->threads.items[*index - 1].windows);
    if (!window)
        return error_no_memory("windows of plugins");
    *window = (struct plugin_window){start, end};
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct plugin_window *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

/* Sorted, and those that touch are one. */
static int put_in_order(struct plugin_windows_of *thread)
{
    struct plugin_window *items = thread->windows.items;
    size_t kept = 0;
    if (big_array_sort(&thread->windows, by_start) != 0)
        return error_no_memory("windows of plugins");
    for (size_t i = 1; i < thread->windows.count; i++) {
        if (items[i].start > items[kept].end)
            items[++kept] = items[i];
        else if (items[i].end > items[kept].end)
            items[kept].end = items[i].end;
        if (i % REST_WINDOWS == 0)
            big_array_rest(&thread->windows);
    }
    thread->windows.count = kept + 1;
    return 0;
}

int plugin_windows_close(struct plugin_windows *windows)
{
    for (size_t i = 0; i < windows->threads.count; i++)
        if (put_in_order(&windows->threads.items[i]) != 0)
            return -1;
    return 0;
}

void plugin_windows_rest(const struct plugin_windows *windows)
{
    for (size_t i = 0; i < windows->threads.count; i++)
        big_array_rest(&windows->threads.items[i].windows);
}

bool plugin_windows_hold(const struct plugin_windows *windows, uint32_t thread, uint64_t start, uint64_t end)
{
    const uint64_t *index = map_get(&windows->by_thread, thread);
    if (!index || *index == 0)
        return false;
    const struct plugin_windows_of *of = &windows->threads.items[*index - 1];
    size_t low = 0, high = of->windows.count; /* the first that begins after START */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (of->windows.items[middle].start <= start)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && end <= of->windows.items[low - 1].end;
}
