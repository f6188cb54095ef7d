/*
 * Finds the steps of all processes, first by ranges, and sums the operations, calls and other host time in them by
 * name.
 */
#include "analysis/steps/steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/map.h"
#include "analysis/base/cost_sum.h"

/* --- steps by ranges: walks sum the ranges by thread, depth and name without its number, and the operations launched
 * in them. The best repetition of each process is chosen, and another walk adds its steps --- */

/* How well the ranges of a repetition fit as the steps of a process, the worst first. FIT_PART: the ranges are parts of
 * steps, and the time from one range to the next may be a step. FIT_OPTIMIZER: ranges of PyTorch's optimizers, of which
 * that is likely. */
enum fitness { FIT_NOT, FIT_PART, FIT_OPTIMIZER, FIT_STEP, FIT_PROFILER_STEP };

/* Ranges of one thread and depth whose names are equal up to a number. */
struct repetition_key {
    uint64_t thread, name, depth; /* name: in steps.names */
};

struct repetition {
    int64_t count, total, first_start, last_end;
    int64_t launches;          /* the number of GPU operations launched in the ranges */
    int64_t first_op, last_op; /* the first and the last of these operations, as numbers in the walk */
    int64_t optimizers;        /* the number of ranges of PyTorch's optimizers within */
    uint64_t depth;
    enum fitness fitness;
    bool overlaps;
    uint32_t process; /* index + 1 in steps.processes; 0: these ranges are not steps */
    struct step last; /* the last range; its start is FIELD_ABSENT before the first */
};

/* The best repetition of a process so far. */
struct candidate {
    uint32_t number; /* index + 1 in finder.items; 0: none */
    bool optimizes;  /* PyTorch's optimizers ran in the process at least twice */
    bool launches;   /* a repetition of the process has launches */
};

struct finder {
    struct steps *steps;
    const struct trace *trace;
    struct dense_map keys; /* struct repetition_key */
    ARRAY(struct repetition) items;
    ARRAY(uint32_t) name_of;      /* by number in trace.strings: the number + 1 in steps.names; 0: not read yet */
    ARRAY(struct candidate) best; /* by process */
    int64_t ops;                  /* the number of operations that were counted */
};

static struct candidate *best_of(struct finder *finder, uint64_t thread)
{
    return &finder->best.items[finder->trace->threads.items[thread].process];
}

/* Returns the length of NAME without "#7", " 7", "_7", "-7", ":7", "[7]" or "7" at its end. */
static size_t stem_length(const char *name)
{
    size_t length = strlen(name), stem = length;
    if (stem > 0 && (name[stem - 1] == ']' || name[stem - 1] == ')'))
        stem--;
    size_t digits_end = stem;
    while (stem > 0 && name[stem - 1] >= '0' && name[stem - 1] <= '9')
        stem--;
    if (stem == digits_end)
        return length;
    if (stem > 0 && strchr("#_-:[( ", name[stem - 1]))
        stem--;
    return stem > 0 ? stem : length;
}

/* Returns how well ranges of this name fit, by the names that PyTorch uses. Operators and calls of collective
 * operations occur many times in a step, so they do not fit. */
static enum fitness fitness_by_name(const char *name)
{
    static const struct {
        const char *prefix;
        enum fitness fitness;
    } rows[] = {
        {"ProfilerStep#", FIT_PROFILER_STEP},
        {"Optimizer.", FIT_OPTIMIZER},
        {"enumerate(DataLoader)#", FIT_PART},
        {"nccl:", FIT_NOT},
        {"gloo:", FIT_NOT},
        {"mpi:", FIT_NOT},
        {"ucc:", FIT_NOT},
        {"c10d::", FIT_NOT},
        {"autograd::", FIT_NOT},
        {"torch::autograd::", FIT_NOT},
        {"aten::", FIT_NOT},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strncmp(name, rows[i].prefix, strlen(rows[i].prefix)) == 0)
            return rows[i].fitness;
    return FIT_STEP;
}

