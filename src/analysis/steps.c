#include "analysis/steps.h"

#include <string.h>

/* --- ranges that repeat --- */

/* Ranges of one thread and depth whose names are equal up to a number. */
struct repetition_key {
    uint64_t thread, name, depth; /* name: of steps.names */
};

struct repetition {
    int64_t count, total, last_end;
    int64_t launches; /* of GPU operations within */
    bool overlaps, profiler;
};

struct finder {
    struct steps *steps;
    const struct trace *trace;
    struct groups keys; /* struct repetition_key */
    ARRAY(struct repetition) items;
    ARRAY(uint32_t) name_of; /* by the trace's name: the number + 1 in steps.names; 0: not looked at yet */
};

/* The length of NAME without "#7", " 7", "_7", "-7", ":7", "[7]" or "7" at its end. */
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

/* A number of steps.names; INTERN_NO_MEMORY. */
static uint32_t stem_of(struct finder *finder, uint32_t name)
{
    while (finder->name_of.count <= name)
        if (!array_push(&finder->name_of))
            return INTERN_NO_MEMORY;
    uint32_t *known = &finder->name_of.items[name];
    if (!*known) {
        const char *text = interned(&finder->trace->strings, name);
        uint32_t stem = intern(&finder->steps->names, text, stem_length(text));
        if (stem == INTERN_NO_MEMORY)
            return stem;
        *known = stem + 1;
    }
    return *known - 1;
}

#define PROFILER_STEP "ProfilerStep"
#define DEPTH_MOST 8 /* what lies deeper is no step of the program */

/* Ranges around the one that the walk opened last. */
static unsigned depth_of(const struct range_walk *walk, const struct range_open *open)
{
    unsigned depth = 0;
    for (; open->outer && depth <= DEPTH_MOST; open = &walk->open.items[open->outer - 1])
        depth++;
    return depth;
}

/* The key of the range that the walk opened last. Returns 0; 1: it is no candidate; -1: no memory. */
static int key_of(struct finder *finder, const struct range_walk *walk, const struct range_open *open,
                  struct repetition_key *key)
{
    *key = (struct repetition_key){open->range.thread, 0, depth_of(walk, open)};
    if (key->depth > DEPTH_MOST || open->range.name == EVENT_NO_TEXT)
        return 1;
    key->name = stem_of(finder, open->range.name);
    return key->name == INTERN_NO_MEMORY ? -1 : 0;
}

typedef int (*range_visit)(struct finder *finder, const struct range *range, const struct repetition_key *key);

/* Calls VISIT for each range that nests and its key, by thread and start. */
static int visit_ranges(struct finder *finder, range_visit visit)
{
    struct range_walk walk;
    struct range_open *open;
    struct repetition_key key;
    int status = 0;
    range_walk_begin(&walk, &finder->trace->ranges, true);
    while (status >= 0 && (open = range_walk_open(&walk, LAUNCHED_NO_THREAD, INT64_MAX))) {
        status = key_of(finder, &walk, open, &key);
        if (status == 0)
            status = visit(finder, &open->range, &key);
    }
    int walked = range_walk_end(&walk);
    return status < 0 ? status : walked;
}

#define NOT_A_CANDIDATE UINT32_MAX

/* Counts an operation in all ranges around its launch. */
static int count_launch(void *context, struct range_walk *walk, const struct launched_op *op)
{
    struct finder *finder = context;
    struct range_open *open;
    struct repetition_key key;
    while ((open = range_walk_open(walk, op->thread, op->called))) {
        int status = key_of(finder, walk, open, &key);
        open->node = status == 0 ? groups_number(&finder->keys, &key, sizeof(key)) : NOT_A_CANDIDATE;
        if (status < 0)
            return -1;
    }
    open = op->thread == LAUNCHED_NO_THREAD ? NULL : range_walk_innermost(walk, op->thread, op->called);
    for (; open; open = open->outer ? &walk->open.items[open->outer - 1] : NULL)
        if (open->node < finder->items.count)
            finder->items.items[open->node].launches++;
    return 0;
}

