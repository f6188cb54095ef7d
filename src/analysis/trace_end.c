/* What is to be done with a trace after its last event. */
#include "analysis/heap.h"
#include "analysis/trace.h"

static int ready_calls(void *context)
{
    return calls_ready(&((struct trace *)context)->calls);
}

static int ready_works(void *context)
{
    return works_ready(&((struct trace *)context)->works);
}

static int finish_ranges(void *context)
{
    struct trace *trace = context;
    return trace->ranges.wanted ? ranges_finish(&trace->ranges, trace->end) : 0;
}

void trace_sum_times(struct trace *trace)
{
    struct trace_times all = trace->times;
    if (trace->works_times.any)
        trace_times_widen(&all, trace->works_times.first, trace->works_times.last);
    trace->start = all.first;
    trace->end = all.last;
    trace->any = all.any;
}

static void count_works(struct trace *trace)
{
    for (size_t i = 0; i < trace->streams.count; i++)
        for (unsigned category = 0; category <= EVENT_GRAPH; category++)
            trace->counts[category] += trace->streams.items[i].works[category];
}

int trace_finish(struct trace *trace, unsigned workers)
{
    const struct job jobs[] = {{finish_ranges, trace}, {ready_calls, trace}, {ready_works, trace}};
    trace_sum_times(trace);
    count_works(trace);
    for (size_t i = 0; i < trace->processes.count; i++)
        trace->host_processes += trace->processes.items[i].host;
    trace->compiling_total = busy_total(&trace->compiling);
    int status = jobs_run(jobs, sizeof(jobs) / sizeof(*jobs), workers);
    if (status < 0 || !trace->called_works.wanted || trace->ranges.count == 0)
        return status;
    status = called_works_gather(&trace->called_works, &trace->works, &trace->calls);
    return status ? status : autograd_attribute(&trace->autograd, &trace->ranges, &trace->called_works);
}

static int finish_busy(void *context)
{
    return trace_busy_finish(context);
}

static int finish_heap(void *context)
{
    struct trace *trace = context;
    return trace->heap ? heap_finish(trace->heap) : 0;
}

size_t trace_last_jobs(struct trace *trace, struct job jobs[TRACE_LAST_JOBS])
{
    jobs[0] = (struct job){finish_busy, trace};
    jobs[1] = (struct job){finish_heap, trace};
    return TRACE_LAST_JOBS;
}
