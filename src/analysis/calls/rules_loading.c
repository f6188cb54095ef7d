/* Rules about loading or compiling code, and instantiating graphs, while the program does its work. */
#include "analysis/base/busy.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/trace_known.h"
#include "analysis/names/name_facts.h"
#include "analysis/idle/stalls.h"

/* A phase of compilation or a call on a host thread. These times overlap and nest. */
struct host_time {
    int64_t start, end;
    event_id process;
    int64_t id;      /* of the thread; FIELD_ABSENT: `thread` is its index */
    uint32_t thread; /* index in trace.threads; LAUNCHED_NO_THREAD: `id` is known instead */
    uint32_t name, function;
    bool compiles; /* the just-in-time compiler runs */
};

/* All zero is empty. */
struct host_times {
    struct sorter sorter;
    bool begun;
    struct name_facts names;
    int64_t first_kernel; /* when the first launch of a kernel began */
    bool any_kernel;
};

static void times_release(void *state)
{
    struct host_times *times = state;
    if (times->begun)
        sorter_release(&times->sorter);
    array_release(&times->names.items);
}

ORDER_WITH(by_start, struct host_time, ORDER(a->start, b->start) ?: ORDER(b->end, a->end))

static int add_time(struct host_times *times, const struct trace *trace, const struct host_time *time)
{
    if (!times->begun)
        sorter_init(&times->sorter, trace->space, sizeof(struct host_time), by_start);
    times->begun = true;
    return sorter_add(&times->sorter, time);
}

static int add_phase(struct host_times *times, const struct trace *trace, const struct event_fields *event)
{
    event_id thread = trace_thread_of(event);
    const struct host_time time = {.start = event->start,
                                   .end = event->start + event->duration,
                                   .process = event->process,
                                   .id = event_id_is_text(thread) ? FIELD_ABSENT : event_id_value(thread),
                                   .thread = LAUNCHED_NO_THREAD,
                                   .name = event->name,
                                   .function = event_compilation(event)->function,
                                   .compiles = name_facts_find(&times->names, &trace->strings, event->name) & NAME_JIT};
    return add_time(times, trace, &time);
}

static int times_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct host_times *times = state;
    int64_t from = op->called == FIELD_ABSENT ? op->start : op->returned;
    if (op->category != CATEGORY_KERNEL || (times->any_kernel && from >= times->first_kernel))
        return 0;
    times->any_kernel = true;
    times->first_kernel = from;
    return 0;
}

struct times_sum {
    struct finding_place place; /* of the longest time */
    int64_t count;
    struct busy_sum time, compiling; /* compiling: by the just-in-time compiler */
    struct host_time longest;
};

/* Sums the times in [FROM, TO]; overlaps count once. Times within other times do not count in sum.count. Returns 0, or
 * -1: no memory, or after error(). */
static int sum_times(struct host_times *times, const struct trace *trace, int64_t from, int64_t to,
                     struct times_sum *sum)
{
    struct sorter_walk walk;
    const struct host_time *time;
    *sum = (struct times_sum){0};
    if (!times->begun)
        return 0;
    if (sorter_ready(&times->sorter) < 0)
        return -1;
    sorter_walk_begin(&walk, &times->sorter);
    while ((time = sorter_next(&walk))) {
        int64_t start = time->start > from ? time->start : from, end = time->end < to ? time->end : to;
        if (end <= start)
            continue;
        sum->count += !sum->time.any || start >= sum->time.until;
        if (sum->count == 1 || time->end - time->start > sum->longest.end - sum->longest.start)
            sum->longest = *time;
        busy_sum_add(&sum->time, start, end);
        if (time->compiles)
            busy_sum_add(&sum->compiling, start, end);
    }
    time = &sum->longest;
    int64_t index = time->id == FIELD_ABSENT ? FIELD_ABSENT : trace_find_thread(trace, time->process, time->id);
    sum->place = finding_at_time(index == FIELD_ABSENT ? time->thread : (uint32_t)index, time->start, time->end);
    return sorter_walk_end(&walk);
}

/* --- modules that are loaded after the first kernel was launched, without the compiler's time --- */

static int loading_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct host_times *times = state;
    unsigned facts = name_facts_find(&times->names, &trace->strings, event->name);
    return event->phase != 'X' || (facts & NAME_NO_CODE) ? 0 : add_phase(times, trace, event);
}

static int loading_call(void *state, const struct trace *trace, const struct host_call *call)
{
    const struct host_time time = {.start = call->start,
                                   .end = call->end,
                                   .id = FIELD_ABSENT,
                                   .thread = call->thread,
                                   .name = call->name,
                                   .function = EVENT_NO_TEXT};
    return add_time(state, trace, &time);
}

static int loading_find(void *state, struct findings *findings)
{
    struct host_times *times = state;
    struct times_sum sum;
    if (!times->any_kernel)
        return 0;
    if (sum_times(times, findings->trace, times->first_kernel, findings->to, &sum) < 0)
        return -1;
    int64_t cost = sum.time.total - sum.compiling.total;
    bool much = sum.count >= FINDING_LOADING_CALLS || cost >= FINDING_LOADING_NS;
    if (!much || cost < FINDING_LOADING_LEAST_NS || cost < findings->steady / 100 * FINDING_LOADING_PERCENT)
        return 0;
    return finding_format(finding_add(findings, cost, cost, sum.count, &sum.place),
                          "Loading code takes %s call%s after the first kernel was launched; the longest, %s, takes %s",
                          amount_count(sum.count).text, amount_word(sum.count, "", "s"),
                          finding_name(findings->trace, sum.longest.name).text,
                          amount_time(sum.longest.end - sum.longest.start).text);
}

