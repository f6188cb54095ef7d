/*
 * The row "compilation": phases in which CUDA prepared code, and within them what its just-in-time compiler did. Slices
 * of one thread nest; those of several threads that overlap have lanes of their own.
 */
#include "trace/build/conversion.h"
#include "trace/build/emitter.h"
#include "trace/spool/error_names.h"

#include <string.h>

#include "common/spool_records.h"

#define REST_ITEMS ((size_t)1 << 16) /* are walked over before indexes give their pages back */

int see_phase(struct process *process, const struct event *event)
{
    if (event->phase.trigger == SPOOL_TRIGGER_NONE || event->phase.trigger >= SPOOL_TRIGGER_COUNT) {
        process->losses.undecoded++;
        return 0;
    }
    process->cuda = true;
    return compilation_phase(&process->compilation, event);
}

int match_compilation(struct process *process)
{
    struct compilation *compilation = &process->compilation;
    if (compilation_close(compilation, &process->windows, &process->launches, process->last_time) != 0)
        return -1;
    if (compilation->steps.count == 0)
        return 0;
    struct track *track = process_thread(process, TRACK_COMPILATION, 0);
    for (size_t i = 0; i < compilation->steps.count && track; i++) {
        const struct compilation_step *step = &compilation->steps.items[i];
        if (lanes_collect_own(&track->lanes, step->start, step->end, step->thread) != 0)
            return -1;
        if (i % REST_ITEMS == 0)
            process_rest(process);
    }
    return track ? 0 : -1;
}

static void add_words(struct args *args, enum arg_key key, const char *words)
{
    args_text(args, key, words, strlen(words));
}

static void add_correlation(struct args *args, const struct process *process, const struct compilation_step *step)
{
    if (step->correlation != 0)
        args_u64(args, ARG_CORRELATION, process_correlation(process, step->correlation));
}

static const char *describe_phase(struct args *args, const struct process *process, const struct compilation_step *step)
{
    static const char *const triggers[SPOOL_TRIGGER_COUNT] = {
#define TRIGGER(name, text) [SPOOL_TRIGGER_##name] = text,
        SPOOL_TRIGGERS(TRIGGER)
#undef TRIGGER
    };
    static const char *const endings[COMPILATION_ENDING_COUNT] = {
#define ENDING(name, text) [COMPILATION_##name] = text,
        COMPILATION_ENDINGS(ENDING)
#undef ENDING
    };
    add_words(args, ARG_TRIGGER, triggers[step->trigger]);
    args_text(args, ARG_FUNCTION, step->function, step->function_length);
    args_u64(args, ARG_PHASE, step->number);
    add_correlation(args, process, step);
    if (step->result != 0)
        args_error(args, ARG_RESULT, step->result, driver_error_name(step->result));
    if (step->ending != COMPILATION_RETURNED)
        add_words(args, ARG_ENDING, endings[step->ending]);
    return triggers[step->trigger];
}

static const char *describe_jit(struct args *args, const struct process *process, const struct compilation_step *step)
{
    static const char *const operations[EVENT_JIT_OPERATION_COUNT] = {
        [EVENT_JIT_UNKNOWN] = "JIT operation",
        [EVENT_JIT_CACHE_LOAD] = "JIT cache load",
        [EVENT_JIT_CACHE_STORE] = "JIT cache store",
        [EVENT_JIT_COMPILE] = "JIT compile",
    };
    static const char *const entries[EVENT_JIT_ENTRY_COUNT] = {
        [EVENT_JIT_FROM_PTX] = "PTX",
        [EVENT_JIT_FROM_NVVM_IR] = "NVVM IR",
    };
    add_correlation(args, process, step);
    if (step->operation == EVENT_JIT_CACHE_LOAD)
        args_add(args, ARG_CACHE_HIT, ARG_TYPE_TRUE);
    else if (step->operation == EVENT_JIT_COMPILE)
        args_add(args, ARG_CACHE_HIT, ARG_TYPE_FALSE);
    args_u64(args, ARG_GROUP, step->number);
    if (step->cache_bytes != 0)
        args_u64(args, ARG_CACHE_LIMIT, step->cache_bytes);
    if (entries[step->entry])
        add_words(args, ARG_FROM, entries[step->entry]);
    return operations[step->operation];
}

int emit_compilation(struct emitter *emitter, struct process *process)
{
    struct track *track = tracks_get(&process->tracks, TRACK_COMPILATION, 0, 0, 0);
    for (size_t i = 0; i < process->compilation.steps.count && track; i++) {
        const struct compilation_step *step = &process->compilation.steps.items[i];
        bool phase = step->trigger != SPOOL_TRIGGER_NONE;
        struct args args = {0};
        const char *name = phase ? describe_phase(&args, process, step) : describe_jit(&args, process, step);
        args_u64(&args, ARG_THREAD, step->thread);
        struct slice slice = {.category = CATEGORY_COMPILATION,
                              .name = name_plain(name),
                              .row = track_row_own(track, step->start, step->end, step->thread),
                              .start = step->start,
                              .end = step->end,
                              .args = &args};
        emitter->writer.format->slice(&emitter->writer, &slice);
        emitter_passed(emitter, process);
    }
    return 0;
}