#define NEVER_A_STEP (UINT32_MAX - 1)

/* Returns the number in steps.names of a range's name without its number, NEVER_A_STEP or INTERN_NO_MEMORY. */
static uint32_t stem_of(struct finder *finder, uint32_t name)
{
    uint32_t *known = array_at(&finder->name_of, name);
    if (!known)
        return INTERN_NO_MEMORY;
    if (!*known) {
        const char *text = interned(&finder->trace->strings, name);
        uint32_t stem =
            fitness_by_name(text) == FIT_NOT ? NEVER_A_STEP : intern(&finder->steps->names, text, stem_length(text));
        if (stem == INTERN_NO_MEMORY)
            return stem;
        *known = stem + 1;
    }
    return *known - 1;
}

#define DEPTH_MOST 8 /* deeper ranges are ignored */

/* Sets KEY for the range OPEN. Returns 0; 1 if the range cannot be a step, such as a call of NCCL or MPI; -1: no
 * memory. */
static int key_of(struct finder *finder, const struct range_walk *walk, const struct range_open *open,
                  struct repetition_key *key)
{
    const struct range *range = &open->range;
    const char *domain = trace_text(finder->trace, range->domain);
    *key = (struct repetition_key){.thread = range->thread};
    for (; open->outer && key->depth <= DEPTH_MOST; open = &walk->open.items[open->outer - 1])
        key->depth++;
    if (key->depth > DEPTH_MOST || range->name == EVENT_NO_TEXT || strcmp(domain, "NCCL") == 0 ||
        strcmp(domain, "MPI") == 0)
        return 1;
    key->name = stem_of(finder, range->name);
    return key->name == INTERN_NO_MEMORY ? -1 : key->name == NEVER_A_STEP;
}

#define NOT_A_CANDIDATE UINT32_MAX

typedef int (*range_visit)(struct finder *finder, const struct range_walk *walk, struct range_open *open,
                           const struct repetition_key *key);

/* Calls VISIT for each nesting range that may be a step, with its key, by thread and start. Returns 0, or -1: no
 * memory, or after error(). */
static int visit_ranges(struct finder *finder, range_visit visit)
{
    struct range_walk walk;
    struct range_open *open;
    struct repetition_key key;
    int status = 0;
    range_walk_begin(&walk, &finder->trace->ranges, true);
    while (status >= 0 && (open = range_walk_open(&walk, LAUNCHED_NO_THREAD, INT64_MAX))) {
        status = key_of(finder, &walk, open, &key);
        open->node = NOT_A_CANDIDATE;
        status = status ?: visit(finder, &walk, open, &key);
    }
    int walked = range_walk_end(&walk);
    return status < 0 ? status : walked;
}

/* Counts an operation in the repetitions of all ranges around its launch. */
static int count_launch(void *context, struct range_walk *walk, const struct launched_op *op)
{
    struct finder *finder = context;
    struct range_open *open;
    struct repetition_key key;
    while ((open = range_walk_open(walk, op->thread, op->called))) {
        int status = key_of(finder, walk, open, &key);
        open->node = status == 0 ? dense_map_number(&finder->keys, &key, sizeof(key)) : NOT_A_CANDIDATE;
        if (status < 0)
            return -1;
    }
    finder->ops++;
    open = op->thread == LAUNCHED_NO_THREAD ? NULL : range_walk_innermost(walk, op->thread, op->called);
    for (; open; open = open->outer ? &walk->open.items[open->outer - 1] : NULL) {
        if (open->node >= finder->items.count)
            continue;
        struct repetition *repetition = &finder->items.items[open->node];
        repetition->first_op = repetition->launches++ ? repetition->first_op : finder->ops;
        repetition->last_op = finder->ops;
        best_of(finder, op->thread)->launches = true;
    }
    return 0;
}