const struct rule rule_module_loading = {
    .of_host = true,
    .id = "module-loading",
    .advice =
        "Load modules once, before the work that is measured. Kernels are loaded at their first launch: warm them "
        "up, or set CUDA_MODULE_LOADING=EAGER.",
    .section = "compilation",
    .sources = {TRACE_API | TRACE_COMPILE, TRACE_KERNEL},
    .state_size = sizeof(struct host_times),
    .categories = CATEGORY_BIT(CATEGORY_COMPILATION),
    .event = loading_event,
    .calls = CALL_KIND_BIT(CALL_MODULE),
    .call = loading_call,
    .op = times_op,
    .find = loading_find,
    .release = times_release,
};

/* --- the just-in-time compiler, whenever it runs --- */

static int jit_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct host_times *times = state;
    bool compiles = event->phase == 'X' && event_compilation(event)->cache_hit != 1 &&
                    (name_facts_find(&times->names, &trace->strings, event->name) & NAME_JIT);
    return compiles ? add_phase(times, trace, event) : 0;
}

static int jit_find(void *state, struct findings *findings)
{
    struct times_sum sum;
    if (sum_times(state, findings->trace, findings->from, findings->to, &sum) < 0)
        return -1;
    struct finding *finding = finding_add(findings, sum.time.total, sum.time.total, sum.count, &sum.place);
    bool xla = sum.count > 0 && name_is_compiling(trace_text(findings->trace, sum.longest.name));
    if (xla)
        finding_advise(finding,
                       "Keep what XLA compiled for the next run (in JAX the directory jax_compilation_cache_dir), "
                       "and call compiled functions with the same shapes and types again.");
    return finding_format(finding, "%s compiles code %s time%s while the program runs, %s the longest",
                          xla ? "XLA" : "The driver", amount_count(sum.count).text, amount_word(sum.count, "", "s"),
                          amount_time(sum.longest.end - sum.longest.start).text);
}

const struct rule rule_jit_compilation = {
    .of_host = true,
    .id = "jit-compilation",
    .advice = "Build for the GPU that runs it, so that no PTX is left to compile (nvcc -arch=native, or a -gencode for "
              "each architecture), and keep the cache: CUDA_CACHE_PATH, CUDA_CACHE_MAXSIZE.",
    .section = "compilation",
    .sources = {TRACE_COMPILE},
    .state_size = sizeof(struct host_times),
    .categories = CATEGORY_BIT(CATEGORY_COMPILATION) | CATEGORY_BIT(CATEGORY_USER_ANNOTATION),
    .event = jit_event,
    .find = jit_find,
    .release = times_release,
};

/* --- graphs that are built repeatedly --- */

struct graphs {
    struct stalls stalls; /* all calls that build graphs */
    struct name_facts names;
    const struct trace *trace;
    struct offences instantiations;
    struct busy_sum time;
};

static void graphs_release(void *state)
{
    struct graphs *graphs = state;
    stalls_release(&graphs->stalls);
    array_release(&graphs->names.items);
}

static int graphs_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct stalls *stalls = &((struct graphs *)state)->stalls;
    struct stall stall;
    return stalls->count > 0 && stalls_op(stalls, op, STALL_WITHIN, &stall) < 0 ? -1 : 0;
}

static int add_graph_call(void *context, const struct stall_call *call)
{
    struct graphs *graphs = context;
    busy_sum_add(&graphs->time, call->start, call->end);
    const struct finding_place place = stall_place(call);
    if (name_facts_find(&graphs->names, &graphs->trace->strings, call->name) & NAME_INSTANTIATES)
        offences_add(&graphs->instantiations, &place, call->end - call->start);
    return 0;
}

static int graphs_find(void *state, struct findings *findings)
{
    struct graphs *graphs = state;
    const struct offences *all = &graphs->instantiations;
    graphs->trace = findings->trace;
    if (stalls_between_kernels(&graphs->stalls, add_graph_call, graphs) < 0)
        return -1;
    if (all->count < FINDING_GRAPHS)
        return 0;
    int64_t cost = graphs->time.total;
    return finding_format(finding_add(findings, cost, cost, all->count, &all->worst),
                          "%s graphs are instantiated between kernels, %s at most, and capturing and building "
                          "graphs takes %s in all",
                          amount_count(all->count).text, amount_time(all->worst_ns).text, amount_time(cost).text);
}

const struct rule rule_graph_instantiation = {
    .of_host = true,
    .id = "graph-instantiation",
    .advice = "Instantiate a graph once and launch it again; change it with cudaGraphExecUpdate() or "
              "cudaGraphExecKernelNodeSetParams(). In PyTorch: one torch.cuda.CUDAGraph for each shape, or "
              "torch.compile(mode=\"reduce-overhead\", dynamic=False).",
    .section = "api",
    .sources = {TRACE_API, TRACE_KERNEL},
    .state_size = sizeof(struct graphs),
    .calls = CALL_KIND_BIT(CALL_GRAPH),
    .call = stalls_call,
    .op = graphs_op,
    .find = graphs_find,
    .release = graphs_release,
};