static int count_range(struct finder *finder, const struct range *range, const struct repetition_key *key)
{
    struct repetition *repetition = groups_item(&finder->keys, key, &finder->items);
    if (!repetition)
        return -1;
    repetition->overlaps |= repetition->count > 0 && range->start < repetition->last_end;
    repetition->profiler = strcmp(interned(&finder->steps->names, (uint32_t)key->name), PROFILER_STEP) == 0;
    repetition->count++;
    repetition->total += range->end - range->start;
    repetition->last_end = range->end;
    return 0;
}

/* An outer repetition with at least so much of what an inner one launches is the step. */
#define OUTER_SHARE 0.9

/* Where nothing was launched, the time decides. */
static bool is_better(const struct repetition *a, uint64_t depth, const struct repetition *b, uint64_t best_depth)
{
    bool launches = a->launches > 0 || b->launches > 0;
    double of_a = (double)(launches ? a->launches : a->total), of_b = (double)(launches ? b->launches : b->total);
    if (a->profiler != b->profiler)
        return a->profiler;
    if (depth == best_depth)
        return of_a != of_b ? of_a > of_b : a->total > b->total;
    return depth < best_depth ? of_a >= OUTER_SHARE * of_b : of_b < OUTER_SHARE * of_a;
}

/* The best repetition of PROCESS: its number in finder.keys; -1: there is none. */
static int64_t best_of(struct finder *finder, uint32_t process)
{
    int64_t best = -1;
    for (size_t i = 0; i < finder->items.count; i++) {
        const struct repetition_key *key = groups_key(&finder->keys, i);
        const struct repetition *one = &finder->items.items[i];
        if (finder->trace->threads.items[key->thread].process != process || one->count < STEPS_LEAST || one->overlaps)
            continue;
        const struct repetition_key *best_key = best < 0 ? NULL : groups_key(&finder->keys, (size_t)best);
        if (!best_key || is_better(one, key->depth, &finder->items.items[best], best_key->depth))
            best = (int64_t)i;
    }
    return best;
}

static struct steps_process *steps_of(struct steps *steps, uint32_t thread, uint32_t name)
{
    for (size_t i = 0; i < steps->processes.count; i++) {
        struct steps_process *process = &steps->processes.items[i];
        if (process->thread == thread && process->name == name)
            return process;
    }
    return NULL;
}

static int add_step(struct steps_process *process, const struct step *one)
{
    if (process->items.count >= STEPS_MOST)
        return 0;
    struct step *step = array_push(&process->items);
    if (!step)
        return -1;
    *step = *one;
    return series_add(&process->times, one->end - one->start);
}

static int take_range(struct finder *finder, const struct range *range, const struct repetition_key *key)
{
    struct steps_process *process = steps_of(finder->steps, range->thread, (uint32_t)key->name);
    int64_t best = process ? best_of(finder, process->process) : -1;
    const struct repetition_key *chosen = best < 0 ? NULL : groups_key(&finder->keys, (size_t)best);
    const struct step step = {.start = range->start, .end = range->end, .from = range->start, .to = range->end};
    return chosen && chosen->depth == key->depth ? add_step(process, &step) : 0;
}

static int find_in_ranges(struct finder *finder)
{
    struct steps *steps = finder->steps;
    int status = visit_ranges(finder, count_range);
    if (status == 0)
        status = range_walk_ops(&finder->trace->ranges, true, &finder->trace->launched_ops, count_launch, NULL, finder);
    for (size_t process = 0; status == 0 && process < finder->trace->processes.count; process++) {
        int64_t best = best_of(finder, (uint32_t)process);
        struct steps_process *added = best < 0 ? NULL : array_push(&steps->processes);
        if (best >= 0 && !added)
            return -1;
        const struct repetition_key *key = best < 0 ? NULL : groups_key(&finder->keys, (size_t)best);
        if (key) {
            added->process = (uint32_t)process;
            added->thread = (uint32_t)key->thread;
            added->name = (uint32_t)key->name;
        }
    }
    return status ? status : steps->processes.count > 0 ? visit_ranges(finder, take_range) : 0;
}