static int count_range(struct finder *finder, const struct range_walk *walk, struct range_open *open,
                       const struct repetition_key *key)
{
    const struct range *range = &open->range;
    struct repetition *repetition = dense_map_item(&finder->keys, key, &finder->items);
    if (!repetition)
        return -1;
    open->node = (uint32_t)(repetition - finder->items.items);
    if (repetition->count == 0) {
        repetition->first_start = repetition->last_end = range->start;
        repetition->last.start = FIELD_ABSENT;
        repetition->fitness = fitness_by_name(interned(&finder->trace->strings, range->name));
        repetition->depth = key->depth;
    }
    repetition->overlaps |= range->start < repetition->last_end;
    repetition->count++;
    sum_add(&repetition->total, range->end - range->start);
    repetition->last_end = range->end;
    if (repetition->fitness != FIT_OPTIMIZER)
        return 0;
    if (repetition->count > 1)
        best_of(finder, range->thread)->optimizes = true;
    for (; open; open = open->outer ? &walk->open.items[open->outer - 1] : NULL)
        if (open->node != NOT_A_CANDIDATE)
            finder->items.items[open->node].optimizers++;
    return 0;
}

/* The ranges of a repetition are only parts of steps if they take less than this share of the time, and launch less
 * than this share of the operations, between the first and the last of them. */
#define STEP_SHARE 0.5

/* An outer repetition is preferred if it launches at least this share of the operations that an inner repetition
 * launches. */
#define OUTER_SHARE 0.9

/* Whether A fits better than B. If neither launches, the times decide instead of the launches. */
static bool is_better(const struct repetition *a, const struct repetition *b)
{
    bool launches = a->launches > 0 || b->launches > 0;
    double of_a = (double)(launches ? a->launches : a->total), of_b = (double)(launches ? b->launches : b->total);
    if (a->fitness != b->fitness)
        return a->fitness > b->fitness;
    if (a->depth == b->depth)
        return of_a != of_b ? of_a > of_b : a->total > b->total;
    return a->depth < b->depth ? of_a >= OUTER_SHARE * of_b : of_b < OUTER_SHARE * of_a;
}

/* Adds the processes without steps whose best repetition has at least the fitness LEAST. Returns the number of
 * processes whose best repetition fits less well, or -1: no memory. */
static int64_t add_processes(struct finder *finder, enum fitness least)
{
    int64_t left = 0;
    for (size_t i = 0; i < finder->steps->processes.count; i++)
        finder->best.items[finder->steps->processes.items[i].process].number = 0;
    for (size_t i = 0; i < finder->best.count; i++) {
        uint32_t number = finder->best.items[i].number;
        struct repetition *one = number > 0 ? &finder->items.items[number - 1] : NULL;
        left += one && one->fitness < least;
        if (!one || one->fitness < least)
            continue;
        const struct repetition_key *key = dense_map_row(&finder->keys, number - 1);
        uint32_t process = finder->trace->threads.items[key->thread].process;
        struct steps_process *added = steps_process_new(finder->steps, process);
        if (!added)
            return -1;
        one->process = (uint32_t)finder->steps->processes.count;
        added->thread = (uint32_t)key->thread;
        added->name = (uint32_t)key->name;
        added->to_next = one->fitness <= FIT_OPTIMIZER;
    }
    return left;
}

static int add_step(struct finder *finder, const struct range_walk *walk, struct range_open *open,
                    const struct repetition_key *key)
{
    const struct range *range = &open->range;
    struct repetition *repetition = dense_map_item(&finder->keys, key, &finder->items); /* the key exists */
    if (repetition->process == 0)
        return 0;
    struct steps_process *process = &finder->steps->processes.items[repetition->process - 1];
    /* Read the number at the end of the name; FIELD_ABSENT: none, or too large. */
    const char *name = interned(&finder->trace->strings, range->name), *digits = name + stem_length(name);
    digits += strcspn(digits, "0123456789");
    errno = 0;
    long long number = *digits ? strtoll(digits, NULL, 10) : FIELD_ABSENT;
    number = errno ? FIELD_ABSENT : number;
    struct step step = {range->start, range->end, range->start, range->end, number, 0, 0}, last = repetition->last;
    last.end = last.to = range->start;
    repetition->last = step;
    return !process->to_next ? steps_add(process, &step) : last.start == FIELD_ABSENT ? 0 : steps_add(process, &last);
}

