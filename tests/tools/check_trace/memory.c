/*
 * The counters "Memory in use: KIND": every step up is an allocation, every step down a release.
 */
#include "check_trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_counter(const void *a, const void *b)
{
    const struct sample *left = a, *right = b;
    if (left->counter != right->counter)
        return left->counter < right->counter ? -1 : 1;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static void add_step(struct memory_steps *steps, double before, double value)
{
    if (value > before) {
        steps->allocations++;
        steps->bytes += (uint64_t)(value - before);
    } else if (value < before) {
        steps->releases++;
    }
    if (value > 0 && (uint64_t)value > steps->peak)
        steps->peak = (uint64_t)value;
}

/* Counters of several devices add up, but for the peak, which is that of the highest. */
void trace_memory(const struct trace *trace, const char *kind, struct memory_steps *steps)
{
    char name[128];
    size_t length = (size_t)snprintf(name, sizeof(name), "Memory in use: %s\t", kind);
    *steps = (struct memory_steps){0};
    if (trace->samples_count > 1)
        qsort(trace->samples, trace->samples_count, sizeof(*trace->samples), by_counter);
    double before = 0;
    for (size_t i = 0; i < trace->samples_count; i++) {
        const struct sample *sample = &trace->samples[i];
        if (strncmp(names_get(&trace->texts, sample->counter), name, length) != 0)
            continue;
        add_step(steps, before, sample->value);
        bool last = i + 1 == trace->samples_count || trace->samples[i + 1].counter != sample->counter;
        if (last && sample->value > 0)
            steps->end += (uint64_t)sample->value;
        before = last ? 0 : sample->value;
    }
}
