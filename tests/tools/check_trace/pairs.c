/*
 * Rules about asynchronous ranges, and about the names of what is used.
 */
#include "check_trace/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int by_key(const void *a, const void *b)
{
    const struct end *left = a, *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->phase < right->phase ? -1 : left->phase > right->phase; /* b before e */
}

/* A range has one begin and one end of its own category, id and name; ends may lie on other rows. */
static void check_ranges(struct trace *trace)
{
    if (trace->ranges_count > 1)
        qsort(trace->ranges, trace->ranges_count, sizeof(*trace->ranges), by_key);
    for (size_t i = 0; i < trace->ranges_count;) {
        const struct end *begin = &trace->ranges[i];
        size_t next = i + 1;
        while (next < trace->ranges_count && trace->ranges[next].key == begin->key)
            next++;
        if (next - i != 2 || begin->phase != 'b' || trace->ranges[i + 1].phase != 'e')
            problem(trace, begin->number, "ranges", "'%s' has not one begin and one end, but %zu of either",
                    names_get(&trace->texts, begin->key), next - i);
        else if (trace->ranges[i + 1].time < begin->time)
            problem(trace, begin->number, "ranges", "'%s' ends before it begins", names_get(&trace->texts, begin->key));
        i = next;
    }
}

/* Every pid and every row has a name, or readers show a bare number. */
static void check_names(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->used_pids.count; i++) {
        int64_t pid;
        memcpy(&pid, names_get(&trace->used_pids, i), sizeof(pid));
        if (names_find(&trace->named_pids, &pid, sizeof(pid)) == NAMES_NONE)
            problem(trace, 0, "names", "pid %" PRId64 " has no process_name", pid);
    }
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        struct row row;
        memcpy(&row, names_get(&trace->rows, i), sizeof(row));
        if (names_find(&trace->named_rows, &row, sizeof(row)) == NAMES_NONE)
            problem(trace, 0, "names", "pid %" PRId64 " tid %" PRId64 " has no thread_name", row.pid, row.tid);
    }
}

void trace_pairs(struct trace *trace)
{
    if (trace->kineto)
        return;
    check_ranges(trace);
    check_names(trace);
}
