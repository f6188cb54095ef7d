#include "analysis/section.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/ordered_loop.h"
#include "analysis/trace.h"

/* A trace of fewer calls and GPU operations is done sooner than threads are started. */
#define SMALL 20000

#define JOB_THREADS 8 /* more threads would find no work: there are no more long jobs */

static const struct {
    const char *word, *title;
    const struct section *section;
} table[] = {
#define SECTION(constant, name, word, title) {word, title, &section_##name},
    REPORT_SECTIONS(SECTION)
#undef SECTION
};

_Static_assert(REPORT_SECTION_COUNT + 2 <= DISPATCHER_CONSUMERS, "all sections and the trace may take events");

bool sections_wanted(const struct report_options *options, unsigned number)
{
    return options->sections == 0 || (options->sections >> number & 1);
}

const struct section *sections_of(const struct report_options *options, unsigned number)
{
    return number == REPORT_MEMORY && options->has_snapshot ? &section_memory_snapshot : table[number].section;
}

const char *sections_word(unsigned number)
{
    return table[number].word;
}

const char *sections_title(unsigned number)
{
    return table[number].title;
}

/* --- events --- */

static int add_to_trace(void *context, const struct event_fields *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (trace_event(context, &events[i]) < 0)
            return -1;
    return 0;
}

static int add_gpu_ops(void *context, const struct event_fields *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (trace_gpu_op(context, &events[i]) < 0)
            return -1;
    return 0;
}

/* Sections about slices see slices alone; in the others an event's phase says what it is. */
static bool is_for(const struct section *section, const struct event_fields *event)
{
    bool slices_only =
        category_in(event->category, CATEGORIES_GPU_OPS | CATEGORIES_API | CATEGORY_BIT(CATEGORY_CUDA_SYNC));
    return category_in(event->category, section->categories) && (!slices_only || event->phase == 'X');
}

static int add_to_section(void *context, const struct event_fields *events, size_t count)
{
    const struct sections_one *one = context;
    for (size_t i = 0; i < count; i++)
        if (is_for(one->section, &events[i]) && one->section->event(one->state, one->trace, &events[i]) < 0)
            return -1;
    return 0;
}

static int add_section(struct sections *sections, unsigned number)
{
    struct trace *trace = sections->trace;
    struct sections_one *one = &sections->all[number];
    const struct section *section = sections_of(trace->options, number);
    trace->ranges.wanted |= section->ranges;
    trace->launched_ops.wanted |= section->launched_ops;
    trace->gpu_ops.wanted |= section->gpu_op || section->launched_ops;
    trace->calls.wanted |= section->calls || section->gpu_op || section->launched_ops;
    *one = (struct sections_one){.section = section, .trace = trace};
    if (section->state_size > 0 && !(one->state = calloc(1, section->state_size)))
        return error_no_memory("a report");
    if (section->event)
        dispatcher_add(&sections->dispatcher, &(struct dispatcher_consumer){.categories = section->categories,
                                                                            .take = add_to_section,
                                                                            .context = one,
                                                                            .what = table[number].word});
    return 0;
}

int sections_init(struct sections *sections, struct trace *trace)
{
    *sections = (struct sections){.trace = trace};
    dispatcher_init(&sections->dispatcher, trace->options->workers);
    dispatcher_add(&sections->dispatcher,
                   &(struct dispatcher_consumer){
                       .categories = ~0u, .take = add_to_trace, .context = trace, .what = "the trace's rows"});
    dispatcher_add(&sections->dispatcher, &(struct dispatcher_consumer){.categories = CATEGORIES_GPU_OPS,
                                                                        .take = add_gpu_ops,
                                                                        .context = trace,
                                                                        .what = "the trace's GPU work"});
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++)
        if (sections_wanted(trace->options, i) && add_section(sections, i) < 0)
            return -1;
    return 0;
}

void sections_release(struct sections *sections)
{
    dispatcher_release(&sections->dispatcher);
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++) {
        struct sections_one *one = &sections->all[i];
        if (one->state)
            one->section->release(one->state);
        free(one->state);
    }
}

struct event_fields *sections_place(struct sections *sections)
{
    return dispatcher_place(&sections->dispatcher);
}

int sections_event(struct sections *sections, struct event_fields *event)
{
    if (event->category == CATEGORY_KERNEL && trace_rename(sections->trace, event) < 0)
        return error_no_memory("names");
    return dispatcher_event(&sections->dispatcher, event);
}

int sections_run(struct sections *sections, const struct event_run *run)
{
    return dispatcher_run(&sections->dispatcher, run);
}

int sections_wait(struct sections *sections)
{
    return dispatcher_wait(&sections->dispatcher);
}

/* --- the end --- */

static int pass_gpu_op(void *context, const struct gpu_op *op, const struct call *call)
{
    const struct sections_one *one = context;
    return one->section->gpu_op(one->state, one->trace, op, call);
}

static int pass_gpu_ops(void *context)
{
    const struct sections_one *one = context;
    return gpu_ops_each(&one->trace->gpu_ops, &one->trace->calls, pass_gpu_op, context);
}

static int gather(void *context)
{
    const struct sections_one *one = context;
    return one->section->gather(one->state, one->trace);
}

/* What the sections, and the trace for them, do on their own. */
static int gather_all(struct sections *sections, unsigned workers)
{
    struct job jobs[TRACE_LAST_JOBS + REPORT_SECTION_COUNT];
    size_t count = trace_last_jobs(sections->trace, jobs);
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++) {
        struct sections_one *one = &sections->all[i];
        if (one->section && one->section->gpu_op)
            jobs[count++] = (struct job){pass_gpu_ops, one};
        else if (one->section && one->section->gather)
            jobs[count++] = (struct job){gather, one};
    }
    return jobs_run(jobs, count, workers);
}

int sections_finish(struct sections *sections)
{
    struct trace *trace = sections->trace;
    if (dispatcher_wait(&sections->dispatcher) < 0)
        return -1;
    bool small =
        trace->gpu_ops.sorter.count + trace->calls.sorter.count + trace->pieces.count + trace->ranges.count < SMALL;
    unsigned workers = small ? 1 : ordered_loop_workers(trace->options->workers, JOB_THREADS);
    int status = trace_finish(trace, workers);
    if (status == 0)
        status = gather_all(sections, workers);
    return status < 0 ? error_no_memory("a report") : 0;
}