static int find_in_ranges(struct finder *finder)
{
    struct steps *steps = finder->steps;
    while (finder->best.count < finder->trace->processes.count)
        if (!array_push(&finder->best))
            return -1;
    int status = visit_ranges(finder, count_range);
    status =
        status
            ?: range_walk_ops(&finder->trace->ranges, true, &finder->trace->launched_ops, count_launch, NULL, finder);
    if (status != 0)
        return status;
    /* Find the best repetition of each process. */
    for (size_t i = 0; i < finder->items.count; i++) {
        const struct repetition_key *key = dense_map_row(&finder->keys, i);
        struct candidate *best = best_of(finder, key->thread);
        struct repetition *one = &finder->items.items[i];
        double time = (double)one->last_end - (double)one->first_start;
        double ops = (double)(one->last_op - one->first_op + 1);
        bool lacks = (best->optimizes && one->optimizers == 0) || (best->launches && one->launches == 0);
        bool small = (double)one->total < STEP_SHARE * time && (double)one->launches < STEP_SHARE * ops;
        if (one->fitness == FIT_STEP && (lacks || small))
            one->fitness = FIT_PART;
        bool repeats =
            one->count >= STEPS_LEAST || (one->count > 1 && one->launches > 0) || one->fitness == FIT_PROFILER_STEP;
        if (!one->overlaps && repeats && (best->number == 0 || is_better(one, &finder->items.items[best->number - 1])))
            best->number = (uint32_t)i + 1;
    }
    int64_t left = add_processes(finder, FIT_OPTIMIZER);
    if (left > 0) {
        status = steps_find_periods(steps, finder->trace, &finder->trace->launched_ops);
        left = status == 0 ? add_processes(finder, FIT_PART) : status;
    }
    return left < 0 ? -1 : steps->processes.count > 0 ? visit_ranges(finder, add_step) : 0;
}

/* --- work in the steps --- */

/* Returns the index of the step of PROCESS around TIME on the host, or -1. */
static int64_t step_at(const struct steps_process *process, int64_t time)
{
    size_t index = COUNT_BEFORE(process->items.count, i, process->items.items[i].to <= time);
    return index < process->items.count && process->items.items[index].from <= time ? (int64_t)index : -1;
}

static int add_work(struct steps *steps, const struct step_work_key *key, bool slowest, int64_t ns)
{
    struct step_work *work = dense_map_item(&steps->work_keys, key, &steps->works);
    if (!work)
        return -1;
    sum_add(&work->total, ns);
    work->count++;
    sum_add(&work->slowest, slowest ? ns : 0);
    work->slowest_count += slowest;
    return 0;
}

/* Adds an operation to the step of its process around its launch. Any thread may have launched it, such as that of
 * PyTorch's backward pass. Returns 0, or -1: no memory. */
static int add_op(struct steps *steps, const struct trace *trace, const struct launched_op *op)
{
    bool called = op->thread != LAUNCHED_NO_THREAD;
    struct steps_process *process = called ? steps_process(steps, trace->threads.items[op->thread].process) : NULL;
    int64_t index = process ? step_at(process, op->called) : -1;
    if (index < 0)
        return 0;
    sum_add(&process->items.items[index].gpu, op->duration);
    process->items.items[index].launches++;
    uint64_t number = (uint64_t)(process - steps->processes.items);
    const struct step_work_key key = {number, op->kernel ? STEP_KERNEL : STEP_COPY, op->name};
    return add_work(steps, &key, (size_t)index == process->slowest, op->duration);
}

static int add_call(struct steps *steps, const struct trace *trace, const struct host_call *call)
{
    const struct steps_process *process = steps_process(steps, trace->threads.items[call->thread].process);
    int64_t index = process && call->thread == process->thread ? step_at(process, call->start) : -1;
    if (index < 0)
        return 0;
    const struct step_work_key key = {(uint64_t)(process - steps->processes.items), STEP_CALL, call->name};
    return add_work(steps, &key, (size_t)index == process->slowest, call->end - call->start);
}

