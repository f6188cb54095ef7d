#include "leaks.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const kinds[] = {"unknown",    "device", "pinned",         "managed",
                                    "registered", "array",  "stream-ordered", "physical"};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

static const char *ending(uint64_t count)
{
    return count == 1 ? "" : "s";
}

void leaks_write_size(char text[LEAKS_SIZE_TEXT], uint64_t bytes, bool exact)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double size = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 1024) {
        snprintf(text, LEAKS_SIZE_TEXT, "%u byte%s", (unsigned)bytes, ending(bytes));
        return;
    }
    for (; size >= 1023.5 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
        size /= 1024;
    int used = snprintf(text, LEAKS_SIZE_TEXT, "%.*f %s", size < 9.995 ? 2 : size < 99.95 ? 1 : 0, size, units[unit]);
    if (exact)
        snprintf(text + used, LEAKS_SIZE_TEXT - (size_t)used, " (%" PRIu64 " bytes)", bytes);
}

/* Allocations of the same kind, device and stack; the first of them stands for all. */
struct group {
    const struct allocation *first;
    uint64_t count, bytes;
};

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_group(const void *left, const void *right)
{
    const struct allocation *a = ((const struct group *)left)->first, *b = ((const struct group *)right)->first;
    int order = compare(a->kind, b->kind);
    order = order ? order : compare(a->device, b->device);
    order = order ? order : compare(a->stack, b->stack);
    return order ? order : compare(a->time, b->time);
}

static int by_bytes(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    int order = compare(b->bytes, a->bytes);
    return order ? order : by_group(left, right);
}

static bool is_same_group(const struct allocation *a, const struct allocation *b)
{
    return a->kind == b->kind && a->device == b->device && a->stack == b->stack;
}

/* All that is allocated, in groups, largest first; NULL: nothing, or no memory. */
static struct group *group_all(const struct live *live, size_t *count)
{
    size_t all = 0, groups = 0;
    struct group *group = calloc(live->count + 1u, sizeof(*group));
    for (uint32_t i = 0; group && i < live->count; i++)
        if (live->list[i].bytes)
            group[all++] = (struct group){&live->list[i], 1, live->list[i].bytes};
    if (all)
        qsort(group, all, sizeof(*group), by_group);
    for (size_t i = 0; i < all; i++) {
        if (groups && is_same_group(group[groups - 1].first, group[i].first)) {
            group[groups - 1].count++;
            group[groups - 1].bytes += group[i].bytes;
        } else {
            group[groups++] = group[i];
        }
    }
    if (groups)
        qsort(group, groups, sizeof(*group), by_bytes);
    *count = groups;
    return group;
}

static void tell_group(const struct gputrace_host *host, const struct telling *telling, const struct group *group)
{
    char line[256], size[LEAKS_SIZE_TEXT], where[48] = "", stream[48] = "";
    const struct allocation *first = group->first;
    double ms = first->time > telling->start ? (double)(first->time - telling->start) / 1e6 : 0;
    leaks_write_size(size, group->bytes, true);
    if (first->device != GPUTRACE_NO_DEVICE)
        snprintf(where, sizeof(where), " on device %u", first->device);
    if (first->stream_id != GPUTRACE_NO_STREAM)
        snprintf(stream, sizeof(stream), " in stream %u", first->stream_id);
    snprintf(line, sizeof(line), "%s of %s memory in %" PRIu64 " allocation%s%s,%s after %.*f %s%s, by thread %u", size,
             kinds[first->kind < KINDS ? first->kind : 0], group->count, ending(group->count), where,
             group->count > 1 ? " first" : "", ms < 1000 ? 1 : 2, ms < 1000 ? ms : ms / 1000, ms < 1000 ? "ms" : "s",
             stream, first->thread);
    gputrace_line(host, first->stack, line);
}

/* "in all 12.0 KiB (12288 bytes) in 2 allocations: device 8.00 KiB in 1, pinned 4.00 KiB in 1" */
static void tell_sum(const struct gputrace_host *host, const struct group *group, size_t count)
{
    uint64_t bytes[KINDS + 1] = {0}, number[KINDS + 1] = {0}; /* the last: all */
    char line[512], size[LEAKS_SIZE_TEXT];
    for (size_t i = 0; i < count; i++) {
        uint32_t kind = group[i].first->kind < KINDS ? group[i].first->kind : 0;
        bytes[kind] += group[i].bytes;
        number[kind] += group[i].count;
        bytes[KINDS] += group[i].bytes;
        number[KINDS] += group[i].count;
    }
    leaks_write_size(size, bytes[KINDS], true);
    int used = snprintf(line, sizeof(line), "in all %s in %" PRIu64 " allocation%s", size, number[KINDS],
                        ending(number[KINDS]));
    const char *between = ":";
    for (unsigned kind = 0; kind < KINDS && (size_t)used < sizeof(line); kind++) {
        if (!number[kind])
            continue;
        leaks_write_size(size, bytes[kind], false);
        used += snprintf(line + used, sizeof(line) - (size_t)used, "%s %s %s in %" PRIu64, between, kinds[kind], size,
                         number[kind]);
        between = ",";
    }
    gputrace_line(host, 0, line);
}

static void tell_groups(const struct gputrace_host *host, const struct telling *telling, const struct group *group,
                        size_t count)
{
    struct group rest = {0};
    uint64_t reported = 0, left_out = 0;
    char line[160], size[LEAKS_SIZE_TEXT];
    for (size_t i = 0; i < count; i++) {
        if (group[i].bytes >= telling->least && reported < telling->top) {
            tell_group(host, telling, &group[i]);
            reported++;
            continue;
        }
        left_out++;
        rest.count += group[i].count;
        rest.bytes += group[i].bytes;
    }
    if (left_out) {
        leaks_write_size(size, rest.bytes, true);
        snprintf(line, sizeof(line),
                 "%s in %" PRIu64 " allocation%s from %" PRIu64 " more place%s are not listed above", size, rest.count,
                 ending(rest.count), left_out, ending(left_out));
        gputrace_line(host, 0, line);
    }
    tell_sum(host, group, count);
}

void leaks_report(const struct gputrace_host *host, const struct live *live, const struct telling *telling)
{
    char line[160];
    size_t count = 0;
    struct group *group = group_all(live, &count);
    if (count) {
        tell_groups(host, telling, group, count);
    } else if (group) {
        snprintf(line, sizeof(line), "nothing was left allocated, of %" PRIu64 " allocation%s", live->allocations,
                 ending(live->allocations));
        gputrace_line(host, 0, line);
    }
    if (live->unknown_frees) {
        snprintf(line, sizeof(line), "%" PRIu64 " free%s of memory that was not seen allocated", live->unknown_frees,
                 ending(live->unknown_frees));
        gputrace_line(host, 0, line);
    }
    if (live->incomplete || !group)
        gputrace_line(host, 0, "there was not enough memory to follow everything: some may be missing");
    free(group);
}