/* --- periods of GPU operations --- */

#define SEQUENCE_MOST (1u << 20) /* operations that are looked at */
#define CANDIDATES 8             /* operations that may begin a period */
#define PERIOD_LEAST 3           /* operations of a period */
#define PERIODS_EQUAL 0.8        /* so many of all periods are equal */

struct sequence {
    ARRAY(struct launch) items;
    ARRAY(uint32_t) counts; /* by name */
};
struct launch {
    int64_t called, start;
    uint32_t name;
};

static uint64_t hash_between(const struct launch *first, const struct launch *last)
{
    uint64_t hash = 0;
    for (; first < last; first++)
        hash = (hash ^ hash >> 29 ^ first->name) * UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

/* Of the periods that begin with NAME, how many kernels are in those equal to the second one, which is past the
 * program's start. */
static size_t regular(const struct sequence *sequence, uint32_t name)
{
    const struct launch *items = sequence->items.items, *end = items + sequence->items.count, *from = NULL;
    uint64_t usual = 0;
    size_t periods = 0, equal = 0, length = 0;
    for (const struct launch *at = items; at < end; at++) {
        if (at->name != name)
            continue;
        if (from) {
            uint64_t hash = hash_between(from, at);
            periods++;
            usual = periods <= 2 ? hash : usual;
            length = periods <= 2 ? (size_t)(at - from) : length;
            equal += hash == usual;
        }
        from = at;
    }
    bool is_period =
        length >= PERIOD_LEAST && periods + 1 >= STEPS_LEAST && (double)equal >= PERIODS_EQUAL * (double)(periods - 1);
    return is_period ? equal * length : 0;
}

/* The kernel that begins the longest periods: the rarest that repeats regularly. EVENT_NO_TEXT: there is none. */
static uint32_t anchor_of(const struct sequence *sequence)
{
    uint32_t best = EVENT_NO_TEXT, below = 0;
    size_t best_regular = 0;
    for (unsigned tried = 0; tried < CANDIDATES; tried++) {
        uint32_t rarest = UINT32_MAX;
        for (size_t i = 0; i < sequence->counts.count; i++) {
            uint32_t count = sequence->counts.items[i];
            rarest = count > below && count >= STEPS_LEAST && count < rarest ? count : rarest;
        }
        if (rarest == UINT32_MAX)
            return best;
        for (const struct launch *at = sequence->items.items; at < sequence->items.items + sequence->items.count; at++)
            if (sequence->counts.items[at->name] == rarest) { /* the first of them in the program's order */
                size_t found = regular(sequence, at->name);
                if (found > best_regular) {
                    best = at->name;
                    best_regular = found;
                }
                break;
            }
        below = rarest;
    }
    return best_regular * 2 >= sequence->items.count ? best : EVENT_NO_TEXT;
}

static int add_launch(struct sequence *sequence, const struct launched_op *op)
{
    while (sequence->counts.count <= op->name)
        if (!array_push(&sequence->counts))
            return -1;
    struct launch *launch = array_push(&sequence->items);
    if (!launch)
        return -1;
    *launch = (struct launch){op->called, op->start, op->name};
    sequence->counts.items[op->name]++;
    return 0;
}

static int add_periods(struct steps *steps, const struct trace *trace, const struct sequence *sequence, uint32_t thread)
{
    uint32_t anchor = anchor_of(sequence), process = trace->threads.items[thread].process;
    const struct launch *from = NULL;
    struct steps_process *steps_in = NULL;
    for (size_t i = 0; i < steps->processes.count; i++)
        if (steps->processes.items[i].process == process)
            return 0;
    if (anchor == EVENT_NO_TEXT)
        return 0;
    if (!(steps_in = array_push(&steps->processes)))
        return -1;
    steps_in->process = process;
    steps_in->thread = thread;
    steps_in->name = EVENT_NO_TEXT;
    for (size_t i = 0; i < sequence->items.count; i++) {
        const struct launch *at = &sequence->items.items[i];
        if (at->name != anchor)
            continue;
        const struct step step = {from ? from->start : 0, at->start, from ? from->called : 0, at->called, 0, 0};
        if (from && step.end > step.start && add_step(steps_in, &step) < 0)
            return -1;
        from = at;
    }
    return 0;
}

static int find_in_kernels(struct steps *steps, const struct trace *trace, const struct sorter *launched)
{
    struct sequence sequence = {0};
    struct sorter_walk walk;
    const struct launched_op *op;
    uint32_t thread = LAUNCHED_NO_THREAD;
    int status = 0;
    sorter_walk_begin(&walk, launched);
    while (status == 0 && (op = sorter_next(&walk)) && op->thread != LAUNCHED_NO_THREAD) {
        if (op->thread != thread && thread != LAUNCHED_NO_THREAD) {
            status = add_periods(steps, trace, &sequence, thread);
            array_release(&sequence.counts);
            sequence.items.count = 0;
        }
        thread = op->thread;
        if (status == 0 && sequence.items.count < SEQUENCE_MOST)
            status = add_launch(&sequence, op);
    }
    if (status == 0 && thread != LAUNCHED_NO_THREAD)
        status = add_periods(steps, trace, &sequence, thread);
    array_release(&sequence.counts);
    array_release(&sequence.items);
    int walked = sorter_walk_end(&walk);
    return status ? status : walked;
}

/* --- what is in the steps --- */

static int before_end(const void *item, const void *time)
{
    return ((const struct step *)item)->to <= *(const int64_t *)time ? -1 : 0;
}

/* The step of PROCESS in which the host did something at TIME; its index, or -1. */
static int64_t step_at(const struct steps_process *process, int64_t time)
{
    size_t index = array_before(process->items.items, process->items.count, sizeof(struct step), &time, before_end);
    return index < process->items.count && process->items.items[index].from <= time ? (int64_t)index : -1;
}

static int add_part(struct steps *steps, const struct step_part_key *key, bool slowest, int64_t ns)
{
    struct step_part *part = groups_item(&steps->part_keys, key, &steps->parts);
    if (!part)
        return -1;
    part->total += ns;
    part->count++;
    part->slowest += slowest ? ns : 0;
    part->slowest_count += slowest;
    return 0;
}

/* Other threads of the process launch for the step too: PyTorch's backward pass has its own. */
static int add_op(struct steps *steps, const struct trace *trace, size_t number, const struct launched_op *op)
{
    struct steps_process *process = &steps->processes.items[number];
    bool ours = op->thread != LAUNCHED_NO_THREAD && trace->threads.items[op->thread].process == process->process;
    int64_t index = ours ? step_at(process, op->called) : -1;
    if (index < 0)
        return 0;
    process->items.items[index].gpu += op->duration;
    process->items.items[index].launches++;
    const struct step_part_key key = {number, op->kernel ? STEP_KERNEL : STEP_COPY, op->name};
    return add_part(steps, &key, (size_t)index == process->slowest, op->duration);
}

static int add_ops(struct steps *steps, const struct trace *trace, const struct sorter *launched)
{
    struct sorter_walk walk;
    const struct launched_op *op;
    int status = 0;
    sorter_walk_begin(&walk, launched);
    while (status == 0 && (op = sorter_next(&walk)))
        for (size_t i = 0; i < steps->processes.count && status == 0; i++)
            status = add_op(steps, trace, i, op);
    int walked = sorter_walk_end(&walk);
    return status ? status : walked;
}

static int add_call(struct steps *steps, size_t number, const struct host_call *call)
{
    struct steps_process *process = &steps->processes.items[number];
    int64_t index = call->thread == process->thread ? step_at(process, call->start) : -1;
    const struct step_part_key key = {number, STEP_CALL, call->name};
    return index < 0 ? 0 : add_part(steps, &key, (size_t)index == process->slowest, call->end - call->start);
}

static int add_calls(struct steps *steps, const struct trace *trace)
{
    struct host_calls_walk walk;
    const struct host_call *call;
    int status = 0;
    host_calls_walk_begin(&walk, &trace->host_calls);
    while (status == 0 && (call = host_calls_next(&walk)))
        for (size_t i = 0; i < steps->processes.count && status == 0; i++)
            status = add_call(steps, i, call);
    int walked = host_calls_walk_end(&walk);
    return status ? status : walked;
}

/* What the host's time in calls does not explain. */
static int add_outside(struct steps *steps, size_t number)
{
    const struct steps_process *process = &steps->processes.items[number];
    const struct step *slowest = &process->items.items[process->slowest];
    int64_t total = 0, longest = slowest->to - slowest->from;
    for (size_t i = 0; i < process->items.count; i++)
        total += process->items.items[i].to - process->items.items[i].from;
    for (size_t i = 0; i < steps->parts.count; i++) {
        const struct step_part_key *key = groups_key(&steps->part_keys, i);
        if (key->process != number || key->kind != STEP_CALL)
            continue;
        total -= steps->parts.items[i].total;
        longest -= steps->parts.items[i].slowest;
    }
    const struct step_part_key key = {number, STEP_OUTSIDE, 0};
    struct step_part *part = groups_item(&steps->part_keys, &key, &steps->parts);
    if (part)
        *part = (struct step_part){.total = total, .slowest = longest, .count = (int64_t)process->items.count};
    return part ? 0 : -1;
}

int64_t step_part_difference(const struct steps_process *process, const struct step_part *part)
{
    int64_t others = (int64_t)process->items.count - 1;
    return others > 0 ? part->slowest - (part->total - part->slowest) / others : 0;
}

static void find_slowest(struct steps_process *process)
{
    const struct step *items = process->items.items;
    for (size_t i = 1; i < process->items.count; i++)
        if (items[i].end - items[i].start > items[process->slowest].end - items[process->slowest].start)
            process->slowest = i;
}

/* LAUNCHED: by thread and call. */
static int gather(struct steps *steps, const struct trace *trace, const struct sorter *launched)
{
    int status = 0;
    if (steps->processes.count == 0)
        status = find_in_kernels(steps, trace, launched);
    for (size_t i = 0; i < steps->processes.count; i++)
        find_slowest(&steps->processes.items[i]);
    if (status == 0 && steps->processes.count > 0)
        status = add_ops(steps, trace, launched) ?: add_calls(steps, trace);
    for (size_t i = 0; i < steps->processes.count && status == 0; i++)
        status = add_outside(steps, i);
    return status;
}

int steps_gather(struct steps *steps, const struct trace *trace)
{
    struct finder finder = {.steps = steps, .trace = trace};
    int status = find_in_ranges(&finder);
    groups_release(&finder.keys);
    array_release(&finder.items);
    array_release(&finder.name_of);
    if (status < 0 || trace->ranges.count > 0)
        return status < 0 ? status : gather(steps, trace, &trace->launched_ops);
    struct sorter launched; /* the trace has these only where it has ranges */
    launched_ops_init(&launched, trace->room);
    status = launched_ops_gather(&launched, &trace->gpu_ops, &trace->calls);
    if (status == 0)
        status = gather(steps, trace, &launched);
    sorter_release(&launched);
    return status;
}

void steps_release(struct steps *steps)
{
    for (size_t i = 0; i < steps->processes.count; i++) {
        array_release(&steps->processes.items[i].items);
        series_release(&steps->processes.items[i].times);
    }
    array_release(&steps->processes);
    interner_release(&steps->names);
    groups_release(&steps->part_keys);
    array_release(&steps->parts);
}