/* Adds the work STEP_OUTSIDE of each process: the time of its steps less the time of calls in them. Returns 0, or -1:
 * no memory. */
static int add_outside(struct steps *steps)
{
    size_t calls = steps->works.count; /* the number of works of calls and operations */
    for (size_t number = 0; number < steps->processes.count; number++) {
        const struct steps_process *process = &steps->processes.items[number];
        const struct step *slowest = &process->items.items[process->slowest];
        const struct step_work_key key = {number, STEP_OUTSIDE, 0};
        struct step_work *work = dense_map_item(&steps->work_keys, &key, &steps->works);
        if (!work)
            return -1;
        *work = (struct step_work){.slowest = slowest->to - slowest->from, .count = (int64_t)process->items.count};
        for (size_t i = 0; i < process->items.count; i++)
            sum_add(&work->total, process->items.items[i].to - process->items.items[i].from);
    }
    for (size_t i = 0; i < calls; i++) {
        const struct step_work_key *key = dense_map_row(&steps->work_keys, i);
        struct step_work *outside = &steps->works.items[calls + key->process];
        sum_add(&outside->total, key->kind == STEP_CALL ? -steps->works.items[i].total : 0);
        sum_add(&outside->slowest, key->kind == STEP_CALL ? -steps->works.items[i].slowest : 0);
    }
    return 0;
}

int64_t step_work_difference(const struct steps_process *process, const struct step_work *work)
{
    int64_t others = (int64_t)process->items.count - 1;
    return others > 0 ? work->slowest - (work->total - work->slowest) / others : 0;
}

/* Finds the slowest step of each process, and sums the work of all steps. LAUNCHED is sorted by thread and call.
 * Returns 0, or -1: no memory, or after error(). */
static int gather(struct steps *steps, const struct trace *trace, const struct sorter *launched)
{
    int status = 0;
    if (steps->processes.count == 0)
        status = steps_find_periods(steps, trace, launched);
    for (size_t i = 0; i < steps->processes.count; i++) {
        struct steps_process *process = &steps->processes.items[i];
        const struct step *items = process->items.items;
        for (size_t k = 1; k < process->items.count; k++)
            if (items[k].end - items[k].start > items[process->slowest].end - items[process->slowest].start)
                process->slowest = k;
    }
    const struct launched_op *op;
    const struct host_call *call;
    if (status == 0 && steps->processes.count > 0)
        status = SORTER_EACH(launched, op, add_op(steps, trace, op))
                     ?: HOST_CALLS_EACH(&trace->host_calls, call, add_call(steps, trace, call));
    return status ?: add_outside(steps);
}

int steps_gather(void *state, const struct trace *trace)
{
    struct steps *steps = state;
    struct finder finder = {.steps = steps, .trace = trace};
    int status = find_in_ranges(&finder);
    dense_map_release(&finder.keys);
    array_release(&finder.items);
    array_release(&finder.name_of);
    array_release(&finder.best);
    if (status < 0 || trace->ranges.count > 0)
        return status < 0 ? status : gather(steps, trace, &trace->launched_ops);
    struct sorter launched; /* the trace has launched_ops only if it has ranges */
    launched_ops_init(&launched, trace->space);
    status = launched_ops_gather(&launched, &trace->gpu_ops, &trace->calls, &trace->stream_owners);
    status = status ?: gather(steps, trace, &launched);
    sorter_release(&launched);
    return status;
}

void steps_release(void *state)
{
    struct steps *steps = state;
    for (size_t i = 0; i < steps->processes.count; i++) {
        array_release(&steps->processes.items[i].items);
        series_release(&steps->processes.items[i].times);
    }
    array_release(&steps->processes);
    map_release(&steps->by_process);
    interner_release(&steps->names);
    dense_map_release(&steps->work_keys);
    array_release(&steps->works);
}
