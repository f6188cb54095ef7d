#include "tool/model/compilation.h"

#include <stdlib.h>

#include "base/log.h"
#include "wire/spool.h"

void compilation_release(struct compilation *compilation)
{
    array_release(&compilation->steps);
    map_release(&compilation->phases);
}

static struct compilation_step *phase_of(struct compilation *compilation, uint64_t number)
{
    uint64_t *index = map_put(&compilation->phases, number, NULL);
    if (index && *index)
        return &compilation->steps.items[*index - 1];
    struct compilation_step *step = index ? array_push(&compilation->steps) : NULL;
    if (!step) {
        error_no_memory("phases of compilation");
        return NULL;
    }
    *index = compilation->steps.count;
    step->number = number;
    return step;
}

int compilation_phase(struct compilation *compilation, const struct event *event)
{
    struct compilation_step *step = phase_of(compilation, event->phase.number);
    if (!step)
        return -1;
    step->trigger = event->phase.trigger;
    if (event->phase.ended) {
        step->end = event->start;
        step->result = event->phase.result;
        step->ending = event->phase.ending < COMPILATION_UNKNOWN ? (enum compilation_ending)event->phase.ending
                                                                 : COMPILATION_UNKNOWN;
        return 0;
    }
    step->start = event->start;
    step->thread = event->thread;
    step->correlation = event->correlation;
    step->function = event->text;
    step->function_length = event->text_length;
    return 0;
}

int compilation_jit(struct compilation *compilation, const struct event *event)
{
    struct compilation_step *step = array_push(&compilation->steps);
    if (!step)
        return error_no_memory("JIT operations");
    step->start = event->start;
    step->end = event->end;
    step->number = event->jit.group;
    step->cache_bytes = event->jit.cache_bytes;
    step->correlation = event->correlation;
    step->thread = event->thread;
    step->operation = event->jit.operation;
    step->entry = event->jit.entry;
    return 0;
}

static void close_phase(struct compilation_step *phase, const struct windows *windows, uint64_t time)
{
    if (phase->end == 0) {
        uint64_t window_end = windows_end(windows, phase->start);
        phase->ending = window_end < time ? COMPILATION_RECORDING_OFF : COMPILATION_PROCESS_ENDED;
        phase->end = window_end < time ? window_end : time;
    }
    if (phase->end < phase->start)
        phase->end = phase->start; /* the clock was set back */
}

/* CUPTI's own number of a thread is not always the system's: who made the call is. */
static void find_thread(struct compilation_step *jit, const struct map *callers, struct launches *launches)
{
    const uint64_t *caller = map_get(callers, jit->correlation);
    const struct launch *launch = jit->correlation ? launches_get(launches, jit->correlation) : NULL;
    if (caller)
        jit->thread = (uint32_t)*caller;
    else if (launch && launch->from != LAUNCH_UNKNOWN)
        jit->thread = launch->thread;
}

static int list_callers(const struct compilation *compilation, struct map *callers)
{
    for (size_t i = 0; i < compilation->steps.count; i++) {
        const struct compilation_step *step = &compilation->steps.items[i];
        if (step->trigger == SPOOL_TRIGGER_NONE || step->start == 0 || step->correlation == 0)
            continue;
        uint64_t *thread = map_put(callers, step->correlation, NULL);
        if (!thread)
            return error_no_memory("phases of compilation");
        *thread = step->thread;
    }
    return 0;
}

/* What encloses comes first; a phase before operations that are as long. */
static int outer_first(const void *a, const void *b)
{
    const struct compilation_step *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->end != right->end)
        return left->end > right->end ? -1 : 1;
    bool left_jit = left->trigger == SPOOL_TRIGGER_NONE, right_jit = right->trigger == SPOOL_TRIGGER_NONE;
    if (left_jit != right_jit)
        return left_jit ? 1 : -1;
    return left->number < right->number ? -1 : left->number > right->number;
}

int compilation_close(struct compilation *compilation, const struct windows *windows, struct launches *launches,
                      uint64_t time)
{
    struct map callers = {0};
    int result = list_callers(compilation, &callers);
    size_t kept = 0;
    for (size_t i = 0; i < compilation->steps.count && result == 0; i++) {
        struct compilation_step step = compilation->steps.items[i];
        if (step.start == 0 || !windows_hold(windows, step.start))
            continue; /* an end whose start was not recorded is no phase */
        if (step.trigger != SPOOL_TRIGGER_NONE)
            close_phase(&step, windows, time);
        else
            find_thread(&step, &callers, launches);
        compilation->steps.items[kept++] = step;
    }
    if (result == 0)
        compilation->steps.count = kept;
    if (kept > 1)
        qsort(compilation->steps.items, kept, sizeof(*compilation->steps.items), outer_first);
    map_release(&callers);
    map_release(&compilation->phases); /* its indexes are not those any more */
    return result;
}
