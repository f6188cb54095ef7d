#include "trace/build/compilation.h"

#include "common/log.h"
#include "common/spool_records.h"

#define REST_STEPS ((size_t)1 << 16) /* are walked over before pages are given back */

void compilation_release(struct compilation *compilation)
{
    big_array_release(&compilation->steps);
}

static struct compilation_step *add_step(struct compilation *compilation, const char *what)
{
    struct compilation_step *step = big_array_push(&compilation->steps);
    if (step)
        step->order = (uint32_t)compilation->steps.count;
    else
        error_no_memory(what);
    return step;
}

int compilation_phase(struct compilation *compilation, const struct event *event)
{
    struct compilation_step *step = add_step(compilation, "phases of compilation");
    if (!step)
        return -1;
    step->number = event->phase.number;
    step->trigger = event->phase.trigger;
    step->is_end = event->phase.ended;
    if (step->is_end) {
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
    struct compilation_step *step = add_step(compilation, "JIT operations");
    if (!step)
        return -1;
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

static bool is_jit(const struct compilation_step *step)
{
    return step->trigger == SPOOL_TRIGGER_NONE;
}

static int by_order(const struct compilation_step *left, const struct compilation_step *right)
{
    return left->order < right->order ? -1 : left->order > right->order;
}

/* The records of a phase come one after another. */
static int by_phase(const void *a, const void *b)
{
    const struct compilation_step *left = a, *right = b;
    if (is_jit(left) != is_jit(right))
        return is_jit(left) ? 1 : -1;
    if (!is_jit(left) && left->number != right->number)
        return left->number < right->number ? -1 : 1;
    return by_order(left, right);
}

static void join(struct compilation_step *phase, const struct compilation_step *record)
{
    phase->trigger = record->trigger;
    if (record->is_end) {
        phase->end = record->end;
        phase->result = record->result;
        phase->ending = record->ending;
        return;
    }
    phase->start = record->start;
    phase->thread = record->thread;
    phase->correlation = record->correlation;
    phase->function = record->function;
    phase->function_length = record->function_length;
}

static int join_phases(struct compilation *compilation)
{
    struct compilation_step *steps = compilation->steps.items;
    size_t kept = 0;
    if (big_array_sort(&compilation->steps, by_phase) != 0)
        return error_no_memory("phases of compilation");
    for (size_t i = 0; i < compilation->steps.count; i++) {
        if (kept > 0 && !is_jit(&steps[i]) && steps[kept - 1].number == steps[i].number)
            join(&steps[kept - 1], &steps[i]);
        else
            steps[kept++] = steps[i];
        if (i % REST_STEPS == 0)
            big_array_rest(&compilation->steps);
    }
    compilation->steps.count = kept;
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

/* Phases of a call come before its JIT operations. */
static int by_call(const void *a, const void *b)
{
    const struct compilation_step *left = a, *right = b;
    if (left->correlation != right->correlation)
        return left->correlation < right->correlation ? -1 : 1;
    if (is_jit(left) != is_jit(right))
        return is_jit(left) ? 1 : -1;
    return by_order(left, right);
}

/* CUPTI's own number of a thread is not always the system's: who made the call is. */
static int find_threads(struct compilation *compilation, const struct launches *launches)
{
    const struct compilation_step *caller = NULL;
    if (big_array_sort(&compilation->steps, by_call) != 0)
        return error_no_memory("phases of compilation");
    for (size_t i = 0; i < compilation->steps.count; i++) {
        struct compilation_step *step = &compilation->steps.items[i];
        const struct launch *launch = step->correlation ? launches_get(launches, step->correlation) : NULL;
        if (i % REST_STEPS == 0)
            big_array_rest(&compilation->steps);
        if (!is_jit(step) && step->start != 0 && step->correlation != 0)
            caller = step;
        else if (is_jit(step) && caller && caller->correlation == step->correlation)
            step->thread = caller->thread;
        else if (is_jit(step) && launch && launch->from != LAUNCH_UNKNOWN)
            step->thread = launch->thread;
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
    if (is_jit(left) != is_jit(right))
        return is_jit(left) ? 1 : -1;
    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    return by_order(left, right);
}

int compilation_close(struct compilation *compilation, const struct windows *windows, const struct launches *launches,
                      uint64_t time)
{
    if (join_phases(compilation) != 0 || find_threads(compilation, launches) != 0)
        return -1;
    size_t kept = 0;
    for (size_t i = 0; i < compilation->steps.count; i++) {
        struct compilation_step *step = &compilation->steps.items[i];
        if (i % REST_STEPS == 0)
            big_array_rest(&compilation->steps);
        if (step->start == 0 || !windows_hold(windows, step->start))
            continue; /* an end whose start was not recorded is no phase */
        if (!is_jit(step))
            close_phase(step, windows, time);
        compilation->steps.items[kept++] = *step;
    }
    compilation->steps.count = kept;
    return big_array_sort(&compilation->steps, outer_first) == 0 ? 0 : error_no_memory("phases of compilation");
}
