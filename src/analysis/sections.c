#include "analysis/sections.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/pieces.h"
#include "analysis/jobs.h"

/* A trace of fewer calls and works is done sooner than threads are started. */
#define SMALL 20000

#define JOB_THREADS 8 /* at most, for there are no more long jobs */

static const struct {
    const char *word, *title;
} names[] = {
#define SECTION(name, word, title) {word, title},
    REPORT_SECTIONS(SECTION)
#undef SECTION
};

static const struct section *const known[REPORT_SECTION_COUNT] = {
    [REPORT_OVERVIEW] = &section_overview,
    [REPORT_DEATH] = &section_death,
    [REPORT_KERNELS] = &section_kernels,
    [REPORT_API] = &section_api,
    [REPORT_MEMTIME] = &section_memtime,
    [REPORT_MEMSIZE] = &section_memsize,
    [REPORT_SYNC] = &section_sync,
    [REPORT_LATENCY] = &section_latency,
    [REPORT_NVTX] = &section_nvtx,
    [REPORT_NVTX_TREE] = &section_nvtx_tree,
    [REPORT_NVTX_GPU] = &section_nvtx_gpu,
    [REPORT_NVTX_KERNELS] = &section_nvtx_kernels,
    [REPORT_RANGES] = &section_device_ranges,
    [REPORT_MEMORY] = &section_memory,
    [REPORT_MEMORY_PEAK] = &section_memory_peak,
    [REPORT_MEMORY_LEAKS] = &section_memory_leaks,
    [REPORT_MEMORY_CHURN] = &section_memory_churn,
    [REPORT_MEMORY_FAILURES] = &section_memory_failures,
    [REPORT_STREAMS] = &section_streams,
    [REPORT_COMPILATION] = &section_compilation,
    [REPORT_PHASES] = &section_phases,
    [REPORT_PLUGINS] = &section_plugins,
};

_Static_assert(REPORT_SECTION_COUNT + 2 <= DISPATCHER_CONSUMERS, "all sections and the trace may take events");

bool sections_wanted(const struct report_options *options, unsigned number)
{
    return options->sections == 0 || (options->sections >> number & 1);
}

const struct section *sections_of(const struct report_options *options, unsigned number)
{
    return number == REPORT_MEMORY && options->has_snapshot ? &section_memory_snapshot : known[number];
}

const char *sections_word(unsigned number)
{
    return names[number].word;
}

const char *sections_title(unsigned number)
{
    return names[number].title;
}

/* --- events --- */

static int take_for_trace(void *context, const struct trace_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (trace_event(context, &events[i]) < 0)
            return -1;
    return 0;
}

static int take_works(void *context, const struct trace_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (trace_work(context, &events[i]) < 0)
            return -1;
    return 0;
}

/* Sections about slices see slices alone; in the others an event's phase says what it is. */
static bool is_for(const struct section *section, const struct trace_event *event)
{
    bool slices_only = event_category_in(event->category, EVENT_GPU_WORK | EVENT_API | EVENT_BIT(EVENT_SYNC));
    return event_category_in(event->category, section->categories) && (!slices_only || event->phase == 'X');
}

static int take_for_section(void *context, const struct trace_event *events, size_t count)
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
    trace->called_works.wanted |= section->called_works;
    trace->works.wanted |= section->work || section->called_works;
    trace->calls.wanted |= section->calls || section->work || section->called_works;
    *one = (struct sections_one){.section = section, .trace = trace};
    if (section->state_size > 0 && !(one->state = calloc(1, section->state_size)))
        return error_no_memory("a report");
    if (section->event)
        dispatcher_add(&sections->dispatcher, &(struct dispatcher_consumer){.categories = section->categories,
                                                                            .take = take_for_section,
                                                                            .context = one,
                                                                            .what = names[number].word});
    return 0;
}

int sections_init(struct sections *sections, struct trace *trace)
{
    *sections = (struct sections){.trace = trace};
    dispatcher_init(&sections->dispatcher, trace->options->workers);
    dispatcher_add(&sections->dispatcher,
                   &(struct dispatcher_consumer){
                       .categories = ~0u, .take = take_for_trace, .context = trace, .what = "the trace's rows"});
    dispatcher_add(&sections->dispatcher, &(struct dispatcher_consumer){.categories = EVENT_GPU_WORK,
                                                                        .take = take_works,
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

struct trace_event *sections_place(struct sections *sections)
{
    return dispatcher_place(&sections->dispatcher);
}

int sections_event(struct sections *sections, struct trace_event *event)
{
    if (event->category == EVENT_KERNEL && trace_rename(sections->trace, event) < 0)
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

static int give_work(void *context, const struct work *work, const struct call *call)
{
    const struct sections_one *one = context;
    return one->section->work(one->state, one->trace, work, call);
}

static int give_works(void *context)
{
    const struct sections_one *one = context;
    return works_each(&one->trace->works, &one->trace->calls, give_work, context);
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
        if (one->section && one->section->work)
            jobs[count++] = (struct job){give_works, one};
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
        trace->works.sorter.count + trace->calls.sorter.count + trace->pieces.count + trace->ranges.count < SMALL;
    unsigned workers = small ? 1 : pieces_workers(trace->options->workers, JOB_THREADS);
    int status = trace_finish(trace, workers);
    if (status == 0)
        status = gather_all(sections, workers);
    return status < 0 ? error_no_memory("a report") : 0;
}
